"""The contention bound: links and GPUs have prices, and no schedule can pay for all jobs in time.

At any time a server holds jobs that sit inside it and pieces of jobs that span; with n pieces, each
of their jobs runs at a level q >= n (sjf-bco (6)). Let U_n(y) >= 0 be the price of y GPUs for a
slot as a piece on a server of at most n pieces, V(g) >= 0 that of a job of g GPUs inside one. With
mu_s the highest total price of what server s can hold at once, the cluster collects at most
sum_s mu_s a slot. A job at level q pays at least M_q, the least total price of pieces that make up
its G_j GPUs, at min_{n <= q} U_n(y); so for all its iterations at least D_j, the least of
M_q F_j / phi_j(q), on the fewest servers, and V(G_j) d_j, inside one. It may pay sigma_j >= 0 for
each slot as well, of which there are at most T. For every schedule, then,

    T (sum_s mu_s + sum_j sigma_j) >= sum_j D_j.

Guarantee: holds for any prices; they are rounded to integers, so that the checker verifies the
bound with no solver. The best ones are the duals of

    min T          sum of the shares done of a job in its slots >= 1      for every job
                   slots of cuts >= slots of jobs                         for every size and level
                   pieces that states hold >= pieces of cuts              for every n and y
                   jobs that states hold inside >= slots of jobs inside   for every size
                   slots of states <= T servers                           for every capacity
                   slots of a job <= T                                    for those that may be long

A state is what a server holds at once, a cut a way to make a job of some size of pieces on servers
of at most n <= q of them. Column generation adds the state of highest price for each capacity and n
and the cheapest cut of each size and level; it stops early where contention does not bind. Levels
from `LEVELS` on count as one, at the speed of the first and with no limit on pieces. Complexity:
O(c^2 + G c) a round for the largest server c and job G, and a programme of O(n) rows. Beyond the
paper; models/makespan/README.md, section "Bounds".
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from optsched.backends.arrays import GrowingLp, MilpArrays
from optsched.deadline import Deadline
from optsched.makespan.bounds.certificate import (
    GRAINS,
    MOST_PRICE,
    MOST_SLOTS,
    PARTS,
    ContentionCertificate,
)
from optsched.makespan.bounds.durations import Durations
from optsched.makespan.contention import Floats
from optsched.makespan.instance import iterations_per_slot
from optsched.result import Settings

LEVELS = 4
MAX_CAPACITY, MAX_WIDTH = 64, 512
"""GPUs of a server and of a job beyond which no prices are computed: tables grow with both."""
SECONDS_PER_JOB = 1e-4
"""Time to state the programme; with less left it is not begun."""
ROUNDING = 1 - 3e-12
"""Factor on a bound under continuous progress: the checker's tolerance and rounding of the sums."""
MAX_ROUNDS = 200
CLOSE = 1e-3
"""Generation stops where the programme's value is so near (relative) to what its duals prove."""
SMOOTHING = 0.5
"""Weight of the best prices so far in the prices tried next: the duals alone oscillate."""

Column = dict[int, float]
"""Coefficients by row."""


@dataclass(frozen=True)
class Prices:
    """U (levels x GPUs + 1), V (GPUs + 1) and sigma (jobs); row n - 1 of U is for n pieces.

    All are at least 0, those of no GPUs are 0; int64 in a certificate, where sums are exact.
    """

    pieces: Any
    inside: Any
    running: Any


@dataclass(frozen=True)
class State:
    """GPUs of a server's pieces, n at most, and of the jobs inside it; their total price."""

    n: int
    pieces: tuple[int, ...]
    inside: tuple[int, ...]
    worth: Any = 0


def contention_bound(
    durations: Durations, low: float, *, deadline: Deadline | None = None
) -> ContentionCertificate | None:
    """Return a certificate that proves more than the known bound `low`, or None."""
    deadline = deadline or Deadline()
    cluster = Cluster(durations)
    if not cluster.applies or not deadline.has(SECONDS_PER_JOB * len(cluster.gpus)):
        return None
    prices = _best_prices(cluster, low, deadline)
    return None if prices is None else cluster.certificate(prices, low)


