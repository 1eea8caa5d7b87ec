"""Exact bisection over the finitely many values alpha can take.

For a threshold theta a feasibility MILP decides whether some placement takes at most theta: only
counts that can respect theta get a column. Guarantee: optimal, under the "own" reading, when no
time limit cuts it. Complexity: about log2 of the number of candidates probes, each a MILP of at
most sum_s,m min(k_s, g_m) binaries.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from optsched.backends import MilpArrays, require_solver, solve_arrays
from optsched.backends.sizes import refuse_many_nonzeros
from optsched.deadline import clock
from optsched.errors import NotApplicableError
from optsched.placement.bounds._combinatorial_kernel import least_time
from optsched.placement.bounds.combinatorial import Bound
from optsched.placement.cost import CostTables, Floats, Ints, tables_of, time_matrix
from optsched.placement.exact._threshold_kernel import candidate_times
from optsched.placement.exact.start import between_bounds
from optsched.placement.instance import (
    PlacementInstance,
    equal_neighbours,
    require_asynchronous,
)
from optsched.placement.models.limits import count_nonzeros
from optsched.placement.options import PlacementOptions
from optsched.placement.solution import PlacementSolution
from optsched.result import Outcome, Settings, Termination, TracePoint, ended, is_proved

MERGED = 1e-9
"""Candidates closer than this (relative) are one."""

MOST_CANDIDATES = 5_000_000


def threshold(
    instance: PlacementInstance, options: PlacementOptions, settings: Settings
) -> Outcome:
    """Place a job optimally by bisection."""
    options.require_own_bandwidth("threshold")
    require_asynchronous("threshold", instance)
    if settings.solver != "highs":
        raise NotApplicableError("threshold", f"solver {settings.solver}", "highs")
    require_solver(settings.solver)
    return between_bounds(instance, options, settings, bisect)


def bisect(
    instance: PlacementInstance,
    options: PlacementOptions,
    settings: Settings,
    start: Ints,
    bound: Bound,
) -> Outcome:
    """Bisect between a proven lower bound and the time of a known placement."""
    began = clock()
    tables = tables_of(instance, options)
    refuse_many_nonzeros("threshold", count_nonzeros(instance), "use repartition")
    if not tables.savings_are_positive:
        raise NotApplicableError(
            "threshold",
            "g/B_inter below 1/B_intra",
            "a NIC share slower than the link inside a server",
        )
    search = _Search(instance, options, tables, settings, began, start, bound)
    search.note()
    search.run(_candidates(instance, tables, bound.value, search.value))
    return Outcome(
        PlacementSolution.of(instance.name, search.counts.tolist()),
        ended(search.closed, settings.deadline.is_over),
        bound=search.bound.value,
        bound_source=search.bound.source,
        claimed=search.value,
        solve_time=clock() - began,
        solver="highs",
        trace=tuple(search.trace),
        details={"probes": search.probes},
    )


@dataclass
class _Search:
    """The bisection's state: best placement, best bound, and what was spent."""

    instance: PlacementInstance
    options: PlacementOptions
    tables: CostTables
    settings: Settings
    began: float
    counts: Ints
    bound: Bound
    probes: int = 0
    trace: list[TracePoint] = field(default_factory=list)

    @property
    def value(self) -> float:
        return float(time_matrix(self.tables, self.counts, self.options).max())

    @property
    def closed(self) -> bool:
        return is_proved(self.value, self.bound.value, self.settings.gap)

    def run(self, candidates: Floats) -> None:
        """Probe just below the incumbent, then the lower bound, then bisect.

        `candidates` ascend; those at or above `high` are known feasible, those below `low` are not.
        """
        low = 0
        while not self.closed:
            high = int(np.searchsorted(candidates, self.value * (1 - MERGED)))
            if low >= high:
                self.bound = self._bound(self.value)
                break
            middle = (high - 1, low, (low + high) // 2)[min(self.probes, 2)]
            feasible = self._probe(float(candidates[middle]))
            if feasible is None:
                break
            if not feasible:
                low = middle + 1
                proven = float(candidates[low]) if low < high else self.value
                self.bound = self._bound(min(proven, self.value))
            self.note()
        self.note()

    def _bound(self, value: float) -> Bound:
        proven = max(self.tables.rounded_down(value), self.bound.value)
        return Bound(proven, "threshold bisection")

    def note(self) -> None:
        seconds = clock() - self.began
        self.trace.append(TracePoint(seconds, self.value, self.bound.value))
        self.settings.progress.report(self.value, self.bound.value)

    def _probe(self, theta: float) -> bool | None:
        """Whether theta can be met; None when time ran out or the solver could not tell."""
        self.probes += 1
        if self.settings.deadline.is_over:
            return None
        columns = _columns(self.instance, self.tables, theta)
        if not _every_stage_fits(self.instance, columns):
            return False
        problem = _feasibility(self.instance, self.tables, columns, theta)
        answer = solve_arrays(problem, replace(self.settings, gap=0.0))
        if answer.termination is Termination.INFEASIBLE:
            return False
        if answer.values is None:
            return None
        counts = np.zeros(self.instance.shape, dtype=np.int64)
        for (s, m, v), used in zip(columns, answer.values, strict=True):
            counts[s, m] += v * int(used)
        if time_matrix(self.tables, counts, self.options).max() > theta * (1 + MERGED):
            return None  # within the solver's tolerance only: neither answer is proved
        self.counts = counts
        return True


def _candidates(instance: PlacementInstance, tables: CostTables, low: float, high: float) -> Floats:
    """Times that a stage can take in [low, high), merged, ascending."""
    times = candidate_times(
        tables.costs,
        max(instance.free_gpus),
        low * (1 - MERGED),
        high,
        MOST_CANDIDATES,
    )
    if len(times) >= MOST_CANDIDATES:
        raise NotApplicableError(
            "threshold", "too many candidate times", f"fewer than {MOST_CANDIDATES}"
        )
    times = np.unique(times)
    if not len(times):
        return times
    # Keep the largest of each cluster: a probe there covers the ones merged into it.
    last = np.append(np.diff(times) > MERGED * times[1:], True)
    return np.asarray(times[last])


def _columns(
    instance: PlacementInstance, tables: CostTables, theta: float
) -> list[tuple[int, int, int]]:
    limit = theta * (1 + MERGED)
    allowed: dict[int, list[tuple[int, int]]] = {}
    for offer in set(instance.free_gpus):
        allowed[offer] = [
            (s, v)
            for s, k in enumerate(tables.replicas.tolist())
            for v in range(1, min(k, offer // int(tables.gpus[s])) + 1)
            if least_time(tables.costs, s, v, offer) <= limit
        ]
    return [(s, m, v) for m, offer in enumerate(instance.free_gpus) for s, v in allowed[offer]]


def _every_stage_fits(instance: PlacementInstance, columns: list[tuple[int, int, int]]) -> bool:
    largest = np.zeros(instance.shape, dtype=np.int64)
    for s, m, v in columns:
        largest[s, m] = max(largest[s, m], v)
    replicas = np.array([stage.replicas for stage in instance.job.stages])
    return bool((largest.sum(axis=1) >= replicas).all())


def _feasibility(
    instance: PlacementInstance,
    tables: CostTables,
    columns: list[tuple[int, int, int]],
    theta: float,
) -> MilpArrays:
    """Rows: (1) replicas, capacity, one count; theta by stage and server; (4) equal servers."""
    from scipy.sparse import csr_array

    tables = tables.capped(theta) if theta > 0 else tables
    stages, servers = instance.shape
    s, m, v = (np.array(part, dtype=np.int64) for part in zip(*columns, strict=True))
    index = np.arange(len(columns))
    cell = s * servers + m
    replicas_row, capacity_row = 0, stages
    one_row, theta_row = capacity_row + servers, capacity_row + servers + stages * servers
    rows = [replicas_row + s, capacity_row + m, one_row + cell, theta_row + cell]
    cols = [index] * 4
    excess = np.maximum(tables.base[s, v] - theta, 0.0) / (theta or 1.0)
    data = [v.astype(float), (tables.gpus[s] * v).astype(float), np.ones(len(columns)), excess]
    for shift, saving in ((1, tables.before), (-1, tables.after)):
        target = s + shift  # the stage whose time this stage's count reduces
        inside = (target >= 0) & (target < stages)
        rows.append(theta_row + target[inside] * servers + m[inside])
        cols.append(index[inside])
        data.append(-saving[target[inside]] * v[inside] / (theta or 1.0))
    order_row = theta_row + stages * servers
    equal = equal_neighbours(instance.free_gpus)
    for row, pair in enumerate(equal):
        for server, sign in zip(pair, (-1.0, 1.0), strict=True):
            here = np.flatnonzero(m == server)
            rows.append(np.full(len(here), order_row + row))
            cols.append(here)
            data.append(sign * (stages - 1 - s[here]) * v[here])
    total = order_row + len(equal)
    lower, upper = np.full(total, -np.inf), np.zeros(total)
    lower[:stages] = upper[:stages] = tables.replicas
    upper[capacity_row:one_row] = instance.free_gpus
    upper[one_row:theta_row] = 1.0
    matrix = csr_array(
        (np.concatenate(data), (np.concatenate(rows), np.concatenate(cols))),
        shape=(total, len(columns)),
    )
    ones = np.ones(len(columns))
    return MilpArrays(
        np.zeros(len(columns)), matrix, lower, upper, 0 * ones, ones, ones.astype(bool)
    )
