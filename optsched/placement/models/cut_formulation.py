"""Minimum cut of the job graph: minimises bytes between servers, not iteration time.

The cut ignores which server's NIC carries the bytes and how many replicas share it; the alpha of a
minimum cut can be several times the optimum. For rings counts suffice, since a contiguous arc of
the ring on each server is optimal; for trees each replica is modelled. Equations:
models/placement/README.md.
"""

import itertools

import pyomo.environ as pyo

from optsched.backends.models import build_and_solve
from optsched.backends.pyomo_solvers import require_solver
from optsched.backends.sizes import refuse_many_nonzeros
from optsched.deadline import Deadline, clock
from optsched.placement.heuristics.heavy_edge import (
    activation_weight,
    all_reduce_edges,
    all_reduce_weight,
    expert_weight,
    graph_arrays,
    heavy_edge_counts,
    unplaced,
)
from optsched.placement.heuristics.repartition import no_placement
from optsched.placement.instance import PlacementInstance
from optsched.placement.models.parts import (
    Terms,
    add_placement_rows,
    counts_from,
    cut_nonzeros,
    declare_counts,
    with_reader,
)
from optsched.placement.options import PlacementOptions
from optsched.placement.solution import PlacementSolution
from optsched.result import Outcome, Settings, Termination


def min_cut(instance: PlacementInstance, options: PlacementOptions, settings: Settings) -> Outcome:
    """Minimise the bytes cut; the outcome's objective is alpha, the cut is in its details.

    The options change alpha, never the placement. It proves nothing about alpha: an optimal cut has
    status "feasible"; at the time limit the status is "time-limit" and, without a cut, Heavy-Edge's
    placement is returned.
    """
    require_solver(settings.solver)
    began = clock()
    unit = total_weight(instance) or 1.0
    details: dict[str, object] = {}
    answer, model = build_and_solve(
        lambda: build(instance, settings.deadline), cut_nonzeros(instance), settings, began=began
    )
    if model is not None and answer.has_solution:
        counts = counts_from(model, _terms(model))
        details["cut_bytes"] = pyo.value(model.bytes_cut) * unit
        details["cut_bound_bytes"] = None if answer.bound is None else answer.bound * unit
    else:
        counts = heavy_edge_counts(graph_arrays(instance.job), instance.free_gpus)
        if answer.termination is Termination.INFEASIBLE or unplaced(instance, counts):
            return no_placement(answer.termination, answer.solver)
        details["message"] = "no cut by the time limit; returning Heavy-Edge's placement"
    details["cut_termination"] = answer.termination.value
    is_optimal_cut = answer.termination is Termination.OPTIMAL
    return Outcome(
        PlacementSolution.of(instance.name, counts.tolist()),
        Termination.FEASIBLE if is_optimal_cut else answer.termination,
        build_time=answer.build_time,
        solve_time=answer.solve_time,
        solver=answer.solver,
        details=details,
    )


def model(
    instance: PlacementInstance, options: PlacementOptions, *, pruned: bool = False
) -> pyo.ConcreteModel:
    """Build the model alone; `pruned` has no effect."""
    return with_reader(build(instance), instance, _terms)


def _terms(model: pyo.ConcreteModel) -> Terms:
    return ((s, m, v, model.holds[s, m, v]) for s, m, v in model.COUNTS)


def total_weight(instance: PlacementInstance) -> float:
    """Bytes on all edges of the job graph: the model's unit."""
    stages, kind = instance.job.stages, instance.job.all_reduce
    total = 0.0
    for stage in stages:
        edges = sum(all_reduce_edges(stage.replicas, kind).values())
        pairs = stage.replicas * (stage.replicas - 1) / 2
        total += all_reduce_weight(stage, kind) * edges + expert_weight(stage) * pairs
    for stage, following in itertools.pairwise(stages):
        total += activation_weight(stage, following) * stage.replicas * following.replicas
    return total


