"""Method ``columns``: arc-flow and column generation, for many node classes and large nodes.

Guarantee: optimal at the gap asked when it ends as "optimal"; otherwise incumbent and bound stand.
Prices of slots and nodes are looked for first; they prove a lower bound that needs no solver (the
certificate in the solution). A MILP over few columns of least reduced cost gives the selection;
the columns left out are bounded by their reduced cost; if that does not close the gap, the MILP is
solved once more over every column below it. A MILP over the columns in the prices' programme comes
first: its selection is the answer where the time ends before a better one. Where nodes differ, all
of this is done on groups of nodes of similar cost first, and on the true classes only if these are
few and the gap is not reached; the bound is always that of the true costs. Complexity: a round of
prices is O(J C).
Source: models/selection/README.md, model 4.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from optsched.backends import MilpArrays, require_solver, solve_arrays
from optsched.backends.sizes import MOST_NONZEROS, refuse_many_nonzeros
from optsched.deadline import Deadline
from optsched.errors import NotApplicableError
from optsched.result import ARITHMETIC, Outcome, Settings, Termination, TracePoint, is_proved
from optsched.selection.assignment import Assignment, expected_cost
from optsched.selection.bounds.price_search import PriceResult, best_prices
from optsched.selection.bounds.prices import PricedOut, least_columns
from optsched.selection.cost import Tables, tables_of
from optsched.selection.exact.grouping import MAX_CLASSES, quantile_classes, reassigned
from optsched.selection.exact.starting_selection import (
    cheaper,
    report_start,
    starting_seats,
    without_model,
)
from optsched.selection.instance import SelectionInstance
from optsched.selection.models.arc_decode import seats_of
from optsched.selection.models.arcs import Ints, Skeleton, skeleton_of
from optsched.selection.models.finer_units import solved_in_finer_units
from optsched.selection.models.node_opening import opening
from optsched.selection.models.outcomes import (
    TARDINESS,
    infeasible_outcome,
    judged,
    tardiness_bound,
)
from optsched.selection.options import SelectionOptions

LEADERS_PER_CLASS = 60
"""Leader columns of a class in the first programme, at least."""
FEW_FOLLOWERS = 20_000
SPARE_FOLLOWERS = 5_000
"""Where followers are more than `FEW_FOLLOWERS`, one a job and so many more are kept."""
MAX_COLUMNS = MOST_NONZEROS // 4
"""Leader columns of one programme, of about four nonzeros each."""
VERTEX_SECONDS = 0.5
"""Time after the deadline in which a fractional incumbent is made integral."""
PRICES_SHARE = 0.6
"""Of the time left that the search for prices may take, so that some is left for a selection."""
ROUGH_GAP = 0.01
"""Gap of the programme over the columns in use, which soon has a selection for a short limit."""
SHARE_OF_GAP = 0.05
"""The search for prices stops at this share of the gap asked: the rest is the whole nodes'."""
GROUPS_GAP = 2e-4
"""Groups of nodes are not solved closer: their costs are not those of their nodes."""

Floats = NDArray[np.float64]


def columns(instance: SelectionInstance, options: SelectionOptions, settings: Settings) -> Outcome:
    """Select resources by column generation; `settings.iterations` cuts its rounds."""
    require_solver(settings.solver)
    if settings.solver != "highs":
        raise NotApplicableError("columns", f"solver {settings.solver}", "highs")
    tables = tables_of(instance, options)
    if options.opens_exactly and opening(tables) is None:
        return infeasible_outcome(tables)
    refuse_many_nonzeros("columns", 2 * tables.late.size, "use sts")
    skeleton = skeleton_of(tables)
    known = starting_seats(tables)
    report_start(tables, known, settings)
    clock = settings.deadline
    if clock.is_over:
        return without_model(tables, known, settings)
    best = _Search(tables, settings, known, tardiness_bound(tables))
    best.solve(skeleton)

    def again(finer: Tables, seats: Assignment, quiet: Settings) -> tuple[Assignment | None, float]:
        other = _Search(finer, quiet, seats, 0.0)
        other.solve(skeleton_of(finer))
        return other.seats, other.bound

    return solved_in_finer_units(tables, best.outcome(), best.seats, settings, again)


