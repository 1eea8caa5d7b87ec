"""Method ``patterns``: integers count the nodes of a class by their GPU pattern.

Guarantee: optimal at the requested gap when it ends as "optimal". The integers do not grow with
nodes or jobs of given classes, but with the number of classes and with K. If the model is large or
there is too little time for it, HiGHS is given `columns` instead (reported in `chosen`).
Mathematics: models/selection/README.md.

Terms of this and the arc-flow model: the leader is the first job of a node to complete, which sets
the node's energy; the others are followers. A slot is room for a follower on a node of its type. A
fill is a multiset of fractions on one shared GPU; a residue, the GPUs of a node beside its leader.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from optsched.backends.models import solve_model
from optsched.backends.pyomo_solvers import require_solver
from optsched.backends.sizes import fits, refuse_many_nonzeros, require_time
from optsched.backends.solver_result import SolverResult
from optsched.deadline import Deadline, OutOfTimeError, clock
from optsched.errors import NotApplicableError
from optsched.result import Outcome, Settings
from optsched.selection.assignment import Assignment, solution_of
from optsched.selection.cost import Tables, tables_of
from optsched.selection.exact.columns import columns
from optsched.selection.exact.incumbents import cheaper, starting_assignment
from optsched.selection.exact.outcomes import (
    model_outcome,
    outcome_without_model,
    solved_in_finer_units,
)
from optsched.selection.instance import SelectionInstance
from optsched.selection.models.packings import (
    decode_counts,
    encode_counts,
    fills_by_leader,
    fills_of,
    partition_count,
    partitions,
)
from optsched.selection.models.pattern_decode import PatternSolution, assignment_of
from optsched.selection.options import SelectionOptions

SMALL_NONZEROS = 12_000
"""Larger models are left to `columns`: at 96 x 384 it takes a fifth of the time."""
SMALL_CLASSES = 6
"""Method ``exact`` leaves more classes to `columns`."""
MAX_PATTERNS = 60_000
"""Largest model built at all."""

Pattern = tuple[int, int, int, str, int]
"""(v, u, s, p, L): class, GPUs in use, shared GPUs, sizes of dedicated slots, leader's
configuration."""
Fill = tuple[int, str, int]
"""(v, fill, lf): class, count of each fraction, the leader's configuration or -1."""


@dataclass(frozen=True, eq=False)
class PatternData:
    """What the model is built from: costs, node patterns and fills of a shared GPU.

    Followers dearer than waiting are left out unless `every_follower`: if postponing is
    unrestricted, no optimum contains one.
    """

    tables: Tables
    patterns: tuple[Pattern, ...]
    fills: tuple[Fill, ...]
    every_follower: bool = False


def patterns(instance: SelectionInstance, options: SelectionOptions, settings: Settings) -> Outcome:
    """Select resources by the pattern model, or by columns where it is large."""
    require_solver(settings.solver)
    started = clock()
    tables = tables_of(instance, options)
    if settings.solver == "highs" and not is_small(tables, settings.deadline):
        return replace(columns(instance, options, settings), chosen="columns")
    size = nonzeros(tables)
    refuse_many_nonzeros("patterns", size, "use columns")
    incumbent = starting_assignment(tables, settings)
    try:
        require_time(settings.deadline, size)
        answer, solver_assignment = _solved(tables, settings, started)
    except OutOfTimeError:
        return outcome_without_model(tables, incumbent, settings)
    unit = tables.money_unit
    outcome = model_outcome(tables, answer, incumbent, solver_assignment, unit, settings)
    incumbent = cheaper(tables, incumbent, solver_assignment)

    def solve_rescaled(
        rescaled: Tables, _: object, silent: Settings
    ) -> tuple[Assignment | None, float | None]:
        answer, assignment = _solved(rescaled, silent, clock())
        return assignment, None if answer.bound is None else answer.bound * rescaled.money_unit

    return solved_in_finer_units(tables, outcome, incumbent, settings, solve_rescaled)


def exact(instance: SelectionInstance, options: SelectionOptions, settings: Settings) -> Outcome:
    """Select resources optimally with the faster of `patterns` and `columns`."""
    tables = tables_of(instance, options)
    small = len(tables.classes) <= SMALL_CLASSES and is_small(tables, settings.deadline)
    if small or settings.solver != "highs":
        return replace(patterns(instance, options, settings), chosen="patterns")
    return replace(columns(instance, options, settings), chosen="columns")


