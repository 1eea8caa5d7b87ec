"""Policies on dedicated GPUs: the queues ``edf``, ``fifo``, ``avg-edf``, and ``dp``, ``avg-dp``.

Queues serve the earliest due date or submission first: running jobs keep their GPUs until they are
done; waiting jobs take in turn the cheapest free configuration that completes them by the due
date, else the fastest free one. The dynamic programme over jobs x GPUs chooses anew at each event:
proxy (28) says which jobs run; in order of arrival each takes the fastest free configuration.
``avg-`` plans with E[W] epochs until a job has made so many, and with w^max from then on (sts,
VII-A1). Guarantee: none. Complexity of a decision of a queue: O(J T K) for J waiting jobs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from optsched.result import Settings
from optsched.rolling.policies.fewest_migrations import placed_of, with_fewest_migrations
from optsched.rolling.simulator.engine import Plan
from optsched.rolling.simulator.world import View, World
from optsched.selection.assignment import Placement
from optsched.selection.cost import Tables, type_rates
from optsched.selection.heuristics.cluster_state import ClusterState
from optsched.selection.heuristics.dp import dp_jobs, fastest_assignment

Floats = NDArray[np.float64]


def queue(name: str, world: World, settings: Settings) -> Queue:
    """Make ``edf``, ``fifo`` or ``avg-edf``."""
    return Queue(world, name)


class Queue:
    """``edf`` and ``fifo``: running jobs are left alone, waiting ones served in order."""

    wake = math.inf

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name
        self.by_due_date, self.average = name.endswith("edf"), name.startswith("avg-")

    def decide(self, view: View) -> Plan:
        """Serve the waiting jobs."""
        waiting = [j for j in range(len(view.jobs)) if j not in view.running]
        state = occupied(view.tables, view.running)
        room = max(state.max_free_gpus(t) for t in range(len(view.tables.kinds)))
        if not waiting or not room:
            return Plan(view.running)
        jobs = [self.world.instance.jobs[j] for j in view.jobs]
        waiting.sort(key=lambda j: jobs[j].submit_time)
        if self.by_due_date:
            waiting.sort(key=lambda j: jobs[j].due_date)
        seats, times = dict(view.running), planned_times(view, self.average)
        for j in waiting:
            seat = None if state.is_full() else _cheapest_in_time(view.tables, times[j], state, j)
            if seat is not None:
                seats[j] = seat
        return Plan(seats)


def dp(name: str, world: World, settings: Settings) -> DynamicProgramme:
    """Make ``dp`` or ``avg-dp``."""
    return DynamicProgramme(world, name)


class DynamicProgramme:
    """``dp`` and ``avg-dp``."""

    wake = math.inf

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name, self.average = world, name, name.startswith("avg-")

    def decide(self, view: View) -> Plan:
        """Choose for all jobs anew."""
        tables, jobs = view.tables, self.world.instance.jobs
        order = dp_jobs(tables, planned_times(view, self.average))
        order.sort(key=lambda j: (jobs[view.jobs[j]].submit_time, j))
        seats = fastest_assignment(tables, ClusterState(tables), order)
        return Plan(with_fewest_migrations(tables, placed_of(seats), view.running))


def planned_times(view: View, average: bool) -> Floats:
    """Seconds to completion of w^max epochs, or of E[W] until so many are made (J, T, C)."""
    epochs = view.works.max_epochs
    if average:
        mean = view.world.means[view.index] - view.completed
        epochs = np.where(mean > 0, mean, epochs)
    return view.tables.seconds * epochs[:, None, None]


def occupied(tables: Tables, seats: Mapping[int, Placement]) -> ClusterState:
    """A cluster whose dedicated GPUs are partly taken."""
    state = ClusterState(tables)
    for seat in seats.values():
        state.take(seat.node, seat.gpus)
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
