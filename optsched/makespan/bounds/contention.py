"""The contention bound: a lower bound from LP duality on GPUs and link sharing.

At any time a server holds jobs inside it and pieces of spanning jobs; with n pieces, each of their
jobs runs at a level q >= n (sjf-bco (6)). Let U_n(g) >= 0 be the dual per slot of g GPUs of a
spanning job on a server with at most n spanning jobs, V(g) >= 0 that of a job of g GPUs inside one
server, and mu_s the maximum total dual of a state of server s. A spanning job at level q costs at
least chi_q per slot, the minimum total dual of pieces that make up its G_j GPUs, each at
min_{n <= q} U_n(g). So the minimum dual cost beta_j of completing job j is the minimum of
chi_q F_j / phi_j(q), on the fewest servers, and of V(G_j) d_j, inside one. With an additional dual
omega_j >= 0 for each of the at most T slots that it runs, weak duality gives for every schedule

    T (sum_s mu_s + sum_j omega_j) >= sum_j beta_j.

Guarantee: holds for any duals; they are rounded to integers, so that the checker verifies the bound
with no solver. The best ones are the duals of

    min T          sum of the shares done of a job in its slots >= 1      for every job
                   slots of cuts >= slots of jobs                         for every size and level
                   pieces in states >= pieces of cuts                     for every n and y
                   jobs inside states >= slots of jobs inside             for every size
                   slots of states <= T servers                           for every capacity
                   slots of a job <= T                                    for those that may be long

A state is the set of jobs and pieces on a server; a cut is a partition of a job's GPUs into pieces
on servers of at most n <= q of them. Column generation adds the state of maximum dual for each
capacity and n and the cheapest cut of each size and level; it stops early where contention does not
bind. Levels >= LEVELS are merged, with the speed of level LEVELS and no limit on pieces.
Complexity: O(c^2 + G c) a round for the largest server c and job G, and an LP of O(n) rows. Beyond
the paper; models/makespan/README.md, section "Bounds".
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from optsched.backends.arrays import GrowingLp, MilpArrays
from optsched.deadline import Deadline
from optsched.makespan.bounds.certificate import MAX_DUAL, ContentionCertificate
from optsched.makespan.bounds.durations import Durations
from optsched.makespan.contention import Floats
from optsched.makespan.instance import iterations_per_slot
from optsched.result import Settings

LEVELS = 4
MAX_CAPACITY, MAX_WIDTH = 64, 512
"""GPUs of a server and of a job beyond which no bound is computed: tables grow with both."""
SECONDS_PER_JOB = 1e-4
"""Time to state the LP; with less left it is not begun."""
ROUNDING = 1 - 3e-12
"""Factor on a bound with continuous progress: the checker's tolerance and rounding of the sums."""
MAX_ROUNDS = 200
RELATIVE_GAP = 1e-3
"""Column generation stops at this relative gap between LP value and Lagrangian bound."""
SMOOTHING = 0.5
"""Weight of the best duals so far in the duals tried next: the LP's alone oscillate."""
DUAL_DENOMINATOR = 2**20
"""Fixed-point denominator of dual costs."""
MAX_DIVISOR, ROUNDING_LIMIT = 8, 64
"""Strengthening by integer rounding, see `_integral_dual_cost`: speeds are divided by 1 to
`MAX_DIVISOR`, for jobs of at most `ROUNDING_LIMIT` slots; it adds little to longer ones."""

Row = tuple[Any, ...]
"""Kind of the row, then its indices."""
Column = dict[Row, float]
"""Coefficients by row."""


class Duals(NamedTuple):
    """U (levels x GPUs + 1), V (GPUs + 1) and sigma (jobs); row n - 1 of U is for n pieces.

    All are at least 0, those of no GPUs are 0; int64 in a certificate, where sums are exact.
    """

    pieces: Any
    inside: Any
    running: Any


class State(NamedTuple):
    """GPUs of a server's pieces, n at most, and of the jobs inside it; their total dual."""

    n: int
    pieces: tuple[int, ...]
    inside: tuple[int, ...]
    value: Any = 0


