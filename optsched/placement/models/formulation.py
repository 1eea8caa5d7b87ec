"""Method ``ilp``: the strengthened MILP of placement, stated in Pyomo and started from a heuristic.

The mathematics, with the symbol table, is models/placement/README.md; each component's ``doc``
carries the number of its equation there. Times are in units of `ModelData.unit` (the incumbent's
iteration time), so that tolerances are relative. Guarantee: optimal at the requested gap when it
ends as "optimal"; at a time limit it returns the incumbent and the bound.
"""

import numpy as np
import pyomo.environ as pyo

from optsched.backends.models import build_and_solve
from optsched.backends.pyomo_solvers import require_solver
from optsched.backends.relations import stated
from optsched.backends.sizes import refuse_many_nonzeros
from optsched.deadline import Deadline, clock
from optsched.errors import NotApplicableError
from optsched.placement.bounds.combinatorial import (
    Bound,
    combinatorial_bound,
    min_pipeline_times,
)
from optsched.placement.cost import (
    Ints,
    all_reduce_counts,
    iteration_time,
    placement_time,
    tables_of,
    work_matrix,
)
from optsched.placement.heuristics.repartition import no_placement, starting_placement
from optsched.placement.instance import PlacementInstance, symmetric_server_pairs
from optsched.placement.models.parts import (
    ModelData,
    Terms,
    add_pipeline_rows,
    add_placement_rows,
    counts_from,
    declare_pipeline,
    ilp_nonzeros,
    longest_time,
    model_outcome,
    model_tables,
    with_reader,
)
from optsched.placement.options import PlacementOptions
from optsched.result import Outcome, Settings

ROUNDING = 1e-9
COMPLETE_MODEL_SLACK = 2.0
"""Factor on the upper bound of alpha in a complete model: HiGHS's presolve reports a model as
infeasible if the bounds of alpha differ by only `ROUNDING`."""


def ilp(instance: PlacementInstance, options: PlacementOptions, settings: Settings) -> Outcome:
    """Solve the strengthened MILP from the heuristic's placement and the combinatorial bound."""
    require_solver(settings.solver)
    start = starting_placement(instance, options, settings)
    if start.counts is None:
        return no_placement(start.termination)
    bound = combinatorial_bound(instance, tables_of(instance, options))
    return close_gap(instance, options, settings, start.counts, bound)


def close_gap(
    instance: PlacementInstance,
    options: PlacementOptions,
    settings: Settings,
    incumbent: Ints,
    bound: Bound,
) -> Outcome:
    """Solve the MILP between a proven lower bound and the time of an incumbent."""
    began = clock()
    settings.progress.report(iteration_time(instance, incumbent, options), bound.value)
    data = model_data(instance, options, incumbent, bound.value, pruned=True)

    def build_with_start() -> pyo.ConcreteModel:
        model = build(data, settings.deadline)
        set_start(model, data, incumbent)
        return model

    answer, model = build_and_solve(
        build_with_start,
        ilp_nonzeros(instance, min_counts=data.bottleneck),
        settings,
        began=began,
        start=True,
        cautious=True,  # HiGHS at a tolerance of 1e-9: see `backends.models.FINER`
        listener=settings.progress.of_model(data.unit),
    )
    placements = [incumbent]
    if model is not None and answer.has_solution:
        placements.append(counts_from(model, _terms(model)))
    return model_outcome(instance, options, settings, answer, placements, data.unit, bound)


def model(
    instance: PlacementInstance, options: PlacementOptions, *, pruned: bool = False
) -> pyo.ConcreteModel:
    """Build the model alone, complete or pruned to placements no slower than the heuristic's."""
    start = starting_placement(instance, options).counts
    bound = combinatorial_bound(instance, tables_of(instance, options)).value
    data = model_data(instance, options, start, bound, pruned=pruned)
    return with_reader(build(data), instance, _terms)


def _terms(model: pyo.ConcreteModel) -> Terms:
    return ((s, m, v, model.place[s, m, v, w]) for s, m, v, w in model.COLUMNS)


