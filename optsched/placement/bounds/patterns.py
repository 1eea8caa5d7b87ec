"""The pattern bound by column generation, with a certificate in integers.

A pattern is what one server of g free GPUs holds: counts of the stages whose replicas fill g GPUs,
or take at most g if the job leaves GPUs of the offer free. alpha <= theta only if servers can be
given patterns that take at most theta, so that they hold k_s replicas of each stage together. For
prices pi of a replica let z_g be the worth of the best pattern of g GPUs within theta. If
sum k_s pi_s > sum N_g z_g, every placement takes longer than theta.

Guarantee: exact. Prices are integers, and z_g comes from a dynamic programme along the stages, so
that the library's verifier needs no solver. Prices come from the duals of a column generation
(min sum u_s, replicas covered + u_s >= k_s, patterns of g GPUs <= N_g), smoothed, until they
certify or the linear programme is feasible. Holds under either reading of the all-reduce bandwidth,
since a stage's least share of a NIC is never more than a server's own. Complexity: O(S g^3) a
pricing round. Beyond the paper; models/placement/README.md, section "Bounds".
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from optsched.backends.arrays import GrowingLp, MilpArrays
from optsched.deadline import Deadline
from optsched.errors import NotApplicableError
from optsched.placement.bounds.certificate import PatternCertificate
from optsched.placement.bounds.pricing import ROUNDING, Demand, Pricing
from optsched.placement.cost import CostTables, Floats, Ints, time_matrix
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import STANDARD
from optsched.result import Settings

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MOST_ROUNDS = 2_000
"""Pricing rounds at one theta."""
SMOOTHING = 0.6
"""Weight of the best prices so far in the prices tried next: the duals alone swing widely."""
COVERED = 1e-9
"""Shortage, relative to all replicas, at which the programme counts as feasible."""
MOST_CELLS = 200_000_000
"""Of the chain programme's table: 400 MB."""


@dataclass(frozen=True)
class Relaxed:
    """A solution of the linear programme at one theta: columns of the pool, and how often each."""

    columns: Ints
    values: Floats