def build(instance: PlacementInstance, deadline: Deadline | None = None) -> pyo.ConcreteModel:
    deadline = deadline or Deadline()
    refuse_many_nonzeros("min-cut", cut_nonzeros(instance), "use heavy-edge")
    model = pyo.ConcreteModel(name="placement-cut")
    families = [_add_placement, _add_colocated_pairs]
    families.append(_ring_edges_cut if instance.job.all_reduce == "ring" else _tree_edges_cut)
    if _has_experts(instance):
        families.append(_expert_edges_cut)
    families.append(_add_objective)
    for add_part in families:
        deadline.check()
        add_part(model, instance)
    return model


def _add_placement(model: pyo.ConcreteModel, instance: PlacementInstance) -> None:
    stages = instance.job.stages
    replicas = [stage.replicas for stage in stages]
    gpus = [stage.tensor_parallel for stage in stages]
    declare_counts(model, replicas, gpus, instance.free_gpus)
    model.holds = pyo.Var(
        model.COUNTS, domain=pyo.Binary, doc="n: server m holds v replicas of stage s"
    )
    model.count = pyo.Expression(
        model.STAGES,
        model.SERVERS,
        doc="x: replicas of stage s on server m",
        rule=lambda model, s, m: sum(v * model.holds[s, m, v] for v in _counts(instance, s, m)),
    )
    add_placement_rows(
        model,
        (replicas, gpus, instance.free_gpus),
        lambda s, m: sum(model.holds[s, m, v] for v in _counts(instance, s, m)),
        ("(C1)", "(C2)", "(C3)"),
    )


