"""Placements within theta: a dive through the linear programme, then repairs of the rest.

The dive fixes patterns of the linear programme one after another, until few servers are left or
the rest has no solution. A repair releases servers that hold stages near those with unplaced
replicas, and gives them the patterns that leave the fewest replicas over, by an integer programme
over patterns from the pool and sampled ones (all patterns if they are few). Guarantee: what is
placed is within theta. Complexity: a programme of at most `MAX_COLUMNS` columns a repair. Not in
the paper.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from optsched.backends.arrays import solve_arrays
from optsched.deadline import Deadline
from optsched.placement.bounds.patterns import LpSolution, PatternMaster
from optsched.placement.bounds.pricing import Pricing
from optsched.placement.cost import Floats, Ints
from optsched.result import Settings

FEW_SERVERS = 8
"""A dive stops at this number of servers left; repairs place the rest."""
STEPS = 16
"""A dive fixes patterns for 1/16 of the servers left at a time, for one at least."""
MAX_INFEASIBLE_FIXINGS = 3
"""Consecutive infeasible single-pattern fixings before a dive stops."""
FIXING_NOISE = 0.15
"""Mean of the exponential perturbation of LP values, by which patterns are fixed."""
RELEASED = 40
"""Servers that a repair gives new patterns."""
DECAY_LENGTHS = (0.7, 3.0)
"""Range of the decay length, in stages from the missing one, of a server's weight."""
WEIGHT_LOG_STD = 0.7
"""Standard deviation of the random factor's logarithm in those weights."""
MISSING_WEIGHT = 0.05
"""Weight of a replica of any stage with unplaced replicas, per unplaced replica."""
MAX_ENUMERATED = 3_000
"""Patterns of the released servers up to which all are columns of the repair."""
SAMPLED_PATTERNS, DUAL_LOG_STD = 20, 0.5
"""Patterns sampled for a repair of each class: the best for randomly perturbed duals."""
MAX_COLUMNS = 600
SECONDS = 1.0
"""Time limit of a repair's integer programme."""
TIE_BREAK_COST = 1e-3
"""Largest random cost of a pattern, in replicas left over, so that equal repairs differ."""