@dataclass
class PatternProgramme:
    """Linear programmes over one pool of patterns, one for each theta.

    `sizes` and `limits` (C,) are the distinct offers above 0, ascending, and how many servers make
    each: a class of servers. `classes`, `patterns` and `times` are the pool.
    """

    instance: PlacementInstance
    tables: CostTables
    deadline: Deadline
    sizes: Ints = field(init=False)
    limits: Ints = field(init=False)
    classes: list[int] = field(default_factory=list)
    patterns: list[Ints] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        offers = Counter(free for free in self.instance.free_gpus if free > 0)
        self.sizes = np.array(sorted(offers), dtype=np.int64)
        self.limits = np.array([offers[size] for size in self.sizes.tolist()], dtype=np.int64)
        self._known: dict[tuple[int, bytes], int] = {}
        self._counts = np.empty((0, len(self.tables.replicas)), dtype=np.int64)
        self.certified: list[Floats] = []
        self._centre: Floats | None = None
        self.full = self.instance.fills_the_offer
        self._refuse()
        kinds = np.arange(len(self.sizes))  # a server may keep all its GPUs, or be filled
        self.add(kinds, np.zeros((len(kinds), len(self.tables.replicas)), dtype=np.int64))

    def add_placement(self, counts: Ints) -> None:
        """Put the patterns of a placement, shape (S, M), into the pool."""
        used = np.array(self.instance.free_gpus) > 0
        columns = np.asarray(counts)[:, used].T
        sizes = np.array(self.instance.free_gpus)[used]
        self.add(np.searchsorted(self.sizes, sizes), columns)

    def add(self, classes: Ints, patterns: Ints) -> int:
        """Add patterns (P, S) to the pool; return how many were new."""
        fresh: list[int] = []
        for i, (kind, pattern) in enumerate(zip(classes.tolist(), patterns, strict=True)):
            key = (kind, pattern.tobytes())
            if key not in self._known:
                self._known[key] = len(self.times) + len(fresh)
                fresh.append(i)
        if fresh:
            self.classes += [int(classes[i]) for i in fresh]
            self.patterns += [np.array(patterns[i], dtype=np.int64) for i in fresh]
            self.times += self.times_of(patterns[fresh]).tolist()
        return len(fresh)

    def indices(self, classes: Ints, patterns: Ints) -> Ints:
        """Indices of patterns (P, S) in the pool; new ones are added."""
        self.add(classes, patterns)
        keys = zip(classes.tolist(), patterns, strict=True)
        return np.array([self._known[kind, each.tobytes()] for kind, each in keys], dtype=np.int64)

    def times_of(self, patterns: Ints) -> Floats:
        """Seconds of each of some patterns, shape (P, S)."""
        times = time_matrix(self.tables, np.ascontiguousarray(patterns.T), STANDARD)
        return np.asarray(times.max(axis=0))

    def read_anew(self, tables: CostTables) -> None:
        """Take other times of the same job's counts, of the pool's patterns too."""
        self.tables, self._centre = tables, None
        self.times = self.times_of(self.counts).tolist()

    def within(self, pricing: Pricing) -> Ints:
        """Indices of the pool's patterns that take at most theta and no more than is demanded."""
        demand = pricing.demand
        good = np.array(self.times) <= pricing.theta * (1 + ROUNDING)
        good &= (self.counts <= demand.replicas).all(axis=1)
        good &= demand.limits[np.array(self.classes)] > 0
        return np.flatnonzero(good)

    @property
    def counts(self) -> Ints:
        """The pool's patterns, shape (P, S)."""
        fresh = self.patterns[len(self._counts) :]
        if fresh:
            self._counts = np.concatenate((self._counts, np.array(fresh, dtype=np.int64)))
        return self._counts

    @property
    def whole(self) -> Demand:
        """All replicas, and all servers."""
        return Demand(self.tables.replicas, self.limits)

    def price(self, theta: float) -> Pricing:
        """Return the pricing at theta; the pool gains its own patterns stripped of fillers."""
        pricing = Pricing(self.tables, self.sizes, theta, self.whole, self.full)
        if pricing.free.any():
            used = self.within(pricing)
            self.add(np.array(self.classes)[used], pricing.stripped(self.counts[used]))
        return pricing

    def relax(self, pricing: Pricing) -> Relaxed | PatternCertificate | None:
        """Solve the linear programme of a demand at theta, or certify that it has no solution.

        Return None at the deadline, or if the rounds run out before either.
        """
        demand, stages = pricing.demand, len(pricing.demand.replicas)
        if not pricing.every_size_has_one:
            return PatternCertificate(pricing.theta, (0,) * stages)
        if self._centre is not None:
            found = pricing.certificate(self._centre)
            if found is not None:
                return found
        used = self.within(pricing)
        lp = GrowingLp(self.shortage(used, pricing), Settings().within(self.deadline))
        most = -np.inf
        for _ in range(MOST_ROUNDS):
            answer = None if self.deadline.is_over else lp.solve(self.deadline.left)
            if answer is None:
                return None
            if answer.objective <= COVERED * float(demand.replicas.sum()):
                return Relaxed(used, answer.values[stages + 1 :])
            filler = max(float(answer.duals[stages]), 0.0)
            prices = np.where(pricing.free, filler, 0.0) + answer.duals[:stages]
            fresh = 0
            for trial in self._trials(prices):
                surplus, patterns = pricing.best(trial)
                if surplus > most:
                    most, self._centre = surplus, trial
                if surplus > 0:
                    found = pricing.certificate(trial)
                    if found is not None:
                        return found
                before = len(self.times)
                kinds = np.flatnonzero(demand.limits > 0)
                fresh = self.add(kinds, pricing.stripped(patterns[kinds]))
                if fresh:
                    added = np.arange(before, len(self.times))
                    used = np.concatenate((used, added))
                    lp.add_columns(np.zeros(fresh), self._columns(added, pricing))
                    break
            if not fresh:
                return None
        return None

    def _trials(self, prices: Floats) -> tuple[Floats, ...]:
        if self._centre is None:
            return (prices,)
        return (SMOOTHING * self._centre + (1 - SMOOTHING) * prices, prices)

    def shortage(self, used: Ints, pricing: Pricing) -> MilpArrays:
        """min sum u over the shortages u of stages and of fillers; columns u, then the patterns.

        Free stages have at most their replicas in patterns, all others at least.
        """
        from scipy.sparse import csr_array, eye_array, hstack, vstack

        demand, free = pricing.demand, pricing.free
        needs, classes = len(free) + 1, len(self.sizes)
        rows, columns = needs + classes, needs + len(used)
        shortage = vstack([eye_array(needs), csr_array((classes, needs))])
        matrix = csr_array(hstack([shortage, self._columns(used, pricing).T], format="csr"))
        lower = np.full(rows, -np.inf)
        upper = np.full(rows, np.inf)
        lower[: needs - 1] = np.where(free, -np.inf, demand.replicas)
        upper[: needs - 1] = np.where(free, demand.replicas, np.inf)
        lower[needs - 1] = pricing.filling if free.any() else 0
        upper[needs:] = demand.limits
        return MilpArrays(
            np.concatenate((np.ones(needs), np.zeros(len(used)))),
            matrix,
            lower,
            upper,
            np.zeros(columns),
            np.full(columns, np.inf),
            np.zeros(columns, dtype=bool),
        )

    def columns_of(self, classes: Ints, patterns: Ints, pricing: Pricing) -> csr_array:
        """A row for each pattern: its counts, the places left to free stages, a 1 in its class."""
        from scipy.sparse import csr_array, hstack

        filled = np.zeros((len(classes), 1))
        if pricing.free.any():
            filled[:, 0] = pricing.slots[classes] - patterns[:, ~pricing.free].sum(axis=1)
        ones = csr_array(
            (np.ones(len(classes)), (np.arange(len(classes)), classes)),
            shape=(len(classes), len(self.sizes)),
        )
        counts = csr_array(patterns.astype(float))
        return csr_array(hstack([counts, csr_array(filled), ones], format="csr"))

    def _columns(self, used: Ints, pricing: Pricing) -> csr_array:
        return self.columns_of(np.array(self.classes)[used], self.counts[used], pricing)

    def _refuse(self) -> None:
        if not self.tables.savings_are_positive:
            raise NotApplicableError(
                "columns",
                "g/B_inter below 1/B_intra",
                "a NIC share slower than the link inside a server",
            )
        most = int(min(self.sizes.max(), self.tables.replicas.max())) + 1
        cells = float(most) ** 2 * (float(self.sizes.max()) + 1) * len(self.tables.replicas)
        if cells > MOST_CELLS:
            raise NotApplicableError(
                "columns", f"{cells:.3g} cells of a table", f"at most {MOST_CELLS}: use ilp"
            )
