"""Placements within theta: a dive through the linear programme, then repairs of the rest.

The dive fixes patterns of the linear programme one after another, until few servers are left or
the rest has no solution. A repair releases some servers, near to the stages that miss replicas,
and gives them the patterns that leave the fewest replicas over, by a programme in integers over
patterns known, drawn or, where they are few, all. Guarantee: what is placed is within theta.
Complexity: a programme of at most `MOST_COLUMNS` columns a repair. Beyond the paper.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from optsched.backends import solve_arrays
from optsched.deadline import Deadline
from optsched.placement.bounds.patterns import PatternProgramme, Relaxed
from optsched.placement.bounds.pricing import Pricing
from optsched.placement.cost import Floats, Ints
from optsched.placement.exact.least_counts import LeastCounts
from optsched.result import Settings

FEW_SERVERS = 8
"""A dive stops at this number of servers left; repairs place the rest."""
STEPS = 16
"""A dive fixes patterns for 1/16 of the servers left at a time, for one at least."""
TRIES = 3
"""Single patterns in a row that may leave the linear programme infeasible before a dive ends."""
CHANCE = 0.15
RELEASED = 40
"""Servers that a repair gives new patterns."""
NEAR = (0.7, 3.0)
"""Range of the decay length, in stages from the missing one, of a server's weight."""
SPREAD = 0.7
"""Standard deviation of the random factor's logarithm in those weights."""
ALL_PATTERNS = 3_000
"""Patterns of the released servers up to which all are columns of the repair."""
DRAWN, DEVIATION = 20, 0.5
"""Patterns drawn for a repair of each class: the best at randomly perturbed prices."""
MOST_COLUMNS = 600
SECONDS = 1.0
"""Time limit of a repair's integer programme."""
TIE = 1e-3
"""Largest random cost of a pattern, in replicas left over, so that equal repairs differ."""


