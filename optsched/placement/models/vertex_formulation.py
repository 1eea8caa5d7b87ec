"""The vertex-level ILP: one binary per replica and server, without strengthening.

Most likely what the paper's Table II solved: no bounds, no symmetry breaking, no start. It is the
rival of the strengthened model. Symbols and equations: models/placement/README.md.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyomo.environ as pyo

from optsched.backends import require_solver, state_and_solve
from optsched.backends.relations import stated
from optsched.backends.sizes import refuse_many_nonzeros
from optsched.deadline import Deadline, clock
from optsched.placement.bounds.combinatorial import combinatorial_bound
from optsched.placement.cost import (
    Ints,
    iteration_time,
    placement_time,
    tables_of,
)
from optsched.placement.heuristics.heavy_edge import graph_arrays, heavy_edge_counts, unplaced
from optsched.placement.heuristics.repartition import Start
from optsched.placement.instance import PlacementInstance
from optsched.placement.models.limits import replica_nonzeros
from optsched.placement.models.parts import (
    ModelData,
    counts_from,
    declare_pipeline,
    longest_time,
    model_tables,
    state_pipeline,
)
from optsched.placement.options import PlacementOptions
from optsched.placement.solution import PlacementSolution
from optsched.result import SOLVED, Outcome, Settings, Termination, ended, is_proved

LEAST_UNIT = 1e-3
"""Of the longest time that matters: so far apart may the model's coefficients be."""


def ilp_vertex(
    instance: PlacementInstance, options: PlacementOptions, settings: Settings
) -> Outcome:
    """Solve the vertex-level ILP; Heavy-Edge's placement stands where the limit leaves none."""
    require_solver(settings.solver)
    began = clock()
    known = _known(instance)
    data = vertex_data(instance, options, pruned=True)
    answer, model = state_and_solve(
        lambda: build(data, settings.deadline),
        replica_nonzeros(instance, data.bottleneck),
        settings,
        began=began,
        listener=settings.progress.of_model(data.unit),
    )
    counts, details = known, {"message": "no placement by the limit: Heavy-Edge's stands"}
    if answer.has_solution:
        counts, details = read_counts(model), {}
    bound = None
    if counts is None:
        return replace(Start("ilp-vertex", None, answer.termination).nothing, solver=answer.solver)
    ended_as = answer.termination
    if answer.bound is not None:
        value = iteration_time(instance, counts, options)
        bound = min(max(answer.bound * data.unit, 0.0), value)
        proved = is_proved(value, bound, max(settings.gap, SOLVED))
        ended_as = ended(proved, answer.termination is Termination.TIME_LIMIT)
    return Outcome(
        PlacementSolution.of(instance.name, counts.tolist()),
        ended_as,
        bound=bound,
        bound_source=None if bound is None else answer.solver,
        build_time=answer.build_time,
        solve_time=answer.solve_time,
        solver=answer.solver,
        trace=answer.trace_in(data.unit),
        details=details,
    )


def model(
    instance: PlacementInstance, options: PlacementOptions, *, pruned: bool = False
) -> pyo.ConcreteModel:
    """Build the model alone, complete or with times capped above Heavy-Edge's."""
    return build(vertex_data(instance, options, pruned=pruned))


def vertex_data(
    instance: PlacementInstance, options: PlacementOptions, *, pruned: bool
) -> ModelData:
    """Gather the model's data; the unit of time is a lower bound, near which the optimum lies."""
    bottleneck = options.all_reduce_bandwidth == "bottleneck"
    refuse_many_nonzeros("ilp-vertex", replica_nonzeros(instance, bottleneck), "use ilp")
    bottleneck = bottleneck and not instance.job.micro_batches
    tables = tables_of(instance, options)
    known = _known(instance)
    slowest = longest_time(tables) if known is None else placement_time(tables, known, options)
    cap = slowest or 1.0
    bound = combinatorial_bound(instance, tables).value
    return ModelData(
        model_tables(tables, cap, pruned=pruned),
        instance.free_gpus,
        min(max(bound, LEAST_UNIT * cap), cap),
        bottleneck,
    )