def _solved(
    tables: Tables, settings: Settings, started: float
) -> tuple[SolverResult, Assignment | None]:
    """Build and solve the model; `started` is a time of the clock. Raises OutOfTimeError."""
    model = build(pattern_data(tables), settings.deadline)
    build_time, listener = clock() - started, settings.progress.of_model(tables.money_unit)
    answer = solve_model(model, settings, build_time=build_time, listener=listener)
    return answer, assignment_of(tables, read_solution(model)) if answer.has_solution else None


def model(
    instance: SelectionInstance, options: SelectionOptions, *, pruned: bool = False
) -> pyo.ConcreteModel:
    tables = tables_of(instance, options)
    built = build(replace(pattern_data(tables), every_follower=not pruned))
    built.reader = lambda solved: solution_of(tables, assignment_of(tables, read_solution(solved)))
    if not pruned:
        require_whole_roles(built)
    return built


def require_whole_roles(model: pyo.ConcreteModel) -> None:
    """Make roles binary; they are integral by themselves only while no constraint is added."""
    for roles in (model.postponed, model.follower, model.leader):
        roles.domain = pyo.Binary


def pattern_count(tables: Tables) -> int:
    """How many patterns there are, without listing them; before any are made."""
    total = 0
    for node_class in tables.classes:
        fractions = len(tables.kinds[node_class.kind].fractions)
        for rest in range(node_class.gpus + 1):
            shared = node_class.gpus - rest if fractions else 0
            leaders = sum(partition_count(rest - size) for size in range(1, rest + 1))
            total += leaders * (1 + shared) + fractions * shared * partition_count(rest)
    return total


def is_small(tables: Tables, deadline: Deadline) -> bool:
    """Whether the model is one for `patterns`, and can be built in a quarter of the time left."""
    size = nonzeros(tables)
    filled = all(fills_of(kind) is not None for kind in tables.kinds)
    return size <= SMALL_NONZEROS and filled and fits(deadline, 4 * size)


def nonzeros(tables: Tables) -> int:
    """About how many entries the model's rows have, before any are made."""
    count = 6 * pattern_count(tables)
    for node_class in tables.classes:
        kind = tables.kinds[node_class.kind]
        leaders = sum(
            node_class.gpus + 1 - kind.configurations[c].gpus
            for c in kind.configurations_within(node_class.gpus)
        )
        count += tables.jobs * (2 * leaders + 2 * len(kind.configurations))
    return count


def pattern_data(tables: Tables) -> PatternData:
    count = pattern_count(tables)
    if count > MAX_PATTERNS:
        found = f"{count} node patterns"
        raise NotApplicableError("patterns", found, f"at most {MAX_PATTERNS}: use columns")
    classes = range(len(tables.classes))
    patterns = tuple(pattern for v in classes for pattern in _patterns_of(tables, v))
    kinds = [tables.kinds[node_class.kind] for node_class in tables.classes]
    fills = tuple((v, *pair) for v in classes for pair in fills_by_leader(kinds[v], "patterns"))
    return PatternData(tables, patterns, fills)


def build(data: PatternData, deadline: Deadline | None = None) -> pyo.ConcreteModel:
    clock = deadline or Deadline()
    model = pyo.ConcreteModel(name="selection-patterns")
    for state in (
        _declare,
        _minimise_cost,
        _every_job_once,
        _nodes_of_a_class,
        _shared_gpus_are_filled,
        _leaders_of_patterns,
        _followers_in_dedicated_slots,
        _followers_in_shared_slots,
    ):
        clock.check()
        state(model, data)
    if data.tables.options.opens_exactly:
        model.nodes_opened = pyo.Constraint(
            expr=pyo.quicksum(model.nodes.values()) == data.tables.max_open_nodes,
            doc="(16) open nodes",
        )
    return model


def read_solution(model: pyo.ConcreteModel) -> PatternSolution:
    """The values in the model as counts of patterns and fills, and jobs by their role."""
    return PatternSolution(
        patterns={key: n for key, x in model.nodes.items() if (n := round(x.value or 0))},
        fills={key: n for key, x in model.filled.items() if (n := round(x.value or 0))},
        leaders={key: x.value for key, x in model.leader.items() if (x.value or 0) > 1e-7},
        followers={key: x.value for key, x in model.follower.items() if (x.value or 0) > 1e-7},
    )


