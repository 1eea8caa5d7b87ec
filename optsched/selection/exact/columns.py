"""Method ``columns``: arc-flow and column generation, for many node classes and large nodes.

Guarantee: optimal at the requested gap when it ends as "optimal"; otherwise it returns the
incumbent and a valid bound, which is always that of the true costs. Steps:

1. Search for the duals of slots and nodes; they prove a lower bound that needs no solver (the
   certificate in the solution).
2. Solve a MILP over the columns of the master LP: an incumbent in case time runs out.
3. Solve a MILP over the columns of smallest reduced cost; reduced costs bound what is left out.
4. If the gap stays open, solve a MILP over all columns that pass reduced-cost fixing.

With many node classes, steps 1 to 3 first run on groups of similar nodes; the true classes follow
only if they are few and the gap is not reached. Complexity: a round of step 1 is O(J C).
Source: models/selection/README.md, model 4.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from optsched.backends.arrays import MilpArrays, solve_arrays
from optsched.backends.pyomo_solvers import require_solver
from optsched.backends.sizes import MAX_NONZEROS, refuse_many_nonzeros
from optsched.backends.solver_result import SolverResult
from optsched.deadline import Deadline
from optsched.errors import NotApplicableError
from optsched.result import ARITHMETIC_RTOL, Outcome, Settings, Termination, TracePoint, is_proved
from optsched.selection.assignment import Assignment, expected_cost
from optsched.selection.bounds.dual_search import DualSearchResult, maximise_bound
from optsched.selection.bounds.prices import DualBound, cheapest_leaders
from optsched.selection.cost import TARDINESS, Tables, tables_of
from optsched.selection.exact.grouping import MAX_CLASSES, quantile_classes, reassigned
from optsched.selection.exact.incumbents import (
    cheaper,
    opening_assignment,
    opening_leaders,
    starting_assignment,
)
from optsched.selection.exact.outcomes import (
    infeasible_outcome,
    outcome_without_model,
    solved_in_finer_units,
    with_assignment,
)
from optsched.selection.instance import SelectionInstance
from optsched.selection.models.arc_decode import assignment_of
from optsched.selection.models.arcs import ArcFlow, Floats, Ints, arc_flow_of
from optsched.selection.options import SelectionOptions

LEADERS_PER_CLASS = 60
"""Minimum number of leader columns per class in the first MILP."""
FOLLOWER_LIMIT = 20_000
SPARE_FOLLOWERS = 5_000
"""If there are more than FOLLOWER_LIMIT followers, keep one per job plus this many."""
MAX_COLUMNS = MAX_NONZEROS // 4
"""Leader columns of one MILP, of about four nonzeros each."""
VERTEX_SECONDS = 0.5
"""Seconds allowed after the deadline to round a fractional incumbent."""
DUALS_SHARE = 0.6
"""Share of the remaining time for the dual search; the rest is for the MILP."""
FIRST_MILP_GAP = 0.01
"""Gap of the first MILP, which only has to give an incumbent quickly."""
SHARE_OF_GAP = 0.05
"""The dual search stops at this share of the requested gap; the integrality gap takes the rest."""
GROUPS_GAP = 2e-4
"""Smallest gap on grouped nodes, since group costs are only averages."""
INTEGRALITY_TOL = 1e-6


def columns(instance: SelectionInstance, options: SelectionOptions, settings: Settings) -> Outcome:
    """Select resources by column generation; `settings.iterations` limits the rounds of duals."""
    require_solver(settings.solver)
    if settings.solver != "highs":
        raise NotApplicableError("columns", f"solver {settings.solver}", "highs")
    tables = tables_of(instance, options)
    if options.opens_exactly and opening_assignment(tables) is None:
        return infeasible_outcome(tables)
    refuse_many_nonzeros("columns", 2 * tables.tardiness_cost.size, "use sts")
    flow = arc_flow_of(tables)
    incumbent = starting_assignment(tables, settings)
    if settings.deadline.is_over:
        return outcome_without_model(tables, incumbent, settings)
    search = _Search(tables, settings, incumbent, tables.unavoidable_cost)
    search.solve(flow)

    def solve_rescaled(
        rescaled: Tables, incumbent: Assignment, silent: Settings
    ) -> tuple[Assignment | None, float]:
        search = _Search(rescaled, silent, incumbent, 0.0)
        search.solve(arc_flow_of(rescaled))
        return search.assignment, search.bound

    return solved_in_finer_units(
        tables, search.outcome(), search.assignment, settings, solve_rescaled
    )


@dataclass
class _Search:
    """The incumbent, the best bound, and the duals that prove it."""

    tables: Tables
    settings: Settings
    assignment: Assignment | None
    bound: float
    first_assignment: Assignment | None = None
    """A quick incumbent, returned only if time runs out before a better one."""
    source: str = TARDINESS
    dual_bound: DualBound | None = None
    certificate_bound: float | None = None
    build_seconds: float | None = None
    rounds: int = 0
    columns: int = 0
    trace: list[TracePoint] = field(default_factory=list)

    @property
    def value(self) -> float | None:
        """Cost of the incumbent in dollars."""
        return None if self.assignment is None else expected_cost(self.tables, self.assignment)

    @property
    def is_done(self) -> bool:
        """Whether the incumbent is proved, or the time is over."""
        value = self.value
        proved = value is not None and is_proved(value, self.bound, self.settings.gap)
        return proved or self.settings.deadline.is_over

    def solve(self, flow: ArcFlow) -> None:
        """Solve on groups of many classes; then on the true classes if they are few."""
        grouped = quantile_classes(self.tables)
        if len(grouped) < len(self.tables.classes):
            self.solve_groups(replace(flow, classes=grouped))
        if len(self.tables.classes) <= MAX_CLASSES or len(grouped) == len(self.tables.classes):
            self.solve_classes(flow)

    def solve_groups(self, flow: ArcFlow) -> None:
        """Steps 1 to 3 on groups of nodes; node contents are then reassigned at least cost."""
        gap = max(self.settings.gap, GROUPS_GAP)
        duals = self._search_duals(flow, gap, None)
        if self.is_done:
            return
        restricted, leaders, _ = _cheapest_columns(flow, duals)
        self._solve_first(restricted, duals)
        self._solve_over(restricted, leaders, replace(self.settings, gap=gap / 2))

    def solve_classes(self, flow: ArcFlow) -> None:
        if self.is_done:
            return
        duals = self._search_duals(flow, self.settings.gap, self.dual_bound)
        restricted, leaders, left_out = _cheapest_columns(flow, duals)
        if self.first_assignment is None:
            self._solve_first(restricted, duals)
        self._solve_and_prove(restricted, leaders, duals.bound + left_out)
        if self.value is not None and not self.is_done:
            leaders, left_out = _columns_within_gap(flow, duals, self.value)
            self._solve_and_prove(flow, leaders, duals.bound + left_out)

    def outcome(self) -> Outcome:
        clock, tables = self.settings.deadline, self.tables
        build_seconds = self.build_seconds or 0.0
        outcome = Outcome(
            None,
            Termination.TIME_LIMIT,  # the only way to end without a selection
            bound=max(self.bound, 0.0),
            bound_source=self.source,
            build_time=build_seconds,
            solve_time=clock.spent - build_seconds,
            solver="highs",
            trace=tuple(self.trace),
            details={
                "rounds": self.rounds,
                "columns": self.columns,
                "certificate_bound": self.certificate_bound,
            },
        )
        assignment = self.assignment
        if clock.is_over:
            assignment = cheaper(tables, assignment, self.first_assignment)
        if assignment is None:
            return outcome
        certificate = None
        if self.dual_bound is not None and self.certificate_bound is not None:
            claimed = _claimable(tables, self.certificate_bound)
            certificate = self.dual_bound.certificate(claimed)
        return with_assignment(tables, assignment, outcome, self.settings, certificate)

    def _search_duals(self, flow: ArcFlow, gap: float, start: DualBound | None) -> DualSearchResult:
        settings = self.settings.within(self.settings.deadline.share(DUALS_SHARE))
        result = maximise_bound(flow, settings, SHARE_OF_GAP * gap, start)
        self.rounds += result.rounds
        if self.certificate_bound is None or result.bound > self.certificate_bound:
            self.dual_bound, self.certificate_bound = result.dual_bound, result.bound
        self._prove(_claimable(self.tables, result.bound), "price certificate")
        if self.build_seconds is None:
            self.build_seconds = self.settings.deadline.spent
        return result

    def _solve_first(self, flow: ArcFlow, duals: DualSearchResult) -> None:
        """Find a quick incumbent over the leaders in the master LP."""
        leaders = np.unique(np.concatenate([duals.leaders, opening_leaders(flow)]), axis=0)
        if len(leaders) and not self.settings.deadline.is_over:
            unrestricted = replace(flow, must_run=flow.must_run[:0])
            settings = replace(self.settings, gap=FIRST_MILP_GAP)
            self.first_assignment = _solve(unrestricted, leaders, settings)[1]
        self._record_progress()

    def _solve_and_prove(self, flow: ArcFlow, leaders: Ints, left_out: float) -> None:
        """Solve over some columns; the others are in no selection that costs below `left_out`."""
        bound = self._solve_over(flow, leaders, self.settings)
        if bound is not None:
            self._prove(min(bound, left_out), "columns left out and highs")

    def _solve_over(self, flow: ArcFlow, leaders: Ints, settings: Settings) -> float | None:
        """Solve over some columns; return the bound over them in dollars, if any."""
        self.columns = len(leaders)
        answer, assignment = _solve(flow, leaders, settings)
        if answer.termination is Termination.INFEASIBLE and len(flow.must_run):
            unrestricted = replace(flow, must_run=flow.must_run[:0])
            answer, assignment = _solve(unrestricted, leaders, settings)
        self.assignment = cheaper(self.tables, self.assignment, assignment)
        self._record_progress()
        return None if answer.bound is None else answer.bound * flow.tables.money_unit

    def _prove(self, bound: float, source: str) -> None:
        if bound > self.bound:
            self.bound, self.source = bound, source
        self._record_progress()

    def _record_progress(self) -> None:
        assignment = cheaper(self.tables, self.assignment, self.first_assignment)
        value = None if assignment is None else expected_cost(self.tables, assignment)
        self.trace.append(TracePoint(self.settings.deadline.spent, value, self.bound))
        self.settings.progress.report(value, self.bound)


def _claimable(tables: Tables, bound: float) -> float:
    """The bound, lowered where d_j - now rounds to more than the solver's arithmetic does."""
    rounding = tables.rounding
    return max(bound - rounding, 0.0) if rounding > ARITHMETIC_RTOL * bound else bound


