"""Schedules of all heuristics in a short time: upper bounds from which exact methods start."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from optsched.deadline import Deadline
from optsched.makespan.bounds.best import best_bound, simple_bound
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.heuristics import list_scheduling, local_search, nested, sjf_bco
from optsched.makespan.incumbent import Incumbent, SearchResult
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import MakespanOptions
from optsched.result import Settings

SEARCH_MOVES = 20_000
NESTED_MOVES = 2_000_000
SHARE = 0.5
"""Share of the time limit for all of them; cut by moves before that, they repeat exactly."""


def take_starting_schedules(incumbent: Incumbent, settings: Settings) -> None:
    """Give the incumbent what the heuristics find within a share of the time."""
    share = settings.deadline.share(SHARE)
    for name, result in candidates(incumbent.instance, settings, share):
        incumbent.take(result, name)
    incumbent.cut = False  # only a share of the time is up


def candidates(
    instance: MakespanInstance, settings: Settings, deadline: Deadline
) -> Iterator[tuple[str, SearchResult]]:
    """Results by method, the quickest method first and in any case."""
    options = MakespanOptions()
    short = replace(settings, time_limit=None, iterations=search_moves(instance))
    simple = simple_bound(durations_of(instance)).value

    def by_baseline(picks: int) -> Callable[[Deadline], SearchResult]:
        return lambda stop: sjf_bco.by_baseline(instance, options, picks, stop)

    def anneal(stop: Deadline) -> SearchResult:
        bound = best_bound(instance, deadline=stop).value
        annealing = nested.Annealing(instance, bound, short.seed, short.progress)
        return annealing.result(NESTED_MOVES, stop, short.gap)

    runs: dict[str, Callable[[Deadline], SearchResult]] = {
        "longest-first": lambda stop: list_scheduling.by_longest(instance),
        "first-fit": by_baseline(sjf_bco.FIRST),
        "list-scheduling": by_baseline(sjf_bco.LEAST_USED),
        "sjf-bco": lambda stop: sjf_bco.by_sjf_bco(instance, options, stop),
        "local-search": lambda stop: local_search.search(instance, short, simple, stop),
    }
    if nested.applies(instance):
        runs["nested"] = anneal
    for name, run in runs.items():
        if name == "longest-first" or not deadline.is_over:
            yield name, run(deadline.share(SHARE))


def search_moves(instance: MakespanInstance) -> int:
    """Moves of a short local search: fewer for many jobs, whose moves take longer."""
    return max(200, SEARCH_MOVES * 20 // max(20, len(instance.jobs)))
