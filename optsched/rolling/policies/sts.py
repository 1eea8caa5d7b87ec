"""Policies ``sts`` and ``sts-postprocessing``: the stochastic scheduler of sts at every event.

Guarantee: none. As method ``sts`` for one interval, with three things that only time brings: the
distribution is that of W given W > w_c; the profile's speeds start at k_0, the GPUs selected before
on the type the job last ran on (one more when its T_j is now); and each job that got what its
profile wants asks for a decision at its own T_j, when the first piece ends. A fraction "meets the
due date" if the job does by speeding up as planned after the first piece. A job whose type and
number of GPUs do not change keeps its GPUs where it can (sts, VI-C). The rest of VI-C, raising
fractions and k on the idle GPUs of open nodes, is in ``sts-postprocessing``, and in ``sts`` where
the option says "on": at light load it speeds every job up whose profile asked for less, and the
profile's energy is no longer met. k_0 and T_j stay the profile's, whatever was added to it.
Complexity of a decision: O(J T (K^2 log^2 S + N)). Source: sts, Algorithms 2 and 3, VI-B.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from optsched.result import Settings
from optsched.rolling.policies.same_gpus import keep_same_gpus
from optsched.rolling.simulator.engine import SHORTEST, Plan
from optsched.rolling.simulator.free_gpus import IndexedCluster
from optsched.rolling.simulator.world import View, World
from optsched.selection.assignment import Seat
from optsched.selection.cost import Tables
from optsched.selection.heuristics import sts as one_interval
from optsched.selection.heuristics.profiles import first_steps
from optsched.speed_profile.exact._hull_kernel import FirstPieces

Floats = NDArray[np.float64]
Wish = tuple[int, int]
"""A GPU type and a configuration of it."""
SLIVER = 1000 * SHORTEST
"""Share of H, a second of an hour: a first piece that is shorter is left out where idle GPUs are
handed out. A moment with more of them leaves a pressed job a moment of slack, to be spent on fewer,
and so by turns."""


def sts(name: str, world: World, settings: Settings) -> Sts:
    """``sts``, and with the idle GPUs of open nodes handed out ``sts-postprocessing``."""
    asked = world.readings.postprocessing == "on"
    return Sts(world, name, postprocessing=asked or name == "sts-postprocessing")


class Sts:
    """STS over time. Remembers the type and GPUs selected for each job."""

    wake = math.inf

    def __init__(self, world: World, name: str = "sts", *, postprocessing: bool = False) -> None:
        self.world, self.name, self.postprocessing = world, name, postprocessing
        self.selected: dict[int, tuple[int, int]] = {}

    def decide(self, view: View) -> Plan:
        """Algorithm 2; once nothing is free, the jobs of less pressure wait unasked."""
        tables, state = view.tables, IndexedCluster(view.tables)
        pieces = self._pieces(view)
        wishes = Wishes(tables, pieces)
        order = np.argsort(-one_interval.pressure(tables), kind="stable")
        seats: dict[int, Seat] = {}
        asked: dict[int, Wish] = {}
        for j in map(int, order):
            if state.is_full():
                break
            wanted = wishes.of(j)
            seat = self._assign(tables, state, wanted)
            if seat is not None:
                kind = int(tables.kind_of[seat.node])
                wish = next(w for w in wanted if w[0] == kind)
                seats[j], asked[j] = seat, wish
                gpus = tables.kinds[kind].configurations[wish[1]].gpus
                self.selected[view.jobs[j]] = (kind, gpus)
        changes = self._changes(tables, pieces, seats, asked)
        if self.postprocessing:
            state.settle()
            one_interval.give_idle(tables, state, seats, order)
        return Plan(keep_same_gpus(tables, seats, view.running), changes)

    def _pieces(self, view: View) -> list[FirstPieces]:
        tables, curves = view.tables, view.curves
        least = np.zeros((len(tables.kinds), tables.jobs), dtype=np.int64)
        for j, job in enumerate(view.jobs):
            kind, gpus = self.selected.get(job, (0, 0))
            if gpus:
                more = gpus + (j in view.due_for_change)
                least[kind, j] = min(more, tables.kinds[kind].gpus) - 1
        shortest = (SLIVER if self.postprocessing else SHORTEST) * tables.instance.interval
        return [first_steps(tables, curves, t, each, shortest) for t, each in enumerate(least)]

    def _assign(self, tables: Tables, state: IndexedCluster, wishes: list[Wish]) -> Seat | None:
        """The first wish that fits, else fewer GPUs of its type."""
        for kind, configuration in wishes:
            seat = state.seat(kind, configuration)
            if seat is not None:
                return seat
        for kind, _ in wishes if tables.options.strict == "off" else ():
            most = state.most_free(kind)
            if most:  # less than was wanted, or it would have fitted
                return state.seat(kind, most - 1)
        return None

    def _changes(
        self,
        tables: Tables,
        pieces: list[FirstPieces],
        seats: dict[int, Seat],
        asked: dict[int, Wish],
    ) -> dict[int, float]:
        """T_j - T_c of the jobs that run as their profile wants."""
        found = {}
        for j, seat in seats.items():
            kind, configuration = asked[j]
            length = pieces[kind].length[j]
            if seat.configuration == configuration and length < np.inf:
                found[j] = float(length * tables.seconds[j, kind, configuration])
        return found


class Wishes:
    """Algorithm 3 for all jobs at once: the type of least energy in time first, else least late."""

    def __init__(self, tables: Tables, pieces: list[FirstPieces]) -> None:
        self.tables, self.pieces = tables, pieces
        kinds = range(len(tables.kinds))
        usable = np.isfinite(tables.seconds[:, :, 0])
        speed = np.stack([each.speed for each in pieces], axis=1)
        worst = [tables.worst[:, t, : tables.kinds[t].gpus] for t in kinds]
        fastest = np.stack([each.argmin(axis=1) for each in worst], axis=1)
        latest = np.stack([each.min(axis=1) for each in worst], axis=1)
        energy = np.stack([each.energy for each in pieces], axis=1)
        late = np.where(usable, speed < 0, 2)
        self.order = np.lexsort((np.where(speed < 0, latest, energy), late), axis=1).tolist()
        self.count = usable.sum(axis=1).tolist()
        self.in_time = (speed >= 0).tolist()
        self.wanted = np.where(speed < 0, fastest, speed).tolist()

    def of(self, j: int) -> list[Wish]:
        """One wish a GPU type that the job can use, best first."""
        return [(t, self._configuration(j, t)) for t in self.order[j][: self.count[j]]]

    def _configuration(self, j: int, t: int) -> int:
        wanted: int = self.wanted[j][t]
        if wanted == 0 and self.in_time[j][t] and self.tables.kinds[t].fractions:
            return _share(self.tables, j, t, float(self.pieces[t].length[j]))
        return wanted


def _share(tables: Tables, j: int, kind: int, length: float) -> int:
    """For one GPU, the smallest fraction that still meets the due date, sped up as planned.

    The first piece at the fraction's speed, the rest at the fastest; a last piece alone is the
    rule of one interval.
    """
    most = tables.works[j].most
    first = min(length, most)
    gpus = tables.kinds[kind].gpus
    rest = (most - first) * float(tables.seconds[j, kind, :gpus].min())
    for shared in reversed(tables.kinds[kind].fractions):
        if first * tables.seconds[j, kind, shared] + rest <= tables.in_time[j]:
            return shared
    return 0
