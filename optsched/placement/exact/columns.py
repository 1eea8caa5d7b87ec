"""Method ``columns``: server patterns by column generation, for hundreds of servers.

1. Bound: bisect theta, the target iteration time, to the smallest one at which patterns of time at
   most theta cover all replicas fractionally (column generation).
2. For thetas between bound and incumbent: (a) if few patterns remain after reduced-cost fixing, a
   covering integer programme decides theta; (b) otherwise a dive through the linear programme and
   repairs look for a placement; (c) for a stage with unplaced replicas, the covering programme of a
   window of stages around it may refute theta, and the bound rises. In a window the patterns are
   few, however long the job: the other stages only fill and need not meet theta. The linear
   programme cannot see it: 8 replicas in groups of 2 or 3 can only be 3 + 3 + 2, while it uses 8/3
   groups of 3.

With all_reduce_bandwidth="bottleneck" patterns take their smallest possible time in the bound, and
(a) and (b) choose minimum counts (`min_counts.py`). Guarantee: the bound of the duals has a
certificate that needs no solver; "optimal" if placement and bound meet. Complexity: O(S g^3) a
pricing round; the programmes have a row per stage and per number of free GPUs. An integer programme
is limited to at most ten seconds, so runs without a time limit may differ. Not in the paper.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from optsched.backends.arrays import MilpArrays, solve_arrays
from optsched.deadline import Deadline, clock
from optsched.placement.bounds.combinatorial import Bound, combinatorial_bound
from optsched.placement.bounds.patterns import LpSolution, PatternMaster
from optsched.placement.bounds.pricing import PatternCertificate, Pricing
from optsched.placement.cost import CostTables, Floats, Ints, iteration_time, tables_of
from optsched.placement.exact.min_counts import (
    MinCounts,
    add_min_counts,
    all_counts,
    optimistic_tables,
    possible_patterns,
)
from optsched.placement.heuristics.repartition import improve, no_placement, starting_placement
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.placement.solution import PlacementSolution
from optsched.result import Outcome, Settings, Termination, TracePoint, is_proved, termination_of

REFUTED = "integer pattern programme"
"""Source of a bound that an infeasible integer programme proves."""
BOUND_SHARE = 0.4
"""Share of the time limit for raising the bound."""
BISECTION_RTOL = 2e-5
"""Relative width at which the bisection stops; one last theta just below the upper end is tried."""
STRICT_IMPROVEMENT_RTOL = 2e-10
"""Relative: a theta this much below a time excludes it."""
MAX_MIP_SECONDS, MIP_TIME_SHARE, INITIAL_MIP_SECONDS = 10.0, 0.3, 0.5
"""Time limit of an integer programme: at most, at most of the time left, and at first; it is
doubled after each programme that did not end."""
THETA_POSITIONS = (0.1, 0.5, 0.3, 0.9, 0.02)
"""Relative positions of successive thetas between bound and incumbent, cycled by the failures."""
MAX_STALE_REPAIRS = 8
"""Repairs without progress after which another theta is tried."""
MAX_FAILURES = 200
"""Thetas in a row without a better placement after which the search ends."""
MAX_PATTERNS, MAX_PATTERNS_WITHOUT_FREE = 50_000, 5_000
"""Patterns of an integer programme at most, and if no stage is free."""
FEW_PATTERNS = 2_000
"""Patterns up to which the integer programme is always solved."""
PRESOLVED_PER_SECOND = 5_000
"""Patterns that a solver presolves in a second, during which it does not look at the clock."""
WINDOW_RADIUS = 2
"""Neighbouring stages on each side in a window."""
MAX_WINDOW_PATTERNS, WINDOW_SECONDS = 2_000, 0.5
"""Maximum patterns of a window, and the time limit of its integer programme."""
WINDOW_RTOL = 1e-5
"""Relative precision of the largest theta that a window refutes."""

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
MAX_ENUMERATED_REPAIR = 3_000
"""Patterns of the released servers up to which all are columns of the repair."""
SAMPLED_PATTERNS, DUAL_LOG_STD = 20, 0.5
"""Patterns sampled for a repair of each class: the best for randomly perturbed duals."""
MAX_REPAIR_COLUMNS = 600
REPAIR_SECONDS = 1.0
"""Time limit of a repair's integer programme."""
TIE_BREAK_COST = 1e-3
"""Largest random cost of a pattern, in replicas left over, so that equal repairs differ."""

