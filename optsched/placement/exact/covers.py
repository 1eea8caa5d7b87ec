"""Programmes in integers over patterns: whether these cover a job, or a few stages of it.

Of a few stages in a row the patterns are few, however long the job: the others only fill, and have
not to be in time, so that what is refuted of a few is refuted of all. The linear programme cannot
see it, say that of eight replicas that must stand in twos or threes only 3 + 3 + 2 is left, and not
8/3 times three.

Under the "bottleneck" reading the least count of a stage anywhere makes its all-reduce on every
server. A pattern *needs* the least count that keeps it within theta; a variable in {0, 1} for a
stage and a count lets either those that need as much be used, or those that have less.

Guarantee: where a programme over all patterns that may be used is infeasible, no placement is
within theta, under the reading asked about. Beyond the paper.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from optsched.backends import MilpArrays, solve_arrays
from optsched.deadline import Deadline
from optsched.placement.bounds.patterns import PatternProgramme
from optsched.placement.bounds.pricing import Pricing
from optsched.placement.cost import Floats, Ints
from optsched.placement.exact.least_counts import needed_counts, needs_of, with_least_counts
from optsched.result import Settings, Termination

AROUND = 2
"""Stages on either side of one, asked together with it."""
MOST_PATTERNS = 2_000
"""Of those stages."""
SECONDS = 0.5
"""Of a programme of theirs."""
PRECISION = 1e-5
"""Relative: how near to the least theta of a few stages is come."""

Patterns = tuple[Ints, Ints]
"""The class of each, (P,) int, and its replicas by stage, (P, S) int."""


@dataclass(frozen=True)
class Covers:
    """Integer programmes over patterns of one job; the pool gains the patterns used."""

    programme: PatternProgramme
    bottleneck: bool = False

    def needed(
        self, pricing: Pricing, prices: Floats, most: int, part: float = 1.0
    ) -> Patterns | None:
        """All patterns that a placement within theta may use; None for more than `most`."""
        if not self.bottleneck:
            return pricing.needed(prices, most, part)
        found = pricing.unstripped().needed(prices, most, part)
        return found and self._without_idle(pricing, found)

    def cover(
        self, pricing: Pricing, patterns: Patterns, settings: Settings
    ) -> tuple[Termination, list[int] | None]:
        """Return the status, and patterns of the pool that cover the demand, if any do."""
        classes, counts = patterns
        if not len(classes):
            return Termination.INFEASIBLE, None
        demand, free = pricing.demand, pricing.free
        matrix = self.programme.columns_of(classes, counts, pricing).T.tocsr()
        most = np.concatenate((demand.replicas, [pricing.filling], demand.limits)).astype(float)
        least = np.where(np.concatenate((free, np.zeros(len(most) - len(free), bool))), 0.0, most)
        limits, zeros = demand.limits[classes].astype(float), np.zeros(len(classes))
        problem = MilpArrays(zeros, matrix, least, most, zeros, limits, zeros == 0)
        if self.bottleneck:
            needs = needs_of(needed_counts(self.programme.tables, pricing), counts)
            problem = with_least_counts(problem, needs, counts, self.programme.tables.replicas)
        answer = solve_arrays(problem, replace(settings, gap=0.0))
        if answer.values is None:
            return answer.termination, None
        often = np.rint(answer.values[: len(classes)]).astype(int)
        used = np.flatnonzero(often)
        indices = self.programme.indices(classes[used], counts[used])
        return Termination.OPTIMAL, np.repeat(indices, often[used]).tolist()

    def refuted_by(
        self, stage: int, pricing: Pricing, high: float, settings: Settings
    ) -> float | None:
        """Largest theta that a stage and its neighbours are known to exceed.

        None if they fit within the pricing's theta, or if that is not known.
        """
        deadline = settings.deadline

        def impossible(pricing: Pricing) -> bool:
            window = pricing.window(max(stage - AROUND, 0), stage + AROUND + 1)
            patterns = self.needed(window, np.zeros(len(window.free)), MOST_PATTERNS)
            if patterns is None or not deadline.has(SECONDS):
                return False
            within = settings.within(Deadline(SECONDS))
            return self.cover(window, patterns, within)[0] is Termination.INFEASIBLE

        if not pricing.fills or not impossible(pricing):
            return None
        if impossible(self.programme.price(high)):
            return high
        low = pricing.theta
        while high > low * (1 + PRECISION):
            middle = float(np.sqrt(low * high))
            if impossible(self.programme.price(middle)):
                low = middle
            else:
                high = middle
        return low

    def _without_idle(self, pricing: Pricing, patterns: Patterns) -> Patterns:
        """Distinct patterns without replicas of free stages that no other stage needs."""
        classes, counts = patterns
        beside = np.pad(counts, ((0, 0), (2, 2)))  # column s + 2 is of stage s
        least = needed_counts(self.programme.tables, pricing)
        stages = counts.shape[1]

        def needs(rows: Ints, s: int) -> Ints:
            """Of the stages before and after s, by pattern."""
            found = []
            for each in (each for each in (s - 1, s + 1) if 0 <= each < stages):
                u, v, w = beside[rows, each + 1 : each + 4].T
                found.append(least[each, v, u, w])
            return np.array(found)

        for s in np.flatnonzero(pricing.free).tolist():
            rows = np.flatnonzero(beside[:, s + 2])
            while len(rows):
                before = needs(rows, s)
                beside[rows, s + 2] -= 1
                same = (needs(rows, s) == before).all(axis=0)
                beside[rows[~same], s + 2] += 1
                rows = rows[same]
                rows = rows[beside[rows, s + 2] > 0]
        found = np.unique(np.column_stack((classes, beside[:, 2:-2])), axis=0)
        return found[:, 0], found[:, 1:]
