"""The paper's baselines: First-Fit, List-Scheduling and Random; sjf-bco, section 7.

Guarantee: none. First-Fit takes the first idle GPUs from server to server, List-Scheduling the
least used ones, both under the same bound theta as SJF-BCO and the same search for it; Random
takes any, with theta = horizon. Jobs come in the order of the file or, as an option, by size.
Complexity: O(log T) simulations (Random: one), each O(n GPUs + completions).
"""

from __future__ import annotations

import time

import numpy as np

from optsched.makespan.contention import Ints
from optsched.makespan.greedy import Greedy, best_theta, prepare, smallest_first
from optsched.makespan.greedy_kernel import FIRST, LEAST_USED, RANDOM
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import MakespanOptions
from optsched.makespan.outcome import outcome_of
from optsched.result import Outcome, Settings


def first_fit(instance: MakespanInstance, options: MakespanOptions, settings: Settings) -> Outcome:
    """Schedule by First-Fit."""
    return _searched(instance, options, FIRST)


def list_scheduling(
    instance: MakespanInstance, options: MakespanOptions, settings: Settings
) -> Outcome:
    """Schedule by List-Scheduling: always the least used GPUs, wherever they are."""
    return _searched(instance, options, LEAST_USED)


def random_placement(
    instance: MakespanInstance, options: MakespanOptions, settings: Settings
) -> Outcome:
    """Schedule on idle GPUs drawn at random."""
    began = time.perf_counter()
    greedy = prepare(instance)
    order = _order(instance, options, greedy)
    picks = np.full(len(order), RANDOM, dtype=np.int64)
    # No limit but the end of time: what accumulates on a GPU is an estimate, below what it takes.
    _, schedule = greedy.run(order, picks, greedy.horizon, seed=settings.seed)
    return outcome_of(instance, schedule, solve_time=time.perf_counter() - began)


def _searched(instance: MakespanInstance, options: MakespanOptions, how: int) -> Outcome:
    began = time.perf_counter()
    greedy = prepare(instance)
    order = _order(instance, options, greedy)
    schedule, theta = best_theta(greedy, order, [np.full(len(order), how, dtype=np.int64)])
    seconds = time.perf_counter() - began
    return outcome_of(instance, schedule, details={"theta": theta}, solve_time=seconds)


def _order(instance: MakespanInstance, options: MakespanOptions, greedy: Greedy) -> Ints:
    if options.order == "smallest-first":
        return smallest_first(greedy.jobs.gpus, [job.name for job in instance.jobs])
    return np.arange(len(instance.jobs), dtype=np.int64)
