"""Policies ``edf``, ``fifo``, ``rg``, ``dp`` and their avg- variants over time.

Guarantee: none. ``edf`` and ``fifo`` never re-evaluate: a job keeps the GPUs it once got until it
is done, and waiting jobs take what is free, earliest due date (first arrival) first. ``rg`` and
``dp`` decide for all jobs at every event, dp in order of arrival. The avg- variants plan with E[W]
epochs until a job has made so many, and with w^max from then on (sts, VII-A1). Dedicated GPUs only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from optsched.result import Settings
from optsched.rolling.policies._greedy_kernel import (
    LATE,
    NEVER,
    Jobs,
    Ranking,
    best_of_passes,
)
from optsched.rolling.policies.same_gpus import keep_same_gpus
from optsched.rolling.simulator.engine import Plan
from optsched.rolling.simulator.world import View, World
from optsched.selection.assignment import Seat
from optsched.selection.cost import Tables
from optsched.selection.heuristics._best_fit_kernel import nodes_of
from optsched.selection.heuristics.baselines import CHOICES, STARTS, SWAP_SHARE
from optsched.selection.heuristics.cluster_state import ClusterState
from optsched.selection.heuristics.dp import dp_jobs, fastest_seats
from optsched.selection.heuristics.profiles import type_rates

Floats = NDArray[np.float64]


def queue(name: str, world: World, settings: Settings) -> Queue:
    """``edf`` and ``fifo``, by due date or as they came; by mean lengths with ``avg-``."""
    by_due_date, average = name.endswith("edf"), name.startswith("avg-")
    return Queue(world, name, by_due_date=by_due_date, average=average)


def randomised_greedy(name: str, world: World, settings: Settings) -> RandomisedGreedy:
    """``rg`` and ``avg-rg``."""
    average, starts = name.startswith("avg-"), settings.iterations
    return RandomisedGreedy(world, name, average=average, seed=settings.seed, starts=starts)


def dp(name: str, world: World, settings: Settings) -> DynamicProgramme:
    """``dp`` and ``avg-dp``."""
    return DynamicProgramme(world, name, average=name.startswith("avg-"))


class Queue:
    """``edf`` and ``fifo``: running jobs are left alone, waiting ones served in order."""

    wake = math.inf

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
        seats, times = dict(view.running), planned_times(view, self.average)
        for j in waiting:
            if state.is_full():
                break
            seat = _cheapest_in_time(view.tables, times[j], state, j)
            if seat is not None:
                seats[j] = seat
        return Plan(seats)


class RandomisedGreedy:
    """``rg``: the best of several randomised passes by (P1.1), at every event."""

    wake = math.inf

    def __init__(
        self, world: World, name: str, *, average: bool, seed: int, starts: int | None
    ) -> None:
        self.world, self.name, self.average = world, name, average
        self.seed, self.starts, self.decisions = seed, starts or STARTS, 0
        self.nodes = nodes_of(world.instance, world.all.kind_of)

    def decide(self, view: View) -> Plan:
        """Choose for all jobs anew."""
        rng = np.random.default_rng([self.seed, self.decisions])
        self.decisions += 1
        tables = view.tables
        ranking = ranked(tables, planned_times(view, self.average))
        jobs = Jobs(
            tables.seconds,
            view.means,
            tables.due,
            tables.weights,
            tables.postponed,
            view.works.curves,
        )
        seats = best_of_passes(ranking, self.nodes, jobs, rng, self.starts, CHOICES, SWAP_SHARE)
        best = {
            j: Seat(node, tuple(range(first, first + c + 1)), c)
            for j, (node, first, c) in enumerate(seats.T.tolist())
            if node >= 0
        }
        return Plan(keep_same_gpus(tables, best, view.running))


class DynamicProgramme:
    """``dp``: proxy (28) says who runs; in order of arrival each takes what is fastest."""

    wake = math.inf

    def __init__(self, world: World, name: str, *, average: bool) -> None:
        self.world, self.name, self.average = world, name, average

    def decide(self, view: View) -> Plan:
        """Choose for all jobs anew."""
        tables, jobs = view.tables, self.world.instance.jobs
        order = dp_jobs(tables, planned_times(view, self.average))
        order.sort(key=lambda j: (jobs[view.jobs[j]].submit_time, j))
        seats = fastest_seats(tables, ClusterState(tables), order)
        return Plan(keep_same_gpus(tables, seats, view.running))


def planned_epochs(view: View, average: bool) -> Floats:
    """Epochs a baseline plans with, by job: w^max's, or E[W]'s until they are made."""
    most = view.works.most
    if not average:
        return most
    mean = view.world.means[view.index] - view.completed
    return np.where(mean > 0, mean, most)


def planned_times(view: View, average: bool) -> Floats:
    """Seconds to completion of so many epochs by job, type and configuration."""
    return view.tables.seconds * planned_epochs(view, average)[:, None, None]


def ranked(tables: Tables, times: Floats) -> Ranking:
    """Configurations in time by cost, then the late ones by completion time."""
    width = times.shape[2]
    cost = np.full(times.shape, np.inf)
    standing = np.full(times.shape, NEVER)
    for t, kind in enumerate(tables.kinds):
        here = times[:, t, : kind.gpus]
        late = here > tables.in_time[:, None]
        paid = here.copy()  # of late ones, also those that never end, the time alone
        cost[:, t, : kind.gpus] = np.multiply(here, type_rates(tables, t), out=paid, where=~late)
        standing[:, t, : kind.gpus] = np.where(np.isfinite(here), late * LATE, NEVER)
    keys = [each.reshape(tables.jobs, -1) for each in (times, cost, standing)]
    order = np.argsort(tables.due - keys[0].min(axis=1), kind="stable")
    entries, counts = np.lexsort(keys, axis=1), (keys[2] < NEVER).sum(axis=1)
    return Ranking(order, entries, counts, width)


def occupied(tables: Tables, seats: Mapping[int, Seat]) -> ClusterState:
    """A cluster whose dedicated GPUs are partly taken."""
    state = ClusterState(tables)
    for seat in seats.values():
        node = state.nodes[seat.node]
        node.free = [gpu for gpu in node.free if gpu not in seat.gpus]
        state.moved(seat.node)
    return state


def _cheapest_in_time(tables: Tables, times: Floats, state: ClusterState, j: int) -> Seat | None:
    """The cheapest free configuration that meets the due date, else the fastest free one."""
    best: tuple[tuple[bool, float, float], int, int] | None = None
    for t, kind in enumerate(tables.kinds):
        rates = type_rates(tables, t)
        for c in range(min(state.most_free(t), kind.gpus)):
            seconds = float(times[t, c])
            if not seconds < np.inf:
                continue
            late = seconds > tables.in_time[j]
            key = (late, seconds if late else seconds * float(rates[c]), seconds)
            if best is None or key < best[0]:
                best = (key, t, c)
    return None if best is None else state.seat(best[1], best[2])