def model_data(
    instance: PlacementInstance,
    options: PlacementOptions,
    counts: Ints | None,
    bound: float,
    *,
    pruned: bool,
) -> ModelData:
    """Gather the model's data; without an incumbent the unit is the longest possible time."""
    bottleneck = options.all_reduce_bandwidth == "bottleneck" and not instance.job.micro_batches
    nonzeros = ilp_nonzeros(instance, min_counts=bottleneck)
    refuse_many_nonzeros("ilp", nonzeros, "use heavy-edge or repartition")
    tables = tables_of(instance, options)
    if not tables.savings_are_positive:
        raise NotApplicableError(
            "ilp", "g/B_inter below 1/B_intra", "a NIC share slower than the link inside a server"
        )
    longest = longest_time(tables) or 1.0
    unit = longest if counts is None else placement_time(tables, counts, options) or 1.0
    return ModelData(
        tables=model_tables(tables, unit, pruned=pruned),
        free_gpus=instance.free_gpus,
        unit=unit,
        bound=bound,
        upper_bound=unit if pruned else max(longest, unit),
        bottleneck=bottleneck,
        pruned=pruned,
    )


def build(data: ModelData, deadline: Deadline | None = None) -> pyo.ConcreteModel:
    deadline = deadline or Deadline()
    model = pyo.ConcreteModel(name="placement")
    _declare_sets(model, data)
    _declare_variables(model, data)
    model.iteration_time = pyo.Objective(expr=model.alpha, doc=f"min alpha, in {data.unit!r} s")
    model.seconds = pyo.Expression(
        expr=data.unit * model.alpha, doc="U alpha: iteration time, in s"
    )
    add_placement_rows(
        model,
        (data.replicas, data.gpus, data.free_gpus),
        lambda s, m: model.present[s, m],
        ("(1a)", "(1b)", "(1c)"),
    )
    families = [_add_saving_rows, _add_pipeline_times]
    if not data.is_synchronous:
        families = [_add_iteration_time, _add_saving_rows, _add_strengthened_bound]
    if data.pruned:
        families.append(_add_server_order)
    if data.bottleneck:
        families.append(_add_min_counts)
    for add_rows in families:
        deadline.check()
        add_rows(model, data)
    return model


def set_start(model: pyo.ConcreteModel, data: ModelData, counts: Ints) -> None:
    """Set the variables to a placement: the start handed to the solver."""
    counts = _ordered(data, counts) if data.pruned else counts
    shares = all_reduce_counts(counts, data.bottleneck)
    for s, m, v, w in model.COLUMNS:
        model.place[s, m, v, w] = int(counts[s, m] == v and shares[s, m] == w)
    for s, m in model.saving:
        previous = counts[s - 1, m] if s > 0 else 0
        following = counts[s + 1, m] if s + 1 < len(counts) else 0
        model.saving[s, m] = data.saving(s, previous, following) if counts[s, m] else 0.0
    for s, w in model.WIDTHS:
        model.least[s, w] = int(shares[s].max() == w)
    model.alpha = 1.0
    if data.is_synchronous:
        stage = np.arange(len(counts))[:, None]
        work = work_matrix(data.tables, counts).max(axis=1) / data.unit
        all_reduce = data.tables.all_reduce[stage, counts].max(axis=1) / data.unit
        for s in model.STAGES:
            model.stage_work[s], model.stage_all_reduce[s] = float(work[s]), float(all_reduce[s])
        model.slowest_work = float(work.max())
        model.exposed = float((all_reduce - data.tables.hidden / data.unit).max())


def _declare_sets(model: pyo.ConcreteModel, data: ModelData) -> None:
    model.STAGES = pyo.RangeSet(0, len(data.replicas) - 1, doc="s: stages")
    model.SERVERS = pyo.RangeSet(0, len(data.free_gpus) - 1, doc="m: servers")
    model.COLUMNS = pyo.Set(
        dimen=4,
        initialize=_columns(data),
        doc="(s, m, v, w): v replicas, all-reduce over w NIC shares",
    )
    widths = sorted({(s, w) for s, _, _, w in model.COLUMNS}) if data.bottleneck else []
    model.WIDTHS = pyo.Set(dimen=2, initialize=widths, doc="(s, w): minimum counts w of a stage")
    model.choices = {(s, m): [] for s in model.STAGES for m in model.SERVERS}
    for s, m, v, w in model.COLUMNS:
        model.choices[s, m].append((v, w))


