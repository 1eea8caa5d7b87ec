"""STS and what keeps jobs where they are, plainly, as they stood before they were compiled.

One job and one node after another, on `PlainCluster` and `first_piece` alone. Policies of
`optsched.rolling` compare equal, seat by seat.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from optsched.rolling.policies.sts import MIN_PIECE_SHARE
from optsched.rolling.simulator.engine import MIN_CHANGE_SHARE, Plan
from optsched.rolling.simulator.world import View, World
from optsched.selection.assignment import Placement
from optsched.selection.cost import Tables, type_rates
from optsched.speed_profile.exact._hull_kernel import Speeds, curve_of, empty_hull, first_piece
from oracles.plain_cluster import PlainCluster

Wish = tuple[bool, float, int, int]
"""Late, energy or latest end, GPU type, configuration."""


class PlainSts:
    """The policy."""

    wake = np.inf

    def __init__(self, world: World, *, postprocessing: bool = False) -> None:
        self.world, self.name, self.postprocessing = world, "plain", postprocessing
        self.selected: dict[int, tuple[int, int]] = {}

    def decide(self, view: View) -> Plan:
        tables = view.tables
        shortest = (
            MIN_PIECE_SHARE if self.postprocessing else MIN_CHANGE_SHARE
        ) * tables.instance.interval
        least = np.zeros((len(tables.kinds), tables.jobs), dtype=np.int64)
        for j, job in enumerate(view.jobs):
            if job in self.selected:
                kind, gpus = self.selected[job]
                more = gpus + (j in view.due_for_change)
                least[kind, j] = min(more, tables.kinds[kind].gpus) - 1
        seats, asked, lengths = algorithm_2(tables, least, shortest, speeds_up=True)
        changes = {}
        for j, seat in seats.items():
            kind = int(tables.kind_of[seat.node])
            self.selected[view.jobs[j]] = kind, tables.kinds[kind].configurations[asked[j]].gpus
            if seat.configuration == asked[j] and lengths[j] < np.inf:
                changes[j] = float(lengths[j] * tables.seconds[j, kind, asked[j]])
        final = hand_out(tables, seats) if self.postprocessing else seats
        return Plan(keep(tables, final, view.running), changes)


def algorithm_2(
    tables: Tables, least: Any, shortest: float, *, speeds_up: bool
) -> tuple[dict[int, Placement], dict[int, int], dict[int, float]]:
    """Seats in order of pressure, the configurations wanted, and epochs until the next speed.

    Parameters
    ----------
    tables : Tables
    least : (T, J) int
        Speeds below do not count.
    shortest : float
        Seconds of a first piece.
    speeds_up : bool
        A fraction need only last for the first piece.
    """
    state = PlainCluster(tables)
    seats, asked, lengths = {}, {}, {}
    for j in map(int, order_of(tables)):
        wishes, pieces = [], {}
        for t, kind in enumerate(tables.kinds):
            if not np.isfinite(tables.seconds[j, t, 0]):
                continue
            speed, length, energy = pieces[t] = first_piece_of(tables, j, t, least[t, j], shortest)
            worst = tables.worst_case_seconds[j, t, : kind.gpus]
            if speed < 0:
                wishes.append((True, float(worst.min()), t, int(worst.argmin())))
                continue
            if speed == 0:
                speed = fraction(tables, j, t, length if speeds_up else np.inf)
            wishes.append((False, energy, t, speed))
        seat = assign(tables, state, sorted(wishes))
        if seat is not None:
            t = int(tables.kind_of[seat.node])
            seats[j], lengths[j] = seat, pieces[t][1]
            asked[j] = next(c for _, _, u, c in wishes if u == t)
    return seats, asked, lengths


def first_piece_of(
    tables: Tables, j: int, t: int, least: int, shortest: float
) -> tuple[int, float, float]:
    """Speed, length and energy of a profile's first piece, due when the job is."""
    most = tables.kinds[t].gpus
    seconds, worst = (
        tables.seconds[j, t, :most],
        float(tables.worst_case_seconds[j, t, :most].min()),
    )
    rounded = float(tables.due[j]) < worst <= tables.latest_on_time[j]
    energy = np.where(np.isfinite(seconds), seconds, 0.0) * type_rates(tables, t)
    speeds = Speeds(np.where(np.arange(most) < least, np.inf, seconds), energy)
    due = worst if rounded else float(tables.due[j])
    return first_piece(curve_of(tables.works.curves, j), speeds, due, shortest, empty_hull(most))


def order_of(tables: Tables) -> Any:
    """Jobs by pressure (27)."""
    delta = tables.worst_case_seconds.reshape(tables.jobs, -1).min(axis=1) - tables.due
    weights = np.array([job.tardiness_weight for job in tables.instance.jobs])
    return np.argsort(-np.where(delta > 0, delta * weights, delta), kind="stable")


