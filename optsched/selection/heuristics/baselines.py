"""Methods ``edf``, ``fifo``, ``rg`` and their avg- variants: one job after another, greedily.

Guarantee: none. Each job takes the cheapest free configuration that completes it before its due
date, else the fastest free one; best fit chooses the node. Dedicated GPUs only, since only STS
shares in the paper. Orders: due date (edf), the file's order (fifo), pressure (27) (rg). Times are
at w^max; the avg- variants take E[W] instead. Complexity: O(J (T K + N)) a pass.

``rg``: the first pass is greedy, the others are randomised: neighbouring jobs are swapped with
probability SWAP_PROBABILITY, and the configuration is drawn among the best few; the best of
`settings.iterations` passes (default 20) by expected cost is kept. Source: sts, VII-A1.
"""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.deadline import clock
from optsched.kernels import kernel
from optsched.result import Outcome, Settings, Termination
from optsched.selection.assignment import Assignment, Placement, expected_cost, solution_of
from optsched.selection.cost import Floats, Tables, tables_of, type_rates
from optsched.selection.heuristics.cluster_state import Nodes, best_fit, max_free_gpus, nodes_of
from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions
from optsched.uncertainty.survival import Curves

DEFAULT_STARTS = 20
"""Passes of `rg`; sts does not say how many it runs."""
SWAP_PROBABILITY = 0.2
"""Of neighbours in the order; likewise ours, as is the number of candidates."""
CANDIDATES = 3
"""Best configurations among which a randomised pass draws."""
ON_TIME, LATE, UNUSABLE = 0, 1, 2
"""Rank of a configuration for a job."""


class Ranking(NamedTuple):
    """The jobs' order, and each job's dedicated configurations t * width + c, best first."""

    order: Any
    """(J,)"""
    entries: Any
    """(J, T * width)"""
    counts: Any
    """(J,): the number of entries that the job can use."""
    width: int


class Costs(NamedTuple):
    """The data of (P1.1), by job."""

    seconds: Floats
    """Per epoch (J, T, C)."""
    means: Floats
    """Expected remaining epochs."""
    due: Floats
    """Seconds to the due date."""
    weights: Floats
    """Dollars per second late."""
    postponed: Floats
    """Dollars of postponing."""
    curves: Curves
    """F^c of the remaining epochs."""


def ordered_greedy(
    name: str, instance: SelectionInstance, options: SelectionOptions, settings: Settings
) -> Outcome:
    """``edf`` and ``avg-edf``, earliest due date first, and ``fifo``, the file's order."""
    tables = tables_of(instance, options)
    order = np.arange(tables.jobs)
    if name != "fifo":
        order = np.argsort(tables.due, kind="stable")
    return _greedy_outcome(tables, is_average(name), settings, 1, order)


def randomised_greedy(
    name: str, instance: SelectionInstance, options: SelectionOptions, settings: Settings
) -> Outcome:
    """``rg`` and ``avg-rg``, the best of several starts."""
    starts = DEFAULT_STARTS if settings.iterations is None else max(settings.iterations, 1)
    return _greedy_outcome(tables_of(instance, options), is_average(name), settings, starts)


def _greedy_outcome(
    tables: Tables, average: bool, settings: Settings, passes: int, order: Any = None
) -> Outcome:
    """The best of some passes within the time limit, at least one; by pressure if unordered."""
    started = clock()
    ranking = ranked(tables, planned_times(tables, average))
    if order is not None:
        ranking = ranking._replace(order=order)
    costs, nodes = costs_of(tables), nodes_of(tables.instance, tables.kind_of)
    steps = tables.jobs * (ranking.entries.shape[1] + len(nodes.gpus))
    generator, best, lowest_cost = np.random.default_rng(settings.seed), {}, np.inf
    for index in range(passes):
        run = best_of_passes.for_size(steps)
        placements, jobs, cost = run(ranking, nodes, costs, generator, index, 1)
        if cost < lowest_cost:
            placed = [j for j in jobs.tolist() if placements[0, j] >= 0]
            best, lowest_cost = {j: _placement(*placements[:, j].tolist()) for j in placed}, cost
        if settings.time_limit is not None and clock() - started > settings.time_limit:
            break
    return heuristic_outcome(tables, best, started)


def _placement(node: int, first_gpu: int, configuration: int) -> Placement:
    return Placement(node, tuple(range(first_gpu, first_gpu + configuration + 1)), configuration)


def is_average(name: str) -> bool:
    """Whether a method plans at E[W] instead of w^max."""
    return name.startswith("avg-")


def planned_times(tables: Tables, average: bool) -> Floats:
    """Seconds to completion by job, type and configuration: at w^max, or at E[W]."""
    return tables.expected if average else tables.worst_case_seconds


def costs_of(tables: Tables) -> Costs:
    """The data of (P1.1) as the compiled passes take them."""
    works = tables.works
    costs = tables.due, tables.weights, tables.postponement_cost
    return Costs(tables.seconds, works.means, *costs, works.curves)


