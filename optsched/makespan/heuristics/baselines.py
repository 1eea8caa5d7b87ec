"""The paper's baselines: First-Fit, List-Scheduling and Random; sjf-bco, section 7.

Guarantee: none. First-Fit takes the first idle GPUs from server to server, List-Scheduling the
least used ones, both under the same bound theta as SJF-BCO and the same search for it; Random
takes any, with theta = horizon. Jobs come in the order of the file or, as an option, by size.
Complexity: O(log T) simulations (Random: one), each O(n GPUs + completions).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from optsched.deadline import Deadline
from optsched.makespan.contention import Ints
from optsched.makespan.heuristics._greedy_kernel import FIRST, LEAST_USED, RANDOM
from optsched.makespan.heuristics.greedy import Greedy, best_theta, prepare, smallest_first
from optsched.makespan.incumbent import Incumbent, SearchResult
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import MakespanOptions
from optsched.result import Outcome, Settings


def first_fit(instance: MakespanInstance, options: MakespanOptions, settings: Settings) -> Outcome:
    """Schedule by First-Fit."""
    return Incumbent(instance, settings).heuristic(partial(by_first_fit, instance, options))


def list_scheduling(
    instance: MakespanInstance, options: MakespanOptions, settings: Settings
) -> Outcome:
    """Schedule by List-Scheduling: always the least used GPUs, wherever they are."""
    return Incumbent(instance, settings).heuristic(partial(by_least_used, instance, options))


def random_placement(
    instance: MakespanInstance, options: MakespanOptions, settings: Settings
) -> Outcome:
    """Schedule on idle GPUs drawn at random."""
    found = Incumbent(instance, settings)
    return found.heuristic(lambda _: at_random(instance, options, settings.seed))


def by_first_fit(
    instance: MakespanInstance, options: MakespanOptions, deadline: Deadline
) -> SearchResult:
    """The best schedule of First-Fit, and its theta."""
    return _searched(instance, options, FIRST, deadline)


def by_least_used(
    instance: MakespanInstance, options: MakespanOptions, deadline: Deadline
) -> SearchResult:
    """The best schedule of List-Scheduling, and its theta."""
    return _searched(instance, options, LEAST_USED, deadline)


def at_random(instance: MakespanInstance, options: MakespanOptions, seed: int) -> SearchResult:
    """A schedule of Random."""
    greedy = prepare(instance)
    order = _order(instance, options, greedy)
    picks = np.full(len(order), RANDOM, dtype=np.int64)
    # No limit but the end of time: what accumulates on a GPU is an estimate, below what it takes.
    _, schedule = greedy.run(order, picks, greedy.latest_end, seed=seed)
    return SearchResult(schedule)


def _searched(
    instance: MakespanInstance, options: MakespanOptions, how: int, deadline: Deadline
) -> SearchResult:
    greedy = prepare(instance)
    order = _order(instance, options, greedy)
    choices = [np.full(len(order), how, dtype=np.int64)]
    return best_theta(greedy, order, choices, deadline=deadline)


def _order(instance: MakespanInstance, options: MakespanOptions, greedy: Greedy) -> Ints:
    if options.order == "smallest-first":
        return smallest_first(greedy.jobs.gpus, [job.name for job in instance.jobs])
    return np.arange(len(instance.jobs), dtype=np.int64)