def fraction(tables: Tables, j: int, t: int, length: float) -> int:
    """For one GPU the smallest fraction that meets the due date, sped up as planned."""
    most, kind = tables.works[j].max_epochs, tables.kinds[t]
    first = min(length, most)
    rest = (most - first) * float(tables.seconds[j, t, : kind.gpus].min())
    for shared in reversed(kind.fractions):
        if first * tables.seconds[j, t, shared] + rest <= tables.latest_on_time[j]:
            return shared
    return 0


def assign(tables: Tables, state: PlainCluster, wishes: list[Wish]) -> Placement | None:
    """The first wish that fits, else fewer GPUs of its type."""
    for _, _, t, c in wishes:
        seat = state.allocate(t, c)
        if seat is not None:
            return seat
    for _, _, t, _ in wishes if tables.options.strict == "off" else ():
        if state.max_free_gpus(t):
            return state.allocate(t, state.max_free_gpus(t) - 1)
    return None


def hand_out(tables: Tables, seats: Mapping[int, Placement]) -> dict[int, Placement]:
    """VI-C on the idle GPUs of open nodes: to sharers first, then to the others."""
    given, free, room = dict(seats), {}, {}
    for n, node in enumerate(tables.instance.nodes):
        held = [s for s in seats.values() if s.node == n]
        free[n] = node.gpus - len({g for s in held for g in s.gpus})
        kind = tables.kinds[tables.kind_of[n]]
        for s in held:
            share = kind.configurations[s.configuration].fraction
            room[n, s.gpus[0]] = room.get((n, s.gpus[0]), 1) - share
    for j, s in given.items():
        t = int(tables.kind_of[s.node])
        kind, at = tables.kinds[t], (s.node, s.gpus[0])
        held = kind.configurations[s.configuration]
        if not held.shares:
            continue
        left = room[at] + held.fraction
        fits = [c for c in kind.fractions if kind.configurations[c].fraction <= left]
        best = min([0, *fits] if left == 1 else fits, key=lambda c: (tables.seconds[j, t, c], c))
        if tables.seconds[j, t, best] < tables.seconds[j, t, s.configuration]:
            given[j] = replace(s, configuration=best)
            room[at] = left - kind.configurations[best].fraction
    for j, s in given.items():
        t, now = int(tables.kind_of[s.node]), s.configuration
        if not tables.kinds[t].configurations[now].shares:
            more = int(tables.seconds[j, t, now : now + free[s.node] + 1].argmin())
            first = tables.instance.nodes[s.node].gpus - free[s.node]
            given[j] = Placement(s.node, (*s.gpus, *range(first, first + more)), now + more)
            free[s.node] -= more
    return given


def keep(
    tables: Tables, seats: Mapping[int, Placement], before: Mapping[int, Placement]
) -> dict[int, Placement]:
    """The same assignment on nodes of the same classes, with the fewest jobs moved."""
    contents, target = defaultdict(list), {}
    for j, seat in seats.items():
        contents[seat.node].append(j)
    for each in tables.classes:
        opened = [n for n in each.nodes if n in contents]
        stays = np.zeros((len(opened), len(each.nodes)))
        for row, n in enumerate(opened):
            stays[row, each.nodes.index(n)] += 1e-3
            for j in contents[n]:
                old = before.get(j)
                if old is not None and old.node in each.nodes:
                    alike = old.configuration == seats[j].configuration
                    stays[row, each.nodes.index(old.node)] += 1.0 if alike else 0.25
        target |= {n: n for n in opened}
        if any(stays[r, each.nodes.index(n)] < stays[r].max() for r, n in enumerate(opened)):
            rows, columns = linear_sum_assignment(stays, maximize=True)
            target |= {opened[r]: each.nodes[c] for r, c in zip(rows, columns, strict=True)}
    result: dict[int, Placement] = {}
    for n, jobs in contents.items():
        groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for j in jobs:
            groups[tuple(sorted(seats[j].gpus))].append(j)
        names: dict[tuple[int, ...], tuple[int, ...]] = {}
        for gpus, members in groups.items():
            for j in members:
                old = before.get(j)
                if old is None or old.node != target[n] or len(old.gpus) != len(gpus):
                    continue
                taken = {g for name in names.values() for g in name}
                if gpus not in names and not taken & set(old.gpus):
                    names[gpus] = tuple(sorted(old.gpus))
        taken = {g for name in names.values() for g in name}
        free = (g for g in range(1000) if g not in taken)
        for gpus, members in groups.items():
            name = names.get(gpus) or tuple(next(free) for _ in gpus)
            result |= {j: Placement(target[n], name, seats[j].configuration) for j in members}
    return result
