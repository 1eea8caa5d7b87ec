"""Lower bounds on the total flow time of any schedule: what certifies a run.

With d_i = n_i x (provably least alpha) and true n, every schedule of Problem (8) has flow at least
(the first three also where jobs may be stopped and resume elsewhere, whatever a checkpoint costs:
they ask of a job only that its g_i GPUs work for d_i in all)

- *durations*: the sum of d_i;
- *fast machine*: the flow of preemptive SRPT on one machine with work g_i d_i / G (jobs spread over
  the GPUs as a fluid);
- *mean busy time*: a job's work takes d_i at least, so C_i >= M_i + d_i / 2 with M_i the mean time
  at which it is done (pauses make it earlier); the fast machine's least sum of M_i is that of
  preemptive shortest-work-first (Goemans 1997);
- *capacity dual*, without pauses: prices lam >= 0 on cells of time for GPU-seconds, Lam their
  integral, sum_i min_{t >= r_i} [t + d_i - r_i + g_i (Lam(t + d_i) - Lam(t))] - G Lam(end); valid
  for any prices, improved by subgradient steps.

Starts rounded to slots or durations rounded up would be no bounds. Source: models/online/README.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optsched.online.bounds.kernels import dual_value, mean_busy_times, srpt_completions
from optsched.online.data.jobs import Jobs

Floats = NDArray[np.float64]
CELLS = 240
ITERATIONS = 60
NARROWEST = 1e-9
"""Share of the time looked at that a cell is wide at least."""
PAUSING = ("durations", "fast_machine", "mean_busy_time")
"""Bounds that hold where jobs may be stopped, too."""
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
        """The largest of them."""
        return max(self.durations, self.fast_machine, self.mean_busy_time, self.capacity_dual)

    @property
    def source(self) -> str:
        """Which one that is."""
        return self._largest((*PAUSING, "capacity_dual"))

    @property
    def best_pausing(self) -> float:
        """The largest of those that hold where jobs may be stopped, too."""
        return max(getattr(self, name) for name in PAUSING)

    @property
    def pausing_source(self) -> str:
        """Which one that is."""
        return self._largest(PAUSING)

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
        Of the dual, which is 0 without any. O(iterations n cells) at worst, far less where little
        waits.

    Returns
    -------
    FlowBounds
        In seconds.

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
        capacity_dual_bound(jobs, length, known_flow, cells, iterations),
    )
    return FlowBounds(*(float(value) * (1 - ROUNDING * np.log2(len(jobs) + 2)) for value in values))


def fast_machine_bound(jobs: Jobs, length: Floats) -> float:
    """Flow of SRPT on one machine that does all GPUs' work."""
    work = jobs.gpus * length / jobs.cluster.gpus
    completions = srpt_completions.for_size(20 * len(jobs))(jobs.submit, work)
    return float((completions - jobs.submit).sum())


def mean_busy_time_bound(jobs: Jobs, length: Floats) -> float:
    """Least sum of mean busy times on the fast machine, plus half of each duration."""
    work = jobs.gpus * length / jobs.cluster.gpus
    busy = mean_busy_times.for_size(20 * len(jobs))(jobs.submit, work)
    return float((busy - jobs.submit + length / 2).sum())


def capacity_dual_bound(
    jobs: Jobs, length: Floats, known_flow: float | None, cells: int, iterations: int
) -> float:
    """The best value that subgradient ascent reaches from prices of 0 (the sum of durations)."""
    return capacity_prices(jobs, length, known_flow, cells, iterations)[0]


def capacity_prices(
    jobs: Jobs, length: Floats, known_flow: float | None, cells: int, iterations: int
) -> tuple[float, Floats, Floats]:
    """The value of `capacity_dual_bound`, with the cells' edges and the prices that reach it."""
    edges = cell_edges(jobs, length, cells)
    capacity = jobs.cluster.gpus * np.diff(edges)
    price, used = np.zeros(len(capacity)), np.empty(len(capacity))
    best, best_price = 0.0, price
    target = known_flow or 0.0
    pace, stale = 1.0, 0
    for _ in range(iterations):
        value = dual_value.for_size(20 * len(jobs))(
            edges, price, jobs.submit, length, jobs.gpus, used
        )
        value -= float(jobs.cluster.gpus * (price * np.diff(edges)).sum())
        if value > best:
            best, best_price, stale = value, price, 0
        else:
            stale += 1
            if stale == 3:
                pace, stale, price = pace / 2, 0, best_price
                continue
        direction = (used - capacity) / capacity
        direction = np.where((price <= 0) & (direction < 0), 0.0, direction)
        slope = float((capacity * direction**2).sum())
        if slope == 0.0:
            break
        reach = max(target - value, 0.01 * abs(value))
        price = np.maximum(price + pace * reach / slope * direction, 0.0)
    return best, edges, best_price


def cell_edges(jobs: Jobs, length: Floats, cells: int) -> Floats:
    """Edges of the cells: quantiles of submissions, then a tail as long as all work could queue."""
    submit = jobs.submit
    tail = float((jobs.gpus * length).sum()) / jobs.cluster.gpus + float(length.max())
    inner = np.quantile(submit, np.linspace(0, 1, 1 + cells // 2))
    outer = submit[-1] + tail * np.linspace(0, 1, 1 + cells // 4) ** 2
    even = np.linspace(submit[0], submit[-1] + tail, 1 + cells // 4)
    edges = np.unique(np.concatenate((inner, outer, even)))
    kept = np.concatenate(([True], np.diff(edges) > NARROWEST * (edges[-1] - edges[0])))
    edges = edges[kept]
    # one moment: no work, or less of it than the clock can show
    return edges if len(edges) > 1 else np.array([edges[0], np.nextafter(edges[0], np.inf)])