class Cluster:
    """Job sizes, servers and levels of contention of an instance.

    A level is a number of jobs that share a link. ``levels`` is how many the bound distinguishes, 0
    where no job can span servers. If ``limited``, no link can carry more jobs than that; otherwise
    the last level stands for all higher ones and has no limit on pieces.
    """

    def __init__(self, durations: Durations) -> None:
        instance = durations.instance
        self.durations, self.gpus, self.slotted = durations, durations.gpus, instance.slotted
        self.servers = Counter(instance.servers)
        self.capacity = max(instance.servers)
        self.sizes = Counter(self.gpus.tolist())
        spanners = int((self.gpus > 1).sum())
        contending = min(spanners, self.capacity) if len(instance.servers) > 1 else 0
        self.levels, self.limited = min(contending, LEVELS), contending <= LEVELS

    @property
    def applies(self) -> bool:
        """Whether jobs can span, and sizes are small enough."""
        width = int(self.gpus.max())
        return self.levels > 0 and self.capacity <= MAX_CAPACITY and width <= MAX_WIDTH

    @cached_property
    def speeds(self) -> Floats:
        """Jobs x levels: phi over the fewest servers."""
        instance, fewest = self.durations.instance, self.durations.fewest.tolist()

        def speed(j: int, level: int) -> float:
            job = instance.jobs[j]
            if job.gpus == 1:
                return 0.0
            return iterations_per_slot(instance, job, max(2, fewest[j]), level)

        levels = range(1, self.levels + 1)
        return np.array([[speed(j, q) for q in levels] for j in range(len(self.gpus))])

    @cached_property
    def slots(self) -> Floats:
        """Jobs x (levels, then inside one server): slots of a run, infinity where impossible."""
        iterations = np.array([job.iterations for job in self.durations.instance.jobs])
        with np.errstate(divide="ignore"):
            spanning = iterations[:, None] / self.speeds
        inside = np.where(self.gpus <= self.capacity, self.durations.inside, np.inf)
        return np.column_stack((spanning, inside))

    def states(self, prices: Prices) -> dict[int, list[State]]:
        """By capacity, the state of highest price for each limit n on its pieces."""
        items, inside = _inside_tables(prices.inside, self.sizes)
        states: dict[int, list[State]] = {capacity: [] for capacity in self.servers}
        for n in range(1, self.levels + 1):
            max_pieces = n if n < self.levels or self.limited else self.capacity
            pieces = _piece_tables(prices.pieces[n - 1], max_pieces)
            for c in self.servers:
                worth = pieces[-1][: c + 1] + inside[-1][: c + 1][::-1]
                held = int(worth.argmax())
                in_pieces = _chosen_pieces(prices.pieces[n - 1], pieces, held)
                jobs = _chosen_inside(items, inside, c - held)
                states[c].append(State(n, in_pieces, jobs, worth[held]))
        return states

    def collected(self, prices: Prices, states: dict[int, list[State]]) -> Any:
        """sum mu + sum sigma: what the cluster can take in a slot."""
        dearest = {c: max(state.worth for state in own) for c, own in states.items()}
        return sum(self.servers[c] * dearest[c] for c in dearest) + prices.running.sum()

    def price_of_slots(self, prices: Prices) -> Any:
        """Jobs x (levels, then inside one server): price of a slot."""
        _, several = _cheapest_cuts(prices.pieces, int(self.gpus.max()))
        inside = prices.inside[np.minimum(self.gpus, self.capacity)]
        return np.column_stack((several[:, self.gpus].T, inside)) + prices.running[:, None]

    def paid(self, prices: Prices) -> Floats:
        """D_j."""
        possible = np.isfinite(self.slots)
        totals = self.price_of_slots(prices) * np.where(possible, self.slots, 1)
        return np.where(possible, totals, np.inf).min(axis=1)

    def certificate(self, prices: Prices, low: float) -> ContentionCertificate | None:
        """What the prices prove, rounded to integers; None if it is no more than `low`."""
        parts = (prices.pieces, prices.inside, prices.running)
        scale = MOST_PRICE / max(values.max() for values in parts)
        integral = Prices(*(np.floor(values * scale).astype(np.int64) for values in parts))
        certificate = ContentionCertificate(
            self._proved_deadline(integral),
            tuple(tuple(row[1:]) for row in integral.pieces.tolist()),
            tuple(integral.inside[1:].tolist()),
            {j: price for j, price in enumerate(integral.running.tolist()) if price},
        )
        return certificate if certificate.bound(self.slotted) > low else None

    def _proved_deadline(self, prices: Prices) -> float:
        """The longest deadline that integer prices prove too short."""
        collected, by_slot = (
            int(self.collected(prices, self.states(prices))),
            self.price_of_slots(prices),
        )
        if not self.slotted:
            return math.fsum(self.paid(prices).tolist()) / collected * ROUNDING
        paid = 0
        for j, job in enumerate(self.durations.instance.jobs):
            *across, inside = by_slot[j].tolist()
            runs = [
                (p, int(phi)) for p, phi in zip(across, self.speeds[j].tolist(), strict=True) if phi
            ]
            costs = [_cost_of_whole_slots(job.iterations, runs)] if runs else []
            if self.slots[j, -1] < math.inf:
                costs.append(inside * int(self.slots[j, -1]) * PARTS)
            paid += min(costs)
        return float((paid - 1) // (collected * PARTS))


def _cost_of_whole_slots(iterations: int, runs: list[tuple[int, int]]) -> int:
    """Least cost of whole slots at these (prices, speeds), in parts of a price.

    With t_q slots at speed phi_q, sum ceil(phi_q / g) t_q >= ceil(F / g) for any grain g.
    """
    grains = {1}
    if iterations <= MOST_SLOTS * runs[0][1]:
        grains |= {-(-speed // m) for _, speed in runs for m in range(1, GRAINS + 1)}
    return max(
        min(price * (-(-iterations // g) * PARTS // -(-speed // g)) for price, speed in runs)
        for g in grains
    )


# What a server can hold at once, and how a job is cut into pieces: knapsacks over GPUs.


def _inside_tables(prices: Any, sizes: Counter[int]) -> tuple[list[int], list[Any]]:
    """Items (each size as often as there are jobs of it), and the highest price of the first i."""
    capacity = len(prices) - 1
    fitting = [g for g in sorted(sizes) if g <= capacity]
    items = [g for g in fitting for _ in range(min(sizes[g], capacity // g))]
    tables = [np.zeros(capacity + 1, prices.dtype)]
    for g in items:
        before, after = tables[-1], tables[-1].copy()
        after[g:] = np.maximum(after[g:], before[: capacity + 1 - g] + prices[g])
        tables.append(after)
    return items, tables


def _chosen_inside(items: list[int], tables: list[Any], gpus: int) -> tuple[int, ...]:
    """Sizes of the jobs that attain the highest price inside so many GPUs."""
    chosen = []
    for i in range(len(items), 0, -1):
        if tables[i][gpus] > tables[i - 1][gpus]:
            chosen.append(items[i - 1])
            gpus -= items[i - 1]
    return tuple(chosen)


def _piece_tables(prices: Any, max_pieces: int) -> list[Any]:
    """By number of pieces, then by GPUs (both at most): the highest price."""
    capacity = len(prices) - 1
    tables = [np.zeros(capacity + 1, prices.dtype)]
    for _ in range(max_pieces):
        before, after = tables[-1], tables[-1].copy()
        for y in range(1, capacity + 1):
            after[y:] = np.maximum(after[y:], before[: capacity + 1 - y] + prices[y])
        if (after == before).all():
            break
        tables.append(after)
    return tables


def _chosen_pieces(prices: Any, tables: list[Any], gpus: int) -> tuple[int, ...]:
    """GPUs of the pieces that attain the highest price in so many GPUs."""
    chosen = []
    for before, after in zip(tables[-2::-1], tables[:0:-1], strict=True):
        if after[gpus] > before[gpus]:
            taken = 1 + int((prices[1 : gpus + 1] + before[:gpus][::-1]).argmax())
            chosen.append(taken)
            gpus -= taken
    return tuple(chosen)


def _cheapest_cuts(prices: Any, width: int) -> tuple[Any, Any]:
    """By level and GPUs: the least price in one piece or more, and in two or more."""
    piece = np.minimum.accumulate(prices, axis=0)
    capacity = piece.shape[1] - 1
    least = np.zeros((len(piece), width + 1), piece.dtype)
    for gpus in range(1, width + 1):
        y = min(gpus, capacity)
        least[:, gpus] = (piece[:, 1 : y + 1] + least[:, gpus - y : gpus][:, ::-1]).min(axis=1)
    several = least.copy()
    for gpus in range(2, min(capacity, width) + 1):
        several[:, gpus] = (piece[:, 1:gpus] + least[:, 1:gpus][:, ::-1]).min(axis=1)
    return least, several


def _cheapest_cut(prices: Any, least: Any, level: int, gpus: int) -> Iterator[tuple[int, int]]:
    """(n, GPUs) of the two pieces or more that cost least; `least` is of `_cheapest_cuts`."""
    piece = prices[:level].min(axis=0)
    largest = gpus - 1
    while gpus:
        y = min(largest, len(piece) - 1)
        total = piece[1 : y + 1] + least[level - 1, gpus - y : gpus][::-1]
        taken = 1 + int(total.argmin())
        yield 1 + int(prices[:level, taken].argmin()), taken
        gpus -= taken
        largest = gpus


# The prices: duals of the programme, by column generation.


def _best_prices(cluster: Cluster, low: float, deadline: Deadline) -> Prices | None:
    """The prices that prove most; None where none prove noticeably more than `low`."""
    rows = _Rows(cluster, low)
    lp = GrowingLp(rows.programme(), Settings().within(deadline))
    best, best_prices = 0.0, None
    for _ in range(MAX_ROUNDS):
        answer = None if deadline.is_over else lp.solve(deadline.left)
        if answer is None or answer.objective <= max(low, best) * (1 + CLOSE):
            break
        prices = rows.prices(answer.duals)
        trials = [prices] if best_prices is None else [_mixed(best_prices, prices), prices]
        columns: list[Column] = []
        for trial in trials:
            states = cluster.states(trial)
            value = float(cluster.paid(trial).sum() / cluster.collected(trial, states))
            if value > best or best_prices is None:
                best, best_prices = value, trial
            columns = rows.new_columns(trial, states)
            if columns:
                break
        if not columns:
            break
        lp.add_columns(np.zeros(len(columns)), rows.matrix(columns))
    return best_prices


def _mixed(a: Prices, b: Prices) -> Prices:
    pairs = ((a.pieces, b.pieces), (a.inside, b.inside), (a.running, b.running))
    return Prices(*(SMOOTHING * one + (1 - SMOOTHING) * other for one, other in pairs))


class _Rows:
    """The programme's rows, and the columns it has."""

    def __init__(self, cluster: Cluster, low: float) -> None:
        self.cluster = cluster
        n, levels, self.capacity = len(cluster.gpus), cluster.levels, cluster.capacity
        finite = np.where(np.isfinite(cluster.slots), cluster.slots, 0.0)
        self.long = np.flatnonzero(finite.max(axis=1) > low)
        self.wide = [g for g in sorted(cluster.sizes) if g > 1]
        self.once = {int(j): n + i for i, j in enumerate(self.long)}
        at = n + len(self.long)
        pairs = [(g, q) for g in self.wide for q in range(1, levels + 1)]
        self.cuts = {pair: at + i for i, pair in enumerate(pairs)}
        self.pieces = at + len(pairs) - 1  # of n and y: + (n - 1) capacity + y
        self.inside = self.pieces + levels * self.capacity
        first = self.inside + self.capacity + 1
        self.servers = {c: first + i for i, c in enumerate(cluster.servers)}
        self.count = first + len(cluster.servers)
        self.known: set[tuple[tuple[int, float], ...]] = set()

    def programme(self) -> MilpArrays:
        """With the deadline, all ways to run jobs, and enough states and cuts to be feasible."""
        columns = [self._deadline(), *self._runs(), *self._unknown(self._first())]
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
        levels, capacity = self.cluster.levels, self.capacity
        duals = np.abs(duals)
        pieces, inside = np.zeros((levels, capacity + 1)), np.zeros(capacity + 1)
        pieces[:, 1:] = duals[self.pieces + 1 : self.inside + 1].reshape(levels, capacity)
        inside[1:] = duals[self.inside + 1 : self.inside + capacity + 1]
        running = np.zeros(len(self.cluster.gpus))
        running[self.long] = duals[list(self.once.values())]
        return Prices(pieces, inside, running)

    def new_columns(self, prices: Prices, states: dict[int, list[State]]) -> list[Column]:
        """The states of highest price and the cheapest cuts that the programme lacks."""
        least, _ = _cheapest_cuts(prices.pieces, self.wide[-1])
        columns = [self._state(c, state) for c, own in states.items() for state in own]
        for g, q in self.cuts:
            columns.append(self._cut(g, q, _cheapest_cut(prices.pieces, least, q, g)))
        return list(self._unknown(columns))

    def _unknown(self, columns: Iterable[Column]) -> Iterator[Column]:
        for column in columns:
            key = tuple(sorted(column.items()))
            if key not in self.known:
                self.known.add(key)
                yield column

    def _deadline(self) -> Column:
        servers = self.cluster.servers
        column = {row: -float(servers[c]) for c, row in self.servers.items()}
        return column | dict.fromkeys(self.once.values(), -1.0)

    def _runs(self) -> Iterator[Column]:
        """A slot of each job at each level, and inside one server."""
        for j, slots in enumerate(self.cluster.slots.tolist()):
            gpus, (*spanning, inside) = int(self.cluster.gpus[j]), slots
            once = {self.once[j]: 1.0} if j in self.once else {}
            if inside < math.inf:
                yield {j: 1 / inside, self.inside + gpus: -1.0} | once
            for q, length in enumerate(spanning, start=1):
                longer = spanning[q] if q < len(spanning) else math.inf
                if length < math.inf and longer > length:  # else the next level costs no more
                    yield {j: 1 / length, self.cuts[gpus, q]: -1.0} | once

    def _first(self) -> Iterator[Column]:
        """States and cuts of equal pieces, as far as possible."""
        levels, sizes = self.cluster.levels, self.cluster.sizes
        for c in self.cluster.servers:
            for g in sizes:
                if g <= c:
                    yield self._state(c, State(1, (), (g,) * min(c // g, sizes[g])))
            for n in range(1, levels + 1):
                for y in range(1, c // n + 1):
                    yield self._state(c, State(n, (y,) * n, ()))
        for g, q in self.cuts:
            for y in range(1, min(self.capacity, g - 1) + 1):
                whole, rest = divmod(g, y)
                yield self._cut(g, q, [(q, y)] * whole + ([(q, rest)] if rest else []))

    def _state(self, capacity: int, state: State) -> Column:
        rows = [self.pieces + (state.n - 1) * self.capacity + y for y in state.pieces]
        rows += [self.inside + g for g in state.inside]
        return {self.servers[capacity]: 1.0} | {r: float(k) for r, k in Counter(rows).items()}

    def _cut(self, gpus: int, level: int, pieces: Iterable[tuple[int, int]]) -> Column:
        rows = Counter(self.pieces + (n - 1) * self.capacity + y for n, y in pieces)
        return {self.cuts[gpus, level]: 1.0} | {r: -float(k) for r, k in rows.items()}