@dataclass
class Repair:
    """Patterns fixed so far for servers, and the replicas they leave over.

    `pricing` is that of the whole job at theta; patterns are sampled by `duals` (S,); `fixed` are
    indices of patterns in the pool, one a server; `stale` counts repairs in a row without fewer
    replicas left over.
    """

    master: PatternMaster
    pricing: Pricing
    duals: Floats
    settings: Settings
    random: np.random.Generator
    fixed: list[int] = field(default_factory=list)
    stale: int = 0

    @property
    def missing(self) -> Ints:
        """Replicas without a server, by stage; those of free stages always fit."""
        return self._unplaced(self._without(self.fixed))

    def dive(self) -> bool:
        """Fix patterns of the linear programme; return whether it has a solution."""
        pricing, solution = self.pricing, self.master.relax(self.pricing)
        if not isinstance(solution, LpSolution):
            return False
        while pricing.servers.sum() > FEW_SERVERS:
            step = max(1, int(pricing.servers.sum()) // STEPS)
            tries = MAX_INFEASIBLE_FIXINGS
            # Fix some patterns; if the rest has no solution, fix fewer.
            while True:
                rest, fixed = self._fix(solution, pricing, step)
                if not fixed:
                    return True
                rest_solution = self.master.relax(rest)
                if isinstance(rest_solution, LpSolution):
                    break
                tries -= step == 1
                if not tries or self.settings.deadline.is_over:
                    return True
                step = max(1, step // 2)
            pricing, solution = rest, rest_solution
            self.fixed += fixed
        return True

    def repair(self) -> bool:
        """Give some servers other patterns; return whether every replica now has a server."""
        missing_before = int(self.missing.sum())
        order = self._release_order()
        idle_servers = int(self._without(self.fixed).servers.sum())
        positions = set(order[: max(0, RELEASED - idle_servers)].tolist())
        fixed = [i for at, i in enumerate(self.fixed) if at not in positions]
        released = [i for at, i in enumerate(self.fixed) if at in positions]
        pricing = self._without(fixed)
        repaired = self._solve(pricing, self._columns(pricing, released))
        self.stale += 1
        if repaired is None:
            return False
        used, left_over = repaired
        missing_after = int(self._unplaced(self._without(fixed + used)).sum())
        if missing_after <= missing_before:
            self.fixed = fixed + used
            self.stale = self.stale if missing_after == missing_before else 0
        return left_over == 0

    def _without(self, fixed: list[int], pricing: Pricing | None = None) -> Pricing:
        """The pricing of what some patterns leave of the job, or of a given rest."""
        pricing = pricing or self.pricing
        classes = np.array(self.master.classes)[fixed]
        return pricing.after(classes, self.master.counts[fixed])

    def _unplaced(self, pricing: Pricing) -> Ints:
        return np.where(pricing.free, 0, pricing.replicas)

    def _fix(self, solution: LpSolution, pricing: Pricing, step: int) -> tuple[Pricing, list[int]]:
        """Fix `step` patterns, those of large values with random perturbation."""
        fixed: list[int] = []
        values = solution.multiplicities
        noise = self.random.exponential(FIXING_NOISE, len(values))
        perturbed = np.where(values > 1e-9, np.minimum(values, step) + noise, 0.0)
        replicas, servers = pricing.replicas.copy(), pricing.servers.copy()
        for at in np.argsort(-perturbed).tolist():
            i = int(solution.pattern_indices[at])
            server_class, pattern = self.master.classes[i], self.master.patterns[i]
            if servers[server_class] and (pattern <= replicas).all():
                fixed.append(i)
                replicas -= pattern
                servers[server_class] -= 1
            if len(fixed) == step:
                break
        return self._without(fixed, pricing), fixed

    def _release_order(self) -> Ints:
        """Fixed servers in random order, those with replicas near a missing stage first."""
        missing, stages = self.missing, np.arange(len(self.duals))
        if not self.fixed:
            return np.arange(0)
        probabilities = missing / missing.sum() if missing.any() else None
        centre = self.random.choice(stages, p=probabilities)
        weight = np.exp(-np.abs(stages - centre) / self.random.uniform(*DECAY_LENGTHS))
        weight[self.pricing.free] = 0.0
        weight += MISSING_WEIGHT * missing
        sizes = self.master.sizes[np.array(self.master.classes)[self.fixed]]
        weights = self.master.counts[self.fixed] @ weight / np.sqrt(sizes)
        weights *= np.exp(WEIGHT_LOG_STD * self.random.standard_normal(len(weights)))
        return np.argsort(-weights - 1e-9 * self.random.random(len(weights)))

    def _columns(self, pricing: Pricing, released: list[int]) -> Ints:
        """Patterns for a repair: all, or a sample of known and new ones with the released."""
        master = self.master
        every_pattern = pricing.possible_patterns(np.zeros(len(self.duals)), MAX_ENUMERATED)
        if every_pattern is not None:
            master.add(*every_pattern)
        else:
            master.relax(pricing)
            classes = np.flatnonzero(pricing.servers > 0)
            missing = self._unplaced(self._without(self.fixed)) > 0
            largest_dual = float(self.duals.max())
            for _ in range(SAMPLED_PATTERNS):
                noise = np.exp(DUAL_LOG_STD * self.random.standard_normal(len(self.duals)))
                duals = self.duals * noise + missing * largest_dual * self.random.random()
                _, patterns = pricing.best_patterns(duals)
                master.add(classes, pricing.without_fillers(patterns[classes]))
            rest = pricing.replicas @ master.tables.gpus
            if pricing.servers.sum() == 1 and rest <= master.sizes[classes[0]]:
                master.add(classes, pricing.without_fillers(pricing.replicas[None, :]))
        columns = master.usable_patterns(pricing)
        if len(columns) > MAX_COLUMNS:
            order = self.random.random(len(columns)) - np.isin(columns, released)
            columns = np.sort(columns[np.argsort(order)[:MAX_COLUMNS]])
        return columns

    def _solve(self, pricing: Pricing, columns: Ints) -> tuple[list[int], int] | None:
        """Patterns that leave the fewest replicas over, and how many; None without an answer."""
        problem = self.master.shortage(columns, pricing)
        shortages = len(problem.cost) - len(columns)
        cost, upper = problem.cost.copy(), problem.row_upper.copy()
        integer = problem.integer.copy()
        cost[shortages:] = TIE_BREAK_COST * self.random.random(len(columns))
        upper[: shortages - 1] = pricing.replicas
        integer[shortages:] = True
        problem = replace(problem, cost=cost, row_upper=upper, integer=integer)
        left = self.settings.deadline.left
        deadline = Deadline(SECONDS if left is None else min(SECONDS, left))
        answer = solve_arrays(problem, replace(self.settings, gap=0.0).within(deadline))
        if answer.values is None:
            return None
        multiplicity = np.rint(answer.values[shortages:]).astype(int)
        left_over = int(np.rint(answer.values[:shortages].sum()))
        return np.repeat(columns, multiplicity).tolist(), left_over
