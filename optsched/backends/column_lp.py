"""A covering programme that grows by columns, for the column bound of makespan.

min sum u_r   subject to   (columns that contain r) + u_r >= demand_r,  u, columns >= 0,
                           (columns of class c) <= limit_c
"""

from __future__ import annotations

from collections.abc import Sequence

import highspy
import numpy as np
from numpy.typing import NDArray

from optsched.backends.quiet import QuietHighs
from optsched.backends.running import run_highs
from optsched.deadline import Deadline
from optsched.errors import SolverError

Floats = NDArray[np.float64]


class ColumnLp:
    """The programme, solved again from its last basis after columns are added."""

    def __init__(self, demand: Sequence[float], limit: Sequence[float]) -> None:
        self._highs = QuietHighs()
        self._highs.setOptionValue("threads", 1)
        self._highs.setOptionValue("presolve", "off")
        self._rows = len(demand)
        for need in demand:
            self._highs.addRow(float(need), highspy.kHighsInf, 0, [], [])
        for most in limit:
            self._highs.addRow(-highspy.kHighsInf, float(most), 0, [], [])
        for row in range(self._rows):
            self._highs.addCol(1.0, 0.0, highspy.kHighsInf, 1, [row], [1.0])

    def add(self, kind: int, members: Sequence[int] | NDArray[np.int64]) -> None:
        """Add a column of class `kind` that contains the demands `members` once each."""
        rows = np.append(np.sort(np.asarray(members, dtype=np.int32)), self._rows + kind)
        self._highs.addCol(
            0.0, 0.0, highspy.kHighsInf, len(rows), rows.astype(np.int32), np.ones(len(rows))
        )

    def solve(self, deadline: Deadline) -> tuple[float, Floats] | None:
        """Return the objective and the demands' duals, at least 0; None at the deadline."""
        left = deadline.left
        if left is not None:
            self._highs.setOptionValue("time_limit", self._highs.getRunTime() + left)
        run_highs(self._highs, deadline)
        status = self._highs.getModelStatus()
        ends = (highspy.HighsModelStatus.kTimeLimit, highspy.HighsModelStatus.kInterrupt)
        if status in ends:
            return None
        if status != highspy.HighsModelStatus.kOptimal:
            raise SolverError(f"HiGHS ended with {self._highs.modelStatusToString(status)}")
        duals = np.array(self._highs.getSolution().row_dual)[: self._rows]
        return self._highs.getInfo().objective_function_value, np.maximum(duals, 0.0)
