"""The prices of the contention bound: duals of a programme over what servers hold, slot by slot.

    min T          sum of the shares done of a job in its slots >= 1      for every job
                   slots of cuts >= slots of jobs                         for every size and level
                   pieces that states hold >= pieces of cuts              for every n and y
                   jobs that states hold inside >= slots of jobs inside   for every size
                   slots of states <= T servers                           for every capacity
                   slots of a job <= T                                    for those that may be long

A state is what a server holds at once, a cut a way to make a job of some size of pieces on servers
of at most n <= q of them. Both are generated: the dearest state of each capacity and n, and the
cheapest cut of each size and level q.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from optsched.backends.arrays import GrowingLp, MilpArrays
from optsched.deadline import Deadline
from optsched.makespan.bounds.contention import Cluster, Prices
from optsched.makespan.bounds.server_states import State, cut_up, in_pieces
from optsched.makespan.contention import Floats
from optsched.result import Settings

MOST_ROUNDS = 200
CLOSE = 1e-3
"""Generation stops where the programme's value is so near (relative) to what its duals prove."""
SMOOTHING = 0.5
"""Weight of the best prices so far in the prices tried next: the duals alone swing widely."""

Column = dict[int, float]


def best_prices(cluster: Cluster, low: float, clock: Deadline) -> Prices | None:
    """The prices that prove most; None where no prices prove more than `low` to speak of."""
    rows = _Rows(cluster, low)
    lp = GrowingLp(rows.programme(), Settings().within(clock))
    best, found, centre = 0.0, None, None
    for _ in range(MOST_ROUNDS):
        answer = None if clock.is_over else lp.solve(clock.left)
        if answer is None or answer.objective <= max(low, best) * (1 + CLOSE):
            break
        prices = rows.prices(answer.duals)
        columns: list[Column] = []
        for trial in (prices,) if centre is None else (_between(centre, prices), prices):
            states = cluster.states(trial)
            value = float(cluster.paid(trial).sum() / cluster.taken(trial, states))
            if value > best or centre is None:
                best, found, centre = value, trial, trial
            columns = rows.new(trial, states)
            if columns:
                break
        if not columns:
            break
        lp.add_columns(np.zeros(len(columns)), rows.matrix(columns))
    return found


def _between(centre: Prices, prices: Prices) -> Prices:
    def mixed(a: Any, b: Any) -> Any:
        return SMOOTHING * a + (1 - SMOOTHING) * b

    return Prices(
        mixed(centre.pieces, prices.pieces),
        mixed(centre.inside, prices.inside),
        mixed(centre.running, prices.running),
    )


