"""Policies ``rg`` and ``avg-rg``: the best of several randomised greedy passes at every event.

In order of pressure each job takes the best of its configurations that fits: in time by cost, then
late by completion time; best fit chooses the node. Passes after the first swap neighbours of the
order and draw among the best few configurations; the cheapest pass by (P1.1) is kept. The seats are
those of the selection problem's ``rg``, draw for draw. ``avg-rg`` plans with mean lengths (sts,
VII-A1). Dedicated GPUs only. Guarantee: none. Complexity: O(passes x jobs x (nodes + scenarios)).
"""

from __future__ import annotations

import math

import numpy as np

from optsched.result import Settings
from optsched.rolling.policies.fewest_migrations import Placed, with_fewest_migrations
from optsched.rolling.policies.queue import planned_times
from optsched.rolling.simulator.engine import Plan
from optsched.rolling.simulator.world import View, World
from optsched.selection.heuristics.baselines import (
    DEFAULT_STARTS,
    Costs,
    best_of_passes,
    ranked,
)
from optsched.selection.heuristics.cluster_state import nodes_of


def randomised_greedy(name: str, world: World, settings: Settings) -> RandomisedGreedy:
    """Make ``rg`` or ``avg-rg``; `settings.iterations` is the number of passes (default 20)."""
    return RandomisedGreedy(world, name, settings)


class RandomisedGreedy:
    """The policy. It remembers the number of its decisions, which seeds their draws."""

    wake = math.inf

    def __init__(self, world: World, name: str, settings: Settings) -> None:
        self.world, self.name, self.average = world, name, name.startswith("avg-")
        self.seed, self.passes = settings.seed, settings.iterations or DEFAULT_STARTS
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
            tables.postponement_cost,
            view.works.curves,
        )
        seats, _, _ = best_of_passes(ranking, self.nodes, costs, rng, 0, self.passes)
        jobs = np.flatnonzero(seats[0] >= 0)
        node, first, configuration = np.ascontiguousarray(seats[:, jobs])
        placed = Placed(jobs, node, first, configuration + 1, configuration)
        return Plan(with_fewest_migrations(tables, placed, view.running))
