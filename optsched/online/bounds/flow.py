"""Lower bounds on the total flow time of any schedule (used to certify runs).

With d_i the minimum duration of job i (n_i times a lower bound on alpha), every schedule of Problem
(8) has flow at least the following. The first three also hold if jobs may be preempted and resume
elsewhere, whatever a checkpoint costs: they only require g_i GPUs for d_i in total.

- *durations*: the sum of d_i;
- *fast machine*: the flow of preemptive SRPT on one machine with work g_i d_i / G (jobs spread over
  the GPUs as a fluid);
- *mean busy time*: a job's work takes d_i at least, so C_i >= M_i + d_i / 2 with M_i the mean time
  at which it is done (preemption makes it earlier); the minimum sum of M_i on the fast machine is
  that of preemptive shortest-work-first (Goemans 1997);
- *capacity dual*, without preemption: duals lam >= 0 of GPU-seconds on time cells, Lam their
  integral, sum_i min_{t >= r_i} [t + d_i - r_i + g_i (Lam(t + d_i) - Lam(t))] - G Lam(end); valid
  for any duals, improved by subgradient steps.

Rounding starts or durations up would invalidate the bounds. Source: models/online/README.md.
"""

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba.extending import register_jitable

from optsched.arrays import Floats
from optsched.kernels import kernel
from optsched.online.data.jobs import Jobs

CELLS, ITERATIONS = 240, 60
"""Time cells and subgradient steps of the capacity dual; `gang` takes more of both."""
MIN_CELL_SHARE = 1e-9
"""Minimum cell width as a share of the time span."""
PREEMPTIVE = ("durations", "fast_machine", "mean_busy_time")
"""Bounds also valid for preemptive schedules."""
PATIENCE = 3
"""Steps without gain until the step factor is halved."""
MIN_GAP = 0.01
"""Smallest estimated gap of a Polyak step, relative to the value."""
ROUNDING = 1e-12
"""Relative allowance for the summation's own rounding, taken off every bound."""


@dataclass(frozen=True)
class FlowBounds:
    """Lower bounds on the sum of C - r, in seconds."""

    durations: float
    fast_machine: float
    mean_busy_time: float
    capacity_dual: float

    @property
    def best(self) -> float:
        return max(self.best_preemptive, self.capacity_dual)

    @property
    def source(self) -> str:
        return self._largest((*PREEMPTIVE, "capacity_dual"))

    @property
    def best_preemptive(self) -> float:
        """The largest bound that is also valid for preemptive schedules."""
        return max(getattr(self, name) for name in PREEMPTIVE)

    @property
    def preemptive_source(self) -> str:
        return self._largest(PREEMPTIVE)

    def _largest(self, names: tuple[str, ...]) -> str:
        return max(names, key=lambda name: float(getattr(self, name))).replace("_", " ")


def flow_bounds(
    jobs: Jobs,
    *,
    known_flow: float | None = None,
    cells: int = CELLS,
    iterations: int = ITERATIONS,
) -> FlowBounds:
    """Bound the total flow of every schedule of the jobs.

    Parameters
    ----------
    jobs : Jobs
        The workload's jobs, in time order; see `prepare_jobs`.
    known_flow : float, optional
        Total flow of some schedule: sets the dual's step lengths, never its validity.
    cells, iterations : int
        Time cells and subgradient steps of the dual (0: no dual).

    Returns
    -------
    FlowBounds
        Lower bounds in seconds.

    Examples
    --------
    >>> import optsched
    >>> from optsched.online import prepare_jobs
    >>> small = optsched.load("online/small-400x40")
    >>> jobs = prepare_jobs(small.workload, small.catalogue, small.cluster)
    >>> round(flow_bounds(jobs, iterations=1).best)
    707083
    """
    if not len(jobs):
        return FlowBounds(0.0, 0.0, 0.0, 0.0)
    length = jobs.min_length
    values = (
        float(length.sum()),
        fast_machine_bound(jobs, length),
        mean_busy_time_bound(jobs, length),
        capacity_duals(jobs, length, known_flow, cells, iterations)[0],
    )
    return FlowBounds(*(float(value) * (1 - ROUNDING * np.log2(len(jobs) + 2)) for value in values))