@dataclass
class _Search:
    """The best selection so far, the best bound with its prices, and how they came about."""

    tables: Tables
    settings: Settings
    seats: Assignment | None
    bound: float
    rough: Assignment | None = None
    source: str = TARDINESS
    prices: PricedOut | None = None
    certified: float | None = None
    built: float | None = None
    rounds: int = 0
    columns: int = 0
    trace: list[TracePoint] = field(default_factory=list)

    @property
    def value(self) -> float | None:
        """Of the selection, dollars."""
        return None if self.seats is None else expected_cost(self.tables, self.seats)

    @property
    def is_done(self) -> bool:
        """Whether the selection is proved, or the time is over."""
        value = self.value
        proved = value is not None and is_proved(value, self.bound, self.settings.gap)
        return proved or self.settings.deadline.is_over

    def solve(self, skeleton: Skeleton) -> None:
        """Solve on groups of nodes where many differ, and on the true classes where few do."""
        grouped = quantile_classes(self.tables)
        if len(grouped) < len(self.tables.classes):
            self.solve_groups(replace(skeleton, classes=grouped))
        if len(self.tables.classes) <= MAX_CLASSES or len(grouped) == len(self.tables.classes):
            self.solve_classes(skeleton)

    def solve_groups(self, skeleton: Skeleton) -> None:
        """Solve on groups of nodes; whole nodes' contents then move where they cost least."""
        enough = max(self.settings.gap, GROUPS_GAP)
        found = self._priced(skeleton, enough, None)
        if self.is_done:
            return
        few, leaders, _ = _promising_columns(skeleton, found)
        self._solve_roughly(few, found)
        self._solve_over(few, leaders, replace(self.settings, gap=enough / 2))

    def solve_classes(self, skeleton: Skeleton) -> None:
        """Solve on the true classes, over few columns and then over all that could matter."""
        if self.is_done:
            return
        found = self._priced(skeleton, self.settings.gap, self.prices)
        few, leaders, left_out = _promising_columns(skeleton, found)
        if self.rough is None:
            self._solve_roughly(few, found)
        for attempt in range(2):
            if attempt and self.is_done:
                return
            if attempt and self.value is not None:
                few = skeleton
                leaders, left_out = _columns_within_gap(skeleton, found, self.value)
            proved = self._solve_over(few, leaders, self.settings)
            bound = -np.inf if proved is None else min(proved, found.bound + left_out)
            self._prove(bound, "columns left out and highs")
            if self.value is None:
                return

    def outcome(self) -> Outcome:
        """What was found, with its certificate."""
        clock, tables = self.settings.deadline, self.tables
        built = self.built or 0.0
        shell = Outcome(
            None,
            Termination.TIME_LIMIT,  # the only way to end without a selection
            bound=max(self.bound, 0.0),
            bound_source=self.source,
            build_time=built,
            solve_time=clock.spent - built,
            solver="highs",
            trace=tuple(self.trace),
            details={
                "rounds": self.rounds,
                "columns": self.columns,
                "certificate_bound": self.certified,
            },
        )
        seats = cheaper(tables, self.seats, self.rough) if clock.is_over else self.seats
        if seats is None:
            return shell
        certificate = None
        if self.prices is not None and self.certified is not None:
            claimed = self.certified
            if tables.rounding > ARITHMETIC * claimed:  # the clock's rounding leaves no more
                claimed = max(claimed - tables.rounding, 0.0)
            certificate = self.prices.prices.certificate(tables, claimed)
        return judged(tables, seats, shell, self.settings, certificate)

    def _priced(self, skeleton: Skeleton, gap: float, start: PricedOut | None) -> PriceResult:
        share = self.settings.within(self.settings.deadline.share(PRICES_SHARE))
        found = best_prices(skeleton, share, SHARE_OF_GAP * gap, start)
        self.rounds += found.rounds
        if self.certified is None or found.bound > self.certified:
            self.prices, self.certified = found.priced, found.bound
        bound, rounding = found.bound, self.tables.rounding
        if rounding > ARITHMETIC * bound:  # no more is claimed than the clock's rounding leaves
            bound = max(bound - rounding, 0.0)
        self._prove(bound, "price certificate")
        if self.built is None:
            self.built = self.settings.deadline.spent
        return found

    def _solve_roughly(self, skeleton: Skeleton, found: PriceResult) -> None:
        """Find a selection that counts only where the time ends before a better one."""
        self.rough = _rough_selection(skeleton, found, self.settings)
        self._note()

    def _solve_over(self, skeleton: Skeleton, leaders: Ints, settings: Settings) -> float | None:
        """Solve over some columns; return the bound over them in dollars, if any."""
        self.columns = len(leaders)
        answer, found = _solve(skeleton, leaders, settings)
        if answer.termination is Termination.INFEASIBLE and len(skeleton.settled):
            anyone = replace(skeleton, settled=skeleton.settled[:0])
            answer, found = _solve(anyone, leaders, settings)
        value = self.value
        if found is not None and (value is None or expected_cost(self.tables, found) < value):
            self.seats = found
        self._note()
        return None if answer.bound is None else answer.bound * skeleton.unit

    def _prove(self, bound: float, source: str) -> None:
        if bound > self.bound:
            self.bound, self.source = bound, source
        self._note()

    def _note(self) -> None:
        seats = cheaper(self.tables, self.seats, self.rough)
        value = None if seats is None else expected_cost(self.tables, seats)
        self.trace.append(TracePoint(self.settings.deadline.spent, value, self.bound))
        self.settings.progress.report(value, self.bound)


