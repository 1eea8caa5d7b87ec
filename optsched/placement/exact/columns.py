"""Method ``columns``: server patterns by column generation, for hundreds of servers.

First the pattern bound, bisected to the least theta at which patterns cover all replicas
fractionally; then dives (patterns of the linear programme are fixed one after another, those of the
last few servers by a programme in integers) at thetas between the bound and the best placement;
last, where they are few enough, a programme in integers over all patterns that may be used.
Guarantee: the bound carries a certificate that needs no solver; "optimal" where placement and bound
meet, or where the programme over all patterns is infeasible below the placement. Complexity:
O(S g^3) a pricing round; the programmes have a row a stage and a row an offer. Without a time limit
a programme in integers takes at most ten seconds, so that two runs need not be alike. Beyond the
paper.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from optsched.backends import MilpArrays, solve_arrays
from optsched.deadline import Deadline, clock
from optsched.placement.bounds.certificate import PatternCertificate
from optsched.placement.bounds.combinatorial import Bound, combinatorial_bound
from optsched.placement.bounds.patterns import (
    MOST_ENUMERATED,
    Demand,
    PatternProgramme,
    Pricing,
    Relaxed,
)
from optsched.placement.cost import CostTables, Floats, Ints, iteration_time, tables_of
from optsched.placement.heuristics.repartition import starting_placement
from optsched.placement.instance import PlacementInstance, require_asynchronous
from optsched.placement.options import PlacementOptions
from optsched.placement.solution import PlacementSolution
from optsched.result import Outcome, Settings, Termination, TracePoint, ended, is_proved

BOUND_SHARE = 0.4
"""Share of the time for the bound, while no placement meets it."""
PRECISION = 2e-5
"""Relative: the bisection of the bound ends here, with a last try just below its upper end."""
STRICTLY_BELOW = 2e-10
"""Relative: a theta this much below a time excludes it."""
PROBE = 10.0
"""Seconds of a programme in integers at the most; a share of the time where that is limited."""
PROBE_SHARE = 0.3
PROBES = 40
FEW_SERVERS = 5
"""Where a dive has so many left, all patterns that fit them are tried."""
SPLITS = (0.1, 0.3, 0.6, 0.9, 0.02)
"""How far from the bound to the best placement a dive looks, try by try."""
STEPS = 16
"""A dive fixes a pattern for one in so many of the servers left at a time, at least for one."""
CHANCE = 0.15
FAILURES = 200
"""Dives in a row without a better placement, after which they end."""
SOME_PATTERNS = 3_000
MOST_PATTERNS = 20_000
"""Of all patterns that a placement may use, up to which the programme over all of them is tried."""


def columns(instance: PlacementInstance, options: PlacementOptions, settings: Settings) -> Outcome:
    """Place a job by patterns of servers, with a certified bound.

    Raises
    ------
    NotApplicableError
        For micro-batches, if g/B_inter < 1/B_intra, or where the table of the chain programme
        would not fit.
    """
    require_asynchronous("columns", instance)
    start = starting_placement(instance, options, settings)
    if start.counts is None:
        return start.nothing
    tables = tables_of(instance, options)
    bound = combinatorial_bound(instance, tables)
    programme = PatternProgramme(instance, tables, settings.deadline)
    search = _Search(instance, options, settings, programme, start.counts, bound)
    search.note()
    search.raise_bound(settings.deadline.share(BOUND_SHARE))
    search.lower_placement()
    return search.outcome()


@dataclass
class _Search:
    """The best placement, the best bound, and the pool of patterns."""

    instance: PlacementInstance
    options: PlacementOptions
    settings: Settings
    programme: PatternProgramme
    counts: Ints
    bound: Bound
    certificate: PatternCertificate | None = None
    fractional: float = np.inf
    """Least theta known at which the linear programme is feasible."""
    probes: int = 0
    began: float = field(default_factory=clock)
    trace: list[TracePoint] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.settings.seed)
        self.value = iteration_time(self.instance, self.counts, self.options)
        self.programme.add_placement(self.counts)

    @property
    def closed(self) -> bool:
        return is_proved(self.value, self.bound.value, self.settings.gap)

    @property
    def tables(self) -> CostTables:
        return self.programme.tables

    def note(self) -> None:
        seconds = clock() - self.began
        self.trace.append(TracePoint(seconds, self.value, self.bound.value))

    def outcome(self) -> Outcome:
        self.note()
        return Outcome(
            PlacementSolution.of(self.instance.name, self.counts.tolist()),
            ended(self.closed, self.settings.deadline.is_over),
            bound=self.bound.value,
            bound_source=self.bound.source,
            claimed=self.value,
            solve_time=clock() - self.began,
            solver="highs",
            trace=tuple(self.trace),
            details={"patterns": len(self.programme.times), "probes": self.probes},
            certificate=self.certificate,
        )

    # The bound: bisect theta.

    def raise_bound(self, deadline: Deadline) -> None:
        """Bisect between the bound and the best placement, or its fractional likeness."""
        self.programme.deadline = deadline
        self.fractional = self.value
        last = False
        while not self.closed and not deadline.is_over:
            low, high = self.bound.value, self.fractional
            if last or low <= 0:
                theta = high * (1 - STRICTLY_BELOW)
            else:
                theta = float(np.sqrt(low * high))
            found = self.programme.relax(self.programme.price(theta))
            if found is None:
                break
            if isinstance(found, PatternCertificate):
                self._certified(found)
                if last:
                    break
            else:
                self.fractional = self._longest(found.columns[found.values > 0], theta)
            last = self.fractional <= self.bound.value * (1 + PRECISION)
            self.note()
        self.programme.deadline = self.settings.deadline

    def _certified(self, found: PatternCertificate) -> None:
        value = self.tables.rounded_down(found.threshold)
        if value > self.bound.value:
            self.bound = Bound(value, "pattern prices")
            self.certificate = found
            self.programme.certified.append(np.array(found.prices, dtype=float))

    def _longest(self, used: Ints, theta: float) -> float:
        return min(max(self.programme.times[i] for i in used.tolist()), theta)

    # The placement: dives, then programmes in integers over all patterns that may be used.

    def lower_placement(self) -> None:
        """Look for a better placement, ever nearer to the bound; where none can be, prove it."""
        low = max(self.bound.value, min(self.fractional, self.value))
        failures = 0
        while not (self.closed or self.settings.deadline.is_over) and failures < FAILURES:
            theta = low + (self.value - low) * SPLITS[failures % len(SPLITS)]
            theta = min(max(theta, low), self.value * (1 - STRICTLY_BELOW))
            if self._dive(theta):
                failures = 0
            else:
                failures += 1
            self.note()
        self._close()

    def _dive(self, theta: float) -> bool:
        """Fix patterns of the linear programme one after another; whether all fit in the end."""
        pricing = self.programme.price(theta)
        fixed: list[int] = []
        demand = self.programme.whole
        few = FEW_SERVERS if self.programme.sizes.max() <= MOST_ENUMERATED else 1
        while demand.limits.sum() > few:
            found = self.programme.relax(pricing.left(demand))
            if not isinstance(found, Relaxed):
                return False
            before = len(fixed)
            demand = self._fix(found, demand, fixed)
            if len(fixed) == before:
                return False
        if demand.limits.sum():
            rest = self._finish(pricing.left(demand))
            if rest is None:
                return False
            fixed += rest
        return self._take(fixed)

    def _fix(self, found: Relaxed, demand: Demand, fixed: list[int]) -> Demand:
        """Fix a few of the patterns of largest values, drawn with some chance."""
        replicas, limits = demand.replicas.copy(), demand.limits.copy()
        step = max(1, int(limits.sum()) // STEPS)
        chance = np.minimum(found.values, step) + self.random.exponential(CHANCE, len(found.values))
        for place in np.argsort(-np.where(found.values > 1e-9, chance, 0.0)).tolist():
            i = int(found.columns[place])
            kind, pattern = self.programme.classes[i], self.programme.patterns[i]
            for _ in range(max(int(found.values[place]), 1)):
                if step and limits[kind] and (pattern <= replicas).all():
                    fixed.append(i)
                    replicas -= pattern
                    limits[kind] -= 1
                    step -= 1
            if not step:
                break
        return Demand(replicas, limits)

    def _finish(self, pricing: Pricing) -> list[int] | None:
        """Patterns for the last few servers, by a programme in integers over all of them."""
        demand = pricing.demand
        if demand.limits.sum() == 1:  # it takes what is left
            kind = np.flatnonzero(demand.limits)
            if demand.replicas @ self.tables.gpus <= self.programme.sizes[kind[0]]:
                self.programme.add(kind, demand.replicas[None, :])
        indices = self._needed(pricing, np.zeros(len(demand.replicas)), SOME_PATTERNS)
        if indices is None:
            indices = self.programme.within(pricing.theta, pricing.demand)
        _, used = self._probe(indices, pricing.demand)
        return used

    def _needed(self, pricing: Pricing, prices: Floats, most: int) -> Ints | None:
        needed = pricing.needed(prices, most)
        if needed is None:
            return None
        indices = [self.programme.indices(kind, each) for kind, each in enumerate(needed)]
        return np.concatenate(indices)

    def _close(self) -> None:
        """Bisect with all patterns that a placement may use, while they are few."""
        for _ in range(PROBES):
            if self.closed or self.settings.deadline.is_over:
                return
            theta = self.value * (1 - STRICTLY_BELOW)
            pricing = self.programme.price(theta)
            prices = self.programme.certified[-1:] or [np.zeros(len(pricing.demand.replicas))]
            used = self._needed(pricing, prices[0], MOST_PATTERNS)
            if used is None:
                return
            ended, found = self._probe(used, pricing.demand)
            if found is not None:
                self._take(found)
            elif ended is not Termination.INFEASIBLE:
                return
            else:
                self._refuted(theta)
            self.note()

    def _refuted(self, theta: float) -> None:
        value = self.tables.rounded_down(theta)
        if self.options.all_reduce_bandwidth == "own" and value > self.bound.value:
            self.bound = Bound(value, "no faster set of patterns")
            self.certificate = None

    def _probe(self, used: Ints, demand: Demand) -> tuple[Termination, list[int] | None]:
        """Whether patterns in integers cover all that is demanded, and which do."""
        self.probes += 1
        if not len(used):
            return Termination.INFEASIBLE, None
        deadline = self.settings.deadline
        deadline = Deadline(PROBE) if deadline.left is None else deadline.share(PROBE_SHARE)
        problem = self._programme_in_integers(used, demand)
        answer = solve_arrays(problem, replace(self.settings, gap=0.0).within(deadline))
        if answer.values is None:
            return answer.termination, None
        often = np.rint(answer.values).astype(int).tolist()
        return Termination.OPTIMAL, [
            i for i, count in zip(used.tolist(), often, strict=True) for _ in range(count)
        ]

    def _programme_in_integers(self, used: Ints, demand: Demand) -> MilpArrays:
        matrix = self.programme.columns_of(used).T.tocsr()
        need = np.concatenate((demand.replicas, demand.limits)).astype(float)
        limits = demand.limits[np.array(self.programme.classes)[used]].astype(float)
        zeros = np.zeros(len(used))
        return MilpArrays(zeros, matrix, need, need, zeros, limits, np.ones(len(used), dtype=bool))

    def _take(self, used: list[int]) -> bool:
        """Give the patterns to servers; whether the placement is better."""
        waiting: dict[int, list[Ints]] = {}
        for i in used:
            size = int(self.programme.sizes[self.programme.classes[i]])
            waiting.setdefault(size, []).append(self.programme.patterns[i])
        counts = np.zeros_like(self.counts)
        for m, free in enumerate(self.instance.free_gpus):
            if free > 0:
                counts[:, m] = waiting[free].pop()
        value = iteration_time(self.instance, counts, self.options)
        better = value < self.value
        if better:
            self.counts, self.value = counts, value
        return better
