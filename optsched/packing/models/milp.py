"""Methods ``milp`` and ``exact``: the packing as an integer programme, task types by GPU.

Guarantee: optimal at the requested gap when it ends as "optimal". The model is complete: it holds
for every packing, and GPUs and nodes are individual, so that a constraint may name them. ``exact``
first compares the offline packing with the column bound and solves the model only where these
differ and it is small. Source: models/packing/README.md, (1)-(6).
"""

from collections.abc import Callable
from dataclasses import replace
from math import gcd
from typing import Any, TypeAlias

import pyomo.environ as pyo

from optsched.backends.models import build_and_solve
from optsched.backends.pyomo_solvers import require_solver
from optsched.backends.sizes import MAX_NONZEROS, refuse_many_nonzeros
from optsched.deadline import clock
from optsched.packing.bounds.columns import SOURCE, Prices, solve_relaxation
from optsched.packing.heuristics.offline import offline_placements
from optsched.packing.instance import MILLI, PackingInstance
from optsched.packing.options import PackingOptions
from optsched.packing.solution import PackingSolution
from optsched.packing.tables import Placement, Tables
from optsched.result import Outcome, Settings, Termination, is_proved, termination_of

Model: TypeAlias = pyo.ConcreteModel
OFFLINE_SHARE = 0.5
"""Share of the time left that ``exact`` and ``milp`` give to the offline packing at most."""


def milp(instance: PackingInstance, options: PackingOptions, settings: Settings) -> Outcome:
    """Pack by the integer programme, from the offline packing or the given start."""
    require_solver(settings.solver)
    tables = Tables(instance)
    refuse_many_nonzeros("milp", nonzeros(tables), "use offline, or exact")
    return _solve_model(tables, settings, _start(tables, settings))


def exact(instance: PackingInstance, options: PackingOptions, settings: Settings) -> Outcome:
    """Pack offline, bound it by columns, and close the gap by the model where it is small."""
    require_solver(settings.solver)
    tables = Tables(instance)
    placements = _start(tables, settings)
    prices = solve_relaxation(tables, settings.deadline).prices
    idle = tables.idle_beside(placements)
    settings.progress.report(idle, prices.bound)
    proved = is_proved(idle, prices.bound, settings.gap)
    if proved or nonzeros(tables) > MAX_NONZEROS or settings.deadline.is_over:
        return Outcome(
            tables.solution(placements),
            termination_of(proved, settings.deadline.is_over),
            bound=prices.bound,
            bound_source=SOURCE,
            claimed=idle,
            solve_time=settings.deadline.spent,
            chosen="offline",
            certificate=prices,
        )
    return replace(_solve_model(tables, settings, placements, prices), chosen="milp")


def _start(tables: Tables, settings: Settings) -> list[Placement]:
    if settings.start is not None:
        return [(p.task, p.node, p.gpus) for p in settings.start.placements]
    return offline_placements(tables, settings.within(settings.deadline.share(OFFLINE_SHARE)))


def _solve_model(
    tables: Tables, settings: Settings, start: list[Placement], prices: Prices | None = None
) -> Outcome:
    """The better of the start and the solver's packing, with the better of two bounds."""

    def started() -> Model:
        built = build(tables)
        _set_values(built, tables, start)
        return built

    answer, solved = build_and_solve(
        started,
        nonzeros(tables),
        settings,
        began=clock(),
        start=True,
        listener=settings.progress.of_model(),
    )
    solution, idle = tables.solution(start), tables.idle_beside(start)
    if solved is not None and answer.objective is not None:
        placements = read_placements(solved, tables)
        if tables.idle_beside(placements) < idle:
            solution, idle = tables.solution(placements), tables.idle_beside(placements)
    bound, source = answer.bound, answer.solver
    if prices is not None and (bound is None or prices.bound > bound):
        bound, source = prices.bound, SOURCE
    proved = answer.termination is Termination.OPTIMAL
    proved = proved or (bound is not None and is_proved(idle, bound, settings.gap))
    bound = None if bound is None else max(min(bound, idle), 0.0)
    return Outcome(
        solution,
        termination_of(proved, answer.termination is Termination.TIME_LIMIT),
        bound=bound,
        bound_source=None if bound is None else source,
        claimed=idle,
        build_time=answer.build_time,
        solve_time=answer.solve_time,
        solver=answer.solver,
        trace=answer.trace,
        certificate=prices,
    )