def _known(instance: PlacementInstance) -> Ints | None:
    """Heavy-Edge's placement, if it places all replicas."""
    greedy = heavy_edge_counts(graph_arrays(instance.job), instance.free_gpus)
    return None if unplaced(instance, greedy) else greedy


def build(data: ModelData, deadline: Deadline | None = None) -> pyo.ConcreteModel:
    """State the model; see `models/placement/README.md`. Raises OutOfTimeError at a deadline."""
    clock = deadline or Deadline()
    model = pyo.ConcreteModel(name="placement-vertex")
    _declare_sets(model, data)
    _declare_variables(model, data)
    model.iteration_time = pyo.Objective(expr=model.alpha, doc=f"min alpha, in {data.unit!r} s")
    times = (_slowest_work, _slowest_all_reduce, _pipeline)
    for state in (
        _replicas_and_servers,
        _counts_follow_replicas,
        *(times if data.is_synchronous else (_all_reduce_times, _slowest_stage)),
    ):
        clock.check()
        state(model, data)
    return model


def read_counts(model: pyo.ConcreteModel) -> Ints:
    """The counts, stages x servers, of the values in the model."""
    return counts_from(model, ((s, m, 1, model.assign[s, r, m]) for s, r, m in model.assign))


def _declare_sets(model: pyo.ConcreteModel, data: ModelData) -> None:
    model.STAGES = pyo.RangeSet(0, len(data.replicas) - 1, doc="s")
    model.SERVERS = pyo.RangeSet(0, len(data.offers) - 1, doc="m")
    replicas = [(s, r) for s, k in enumerate(data.replicas) for r in range(k)]
    model.REPLICAS = pyo.Set(dimen=2, initialize=replicas, doc="(s, r)")
    held = [(s, m, v) for s in model.STAGES for m in model.SERVERS for v in data.counts(s, m)]
    model.COUNTS = pyo.Set(dimen=3, initialize=held, doc="(s, m, v), v = 1..min(k_s, g_m)")


def _declare_variables(model: pyo.ConcreteModel, data: ModelData) -> None:
    model.assign = pyo.Var(
        model.REPLICAS, model.SERVERS, domain=pyo.Binary, doc="y: replica r of stage s on server m"
    )
    model.holds = pyo.Var(
        model.COUNTS, domain=pyo.Binary, doc="n: server m holds v replicas of stage s"
    )
    if data.is_synchronous:
        declare_pipeline(model)
    else:
        model.all_reduce = pyo.Var(
            model.STAGES, model.SERVERS, domain=pyo.NonNegativeReals, doc="R, all-reduce time"
        )
    model.alpha = pyo.Var(domain=pyo.NonNegativeReals, doc="alpha, iteration time")
    model.count = pyo.Expression(
        model.STAGES,
        model.SERVERS,
        doc="x: replicas of stage s on server m",
        rule=lambda model, s, m: sum(model.assign[s, r, m] for r in range(data.replicas[s])),
    )
    model.present = pyo.Expression(
        model.STAGES,
        model.SERVERS,
        doc="1 where server m holds stage s",
        rule=lambda model, s, m: sum(model.holds[s, m, v] for v in data.counts(s, m)),
    )


def _replicas_and_servers(model: pyo.ConcreteModel, data: ModelData) -> None:
    @model.Constraint(model.REPLICAS, doc="(V1) each replica is on one server")
    def one_server(model: pyo.ConcreteModel, s: int, r: int) -> pyo.Expression:
        return sum(model.assign[s, r, m] for m in model.SERVERS) == 1

    @model.Constraint(model.SERVERS, doc="(V2) a server takes at most the g_m GPUs it offers")
    def capacity(model: pyo.ConcreteModel, m: int) -> pyo.Expression:
        gpus = data.tables.gpus
        used = sum(int(gpus[s]) * model.assign[s, r, m] for s, r in model.REPLICAS)
        return used <= data.offers[m]


