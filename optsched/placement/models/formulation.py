"""The strengthened MILP of placement: the model of record, stated in Pyomo.

The mathematics, with the symbol table, is models/placement/README.md; each component's ``doc``
carries the number of its equation there. Times are in units of `ModelData.unit` (the
best known iteration time), so that tolerances are relative.
"""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo

from optsched.backends.relations import stated
from optsched.backends.sizes import refuse_many_nonzeros
from optsched.deadline import Deadline
from optsched.errors import NotApplicableError
from optsched.placement.bounds.combinatorial import least_pipeline_times
from optsched.placement.cost import (
    Ints,
    all_reduce_counts,
    placement_time,
    tables_of,
    work_matrix,
)
from optsched.placement.instance import PlacementInstance, equal_neighbours
from optsched.placement.models.limits import count_nonzeros
from optsched.placement.models.parts import (
    ModelData,
    counts_from,
    declare_pipeline,
    longest_time,
    model_tables,
    state_pipeline,
)
from optsched.placement.options import PlacementOptions

ROUNDING = 1e-9
LOOSE = 2.0
"""Upper bound on alpha in a complete model over a time that no placement exceeds. HiGHS's presolve
takes a model for infeasible whose bounds on alpha meet but for `ROUNDING`."""
INSTEAD = "use heavy-edge or repartition"


def model_data(
    instance: PlacementInstance,
    options: PlacementOptions,
    counts: Ints | None,
    bound: float,
    *,
    pruned: bool,
) -> ModelData:
    """Gather the model's data; without a known placement the unit is the longest possible time."""
    bottleneck = options.all_reduce_bandwidth == "bottleneck" and not instance.job.micro_batches
    refuse_many_nonzeros("ilp", count_nonzeros(instance, widths=bottleneck), INSTEAD)
    tables = tables_of(instance, options)
    if not tables.savings_are_positive:
        raise NotApplicableError(
            "ilp", "g/B_inter below 1/B_intra", "a NIC share slower than the link inside a server"
        )
    most = longest_time(tables) or 1.0
    unit = most if counts is None else placement_time(tables, counts, options) or 1.0
    return ModelData(
        tables=model_tables(tables, unit, pruned=pruned),
        offers=instance.free_gpus,
        unit=unit,
        bound=bound,
        upper_bound=unit if pruned else max(most, unit),
        bottleneck=bottleneck,
        pruned=pruned,
    )


def build(data: ModelData, deadline: Deadline | None = None) -> pyo.ConcreteModel:
    """State the model; see `models/placement/README.md`. Raises OutOfTimeError at a deadline."""
    clock = deadline or Deadline()
    model = pyo.ConcreteModel(name="placement")
    _declare_sets(model, data)
    _declare_variables(model, data)
    model.iteration_time = pyo.Objective(expr=model.alpha, doc=f"min alpha, in {data.unit!r} s")
    times = (_slowest_work, _slowest_work_at_best, _slowest_all_reduce, _pipeline)
    for state in (
        _every_replica_is_placed,
        _servers_hold_their_offer,
        _one_count_a_server,
        *(() if data.is_synchronous else (_slowest_stage,)),
        _savings_come_from_neighbours,
        _savings_are_limited,
        *(times if data.is_synchronous else (_slowest_stage_at_best,)),
        *((_equal_servers_are_ordered,) if data.pruned else ()),
        _least_count_of_a_stage,
    ):
        clock.check()
        state(model, data)
    return model


def set_start(model: pyo.ConcreteModel, data: ModelData, counts: Ints) -> None:
    """Set the variables to a placement: the start handed to the solver."""
    counts = _ordered(data, counts) if data.pruned else counts
    width = all_reduce_counts(counts, data.bottleneck)
    for s, m, v, w in model.COLUMNS:
        model.place[s, m, v, w] = int(counts[s, m] == v and width[s, m] == w)
    for s, m in model.saving:
        before = counts[s - 1, m] if s > 0 else 0
        after = counts[s + 1, m] if s + 1 < len(counts) else 0
        model.saving[s, m] = data.saving(s, before, after) if counts[s, m] else 0.0
    for s, w in model.WIDTHS:
        model.least[s, w] = int(width[s].max() == w)
    model.alpha = 1.0
    if data.is_synchronous:
        _start_pipeline(model, data, counts)


def read_counts(model: pyo.ConcreteModel) -> Ints:
    """The counts, stages x servers, of the values in the model."""
    return counts_from(model, ((s, m, v, model.place[s, m, v, w]) for s, m, v, w in model.COLUMNS))