@dataclass
class Repair:
    """Patterns fixed so far for servers, and the replicas they leave over.

    `whole` prices the whole demand at theta; `prices` (S,) are those by which new patterns are
    drawn; `fixed` are indices of patterns in the pool, one a server; `stale` counts repairs in a
    row without fewer replicas left over.
    """

    programme: PatternProgramme
    whole: Pricing
    prices: Floats
    settings: Settings
    random: np.random.Generator
    least: LeastCounts | None = None
    fixed: list[int] = field(default_factory=list)
    stale: int = 0

    @property
    def missing(self) -> Ints:
        """Replicas without a server, by stage; those of free stages always find one."""
        return self._over(self._left(self.fixed))

    def dive(self) -> bool:
        """Fix patterns of the linear programme; return whether it has a solution."""
        pricing, found = self.whole, self.programme.relax(self.whole)
        if not isinstance(found, Relaxed):
            return False
        while pricing.demand.limits.sum() > FEW_SERVERS:
            step, tries = max(1, int(pricing.demand.limits.sum()) // STEPS), TRIES
            while True:
                then, more = self._fix(found, pricing, step)
                if not more:
                    return True
                following = self.programme.relax(then)
                if isinstance(following, Relaxed):
                    break
                tries -= step == 1
                if not tries or self.settings.deadline.is_over:
                    return True
                step = max(1, step // 2)
            pricing, found = then, following
            self.fixed += more
        return True

    def mend(self) -> bool:
        """Give some servers other patterns; return whether every replica now has a server."""
        before = int(self.missing.sum())
        order = self._most_likely()
        left = int(self._left(self.fixed).demand.limits.sum())
        out = set(order[: max(0, RELEASED - left)].tolist())
        kept = [i for place, i in enumerate(self.fixed) if place not in out]
        released = [i for place, i in enumerate(self.fixed) if place in out]
        if self.least is not None:
            self.whole = self.least.beside(kept)
        pricing = self._left(kept)
        found = self._fewest_over(pricing, self._columns(pricing, released))
        self.stale += 1
        if found is None:
            return False
        used, over = found
        after = int(self._over(self._left(kept + used)).sum())
        if after <= before:
            self.fixed = kept + used
            self.stale = self.stale if after == before else 0
        return over == 0

    def _left(self, fixed: list[int], pricing: Pricing | None = None) -> Pricing:
        """The pricing of what some patterns leave of the whole demand, or of a given one."""
        pricing = pricing or self.whole
        kinds = np.array(self.programme.classes)[fixed]
        return pricing.left(pricing.after(kinds, self.programme.counts[fixed]))

    def _over(self, pricing: Pricing) -> Ints:
        return np.where(pricing.free, 0, pricing.demand.replicas)

    def _fix(self, found: Relaxed, pricing: Pricing, step: int) -> tuple[Pricing, list[int]]:
        """Fix `step` patterns, those of large values with random perturbation."""
        fixed: list[int] = []
        chance = np.minimum(found.values, step) + self.random.exponential(CHANCE, len(found.values))
        replicas, limits = pricing.demand.replicas.copy(), pricing.demand.limits.copy()
        for place in np.argsort(-np.where(found.values > 1e-9, chance, 0.0)).tolist():
            i = int(found.columns[place])
            kind, pattern = self.programme.classes[i], self.programme.patterns[i]
            if limits[kind] and (pattern <= replicas).all():
                fixed.append(i)
                replicas -= pattern
                limits[kind] -= 1
            if len(fixed) == step:
                break
        return self._left(fixed, pricing), fixed

    def _most_likely(self) -> Ints:
        """Fixed servers in random order, those with replicas near a missing stage first."""
        missing, stages = self.missing, np.arange(len(self.prices))
        if not self.fixed:
            return np.arange(0)
        chances = missing / missing.sum() if missing.any() else None
        centre = self.random.choice(stages, p=chances)
        weight = np.exp(-np.abs(stages - centre) / self.random.uniform(*NEAR))
        weight[self.whole.free] = 0.0
        weight += 0.05 * missing
        kinds = np.array(self.programme.classes)[self.fixed]
        likely = self.programme.counts[self.fixed] @ weight / np.sqrt(self.programme.sizes[kinds])
        likely *= np.exp(SPREAD * self.random.standard_normal(len(likely)))
        return np.argsort(-likely - 1e-9 * self.random.random(len(likely)))

    def _columns(self, pricing: Pricing, released: list[int]) -> Ints:
        """Patterns for a repair: all, or a sample of known and new ones with the released."""
        programme, demand = self.programme, pricing.demand
        every = pricing.needed(np.zeros(len(self.prices)), ALL_PATTERNS)
        if every is not None:
            programme.add(*every)
        else:
            programme.relax(pricing)
            kinds = np.flatnonzero(demand.limits > 0)
            missing = self._over(self._left(self.fixed)) > 0
            top = float(self.prices.max())
            for _ in range(DRAWN):
                noise = np.exp(DEVIATION * self.random.standard_normal(len(self.prices)))
                prices = self.prices * noise + missing * top * self.random.random()
                _, patterns = pricing.worth(prices)
                programme.add(kinds, pricing.stripped(patterns[kinds]))
            rest = demand.replicas @ programme.tables.gpus
            if demand.limits.sum() == 1 and rest <= programme.sizes[kinds[0]]:
                programme.add(kinds, pricing.stripped(demand.replicas[None, :]))
        columns = programme.within(pricing)
        if len(columns) > MOST_COLUMNS:
            order = self.random.random(len(columns)) - np.isin(columns, released)
            columns = np.sort(columns[np.argsort(order)[:MOST_COLUMNS]])
        return columns

    def _fewest_over(self, pricing: Pricing, columns: Ints) -> tuple[list[int], int] | None:
        """Patterns that leave the fewest replicas over, and how many; None without an answer."""
        problem = self.programme.shortage(columns, pricing)
        needs = len(problem.cost) - len(columns)
        cost, most, integer = problem.cost.copy(), problem.row_upper.copy(), problem.integer.copy()
        cost[needs:] = TIE * self.random.random(len(columns))
        most[: needs - 1] = pricing.demand.replicas
        integer[needs:] = True
        problem = replace(problem, cost=cost, row_upper=most, integer=integer)
        if self.least is not None:
            problem = self.least.joined(problem, columns)
        deadline = Deadline(SECONDS)
        if self.settings.deadline.left is not None:
            deadline = Deadline(min(SECONDS, self.settings.deadline.left))
        answer = solve_arrays(problem, replace(self.settings, gap=0.0).within(deadline))
        if answer.values is None:
            return None
        often = np.rint(answer.values[needs : needs + len(columns)]).astype(int)
        over = int(np.rint(answer.values[:needs].sum()))
        return np.repeat(columns, often).tolist(), over
