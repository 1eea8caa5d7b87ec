"""The best schedule of all heuristics in a short time: the upper bound exact methods start from."""

from __future__ import annotations

from dataclasses import replace

from optsched.makespan.bounds import best_bound
from optsched.makespan.contention import Schedule, evaluate, schedule_of
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import MakespanOptions
from optsched.result import Settings

SEARCH_MOVES = 20_000
NESTED_MOVES = 2_000_000


def known_schedule(instance: MakespanInstance, settings: Settings) -> Schedule | None:
    """The best schedule within the horizon that the heuristics find; None if none does.

    Cut by moves, not by time, so that it repeats exactly.
    """
    found = candidates(instance, settings)
    if not found:
        return None
    return min(found.values(), key=lambda schedule: evaluate(instance, schedule).makespan)


def candidates(instance: MakespanInstance, settings: Settings) -> dict[str, Schedule]:
    """Schedules within the horizon, by the method that made each."""
    from optsched.makespan import baselines, list_scheduling, local_search, nested, sjf_bco

    options, made = MakespanOptions(), {}
    short = replace(settings, time_limit=None, iterations=search_moves(instance))
    runs = {
        "sjf-bco": sjf_bco.sjf_bco,
        "first-fit": baselines.first_fit,
        "list-scheduling": baselines.list_scheduling,
        "longest-first": list_scheduling.longest_first,
        "local-search": local_search.local_search,
    }
    for name, run in runs.items():
        outcome = run(instance, options, short)
        if outcome.solution is not None:
            made[name] = schedule_of(instance, outcome.solution)
    if nested.applies(instance):
        blocks = nested.Annealing(instance, best_bound(instance).value, settings.seed)
        blocks.run(NESTED_MOVES, None, settings.gap)
        made["nested"] = blocks.schedule()
    return made


def search_moves(instance: MakespanInstance) -> int:
    """Moves of a short local search: fewer for many jobs, whose moves take longer."""
    return max(200, SEARCH_MOVES * 20 // max(20, len(instance.jobs)))
