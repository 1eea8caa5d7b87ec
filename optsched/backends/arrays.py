"""Linear programmes given as arrays, for many small solves that need no Pyomo model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import highspy
import numpy as np
from numpy.typing import NDArray

from optsched.backends.highs import QuietHighs, run_with_retries, set_options
from optsched.backends.running import run_highs
from optsched.backends.solver_result import SolverResult
from optsched.deadline import Deadline, clock
from optsched.errors import SolverError
from optsched.result import Settings

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class MilpArrays:
    """A mixed-integer linear programme: min c x, row and column bounds, integrality."""

    cost: NDArray[np.float64]
    matrix: csr_array
    row_lower: NDArray[np.float64]
    row_upper: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    integer: NDArray[np.bool_]


def solve_arrays(problem: MilpArrays, settings: Settings) -> SolverResult:
    start = clock()
    highs = QuietHighs()
    set_options(highs, settings)
    highs.passModel(_highs_lp(problem))
    build_end = clock()
    answer = run_with_retries(highs, settings)
    if answer.values is not None:
        answer.values[problem.integer] = np.rint(answer.values[problem.integer])
    return replace(answer, build_time=build_end - start, solve_time=clock() - build_end)


@dataclass(frozen=True)
class LpSolution:
    objective: float
    values: NDArray[np.float64]
    duals: NDArray[np.float64]


class GrowingLp:
    """A linear programme in HiGHS that gains columns between solves and keeps its basis."""

    def __init__(self, problem: MilpArrays, settings: Settings) -> None:
        self._highs = QuietHighs()
        self._deadline = settings.deadline
        set_options(self._highs, settings)
        self._highs.passModel(_highs_lp(problem))

    def add_columns(self, cost: NDArray[np.float64], matrix: csr_array) -> None:
        """Add non-negative columns; row i of `matrix` holds column i's coefficients by row."""
        count = len(cost)
        self._highs.setOptionValue("simplex_strategy", 4)  # primal: the old basis stays feasible
        self._highs.addCols(
            count,
            np.asarray(cost, dtype=float),
            np.zeros(count),
            np.full(count, np.inf),
            matrix.nnz,
            matrix.indptr[:-1].astype(np.int32),
            matrix.indices.astype(np.int32),
            matrix.data.astype(float),
        )

    def solve(self, deadline: Deadline | None = None) -> LpSolution | None:
        """Solve by the deadline; None without an answer, or if the programme is infeasible."""
        _run_until(self._highs, deadline or self._deadline)
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = self._highs.getSolution()
        return LpSolution(
            float(self._highs.getInfo().objective_function_value),
            np.array(solution.col_value),
            np.array(solution.row_dual),
        )


class CoveringLp:
    """A covering programme that gains columns; each solve starts from the last basis.

    min sum u_r   subject to   (columns that contain r) + u_r >= demand_r,  u, columns >= 0,
                               (columns of class c) <= limit_c
    """

    def __init__(self, demand: Sequence[float], limit: Sequence[float]) -> None:
        self._highs = QuietHighs()
        self._highs.setOptionValue("threads", 1)
        self._highs.setOptionValue("presolve", "off")
        self._rows = len(demand)
        for demand_r in demand:
            self._highs.addRow(float(demand_r), np.inf, 0, [], [])
        for limit_c in limit:
            self._highs.addRow(-np.inf, float(limit_c), 0, [], [])
        for row in range(self._rows):
            self._highs.addCol(1.0, 0.0, np.inf, 1, [row], [1.0])

    def add(self, class_index: int, members: Sequence[int] | NDArray[np.int64]) -> None:
        """Add a column of a class that contains the demands `members` once each."""
        rows = np.append(np.sort(np.asarray(members, dtype=np.int32)), self._rows + class_index)
        self._highs.addCol(0.0, 0.0, np.inf, len(rows), rows.astype(np.int32), np.ones(len(rows)))

    def solve(self, deadline: Deadline) -> tuple[float, NDArray[np.float64]] | None:
        """Return the objective and the demands' duals, at least 0; None at the deadline."""
        _run_until(self._highs, deadline)
        status = self._highs.getModelStatus()
        limit_statuses = (highspy.HighsModelStatus.kTimeLimit, highspy.HighsModelStatus.kInterrupt)
        if status in limit_statuses:
            return None
        if status != highspy.HighsModelStatus.kOptimal:
            raise SolverError(f"HiGHS ended with {self._highs.modelStatusToString(status)}")
        duals = np.array(self._highs.getSolution().row_dual)[: self._rows]
        return self._highs.getInfo().objective_function_value, np.maximum(duals, 0.0)


def _run_until(highs: Any, deadline: Deadline) -> None:
    left = deadline.left
    if left is not None:  # HiGHS counts the time of all solves
        highs.setOptionValue("time_limit", highs.getRunTime() + left)
    run_highs(highs, deadline)


def _highs_lp(problem: MilpArrays) -> Any:
    lp = highspy.HighsLp()
    rows, columns = problem.matrix.shape
    lp.num_col_, lp.num_row_ = columns, rows
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = problem.cost, problem.lower, problem.upper
    lp.row_lower_, lp.row_upper_ = problem.row_lower, problem.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = problem.matrix.indptr.astype(np.int32)
    lp.a_matrix_.index_ = problem.matrix.indices.astype(np.int32)
    lp.a_matrix_.value_ = problem.matrix.data
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    lp.integrality_ = [kinds[int(flag)] for flag in problem.integer]
    return lp
