"""Method ``columns``: arc-flow and column generation, for many node classes and large nodes.

Guarantee: optimal at the gap asked when it ends as "optimal"; otherwise incumbent and bound stand.
Leader columns are generated from prices; the prices also prove a lower bound that needs no solver
(the certificate in the solution). A MILP over few columns of least reduced cost gives the
selection; what it leaves out is bounded by its reduced cost; if that is not enough it is solved
once more over every column that could matter. Above `grouping.MOST_CLASSES` node classes nodes
are grouped by cost for the search, while the bound stays that of the true costs. Complexity: a
round of pricing is O(J x sum over classes of K x configurations).
Source: models/selection/README.md, model 4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from optsched.backends import GrowingLp, MilpArrays, require_solver, solve_arrays
from optsched.backends.sizes import MOST_NONZEROS, refuse_many_nonzeros
from optsched.deadline import Deadline
from optsched.errors import NotApplicableError
from optsched.result import ARITHMETIC, Outcome, Settings, Termination, TracePoint
from optsched.selection.assignment import Assignment, expected_cost
from optsched.selection.bounds.prices import PricedOut, Prices, least_columns, prices_of
from optsched.selection.cost import tables_of
from optsched.selection.exact.arc_arrays import Ints, Skeleton, skeleton_of
from optsched.selection.exact.arc_decode import seats_of
from optsched.selection.exact.grouping import grouped_classes, reassigned
from optsched.selection.exact.starting_selection import report_start, starting_seats, without_model
from optsched.selection.instance import SelectionInstance
from optsched.selection.models.openings import can_open
from optsched.selection.models.outcomes import infeasible_outcome, judged
from optsched.selection.options import SelectionOptions

ROUNDS = 60
FIRST = 4
ADDED = 20
"""Columns added for each node of a class in a round."""
MOST_NODES_PRICED = 50
KEPT = 60
MOST_COLUMNS = MOST_NONZEROS // 4
"""Leader columns of one programme, of about four nonzeros each."""
GRACE = 0.5
"""Seconds after the deadline in which a selection found is made whole."""
CONVERGED = 1e-9
SHARE_OF_GAP = 0.05
"""Column generation stops at this share of the gap asked: the rest is the whole nodes'."""
PATIENCE = 2

Floats = NDArray[np.float64]


def columns(instance: SelectionInstance, options: SelectionOptions, settings: Settings) -> Outcome:
    """Select resources by column generation; `settings.iterations` cuts its rounds.

    Raises
    ------
    NotApplicableError
        If another solver than HiGHS is asked for, a GPU has too many fills, or jobs and
        configurations are too many: two nonzeros each, above `sizes.MOST_NONZEROS`.
    """
    require_solver(settings.solver)
    if settings.solver != "highs":
        raise NotApplicableError("columns", f"solver {settings.solver}", "highs")
    tables = tables_of(instance, options)
    if options.opens_exactly and not can_open(tables):
        return infeasible_outcome(tables)
    refuse_many_nonzeros("columns", 2 * tables.late.size, "use sts")
    known = starting_seats(tables)
    report_start(tables, known, settings)
    clock = settings.deadline
    if clock.is_over:
        return without_model(tables, known, settings)
    skeleton = skeleton_of(tables, grouped_classes(tables))
    generated = generate_columns(skeleton, settings, clock)
    return _integral(skeleton, generated, settings, known)


@dataclass(frozen=True, eq=False)
class Generated:
    """What column generation leaves: columns, the best prices and the bound they prove."""

    leaders: Ints
    support: NDArray[np.bool_]
    priced: PricedOut
    bound: float
    value: float | None
    rounds: int