def heuristic_outcome(tables: Tables, assignment: Assignment, started: float) -> Outcome:
    seconds, value = clock() - started, expected_cost(tables, assignment)
    solution = solution_of(tables, assignment)
    return Outcome(solution, Termination.FEASIBLE, claimed=value, solve_time=seconds)


def ranked(tables: Tables, times: Floats) -> Ranking:
    """Jobs by pressure; configurations in time by cost, then late ones by completion time."""
    cost = np.full(times.shape, np.inf)
    lateness = np.full(times.shape, UNUSABLE)
    for t, kind in enumerate(tables.kinds):
        seconds = times[:, t, : kind.gpus]
        is_late = seconds > tables.latest_on_time[:, None]
        dollars = seconds.copy()  # late configurations are ranked by time alone
        np.multiply(seconds, type_rates(tables, t), out=dollars, where=~is_late)
        cost[:, t, : kind.gpus] = dollars
        rank = np.where(is_late, LATE, ON_TIME)
        lateness[:, t, : kind.gpus] = np.where(np.isfinite(seconds), rank, UNUSABLE)
    keys = [key.reshape(tables.jobs, -1) for key in (times, cost, lateness)]
    order = np.argsort(tables.due - keys[0].min(axis=1), kind="stable")
    entries, counts = np.lexsort(keys, axis=1), (keys[2] < UNUSABLE).sum(axis=1)
    return Ranking(order, entries, counts, times.shape[2])


@kernel
def best_of_passes(
    ranking: Ranking, nodes: Nodes, costs: Costs, generator: Any, first_pass: int, passes: int
) -> Any:
    """The cheapest of a greedy and randomised passes: placements (3, J), their order, the cost."""
    count = len(ranking.order)
    best, best_order, lowest_cost = np.full((3, count), -1), ranking.order, np.inf
    for index in range(first_pass, first_pass + passes):
        order = ranking.order.copy()
        if index:
            for i in range(count - 1):
                if generator.random() < SWAP_PROBABILITY:
                    order[i], order[i + 1] = order[i + 1], order[i]
        placements = _one_pass(order, ranking, nodes, generator, CANDIDATES if index else 1)
        cost = _expected_cost(placements, nodes, costs)
        if cost < lowest_cost:
            best, best_order, lowest_cost = placements, order, cost
    return best, best_order, lowest_cost


@register_jitable
def _one_pass(order: Any, ranking: Ranking, nodes: Nodes, generator: Any, candidates: int) -> Any:
    """Place jobs in order, each in one of the first `candidates` configurations that fit."""
    gpus, kind_of = nodes.gpus, nodes.kind
    free = gpus.copy()
    max_free = np.zeros(kind_of.max() + 1, np.int64)
    for n in range(len(free)):
        max_free[kind_of[n]] = max(max_free[kind_of[n]], free[n])
    placements = np.full((3, len(order)), -1)
    fitting = np.empty(candidates, np.int64)
    for j in order:
        if max_free.max() == 0:
            break
        count = 0
        for i in range(ranking.counts[j]):
            t, c = divmod(ranking.entries[j, i], ranking.width)
            if c < max_free[t]:
                fitting[count] = ranking.entries[j, i]
                count += 1
                if count == candidates:
                    break
        if not count:
            continue
        drawn = 0 if candidates == 1 else generator.integers(0, count)
        t, c = divmod(fitting[drawn], ranking.width)
        n = best_fit(t, c + 1, free, nodes)
        placements[0, j], placements[1, j], placements[2, j] = n, gpus[n] - free[n], c
        free[n] -= c + 1
        if free[n] + c + 1 == max_free[t]:
            max_free[t] = max_free_gpus(t, free, nodes)
    return placements


@register_jitable
def _expected_cost(placements: Any, nodes: Nodes, costs: Costs) -> float:
    """(P1.1): tardiness by F^c, which falls at each knot by the probability to end there."""
    total = 0.0
    high, count = costs.curves.high, len(nodes.gpus)
    first, used = np.full(count, np.inf), np.zeros(count, np.int64)
    for j in range(placements.shape[1]):
        n, c = placements[0, j], placements[2, j]
        if n < 0:
            total += costs.postponed[j]
            continue
        seconds = costs.seconds[j, nodes.kind[n], c]
        first[n] = min(first[n], seconds * costs.means[j])
        used[n] += c + 1
        a, b = costs.curves.start[j], costs.curves.start[j + 1]
        tardiness = 0.0
        for i in range(a, b):
            probability = high[i] - (high[i + 1] if i + 1 < b else 0.0)
            late = seconds * costs.curves.knots[i + j + 1] - costs.due[j]
            tardiness += probability * max(late, 0.0)
        total += costs.weights[j] * tardiness
    for n in range(count):
        if used[n]:
            total += first[n] * nodes.rates[n, used[n] - 1]
    return total