def _patterns_of(tables: Tables, v: int) -> Iterator[Pattern]:
    node_class = tables.classes[v]
    shared_kinds = tables.kinds[node_class.kind].fractions
    for used in range(1, node_class.gpus + 1):
        for shared in range(used + 1 if shared_kinds else 1):
            for sizes in partitions(used - shared):
                for size in sorted(set(sizes)):
                    yield v, used, shared, encode_counts(sizes), size - 1
                for c in shared_kinds if shared else ():
                    yield v, used, shared, encode_counts(sizes), c


def _declare(model: pyo.ConcreteModel, data: PatternData) -> None:
    tables = data.tables
    model.JOBS = pyo.RangeSet(0, tables.jobs - 1, doc="j: jobs")
    model.CLASSES = pyo.RangeSet(0, len(tables.classes) - 1, doc="v: classes of equal nodes")
    model.nodes = pyo.Var(
        data.patterns, domain=pyo.NonNegativeIntegers, doc="y[v,u,s,p,L]: nodes of class v cut so"
    )
    model.filled = pyo.Var(
        data.fills, domain=pyo.NonNegativeIntegers, doc="g[v,fill,lf]: shared GPUs by fill"
    )
    model.postponed = pyo.Var(model.JOBS, domain=pyo.NonNegativeReals, doc="z_j: job j waits")
    model.follower = pyo.Var(
        list(_followers(data)), domain=pyo.NonNegativeReals, doc="b[j,v,c]: j follows on class v"
    )
    model.leader = pyo.Var(
        list(_leaders(tables)), domain=pyo.NonNegativeReals, doc="l[j,v,c,u]: j leads on class v"
    )


def _followers(data: PatternData) -> Iterator[tuple[int, int, int]]:
    """Followers (j, v, c) cheaper than postponing; others are dominated."""
    tables = data.tables
    max_cost = np.inf if data.every_follower else tables.postponement_cost[:, None, None]
    is_worthwhile = tables.tardiness_cost < max_cost
    for v, node_class in enumerate(tables.classes):
        for c in tables.kinds[node_class.kind].configurations_within(node_class.gpus):
            yield from ((int(j), v, c) for j in is_worthwhile[:, node_class.kind, c].nonzero()[0])


def _leaders(tables: Tables) -> Iterator[tuple[int, int, int, int]]:
    usable = tables.expected < float("inf")
    for v, node_class in enumerate(tables.classes):
        kind = tables.kinds[node_class.kind]
        for c in kind.configurations_within(node_class.gpus):
            jobs = [int(j) for j in usable[:, node_class.kind, c].nonzero()[0]]
            for used in range(kind.configurations[c].gpus, node_class.gpus + 1):
                yield from ((j, v, c, used) for j in jobs)


def _minimise_cost(model: pyo.ConcreteModel, data: PatternData) -> None:
    tables, unit = data.tables, data.tables.money_unit
    kinds = [node_class.kind for node_class in tables.classes]
    rates = [node_class.cost_rate for node_class in tables.classes]
    tardiness_cost, expected = tables.tardiness_cost / unit, tables.expected / unit
    coefficients = [float(tables.postponement_cost[j] / unit) for j in model.JOBS]
    coefficients += [float(tardiness_cost[j, kinds[v], c]) for j, v, c in model.follower]
    coefficients += [
        float(tardiness_cost[j, kinds[v], c] + expected[j, kinds[v], c] * rates[v][used - 1])
        for j, v, c, used in model.leader
    ]
    variables = [*model.postponed.values(), *model.follower.values(), *model.leader.values()]
    expr = linear(coefficients, variables)
    model.cost = pyo.Objective(expr=expr, doc=f"(P1.1) expected cost, in {unit!r} dollars")


def _grouped(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list]:
    """Values by key, in order; no values where a key is missing."""
    groups: dict[Any, list] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return groups


def _every_job_once(model: pyo.ConcreteModel, _: PatternData) -> None:
    placed = (*model.follower.items(), *model.leader.items())
    roles = _grouped((*model.postponed.items(), *((key[0], x) for key, x in placed)))

    @model.Constraint(model.JOBS, doc="(4') every job runs or waits")
    def job_once(_: pyo.ConcreteModel, j: int) -> pyo.Expression:
        return linear([1] * len(roles[j]), roles[j]) == 1


