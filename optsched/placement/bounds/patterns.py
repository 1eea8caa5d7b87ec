"""The pattern bound by column generation, with a certificate in integers.

A pattern is what one server of g free GPUs holds: counts of the stages whose replicas fill g GPUs,
or take at most g where the job leaves GPUs on offer free. alpha <= theta only if servers can be
given patterns that take at most theta, so that they hold k_s replicas of each stage together. For
prices pi of a replica let z_g be
the worth of the best pattern of g GPUs within theta. If sum k_s pi_s > sum N_g z_g, every placement
takes longer than theta.

Guarantee: exact. Prices are integers, and z_g comes from a chain programme over the stages, so that
`check_certificate` needs no solver. Prices come from the duals of a column generation (min sum u_s,
replicas covered + u_s >= k_s, patterns of g GPUs <= N_g), smoothed, until they certify or the
programme is feasible. Complexity: O(S g^3) a pricing round. Holds under either reading of the
all-reduce bandwidth, as a stage's least share of a NIC is never more than a server's own. Source:
beyond the paper; models/placement/README.md, section "Bounds".
"""

from __future__ import annotations

from collections import Counter
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from optsched.backends.arrays import GrowingLp, MilpArrays
from optsched.deadline import Deadline
from optsched.errors import NotApplicableError
from optsched.placement.bounds.certificate import PatternCertificate
from optsched.placement.cost import CostTables, Floats, Ints, time_matrix
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.result import Settings

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ROUNDING = 4e-12
"""Patterns longer than theta by so much (relative) count as within it: rounding proves nothing."""

PRICE_SCALE = 10**7
"""The largest price of a certificate."""
MOST_ROUNDS = 2_000
"""Pricing rounds at one theta."""
SMOOTHING = 0.6
"""Weight of the best prices so far in the prices tried next: the duals alone swing widely."""
COVERED = 1e-9
"""Shortage, relative to all replicas, at which the programme counts as feasible."""
MOST_ENUMERATED = 32
"""GPUs of a server, up to which patterns are enumerated by their worth."""
SPARE = 1e-9
"""Relative rounding of sums of prices: no pattern is left out for it."""
MOST_CELLS = 200_000_000
"""Of the chain programme's table: 400 MB."""


@dataclass(frozen=True)
class Demand:
    """Replicas to place, by stage, and servers to place them on, by class."""

    replicas: Ints
    limits: Ints


@dataclass(frozen=True)
class Relaxed:
    """A solution of the linear programme at one theta: columns of the pool, and how often each."""

    columns: Ints
    values: Floats


