"""Running the compiled greedy simulation, and the search for theta around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optsched.deadline import Deadline, OutOfTimeError
from optsched.makespan._contention_kernel import Jobs
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.contention import (
    Floats,
    Ints,
    Schedule,
    empty_schedule,
    jobs_of,
    schedule_from,
)
from optsched.makespan.heuristics._greedy_kernel import Choice, schedule_in_order
from optsched.makespan.heuristics._random_kernel import random_state
from optsched.makespan.incumbent import SearchResult
from optsched.makespan.instance import MakespanInstance


@dataclass(frozen=True)
class Greedy:
    """An instance made ready for many runs of the simulation."""

    jobs: Jobs
    estimate: Floats
    least: Floats
    horizon: int
    latest_end: float

    @property
    def least_theta(self) -> float:
        """No schedule keeps every GPU's accumulated estimates below this."""
        work = float(self.estimate @ self.jobs.gpus)
        return max(work / float(self.jobs.capacity.sum()), float(self.estimate.max()))

    def run(
        self,
        order: Ints,
        picks: Ints,
        theta: float,
        spread: float = 1.0,
        cutoff: float = np.inf,
        seed: int = 0,
    ) -> tuple[float, Schedule | None]:
        """Makespan and schedule, or infinity and None; see `schedule_in_order`."""
        choice = Choice(picks, self.estimate, float(theta), float(spread), random_state(seed))
        arrays = empty_schedule(self.jobs)
        makespan = float(
            schedule_in_order(
                self.jobs, order, choice, self._least_left(order), float(cutoff), arrays
            )
        )
        return makespan, None if makespan == np.inf else schedule_from(self.jobs, arrays)

    def _least_left(self, order: Ints) -> Floats:
        """Least slots from any place of the order on: by the longest job, and by area."""
        backwards = order[::-1]
        longest = np.maximum.accumulate(self.least[backwards])
        work = np.cumsum((self.least * self.jobs.gpus)[backwards])
        left = np.maximum(longest, work / self.jobs.capacity.sum())[::-1]
        return np.append(left, 0.0) * (1 - 1e-12)


def prepare(instance: MakespanInstance) -> Greedy:
    """Make an instance ready."""
    durations = durations_of(instance)
    return Greedy(
        jobs_of(instance),
        durations.estimate,
        durations.least,
        instance.horizon,
        instance.latest_end,
    )


def best_theta(
    greedy: Greedy,
    order: Ints,
    choices: Sequence[Ints],
    spread: float = 1.0,
    deadline: Deadline | None = None,
) -> SearchResult:
    """Bisect theta over [1, horizon] as Algorithm 1 does; the best schedule seen and its theta.

    Each theta tries every one of `choices`. A simulation stops as soon as it cannot beat the best
    seen: the bisection asks no more of it. The deadline is looked at between simulations; where it
    leaves nothing, the widest theta is tried once.
    """
    clock = deadline or Deadline()
    best: Schedule | None = None
    best_value, best_at = np.nextafter(greedy.latest_end, np.inf), None
    rounding = greedy.latest_end / greedy.horizon
    cut = False
    left, right = 1, greedy.horizon
    try:
        while left <= right and not cut:
            theta = (left + right) // 2
            improved = False
            for picks in choices if theta * rounding >= greedy.least_theta else ():
                if clock.is_over:
                    cut = True
                    break
                value, schedule = greedy.run(
                    order, picks, theta * rounding, spread, cutoff=best_value
                )
                if schedule is not None and value < best_value:
                    best, best_value, best_at, improved = schedule, value, theta, True
            if improved:
                right = theta - 1
            else:
                left = theta + 1
        for picks in reversed(choices) if cut else ():
            if best is None:
                best_at = greedy.horizon
                _, best = greedy.run(order, picks, greedy.latest_end, spread, cutoff=best_value)
    except OutOfTimeError:
        cut = True
    return SearchResult(best, cut, {"theta": best_at})


def smallest_first(gpus: Ints, names: Sequence[str]) -> Ints:
    """Jobs by size, ties by name."""
    order = sorted(range(len(names)), key=lambda j: (gpus[j], names[j]))
    return np.array(order, dtype=np.int64)
