"""Silent HiGHS, and loading of Pyomo models into it."""

from __future__ import annotations

import threading
from typing import Any

import highspy
import numpy as np
from pyomo.contrib.solver.common.factory import SolverFactory


class QuietHighs(highspy.Highs):  # type: ignore[misc]  # it is untyped
    """HiGHS that prints nothing.

    In the constructor, HiGHS 1.16 prints its banner when it sets the callbacks, past Python's own
    standard output and into that of `--json`.
    """

    def enableCallbacks(self) -> None:  # noqa: N802 (HiGHS's name)
        """Silence HiGHS, then set the callbacks."""
        self.silent()
        super().enableCallbacks()


def drop_integrality(highs: highspy.Highs) -> None:
    columns, kind = highs.getNumCol(), int(highspy.HighsVarType.kContinuous)
    highs.changeColsIntegrality(
        columns, np.arange(columns, dtype=np.int32), np.full(columns, kind, dtype=np.uint8)
    )


_capture_lock = threading.Lock()


def pyomo_highs(model: Any) -> Any:
    """Return Pyomo's interface to HiGHS with a model in it.

    Pyomo captures the output of the whole process meanwhile: two threads that did so at the same
    time would deadlock.
    """
    solver = SolverFactory("highs")
    with _capture_lock:
        solver.set_instance(model)
    return solver