Patterns = tuple[Ints, Ints]
"""The server class of each, (P,) int, and its replicas by stage, (P, S) int."""


def columns(instance: PlacementInstance, options: PlacementOptions, settings: Settings) -> Outcome:
    """Place a job by patterns of servers, with a certified bound."""
    start = starting_placement(instance, options, settings)
    if start.counts is None:
        return no_placement(start.termination)
    bound = combinatorial_bound(instance, tables_of(instance, options))
    return close_gap(instance, options, settings, start.counts, bound)


def close_gap(
    instance: PlacementInstance,
    options: PlacementOptions,
    settings: Settings,
    start: Ints,
    bound: Bound,
) -> Outcome:
    """Search between a proven lower bound and the time of an incumbent."""
    tables, by_min_count = tables_of(instance, options), None
    if options.all_reduce_bandwidth == "bottleneck":
        tables, by_min_count = optimistic_tables(tables, all_counts(tables)), tables
    master = PatternMaster(instance, tables, settings.deadline)
    search = _Search(instance, options, settings, master, start, bound, by_min_count)
    search.record_trace()
    search.bisect_bound(settings.deadline.share(BOUND_SHARE))
    search.improve_incumbent()
    return search.outcome()


@dataclass
class _Search:
    """The best placement, the best bound, and the pool of patterns.

    With all_reduce_bandwidth="bottleneck" `by_min_count` are the job's costs, those of `master` a
    lower bound on them. `lp_feasible_theta` is the smallest theta known at which the linear
    programme is feasible.
    """

    instance: PlacementInstance
    options: PlacementOptions
    settings: Settings
    master: PatternMaster
    counts: Ints
    bound: Bound
    by_min_count: CostTables | None = None
    certificate: PatternCertificate | None = None
    duals: Floats = field(init=False)
    lp_feasible_theta: float = np.inf
    programmes: int = 0
    mip_seconds: float = INITIAL_MIP_SECONDS
    last_mip_refuted: bool = True
    began: float = field(default_factory=clock)
    trace: list[TracePoint] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.settings.seed)
        self.value = iteration_time(self.instance, self.counts, self.options)
        self.duals = np.zeros(len(self.tables.replicas))  # of the best certificate
        self.master.add_placement(self.counts)

    @property
    def tables(self) -> CostTables:
        return self.master.tables

    @property
    def gap_closed(self) -> bool:
        return is_proved(self.value, self.bound.value, self.settings.gap)

    def record_trace(self) -> None:
        seconds = clock() - self.began
        self.trace.append(TracePoint(seconds, self.value, self.bound.value))

    def outcome(self) -> Outcome:
        self.record_trace()
        return Outcome(
            PlacementSolution.of(self.instance.name, self.counts.tolist()),
            termination_of(self.gap_closed, self.settings.deadline.is_over),
            bound=self.bound.value,
            bound_source=self.bound.source,
            claimed=self.value,
            solve_time=clock() - self.began,
            solver="highs",
            trace=tuple(self.trace),
            details={"patterns": len(self.master.times), "probes": self.programmes},
            certificate=self.certificate,
        )

    # The bound: bisect theta.

    def bisect_bound(self, deadline: Deadline) -> None:
        """Bisect between the bound and the best placement, or the LP solution."""
        master = self.master
        master.deadline = deadline
        self.lp_feasible_theta = self.value
        last = False
        while not self.gap_closed and not deadline.is_over:
            low, high = self.bound.value, self.lp_feasible_theta
            if last or low <= 0:
                theta = high * (1 - STRICT_IMPROVEMENT_RTOL)
            else:
                theta = float(np.sqrt(low * high))
            relaxed = master.relax(master.price(theta))
            if relaxed is None:
                break
            if isinstance(relaxed, PatternCertificate):
                self._raise_bound(relaxed.threshold, "pattern duals", relaxed)
                if last:
                    break
            else:
                used = relaxed[0][relaxed[1] > 0].tolist()
                self.lp_feasible_theta = min(max(master.times[i] for i in used), theta)
            last = self.lp_feasible_theta <= self.bound.value * (1 + BISECTION_RTOL)
            self.record_trace()
        master.deadline = self.settings.deadline

    def _raise_bound(
        self, theta: float, source: str, certificate: PatternCertificate | None = None
    ) -> None:
        """Raise the bound to theta, which no placement reaches, if that is higher."""
        value = self.tables.lowered_by_rounding(theta)
        if value > self.bound.value:
            self.bound, self.certificate = Bound(value, source), certificate
            if certificate is not None:
                self.duals = np.array(certificate.prices, dtype=float)

    # The placement: integer programmes, dives and repairs.

    def improve_incumbent(self) -> None:
        """Search for better placements at decreasing thetas; raise the bound if one is refuted."""
        failures = rises = 0
        while not (self.gap_closed or self.settings.deadline.is_over) and failures < MAX_FAILURES:
            low = max(self.bound.value, min(self.lp_feasible_theta, self.value))
            position = THETA_POSITIONS[failures % len(THETA_POSITIONS)]
            if not failures:
                position = 1 - (1 - position) / 2**rises  # halve the rest after each rise
            theta = low + (self.value - low) * position
            below = self.value * (1 - STRICT_IMPROVEMENT_RTOL)
            theta = below if low * (1 + BISECTION_RTOL) > self.value else min(theta, below)
            bound = self.bound
            failures = 0 if self._try(theta, failures) else failures + 1
            rises = rises + 1 if self.bound.value > bound.value else 0
            self.record_trace()

    def _try(self, theta: float, failures: int) -> bool:
        """Return whether theta gave a better placement or was refuted."""
        pricing = self.master.price(theta)
        limit = MAX_PATTERNS if pricing.free.any() else MAX_PATTERNS_WITHOUT_FREE
        patterns = self._possible_patterns(pricing, self.duals, limit)
        if patterns is not None:
            # An integer programme: always if small, else while such programmes refute theta, and
            # once per cycle of positions.
            count, periodic = len(patterns[0]), failures and failures % len(THETA_POSITIONS) == 0
            is_worth_it = count <= FEW_PATTERNS or self.last_mip_refuted or periodic
            fits_time = self.settings.deadline.has(count / PRESOLVED_PER_SECOND)
            if is_worth_it and fits_time and self._solve_mip(pricing, patterns):
                return True
        return self._dive_and_repair(pricing)

    def _possible_patterns(
        self, pricing: Pricing, duals: Floats, max_patterns: int
    ) -> Patterns | None:
        if self.by_min_count is None:
            return pricing.possible_patterns(duals, max_patterns)
        return possible_patterns(self.by_min_count, pricing, duals, max_patterns)

    def _solve_mip(self, pricing: Pricing, patterns: Patterns) -> bool:
        """Solve the programme over all possible patterns; return if it improved value or bound."""
        self.programmes += 1
        left = self.settings.deadline.left
        limit = MAX_MIP_SECONDS if left is None else MIP_TIME_SHARE * left
        settings = self.settings.within(Deadline(min(limit, self.mip_seconds)))
        termination, used = self._cover(pricing, patterns, settings)
        self.last_mip_refuted = termination is Termination.INFEASIBLE
        if used is not None:
            return self._accept_if_better(self._assign_patterns(self.master, used))
        if self.last_mip_refuted:
            self._raise_bound(pricing.theta, REFUTED)
        else:
            self.mip_seconds *= 2
        return self.last_mip_refuted

    def _cover(
        self, pricing: Pricing, patterns: Patterns, settings: Settings
    ) -> tuple[Termination, list[int] | None]:
        """Covering programme: its status, and patterns of the pool that cover the rest."""
        classes, counts = patterns
        if not len(classes):
            return Termination.INFEASIBLE, None
        free = pricing.free
        matrix = self.master.columns_of(classes, counts, pricing).T.tocsr()
        rows = (pricing.replicas, [pricing.fillers_left], pricing.servers)
        upper = np.concatenate(rows).astype(float)
        is_free = np.concatenate((free, np.zeros(len(upper) - len(free), bool)))
        lower = np.where(is_free, 0.0, upper)
        limits, zeros = pricing.servers[classes].astype(float), np.zeros(len(classes))
        problem = MilpArrays(zeros, matrix, lower, upper, zeros, limits, zeros == 0)
        if self.by_min_count is not None:
            problem = add_min_counts(problem, self.by_min_count, pricing, counts)
        answer = solve_arrays(problem, replace(settings, gap=0.0))
        if answer.values is None:
            return answer.termination, None
        multiplicity = np.rint(answer.values[: len(classes)]).astype(int)
        used = np.flatnonzero(multiplicity)
        indices = self.master.indices(classes[used], counts[used])
        return Termination.OPTIMAL, np.repeat(indices, multiplicity[used]).tolist()

    def _refuted_by(self, stage: int, pricing: Pricing) -> float | None:
        """Largest theta that the window around a stage is known to exceed, if any."""

        def is_infeasible(pricing: Pricing) -> bool:
            window = pricing.window(max(stage - WINDOW_RADIUS, 0), stage + WINDOW_RADIUS + 1)
            no_duals = np.zeros(len(window.free))
            patterns = self._possible_patterns(window, no_duals, MAX_WINDOW_PATTERNS)
            if patterns is None or not self.settings.deadline.has(WINDOW_SECONDS):
                return False
            within = self.settings.within(Deadline(WINDOW_SECONDS))
            return self._cover(window, patterns, within)[0] is Termination.INFEASIBLE

        if not pricing.fills or not is_infeasible(pricing):
            return None
        low, high = pricing.theta, self.value * (1 - STRICT_IMPROVEMENT_RTOL)
        if is_infeasible(self.master.price(high)):
            return high
        while high > low * (1 + WINDOW_RTOL):
            middle = float(np.sqrt(low * high))
            if is_infeasible(self.master.price(middle)):
                low = middle
            else:
                high = middle
        return low

    def _dive_and_repair(self, pricing: Pricing) -> bool:
        """Return whether a dive and its repairs improved the placement, or raised the bound."""
        bound, repair = self.bound, self._repair(pricing)
        if repair is None or not repair.dive():
            return self.bound is not bound
        checked_stages: set[int] = set()
        while repair.stale < MAX_STALE_REPAIRS and not self.settings.deadline.is_over:
            if repair.repair():
                return self._accept_if_better(self._assign_patterns(repair.master, repair.fixed))
            for s in np.flatnonzero(repair.missing).tolist() if repair.stale else ():
                if s in checked_stages:
                    continue
                refuted = self._refuted_by(s, pricing)
                if refuted is not None:
                    self._raise_bound(refuted, REFUTED)
                    return True
                checked_stages.add(s)
        # Replicas stay over: fill up, and improve by local search.
        counts = self._assign_patterns(repair.master, repair.fixed)
        if (counts.sum(axis=1) == self.tables.replicas).all():
            free = np.array(self.instance.free_gpus, dtype=np.int64)
            improve(free, self.tables, counts, replace(self.settings, iterations=None))
            self._accept_if_better(counts)
        return False

    def _repair(self, pricing: Pricing) -> "Repair | None":
        """Repairs within theta; None if no minimum counts were found."""
        duals = self.duals if self.duals.any() else np.ones(len(self.duals))
        if self.by_min_count is None:
            return Repair(self.master, pricing, duals, self.settings, self.random)
        master = PatternMaster(self.instance, self.tables, self.settings.deadline)
        min_counts = MinCounts(master, self.by_min_count, pricing.theta)
        chosen = min_counts.choose()
        if min_counts.refuted:
            self._raise_bound(pricing.theta, REFUTED)
        if chosen is None:
            return None
        return Repair(master, chosen, duals, self.settings, self.random, min_counts)

    def _accept_if_better(self, counts: Ints) -> bool:
        value = iteration_time(self.instance, counts, self.options)
        better = value < self.value
        if better:
            self.counts, self.value = counts, value
        return better

    def _assign_patterns(self, master: PatternMaster, used: list[int]) -> Ints:
        """Counts of servers with these patterns; other replicas fill the free GPUs."""
        waiting: dict[int, list[Ints]] = {}
        for i in used:
            size = int(master.sizes[master.classes[i]])
            waiting.setdefault(size, []).append(master.patterns[i])
        counts = np.zeros_like(self.counts)
        for m, free in enumerate(self.instance.free_gpus):
            if waiting.get(free):
                counts[:, m] = waiting[free].pop()
        gpus = self.tables.gpus
        left = self.tables.replicas - counts.sum(axis=1)
        for m, room in enumerate((self.instance.free_gpus - gpus @ counts).tolist()):
            for s in np.flatnonzero(left):
                more = min(int(left[s]), room // int(gpus[s]))
                counts[s, m] += more
                left[s] -= more
                room -= more * int(gpus[s])
        return counts


@dataclass
class Repair:
    """Placements within theta: a dive through the linear programme, then repairs of the rest.

    The dive fixes patterns of the linear programme one after another, until few servers are left or
    the rest has no solution. A repair releases servers that hold stages near those with unplaced
    replicas, and gives them the patterns that leave the fewest replicas over, by an integer
    programme over patterns from the pool and sampled ones (all patterns if they are few).

    `pricing` is that of the whole job at theta; patterns are sampled by `duals` (S,); `fixed` are
    indices of patterns in the pool, one a server; `stale` counts repairs in a row without fewer
    replicas left over.
    """

    master: PatternMaster
    pricing: Pricing
    duals: Floats
    settings: Settings
    random: np.random.Generator
    min_counts: MinCounts | None = None
    fixed: list[int] = field(default_factory=list)
    stale: int = 0

    @property
    def missing(self) -> Ints:
        """Replicas without a server, by stage; those of free stages always fit."""
        return self._unplaced(self._without(self.fixed))

    def dive(self) -> bool:
        """Fix patterns of the linear programme; return whether it has a solution."""
        pricing, solution = self.pricing, self.master.relax(self.pricing)
        if not isinstance(solution, tuple):
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
                if isinstance(rest_solution, tuple):
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
        whole = self.pricing
        if self.min_counts is not None:
            whole = self.min_counts.pricing_given(whole, fixed)
        pricing = self._without(fixed, whole)
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
        indices, values = solution
        noise = self.random.exponential(FIXING_NOISE, len(values))
        perturbed = np.where(values > 1e-9, np.minimum(values, step) + noise, 0.0)
        replicas, servers = pricing.replicas.copy(), pricing.servers.copy()
        for at in np.argsort(-perturbed).tolist():
            i = int(indices[at])
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
        every_pattern = pricing.possible_patterns(np.zeros(len(self.duals)), MAX_ENUMERATED_REPAIR)
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
        if len(columns) > MAX_REPAIR_COLUMNS:
            order = self.random.random(len(columns)) - np.isin(columns, released)
            columns = np.sort(columns[np.argsort(order)[:MAX_REPAIR_COLUMNS]])
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
        if self.min_counts is not None:
            patterns = self.master.counts[columns]
            problem = add_min_counts(problem, self.min_counts.tables, pricing, patterns)
        left = self.settings.deadline.left
        deadline = Deadline(REPAIR_SECONDS if left is None else min(REPAIR_SECONDS, left))
        answer = solve_arrays(problem, replace(self.settings, gap=0.0).within(deadline))
        if answer.values is None:
            return None
        multiplicity = np.rint(answer.values[shortages : shortages + len(columns)]).astype(int)
        left_over = int(np.rint(answer.values[:shortages].sum()))
        return np.repeat(columns, multiplicity).tolist(), left_over
