"""The vertex-level ILP: one binary per replica and server, without strengthening.

Probably the ILP of the paper's Table II: no bounds, no symmetry breaking, no start. It is the
baseline for the strengthened model. Symbols and equations: models/placement/README.md.
"""

import numpy as np
import pyomo.environ as pyo

from optsched.backends.models import build_and_solve
from optsched.backends.pyomo_solvers import require_solver
from optsched.backends.relations import stated
from optsched.backends.sizes import refuse_many_nonzeros
from optsched.deadline import Deadline, clock
from optsched.placement.bounds.combinatorial import Bound, combinatorial_bound
from optsched.placement.cost import Ints, placement_time, tables_of
from optsched.placement.heuristics.heavy_edge import graph_arrays, heavy_edge_counts, unplaced
from optsched.placement.heuristics.repartition import no_placement
from optsched.placement.instance import PlacementInstance
from optsched.placement.models.parts import (
    ModelData,
    Terms,
    add_pipeline_rows,
    counts_from,
    declare_counts,
    declare_pipeline,
    longest_time,
    model_outcome,
    model_tables,
    vertex_nonzeros,
    with_reader,
)
from optsched.placement.options import PlacementOptions
from optsched.result import Outcome, Settings

MIN_UNIT_RATIO = 1e-3
"""Smallest time unit as a share of the longest time: it limits the range of coefficients to 1e3."""


def close_gap(
    instance: PlacementInstance,
    options: PlacementOptions,
    settings: Settings,
    incumbent: Ints | None = None,
    bound: Bound | None = None,
) -> Outcome:
    """Solve the ILP; return the better of its placement and an incumbent, else Heavy-Edge's."""
    require_solver(settings.solver)
    began = clock()
    data = vertex_data(instance, options, pruned=True)
    answer, model = build_and_solve(
        lambda: build(data, settings.deadline),
        vertex_nonzeros(instance, data.bottleneck),
        settings,
        began=began,
        listener=settings.progress.of_model(data.unit),
    )
    placements = [] if incumbent is None else [incumbent]
    details: dict[str, object] = {}
    if model is not None and answer.has_solution:
        placements.append(counts_from(model, _terms(model)))
    if not placements:
        greedy = _greedy_placement(instance)
        if greedy is None:
            return no_placement(answer.termination, answer.solver)
        placements = [greedy]
        details = {"message": "no placement by the time limit; returning Heavy-Edge's placement"}
    return model_outcome(instance, options, settings, answer, placements, data.unit, bound, details)


def model(
    instance: PlacementInstance, options: PlacementOptions, *, pruned: bool = False
) -> pyo.ConcreteModel:
    """Build the model alone, complete or with times capped above Heavy-Edge's."""
    return with_reader(build(vertex_data(instance, options, pruned=pruned)), instance, _terms)


def _terms(model: pyo.ConcreteModel) -> Terms:
    return ((s, m, 1, model.assign[s, r, m]) for s, r, m in model.assign)


def vertex_data(
    instance: PlacementInstance, options: PlacementOptions, *, pruned: bool
) -> ModelData:
    """Gather the model's data; the time unit is the combinatorial bound, close to the optimum."""
    bottleneck = options.all_reduce_bandwidth == "bottleneck"
    refuse_many_nonzeros("ilp-vertex", vertex_nonzeros(instance, bottleneck), "use ilp")
    tables = tables_of(instance, options)
    greedy = _greedy_placement(instance)
    longest = longest_time(tables) if greedy is None else placement_time(tables, greedy, options)
    cap = longest or 1.0
    bound = combinatorial_bound(instance, tables).value
    return ModelData(
        model_tables(tables, cap, pruned=pruned),
        instance.free_gpus,
        min(max(bound, MIN_UNIT_RATIO * cap), cap),
        bottleneck and not instance.job.micro_batches,
    )


def _greedy_placement(instance: PlacementInstance) -> Ints | None:
    counts = heavy_edge_counts(graph_arrays(instance.job), instance.free_gpus)
    return None if unplaced(instance, counts) else counts


def build(data: ModelData, deadline: Deadline | None = None) -> pyo.ConcreteModel:
    deadline = deadline or Deadline()
    model = pyo.ConcreteModel(name="placement-vertex")
    declare_counts(model, data.replicas, data.gpus, data.free_gpus)
    replicas = [(s, r) for s, k in enumerate(data.replicas) for r in range(k)]
    model.REPLICAS = pyo.Set(dimen=2, initialize=replicas, doc="(s, r): replicas of a stage")
    _declare_variables(model, data)
    model.iteration_time = pyo.Objective(expr=model.alpha, doc=f"min alpha, in {data.unit!r} s")
    model.seconds = pyo.Expression(
        expr=data.unit * model.alpha, doc="U alpha: iteration time, in s"
    )
    families = [_add_replica_rows, _add_count_rows]
    if data.is_synchronous:
        families += [_add_pipeline_times]
    else:
        families += [_add_all_reduce_times, _add_iteration_time]
    for add_rows in families:
        deadline.check()
        add_rows(model, data)
    return model