def _declare_sets(model: pyo.ConcreteModel, data: ModelData) -> None:
    model.STAGES = pyo.RangeSet(0, len(data.replicas) - 1, doc="s")
    model.SERVERS = pyo.RangeSet(0, len(data.offers) - 1, doc="m")
    model.COLUMNS = pyo.Set(
        dimen=4, initialize=_columns(data), doc="(s, m, v, w), v replicas as w shares"
    )
    widths = sorted({(s, w) for s, _, _, w in model.COLUMNS}) if data.bottleneck else []
    model.WIDTHS = pyo.Set(dimen=2, initialize=widths, doc="(s, w)")
    by_place: dict[tuple[int, int], list[tuple[int, int]]] = {
        (s, m): [] for s in model.STAGES for m in model.SERVERS
    }
    for s, m, v, w in model.COLUMNS:
        by_place[s, m].append((v, w))
    model.choices = by_place


def _declare_variables(model: pyo.ConcreteModel, data: ModelData) -> None:
    model.place = pyo.Var(
        model.COLUMNS, domain=pyo.Binary, doc="z: v replicas of stage s on server m, w shares wide"
    )
    model.saving = pyo.Var(
        model.STAGES, model.SERVERS, domain=pyo.NonNegativeReals, doc="time saved by neighbours"
    )
    model.least = pyo.Var(
        model.WIDTHS, domain=pyo.Binary, doc="q: the least count of stage s on any server is w"
    )
    if data.is_synchronous:
        declare_pipeline(model)
    low = min(data.bound / data.unit, 1.0) * (1 - ROUNDING)
    high = data.upper_bound / data.unit * (1 + ROUNDING if data.pruned else LOOSE)
    model.alpha = pyo.Var(bounds=(low, high), doc="alpha, iteration time")
    model.count = pyo.Expression(
        model.STAGES,
        model.SERVERS,
        doc="x: replicas of stage s on server m",
        rule=lambda model, s, m: sum(v * model.place[s, m, v, w] for v, w in model.choices[s, m]),
    )
    model.present = pyo.Expression(
        model.STAGES,
        model.SERVERS,
        doc="1 where server m holds stage s",
        rule=lambda model, s, m: sum(model.place[s, m, v, w] for v, w in model.choices[s, m]),
    )


def _every_replica_is_placed(model: pyo.ConcreteModel, data: ModelData) -> None:
    @model.Constraint(model.STAGES, doc="(1a) all k_s replicas of a stage are placed")
    def replicas(model: pyo.ConcreteModel, s: int) -> pyo.Expression:
        return stated(model, sum(model.count[s, m] for m in model.SERVERS) == data.replicas[s])


def _servers_hold_their_offer(model: pyo.ConcreteModel, data: ModelData) -> None:
    @model.Constraint(model.SERVERS, doc="(1b) a server takes at most the g_m GPUs it offers")
    def capacity(model: pyo.ConcreteModel, m: int) -> pyo.Expression:
        used = sum(data.gpus[s] * model.count[s, m] for s in model.STAGES)
        return stated(model, used <= data.offers[m])