def fast_machine_bound(jobs: Jobs, length: Floats) -> float:
    """Flow of SRPT on one machine that does all GPUs' work."""
    work = jobs.gpus * length / jobs.cluster.gpus
    completions = srpt_completions.for_size(20 * len(jobs))(jobs.submit, work)
    return float((completions - jobs.submit).sum())


def mean_busy_time_bound(jobs: Jobs, length: Floats) -> float:
    """Minimum sum of mean busy times on the fast machine, plus half of each duration."""
    work = jobs.gpus * length / jobs.cluster.gpus
    busy = mean_busy_times.for_size(20 * len(jobs))(jobs.submit, work)
    return float((busy - jobs.submit + length / 2).sum())


def capacity_duals(
    jobs: Jobs, length: Floats, known_flow: float | None, cells: int, iterations: int
) -> tuple[float, Floats, Floats]:
    """Subgradient ascent from duals of 0: the best value, the cells' edges and the best duals."""
    edges = cell_edges(jobs, length, cells)
    capacity = jobs.cluster.gpus * np.diff(edges)
    dual, used, empty = np.zeros(len(capacity)), np.empty(len(capacity)), np.empty(0)
    best, best_dual = 0.0, dual
    target = known_flow or 0.0
    step_factor, steps_without_gain = 1.0, 0
    for _ in range(iterations):
        value = lagrangian_value.for_size(20 * len(jobs))(
            edges, dual, empty, jobs.submit, length, jobs.gpus, used, empty
        )
        value -= float(jobs.cluster.gpus * (dual * np.diff(edges)).sum())
        if value > best:
            best, best_dual, steps_without_gain = value, dual, 0
        else:
            steps_without_gain += 1
            if steps_without_gain == PATIENCE:
                step_factor, steps_without_gain, dual = step_factor / 2, 0, best_dual
                continue
        # projected Polyak step towards the known flow
        direction = (used - capacity) / capacity
        direction = np.where((dual <= 0) & (direction < 0), 0.0, direction)
        slope = float((capacity * direction**2).sum())
        if slope == 0.0:
            break
        estimated_gap = max(target - value, MIN_GAP * abs(value))
        dual = np.maximum(dual + step_factor * estimated_gap / slope * direction, 0.0)
    return best, edges, best_dual


