"""Methods ``milp`` and ``exact``: the packing as an integer programme over types of tasks and GPUs.

Guarantee: optimal at the requested gap when it ends as "optimal". Every packing is a
feasible solution. Nodes and GPUs are individual, so a user's constraint can name one. Both compare
the offline packing with the column bound; ``exact`` solves the model only where these differ and it
is small. Source: models/packing/README.md, (1)-(7).
"""

from functools import partial
from math import gcd
from typing import Any, TypeAlias

import numpy as np
import pyomo.environ as pyo

from optsched.backends.models import build_and_solve
from optsched.backends.pyomo_solvers import require_solver
from optsched.backends.sizes import MAX_NONZEROS, refuse_many_nonzeros
from optsched.backends.solver_result import SolverResult
from optsched.deadline import clock
from optsched.packing.bounds.columns import SOURCE, solve_relaxation
from optsched.packing.heuristics.offline import offline_placements
from optsched.packing.instance import MILLI, PackingInstance
from optsched.packing.options import PackingOptions
from optsched.packing.tables import Placement, Tables
from optsched.result import Outcome, Settings, Termination, is_proved, termination_of

Model: TypeAlias = pyo.ConcreteModel
OFFLINE_SHARE = 0.5
"""Share of the time left that the offline packing may take."""


def milp(
    name: str, instance: PackingInstance, options: PackingOptions, settings: Settings
) -> Outcome:
    """Pack offline, bound by columns, and solve the model: always, or ``exact`` where needed."""
    require_solver(settings.solver)
    tables, placements = Tables(instance), None
    if name == "milp":
        refuse_many_nonzeros(name, nonzeros(tables), "use offline, or exact")
    share = settings.within(settings.deadline.share(OFFLINE_SHARE))
    best = settings.start.tuples if settings.start else offline_placements(tables, share)
    prices, idle = solve_relaxation(tables, settings.deadline), tables.idle_beside(best)
    settings.progress.report(idle, prices.bound)
    done = is_proved(idle, prices.bound, settings.gap) or settings.deadline.is_over
    is_small = nonzeros(tables) <= MAX_NONZEROS
    solved = SolverResult(Termination.FEASIBLE, None, None, 0.0, settings.deadline.spent, solver="")
    if name == "milp" or (is_small and not done):
        solved, placements = _solve_model(tables, settings)
        best = min(best, placements or best, key=tables.idle_beside)
    bounds = [(prices.bound, SOURCE), (solved.bound or 0.0, solved.solver)]
    idle, (bound, source) = tables.idle_beside(best), max(bounds)
    return Outcome(
        tables.solution(best),
        termination_of(is_proved(idle, bound, settings.gap), settings.deadline.is_over),
        bound=min(bound, idle),
        bound_source=source,
        claimed=idle,
        build_time=solved.build_time,
        solve_time=solved.solve_time,
        chosen=None if name == "milp" else "milp" if solved.solver else "offline",
        solver=solved.solver or None,
        trace=solved.trace,
        certificate=prices,
    )


def _solve_model(tables: Tables, settings: Settings) -> tuple[SolverResult, list[Placement] | None]:
    """The solver's result and its packing, if there is one that the nodes have room for."""
    construct, listener = partial(build, tables), settings.progress.of_model()
    answer, model = build_and_solve(
        construct, nonzeros(tables), settings, began=clock(), listener=listener
    )
    if model is None or not answer.has_solution:
        return answer, None
    placements = read_placements(model, tables)  # above 2^31 bytes a solver's tolerance is bytes
    return answer, placements if (tables.room(placements) >= 0).all() else None


def model(
    name: str, instance: PackingInstance, options: PackingOptions, *, pruned: bool = False
) -> Model:
    tables = Tables(instance)
    refuse_many_nonzeros(name, nonzeros(tables), "use offline, or exact")
    built = build(tables)
    built.reader = lambda solved: tables.solution(read_placements(solved, tables))
    return built


def nonzeros(tables: Tables) -> float:
    """Estimated number of nonzeros: a task has five on a node, and two on each GPU of it."""
    return float((tables.fits[:, tables.class_of] * (5 + 2 * tables.capacity[:, 2])).sum())


def build(tables: Tables) -> Model:
    built = pyo.ConcreteModel(name="packing-milp")
    _declare_variables(built, tables)
    _cpu_and_memory(built, tables)
    _gpus(built, tables)
    _demand_and_objective(built, tables)
    return built


