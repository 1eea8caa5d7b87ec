"""HiGHS that prints nothing, and Pyomo models in it."""

from __future__ import annotations

import threading
from typing import Any

import highspy


class QuietHighs(highspy.Highs):  # type: ignore[misc]  # it is untyped
    """HiGHS that prints nothing, from its first line on.

    The constructor sets the callbacks, and there 1.16 prints who it is: past Python, amid the rows
    of `--json`.
    """

    def enableCallbacks(self) -> None:  # noqa: N802 (HiGHS's name)
        """Set the callbacks, silenced before."""
        self.silent()
        super().enableCallbacks()


_one_at_a_time = threading.Lock()


def pyomo_highs(model: Any) -> Any:
    """Pyomo's interface to HiGHS with a model in it.

    While it takes the model, Pyomo catches the output of the whole process: two threads that do so
    at a time wait for each other for ever.
    """
    from pyomo.contrib.solver.common.factory import SolverFactory

    solver = SolverFactory("highs")
    with _one_at_a_time:
        solver.set_instance(model)
    return solver