def _rough_selection(
    skeleton: Skeleton, found: PriceResult, settings: Settings
) -> Assignment | None:
    """A selection over the leaders in the prices' programme, if there are any in time."""
    leaders = np.unique(np.concatenate([found.leaders, _opening_leaders(skeleton)]), axis=0)
    if not len(leaders) or settings.deadline.is_over:
        return None
    anyone = replace(skeleton, settled=skeleton.settled[:0])
    return _solve(anyone, leaders, replace(settings, gap=ROUGH_GAP))[1]


def _solve(skeleton: Skeleton, leaders: Ints, settings: Settings) -> tuple:
    problem = skeleton.with_integers(leaders)
    answer = solve_arrays(problem, settings)
    if answer.values is None:
        return answer, None
    values = answer.values
    jobs = np.concatenate(
        (values[skeleton.slices["followers"]], values[_leading(skeleton, leaders)])
    )
    if np.abs(jobs - np.rint(jobs)).max(initial=0.0) > 1e-6:
        whole = _at_a_vertex(problem, values, settings)
        if whole is None:
            return answer, None
        values = whole
    seats = seats_of(skeleton, leaders, values)
    if skeleton.classes is not skeleton.tables.classes:
        seats = reassigned(skeleton.tables, seats)
    return answer, seats


def _leading(skeleton: Skeleton, leaders: Ints) -> slice:
    first = skeleton.slices["leaders"].start
    return slice(first, first + len(leaders))


def _at_a_vertex(problem: MilpArrays, values: Floats, settings: Settings) -> Floats | None:
    """With the integers fixed the rest is a transportation problem: a vertex is integral.

    None where it is not found by the deadline or soon after.
    """
    lower = np.where(problem.integer, values, problem.lower)
    upper = np.where(problem.integer, values, problem.upper)
    relaxed = replace(problem, lower=lower, upper=upper, integer=np.zeros(len(values), dtype=bool))
    left = settings.deadline.left
    last = Deadline(None if left is None else max(left, VERTEX_SECONDS))
    return solve_arrays(relaxed, settings.within(last)).values