def _solve(
    flow: ArcFlow, leaders: Ints, settings: Settings
) -> tuple[SolverResult, Assignment | None]:
    """Solve the MILP over some leaders; its values become an assignment of the true nodes."""
    problem = flow.with_integers(leaders)
    answer = solve_arrays(problem, settings)
    values = answer.values
    if values is None:
        return answer, None
    first = flow.slices["leaders"].start
    roles = np.append(values[flow.slices["followers"]], values[first : first + len(leaders)])
    if np.abs(roles - np.rint(roles)).max(initial=0.0) > INTEGRALITY_TOL:
        values = _at_a_vertex(problem, values, settings)
        if values is None:
            return answer, None
    assignment = assignment_of(flow, leaders, values)
    if flow.classes is not flow.tables.classes:
        assignment = reassigned(flow.tables, assignment)
    return answer, assignment


def _at_a_vertex(problem: MilpArrays, values: Floats, settings: Settings) -> Floats | None:
    """Make roles integral by a vertex of the transportation problem; None if time runs out."""
    lower = np.where(problem.integer, values, problem.lower)
    upper = np.where(problem.integer, values, problem.upper)
    relaxed = replace(problem, lower=lower, upper=upper, integer=np.zeros(len(values), dtype=bool))
    left = settings.deadline.left
    last = Deadline(None if left is None else max(left, VERTEX_SECONDS))
    return solve_arrays(relaxed, settings.within(last)).values