@dataclass
class PatternProgramme:
    """Linear programmes over one pool of patterns, one at each theta asked about.

    Attributes
    ----------
    sizes, limits : (C,) int
        Distinct offers of GPUs above 0, ascending, and how many servers make each.
    classes, patterns, times : lists
        The pool: the class, the counts and the seconds of each pattern.
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
        self.certified: list[Floats] = []
        self._centre: Floats | None = None
        self.full = self.instance.fills_the_offer
        self._refuse()
        if not self.full:  # a server may keep all its GPUs
            kinds = np.arange(len(self.sizes))
            self.add(kinds, np.zeros((len(kinds), len(self.tables.replicas)), dtype=np.int64))

    def add_placement(self, counts: Ints) -> None:
        """Put the patterns of a placement, shape (S, M), into the pool."""
        used = np.array(self.instance.free_gpus) > 0
        columns = np.asarray(counts)[:, used].T
        sizes = np.array(self.instance.free_gpus)[used]
        self.add(np.searchsorted(self.sizes, sizes), columns)

    def add(self, classes: Ints, patterns: Ints) -> int:
        """Put patterns, shape (P, S), into the pool; how many were new."""
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

    def indices(self, kind: int, patterns: Ints) -> Ints:
        """Where patterns of one class, shape (P, S), are in the pool; new ones are put into it."""
        self.add(np.full(len(patterns), kind), patterns)
        return np.array([self._known[kind, each.tobytes()] for each in patterns], dtype=np.int64)

    def times_of(self, patterns: Ints) -> Floats:
        """Seconds of each of some patterns, shape (P, S)."""
        times = time_matrix(self.tables, np.ascontiguousarray(patterns.T), PlacementOptions())
        return np.asarray(times.max(axis=0))

    def within(self, theta: float, demand: Demand | None = None) -> Ints:
        """Indices of the pool's patterns that take at most theta and no more than is demanded."""
        good = np.array(self.times) <= theta * (1 + ROUNDING)
        if demand is not None:
            good &= (np.array(self.patterns) <= demand.replicas).all(axis=1)
            good &= demand.limits[np.array(self.classes)] > 0
        return np.flatnonzero(good)

    @property
    def whole(self) -> Demand:
        """All replicas, and all servers."""
        return Demand(self.tables.replicas, self.limits)

    def price(self, theta: float, demand: Demand | None = None) -> Pricing:
        """What prices new patterns within theta."""
        return Pricing(self, theta, demand or self.whole)

    def relax(self, pricing: Pricing) -> Relaxed | PatternCertificate | None:
        """Solve the programme of a demand at theta: a solution, or a proof that there is none.

        None at the deadline, or where rounds run out before either.
        """
        demand, theta = pricing.demand, pricing.theta
        if not pricing.every_size_has_one:
            return PatternCertificate(theta, (0,) * len(demand.replicas))
        if self._centre is not None:
            found = pricing.certificate(self._centre)
            if found is not None:
                return found
        used = self.within(theta, demand)
        lp = GrowingLp(self._programme(used, demand), Settings().within(self.deadline))
        most = -np.inf
        for _ in range(MOST_ROUNDS):
            answer = None if self.deadline.is_over else lp.solve(self.deadline.left)
            if answer is None:
                return None
            stages = len(demand.replicas)
            prices = np.maximum(answer.duals[:stages], 0.0)
            if answer.objective <= COVERED * float(demand.replicas.sum()):
                return Relaxed(used, answer.values[stages:])
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
                fresh = self.add(kinds, patterns[kinds])
                if fresh:
                    added = np.arange(before, len(self.times))
                    used = np.concatenate((used, added))
                    lp.add_columns(np.zeros(fresh), self.columns_of(added))
                    break
            if not fresh:
                return None
        return None

    def _trials(self, prices: Floats) -> tuple[Floats, ...]:
        if self._centre is None:
            return (prices,)
        return (SMOOTHING * self._centre + (1 - SMOOTHING) * prices, prices)

    def _programme(self, used: Ints, demand: Demand) -> MilpArrays:
        """min sum u_s over the shortages u and so many of each pattern."""
        from scipy.sparse import csr_array, eye_array, hstack, vstack

        stages, classes = len(demand.replicas), len(self.sizes)
        rows = stages + classes
        shortage = vstack([eye_array(stages), csr_array((classes, stages))])
        matrix = csr_array(hstack([shortage, self.columns_of(used).T], format="csr"))
        columns = stages + len(used)
        lower = np.full(rows, -np.inf)
        upper = np.full(rows, np.inf)
        lower[:stages], upper[stages:] = demand.replicas, demand.limits
        cost = np.concatenate((np.ones(stages), np.zeros(len(used))))
        return MilpArrays(
            cost,
            matrix,
            lower,
            upper,
            np.zeros(columns),
            np.full(columns, np.inf),
            np.zeros(columns, dtype=bool),
        )

    def columns_of(self, used: Ints) -> csr_array:
        """Rows are patterns: their counts, then a 1 in their class."""
        from scipy.sparse import csr_array, hstack

        counts = np.array([self.patterns[i] for i in used.tolist()], dtype=float)
        kinds = np.array([self.classes[i] for i in used.tolist()], dtype=np.int64)
        ones = csr_array(
            (np.ones(len(used)), (np.arange(len(used)), kinds)),
            shape=(len(used), len(self.sizes)),
        )
        counts = counts.reshape(len(used), len(self.tables.replicas))
        return csr_array(hstack([csr_array(counts), ones], format="csr"))

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
                "columns", f"{cells:.3g} cells of a table", f"at most {MOST_CELLS}: use threshold"
            )