class _Rows:
    """The programme's rows, and the columns it has."""

    def __init__(self, cluster: Cluster, low: float) -> None:
        self.cluster = cluster
        n, levels, self.most = len(cluster.gpus), cluster.levels, cluster.capacity
        finite = np.where(np.isfinite(cluster.slots), cluster.slots, 0.0)
        self.long = np.flatnonzero(finite.max(axis=1) > low)
        self.wide = [g for g in sorted(cluster.sizes) if g > 1]
        self.once = {int(j): n + i for i, j in enumerate(self.long)}
        at = n + len(self.long)
        pairs = [(g, q) for g in self.wide for q in range(1, levels + 1)]
        self.cuts = {pair: at + i for i, pair in enumerate(pairs)}
        self.pieces = at + len(pairs) - 1  # of n and y: + (n - 1) most + y
        self.inside = self.pieces + levels * self.most
        self.servers = {c: self.inside + self.most + 1 + i for i, c in enumerate(cluster.servers)}
        self.count = self.inside + self.most + 1 + len(cluster.servers)
        self.known: set[tuple[tuple[int, float], ...]] = set()

    def programme(self) -> MilpArrays:
        """With the deadline, all ways to run jobs, and enough states and cuts to be feasible."""
        columns = [self._deadline(), *self._runs(), *self._first()]
        lower, upper = np.zeros(self.count), np.full(self.count, np.inf)
        lower[: len(self.cluster.gpus)] = 1.0
        bounded = [*self.servers.values(), *self.once.values()]
        lower[bounded], upper[bounded] = -np.inf, 0.0
        cost = np.zeros(len(columns))
        cost[0] = 1.0
        return MilpArrays(
            cost, self.matrix(columns).T.tocsr(), lower, upper, np.zeros(len(columns)),
            np.full(len(columns), np.inf), np.zeros(len(columns), dtype=np.bool_),
        )  # fmt: skip

    def matrix(self, columns: list[Column]) -> csr_array:
        """Row i holds the coefficients of column i."""
        lengths = [len(column) for column in columns]
        return csr_array(
            (
                np.array([value for column in columns for value in column.values()]),
                np.array([row for column in columns for row in column], dtype=np.int32),
                np.concatenate(([0], np.cumsum(lengths))).astype(np.int32),
            ),
            shape=(len(columns), self.count),
        )

    def prices(self, duals: Floats) -> Prices:
        """The duals as prices."""
        levels, most = self.cluster.levels, self.most
        duals = np.abs(duals)
        pieces, inside = np.zeros((levels, most + 1)), np.zeros(most + 1)
        pieces[:, 1:] = duals[self.pieces + 1 : self.inside + 1].reshape(levels, most)
        inside[1:] = duals[self.inside + 1 : self.inside + most + 1]
        running = np.zeros(len(self.cluster.gpus))
        running[self.long] = duals[list(self.once.values())]
        return Prices(pieces, inside, running)

    def new(self, prices: Prices, states: dict[int, list[State]]) -> list[Column]:
        """The dearest states and the cheapest cuts, but for those there are."""
        least, _ = in_pieces(prices.pieces, self.wide[-1])
        columns = [self._state(c, state) for c, each in states.items() for state in each]
        columns += [self._cut(g, q, cut_up(prices.pieces, least, q, g)) for g, q in self.cuts]
        found = []
        for column in columns:
            key = tuple(sorted(column.items()))
            if key not in self.known:
                self.known.add(key)
                found.append(column)
        return found

    def _deadline(self) -> Column:
        servers = self.cluster.servers
        column = {row: -float(servers[c]) for c, row in self.servers.items()}
        return column | dict.fromkeys(self.once.values(), -1.0)

    def _runs(self) -> Iterator[Column]:
        for j, (gpus, slots) in enumerate(
            zip(self.cluster.gpus.tolist(), self.cluster.slots.tolist(), strict=True)
        ):
            *spanning, inside = slots
            once = {self.once[j]: 1.0} if j in self.once else {}
            if inside < math.inf:
                yield {j: 1 / inside, self.inside + gpus: -1.0} | once
            for q, length in enumerate(spanning, start=1):
                more = spanning[q] if q < len(spanning) else math.inf
                if length < math.inf and more > length:  # else the next level costs no more
                    yield {j: 1 / length, self.cuts[gpus, q]: -1.0} | once

    def _first(self) -> list[Column]:
        """States and cuts of pieces all alike, as far as may be."""
        levels, sizes = self.cluster.levels, self.cluster.sizes
        states: dict[int, list[State]] = {}
        for c in self.cluster.servers:
            insides = [(0, (g,) * min(c // g, sizes[g])) for g in sizes if g <= c]
            pieces = [(n, y) for n in range(1, levels + 1) for y in range(1, c // n + 1)]
            states[c] = [State(1, (), held, 0) for _, held in insides]
            states[c] += [State(n, (y,) * n, (), 0) for n, y in pieces]
        columns = [self._state(c, state) for c, each in states.items() for state in each]
        for g, q in self.cuts:
            for y in range(1, min(self.most, g - 1) + 1):
                whole, rest = divmod(g, y)
                cut = ((q, y),) * whole + (((q, rest),) if rest else ())
                columns.append(self._cut(g, q, cut))
        self.known.update(tuple(sorted(column.items())) for column in columns)
        return columns

    def _state(self, capacity: int, state: State) -> Column:
        rows = [self.pieces + (state.n - 1) * self.most + y for y in state.pieces]
        rows += [self.inside + g for g in state.inside]
        return {self.servers[capacity]: 1.0} | {r: float(k) for r, k in Counter(rows).items()}

    def _cut(self, gpus: int, level: int, pieces: Iterable[tuple[int, int]]) -> Column:
        rows = Counter(self.pieces + (n - 1) * self.most + y for n, y in pieces)
        return {self.cuts[gpus, level]: 1.0} | {r: -float(k) for r, k in rows.items()}
