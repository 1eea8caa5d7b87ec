"""The schedules of all heuristics in a short time: the upper bounds exact methods start from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from optsched.deadline import Deadline
from optsched.makespan.bounds.best import best_bound, simple_bound
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.incumbent import Incumbent, SearchResult
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import MakespanOptions
from optsched.result import Settings

SEARCH_MOVES = 20_000
NESTED_MOVES = 2_000_000
SHARE = 0.5
"""Share of the time limit for all of them; cut by moves before that, they repeat exactly."""


def take_starting_schedules(found: Incumbent, settings: Settings) -> None:
    """Let the incumbent have what the heuristics find within a share of the time."""
    for name, each in candidates(found.instance, settings, settings.deadline.share(SHARE)):
        found.take(each, name)
    found.cut = False  # whoever goes on from here is not cut yet


def candidates(
    instance: MakespanInstance, settings: Settings, deadline: Deadline
) -> Iterator[tuple[str, SearchResult]]:
    """Method by method, the quickest first, what it finds; the first in any case."""
    from optsched.makespan.heuristics import (
        baselines,
        list_scheduling,
        local_search,
        nested,
        sjf_bco,
    )

    options = MakespanOptions()
    short = replace(settings, time_limit=None, iterations=search_moves(instance))

    def anneal(stop: Deadline) -> SearchResult:
        bound = best_bound(instance, deadline=stop).value
        blocks = nested.Annealing(instance, bound, short.seed, progress=short.progress)
        return blocks.found(NESTED_MOVES, stop, short.gap)

    runs: dict[str, Callable[[Deadline], SearchResult]] = {
        "longest-first": lambda stop: list_scheduling.by_longest(instance),
        "first-fit": lambda stop: baselines.by_first_fit(instance, options, stop),
        "list-scheduling": lambda stop: baselines.by_least_used(instance, options, stop),
        "sjf-bco": lambda stop: sjf_bco.by_sjf_bco(instance, options, stop),
        "local-search": lambda stop: local_search.search(
            instance, short, simple_bound(durations_of(instance)).value, stop
        ),
    }
    if nested.applies(instance):
        runs["nested"] = anneal
    for name, run in runs.items():
        if name == "longest-first" or not deadline.is_over:
            yield name, run(deadline.share(SHARE))


def search_moves(instance: MakespanInstance) -> int:
    """Moves of a short local search: fewer for many jobs, whose moves take longer."""
    return max(200, SEARCH_MOVES * 20 // max(20, len(instance.jobs)))
