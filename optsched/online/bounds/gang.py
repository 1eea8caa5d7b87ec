"""A lower bound on the total flow time that knows which gangs must wait for one another.

The capacity dual of `flow` lets a fraction of a job wait: of two jobs of 3 GPUs on 5, a third of
one. But where the jobs that would run at a moment if none had waited do not fit, whole ones wait,
and no fewer than are left when the smallest run. With d_i the least seconds of job i,

    E(t) = {i : r_i <= t < r_i + d_i},   m(t) = how many of E(t), smallest first, fit on G GPUs,

at most m(t) jobs of E(t) run at t, whatever the schedule. A price mu(t) >= 0 on each second that a
job of E(t) runs stands beside the price lam(t) >= 0 of a GPU-second; with N, Lam their integrals

    sum_i min_{t >= r_i} [t + d_i - r_i + g_i (Lam(t + d_i) - Lam(t)) + max(0, N(r_i + d_i) - N(t))]
      - G Lam(end) - integral of mu m

is below the flow of every schedule that stops nothing, for any prices. mu = 1 and lam = 0 give the
durations and the time that the jobs of every E(t) must wait; deflected subgradient steps on both
from 0 reach the other side of it. Source: models/online/README.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.deadline import Deadline
from optsched.online.bounds.flow import cell_edges
from optsched.online.bounds.kernels import gang_value
from optsched.online.data.jobs import Jobs

Floats = NDArray[np.float64]
FEWEST, MOST = 1_000, 16_000
"""Cells of time: as many as jobs, within these."""
ITERATIONS = 300
DEFLECTED = 0.3
"""Share of the newest subgradient in a step's direction."""
PATIENCE, SHRINK, GROW = 5, 0.7, 1.2
"""Steps without gain until steps are shorter, by what factor, and after a gain longer."""
ROUNDING = 1e-10
"""Of what was added up, taken off the bound."""


@dataclass(frozen=True)
class GangBound:
    """A bound on the sum of C - r, in seconds, and the prices that prove it.

    Attributes
    ----------
    value : float
        The bound.
    edges : (H + 1,) float
        Seconds at which cells begin and end.
    price : (H,) float
        lam: of a GPU-second in a cell.
    early : (H,) float
        mu: of a second that a job runs in a cell while it would if it had not waited.
    """

    value: float
    edges: Floats
    price: Floats
    early: Floats

    def to_dict(self) -> dict[str, Any]:
        """The certificate that `optsched.library.verify` reads."""
        early = self.early.tolist()
        return {
            "kind": "prices",
            "edges": self.edges.tolist(),
            "prices": self.price.tolist(),
            **({"early": early} if any(early) else {}),
        }


def gang_bound(
    jobs: Jobs,
    known_flow: float | None = None,
    *,
    iterations: int = ITERATIONS,
    deadline: Deadline | None = None,
) -> GangBound:
    """The better of the time that gangs must wait and what the ascent over both prices reaches."""
    length = jobs.min_length
    if not len(jobs):
        return GangBound(0.0, np.array([0.0, 1.0]), np.zeros(1), np.zeros(1))
    end = float((jobs.submit + length).max())
    whole = _Relaxation(jobs, length, np.array([0.0, max(end, float(jobs.submit[-1]) + 1.0)]))
    waiting = whole.bound(np.array([0.0, 1.0]))
    cells = min(max(len(jobs), FEWEST), MOST) if iterations else 1
    relaxed = _Relaxation(jobs, length, cell_edges(jobs, length, cells))
    priced = relaxed.ascend(known_flow or 0.0, iterations, deadline or Deadline())
    return max(waiting, priced, key=lambda bound: bound.value)


def most_at_once(jobs: Jobs, length: Floats, edges: Floats) -> Floats:
    """By cell the integral of m: how many jobs that would run had none waited fit at once."""
    times = np.concatenate((jobs.submit + length, jobs.submit))
    order = np.argsort(times, kind="stable")
    times, gpus = times[order], np.concatenate((jobs.gpus, jobs.gpus))[order]
    change = np.repeat([-1, 1], len(jobs))[order]
    free, count = np.full(len(times), jobs.cluster.gpus), np.zeros(len(times), dtype=np.int64)
    for size in np.unique(jobs.gpus):
        fit = np.minimum(np.cumsum(np.where(gpus == size, change, 0)), free // size)
        count += fit
        free -= fit * size
    until = np.concatenate(([0.0], np.cumsum(count[:-1] * np.diff(times))))
    return np.diff(np.interp(edges, times, until))


class _Relaxation:
    """The dual on given cells, as a function of lam and mu in one vector."""

    def __init__(self, jobs: Jobs, length: Floats, edges: Floats) -> None:
        self.jobs, self.length, self.edges = jobs, length, edges
        capacity = jobs.cluster.gpus * np.diff(edges)
        most = most_at_once(jobs, length, edges)
        self.room = np.concatenate((capacity, most))
        self.scale = np.concatenate((capacity, np.maximum(most, np.diff(edges))))
        self.used = np.empty(len(self.room))

    def bound(self, prices: Floats) -> GangBound:
        """The bound at prices; `used` gets what jobs take there."""
        jobs, cells = self.jobs, len(self.edges) - 1
        price, early = prices[:cells], prices[cells:]
        used, run = self.used[:cells], self.used[cells:]
        total = gang_value.for_size(50 * len(jobs))(
            self.edges, price, early, jobs.submit, self.length, jobs.gpus, used, run
        )
        paid = float((self.room * prices).sum())
        value = total - paid - ROUNDING * (total + paid)
        return GangBound(max(float(value), 0.0), self.edges, price, early)

    def ascend(self, target: float, iterations: int, deadline: Deadline) -> GangBound:
        """Deflected subgradient steps from prices of 0; back to the best where none gains."""
        prices = np.zeros(len(self.room))
        best, best_prices, best_used = self.bound(prices), prices, self.used.copy()
        direction: Floats | None = None
        pace, stale = 1.0, 0
        for _ in range(iterations):
            slope = (self.used - self.room) / self.scale
            if direction is not None:
                slope = DEFLECTED * slope + (1 - DEFLECTED) * direction
            direction = slope
            step = np.where((prices <= 0) & (direction < 0), 0.0, direction)
            steepness = float((self.scale * step**2).sum())
            if steepness == 0.0 or deadline.is_over:
                break
            reach = max(target - best.value, 0.01 * best.value)
            prices = np.maximum(prices + pace * reach / steepness * step, 0.0)
            found = self.bound(prices)
            if found.value > best.value:
                best, best_prices, best_used = found, prices, self.used.copy()
                pace, stale = min(pace * GROW, 1.0), 0
                continue
            stale += 1
            if stale == PATIENCE:
                pace, stale, prices, direction = pace * SHRINK, 0, best_prices, None
                self.used[:] = best_used
        return best
