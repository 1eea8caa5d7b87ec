"""Policies on dedicated GPUs: ``edf``, ``fifo``, ``dp``, ``rg``, and with ``avg-`` by mean lengths.

Queues serve the earliest due date or submission first: running jobs keep their GPUs until they are
done; waiting jobs take in turn the cheapest free configuration that completes them by the due
date, else the fastest free one. The dynamic programme over jobs x GPUs chooses anew at each event:
proxy (28) says which jobs run; in order of arrival each takes the fastest free configuration.
``avg-`` plans with E[W] epochs until a job has completed E[W] epochs, then with w^max (sts,
VII-A1). Guarantee: none. Complexity of a decision of a queue: O(J T K) for J waiting jobs.
"""

import math
from collections.abc import Mapping

import numpy as np

from optsched.arrays import Floats
from optsched.result import Settings
from optsched.rolling.policies.fewest_migrations import Placed, placed_of, with_fewest_migrations
from optsched.rolling.simulator.engine import Plan
from optsched.rolling.simulator.world import View, World
from optsched.selection.assignment import Placement
from optsched.selection.cost import Tables, type_rates
from optsched.selection.heuristics.baselines import (
    DEFAULT_STARTS,
    Costs,
    best_of_passes,
    ranked,
)
from optsched.selection.heuristics.cluster_state import ClusterState, nodes_of
from optsched.selection.heuristics.dp import dp_jobs, fastest_assignment


class Queue:
    """``edf``, ``fifo``, ``avg-edf``: running jobs continue, waiting ones are served in order."""

    wake = math.inf

    def __init__(self, world: World, name: str, settings: Settings | None = None) -> None:
        self.world, self.name = world, name
        self.by_due_date, self.average = name.endswith("edf"), name.startswith("avg-")

    def decide(self, view: View) -> Plan:
        waiting = [j for j in range(len(view.jobs)) if j not in view.running]
        state = cluster_state_of(view.tables, view.running)
        max_free_gpus = max(state.max_free_gpus(t) for t in range(len(view.tables.kinds)))
        if not waiting or not max_free_gpus:
            return Plan(view.running)
        jobs = [self.world.instance.jobs[j] for j in view.jobs]
        waiting.sort(key=lambda j: jobs[j].submit_time)
        if self.by_due_date:
            waiting.sort(key=lambda j: jobs[j].due_date)
        placements, times = dict(view.running), planned_times(view, self.average)
        for j in waiting:
            if state.is_full():
                break
            placement = _cheapest_in_time(view.tables, times[j], state, j)
            if placement is not None:
                placements[j] = placement
        return Plan(placements)


class DynamicProgramme:
    """``dp`` and ``avg-dp``."""

    wake = math.inf

    def __init__(self, world: World, name: str, settings: Settings) -> None:
        self.world, self.name, self.average = world, name, name.startswith("avg-")

    def decide(self, view: View) -> Plan:
        tables, jobs = view.tables, self.world.instance.jobs
        order = dp_jobs(tables, planned_times(view, self.average))
        order.sort(key=lambda j: (jobs[view.jobs[j]].submit_time, j))
        placements = fastest_assignment(tables, order)
        return Plan(with_fewest_migrations(tables, placed_of(placements), view.running))


def planned_times(view: View, average: bool) -> Floats:
    """Seconds to complete w^max epochs, or E[W] while fewer epochs are completed (J, T, C)."""
    epochs = view.works.max_epochs
    if average:
        mean = view.world.means[view.index] - view.completed
        epochs = np.where(mean > 0, mean, epochs)
    return view.tables.seconds * epochs[:, None, None]


def cluster_state_of(tables: Tables, placements: Mapping[int, Placement]) -> ClusterState:
    """A cluster whose dedicated GPUs are partly taken."""
    state = ClusterState(tables)
    for placement in placements.values():
        state.take(placement.node, placement.gpus)
    return state


def _cheapest_in_time(
    tables: Tables, times: Floats, state: ClusterState, j: int
) -> Placement | None:
    """The cheapest free configuration that meets the due date, else the fastest free one."""
    best: tuple[tuple[bool, float, float], int, int] | None = None
    for t, kind in enumerate(tables.kinds):
        rates = type_rates(tables, t)
        for c in range(min(state.max_free_gpus(t), kind.gpus)):
            seconds = float(times[t, c])
            if not seconds < np.inf:
                continue
            late = seconds > tables.latest_on_time[j]
            key = (late, seconds if late else seconds * float(rates[c]), seconds)
            if best is None or key < best[0]:
                best = (key, t, c)
    return None if best is None else state.allocate(best[1], best[2])


class RandomisedGreedy:
    """``rg`` and ``avg-rg``: the best of several randomised greedy passes at every event.

    In order of pressure each job takes the best of its configurations that fits: in time by cost,
    then late by completion time; best fit chooses the node. Passes after the first swap neighbours
    of the order and draw among the best few configurations; the cheapest pass by (P1.1) is kept, as
    in the selection method ``rg`` with the same random draws. `settings.iterations` is the number
    of passes (default 20). The number of decisions made seeds the random generator. Complexity:
    O(passes x jobs x (nodes + scenarios)).
    """

    wake = math.inf

    def __init__(self, world: World, name: str, settings: Settings) -> None:
        self.world, self.name, self.average = world, name, name.startswith("avg-")
        self.seed, self.passes = settings.seed, settings.iterations or DEFAULT_STARTS
        self.decisions = 0
        self.nodes = nodes_of(world.instance, world.tables.kind_of)

    def decide(self, view: View) -> Plan:
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
        placements, _, _ = best_of_passes(ranking, self.nodes, costs, rng, 0, self.passes)
        jobs = np.flatnonzero(placements[0] >= 0)
        node, first, configuration = np.ascontiguousarray(placements[:, jobs])
        placed = Placed(jobs, node, first, configuration + 1, configuration)
        return Plan(with_fewest_migrations(tables, placed, view.running))