def _declare_variables(model: pyo.ConcreteModel, data: ModelData) -> None:
    model.place = pyo.Var(
        model.COLUMNS, domain=pyo.Binary, doc="z: v replicas of stage s on server m, w NIC shares"
    )
    model.saving = pyo.Var(
        model.STAGES,
        model.SERVERS,
        domain=pyo.NonNegativeReals,
        doc=f"saving: time saved by neighbours, in {data.unit!r} s",
    )
    model.least = pyo.Var(
        model.WIDTHS, domain=pyo.Binary, doc="l: the minimum count of stage s on any server is w"
    )
    if data.is_synchronous:
        declare_pipeline(model, data.unit)
    low = min(data.bound / data.unit, 1.0) * (1 - ROUNDING)
    high = data.upper_bound / data.unit * (1 + ROUNDING if data.pruned else COMPLETE_MODEL_SLACK)
    model.alpha = pyo.Var(bounds=(low, high), doc=f"alpha: iteration time, in {data.unit!r} s")
    model.count = pyo.Expression(
        model.STAGES,
        model.SERVERS,
        doc="x: replicas of stage s on server m",
        rule=lambda model, s, m: sum(v * model.place[s, m, v, w] for v, w in model.choices[s, m]),
    )
    model.present = pyo.Expression(
        model.STAGES,
        model.SERVERS,
        doc="z_sm: 1 where server m holds stage s",
        rule=lambda model, s, m: sum(model.place[s, m, v, w] for v, w in model.choices[s, m]),
    )


