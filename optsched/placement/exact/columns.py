"""Method ``columns``: server patterns by column generation, for hundreds of servers.

First the pattern bound, bisected to the least theta at which patterns cover all replicas
fractionally; then thetas between the bound and the best placement: where they are few enough, a
programme in integers over all patterns that may be used says whether any placement is within theta;
else a dive through the linear programme and repairs look for one, and where replicas of a stage
stay over, a programme in integers says whether that stage and those around it can be within theta
at all: if not, the bound rises.
Under the "bottleneck" reading the bound's patterns are as fast as the largest least count that they
leave possible, and the stages' least counts are branched on before a dive, by `least_counts`.
Guarantee: the bound of prices carries a certificate that needs no solver; "optimal" where placement
and bound meet. Complexity: O(S g^3) a pricing round; the programmes have a row a stage and a row an
offer. Without a time limit a programme in integers takes at most ten seconds, so that two runs need
not be alike. Beyond the paper.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from optsched.deadline import Deadline, clock
from optsched.placement.bounds.certificate import PatternCertificate
from optsched.placement.bounds.combinatorial import Bound, combinatorial_bound
from optsched.placement.bounds.patterns import PatternProgramme
from optsched.placement.bounds.pricing import Pricing
from optsched.placement.cost import CostTables, Floats, Ints, iteration_time, tables_of
from optsched.placement.exact.covers import Covers
from optsched.placement.exact.least_counts import LeastCounts, at_most, every_count
from optsched.placement.exact.repair import Repair
from optsched.placement.heuristics.repartition import improve, starting_placement
from optsched.placement.instance import PlacementInstance
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
"""Most seconds of an integer programme; under a time limit, at most a share of what is left."""
PROBE_SHARE = 0.3
PATIENCE = 0.5
"""Seconds of the first integer programmes; doubled after each that did not end."""
SPLITS = (0.1, 0.5, 0.3, 0.9, 0.02)
"""Position of the next theta between the bound and the best time, by the failures so far."""
STALE = 8
"""Repairs without progress after which another theta is tried."""
FAILURES = 200
"""Dives in a row without a better placement after which the search ends."""
SOME_PATTERNS = 5_000
A_SECOND = 5_000
"""Patterns that a solver presolves in a second, during which it does not look at the clock."""
FEW_PATTERNS = 2_000
MOST_PATTERNS = 50_000
"""Numbers of patterns up to which the integer programme over all of them is solved: always while
they are few, else while such programmes refute theta, and once per cycle of `SPLITS`."""


def columns(instance: PlacementInstance, options: PlacementOptions, settings: Settings) -> Outcome:
    """Place a job by patterns of servers, with a certified bound."""
    start = starting_placement(instance, options, settings)
    if start.counts is None:
        return start.nothing
    bound = combinatorial_bound(instance, tables_of(instance, options))
    return between(instance, options, settings, start.counts, bound)


def between(
    instance: PlacementInstance,
    options: PlacementOptions,
    settings: Settings,
    start: Ints,
    bound: Bound,
) -> Outcome:
    """Search between a proven lower bound and the time of a known placement."""
    programme = PatternProgramme(instance, tables_of(instance, options), settings.deadline)
    search = _Search(instance, options, settings, programme, start, bound)
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
    patience: float = PATIENCE
    refuting: bool = True
    """Whether the last integer programme refuted its theta."""
    began: float = field(default_factory=clock)
    trace: list[TracePoint] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.settings.seed)
        self.value = iteration_time(self.instance, self.counts, self.options)
        bottleneck = self.options.all_reduce_bandwidth == "bottleneck"
        self.covers = Covers(self.programme, bottleneck)
        self.programme.add_placement(self.counts)

    @property
    def tables(self) -> CostTables:
        return self.programme.tables

    @property
    def closed(self) -> bool:
        return is_proved(self.value, self.bound.value, self.settings.gap)

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
        """Bisect between the bound and the best placement, or the LP solution."""
        programme = self._bounding()
        programme.deadline = deadline
        self.fractional = self.value
        last = False
        while not self.closed and not deadline.is_over:
            low, high = self.bound.value, self.fractional
            if last or low <= 0:
                theta = high * (1 - STRICTLY_BELOW)
            else:
                theta = float(np.sqrt(low * high))
            found = programme.relax(programme.price(theta))
            if found is None:
                break
            if isinstance(found, PatternCertificate):
                self._certified(found)
                if last:
                    break
            else:
                used = found.columns[found.values > 0].tolist()
                self.fractional = min(max(programme.times[i] for i in used), theta)
            last = self.fractional <= self.bound.value * (1 + PRECISION)
            self.note()
        programme.deadline = self.settings.deadline

    def _bounding(self) -> PatternProgramme:
        """The pool that raises the bound; under "bottleneck" each pattern at its fastest."""
        if not self.covers.bottleneck:
            return self.programme
        tables = at_most(self.tables, every_count(self.tables))
        programme = PatternProgramme(self.instance, tables, self.settings.deadline)
        programme.add_placement(self.counts)
        return programme

    def _certified(self, found: PatternCertificate) -> None:
        value = self.tables.rounded_down(found.threshold)
        if value > self.bound.value:
            self.bound = Bound(value, "pattern prices")
            self.certificate = found
            self.programme.certified.append(np.array(found.prices, dtype=float))

    # The placement: dives, then programmes in integers over all patterns that may be used.

    def lower_placement(self) -> None:
        """Look for a better placement, ever nearer to the bound; where none can be, prove it."""
        failures = rises = 0
        while not (self.closed or self.settings.deadline.is_over) and failures < FAILURES:
            low = max(self.bound.value, min(self.fractional, self.value))
            split = SPLITS[failures % len(SPLITS)]
            if not failures and (self.probes or not self.covers.bottleneck):
                split = 1 - (1 - split) / 2**rises  # nearer the oftener the bound has risen
            theta = low + (self.value - low) * split
            below = self.value * (1 - STRICTLY_BELOW)
            theta = below if low * (1 + PRECISION) > self.value else min(theta, below)
            bound = self.bound
            failures = 0 if self._try(theta, failures) else failures + 1
            rises = rises + 1 if self.bound.value > bound.value else 0
            self.note()

    def _try(self, theta: float, failures: int) -> bool:
        """Return whether a better placement was found, or theta refuted."""
        pricing = self.programme.price(theta)
        most = MOST_PATTERNS if pricing.free.any() else SOME_PATTERNS
        needed = self.covers.needed(pricing, self._prices, most)
        cycle, place = divmod(failures, len(SPLITS))
        now_and_then = cycle > 0 and not place
        complete = needed is not None
        worth_it = self.refuting or now_and_then or self.covers.bottleneck
        if needed is not None and not (len(needed[0]) <= FEW_PATTERNS or worth_it):
            needed = None
        elif needed is None and now_and_then:
            parts = (
                self.covers.needed(pricing, self._prices, FEW_PATTERNS, 0.5**i)
                for i in range(1, 20)
            )
            needed = next((each for each in parts if each is not None), None)
        there_is_time = needed is not None and self.settings.deadline.has(len(needed[0]) / A_SECOND)
        if needed is not None and there_is_time and self._settle(pricing, needed, complete):
            return True
        return self._place(pricing)

    def _settle(self, pricing: Pricing, patterns: tuple[Ints, Ints], complete: bool) -> bool:
        """Solve an integer programme over patterns; return whether it improved value or bound."""
        ended, found = self._probe(patterns, pricing)
        self.refuting = complete and ended is Termination.INFEASIBLE
        if found is not None:
            return self._take(found)
        if ended is not Termination.INFEASIBLE:
            self.patience *= 2
        elif complete:
            self._refuted(pricing.theta)
            return True
        return False

    @property
    def _prices(self) -> Floats:
        """The prices of the best certificate, or zeros."""
        known = self.programme.certified
        return known[-1] if known else np.zeros(len(self.tables.replicas))

    def _place(self, pricing: Pricing) -> bool:
        """Return whether a dive and its repairs improved the placement, or raised the bound."""
        bound, repair = self.bound, self._repair(pricing)
        if repair is None or not repair.dive():
            return self.bound is not bound
        asked: set[int] = set()
        while repair.stale < STALE and not self.settings.deadline.is_over:
            if repair.mend():
                return self._take(self._used_by(repair))
            if repair.stale:
                for s in np.flatnonzero(repair.missing).tolist():
                    if s not in asked and self._refute(pricing, s):
                        return True
                    asked.add(s)
        self._round(self._used_by(repair))
        return False

    def _repair(self, pricing: Pricing) -> Repair | None:
        """Repairs within theta; None if no least counts are found."""
        prices = self._prices if self._prices.any() else np.ones(len(self._prices))
        if not self.covers.bottleneck:
            return Repair(self.programme, pricing, prices, self.settings, self.random)
        programme = PatternProgramme(self.instance, self.tables, self.settings.deadline)
        least = LeastCounts(programme, self.tables, pricing.theta)
        whole = least.choose()
        if least.refuted:
            self._refuted(pricing.theta)
        if whole is None:
            return None
        return Repair(programme, whole, prices, self.settings, self.random, least)

    def _used_by(self, repair: Repair) -> list[int]:
        """Indices of its patterns in the pool."""
        if repair.programme is self.programme:
            return repair.fixed
        kinds, counts = np.array(repair.programme.classes), repair.programme.counts
        return self.programme.indices(kinds[repair.fixed], counts[repair.fixed]).tolist()

    def _refute(self, pricing: Pricing, stage: int) -> bool:
        """Return whether a stage and its neighbours exceed theta; the bound then rises."""
        high = self.value * (1 - STRICTLY_BELOW)
        theta = self.covers.refuted_by(stage, pricing, high, self.settings)
        if theta is not None:
            self._refuted(theta)
        return theta is not None

    def _refuted(self, theta: float) -> None:
        """Raise the bound to theta, which no set of patterns reaches."""
        value = self.tables.rounded_down(theta)
        if value > self.bound.value:
            self.bound = Bound(value, "no faster set of patterns")
            self.certificate = None

    def _probe(
        self, patterns: tuple[Ints, Ints], pricing: Pricing
    ) -> tuple[Termination, list[int] | None]:
        """Solve the covering programme within the patience."""
        self.probes += 1
        left = self.settings.deadline.left
        most = PROBE if left is None else PROBE_SHARE * left
        settings = self.settings.within(Deadline(min(most, self.patience)))
        return self.covers.cover(pricing, patterns, settings)

    def _take(self, used: list[int]) -> bool:
        """Lay the patterns out on servers; return whether the placement is better."""
        return self._keep(self._laid_out(used))

    def _round(self, used: list[int]) -> None:
        """Lay out patterns that leave replicas over, fill up, and improve by re-splits."""
        counts = self._laid_out(used)
        if (counts.sum(axis=1) == self.tables.replicas).all():
            free = np.array(self.instance.free_gpus, dtype=np.int64)
            improve(free, self.tables, counts, replace(self.settings, iterations=None))
            self._keep(counts)

    def _keep(self, counts: Ints) -> bool:
        value = iteration_time(self.instance, counts, self.options)
        better = value < self.value
        if better:
            self.counts, self.value = counts, value
        return better

    def _laid_out(self, used: list[int]) -> Ints:
        """Counts of servers with these patterns; other replicas fill the free GPUs."""
        waiting: dict[int, list[Ints]] = {}
        for i in used:
            size = int(self.programme.sizes[self.programme.classes[i]])
            waiting.setdefault(size, []).append(self.programme.patterns[i])
        counts = np.zeros_like(self.counts)
        for m, free in enumerate(self.instance.free_gpus):
            if waiting.get(free):
                counts[:, m] = waiting[free].pop()
        self._fill(counts)
        return counts

    def _fill(self, counts: Ints) -> None:
        """Put the unplaced replicas on free GPUs, stage by stage."""
        gpus = self.tables.gpus
        left = self.tables.replicas - counts.sum(axis=1)
        for m, room in enumerate((self.instance.free_gpus - gpus @ counts).tolist()):
            for s in np.flatnonzero(left):
                more = min(int(left[s]), room // int(gpus[s]))
                counts[s, m] += more
                left[s] -= more
                room -= more * int(gpus[s])