def _counts_follow_replicas(model: pyo.ConcreteModel, data: ModelData) -> None:
    @model.Constraint(model.STAGES, model.SERVERS, doc="(V3) counts follow replicas")
    def counted(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        return model.count[s, m] == sum(v * model.holds[s, m, v] for v in data.counts(s, m))

    @model.Constraint(model.STAGES, model.SERVERS, doc="(V4) one count of a stage on a server")
    def one_count(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        return stated(model, model.present[s, m] <= 1)


def _all_reduce_times(model: pyo.ConcreteModel, data: ModelData) -> None:
    everywhere = model.SERVERS if data.bottleneck else [None]

    @model.Constraint(
        model.STAGES,
        model.SERVERS,
        everywhere,
        doc="(V5) all-reduce as slow as the server's count makes it; or, as any server's does",
    )
    def reduces(model: pyo.ConcreteModel, s: int, m: int, n: int | None) -> pyo.Expression:
        slow = m if n is None else n
        time = data.tables.all_reduce[s] / data.unit
        return model.all_reduce[s, m] >= sum(
            float(time[v]) * model.holds[s, slow, v] for v in data.counts(s, slow)
        )


def _slowest_stage(model: pyo.ConcreteModel, data: ModelData) -> None:
    @model.Constraint(
        model.STAGES, model.SERVERS, doc="(V6) alpha >= time of a stage on a server that holds it"
    )
    def slowest(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        time = _work(model, data, s, m) + model.all_reduce[s, m] - _saved(model, data, s, m)
        finite = data.tables.all_reduce[s][np.isfinite(data.tables.all_reduce[s])]
        largest = float(finite.max() + _dearest(data, s)) / data.unit
        return model.alpha >= time - largest * (1 - model.present[s, m])


def _slowest_work(model: pyo.ConcreteModel, data: ModelData) -> None:
    @model.Constraint(
        model.STAGES, model.SERVERS, doc="(V7) P_s >= work of a stage on a server that holds it"
    )
    def works(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        time = _work(model, data, s, m) - _saved(model, data, s, m)
        dearest = _dearest(data, s) / data.unit
        return model.stage_work[s] >= time - dearest * (1 - model.present[s, m])


def _slowest_all_reduce(model: pyo.ConcreteModel, data: ModelData) -> None:
    @model.Constraint(
        model.STAGES, model.SERVERS, doc="(V8) A_s >= all-reduce of a stage on any server"
    )
    def longest_all_reduce(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        time = data.tables.all_reduce[s] / data.unit
        return model.stage_all_reduce[s] >= sum(
            float(time[v]) * model.holds[s, m, v] for v in data.counts(s, m)
        )


def _pipeline(model: pyo.ConcreteModel, data: ModelData) -> None:
    state_pipeline(model, data.tables, data.unit, ("(V9)", "(V10)", "(V11)"))


def _work(model: pyo.ConcreteModel, data: ModelData, s: int, m: int) -> pyo.Expression:
    """Time of a stage but for its all-reduce, with no neighbour near; 0 without it."""
    fixed = float(data.tables.fixed[s]) / data.unit
    experts = data.tables.experts[s] / data.unit
    own = sum(float(experts[v]) * model.holds[s, m, v] for v in data.counts(s, m) if experts[v])
    return fixed * model.present[s, m] + own


def _saved(model: pyo.ConcreteModel, data: ModelData, s: int, m: int) -> pyo.Expression:
    tables = data.tables
    before = model.count[s - 1, m] if s > 0 else 0
    after = model.count[s + 1, m] if s + 1 in model.STAGES else 0
    return (tables.before[s] * before + tables.after[s] * after) / data.unit


def _dearest(data: ModelData, s: int) -> float:
    """Seconds that neighbours can cost at most without the stage: with them a big-M's all."""
    tables = data.tables
    most = len(data.offers) and max(data.offers)
    dearer = -min(tables.before[s], 0.0) - min(tables.after[s], 0.0)
    return float(dearer * most)
