"""A covering programme that grows by columns, for the column bound of makespan.

min sum u_r   subject to   (columns that contain r) + u_r >= demand_r,  u, columns >= 0,
                           (columns of class c) <= limit_c
"""

from __future__ import annotations

from collections.abc import Sequence

import highspy
import numpy as np
from numpy.typing import NDArray

from optsched.errors import SolverError

Floats = NDArray[np.float64]


class ColumnLp:
    """The programme, solved again from its last basis after columns are added."""

    def __init__(self, demand: Sequence[float], limit: Sequence[float]) -> None:
        self._highs = highspy.Highs()
        self._highs.silent()
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

    def solve(self, time_limit: float | None = None) -> tuple[float, Floats] | None:
        """The objective and the demands' prices, at least 0; None at the time limit."""
        if time_limit is not None:
            now = self._highs.getRunTime()
            self._highs.setOptionValue("time_limit", now + max(time_limit, 0.0))
        self._highs.run()
        status = self._highs.getModelStatus()
        if status == highspy.HighsModelStatus.kTimeLimit:
            return None
        if status != highspy.HighsModelStatus.kOptimal:
            raise SolverError(f"HiGHS ended with {self._highs.modelStatusToString(status)}")
        prices = np.array(self._highs.getSolution().row_dual)[: self._rows]
        return self._highs.getInfo().objective_function_value, np.maximum(prices, 0.0)