def _add_saving_rows(model: pyo.ConcreteModel, data: ModelData) -> None:
    """Savings come from co-located neighbours; ms is `ModelData.max_saving`."""

    @model.Constraint(model.STAGES, model.SERVERS, doc="(2b) saving <= a x[s-1,m] + b x[s+1,m]")
    def neighbours(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        previous = model.count[s - 1, m] if s > 0 else 0
        following = model.count[s + 1, m] if s + 1 in model.STAGES else 0
        saved = data.saving(s, 1, 0) * previous + data.saving(s, 0, 1) * following
        return model.saving[s, m] <= saved

    @model.Constraint(model.STAGES, model.SERVERS, doc="(2c) saving <= ms z: 0 without the stage")
    def limited(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        return model.saving[s, m] <= sum(
            data.max_saving(s, m, v) * model.place[s, m, v, w] for v, w in model.choices[s, m]
        )


def _add_iteration_time(model: pyo.ConcreteModel, data: ModelData) -> None:
    """An asynchronous job waits for its slowest stage on the slowest server."""

    @model.Constraint(model.STAGES, model.SERVERS, doc="(2a) alpha >= base - saving")
    def slowest(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        base = sum(data.base(s, v, w) * model.place[s, m, v, w] for v, w in model.choices[s, m])
        return model.alpha >= base - model.saving[s, m]


def _add_strengthened_bound(model: pyo.ConcreteModel, data: ModelData) -> None:
    @model.Constraint(model.STAGES, model.SERVERS, doc="(3) alpha >= (base - ms) z")
    def at_best(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        return model.alpha >= sum(
            (data.base(s, v, w) - data.max_saving(s, m, v)) * model.place[s, m, v, w]
            for v, w in model.choices[s, m]
        )


def _add_pipeline_times(model: pyo.ConcreteModel, data: ModelData) -> None:
    """A synchronous job's time follows from each stage's slowest work and all-reduce."""

    @model.Constraint(model.STAGES, model.SERVERS, doc="(6a) P_s >= work - saving")
    def works(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        work = sum(data.work(s, v) * model.place[s, m, v, w] for v, w in model.choices[s, m])
        return model.stage_work[s] >= work - model.saving[s, m]

    @model.Constraint(model.STAGES, model.SERVERS, doc="(6b) P_s >= (work - ms) z")
    def works_at_best(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        return model.stage_work[s] >= sum(
            (data.work(s, v) - data.max_saving(s, m, v)) * model.place[s, m, v, w]
            for v, w in model.choices[s, m]
        )

    @model.Constraint(model.STAGES, model.SERVERS, doc="(6c) A_s >= all-reduce z")
    def reduces(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        return model.stage_all_reduce[s] >= sum(
            data.all_reduce(s, w) * model.place[s, m, v, w] for v, w in model.choices[s, m]
        )

    add_pipeline_rows(model, data.tables, data.unit, ("(6d)", "(6e)", "(6f)"))


def _add_server_order(model: pyo.ConcreteModel, data: ModelData) -> None:
    """Servers with equal free GPUs are ordered by sum_s (S - 1 - s) x[s,m]: early stages first."""
    pairs = symmetric_server_pairs(data.free_gpus)
    model.EQUAL = pyo.Set(dimen=2, initialize=pairs, doc="equal servers (m, next equal m)")
    last = len(data.replicas) - 1

    @model.Constraint(model.EQUAL, doc="(4) equal servers in order of their earlier stages")
    def ordered(model: pyo.ConcreteModel, m: int, n: int) -> pyo.Expression:
        first, second = (
            sum((last - s) * model.count[s, server] for s in model.STAGES) for server in (m, n)
        )
        return stated(model, first >= second)


def _add_min_counts(model: pyo.ConcreteModel, data: ModelData) -> None:
    """The minimum count of a stage on any server limits its all-reduce on all of them."""

    @model.Constraint(model.STAGES, doc="(5a) a stage has one minimum count")
    def one_least(model: pyo.ConcreteModel, s: int) -> pyo.Expression:
        return sum(model.least[s, w] for t, w in model.WIDTHS if t == s) == 1

    @model.Constraint(model.WIDTHS, model.SERVERS, doc="(5b) every server uses the minimum count")
    def common_width(model: pyo.ConcreteModel, s: int, w: int, m: int) -> pyo.Expression:
        used = [model.place[s, m, v, x] for v, x in model.choices[s, m] if x == w]
        return stated(model, sum(used) <= model.least[s, w])

    @model.Constraint(model.WIDTHS, doc="(5c) the minimum count is some server's count")
    def attained(model: pyo.ConcreteModel, s: int, w: int) -> pyo.Expression:
        holders = [m for m in model.SERVERS if (w, w) in model.choices[s, m]]
        return model.least[s, w] <= sum(model.place[s, m, w, w] for m in holders)


def _columns(data: ModelData) -> list[tuple[int, int, int, int]]:
    columns = [
        (s, m, v, w)
        for s, k in enumerate(data.replicas)
        for m in range(len(data.free_gpus))
        for v in data.counts(s, m)
        for w in (_min_counts(k, v) if data.bottleneck else [v])
    ]
    if not data.pruned:
        return columns
    min_times = np.zeros_like(data.tables.base)
    if data.is_synchronous:
        min_times = min_pipeline_times(data.tables, max(data.free_gpus)) / data.unit
    return [
        (s, m, v, w)
        for s, m, v, w in columns
        if data.base(s, v, w) - data.max_saving(s, m, v) <= 1 + ROUNDING
        and min_times[s, v] <= 1 + ROUNDING
    ]


def _min_counts(replicas: int, count: int) -> list[int]:
    """Minimum counts of a stage on any server if `count` of its replicas are on one."""
    if count == replicas:
        return [count]
    return [w for w in range(1, count + 1) if w + count <= replicas]


def _ordered(data: ModelData, counts: Ints) -> Ints:
    """Permute equal servers so that the start respects (4)."""
    ordered = counts.copy()
    weights = np.arange(len(counts))[::-1]
    for offer in set(data.free_gpus):
        group = [m for m, other in enumerate(data.free_gpus) if other == offer]
        by_rank = sorted(group, key=lambda m: -int(weights @ counts[:, m]))
        ordered[:, group] = counts[:, by_rank]
    return ordered