def _declare_variables(model: pyo.ConcreteModel, data: ModelData) -> None:
    model.assign = pyo.Var(
        model.REPLICAS, model.SERVERS, domain=pyo.Binary, doc="y: replica r of stage s on server m"
    )
    model.holds = pyo.Var(
        model.COUNTS, domain=pyo.Binary, doc="n: server m holds v replicas of stage s"
    )
    if data.is_synchronous:
        declare_pipeline(model, data.unit)
    else:
        model.all_reduce = pyo.Var(
            model.STAGES,
            model.SERVERS,
            domain=pyo.NonNegativeReals,
            doc=f"R: all-reduce time, in {data.unit!r} s",
        )
    model.alpha = pyo.Var(bounds=(0, None), doc=f"alpha: iteration time, in {data.unit!r} s")
    model.count = pyo.Expression(
        model.STAGES,
        model.SERVERS,
        doc="x: replicas of stage s on server m",
        rule=lambda model, s, m: sum(model.assign[s, r, m] for r in range(data.replicas[s])),
    )
    model.present = pyo.Expression(
        model.STAGES,
        model.SERVERS,
        doc="z_sm: 1 where server m holds stage s",
        rule=lambda model, s, m: sum(model.holds[s, m, v] for v in data.counts(s, m)),
    )


def _add_replica_rows(model: pyo.ConcreteModel, data: ModelData) -> None:
    @model.Constraint(model.REPLICAS, doc="(V1) each replica is on one server")
    def one_server(model: pyo.ConcreteModel, s: int, r: int) -> pyo.Expression:
        return sum(model.assign[s, r, m] for m in model.SERVERS) == 1

    @model.Constraint(model.SERVERS, doc="(V2) a server takes at most the g_m GPUs it offers")
    def capacity(model: pyo.ConcreteModel, m: int) -> pyo.Expression:
        gpus = data.tables.gpus
        used = sum(int(gpus[s]) * model.assign[s, r, m] for s, r in model.REPLICAS)
        return used <= data.free_gpus[m]


def _add_count_rows(model: pyo.ConcreteModel, data: ModelData) -> None:
    @model.Constraint(model.STAGES, model.SERVERS, doc="(V3) count = assigned replicas")
    def counted(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        return model.count[s, m] == sum(v * model.holds[s, m, v] for v in data.counts(s, m))

    @model.Constraint(model.STAGES, model.SERVERS, doc="(V4) one count of a stage on a server")
    def one_count(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        return stated(model, model.present[s, m] <= 1)


def _add_all_reduce_times(model: pyo.ConcreteModel, data: ModelData) -> None:
    compared = model.SERVERS if data.bottleneck else [None]

    @model.Constraint(
        model.STAGES,
        model.SERVERS,
        compared,
        doc="(V5) R >= all-reduce time of the server's count ('own'), or of every server's",
    )
    def reduces(model: pyo.ConcreteModel, s: int, m: int, n: int | None) -> pyo.Expression:
        limiting = m if n is None else n
        time = data.tables.all_reduce[s] / data.unit
        return model.all_reduce[s, m] >= sum(
            float(time[v]) * model.holds[s, limiting, v] for v in data.counts(s, limiting)
        )


def _add_iteration_time(model: pyo.ConcreteModel, data: ModelData) -> None:
    @model.Constraint(
        model.STAGES, model.SERVERS, doc="(V6) alpha >= time of a stage on a server that holds it"
    )
    def slowest(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        time = _work(model, data, s, m) + model.all_reduce[s, m]
        finite = data.tables.all_reduce[s][np.isfinite(data.tables.all_reduce[s])]
        big_m = float(finite.max() + _max_neighbour_cost(data, s)) / data.unit
        return model.alpha >= time - big_m * (1 - model.present[s, m])


def _add_pipeline_times(model: pyo.ConcreteModel, data: ModelData) -> None:
    @model.Constraint(
        model.STAGES, model.SERVERS, doc="(V7) P_s >= work of a stage on a server that holds it"
    )
    def works(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        time = _work(model, data, s, m)
        big_m = _max_neighbour_cost(data, s) / data.unit
        return model.stage_work[s] >= time - big_m * (1 - model.present[s, m])

    @model.Constraint(
        model.STAGES, model.SERVERS, doc="(V8) A_s >= all-reduce of a stage on any server"
    )
    def longest_all_reduce(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        time = data.tables.all_reduce[s] / data.unit
        return model.stage_all_reduce[s] >= sum(
            float(time[v]) * model.holds[s, m, v] for v in data.counts(s, m)
        )

    add_pipeline_rows(model, data.tables, data.unit, ("(V9)", "(V10)", "(V11)"))


def _work(model: pyo.ConcreteModel, data: ModelData, s: int, m: int) -> pyo.Expression:
    """Time of a stage without its all-reduce, less the savings by co-located neighbours."""
    tables = data.tables
    experts = tables.experts[s] / data.unit
    own = sum(float(experts[v]) * model.holds[s, m, v] for v in data.counts(s, m) if experts[v])
    previous = model.count[s - 1, m] if s > 0 else 0
    following = model.count[s + 1, m] if s + 1 in model.STAGES else 0
    saved = (tables.saving_previous[s] * previous + tables.saving_next[s] * following) / data.unit
    return float(tables.remote_time[s]) / data.unit * model.present[s, m] + own - saved


def _max_neighbour_cost(data: ModelData, s: int) -> float:
    """Largest time, in seconds, that co-located neighbours can add; part of the big-M."""
    added = -min(data.tables.saving_previous[s], 0.0) - min(data.tables.saving_next[s], 0.0)
    return float(added * max(data.free_gpus, default=0))
