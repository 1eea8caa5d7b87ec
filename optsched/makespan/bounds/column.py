"""The column bound: a certificate in integers that every makespan exceeds T.

A column is a set of jobs run by one GPU in [0, T]. On a GPU of a server of capacity c, job j takes
at least d_jc slots, and each job needs G_j columns. For any duals pi >= 0 let zeta_c be the maximum
of sum pi_j over sets of jobs with sum d_jc <= T. If sum G_j pi_j > sum N_c zeta_c for the N_c GPUs
of class c, no schedule ends by T.

Guarantee: exact. Duals are integers and durations are rounded *down* to floor(d r / T), so that all
sums are exact and `library/verify` checks the certificate without any solver. Duals come from dual
feasible functions first, then from a column generation (min sum u_j, coverage_j + u_j >= G_j,
columns of class c <= N_c), which stops as soon as they certify. Complexity: O(C n r) a pricing
round for C capacities. Source: beyond the paper; models/makespan/README.md, section "Bounds".
"""

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from optsched.backends.arrays import CoveringLp
from optsched.deadline import Deadline
from optsched.kernels import kernel
from optsched.makespan.bounds.certificate import MAX_DUAL, MAX_RESOLUTION, ColumnCertificate
from optsched.makespan.bounds.durations import Durations
from optsched.makespan.contention import Bools, Floats, Ints

MAX_ROUNDS, MIN_ROUNDS, ROUNDS_TIMES_JOBS = 400, 40, 64_000
"""Pricing rounds for a value of T: fewer for many jobs, whose programmes take longer."""
SMOOTHING = 0.7
"""Weight of the best duals so far in the duals tried next: the LP's alone oscillate."""
RELATIVE_STEP = 5e-4
"""Steps of T with continuous progress, relative to the known bound: smaller ones are lost in the
rounding of durations to T / r."""
ROUNDING = 1e-12
NOT_PROVED = 1e-7
"""The LP's value relative to the demand, up to which it counts as 0: T is long enough."""


@kernel
def _best_column(size: Ints, dual: Floats, capacity: int, members: Bools) -> float:
    """Maximum dual value of jobs whose sizes sum to at most `capacity`; 0/1 knapsack.

    Writes its jobs to `members`. Sums of integer duals are exact: they stay below 2^53.
    """
    n = len(size)
    best = np.zeros(capacity + 1)
    taken = np.zeros((n, capacity + 1), np.bool_)
    for j in range(n):
        members[j] = False
        if size[j] < 0 or size[j] > capacity or dual[j] <= 0:
            continue
        for r in range(capacity, size[j] - 1, -1):
            value = best[r - size[j]] + dual[j]
            if value > best[r]:
                best[r] = value
                taken[j, r] = True
    room = capacity
    for j in range(n - 1, -1, -1):
        if taken[j, room]:
            members[j] = True
            room -= size[j]
    return best[capacity]


def warm_up_knapsacks() -> None:
    _best_column(np.ones(1, np.int64), np.ones(1), 1, np.zeros(1, np.bool_))


@dataclass(frozen=True)
class _Columns:
    """The knapsacks at one T, by class of server capacity."""

    deadline: float
    resolution: int
    demand: Ints
    num_gpus: Ints
    sizes: tuple[Ints, ...]

    def best_column(self, server_class: int, duals: Floats) -> tuple[float, Ints]:
        """zeta_c and the jobs that attain it."""
        members = np.zeros(len(duals), dtype=np.bool_)
        knapsack = _best_column.for_size(len(duals) * self.resolution)
        value = knapsack(self.sizes[server_class], duals, self.resolution, members)
        return float(value), np.flatnonzero(members)

    def certifies(self, duals: Ints) -> bool:
        """Whether sum G y > sum N z."""
        as_floats = duals.astype(np.float64)
        values = [self.best_column(c, as_floats)[0] for c in range(len(self.sizes))]
        supply = sum(int(n) * int(z) for n, z in zip(self.num_gpus, values, strict=True))
        return int((self.demand * duals).sum()) > supply