def _cheapest_columns(flow: ArcFlow, duals: DualSearchResult) -> tuple[ArcFlow, Ints, float]:
    """Columns of smallest reduced cost and of the master LP.

    Returns the model with few followers, the leaders, and the least rc - kappa_v left out.
    """
    followers, threshold = _cheapest_followers(flow, duals)
    leaders_by_class = [duals.leaders, opening_leaders(flow)]
    for v, node_class in enumerate(flow.classes):
        count = max(LEADERS_PER_CLASS, len(node_class.nodes))
        leaders, reduced = cheapest_leaders(flow, duals.dual_bound, v, count + 1)
        if len(reduced) > count:
            last = int(reduced.argmax())
            threshold = min(threshold, float(reduced[last] - min(reduced.min(), 0.0)))
            leaders = np.delete(leaders, last, axis=0)
        leaders_by_class.append(leaders)
    leaders = np.unique(np.concatenate(leaders_by_class), axis=0)
    if followers is None:
        return flow, leaders, threshold
    # a job with one role left must take it, unless postponing it costs nothing at the duals
    tables = flow.tables
    roles = np.bincount(np.append(followers[:, 0], leaders[:, 0]), minlength=tables.jobs)
    postponement_reduced_cost = tables.postponement_cost - duals.dual_bound.jobs
    must_run = np.flatnonzero((roles == 1) & (postponement_reduced_cost > 0))
    threshold = min(threshold, float(postponement_reduced_cost[must_run].min(initial=np.inf)))
    return replace(flow, followers=followers, must_run=must_run), leaders, threshold


