"""A lower bound on the total flow time that accounts for jobs that cannot run simultaneously.

The capacity dual of `flow` relaxes integrality: of two 3-GPU jobs on 5, only a third of one waits.
In fact, if the jobs that would run without waiting do not fit, at least |E(t)| - m(t) whole jobs
wait. With d_i the minimum duration of job i,

    E(t) = {i : r_i <= t < r_i + d_i},   m(t) = how many of E(t), smallest first, fit on G GPUs,

at most m(t) jobs of E(t) run at t in any schedule. Its dual mu(t) >= 0 prices each second that a
job of E(t) runs, the dual lam(t) >= 0 of capacity each GPU-second; with N, Lam their integrals

    sum_i min_{t >= r_i} [t + d_i - r_i + g_i (Lam(t + d_i) - Lam(t)) + max(0, N(r_i + d_i) - N(t))]
      - G Lam(end) - integral of mu m

is a lower bound on the flow of every non-preemptive schedule, for any duals. mu = 1 and lam = 0
give the durations and the time that jobs of each E(t) must wait; deflected subgradient steps on
both from 0 give another bound. Source: models/online/README.md.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from optsched.arrays import Floats
from optsched.deadline import Deadline
from optsched.online.bounds.flow import MIN_GAP, cell_edges, lagrangian_value
from optsched.online.data.jobs import Jobs

MIN_CELLS, MAX_CELLS = 1_000, 16_000
"""Limits on the number of time cells, which is the number of jobs within them."""
ITERATIONS = 300
DEFLECTION = 0.3
"""Weight of the newest subgradient in a step's direction."""
PATIENCE, SHRINK, GROW = 5, 0.7, 1.2
"""Steps without gain until the step factor shrinks, and the factors of shrinking and growing."""
ROUNDING = 1e-10
"""Relative allowance for the rounding of the sums, subtracted from the bound."""


@dataclass(frozen=True)
class GangBound:
    """A bound on the sum of C - r, in seconds, and the duals that prove it: by time cell, between
    `edges`, lam per GPU-second and mu per second of running in [r_i, r_i + d_i]."""

    value: float
    edges: Floats
    capacity_dual: Floats
    no_wait_dual: Floats

    def to_dict(self) -> dict[str, Any]:
        """The certificate that `optsched.library.verify` reads."""
        early = self.no_wait_dual.tolist()
        return {
            "kind": "prices",
            "edges": self.edges.tolist(),
            "prices": self.capacity_dual.tolist(),
            **({"early": early} if any(early) else {}),
        }


def gang_bound(
    jobs: Jobs,
    known_flow: float | None = None,
    *,
    iterations: int = ITERATIONS,
    deadline: Deadline | None = None,
) -> GangBound:
    """Best of the pure waiting-time bound and the subgradient bound."""
    length = jobs.min_length
    if not len(jobs):
        return GangBound(0.0, np.array([0.0, 1.0]), np.zeros(1), np.zeros(1))
    end = float((jobs.submit + length).max())
    single_cell = np.array([0.0, max(end, float(jobs.submit[-1]) + 1.0)])
    waiting_bound = _Relaxation(jobs, length, single_cell).bound(np.array([0.0, 1.0]))
    cells = min(max(len(jobs), MIN_CELLS), MAX_CELLS) if iterations else 1
    relaxation = _Relaxation(jobs, length, cell_edges(jobs, length, cells))
    dual_bound = relaxation.ascend(known_flow or 0.0, iterations, deadline or Deadline())
    return max(waiting_bound, dual_bound, key=lambda bound: bound.value)


def max_simultaneous_jobs(jobs: Jobs, length: Floats, edges: Floats) -> Floats:
    """Per cell: integral of m, the largest number of no-wait jobs that fit simultaneously."""
    times = np.concatenate((jobs.submit + length, jobs.submit))
    order = np.argsort(times, kind="stable")
    times, gpus = times[order], np.concatenate((jobs.gpus, jobs.gpus))[order]
    change = np.repeat([-1, 1], len(jobs))[order]
    free, count = np.full(len(times), jobs.cluster.gpus), np.zeros(len(times), dtype=np.int64)
    for size in np.unique(jobs.gpus):
        num_fitting = np.minimum(np.cumsum(np.where(gpus == size, change, 0)), free // size)
        count += num_fitting
        free -= num_fitting * size
    until = np.concatenate(([0.0], np.cumsum(count[:-1] * np.diff(times))))
    return np.diff(np.interp(edges, times, until))


class _Relaxation:
    """The Lagrangian dual on given cells, as a function of lam and mu in one vector."""

    def __init__(self, jobs: Jobs, length: Floats, edges: Floats) -> None:
        self.jobs, self.length, self.edges = jobs, length, edges
        capacity = jobs.cluster.gpus * np.diff(edges)
        max_jobs = max_simultaneous_jobs(jobs, length, edges)
        self.limits = np.concatenate((capacity, max_jobs))
        self.scale = np.concatenate((capacity, np.maximum(max_jobs, np.diff(edges))))
        self.used = np.empty(len(self.limits))

    def bound(self, duals: Floats) -> GangBound:
        """The bound at given duals; fills `used` with the usage of the Lagrangian solution."""
        jobs, cells = self.jobs, len(self.edges) - 1
        capacity_dual, no_wait_dual = duals[:cells], duals[cells:]
        used, run = self.used[:cells], self.used[cells:]
        total = lagrangian_value.for_size(50 * len(jobs))(
            self.edges, capacity_dual, no_wait_dual, jobs.submit, self.length, jobs.gpus, used, run
        )
        dual_cost = float((self.limits * duals).sum())
        value = total - dual_cost - ROUNDING * (total + dual_cost)
        return GangBound(max(float(value), 0.0), self.edges, capacity_dual, no_wait_dual)

    def ascend(self, target: float, iterations: int, deadline: Deadline) -> GangBound:
        """Deflected subgradient steps from 0; restarts from the best duals after PATIENCE steps."""
        duals = np.zeros(len(self.limits))
        best, best_duals, best_used = self.bound(duals), duals, self.used.copy()
        direction: Floats | None = None
        step_factor, steps_without_gain = 1.0, 0
        for _ in range(iterations):
            # deflected direction, projected on duals >= 0
            subgradient = (self.used - self.limits) / self.scale
            if direction is not None:
                subgradient = DEFLECTION * subgradient + (1 - DEFLECTION) * direction
            direction = subgradient
            step = np.where((duals <= 0) & (direction < 0), 0.0, direction)
            slope = float((self.scale * step**2).sum())
            if slope == 0.0 or deadline.is_over:
                break
            # Polyak step
            estimated_gap = max(target - best.value, MIN_GAP * best.value)
            duals = np.maximum(duals + step_factor * estimated_gap / slope * step, 0.0)
            candidate = self.bound(duals)
            if candidate.value > best.value:
                best, best_duals, best_used = candidate, duals, self.used.copy()
                step_factor, steps_without_gain = min(step_factor * GROW, 1.0), 0
                continue
            steps_without_gain += 1
            if steps_without_gain == PATIENCE:
                step_factor, steps_without_gain = step_factor * SHRINK, 0
                duals, direction = best_duals, None
                self.used[:] = best_used
        return best