def column_bound(
    durations: Durations, low: float, high: float, *, deadline: Deadline | None = None
) -> ColumnCertificate | None:
    """Search [low, high) for the largest T that no schedule meets; return its certificate.

    Parameters
    ----------
    durations : Durations
        Minimum durations of the jobs; see `durations_of`.
    low : float
        A proven lower bound to start from, in slots.
    high : float
        A makespan that is known to be possible, or the horizon, in slots.
    deadline : Deadline, optional
        Returns the last certificate before it; without one the search is reproducible.

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
    deadline = deadline or Deadline()
    slotted = durations.instance.slotted
    step = 1.0 if slotted else low * RELATIVE_STEP
    search = _Search(durations, deadline)
    # Strides from the bound up grow until one fails; then bisect.
    best, proved, not_proved = None, low - step, high
    stride = step
    while not_proved - proved > 1.01 * step and not deadline.is_over:
        middle = (proved + not_proved) / 2 if not_proved < high else not_proved - step
        trial = max(min(proved + stride, middle), proved + step)
        trial = math.floor(trial) if slotted else trial
        certificate = search.certify(trial)
        if certificate is None:
            not_proved, stride = trial, step * max(1.0, (trial - proved) / step // 2)
        else:
            best, proved, stride = certificate, trial, 2 * stride
    return best


class _Search:
    """Certificates at several T, which share the generated columns."""

    def __init__(self, durations: Durations, deadline: Deadline) -> None:
        self.durations, self.deadline = durations, deadline
        counts = Counter(durations.instance.servers)
        self.capacities = sorted(counts)
        self.num_gpus = np.array([c * counts[c] for c in self.capacities], dtype=np.int64)
        self.pool: list[tuple[int, Ints]] = []

    def certify(self, end: float) -> ColumnCertificate | None:
        """A certificate that every makespan exceeds `end`, or None."""
        durations = self.durations
        # r: the slots themselves where they are integral and few, else the most that is allowed.
        exact = durations.instance.slotted and end <= MAX_RESOLUTION
        resolution = int(end) if exact else MAX_RESOLUTION
        sizes = tuple(scaled(durations.on(c), end, resolution) for c in self.capacities)
        columns = _Columns(end, resolution, durations.gpus, self.num_gpus, sizes)
        duals = self._dual_feasible(columns)
        if duals is None and not self.deadline.is_over:
            duals = self._generate(columns)
        if duals is None:
            return None
        return ColumnCertificate(end, resolution, tuple(duals.tolist()))

    def _dual_feasible(self, columns: _Columns) -> Ints | None:
        """Duals of the dual feasible functions u^(k) of Fekete and Schepers; no solver needed."""
        share = np.minimum(self.durations.minimum / columns.deadline, 1.0)
        for cut in (0.0, 0.25, 1 / 3, 0.4, 0.5):
            if self.deadline.is_over:
                return None
            trial = np.where(share > 1 - cut, 1.0, np.where(share < cut, 0.0, share))
            duals = integer_duals(trial)
            if columns.certifies(duals):
                return duals
        impossible = np.all([size < 0 for size in columns.sizes], axis=0)
        return impossible.astype(np.int64) if impossible.any() else None

    def _generate(self, columns: _Columns) -> Ints | None:
        """Duals of the column generation, as soon as they certify."""
        lp = CoveringLp(columns.demand.tolist(), columns.num_gpus.tolist())
        for server_class, members in self.pool:  # those generated before that fit this T
            sizes = columns.sizes[server_class][members]
            if (sizes >= 0).all() and sizes.sum() <= columns.resolution:
                lp.add(server_class, members)
        centre: Floats | None = None
        best_surplus = -math.inf
        rounds = min(max(ROUNDS_TIMES_JOBS // len(columns.demand), MIN_ROUNDS), MAX_ROUNDS)
        for _ in range(rounds):
            answer = None if self.deadline.is_over else lp.solve(self.deadline)
            if answer is None or answer[0] <= NOT_PROVED * columns.demand.sum():
                return None
            value, duals = answer
            smoothed = [] if centre is None else [SMOOTHING * centre + (1 - SMOOTHING) * duals]
            for trial in (*smoothed, duals):
                # Price: the best column of each class.
                surplus = float((columns.demand * trial).sum())
                for server_class, count in enumerate(columns.num_gpus):
                    if self.deadline.is_over:
                        return None
                    z, members = columns.best_column(server_class, trial)
                    surplus -= int(count) * z
                    lp.add(server_class, members)
                    self.pool.append((server_class, members))
                # Keep the best duals as the centre; try to certify with them.
                if surplus > best_surplus:
                    best_surplus, centre = surplus, trial
                if surplus > 0:
                    rounded = integer_duals(trial)
                    if columns.certifies(rounded):
                        return rounded
                # Near the LP's value, the smoothed duals' columns are enough for this round.
                if surplus > -0.5 * value and trial is not duals:
                    break
        return None


def scaled(durations: Floats, deadline: float, resolution: int) -> Ints:
    """floor(d r / T), minus a rounding margin; -1 for what takes longer than T."""
    if resolution == deadline:
        sizes = np.where(np.isfinite(durations), durations, -1)
    else:
        with np.errstate(invalid="ignore"):
            sizes = np.floor(durations * (resolution / deadline) * (1 - ROUNDING))
    fits = np.isfinite(durations) & (durations <= deadline * (1 + ROUNDING))
    return np.where(fits, sizes, -1).astype(np.int64)


def integer_duals(duals: Floats) -> Ints:
    """Duals scaled to at most `MAX_DUAL` and rounded down."""
    largest = float(duals.max()) or 1.0
    return np.floor(duals * (MAX_DUAL / largest)).astype(np.int64)