def _one_count_a_server(model: pyo.ConcreteModel, data: ModelData) -> None:
    @model.Constraint(model.STAGES, model.SERVERS, doc="(1c) one count of a stage on a server")
    def one_count(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        return stated(model, model.present[s, m] <= 1)


def _slowest_stage(model: pyo.ConcreteModel, data: ModelData) -> None:
    @model.Constraint(model.STAGES, model.SERVERS, doc="(2a) alpha >= base - saving")
    def slowest(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        base = sum(data.base(s, v, w) * model.place[s, m, v, w] for v, w in model.choices[s, m])
        return model.alpha >= base - model.saving[s, m]


def _savings_come_from_neighbours(model: pyo.ConcreteModel, data: ModelData) -> None:
    @model.Constraint(model.STAGES, model.SERVERS, doc="(2b) saving <= a x[s-1,m] + b x[s+1,m]")
    def neighbours(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        before = model.count[s - 1, m] if s > 0 else 0
        after = model.count[s + 1, m] if s + 1 in model.STAGES else 0
        return model.saving[s, m] <= data.saving(s, 1, 0) * before + data.saving(s, 0, 1) * after


def _savings_are_limited(model: pyo.ConcreteModel, data: ModelData) -> None:
    @model.Constraint(model.STAGES, model.SERVERS, doc="(2c) saving <= ms z: none without a stage")
    def limited(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        most = sum(
            data.most_saving(s, m, v) * model.place[s, m, v, w] for v, w in model.choices[s, m]
        )
        return model.saving[s, m] <= most


def _slowest_stage_at_best(model: pyo.ConcreteModel, data: ModelData) -> None:
    @model.Constraint(model.STAGES, model.SERVERS, doc="(3) alpha >= (base - ms) z")
    def at_best(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        return model.alpha >= sum(
            (data.base(s, v, w) - data.most_saving(s, m, v)) * model.place[s, m, v, w]
            for v, w in model.choices[s, m]
        )


def _slowest_work(model: pyo.ConcreteModel, data: ModelData) -> None:
    @model.Constraint(model.STAGES, model.SERVERS, doc="(6a) P_s >= work - saving")
    def works(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        work = sum(data.work(s, v) * model.place[s, m, v, w] for v, w in model.choices[s, m])
        return model.stage_work[s] >= work - model.saving[s, m]


def _slowest_work_at_best(model: pyo.ConcreteModel, data: ModelData) -> None:
    @model.Constraint(model.STAGES, model.SERVERS, doc="(6b) P_s >= (work - ms) z")
    def works_at_best(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        return model.stage_work[s] >= sum(
            (data.work(s, v) - data.most_saving(s, m, v)) * model.place[s, m, v, w]
            for v, w in model.choices[s, m]
        )


def _slowest_all_reduce(model: pyo.ConcreteModel, data: ModelData) -> None:
    @model.Constraint(model.STAGES, model.SERVERS, doc="(6c) A_s >= all-reduce z")
    def reduces(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        return model.stage_all_reduce[s] >= sum(
            data.all_reduce(s, w) * model.place[s, m, v, w] for v, w in model.choices[s, m]
        )


def _pipeline(model: pyo.ConcreteModel, data: ModelData) -> None:
    state_pipeline(model, data.tables, data.unit, ("(6d)", "(6e)", "(6f)"))


def _equal_servers_are_ordered(model: pyo.ConcreteModel, data: ModelData) -> None:
    pairs = equal_neighbours(data.offers)
    model.EQUAL = pyo.Set(dimen=2, initialize=pairs, doc="equal servers (m, next equal m)")

    @model.Constraint(model.EQUAL, doc="(4) equal servers in order of their earlier stages")
    def ordered(model: pyo.ConcreteModel, m: int, n: int) -> pyo.Expression:
        return stated(model, _rank(model, m) >= _rank(model, n))


def _least_count_of_a_stage(model: pyo.ConcreteModel, data: ModelData) -> None:
    if not data.bottleneck:
        return

    @model.Constraint(model.STAGES, doc="(5a) a stage has one least count")
    def one_least(model: pyo.ConcreteModel, s: int) -> pyo.Expression:
        return sum(model.least[s, w] for t, w in model.WIDTHS if t == s) == 1

    @model.Constraint(model.WIDTHS, model.SERVERS, doc="(5b) every server uses the least count")
    def common_width(model: pyo.ConcreteModel, s: int, w: int, m: int) -> pyo.Expression:
        used = [model.place[s, m, v, x] for v, x in model.choices[s, m] if x == w]
        return stated(model, sum(used) <= model.least[s, w])

    @model.Constraint(model.WIDTHS, doc="(5c) the least count is some server's count")
    def attained(model: pyo.ConcreteModel, s: int, w: int) -> pyo.Expression:
        holders = [m for m in model.SERVERS if (w, w) in model.choices[s, m]]
        return model.least[s, w] <= sum(model.place[s, m, w, w] for m in holders)


def _columns(data: ModelData) -> list[tuple[int, int, int, int]]:
    every = [
        (s, m, v, w)
        for s, k in enumerate(data.replicas)
        for m in range(len(data.offers))
        for v in range(1, data.most(s, m) + 1)
        for w in (_common_widths(k, v) if data.bottleneck else [v])
    ]
    if not data.pruned:
        return every
    least = np.zeros_like(data.tables.base)
    if data.is_synchronous:
        least = least_pipeline_times(data.tables, max(data.offers)) / data.unit
    return [
        (s, m, v, w)
        for s, m, v, w in every
        if data.base(s, v, w) - data.most_saving(s, m, v) <= 1 + ROUNDING
        and least[s, v] <= 1 + ROUNDING
    ]


def _common_widths(replicas: int, count: int) -> list[int]:
    if count == replicas:
        return [count]
    return [w for w in range(1, count + 1) if w + count <= replicas]


def _rank(model: pyo.ConcreteModel, m: int) -> pyo.Expression:
    last = len(model.STAGES) - 1
    return sum((last - s) * model.count[s, m] for s in model.STAGES)


def _start_pipeline(model: pyo.ConcreteModel, data: ModelData, counts: Ints) -> None:
    stage = np.arange(len(counts))[:, None]
    work = work_matrix(data.tables, counts).max(axis=1) / data.unit
    reduce = data.tables.all_reduce[stage, counts].max(axis=1) / data.unit
    for s in model.STAGES:
        model.stage_work[s], model.stage_all_reduce[s] = float(work[s]), float(reduce[s])
    model.slowest_work = float(work.max())
    model.exposed = float((reduce - data.tables.hidden / data.unit).max())


def _ordered(data: ModelData, counts: Ints) -> Ints:
    """Permute equal servers so that the start respects (4)."""
    ordered = counts.copy()
    weights = np.arange(len(counts))[::-1]
    for offer in set(data.offers):
        group = [m for m, other in enumerate(data.offers) if other == offer]
        by_rank = sorted(group, key=lambda m: -int(weights @ counts[:, m]))
        ordered[:, group] = counts[:, by_rank]
    return ordered