def cell_edges(jobs: Jobs, length: Floats, cells: int) -> Floats:
    """Edges of the cells: quantiles of submissions, then a tail long enough for all work."""
    submit = jobs.submit
    tail = float((jobs.gpus * length).sum()) / jobs.cluster.gpus + float(length.max())
    inner = np.quantile(submit, np.linspace(0, 1, 1 + cells // 2))
    outer = submit[-1] + tail * np.linspace(0, 1, 1 + cells // 4) ** 2
    even = np.linspace(submit[0], submit[-1] + tail, 1 + cells // 4)
    edges = np.unique(np.concatenate((inner, outer, even)))
    wide = np.concatenate(([True], np.diff(edges) > MIN_CELL_SHARE * (edges[-1] - edges[0])))
    edges = edges[wide]
    # degenerate span: one cell of one ulp
    return edges if len(edges) > 1 else np.array([edges[0], np.nextafter(edges[0], np.inf)])


@kernel
def srpt_completions(release: Any, work: Any) -> Floats:
    """Return the completion time of each job under preemptive SRPT on one machine."""
    jobs, clock = len(release), 0.0
    completion = release.copy()
    waiting = [(np.inf, jobs)]  # by remaining work; the first one runs
    for arriving in range(jobs + 1):
        now = release[arriving] if arriving < jobs else np.inf
        while len(waiting) > 1 and clock + waiting[0][0] <= now:
            remaining, job = heapq.heappop(waiting)
            clock += remaining
            completion[job] = clock
        if arriving < jobs and work[arriving] > 0.0:
            if len(waiting) > 1:
                remaining, job = waiting[0]
                heapq.heapreplace(waiting, (max(0.0, remaining - (now - clock)), job))
            clock = now
            heapq.heappush(waiting, (work[arriving], arriving))
    return completion


@kernel
def mean_busy_times(release: Any, work: Any) -> Floats:
    """Mean time at which each job's work is done under preemptive shortest-work-first."""
    jobs, clock = len(release), 0.0
    mean, remaining, moment = release.copy(), work.copy(), np.zeros(len(release))
    waiting = [(np.inf, jobs)]  # by work; the first one runs
    for arriving in range(jobs + 1):
        now = release[arriving] if arriving < jobs else np.inf
        while len(waiting) > 1 and clock < now:
            job = waiting[0][1]
            end = min(now, clock + remaining[job])
            moment[job] += (end - clock) * (clock + end) / 2
            if clock + remaining[job] <= now:
                mean[job] = moment[job] / work[job]
                heapq.heappop(waiting)
            else:
                remaining[job] -= end - clock
            clock = end
        if arriving < jobs:
            clock = max(clock, now)
            if work[arriving] > 0.0:
                heapq.heappush(waiting, (work[arriving], arriving))
    return mean


@kernel
def lagrangian_value(
    edges: Any,
    dual: Any,
    no_wait_dual: Any,
    submit: Any,
    length: Any,
    gpus: Any,
    used: Any,
    run: Any,
) -> float:
    """Lagrangian value: sum over jobs of the minimum priced flow; fills `used` with GPU-seconds.

    `no_wait_dual`, if not empty, is a second dual, on every second that a job runs before submit +
    length; `run` is filled with those seconds by cell. A job's candidate starts are its submission,
    with a second dual submit + length, and the starts that put its start or end on an edge: in
    between its cost is linear. They are enumerated in ascending order until the flow alone is no
    better than the best cost so far.
    """
    cells, has_no_wait = len(dual), len(no_wait_dual) > 0
    integral, no_wait_integral = np.zeros(cells + 1), np.zeros(cells + 1)
    for k in range(cells):
        width = edges[k + 1] - edges[k]
        integral[k + 1] = integral[k] + dual[k] * width
        if has_no_wait:
            no_wait_integral[k + 1] = no_wait_integral[k] + no_wait_dual[k] * width
    used[:] = 0.0
    run[:] = 0.0
    total = 0.0
    for i in range(len(submit)):
        r, d, g = submit[i], length[i], gpus[i]
        early_until, no_wait_total = r + d, 0.0
        if has_no_wait:
            no_wait_total = _integral_until(edges, no_wait_integral, no_wait_dual, early_until)
        start_edge, end_edge = _upper_bound(edges, r), _upper_bound(edges, early_until)
        best, best_start, t = np.inf, r, r
        while t + d - r < best:
            cost = d if t == r else t + d - r
            cost += g * (
                _integral_until(edges, integral, dual, t + d)
                - _integral_until(edges, integral, dual, t)
            )
            if has_no_wait and t < early_until:
                cost += no_wait_total - _integral_until(edges, no_wait_integral, no_wait_dual, t)
            if cost < best:
                best, best_start = cost, t
            by_start = edges[start_edge] if start_edge <= cells else np.inf
            by_end = edges[end_edge] - d if end_edge <= cells else np.inf
            if has_no_wait and t < early_until <= min(by_start, by_end):
                t = early_until
                continue
            if by_start <= by_end:
                start_edge += 1
            else:
                end_edge += 1
            t = max(min(by_start, by_end), r)
        total += best
        _add_usage(edges, used, best_start, best_start + d, g)
        if has_no_wait:
            _add_usage(edges, run, best_start, early_until, 1.0)
    return total


@register_jitable
def _integral_until(edges: Any, integral: Any, dual: Any, time: float) -> float:
    edge = _upper_bound(edges, time)
    if edge == 0:
        return 0.0
    if edge >= len(edges):
        return integral[-1]
    return integral[edge - 1] + dual[edge - 1] * (time - edges[edge - 1])


@register_jitable
def _upper_bound(edges: Any, time: float) -> int:
    """The first edge after a time: numpy's search takes a second to compile."""
    low, high = 0, len(edges)
    while low < high:
        middle = (low + high) // 2
        if time < edges[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@register_jitable
def _add_usage(edges: Any, used: Any, start: float, end: float, gpus: float) -> None:
    k = max(_upper_bound(edges, start) - 1, 0)
    while k < len(used) and edges[k] < end:
        used[k] += gpus * max(0.0, min(end, edges[k + 1]) - max(start, edges[k]))
        k += 1