def generate_columns(skeleton: Skeleton, settings: Settings, clock: Deadline) -> Generated:
    """Generate leader columns until the linear programme meets its price bound."""
    leaders = _first_leaders(skeleton)
    lp = GrowingLp(skeleton.programme(leaders), replace(settings, time_limit=None))
    seen = set(map(tuple, leaders.tolist()))
    best: Prices | None = None
    bound, value, answer, rounds = -np.inf, None, None, 0
    enough, gained = SHARE_OF_GAP, 0
    most = ROUNDS if settings.iterations is None else max(settings.iterations, 1)
    while rounds < most and not clock.is_over:
        answer = lp.solve(clock.left) or answer
        if answer is None:
            break
        rounds += 1
        value = answer.objective * skeleton.unit
        prices = prices_of(skeleton, answer.duals)
        priced = PricedOut(skeleton, prices)
        here = priced.bound()
        if here - bound > enough * settings.gap * abs(here):
            gained = rounds
        if here > bound:
            bound, best = here, prices
        if value - bound <= max(CONVERGED, enough * settings.gap) * max(abs(value), 1e-12):
            break
        if skeleton.classes is not skeleton.tables.classes and rounds - gained >= PATIENCE:
            break  # groups' values and true bounds never meet
        smoothed = PricedOut(skeleton, prices.mixed(best or prices, 0.5))
        found = [_priced(skeleton, each) for each in (priced, smoothed)]
        fresh = [key for key in map(tuple, np.concatenate(found).tolist()) if key not in seen]
        fresh = list(dict.fromkeys(fresh))
        if not fresh:
            break
        seen.update(fresh)
        added = np.array(fresh)
        lp.add_columns(*skeleton.leader_columns(added))
        leaders = np.concatenate((leaders, added))
    support = np.zeros(len(leaders), dtype=bool)
    if answer is not None:
        values = answer.values[skeleton.slices["leaders"]]
        support[: len(values)] = values > 1e-9
    if best is None:
        best = Prices(skeleton.tables.postponed, np.zeros(skeleton.tables.late.shape[1:]), 0.0)
        bound = PricedOut(skeleton, best).bound()
    return Generated(leaders, support, PricedOut(skeleton, best), bound, value, rounds)