class Pricing:
    """The most valuable patterns within theta that take no more replicas than are demanded."""

    def __init__(self, programme: PatternProgramme, theta: float, demand: Demand) -> None:
        from optsched.placement.bounds._pattern_kernel import fewest_before

        self.theta, self.demand = theta, demand
        self._sizes, self._limits, self._replicas = programme.sizes, demand.limits, demand.replicas
        self._gpus, self._full = programme.tables.gpus, programme.full
        largest = int(self._sizes.max())
        self._fewest = fewest_before(programme.tables.costs, largest, theta * (1 + ROUNDING))
        worth, _ = self.worth(np.zeros(len(self._replicas)))
        self.every_size_has_one = bool(np.isfinite(worth[self._limits > 0]).all())

    def left(self, demand: Demand) -> Pricing:
        """The same of another demand."""
        other = copy(self)
        other.demand, other._limits, other._replicas = demand, demand.limits, demand.replicas
        worth, _ = other.worth(np.zeros(len(other._replicas)))
        other.every_size_has_one = bool(np.isfinite(worth[other._limits > 0]).all())
        return other

    @property
    def _stages(self) -> tuple[Ints, Ints]:
        return self._replicas, self._gpus

    def worth(self, prices: Floats) -> tuple[Floats, Ints]:
        """By class the worth of its best pattern, and the pattern."""
        from optsched.placement.bounds._pattern_kernel import best_patterns

        worth, patterns = best_patterns(
            self._fewest, self._stages, self._sizes, np.asarray(prices, dtype=float), self._full
        )
        return worth, patterns

    def valuable(self, prices: Floats, kind: int, least: float, most: int) -> Ints | None:
        """All patterns of a class worth at least so much, (P, S); None for more than `most`.

        Parameters
        ----------
        prices : (S,) float
            Of a replica, by stage.
        kind : int
            Index of the class of servers.
        least : float
            Worth of the least that is kept.
        most : int
            Patterns at most.

        Returns
        -------
        (P, S) int or None
            Replicas by stage, a pattern a row.
        """
        from optsched.placement.bounds._pattern_kernel import patterns_worth, worth_to_go

        size = int(self._sizes[kind])
        if size > MOST_ENUMERATED:
            return None
        to_go = worth_to_go(self._fewest, self._stages, size, prices, self._full)
        found = patterns_worth(to_go, self._fewest, self._stages, prices, least, most)
        return None if len(found) > most else found.astype(np.int64)

    def needed(self, prices: Floats, most: int) -> list[Ints] | None:
        """By class all patterns that a placement within theta may use; None for more than `most`.

        Together a placement's patterns are worth sum k pi exactly. No pattern is worth more than
        its class's z, so none may be worth less than z - (sum N z - sum k pi).
        """
        worth, _ = self.worth(prices)
        there = self._limits > 0
        spare = float(self._limits[there] @ worth[there] - self._replicas @ prices)
        found: list[Ints] = []
        for kind, best in enumerate(worth.tolist()):
            if not there[kind]:
                found.append(np.empty((0, len(prices)), dtype=np.int64))
                continue
            least = best - spare - SPARE * (abs(best) + abs(spare))
            each = self.valuable(prices, kind, least, most)
            if each is None:
                return None
            most -= len(each)
            found.append(each)
        return found

    def best(self, prices: Floats) -> tuple[float, Ints]:
        """sum k pi - sum N z, above 0 where the prices certify; and the best patterns."""
        worth, patterns = self.worth(prices)
        there = self._limits > 0
        return float(self._replicas @ prices - self._limits[there] @ worth[there]), patterns

    def certificate(self, prices: Floats) -> PatternCertificate | None:
        """The prices as integers, if they certify that every placement exceeds theta."""
        top = float(prices.max())
        if top <= 0:
            return None
        whole = np.floor(prices * (PRICE_SCALE / top))
        surplus, _ = self.best(whole)
        if surplus <= 0:
            return None
        return PatternCertificate(self.theta, tuple(int(price) for price in whole))
