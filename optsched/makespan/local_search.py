"""Local search on the order of list scheduling: reinsertion, swap, and who may span.

Guarantee: never worse than longest-first. Moves that keep the makespan within a shrinking slack of
the best are kept, so that plateaus and small hills are crossed. Anytime; a time limit covers the
bound too, at which the search stops. Equal (seed, iterations) give equal schedules. Complexity: one
list schedule a move. Beyond the paper.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from optsched.makespan.bounds import bound_within, simple_bound
from optsched.makespan.contention import Schedule
from optsched.makespan.durations import durations_of
from optsched.makespan.greedy import random_state
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.list_scheduling import best_list, longest_order, prepare_lists
from optsched.makespan.options import MakespanOptions
from optsched.makespan.outcome import outcome_of
from optsched.result import Outcome, Settings, Termination

EFFORT = 3_200_000
"""Moves times jobs when neither time nor iterations are limited."""
FIRST_SLACK = 0.02
"""Slack at the beginning, as a share of the makespan; it falls to 0 linearly."""
ROUNDS = 20
"""Steps in which the slack falls."""


@dataclass(frozen=True)
class Found:
    """What a search found, the moves it made, and whether time cut it."""

    schedule: Schedule | None
    value: float
    moves: int
    cut: bool


def local_search(
    instance: MakespanInstance, options: MakespanOptions, settings: Settings
) -> Outcome:
    """Schedule by local search; ``iterations`` counts moves."""
    began = time.perf_counter()
    if settings.time_limit is None:
        bound = simple_bound(durations_of(instance))
        known: dict[str, Any] = {}
    else:
        bound = bound_within(instance, settings.time_limit)
        left = settings.time_limit - (time.perf_counter() - began)
        settings = replace(settings, time_limit=max(left, 0.0))
        known = {"bound": bound.value, "bound_source": bound.source,
                 "certificate": bound.certificate}  # fmt: skip
    found = search(instance, settings, bound.value)
    return outcome_of(
        instance,
        found.schedule,
        Termination.TIME_LIMIT if found.cut else Termination.FEASIBLE,
        details={"moves": found.moves},
        **known,
        solve_time=time.perf_counter() - began,
    )


def search(instance: MakespanInstance, settings: Settings, target: float) -> Found:
    """Search until the moves or the time are spent, or the target (a bound) is met."""
    began = time.perf_counter()
    n = len(instance.jobs)
    limit = settings.time_limit
    if settings.iterations is not None:
        moves = settings.iterations
    else:
        moves = max(200, EFFORT // n) if limit is None else 2**62
    lists = prepare_lists(instance)
    order = longest_order(instance)
    value, schedule, spans = best_list(lists, order)
    if schedule is None or value <= target:
        return Found(schedule, value, 0, False)
    best_order, best_spans, best = order.copy(), spans.copy(), value
    state = random_state(settings.seed)
    from optsched.makespan.local_search_kernel import improve

    done = 0
    clock = _Clock(began, limit, moves)
    while done < moves and best > target and clock.runs():
        slack = FIRST_SLACK * value * clock.share_left(done)
        value, best, made = improve(
            lists.jobs, order, spans, value, target, clock.chunk(done), slack, state,
            lists.starts, lists.where, lists.held, lists.used, lists.finish,
            best_order, best_spans, best,
        )  # fmt: skip
        done += int(made)
    lists.run(best_order, best_spans)
    cut = limit is not None and done < moves and best > target
    return Found(lists.schedule(), float(best), done, cut)


@dataclass
class _Clock:
    """Moves until the next look at the clock: equal parts of the moves, or of the time."""

    began: float
    limit: float | None
    moves: int
    size: int = 16
    last: Callable[[], float] = time.perf_counter

    def runs(self) -> bool:
        return self.limit is None or time.perf_counter() - self.began < self.limit

    def share_left(self, done: int) -> float:
        """Share of the search that is left, in steps of 1 / ROUNDS."""
        share = done / self.moves
        if self.limit is not None:
            share = max(share, (time.perf_counter() - self.began) / max(self.limit, 1e-9))
        return max(0.0, 1 - (int(share * ROUNDS) + 1) / ROUNDS)

    def chunk(self, done: int) -> int:
        if self.limit is None:
            return min(-(-self.moves // ROUNDS), self.moves - done)
        spent = max(time.perf_counter() - self.began, 1e-3)
        if done:
            self.size = max(1, int(done / spent * min(0.02 * self.limit, 0.1)))
        return min(self.size, self.moves - done)