def contention_bound(
    durations: Durations, low: float, *, deadline: Deadline | None = None
) -> ContentionCertificate | None:
    """Return a certificate that proves more than the known bound `low`, or None."""
    deadline = deadline or Deadline()
    cluster = Cluster(durations)
    if not cluster.applies or not deadline.has(SECONDS_PER_JOB * len(cluster.gpus)):
        return None
    duals = _best_duals(cluster, low, deadline)
    return None if duals is None else cluster.certificate(duals, low)


class Cluster:
    """Job sizes, servers and levels of contention of an instance.

    ``levels`` are distinguished, 0 where no job can span servers. If ``limited``, no link can carry
    more jobs than that; otherwise the last level stands for all higher ones.
    """

    def __init__(self, durations: Durations) -> None:
        instance = durations.instance
        self.durations, self.gpus, self.slotted = durations, durations.gpus, instance.slotted
        self.servers = Counter(instance.servers)
        self.capacity = max(instance.servers)
        self.sizes = Counter(self.gpus.tolist())
        contending = instance.max_level if len(instance.servers) > 1 else 0
        self.levels, self.limited = min(contending, LEVELS), contending <= LEVELS

    @property
    def applies(self) -> bool:
        """Whether jobs can span, and sizes are small enough."""
        width = int(self.gpus.max())
        return self.levels > 0 and self.capacity <= MAX_CAPACITY and width <= MAX_WIDTH

    @cached_property
    def speeds(self) -> Floats:
        """Jobs x levels: phi over the fewest servers."""
        instance, levels = self.durations.instance, range(1, self.levels + 1)
        servers = np.maximum(self.durations.min_servers, 2).tolist()
        return np.array(
            [
                [iterations_per_slot(instance, job, k, q) if job.gpus > 1 else 0.0 for q in levels]
                for job, k in zip(instance.jobs, servers, strict=True)
            ]
        )

    @cached_property
    def slots(self) -> Floats:
        """Jobs x (levels, then inside one server): slots of a run, infinity where impossible."""
        iterations = np.array([job.iterations for job in self.durations.instance.jobs])
        with np.errstate(divide="ignore"):
            spanning = iterations[:, None] / self.speeds
        inside = np.where(self.gpus <= self.capacity, self.durations.inside, np.inf)
        return np.column_stack((spanning, inside))

    def states(self, duals: Duals) -> dict[int, list[State]]:
        """By capacity, the state of maximum dual for each limit n on its pieces."""
        items, inside = _inside_tables(duals.inside, self.sizes)
        states: dict[int, list[State]] = {capacity: [] for capacity in self.servers}
        for n in range(1, self.levels + 1):
            max_pieces = n if n < self.levels or self.limited else self.capacity
            pieces = _piece_tables(duals.pieces[n - 1], max_pieces)
            for c in self.servers:
                value = pieces[-1][: c + 1] + inside[-1][: c + 1][::-1]
                spanning = int(value.argmax())
                in_pieces = _best_pieces(duals.pieces[n - 1], pieces, spanning)
                jobs = _best_inside(items, inside, c - spanning)
                states[c].append(State(n, in_pieces, jobs, value[spanning]))
        return states

    def dual_supply_per_slot(self, duals: Duals, states: dict[int, list[State]]) -> Any:
        """sum mu + sum sigma."""
        max_value = {c: max(state.value for state in own) for c, own in states.items()}
        return sum(self.servers[c] * max_value[c] for c in max_value) + duals.running.sum()

    def dual_per_slot(self, duals: Duals) -> Any:
        """Jobs x (levels, then inside one server): dual cost of a slot."""
        _, two_or_more = _cheapest_cuts(duals.pieces, int(self.gpus.max()))
        inside = duals.inside[np.minimum(self.gpus, self.capacity)]
        return np.column_stack((two_or_more[:, self.gpus].T, inside)) + duals.running[:, None]

    def min_dual_cost(self, duals: Duals) -> Floats:
        """beta_j."""
        possible = np.isfinite(self.slots)
        totals = self.dual_per_slot(duals) * np.where(possible, self.slots, 1)
        return np.where(possible, totals, np.inf).min(axis=1)

    def certificate(self, duals: Duals, low: float) -> ContentionCertificate | None:
        """What the duals prove, rounded to integers; None if it is no more than `low`."""
        scale = MAX_DUAL / max(values.max() for values in duals)
        integral = Duals(*(np.floor(values * scale).astype(np.int64) for values in duals))
        certificate = ContentionCertificate(
            self._proved_deadline(integral),
            tuple(tuple(row[1:]) for row in integral.pieces.tolist()),
            tuple(integral.inside[1:].tolist()),
            {j: dual for j, dual in enumerate(integral.running.tolist()) if dual},
        )
        return certificate if certificate.bound(self.slotted) > low else None

    def _proved_deadline(self, duals: Duals) -> float:
        """The longest deadline that integer duals prove too short."""
        supply = int(self.dual_supply_per_slot(duals, self.states(duals)))
        if not self.slotted:
            return math.fsum(self.min_dual_cost(duals).tolist()) / supply * ROUNDING
        per_slot = self.dual_per_slot(duals)
        total = 0
        for j, job in enumerate(self.durations.instance.jobs):
            *across, inside = per_slot[j].tolist()
            speeds = self.speeds[j].tolist()
            runs = [(dual, int(phi)) for dual, phi in zip(across, speeds, strict=True) if phi]
            costs = [_integral_dual_cost(job.iterations, runs)] if runs else []
            if self.slots[j, -1] < math.inf:
                costs.append(inside * int(self.slots[j, -1]) * DUAL_DENOMINATOR)
            total += min(costs)
        return float((total - 1) // (supply * DUAL_DENOMINATOR))


def _integral_dual_cost(iterations: int, runs: list[tuple[int, int]]) -> int:
    """Lower bound on the dual cost of integral slots of these (duals, speeds), in fixed point.

    With t_q slots at speed phi_q, sum ceil(phi_q / g) t_q >= ceil(F / g) for any divisor g.
    """
    divisors = {1}
    if iterations <= ROUNDING_LIMIT * runs[0][1]:
        divisors |= {-(-speed // m) for _, speed in runs for m in range(1, MAX_DIVISOR + 1)}
    return max(
        min(
            dual * (-(-iterations // g) * DUAL_DENOMINATOR // -(-speed // g))
            for dual, speed in runs
        )
        for g in divisors
    )


# States and cuts of maximum or minimum dual: knapsacks over GPUs.


def _inside_tables(duals: Any, sizes: Counter[int]) -> tuple[list[int], list[Any]]:
    """Items (each size repeated by its number of jobs) and knapsack tables after i items."""
    capacity = len(duals) - 1
    items = [g for g in sorted(sizes) if g <= capacity for _ in range(min(sizes[g], capacity // g))]
    tables = [np.zeros(capacity + 1, duals.dtype)]
    for g in items:
        before, after = tables[-1], tables[-1].copy()
        after[g:] = np.maximum(after[g:], before[: capacity + 1 - g] + duals[g])
        tables.append(after)
    return items, tables


def _best_inside(items: list[int], tables: list[Any], gpus: int) -> tuple[int, ...]:
    """Sizes of the jobs of maximum dual inside `gpus` GPUs."""
    chosen = []
    for i in range(len(items), 0, -1):
        if tables[i][gpus] > tables[i - 1][gpus]:
            chosen.append(items[i - 1])
            gpus -= items[i - 1]
    return tuple(chosen)


def _piece_tables(duals: Any, max_pieces: int) -> list[Any]:
    """By number of pieces, then by GPUs (both upper limits): the maximum dual."""
    capacity = len(duals) - 1
    tables = [np.zeros(capacity + 1, duals.dtype)]
    for _ in range(max_pieces):
        before, after = tables[-1], tables[-1].copy()
        for y in range(1, capacity + 1):
            after[y:] = np.maximum(after[y:], before[: capacity + 1 - y] + duals[y])
        if (after == before).all():
            break
        tables.append(after)
    return tables


def _best_pieces(duals: Any, tables: list[Any], gpus: int) -> tuple[int, ...]:
    """GPUs of the pieces of maximum dual in `gpus` GPUs."""
    chosen = []
    for before, after in zip(tables[-2::-1], tables[:0:-1], strict=True):
        if after[gpus] > before[gpus]:
            taken = 1 + int((duals[1 : gpus + 1] + before[:gpus][::-1]).argmax())
            chosen.append(taken)
            gpus -= taken
    return tuple(chosen)


def _cheapest_cuts(duals: Any, width: int) -> tuple[Any, Any]:
    """By level and GPUs: the minimum dual in one piece or more, and in two or more."""
    piece = np.minimum.accumulate(duals, axis=0)
    capacity = piece.shape[1] - 1
    cost = np.zeros((len(piece), width + 1), piece.dtype)
    for gpus in range(1, width + 1):
        y = min(gpus, capacity)
        cost[:, gpus] = (piece[:, 1 : y + 1] + cost[:, gpus - y : gpus][:, ::-1]).min(axis=1)
    two_or_more = cost.copy()
    for gpus in range(2, min(capacity, width) + 1):
        two_or_more[:, gpus] = (piece[:, 1:gpus] + cost[:, 1:gpus][:, ::-1]).min(axis=1)
    return cost, two_or_more


def _cheapest_cut(duals: Any, cost: Any, level: int, gpus: int) -> Iterator[tuple[int, int]]:
    """(n, GPUs) of the pieces, two or more, of minimum dual; `cost` is of `_cheapest_cuts`."""
    piece = duals[:level].min(axis=0)
    largest = gpus - 1
    while gpus:
        y = min(largest, len(piece) - 1)
        total = piece[1 : y + 1] + cost[level - 1, gpus - y : gpus][::-1]
        taken = 1 + int(total.argmin())
        yield 1 + int(duals[:level, taken].argmin()), taken
        gpus -= taken
        largest = gpus


# The best duals, by column generation.


def _best_duals(cluster: Cluster, low: float, deadline: Deadline) -> Duals | None:
    """The duals that prove most; None where none prove noticeably more than `low`."""
    master = _Master(cluster, low)
    lp = GrowingLp(master.programme(), Settings().within(deadline))
    best, best_duals = 0.0, None
    for _ in range(MAX_ROUNDS):
        answer = None if deadline.is_over else lp.solve()
        if answer is None or answer.objective <= max(low, best) * (1 + RELATIVE_GAP):
            break
        duals = master.duals(answer.duals)
        trials = [duals]
        if best_duals is not None:
            pairs = zip(best_duals, duals, strict=True)
            smoothed = Duals(*(SMOOTHING * old + (1 - SMOOTHING) * new for old, new in pairs))
            trials = [smoothed, duals]
        columns: list[Column] = []
        for trial in trials:
            states = cluster.states(trial)
            supply = cluster.dual_supply_per_slot(trial, states)
            value = float(cluster.min_dual_cost(trial).sum() / supply)
            if value > best or best_duals is None:
                best, best_duals = value, trial
            columns = master.new_columns(trial, states)
            if columns:
                break
        if not columns:
            break
        lp.add_columns(np.zeros(len(columns)), master.matrix(columns))
    return best_duals


class _Master:
    """Rows of the master LP, and the columns generated so far."""

    def __init__(self, cluster: Cluster, low: float) -> None:
        self.cluster = cluster
        levels, gpus = range(1, cluster.levels + 1), range(1, cluster.capacity + 1)
        finite = np.where(np.isfinite(cluster.slots), cluster.slots, 0.0)
        self.long_jobs = np.flatnonzero(finite.max(axis=1) > low).tolist()
        self.cuts = [(g, q) for g in sorted(cluster.sizes) if g > 1 for q in levels]
        rows: list[Row] = [("job", j) for j in range(len(cluster.gpus))]
        rows += [("run limit", j) for j in self.long_jobs]
        rows += [("cut", g, q) for g, q in self.cuts]
        rows += [("piece", n, y) for n in levels for y in gpus]
        rows += [("inside", g) for g in gpus]
        rows += [("servers", c) for c in cluster.servers]
        self.index = {row: i for i, row in enumerate(rows)}
        self.generated: set[frozenset[tuple[Row, float]]] = set()

    def programme(self) -> MilpArrays:
        """Initial LP: deadline variable, all runs, and states and cuts that make it feasible."""
        columns = [self._deadline(), *self._runs(), *self._not_generated(self._initial())]
        lower, upper = np.zeros(len(self.index)), np.full(len(self.index), np.inf)
        lower[: len(self.cluster.gpus)] = 1.0
        bounded = [self.index[row] for row in columns[0]]
        lower[bounded], upper[bounded] = -np.inf, 0.0
        zeros = np.zeros(len(columns))
        cost = zeros.copy()
        cost[0] = 1.0
        return MilpArrays(
            cost, self.matrix(columns).T.tocsr(), lower, upper, zeros, zeros + np.inf, zeros > 0
        )

    def matrix(self, columns: list[Column]) -> csr_array:
        """Row i holds the coefficients of column i."""
        lengths = [len(column) for column in columns]
        rows = [self.index[row] for column in columns for row in column]
        return csr_array(
            (
                np.array([value for column in columns for value in column.values()]),
                np.array(rows, dtype=np.int32),
                np.concatenate(([0], np.cumsum(lengths))).astype(np.int32),
            ),
            shape=(len(columns), len(self.index)),
        )

    def duals(self, by_row: Floats) -> Duals:
        """U, V and sigma in the duals of the rows."""
        levels, capacity = self.cluster.levels, self.cluster.capacity
        pieces, inside = np.zeros((levels, capacity + 1)), np.zeros(capacity + 1)
        running = np.zeros(len(self.cluster.gpus))
        for row, i in self.index.items():
            if row[0] == "piece":
                pieces[row[1] - 1, row[2]] = abs(by_row[i])
            elif row[0] == "inside":
                inside[row[1]] = abs(by_row[i])
            elif row[0] == "run limit":
                running[row[1]] = abs(by_row[i])
        return Duals(pieces, inside, running)

    def new_columns(self, duals: Duals, states: dict[int, list[State]]) -> list[Column]:
        """The states of maximum dual and the cheapest cuts that the LP lacks."""
        cost, _ = _cheapest_cuts(duals.pieces, max(g for g, _ in self.cuts))
        columns = [self._state(c, state) for c, own in states.items() for state in own]
        for g, q in self.cuts:
            columns.append(self._cut(g, q, _cheapest_cut(duals.pieces, cost, q, g)))
        return list(self._not_generated(columns))

    def _not_generated(self, columns: Iterable[Column]) -> Iterator[Column]:
        for column in columns:
            key = frozenset(column.items())
            if key not in self.generated:
                self.generated.add(key)
                yield column

    def _deadline(self) -> Column:
        column: Column = {("servers", c): -float(n) for c, n in self.cluster.servers.items()}
        return column | {("run limit", j): -1.0 for j in self.long_jobs}

    def _runs(self) -> Iterator[Column]:
        """A slot of each job at each level, and inside one server."""
        for j, slots in enumerate(self.cluster.slots.tolist()):
            gpus, (*spanning, inside) = int(self.cluster.gpus[j]), slots
            limit: Column = {("run limit", j): 1.0} if ("run limit", j) in self.index else {}
            if inside < math.inf:
                yield {("job", j): 1 / inside, ("inside", gpus): -1.0} | limit
            for q, length in enumerate(spanning, start=1):
                longer = spanning[q] if q < len(spanning) else math.inf
                if length < math.inf and longer > length:  # dominated if the next is as short
                    yield {("job", j): 1 / length, ("cut", gpus, q): -1.0} | limit

    def _initial(self) -> Iterator[Column]:
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
            for y in range(1, min(self.cluster.capacity, g - 1) + 1):
                whole, rest = divmod(g, y)
                yield self._cut(g, q, [(q, y)] * whole + ([(q, rest)] if rest else []))

    def _state(self, capacity: int, state: State) -> Column:
        rows = Counter[Row](("piece", state.n, y) for y in state.pieces)
        rows.update(("inside", g) for g in state.inside)
        return {("servers", capacity): 1.0} | {row: float(k) for row, k in rows.items()}

    def _cut(self, gpus: int, level: int, pieces: Iterable[tuple[int, int]]) -> Column:
        rows = Counter(("piece", n, y) for n, y in pieces)
        return {("cut", gpus, level): 1.0} | {row: -float(k) for row, k in rows.items()}