def _add_colocated_pairs(model: pyo.ConcreteModel, instance: PlacementInstance) -> None:
    """Pairs x[s,m] x[s+1,m] inside a server: the product, linearised over the counts v."""
    stages = instance.job.stages
    joined = [(s, m, v) for s, m, v in model.COUNTS if s + 1 < len(stages)]
    model.JOINED = pyo.Set(dimen=3, initialize=joined, doc="(s, m, v): counts with a stage s + 1")
    model.together = pyo.Var(
        model.JOINED,
        domain=pyo.NonNegativeReals,
        doc="p: replicas of stage s + 1 on server m while it holds v of stage s",
    )

    @model.Constraint(model.JOINED, doc="(C4) p <= x[s+1,m]")
    def as_many(model: pyo.ConcreteModel, s: int, m: int, v: int) -> pyo.Expression:
        return model.together[s, m, v] <= model.count[s + 1, m]

    @model.Constraint(
        model.JOINED, doc="(C5) p <= min(k_{s+1}, room beside v) n: only for the count v held"
    )
    def only_then(model: pyo.ConcreteModel, s: int, m: int, v: int) -> pyo.Expression:
        stage, following = stages[s], stages[s + 1]
        room = instance.free_gpus[m] - stage.tensor_parallel * v
        max_next = min(following.replicas, room // following.tensor_parallel)
        return model.together[s, m, v] <= max_next * model.holds[s, m, v]


def _ring_edges_cut(model: pyo.ConcreteModel, instance: PlacementInstance) -> None:
    """A server with some but not all replicas cuts 2 edges (1 if k = 2), counted at both ends."""

    def reduced(model: pyo.ConcreteModel, s: int) -> pyo.Expression:
        k = instance.job.stages[s].replicas
        edges = 1 if k == 2 else 2
        partial = sum(
            model.holds[s, m, v] for m in model.SERVERS for v in _counts(instance, s, m) if v < k
        )
        return 0.5 * edges * partial

    model.all_reduce_cut = pyo.Expression(
        model.STAGES, rule=reduced, doc="(C6) all-reduce edges cut, ring"
    )


def _tree_edges_cut(model: pyo.ConcreteModel, instance: PlacementInstance) -> None:
    stages = instance.job.stages
    edges = [
        (s, a, b)
        for s, stage in enumerate(stages)
        for a, b in all_reduce_edges(stage.replicas, "double-tree")
    ]
    replicas = [(s, r) for s, stage in enumerate(stages) for r in range(stage.replicas)]
    model.REPLICAS = pyo.Set(dimen=2, initialize=replicas, doc="(s, r): replicas of a stage")
    model.EDGES = pyo.Set(dimen=3, initialize=edges, doc="(s, a, b): tree edges")
    model.assign = pyo.Var(
        model.REPLICAS, model.SERVERS, domain=pyo.Binary, doc="y: replica r of stage s on server m"
    )
    model.inside = pyo.Var(
        model.EDGES, model.SERVERS, bounds=(0, 1), doc="e: edge (a, b) inside server m"
    )

    @model.Constraint(model.REPLICAS, doc="(C7) each replica is on one server")
    def one_server(model: pyo.ConcreteModel, s: int, r: int) -> pyo.Expression:
        return sum(model.assign[s, r, m] for m in model.SERVERS) == 1

    @model.Constraint(model.STAGES, model.SERVERS, doc="(C8) as many replicas as counted")
    def counted(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        assigned = sum(model.assign[t, r, m] for t, r in model.REPLICAS if t == s)
        return assigned == model.count[s, m]

    @model.Constraint(model.EDGES, model.SERVERS, doc="(C9) e <= y at one end")
    def first_end(model: pyo.ConcreteModel, s: int, a: int, b: int, m: int) -> pyo.Expression:
        return model.inside[s, a, b, m] <= model.assign[s, a, m]

    @model.Constraint(model.EDGES, model.SERVERS, doc="(C10) e <= y at the other end")
    def second_end(model: pyo.ConcreteModel, s: int, a: int, b: int, m: int) -> pyo.Expression:
        return model.inside[s, a, b, m] <= model.assign[s, b, m]

    def reduced(model: pyo.ConcreteModel, s: int) -> pyo.Expression:
        edges_of_stage = all_reduce_edges(stages[s].replicas, "double-tree")
        return sum(
            multiplicity * (1 - sum(model.inside[s, a, b, m] for m in model.SERVERS))
            for (a, b), multiplicity in edges_of_stage.items()
        )

    model.all_reduce_cut = pyo.Expression(
        model.STAGES, rule=reduced, doc="(C6) all-reduce edges cut, double tree"
    )


def _expert_edges_cut(model: pyo.ConcreteModel, instance: PlacementInstance) -> None:
    """Pairs of replicas of a stage on different servers."""

    def pairs(model: pyo.ConcreteModel, s: int) -> pyo.Expression:
        k = instance.job.stages[s].replicas
        together = sum(
            v * (v - 1) / 2 * model.holds[s, m, v]
            for m in model.SERVERS
            for v in _counts(instance, s, m)
        )
        return k * (k - 1) / 2 - together

    model.expert_cut = pyo.Expression(
        model.STAGES, rule=pairs, doc="(C11) all-to-all: pairs on different servers"
    )


def _has_experts(instance: PlacementInstance) -> bool:
    return any(stage.expert_bytes for stage in instance.job.stages)


def _add_objective(model: pyo.ConcreteModel, instance: PlacementInstance) -> None:
    stages, kind = instance.job.stages, instance.job.all_reduce
    unit = total_weight(instance) or 1.0
    reduced = sum(
        all_reduce_weight(stages[s], kind) / unit * model.all_reduce_cut[s] for s in model.STAGES
    )
    sent: pyo.Expression = 0
    for s, (stage, following) in enumerate(itertools.pairwise(stages)):
        inside = sum(v * model.together[t, m, v] for t, m, v in model.JOINED if t == s)
        pairs = stage.replicas * following.replicas
        sent += activation_weight(stage, following) / unit * (pairs - inside)
    if _has_experts(instance):
        sent += sum(expert_weight(stages[s]) / unit * model.expert_cut[s] for s in model.STAGES)
    model.bytes_cut = pyo.Objective(expr=reduced + sent, doc="(C0) min bytes cut / total bytes")


def _counts(instance: PlacementInstance, s: int, m: int) -> range:
    stage = instance.job.stages[s]
    return range(1, min(stage.replicas, instance.free_gpus[m] // stage.tensor_parallel) + 1)
