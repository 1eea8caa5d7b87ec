"""Covering integer programmes over patterns, for all stages or a window of consecutive stages.

In a window the patterns are few, however long the job: the other stages only fill and need not meet
theta, so what is refuted of a window is refuted of the job. The linear programme cannot see it.
Example: 8 replicas in groups of 2 or 3 can only be 3 + 3 + 2, while it uses 8/3 groups of 3.

With all_reduce_bandwidth="bottleneck" the minimum count of a stage over the servers determines its
all-reduce on every server. A pattern *needs* the smallest minimum count that keeps it within theta;
a binary per stage and count selects between patterns that need at least this minimum count and
patterns that hold fewer replicas.

Guarantee: if a programme over all possible patterns is infeasible, no placement is within theta,
for the given bandwidth option. Not in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from optsched.backends import MilpArrays, solve_arrays
from optsched.deadline import Deadline
from optsched.placement.bounds.patterns import PatternMaster
from optsched.placement.bounds.pricing import Pricing
from optsched.placement.cost import Floats, Ints
from optsched.placement.exact.min_counts import add_min_counts, needed_counts, needs_of
from optsched.result import Settings, Termination

WINDOW_RADIUS = 2
"""Neighbouring stages on each side in a window."""
MAX_PATTERNS = 2_000
"""Maximum patterns of a window."""
SECONDS = 0.5
"""Time limit of a window's integer programme."""
BISECTION_RTOL = 1e-5
"""Relative precision of the largest theta that a window refutes."""

Patterns = tuple[Ints, Ints]
"""The server class of each, (P,) int, and its replicas by stage, (P, S) int."""


@dataclass(frozen=True)
class CoveringProgramme:
    """Integer programmes over patterns of one job; the pool gains the patterns used."""

    master: PatternMaster
    bottleneck: bool = False

    def possible_patterns(
        self, pricing: Pricing, duals: Floats, max_patterns: int, slack_share: float = 1.0
    ) -> Patterns | None:
        """All patterns that a placement within theta may use; see `Pricing.possible_patterns`."""
        if not self.bottleneck:
            return pricing.possible_patterns(duals, max_patterns, slack_share)
        patterns = pricing.keeping_neighbours().possible_patterns(duals, max_patterns, slack_share)
        return patterns and self._without_unneeded(pricing, patterns)

    def cover(
        self, pricing: Pricing, patterns: Patterns, settings: Settings
    ) -> tuple[Termination, list[int] | None]:
        """Return the status, and patterns of the pool that cover the demand, if any do."""
        classes, counts = patterns
        if not len(classes):
            return Termination.INFEASIBLE, None
        demand, free = pricing.demand, pricing.free
        matrix = self.master.columns_of(classes, counts, pricing).T.tocsr()
        rows = (demand.replicas, [pricing.filler_demand], demand.servers)
        upper = np.concatenate(rows).astype(float)
        is_free = np.concatenate((free, np.zeros(len(upper) - len(free), bool)))
        lower = np.where(is_free, 0.0, upper)
        limits, zeros = demand.servers[classes].astype(float), np.zeros(len(classes))
        problem = MilpArrays(zeros, matrix, lower, upper, zeros, limits, zeros == 0)
        if self.bottleneck:
            needs = needs_of(needed_counts(self.master.tables, pricing), counts)
            problem = add_min_counts(problem, needs, counts, self.master.tables.replicas)
        answer = solve_arrays(problem, replace(settings, gap=0.0))
        if answer.values is None:
            return answer.termination, None
        multiplicity = np.rint(answer.values[: len(classes)]).astype(int)
        used = np.flatnonzero(multiplicity)
        indices = self.master.indices(classes[used], counts[used])
        return Termination.OPTIMAL, np.repeat(indices, multiplicity[used]).tolist()

    def refuted_by(
        self, stage: int, pricing: Pricing, high: float, settings: Settings
    ) -> float | None:
        """Largest theta that the window around a stage is known to exceed.

        None if it fits within the pricing's theta, or if that is not known.
        """
        deadline = settings.deadline

        def is_infeasible(pricing: Pricing) -> bool:
            window = pricing.window(max(stage - WINDOW_RADIUS, 0), stage + WINDOW_RADIUS + 1)
            patterns = self.possible_patterns(window, np.zeros(len(window.free)), MAX_PATTERNS)
            if patterns is None or not deadline.has(SECONDS):
                return False
            within = settings.within(Deadline(SECONDS))
            return self.cover(window, patterns, within)[0] is Termination.INFEASIBLE

        if not pricing.fills or not is_infeasible(pricing):
            return None
        if is_infeasible(self.master.price(high)):
            return high
        low = pricing.theta
        while high > low * (1 + BISECTION_RTOL):
            middle = float(np.sqrt(low * high))
            if is_infeasible(self.master.price(middle)):
                low = middle
            else:
                high = middle
        return low

    def _without_unneeded(self, pricing: Pricing, patterns: Patterns) -> Patterns:
        """Distinct patterns without replicas of free stages that no other stage needs."""
        classes, counts = patterns
        padded = np.pad(counts, ((0, 0), (2, 2)))  # column s + 2 is of stage s
        needed = needed_counts(self.master.tables, pricing)
        stages = counts.shape[1]

        def needs(rows: Ints, s: int) -> Ints:
            """Required minimum counts of stages s - 1 and s + 1, per pattern."""
            neighbours = [t for t in (s - 1, s + 1) if 0 <= t < stages]
            windows = [padded[rows, t + 1 : t + 4].T for t in neighbours]
            return np.array(
                [needed[t, v, u, w] for t, (u, v, w) in zip(neighbours, windows, strict=True)]
            )

        for s in np.flatnonzero(pricing.free).tolist():
            rows = np.flatnonzero(padded[:, s + 2])
            while len(rows):
                before = needs(rows, s)
                padded[rows, s + 2] -= 1
                same = (needs(rows, s) == before).all(axis=0)
                padded[rows[~same], s + 2] += 1
                rows = rows[same]
                rows = rows[padded[rows, s + 2] > 0]
        distinct = np.unique(np.column_stack((classes, padded[:, 2:-2])), axis=0)
        return distinct[:, 0], distinct[:, 1:]
