"""Policies ``rg`` and ``avg-rg``: the best of several randomised greedy passes at every event.

In order of pressure each job takes the best of its configurations that fits: in time by cost, then
late by completion time; best fit chooses the node. Passes after the first swap neighbours of the
order and draw among the best few configurations; the cheapest pass by (P1.1) is kept. The seats are
those of the selection problem's ``rg``, draw for draw. ``avg-rg`` plans with mean lengths (sts,
VII-A1). Dedicated GPUs only. Guarantee: none. Complexity: O(passes x jobs x (nodes + scenarios)).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from optsched.kernels import kernel
from optsched.result import Settings
from optsched.rolling.policies.fewest_migrations import Placed, with_fewest_migrations
from optsched.rolling.policies.queue import planned_times
from optsched.rolling.simulator.engine import Plan
from optsched.rolling.simulator.world import View, World
from optsched.selection.cost import Tables, type_rates
from optsched.selection.heuristics._best_fit_kernel import Nodes, best_fit, most_free, nodes_of
from optsched.selection.heuristics.baselines import CHOICES, STARTS, SWAP_SHARE
from optsched.uncertainty.survival import Curves

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LATE, NEVER = 1, 2


class Ranking(NamedTuple):
    """Jobs by pressure, ``order`` (J,), and each job's dedicated configurations t * width + c,
    best first: ``entries`` (J, T * width), of which the first ``counts[j]`` are usable."""

    order: Ints
    entries: Ints
    counts: Ints
    width: int


class Costs(NamedTuple):
    """Data of (P1.1): seconds per epoch (J, T, C), and by job the expected epochs left, seconds to
    the due date, dollars per second late, dollars of postponing, and F^c of the epochs left."""

    seconds: Floats
    means: Floats
    due: Floats
    weights: Floats
    postponed: Floats
    curves: Curves


def randomised_greedy(name: str, world: World, settings: Settings) -> RandomisedGreedy:
    """Make ``rg`` or ``avg-rg``; `settings.iterations` is the number of passes (default 20)."""
    return RandomisedGreedy(world, name, settings)


class RandomisedGreedy:
    """The policy. It remembers the number of its decisions, which seeds their draws."""

    wake = math.inf

    def __init__(self, world: World, name: str, settings: Settings) -> None:
        self.world, self.name, self.average = world, name, name.startswith("avg-")
        self.seed, self.passes = settings.seed, settings.iterations or STARTS
        self.decisions = 0
        self.nodes = nodes_of(world.instance, world.all.kind_of)

    def decide(self, view: View) -> Plan:
        """Choose for all jobs anew."""
        rng = np.random.default_rng([self.seed, self.decisions])
        self.decisions += 1
        tables = view.tables
        ranking = ranked(tables, planned_times(view, self.average))
        costs = Costs(
            tables.seconds,
            view.means,
            tables.due,
            tables.weights,
            tables.postponed,
            view.works.curves,
        )
        seats = best_of_passes(ranking, self.nodes, costs, rng, self.passes)
        jobs = np.flatnonzero(seats[0] >= 0)
        node, first, configuration = np.ascontiguousarray(seats[:, jobs])
        placed = Placed(jobs, node, first, configuration + 1, configuration)
        return Plan(with_fewest_migrations(tables, placed, view.running))


def ranked(tables: Tables, times: Floats) -> Ranking:
    """Configurations in time by cost, then the late ones by completion time."""
    width = times.shape[2]
    cost = np.full(times.shape, np.inf)
    lateness = np.full(times.shape, NEVER)
    for t, kind in enumerate(tables.kinds):
        here = times[:, t, : kind.gpus]
        late = here > tables.in_time[:, None]
        dollars = here.copy()  # late configurations are ranked by time alone
        np.multiply(here, type_rates(tables, t), out=dollars, where=~late)
        cost[:, t, : kind.gpus] = dollars
        lateness[:, t, : kind.gpus] = np.where(np.isfinite(here), late * LATE, NEVER)
    keys = [each.reshape(tables.jobs, -1) for each in (times, cost, lateness)]
    order = np.argsort(tables.due - keys[0].min(axis=1), kind="stable")
    entries, counts = np.lexsort(keys, axis=1), (keys[2] < NEVER).sum(axis=1)
    return Ranking(order, entries, counts, width)


@kernel
def best_of_passes(
    ranking: Ranking, nodes: Nodes, costs: Costs, generator: Any, passes: int
) -> Any:
    """Nodes (-1: waits), first GPUs and configurations (3, J) of the cheapest pass by (P1.1)."""
    count = len(ranking.order)
    best = np.full((3, count), -1)
    least = np.inf
    for index in range(passes):
        order = ranking.order.copy()
        if index:
            for i in range(count - 1):
                if generator.random() < SWAP_SHARE:
                    order[i], order[i + 1] = order[i + 1], order[i]
        seats = _one_pass(order, ranking, nodes, generator, CHOICES if index else 1)
        cost = _expected_cost(seats, nodes, costs)
        if cost < least:
            best, least = seats, cost
    return best


@register_jitable
def _one_pass(order: Any, ranking: Ranking, nodes: Nodes, generator: Any, choices: int) -> Any:
    gpus, kind_of = nodes.gpus, nodes.kind
    free = gpus.copy()
    most = np.zeros(kind_of.max() + 1, np.int64)
    for n in range(len(free)):
        most[kind_of[n]] = max(most[kind_of[n]], free[n])
    seats = np.full((3, len(order)), -1)
    fitting = np.empty(choices, np.int64)
    for j in order:
        if most.max() == 0:
            break
        found = 0
        for i in range(ranking.counts[j]):
            t, c = divmod(ranking.entries[j, i], ranking.width)
            if c < most[t]:
                fitting[found] = ranking.entries[j, i]
                found += 1
                if found == choices:
                    break
        if not found:
            continue
        drawn = 0 if choices == 1 else generator.integers(0, found)
        t, c = divmod(fitting[drawn], ranking.width)
        n = best_fit(t, c + 1, free, nodes)
        seats[0, j], seats[1, j], seats[2, j] = n, gpus[n] - free[n], c
        free[n] -= c + 1
        if free[n] + c + 1 == most[t]:
            most[t] = most_free(t, free, nodes)
    return seats


@register_jitable
def _expected_cost(seats: Any, nodes: Nodes, costs: Costs) -> float:
    """(P1.1): tardiness by survival F^c, which falls at each knot by the chance to end there."""
    total = 0.0
    high, count = costs.curves.high, len(nodes.gpus)
    first, used = np.full(count, np.inf), np.zeros(count, np.int64)
    for j in range(seats.shape[1]):
        n, c = seats[0, j], seats[2, j]
        if n < 0:
            total += costs.postponed[j]
            continue
        each = costs.seconds[j, nodes.kind[n], c]
        first[n] = min(first[n], each * costs.means[j])
        used[n] += c + 1
        a, b = costs.curves.start[j], costs.curves.start[j + 1]
        late = 0.0
        for i in range(a, b):
            chance = high[i] - (high[i + 1] if i + 1 < b else 0.0)
            late += chance * max(each * costs.curves.knots[i + j + 1] - costs.due[j], 0.0)
        total += costs.weights[j] * late
    for n in range(count):
        if used[n]:
            total += first[n] * nodes.rates[n, used[n] - 1]
    return total
