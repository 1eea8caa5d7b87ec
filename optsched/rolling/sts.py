"""Policy ``sts``: the stochastic scheduler of sts at every event.

Guarantee: none. As method ``sts`` for one interval, with three things that only time brings: the
distribution is that of W given W > w_c; the profile's speeds start at k_0, the GPUs selected before
on the type the job last ran on (one more when its T_j is now); and each job that got what its
profile wants asks for a decision at its own T_j, when the first piece ends. A fraction "meets the
due date" if the job does by speeding up as planned after the first piece. A job whose type and
number of GPUs do not change keeps its GPUs where it can (sts, VI-C). Postprocessing (VI-C), raising
fractions and k on the idle GPUs of open nodes, is off unless the option says "on": at light load
it speeds every job up whose profile asked for less, and the profile's energy is no longer met.
Complexity of a decision: O(J T (K^2 log^2 S + N)). Source: sts, Algorithms 2 and 3, VI-B.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optsched.rolling.cluster import IndexedCluster
from optsched.rolling.first_piece_kernel import first_pieces
from optsched.rolling.keep import keep_in_place
from optsched.rolling.simulator import Plan
from optsched.rolling.world import View, World
from optsched.selection import sts as one_interval
from optsched.selection.assignment import Seat
from optsched.selection.cost import Tables
from optsched.selection.profiles import CurveBatch, curves_of, type_rates
from optsched.selection.sts import Wish

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pieces:
    """First pieces on one GPU type, by job; see `first_pieces`."""

    speed: NDArray[np.int64]
    length: Floats
    energy: Floats


class Sts:
    """STS over time. Remembers the type and GPUs selected for each job."""

    name = "sts"

    def __init__(self, world: World, *, postprocessing: bool = False) -> None:
        self.world, self.postprocessing = world, postprocessing
        self.selected: dict[int, tuple[int, int]] = {}

    def decide(self, view: View) -> Plan:
        """Algorithm 2."""
        tables, state = view.tables, IndexedCluster(view.tables)
        pieces = self._pieces(view)
        order = np.argsort(-one_interval.pressure(tables), kind="stable")
        seats: dict[int, Seat] = {}
        wanted: dict[int, Wish] = {}
        for j in map(int, order):
            wishes = self._wishes(tables, pieces, j)
            wish = wishes[0]
            seat = self._assign(tables, state, wishes)
            if seat is not None:
                kind = int(tables.kind_of[seat.node])
                wish = next(w for w in wishes if w.kind == kind)
                seats[j] = seat
                self.selected[view.jobs[j]] = (kind, self._gpus(tables, wish))
            wanted[j] = wish
        changes = self._changes(tables, pieces, seats, wanted)
        if self.postprocessing:
            one_interval._raise_fractions(tables, state, seats, order)
            one_interval._raise_gpus(tables, state, seats, order)
        return Plan(keep_in_place(tables, seats, view.running), changes)

    def _pieces(self, view: View) -> list[Pieces]:
        tables, curves = view.tables, curves_of(view.tables)
        least = np.zeros((len(tables.kinds), tables.jobs), dtype=np.int64)
        for j, job in enumerate(view.jobs):
            kind, gpus = self.selected.get(job, (0, 0))
            if gpus:
                more = gpus + (j in view.due_for_change)
                least[kind, j] = min(more, tables.kinds[kind].gpus) - 1
        return [_pieces_of(tables, curves, t, least[t]) for t in range(len(tables.kinds))]

    def _wishes(self, tables: Tables, pieces: list[Pieces], j: int) -> list[Wish]:
        """Algorithm 3: one wish a GPU type, best first."""
        wishes = []
        for t, kind in enumerate(tables.kinds):
            if not tables.seconds[j, t, 0] < np.inf:
                continue
            k = int(pieces[t].speed[j])
            if k >= 0:
                c = k if k else _share(tables, j, t, float(pieces[t].length[j]))
                wishes.append(Wish(t, c, (False, float(pieces[t].energy[j]), t)))
            else:
                c = int(tables.worst[j, t, : kind.gpus].argmin())
                wishes.append(Wish(t, c, (True, float(tables.worst[j, t, c]), t)))
        return sorted(wishes, key=lambda wish: wish.key)

    def _assign(self, tables: Tables, state: IndexedCluster, wishes: list[Wish]) -> Seat | None:
        """The first wish that fits, else fewer GPUs of its type."""
        for wish in wishes:
            seat = state.seat(wish.kind, wish.configuration)
            if seat is not None:
                return seat
        for wish in wishes if tables.options.strict == "off" else ():
            most = state.most_free(wish.kind)
            if most:  # less than was wanted, or it would have fitted
                return state.seat(wish.kind, most - 1)
        return None

    def _gpus(self, tables: Tables, wish: Wish) -> int:
        return tables.kinds[wish.kind].configurations[wish.configuration].gpus

    def _changes(
        self,
        tables: Tables,
        pieces: list[Pieces],
        seats: dict[int, Seat],
        wanted: dict[int, Wish],
    ) -> dict[int, float]:
        """T_j - T_c of the jobs that run as their profile wants."""
        found = {}
        for j, seat in seats.items():
            wish = wanted[j]
            length = pieces[wish.kind].length[j]
            if seat.configuration == wish.configuration and length < np.inf:
                found[j] = float(length * tables.seconds[j, wish.kind, wish.configuration])
        return found


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
        if first * tables.seconds[j, kind, shared] + rest <= tables.due[j]:
            return shared
    return 0


def _pieces_of(tables: Tables, curves: CurveBatch, kind: int, least: NDArray[np.int64]) -> Pieces:
    most = tables.kinds[kind].gpus
    usable = np.isfinite(tables.seconds[:, kind, 0])
    safe = np.where(usable[:, None], tables.seconds[:, kind, :most], 1.0)
    energy = np.ascontiguousarray(safe * type_rates(tables, kind))
    speeds = np.empty(len(safe), dtype=np.int64)
    lengths, costs = np.empty(len(safe)), np.empty(len(safe))
    first_pieces(
        curves.knots,
        curves.high,
        curves.low,
        curves.start,
        np.ascontiguousarray(safe),
        energy,
        np.where(usable, tables.due, -1.0),
        least,
        speeds,
        lengths,
        costs,
    )
    return Pieces(speeds, lengths, costs)