def _first_leaders(skeleton: Skeleton) -> Ints:
    """Every job at its best on the whole of about two nodes of each type: a start for prices."""
    found = []
    for t in range(len(skeleton.tables.kinds)):
        here = [v for v, each in enumerate(skeleton.classes) if each.kind == t]
        for v in sorted({here[0], here[len(here) // 2]}):
            uses = np.array(skeleton.uses(v))
            full = uses[uses[:, 1] == skeleton.classes[v].gpus]
            for c, used in full:
                jobs = np.flatnonzero(np.isfinite(skeleton.tables.late[:, t, c]))
                shape = np.full(len(jobs), 1)
                found.append(np.column_stack([jobs, v * shape, c * shape, used * shape]))
    leaders = _cheapest(skeleton, np.unique(np.concatenate(found), axis=0))
    if skeleton.tables.options.opens_exactly:
        leaders = np.concatenate((leaders, _one_way_to_open(skeleton)))
    return np.unique(leaders, axis=0)


def _cheapest(skeleton: Skeleton, leaders: Ints) -> Ints:
    """The `FIRST` cheapest of each job on each type."""
    cost, _ = skeleton.leader_columns(leaders)
    kinds = np.array([each.kind for each in skeleton.classes])[leaders[:, 1]]
    key = leaders[:, 0] * len(skeleton.tables.kinds) + kinds
    order = np.lexsort((cost, key))
    rank = np.arange(len(key)) - np.searchsorted(key[order], key[order])
    return leaders[order[rank < FIRST]]


def _priced(skeleton: Skeleton, priced: PricedOut) -> Ints:
    """The leaders of least, negative reduced cost: so many for each node of a class."""
    found: list[Ints] = []
    for v in range(len(skeleton.classes)):
        count = ADDED * min(len(skeleton.classes[v].nodes), MOST_NODES_PRICED)
        leaders, reduced = least_columns(skeleton, priced, v, count)
        found.append(leaders[reduced < -1e-12 * skeleton.unit])
    return np.concatenate(found)


def _integral(
    skeleton: Skeleton, generated: Generated, settings: Settings, known: Assignment | None
) -> Outcome:
    """Whole nodes: a MILP over few columns, then over all that could matter."""
    clock = settings.deadline
    tables, bound = skeleton.tables, generated.bound
    if tables.rounding > ARITHMETIC * bound:  # no more is claimed than the clock's rounding leaves
        bound = max(bound - tables.rounding, 0.0)
    certificate = generated.priced.prices.certificate(tables, bound)
    source = "price certificate"
    trace = [TracePoint(clock.spent, None, bound)]
    settings.progress.report(None, bound)
    built = clock.spent
    seats = known
    leaders, left_out = _few_columns(skeleton, generated)
    for attempt in range(2):
        answer, found = _solve(skeleton, leaders, settings)
        if found is not None and (
            seats is None or expected_cost(tables, found) < expected_cost(tables, seats)
        ):
            seats = found
        if answer.bound is not None and skeleton.classes is tables.classes:
            proved = min(answer.bound * skeleton.unit, generated.bound + left_out)
            if proved > bound:
                bound, source = proved, "columns left out and highs"
        value = None if seats is None else expected_cost(tables, seats)
        trace.append(TracePoint(clock.spent, value, bound))
        settings.progress.report(value, bound)
        if attempt or value is None or clock.is_over or skeleton.classes is not tables.classes:
            break
        if value - bound <= settings.gap * abs(value):
            break
        leaders, left_out = _all_that_matter(skeleton, generated, value)
    shell = Outcome(
        None,
        Termination.TIME_LIMIT,  # the only way to end without a selection
        bound=max(bound, 0.0),
        bound_source=source,
        build_time=built,
        solve_time=clock.spent - built,
        solver="highs",
        trace=tuple(trace),
        details={
            "rounds": generated.rounds,
            "columns": len(leaders),
            "certificate_bound": generated.bound,
        },
    )
    if seats is None:
        return shell
    return judged(tables, seats, shell, settings, certificate)


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
    last = Deadline(None if left is None else max(left, GRACE))
    return solve_arrays(relaxed, settings.within(last)).values


def _few_columns(skeleton: Skeleton, generated: Generated) -> tuple[Ints, float]:
    """Some columns a class of least rc - kappa_v, and the linear programme's own.

    Returns them, and the least rc - kappa_v among those left out (infinite when none is).
    """
    kept, threshold = [generated.leaders[generated.support]], np.inf
    if skeleton.tables.options.opens_exactly:
        kept.append(_one_way_to_open(skeleton))
    for v in range(len(skeleton.classes)):
        leaders, reduced = least_columns(skeleton, generated.priced, v, KEPT + 1)
        if len(reduced) > KEPT:
            last = int(reduced.argmax())
            threshold = min(threshold, float(reduced[last] - min(reduced.min(), 0.0)))
            leaders = np.delete(leaders, last, axis=0)
        kept.append(leaders)
    return np.unique(np.concatenate(kept), axis=0), threshold


def _one_way_to_open(skeleton: Skeleton) -> Ints:
    """Every job alone on one GPU of every class: enough to open as many nodes as can be."""
    found = []
    for v, each in enumerate(skeleton.classes):
        jobs = np.flatnonzero(np.isfinite(skeleton.tables.late[:, each.kind, 0]))
        shape = np.full(len(jobs), 1)
        found.append(np.column_stack([jobs, v * shape, 0 * shape, shape]))
    return np.concatenate(found)


def _all_that_matter(skeleton: Skeleton, generated: Generated, value: float) -> tuple[Ints, float]:
    """Every column whose rc - kappa_v lies below the gap: the others are in no better selection."""
    room = (value - generated.bound) * (1 + 1e-9) + 1e-12 * skeleton.unit
    kept, count = [generated.leaders[generated.support]], 0
    if skeleton.tables.options.opens_exactly:
        kept.append(_one_way_to_open(skeleton))
    for v in range(len(skeleton.classes)):
        reduced = generated.priced.reduced_costs(v)
        jobs, uses = np.nonzero(reduced - min(float(reduced.min()), 0.0) < room)
        count += len(jobs)
        if count > MOST_COLUMNS:
            break
        pairs = np.array(skeleton.uses(v))[uses]
        kept.append(np.column_stack([jobs, np.full(len(jobs), v), pairs]))
    left_out = room if count <= MOST_COLUMNS else 0.0
    return np.unique(np.concatenate(kept), axis=0), left_out