def _cheapest_followers(flow: ArcFlow, duals: DualSearchResult) -> tuple[Ints | None, float]:
    """Followers of smallest reduced cost if there are too many; None keeps all."""
    followers, tables = flow.followers, flow.tables
    count = tables.jobs + SPARE_FOLLOWERS
    if len(followers) <= max(count, FOLLOWER_LIMIT):
        return None, np.inf
    j, t, c = followers.T
    slot_duals, job_duals = duals.dual_bound.values.slots, duals.dual_bound.jobs
    reduced = tables.tardiness_cost[j, t, c] + slot_duals[t, c] - job_duals[j]
    order = np.argpartition(reduced, count)
    j, t, c = duals.followers.T
    beats_postponing = tables.tardiness_cost[j, t, c] < tables.postponement_cost[j]
    rows = np.concatenate([followers[order[:count]], duals.followers[beats_postponing]])
    return np.unique(rows, axis=0), float(reduced[order[count]])


def _columns_within_gap(flow: ArcFlow, duals: DualSearchResult, value: float) -> tuple[Ints, float]:
    """Columns that pass reduced-cost fixing: rc - kappa_v < incumbent - bound."""
    slack = (value - duals.bound) * (1 + 1e-9) + 1e-12 * flow.tables.money_unit
    leaders, count = [duals.leaders, opening_leaders(flow)], 0
    for v in range(len(flow.classes)):
        reduced = duals.dual_bound.reduced_costs(v)
        jobs, uses = np.nonzero(reduced - min(float(reduced.min()), 0.0) < slack)
        count += len(jobs)
        if count > MAX_COLUMNS:
            break
        pairs = np.array(flow.leader_uses(v))[uses]
        leaders.append(np.column_stack([jobs, np.full(len(jobs), v), pairs]))
    left_out = slack if count <= MAX_COLUMNS else 0.0
    return np.unique(np.concatenate(leaders), axis=0), left_out