def model(instance: PackingInstance, options: PackingOptions, *, pruned: bool = False) -> Model:
    """Build the model alone, as `optsched.build_model` and `optsched export` show it."""
    tables = Tables(instance)
    refuse_many_nonzeros("milp", nonzeros(tables), "use offline, or exact")
    built = build(tables)
    built.reader = lambda solved: _solution_in(solved, tables)
    return built


def nonzeros(tables: Tables) -> float:
    """Estimated number of nonzeros: each task on each GPU of a node in five rows."""
    fitting = tables.fits[:, tables.class_of]
    return float(5 * (fitting * tables.capacity[:, 2]).sum() + fitting.sum())


def build(tables: Tables) -> Model:
    """State the model; see models/packing/README.md."""
    built = pyo.ConcreteModel(name="packing-milp")
    for state in (
        _declare_variables,
        _cpu_capacity,
        _memory_capacity,
        _gpu_capacity,
        _whole_gpus_are_taken,
        _demand,
        _objective,
    ):
        state(built, tables)
    return built


def _declare_variables(model: Model, tables: Tables) -> None:
    tasks, nodes = tables.instance.tasks, tables.instance.nodes
    count = tables.count.tolist()
    model.TYPES = pyo.RangeSet(0, len(tasks) - 1, doc="t: types of tasks")
    model.NODES = pyo.RangeSet(0, len(nodes) - 1, doc="n: nodes")
    model.GPUS = pyo.Set(
        initialize=[(n, g) for n, node in enumerate(nodes) for g in range(node.gpus)],
        dimen=2,
        doc="(n, g): GPUs, as node and index",
    )
    fitting = [
        (t, n)
        for t in range(len(tasks))
        for n in range(len(nodes))
        if tables.fits[t, tables.class_of[n]]
    ]
    model.ON_GPU = pyo.Set(
        initialize=[
            (t, n, g) for t, n in fitting if tasks[t].is_share for g in range(nodes[n].gpus)
        ],
        dimen=3,
        doc="(t, n, g): a type that takes a share, and a GPU that suits it",
    )
    model.ON_NODE = pyo.Set(
        initialize=[(t, n) for t, n in fitting if not tasks[t].is_share],
        dimen=2,
        doc="(t, n): another type, and a node that suits it",
    )
    model.share = pyo.Var(
        model.ON_GPU,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda m, t, n, g: (0, min(count[t], MILLI // tasks[t].gpu_milli)),
        doc="s_tng: tasks of type t that share GPU g of node n",
    )
    model.whole = pyo.Var(
        model.ON_NODE,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda m, t, n: (0, count[t]),
        doc="w_tn: tasks of type t, with whole GPUs or none, on node n",
    )
    model.taken = pyo.Var(model.GPUS, domain=pyo.Binary, doc="y_ng: GPU g of node n is one task's")


def _on_node(model: Model, tables: Tables, amounts: list[int]) -> dict[int, Any]:
    """Sum of an amount by type over the tasks on each node."""
    terms: dict[int, list[Any]] = {n: [] for n in model.NODES}
    for t, n, g in model.ON_GPU:
        terms[n].append(amounts[t] * model.share[t, n, g])
    for t, n in model.ON_NODE:
        terms[n].append(amounts[t] * model.whole[t, n])
    return {n: pyo.quicksum(of_node) for n, of_node in terms.items()}


def _capacity(tables: Tables, column: int) -> tuple[list[int], list[int]]:
    """Demands by type and capacities by node, divided by their greatest common divisor."""
    demand, capacity = tables.demand[:, column].tolist(), tables.capacity[:, column].tolist()
    unit = gcd(*demand, *capacity) or 1
    return [d // unit for d in demand], [c // unit for c in capacity]


def _cpu_capacity(model: Model, tables: Tables) -> None:
    """sum_tg c_t s_tng + sum_t c_t w_tn <= C_n."""
    demand, capacity = _capacity(tables, 0)
    used = _on_node(model, tables, demand)
    model.cpu_capacity = pyo.Constraint(
        model.NODES, rule=_at_most(used, capacity), doc="(2) CPU of a node"
    )


def _memory_capacity(model: Model, tables: Tables) -> None:
    """sum_tg m_t s_tng + sum_t m_t w_tn <= M_n."""
    demand, capacity = _capacity(tables, 1)
    used = _on_node(model, tables, demand)
    model.memory_capacity = pyo.Constraint(
        model.NODES, rule=_at_most(used, capacity), doc="(3) memory of a node"
    )


def _at_most(used: dict[int, Any], capacity: list[int]) -> Callable[..., Any]:
    """Rule of a node's capacity; none where no task uses it."""

    def rule(_: Model, n: int) -> Any:
        if isinstance(used[n], int):
            return pyo.Constraint.Feasible
        return used[n] <= capacity[n]

    return rule


def _gpu_capacity(model: Model, tables: Tables) -> None:
    """sum_t f_t s_tng + 1000 y_ng <= 1000."""
    used: dict[tuple[int, int], Any] = {at: [MILLI * model.taken[at]] for at in model.GPUS}
    for t, n, g in model.ON_GPU:
        used[n, g].append(tables.instance.tasks[t].gpu_milli * model.share[t, n, g])

    @model.Constraint(model.GPUS, doc="(4) shares of a GPU, or one task")
    def gpu_capacity(_: Model, n: int, g: int) -> Any:
        return pyo.quicksum(used[n, g]) <= MILLI


def _whole_gpus_are_taken(model: Model, tables: Tables) -> None:
    """sum_t g_t w_tn = sum_g y_ng."""
    tasks, nodes = tables.instance.tasks, tables.instance.nodes
    wanted: dict[int, Any] = {n: [] for n in model.NODES}
    for t, n in model.ON_NODE:
        wanted[n].append(tasks[t].gpus * model.whole[t, n])

    @model.Constraint(model.NODES, doc="(5) whole GPUs of the tasks on a node")
    def whole_gpus_taken(m: Model, n: int) -> Any:
        if not nodes[n].gpus:
            return pyo.Constraint.Feasible
        taken = pyo.quicksum(m.taken[n, g] for g in range(nodes[n].gpus))
        return pyo.quicksum(wanted[n]) == taken


def _demand(model: Model, tables: Tables) -> None:
    """sum_ng s_tng <= N_t, or sum_n w_tn <= N_t."""
    placed = _placed(model)

    @model.Constraint(model.TYPES, doc="(6) tasks of a type")
    def demand(_: Model, t: int) -> Any:
        if not placed[t]:
            return pyo.Constraint.Feasible
        return pyo.quicksum(placed[t]) <= int(tables.count[t])


def _objective(model: Model, tables: Tables) -> None:
    """G - sum_tng f_t/1000 s_tng - sum_tn g_t w_tn."""
    placed, milli = _placed(model), tables.demand[:, 2].tolist()
    allocated = pyo.quicksum(milli[t] / MILLI * pyo.quicksum(placed[t]) for t in model.TYPES)
    idle = tables.instance.gpus - allocated
    model.idle = pyo.Objective(expr=idle, sense=pyo.minimize, doc="(1) idle GPUs, in GPUs")


def _placed(model: Model) -> dict[int, list[Any]]:
    """Variables that place tasks of each type."""
    placed: dict[int, list[Any]] = {t: [] for t in model.TYPES}
    for t, n, g in model.ON_GPU:
        placed[t].append(model.share[t, n, g])
    for t, n in model.ON_NODE:
        placed[t].append(model.whole[t, n])
    return placed


def _set_values(model: Model, tables: Tables, placements: list[Placement]) -> None:
    """Set the variables to a packing's values."""
    for variable in (model.share, model.whole, model.taken):
        for component in variable.values():
            component.set_value(0)
    for task, n, gpus in placements:
        t = int(tables.arrivals[task])
        if tables.instance.tasks[t].is_share:
            model.share[t, n, gpus[0]].value += 1
            continue
        model.whole[t, n].value += 1
        for g in gpus:
            model.taken[n, g].set_value(1)


def read_placements(model: Model, tables: Tables) -> list[Placement]:
    """The packing of the values in the model; tasks of a type are placed first arrival first."""
    left = [list(reversed(places)) for places in tables.places]
    free = {
        n: [g for m, g in model.GPUS if m == n and _count(model.taken[m, g])] for n in model.NODES
    }
    placed: list[Placement] = []
    for t, n, g in model.ON_GPU:
        placed += [(left[t].pop(), n, (g,)) for _ in range(_count(model.share[t, n, g]))]
    for t, n in model.ON_NODE:
        gpus = tables.instance.tasks[t].gpus
        for _ in range(_count(model.whole[t, n])):
            taken = tuple(free[n].pop() for _ in range(gpus))
            placed.append((left[t].pop(), n, tuple(sorted(taken))))
    return placed


def _count(variable: Any) -> int:
    return round(variable.value or 0)


def _solution_in(model: Model, tables: Tables) -> PackingSolution:
    return tables.solution(read_placements(model, tables))
