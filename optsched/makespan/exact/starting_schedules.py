"""Starting schedules for exact methods from short heuristic runs."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from optsched.deadline import Deadline
from optsched.makespan.bounds.best import best_bound, simple_bound
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.contention import schedule_from_solution
from optsched.makespan.heuristics import list_scheduling, local_search, nested
from optsched.makespan.heuristics.sjf_bco import search_by_name
from optsched.makespan.incumbent import Incumbent, SearchResult
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import MakespanOptions
from optsched.result import Settings

# Moves of the two searches, some seconds each; runs limited by moves are reproducible.
SEARCH_MOVES = 20_000
NESTED_MOVES = 2_000_000
TIME_SHARE = 0.5
"""Share of the time limit for all of them, and of what is left of it for each."""


def take_starting_schedules(incumbent: Incumbent, settings: Settings) -> None:
    """Update the incumbent by the heuristics within a share of the time."""
    if settings.start is not None:
        instance = incumbent.instance
        incumbent.update_schedule(schedule_from_solution(instance, settings.start), "start")
    share = settings.deadline.share(TIME_SHARE)
    for name, result in candidates(incumbent.instance, settings, share):
        incumbent.update_result(result, name)
    incumbent.timed_out = False  # only a share of the time is up


def candidates(
    instance: MakespanInstance, settings: Settings, deadline: Deadline
) -> Iterator[tuple[str, SearchResult]]:
    """Yield (method, result); longest-first always runs."""
    short = replace(settings, time_limit=None, iterations=search_moves(instance))
    simple = simple_bound(durations_of(instance)).value

    def anneal(stop: Deadline) -> SearchResult:
        bound = best_bound(instance, deadline=stop).value
        annealing = nested.Annealing(instance, bound, short.seed, short.progress)
        return annealing.result(NESTED_MOVES, stop, short.gap)

    runs: dict[str, Callable[[Deadline], SearchResult]] = {
        "longest-first": lambda stop: list_scheduling.longest_first_schedule(instance),
    }
    for method in ("first-fit", "list-scheduling", "sjf-bco"):
        runs[method] = partial(search_by_name, method, instance, MakespanOptions())
    runs["local-search"] = lambda stop: local_search.search(instance, short, simple, stop)
    if nested.is_applicable(instance):
        runs["nested"] = anneal
    for name, run in runs.items():
        if name == "longest-first" or not deadline.is_over:
            yield name, run(deadline.share(TIME_SHARE))


def search_moves(instance: MakespanInstance) -> int:
    """Moves of a short local search: fewer for many jobs, whose moves take longer."""
    return max(200, SEARCH_MOVES * 20 // max(20, len(instance.jobs)))
