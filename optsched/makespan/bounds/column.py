"""The column bound: a certificate in integers that every makespan exceeds T.

A column is what one GPU runs over [0, T]. On a GPU of a server of capacity c, job j takes at least
d_jc slots, and each job needs G_j columns. For any prices y >= 0 let z_c be the most that a set of
jobs with sum d_jc <= T can be worth. If sum G_j y_j > sum N_c z_c, no schedule ends by T.

Guarantee: exact. Prices are integers and the knapsacks are solved in int64 over durations rounded
*down* to floor(d R / T), so `library/verify` checks the certificate without any solver. Prices come
from dual feasible functions first, then from the duals of a column generation (min sum u_j,
coverage_j + u_j >= G_j, columns of class c <= N_c), which stops as soon as they certify.
Complexity: O(C n R) a pricing round for C capacities. Source: beyond the paper;
models/makespan/README.md, section "Bounds".
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from optsched.backends.arrays import ColumnLp
from optsched.deadline import Deadline
from optsched.kernels import kernel
from optsched.makespan.bounds.certificate import MOST_RESOLUTION, ColumnCertificate
from optsched.makespan.bounds.durations import Durations
from optsched.makespan.contention import Bools, Floats, Ints

PRICE_SCALE = 10**6
MOST_ROUNDS, FEWEST_ROUNDS, ROUNDS_TIMES_JOBS = 400, 40, 64_000
"""Pricing rounds for a value of T: fewer for many jobs, whose programmes take longer."""
SMOOTHING = 0.7
"""Weight of the best prices so far in the prices tried next: the duals alone swing widely."""


@kernel
def _best_column(size: Ints, price: Floats, capacity: int, members: Bools) -> float:
    """Largest price of jobs whose sizes sum to at most `capacity`, and its jobs; 0/1 knapsack."""
    n = len(size)
    best = np.zeros(capacity + 1)
    taken = np.zeros((n, capacity + 1), np.bool_)
    for j in range(n):
        members[j] = False
        if size[j] < 0 or size[j] > capacity or price[j] <= 0:
            continue
        for r in range(capacity, size[j] - 1, -1):
            value = best[r - size[j]] + price[j]
            if value > best[r]:
                best[r] = value
                taken[j, r] = True
    room = capacity
    for j in range(n - 1, -1, -1):
        if taken[j, room]:
            members[j] = True
            room -= size[j]
    return best[capacity]


@kernel
def _best_value(size: Ints, price: Ints, capacity: int) -> int:
    """Largest price of jobs whose sizes sum to at most `capacity`, exact in int64."""
    best = np.zeros(capacity + 1, np.int64)
    for j in range(len(size)):
        if size[j] < 0 or size[j] > capacity or price[j] <= 0:
            continue
        for r in range(capacity, size[j] - 1, -1):
            best[r] = max(best[r], best[r - size[j]] + price[j])
    return best[capacity]


def warm_up_knapsacks() -> None:
    """Load the compiled knapsacks."""
    one = np.ones(1, dtype=np.int64)
    _best_value(one, one, 1)
    _best_column(one, np.ones(1), 1, np.zeros(1, dtype=np.bool_))


@dataclass(frozen=True)
class _Columns:
    """The knapsacks at one T."""

    deadline: float
    resolution: int
    demand: Ints
    limit: Ints
    sizes: tuple[Ints, ...]

    def surplus(self, prices: Ints) -> int:
        """sum G y - sum N z: above 0, the prices certify."""
        n = len(prices)
        worth = sum(
            int(limit)
            * int(_best_value.for_size(n * self.resolution)(size, prices, self.resolution))
            for limit, size in zip(self.limit, self.sizes, strict=True)
        )
        return int((self.demand * prices).sum()) - worth


def column_bound(
    durations: Durations,
    low: float,
    high: float,
    *,
    deadline: Deadline | None = None,
) -> ColumnCertificate | None:
    """Largest T found in [low, high) that no schedule meets, with its certificate.

    Parameters
    ----------
    durations : Durations
        Slots of each job by number of servers; see `durations_of`.
    low : float
        A proven lower bound to start from, in slots.
    high : float
        A makespan that is known to be possible, or the horizon, in slots.
    deadline : Deadline, optional
        The last certificate before it stands; without one the search repeats exactly.

    Returns
    -------
    ColumnCertificate or None
        None when nothing above `low` could be certified.

    Examples
    --------
    >>> import optsched
    >>> from optsched.makespan.bounds.durations import durations_of
    >>> certificate = column_bound(durations_of(optsched.load("makespan/uniform-10x4")), 11.0, 27.0)
    >>> certificate.deadline
    18
    """
    clock = deadline or Deadline()
    whole = durations.instance.slotted
    step = 1.0 if whole else low * 5e-4
    wanted = ROUNDS_TIMES_JOBS // len(durations.gpus)
    rounds = min(max(wanted, FEWEST_ROUNDS), MOST_ROUNDS)
    search = _Search(durations, clock, rounds)
    best, passed, failed = None, low - step, high
    stride = step
    while failed - passed > 1.01 * step and not clock.is_over:
        tried = min(passed + stride, (passed + failed) / 2 if failed < high else failed - step)
        tried = max(tried, passed + step)
        tried = math.floor(tried) if whole else tried
        certificate = search.certify(tried)
        if certificate is None:
            failed, stride = tried, step * max(1.0, (tried - passed) / step // 2)
        else:
            best, passed, stride = certificate, tried, 2 * stride
    return best


class _Search:
    """Certificates at several T, which share the columns generated."""

    def __init__(self, durations: Durations, clock: Deadline, rounds: int) -> None:
        self.durations, self.clock, self.rounds = durations, clock, rounds
        counts = Counter(durations.instance.servers)
        self.capacities = sorted(counts)
        self.limit = np.array([c * counts[c] for c in self.capacities], dtype=np.int64)
        self.pool: list[tuple[int, Ints]] = []

    def certify(self, deadline: float) -> ColumnCertificate | None:
        """A certificate that every makespan exceeds `deadline`, or None."""
        columns = self._columns(deadline)
        prices = self._dual_feasible(columns)
        if prices is None and not self.clock.is_over:
            prices = self._generate(columns)
        if prices is None:
            return None
        return ColumnCertificate(deadline, columns.resolution, tuple(prices.tolist()))

    def _columns(self, deadline: float) -> _Columns:
        durations = self.durations
        resolution = resolution_for(deadline, durations.instance.slotted)
        sizes = tuple(
            scaled(durations.on(capacity), deadline, resolution) for capacity in self.capacities
        )
        return _Columns(deadline, resolution, durations.gpus, self.limit, sizes)

    def _dual_feasible(self, columns: _Columns) -> Ints | None:
        """Prices of classical dual feasible functions; no solver needed."""
        share = np.minimum(self.durations.least / columns.deadline, 1.0)
        for cut in (0.0, 0.25, 1 / 3, 0.4, 0.5):
            if self.clock.is_over:
                return None
            trial = np.where(share > 1 - cut, 1.0, np.where(share < cut, 0.0, share))
            prices = whole_prices(trial)
            if columns.surplus(prices) > 0:
                return prices
        impossible = np.all([size < 0 for size in columns.sizes], axis=0)
        return impossible.astype(np.int64) if impossible.any() else None

    def _generate(self, columns: _Columns) -> Ints | None:
        programme = ColumnLp(columns.demand.tolist(), columns.limit.tolist())
        for kind, members in self._kept(columns):
            programme.add(kind, members)
        members = np.zeros(len(columns.demand), dtype=np.bool_)
        centre: Floats | None = None
        most = -math.inf
        for _ in range(self.rounds):
            answer = None if self.clock.is_over else programme.solve(self.clock)
            if answer is None or answer[0] <= 1e-7 * columns.demand.sum():
                return None
            prices = answer[1]
            for trial in (prices,) if centre is None else (
                SMOOTHING * centre + (1 - SMOOTHING) * prices, prices
            ):  # fmt: skip
                surplus = float((columns.demand * trial).sum())
                for kind, size in enumerate(columns.sizes):
                    if self.clock.is_over:
                        return None
                    knapsack = _best_column.for_size(len(size) * columns.resolution)
                    worth = knapsack(size, trial, columns.resolution, members)
                    surplus -= int(columns.limit[kind]) * worth
                    column = np.flatnonzero(members)
                    programme.add(kind, column)
                    self.pool.append((kind, column))
                if surplus > most:
                    most, centre = surplus, trial
                if surplus > 0:
                    exact = whole_prices(trial)
                    if columns.surplus(exact) > 0:
                        return exact
                if surplus > answer[0] * -0.5 and trial is not prices:
                    break
        return None

    def _kept(self, columns: _Columns) -> list[tuple[int, Ints]]:
        """Columns generated before that fit this T."""
        fits = []
        for kind, members in self.pool:
            sizes = columns.sizes[kind][members]
            if (sizes >= 0).all() and sizes.sum() <= columns.resolution:
                fits.append((kind, members))
        return fits


def resolution_for(deadline: float, slotted: bool) -> int:
    """R: whole slots themselves where they are few, else the most the certificate allows."""
    if slotted and deadline <= MOST_RESOLUTION:
        return int(deadline)
    return MOST_RESOLUTION


def scaled(durations: Floats, deadline: float, resolution: int) -> Ints:
    """floor(d R / T), a hair lower against rounding; -1 for what takes longer than T."""
    if resolution == deadline:
        sizes = np.where(np.isfinite(durations), durations, -1)
    else:
        with np.errstate(invalid="ignore"):
            sizes = np.floor(durations * (resolution / deadline) * (1 - 1e-12))
    fits = np.isfinite(durations) & (durations <= deadline * (1 + 1e-12))
    return np.where(fits, sizes, -1).astype(np.int64)


def whole_prices(prices: Floats) -> Ints:
    """Prices scaled to at most a million and rounded down."""
    top = float(prices.max()) or 1.0
    return np.floor(prices * (PRICE_SCALE / top)).astype(np.int64)
