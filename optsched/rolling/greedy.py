"""Policies ``edf``, ``fifo``, ``rg``, ``dp`` and their avg- variants over time.

Guarantee: none. ``edf`` and ``fifo`` never re-evaluate: a job keeps the GPUs it once got until it
is done, and waiting jobs take what is free, earliest due date (first arrival) first. ``rg`` and
``dp`` decide for all jobs at every event, dp in order of arrival. The avg- variants plan with E[W]
epochs until a job has made so many, and with w^max from then on (sts, VII-A1). Dedicated GPUs only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from optsched.rolling.cluster import IndexedCluster
from optsched.rolling.keep import keep_in_place
from optsched.rolling.simulator import Plan
from optsched.rolling.world import View, World
from optsched.selection.assignment import Seat, expected_cost
from optsched.selection.baselines import STARTS, Greedy, shuffled
from optsched.selection.cost import Tables
from optsched.selection.dp import dp_allocation
from optsched.selection.profiles import type_rates

Floats = NDArray[np.float64]


class Queue:
    """``edf`` and ``fifo``: running jobs are left alone, waiting ones served in order."""

    def __init__(self, world: World, name: str, *, by_due_date: bool, average: bool) -> None:
        self.world, self.name = world, name
        self.by_due_date, self.average = by_due_date, average

    def decide(self, view: View) -> Plan:
        """Serve the waiting jobs."""
        waiting = [j for j in range(len(view.jobs)) if j not in view.running]
        state = occupied(view.tables, view.running)
        room = max(state.most_free(t) for t in range(len(view.tables.kinds)))
        if not waiting or not room:
            return Plan(view.running)
        jobs = self.world.instance.jobs
        waiting.sort(
            key=lambda j: (
                jobs[view.jobs[j]].due_date if self.by_due_date else 0.0,
                jobs[view.jobs[j]].submit_time,
                j,
            )
        )
        seats = dict(view.running)
        for j in waiting:
            seat = _cheapest_in_time(view.tables, self._times(view, j), state, j)
            if seat is not None:
                seats[j] = seat
        return Plan(seats)

    def _times(self, view: View, j: int) -> Floats:
        return view.tables.seconds[j] * planned_epochs(view, j, self.average)


class RandomisedGreedy:
    """``rg``: the best of several randomised passes by (P1.1), at every event."""

    def __init__(
        self, world: World, name: str, *, average: bool, seed: int, starts: int | None
    ) -> None:
        self.world, self.name, self.average = world, name, average
        self.seed, self.starts, self.decisions = seed, starts or STARTS, 0

    def decide(self, view: View) -> Plan:
        """Choose for all jobs anew."""
        rng = np.random.default_rng([self.seed, self.decisions])
        self.decisions += 1
        tables = view.costed
        greedy = Greedy(_planned(view, tables, self.average), average=True)
        fastest = greedy.times.reshape(tables.jobs, -1).min(axis=1)
        order = np.argsort(tables.due - fastest, kind="stable")
        best = greedy.run(order.tolist())
        value = expected_cost(tables, best)
        for _ in range(self.starts - 1):
            seats = greedy.run(shuffled(order, rng).tolist(), rng)
            cost = expected_cost(tables, seats)
            if cost < value:
                best, value = seats, cost
        return Plan(keep_in_place(tables, best, view.running))


class DynamicProgramme:
    """``dp``: proxy (28) over pooled GPUs, seated in order of arrival, at every event."""

    def __init__(self, world: World, name: str, *, average: bool) -> None:
        self.world, self.name, self.average = world, name, average

    def decide(self, view: View) -> Plan:
        """Choose for all jobs anew."""
        tables = _planned(view, view.tables, self.average)
        allocation = dp_allocation(tables, average=True)
        state, seats = IndexedCluster(tables), {}
        arrival = [self.world.instance.jobs[j].submit_time for j in view.jobs]
        for j in sorted(allocation, key=lambda j: (arrival[j], j)):
            kind, gpus = allocation[j]
            most = min(gpus, state.most_free(kind))
            seat = state.seat(kind, most - 1) if most else None
            if seat is not None:
                seats[j] = seat
        return Plan(keep_in_place(tables, seats, view.running))


def planned_epochs(view: View, j: int, average: bool) -> float:
    """Epochs a baseline plans with: w^max's, or E[W]'s until they are made."""
    work, done = view.world.works[view.jobs[j]], view.done[j]
    mean = work.mean - done
    return mean if average and mean > 0 else view.tables.works[j].most


def occupied(tables: Tables, seats: Mapping[int, Seat]) -> IndexedCluster:
    """A cluster whose dedicated GPUs are partly taken."""
    state = IndexedCluster(tables)
    for seat in seats.values():
        node = state.nodes[seat.node]
        node.free = [gpu for gpu in node.free if gpu not in seat.gpus]
        state.moved(seat.node)
    return state


def _planned(view: View, tables: Tables, average: bool) -> Tables:
    """Tables whose expected times are those a baseline plans with."""
    epochs = np.array([planned_epochs(view, j, average) for j in range(tables.jobs)])
    return replace(tables, expected=tables.seconds * epochs[:, None, None])


def _cheapest_in_time(tables: Tables, times: Floats, state: IndexedCluster, j: int) -> Seat | None:
    """The cheapest free configuration that meets the due date, else the fastest free one."""
    best: tuple[tuple[bool, float, float], int, int] | None = None
    for t, kind in enumerate(tables.kinds):
        rates = type_rates(tables, t)
        for c in range(min(state.most_free(t), kind.gpus)):
            seconds = float(times[t, c])
            if not seconds < np.inf:
                continue
            late = seconds > tables.due[j]
            key = (late, seconds if late else seconds * float(rates[c]), seconds)
            if best is None or key < best[0]:
                best = (key, t, c)
    return None if best is None else state.seat(best[1], best[2])