def _declare_variables(model: Model, tables: Tables) -> None:
    tasks, nodes, count = tables.instance.tasks, tables.instance.nodes, tables.count.tolist()
    fitting = [(t, n) for t, n in np.argwhere(tables.fits[:, tables.class_of]).tolist()]
    gpus = [(n, g) for n, node in enumerate(nodes) for g in range(node.gpus)]
    shares = [(t, n, g) for t, n in fitting if tasks[t].is_share for g in range(nodes[n].gpus)]
    model.TYPES = pyo.RangeSet(0, len(tasks) - 1, doc="t: types of tasks")
    model.NODES = pyo.RangeSet(0, len(nodes) - 1, doc="n: nodes")
    model.GPUS = pyo.Set(initialize=gpus, dimen=2, doc="(n, g): GPUs, as node and index")
    doc = "(t, n): types, and nodes that can take one of their tasks"
    model.FITTING = pyo.Set(initialize=fitting, dimen=2, doc=doc)
    doc = "(t, n, g): types that take a share, and GPUs of such nodes"
    model.SHARES = pyo.Set(initialize=shares, dimen=3, doc=doc)
    model.placed = pyo.Var(
        model.FITTING,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, t, n: (0, count[t]),
        doc="x_tn: tasks of type t on node n",
    )
    model.share = pyo.Var(
        model.SHARES,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _, t, n, g: (0, min(count[t], MILLI // tasks[t].gpu_milli)),
        doc="s_tng: tasks of type t on GPU g of node n",
    )
    doc = "y_ng: GPU g of node n is wholly one task's"
    model.taken = pyo.Var(model.GPUS, domain=pyo.Binary, doc=doc)


def _cpu_and_memory(model: Model, tables: Tables) -> None:
    """sum_t c_t x_tn <= C_n and sum_t m_t x_tn <= M_n, in units of a greatest common divisor."""
    (cpu, memory, _), (cores, size, _) = tables.demand.T.tolist(), tables.capacity.T.tolist()
    cpu_unit, memory_unit = gcd(*cpu, *cores) or 1, gcd(*memory, *size) or 1
    types = _types_by_node(model)

    @model.Constraint(sorted(types), doc="(2) CPU of a node")
    def cpu_capacity(m: Model, n: int) -> Any:
        used = pyo.quicksum(cpu[t] // cpu_unit * m.placed[t, n] for t in types[n])
        return used <= cores[n] // cpu_unit

    @model.Constraint(sorted(types), doc="(3) memory of a node")
    def memory_capacity(m: Model, n: int) -> Any:
        used = pyo.quicksum(memory[t] // memory_unit * m.placed[t, n] for t in types[n])
        return used <= size[n] // memory_unit


def _gpus(model: Model, tables: Tables) -> None:
    """sum_t f_t s_tng + 1000 y_ng <= 1000; x_tn = sum_g s_tng; sum_t g_t x_tn = sum_g y_ng."""
    tasks, nodes = tables.instance.tasks, tables.instance.nodes
    types, shared = _types_by_node(model), [k for k in model.FITTING if tasks[k[0]].is_share]

    @model.Constraint(model.GPUS, doc="(4) shares of a GPU, or one task")
    def gpu_capacity(m: Model, n: int, g: int) -> Any:
        shares = [t for t in types.get(n, []) if tasks[t].is_share]
        taken = pyo.quicksum(tasks[t].gpu_milli * m.share[t, n, g] for t in shares)
        return taken + MILLI * m.taken[n, g] <= MILLI

    @model.Constraint(shared, doc="(5) each task with a share is on one GPU")
    def share_is_on_a_gpu(m: Model, t: int, n: int) -> Any:
        return m.placed[t, n] == pyo.quicksum(m.share[t, n, g] for g in range(nodes[n].gpus))

    @model.Constraint(sorted({n for n, _ in model.GPUS}), doc="(6) whole GPUs of a node's tasks")
    def whole_gpus_are_taken(m: Model, n: int) -> Any:
        others = [t for t in types.get(n, []) if not tasks[t].is_share]
        wanted = pyo.quicksum(tasks[t].gpus * m.placed[t, n] for t in others)
        return wanted == pyo.quicksum(m.taken[n, g] for g in range(nodes[n].gpus))


def _demand_and_objective(model: Model, tables: Tables) -> None:
    """sum_n x_tn <= N_t; the objective is G - sum_tn f_t/1000 x_tn."""
    nodes: dict[int, list[int]] = {t: [] for t in model.TYPES}
    for t, n in model.FITTING:
        nodes[t].append(n)

    @model.Constraint(model.TYPES, doc="(7) tasks of a type")
    def demand(m: Model, t: int) -> Any:
        placed = pyo.quicksum(m.placed[t, n] for n in nodes[t])
        return placed <= int(tables.count[t]) if nodes[t] else pyo.Constraint.Feasible

    gpus = (tables.demand[:, 2] / MILLI).tolist()
    allocated = pyo.quicksum(gpus[t] * model.placed[t, n] for t, n in model.FITTING)
    model.idle = pyo.Objective(expr=tables.instance.gpus - allocated, doc="(1) idle GPUs")


def _types_by_node(model: Model) -> dict[int, list[int]]:
    """The types whose tasks a node can take, for nodes that can take any."""
    types: dict[int, list[int]] = {}
    for t, n in model.FITTING:
        types.setdefault(n, []).append(t)
    return types


def read_placements(model: Model, tables: Tables) -> list[Placement]:
    """The packing of the values in the model; tasks of a type are placed first arrival first."""
    left = tables.places()
    placed: list[Placement] = []
    free: dict[int, list[int]] = {n: [] for n in model.NODES}
    for n, g in model.GPUS:
        free[n] += [g] * round(model.taken[n, g].value)
    for t, n, g in model.SHARES:
        placed += [(left[t].pop(), n, (g,)) for _ in range(round(model.share[t, n, g].value))]
    for t, n in model.FITTING:
        task = tables.instance.tasks[t]
        for _ in range(0 if task.is_share else round(model.placed[t, n].value)):
            placed.append((left[t].pop(), n, tuple(free[n].pop() for _ in range(task.gpus))))
    return placed