def _promising_columns(skeleton: Skeleton, found: PriceResult) -> tuple[Skeleton, Ints, float]:
    """Some columns a class of least rc - kappa_v, and those of the linear programme.

    Returns the model with few followers, the leaders, and the least rc - kappa_v among the columns
    left out (infinite when none is).
    """
    followers, threshold = _few_followers(skeleton, found)
    kept = [found.leaders]
    if skeleton.tables.options.opens_exactly:
        kept.append(_single_gpu_leaders(skeleton))
    for v, each in enumerate(skeleton.classes):
        count = max(LEADERS_PER_CLASS, len(each.nodes))
        leaders, reduced = least_columns(skeleton, found.priced, v, count + 1)
        if len(reduced) > count:
            last = int(reduced.argmax())
            threshold = min(threshold, float(reduced[last] - min(reduced.min(), 0.0)))
            leaders = np.delete(leaders, last, axis=0)
        kept.append(leaders)
    leaders = np.unique(np.concatenate(kept), axis=0)
    if followers is None:
        return skeleton, leaders, threshold
    tables = skeleton.tables
    roles = np.bincount(np.append(followers[:, 0], leaders[:, 0]), minlength=tables.jobs)
    dear = tables.postponed - found.priced.jobs
    settled = np.flatnonzero((roles == 1) & (dear > 0))
    threshold = min(threshold, float(dear[settled].min(initial=np.inf)))
    return replace(skeleton, followers=followers, settled=settled), leaders, threshold


def _few_followers(skeleton: Skeleton, found: PriceResult) -> tuple[Ints | None, float]:
    """Of very many the followers that cost least at the prices, some each job; None for all."""
    followers, priced = skeleton.followers, found.priced
    count = skeleton.tables.jobs + SPARE_FOLLOWERS
    if len(followers) <= max(count, FEW_FOLLOWERS):
        return None, np.inf
    j, t, c = followers.T
    late = skeleton.tables.late[j, t, c]
    reduced = late + priced.values.slots[t, c] - priced.jobs[j]
    order = np.argpartition(reduced, count)
    j, t, c = found.followers.T
    worth = skeleton.tables.late[j, t, c] < skeleton.tables.postponed[j]
    kept = np.concatenate([followers[order[:count]], found.followers[worth]])
    return np.unique(kept, axis=0), float(reduced[order[count]])


def _single_gpu_leaders(skeleton: Skeleton) -> Ints:
    """Every job alone on one GPU of every class: enough to open as many nodes as can be."""
    found = []
    for v, each in enumerate(skeleton.classes):
        jobs = np.flatnonzero(np.isfinite(skeleton.tables.late[:, each.kind, 0]))
        shape = np.full(len(jobs), 1)
        found.append(np.column_stack([jobs, v * shape, 0 * shape, shape]))
    return np.concatenate(found)


def _opening_leaders(skeleton: Skeleton) -> Ints:
    """The leaders of one selection that opens as many nodes as it must; none if it need not."""
    tables = skeleton.tables
    seats = opening(tables) if tables.options.opens_exactly else None
    class_of = {n: v for v, each in enumerate(skeleton.classes) for n in each.nodes}
    led = [(j, class_of[s.node], s.configuration, len(s.gpus)) for j, s in (seats or {}).items()]
    return np.array(led, dtype=np.int64).reshape(-1, 4)


def _columns_within_gap(skeleton: Skeleton, found: PriceResult, value: float) -> tuple[Ints, float]:
    """Every column whose rc - kappa_v lies below the gap: the others are in no better selection."""
    room = (value - found.bound) * (1 + 1e-9) + 1e-12 * skeleton.unit
    kept, count = [found.leaders], 0
    if skeleton.tables.options.opens_exactly:
        kept.append(_single_gpu_leaders(skeleton))
    for v in range(len(skeleton.classes)):
        reduced = found.priced.reduced_costs(v)
        jobs, uses = np.nonzero(reduced - min(float(reduced.min()), 0.0) < room)
        count += len(jobs)
        if count > MAX_COLUMNS:
            break
        pairs = np.array(skeleton.uses(v))[uses]
        kept.append(np.column_stack([jobs, np.full(len(jobs), v), pairs]))
    left_out = room if count <= MAX_COLUMNS else 0.0
    return np.unique(np.concatenate(kept), axis=0), left_out