def _nodes_of_a_class(model: pyo.ConcreteModel, data: PatternData) -> None:
    nodes = _grouped((key[0], x) for key, x in model.nodes.items())

    @model.Constraint(model.CLASSES, doc="(5') sum y <= N_v")
    def class_size(_: pyo.ConcreteModel, v: int) -> pyo.Expression:
        return pyo.quicksum(nodes[v]) <= len(data.tables.classes[v].nodes)


def _shared_gpus_are_filled(model: pyo.ConcreteModel, _: PatternData) -> None:
    sharing = [(pattern, x) for pattern, x in model.nodes.items() if pattern[2]]
    gpus = _grouped((v, x) for (v, _, _), x in model.filled.items())
    filled = _grouped(((v, lf), x) for (v, _, lf), x in model.filled.items() if lf >= 0)
    shared = _grouped((v, (s, x)) for (v, _, s, _, _), x in sharing)
    leading = _grouped(((v, leader), x) for (v, _, _, _, leader), x in sharing)

    @model.Constraint(list(gpus), doc="(9') sum g = sum s y")
    def shared_gpus(_: pyo.ConcreteModel, v: int) -> pyo.Expression:
        return pyo.quicksum(gpus[v]) == pyo.quicksum(s * x for s, x in shared[v])

    @model.Constraint(list(filled), doc="(17') a fraction leader's GPU")
    def leading_fractions(_: pyo.ConcreteModel, *key: int) -> pyo.Expression:
        return pyo.quicksum(filled[key]) == pyo.quicksum(leading[key])


def _leaders_of_patterns(model: pyo.ConcreteModel, _: PatternData) -> None:
    jobs = _grouped(((v, c, used), x) for (_, v, c, used), x in model.leader.items())
    nodes = _grouped(((v, c, used), x) for (v, used, _, _, c), x in model.nodes.items())

    @model.Constraint(list(nodes), doc="(17) one leader a node")
    def one_leader(_: pyo.ConcreteModel, *key: int) -> pyo.Expression:
        coefficients = [1.0] * len(jobs[key]) + [-1.0] * len(nodes[key])
        return linear(coefficients, jobs[key] + nodes[key]) == 0


def _followers_in_dedicated_slots(model: pyo.ConcreteModel, data: PatternData) -> None:
    slots = _grouped(
        ((v, size - 1), (room, x))
        for (v, _, _, sizes, leader), x in model.nodes.items()
        for size, count in Counter(decode_counts(sizes)).items()
        if (room := count - (size - 1 == leader))
    )
    _limit_followers(model, data, "dedicated_slots", slots, "(11') dedicated slots", False)


def _followers_in_shared_slots(model: pyo.ConcreteModel, data: PatternData) -> None:
    fractions = [data.tables.kinds[one.kind].fractions for one in data.tables.classes]
    slots = _grouped(
        ((v, c), (room, x))
        for (v, fill, leader), x in model.filled.items()
        for c, count in zip(fractions[v], decode_counts(fill), strict=True)
        if (room := count - (c == leader))
    )
    _limit_followers(model, data, "shared_slots", slots, "(9'') slots of a shared GPU", True)


def _limit_followers(
    model: pyo.ConcreteModel, data: PatternData, name: str, slots: dict, doc: str, shared: bool
) -> None:
    kinds = [data.tables.kinds[one.kind] for one in data.tables.classes]
    followers_of = _grouped(
        ((v, c), x)
        for (_, v, c), x in model.follower.items()
        if kinds[v].configurations[c].shares == shared
    )

    def rule(_: pyo.ConcreteModel, *slot: int) -> pyo.Expression:
        jobs, rooms = followers_of[slot], slots[slot]
        coefficients = [1.0] * len(jobs) + [-float(n) for n, _ in rooms]
        return linear(coefficients, jobs + [x for _, x in rooms]) <= 0

    setattr(model, name, pyo.Constraint(list(followers_of), rule=rule, doc=doc))


def linear(coefficients: list, variables: list) -> LinearExpression:
    """The sum of coefficients times variables."""
    return LinearExpression(linear_coefs=coefficients, linear_vars=variables)
