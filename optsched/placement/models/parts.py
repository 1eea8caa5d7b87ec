"""Shared parts of the formulations: data, sizes, common rows, and the outcome of a solved model.

``equations`` are the numbers of a formulation's rows in models/placement/README.md.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo

from optsched.backends.relations import stated
from optsched.backends.solver_result import SolverResult
from optsched.placement.bounds.combinatorial import Bound, max_saving
from optsched.placement.cost import CostTables, Ints, iteration_time
from optsched.placement.heuristics.heavy_edge import all_reduce_edges
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.placement.solution import PlacementSolution
from optsched.result import SOLVER_RTOL, Outcome, Settings, Termination, is_proved, termination_of

MIN_COEFFICIENT = 1e-9
"""In model units: HiGHS drops smaller coefficients from rows and may then report infeasible."""


@dataclass(frozen=True)
class ModelData:
    """Model data; `tables` are in seconds, `unit` is how many seconds one model time unit has.

    `bottleneck` says whether the stage's minimum count limits its all-reduce; with micro-batches
    both options are the same, since only the slowest all-reduce of a stage counts. `bound` and
    `upper_bound` limit alpha; a `pruned` model has only placements up to the incumbent's time, and
    its tables are capped there.
    """

    tables: CostTables
    free_gpus: tuple[int, ...]
    unit: float
    bottleneck: bool
    bound: float = 0.0
    upper_bound: float = math.inf
    pruned: bool = False

    @cached_property
    def replicas(self) -> list[int]:
        """k_s."""
        return [int(k) for k in self.tables.replicas]

    @cached_property
    def gpus(self) -> list[int]:
        return [int(q) for q in self.tables.gpus]

    @property
    def is_synchronous(self) -> bool:
        return self.tables.micro_batches is not None

    def counts(self, stage: int, server: int) -> range:
        """Counts of a stage that a server can hold."""
        capacity = self.free_gpus[server] // self.gpus[stage]
        return range(1, min(self.replicas[stage], capacity) + 1)

    def base(self, stage: int, count: int, shares: int) -> float:
        """base_s(v) in units without co-located neighbours; `shares` of the all-reduce's NIC."""
        tables = self.tables
        return float(tables.work[stage, count] + tables.all_reduce[stage, shares]) / self.unit

    def work(self, stage: int, count: int) -> float:
        """base_s(v) in units without the all-reduce."""
        return float(self.tables.work[stage, count]) / self.unit

    def all_reduce(self, stage: int, shares: int) -> float:
        """The all-reduce in units, with the NIC shares of so many replicas."""
        return float(self.tables.all_reduce[stage, shares]) / self.unit

    def saving(self, stage: int, previous: float, following: float) -> float:
        """a_s u + b_s w in units, for u replicas of the previous stage and w of the next."""
        tables = self.tables
        saved = tables.saving_previous[stage] * previous + tables.saving_next[stage] * following
        return saved / self.unit

    def max_saving(self, stage: int, server: int, count: int) -> float:
        """ms(s, m, v) in units: largest saving by neighbours on the server's remaining GPUs."""
        at = stage, self.free_gpus[server] - count * self.gpus[stage]
        if at not in self._savings:
            self._savings[at] = float(max_saving(self.tables.costs, *at)) / self.unit
        return self._savings[at]

    @cached_property
    def _savings(self) -> dict[tuple[int, int], float]:
        return {}


# Sizes, counted before anything of a model is built.


def ilp_nonzeros(instance: PlacementInstance, min_counts: bool = False) -> int:
    """Estimate the nonzeros of the ilp model.

    About 8 per binary of a stage, server and count (and minimum count, if `min_counts`), and 5 per
    stage and server.
    """
    capacity = _capacity(instance)
    binaries = capacity * (capacity + 1) // 2 if min_counts else capacity
    return int(8 * binaries.sum() + 5 * capacity.size)


def vertex_nonzeros(instance: PlacementInstance, bottleneck: bool) -> int:
    """Estimate the nonzeros of the vertex-level ILP: a binary per replica and server."""
    counts, servers = int(_capacity(instance).sum()), len(instance.free_gpus)
    rows = servers if bottleneck else 1
    return 5 * instance.job.replicas * servers + (4 + rows) * counts


def cut_nonzeros(instance: PlacementInstance) -> int:
    """Estimate the nonzeros of the minimum cut: pairs of counts, and for trees their edges."""
    capacity = _capacity(instance)
    total = int(6 * capacity.sum() + (capacity[:-1] * capacity[1:]).sum())
    if instance.job.all_reduce == "double-tree":
        stages = instance.job.stages
        edges = sum(len(all_reduce_edges(stage.replicas, "double-tree")) for stage in stages)
        total += (2 * instance.job.replicas + 4 * edges) * len(instance.free_gpus)
    return total


def _capacity(instance: PlacementInstance) -> Ints:
    """Replicas of a stage that a server can hold, stages x servers."""
    stages = instance.job.stages
    replicas = np.array([stage.replicas for stage in stages], dtype=np.int64)[:, None]
    gpus = np.array([stage.tensor_parallel for stage in stages], dtype=np.int64)[:, None]
    return np.minimum(replicas, np.array(instance.free_gpus, dtype=np.int64) // gpus)


# Times, in the coefficients of a model.


def model_tables(tables: CostTables, unit: float, *, pruned: bool) -> CostTables:
    """Cost tables with coefficients in a range that a solver can resolve.

    If pruned, times are capped at 2 units. With micro-batches, coefficients below 1e-9 units are
    dropped.
    """
    capped = tables.capped(unit) if pruned else tables
    return capped if tables.micro_batches is None else capped.floored(MIN_COEFFICIENT * unit)


def longest_time(tables: CostTables) -> float:
    """Upper bound on any placement's time, in seconds, if neighbours on a server only save time."""
    all_reduce = tables.all_reduce.copy()
    all_reduce[~(all_reduce < float("inf"))] = 0.0
    if tables.micro_batches is None:
        return float((tables.work + all_reduce).max())
    return tables.pipeline_time(tables.work.max(axis=1), all_reduce.max(axis=1))


# Sets and rows that several models have.


def declare_counts(
    model: pyo.ConcreteModel, replicas: Sequence[int], gpus: Sequence[int], free: Sequence[int]
) -> None:
    """Declare the sets of stages, servers, and the counts of a stage that a server can hold."""
    model.STAGES = pyo.RangeSet(0, len(replicas) - 1, doc="s: stages")
    model.SERVERS = pyo.RangeSet(0, len(free) - 1, doc="m: servers")
    held = [
        (s, m, v)
        for s, (k, q) in enumerate(zip(replicas, gpus, strict=True))
        for m, room in enumerate(free)
        for v in range(1, min(k, room // q) + 1)
    ]
    model.COUNTS = pyo.Set(dimen=3, initialize=held, doc="(s, m, v): v = 1..min(k_s, g_m/q_s)")


def add_placement_rows(
    model: pyo.ConcreteModel,
    instance_data: tuple[Sequence[int], Sequence[int], Sequence[int]],
    present: Callable[[int, int], pyo.Expression],
    equations: tuple[str, str, str],
) -> None:
    """State that counts are a placement, given k_s, q_s and g_m.

    sum_m x[s,m] = k_s,  sum_s q_s x[s,m] <= g_m,  and one count of a stage on a server.
    """
    replicas_of, gpus_of, free_gpus = instance_data

    @model.Constraint(model.STAGES, doc=f"{equations[0]} all k_s replicas of a stage are placed")
    def replicas(model: pyo.ConcreteModel, s: int) -> pyo.Expression:
        return stated(model, sum(model.count[s, m] for m in model.SERVERS) == replicas_of[s])

    @model.Constraint(model.SERVERS, doc=f"{equations[1]} a server takes at most its g_m free GPUs")
    def capacity(model: pyo.ConcreteModel, m: int) -> pyo.Expression:
        used = sum(gpus_of[s] * model.count[s, m] for s in model.STAGES)
        return stated(model, used <= free_gpus[m])

    @model.Constraint(
        model.STAGES, model.SERVERS, doc=f"{equations[2]} one count of a stage on a server"
    )
    def one_count(model: pyo.ConcreteModel, s: int, m: int) -> pyo.Expression:
        return stated(model, present(s, m) <= 1)


def declare_pipeline(model: pyo.ConcreteModel, unit: float) -> None:
    """Declare the pipeline variables, in units of so many seconds; the model has the set STAGES."""
    real, of = pyo.NonNegativeReals, f", in {unit!r} s"
    model.stage_work = pyo.Var(model.STAGES, domain=real, doc=f"P_s: slowest work of a stage{of}")
    model.slowest_work = pyo.Var(domain=real, doc=f"P: slowest work of any stage{of}")
    model.stage_all_reduce = pyo.Var(
        model.STAGES, domain=real, doc=f"A_s: slowest all-reduce of a stage{of}"
    )
    model.exposed = pyo.Var(domain=real, doc=f"exposed: all-reduce after all backward passes{of}")


def add_pipeline_rows(
    model: pyo.ConcreteModel, tables: CostTables, unit: float, equations: tuple[str, str, str]
) -> None:
    """State alpha >= ((mu - 1) P + sum P_s)/mu + exposed, P >= P_s, exposed >= A_s - hidden_s."""
    slowest, exposed, pipeline = equations
    micro_batches = tables.num_micro_batches

    @model.Constraint(model.STAGES, doc=f"{slowest} P >= P_s")
    def largest_work(model: pyo.ConcreteModel, s: int) -> pyo.Expression:
        return model.slowest_work >= model.stage_work[s]

    @model.Constraint(model.STAGES, doc=f"{exposed} exposed >= A_s - earlier backward passes")
    def left_over(model: pyo.ConcreteModel, s: int) -> pyo.Expression:
        return model.exposed >= model.stage_all_reduce[s] - float(tables.hidden[s]) / unit

    @model.Constraint(doc=f"{pipeline} alpha >= ((mu - 1) P + sum P_s)/mu + exposed")
    def pipeline_time(model: pyo.ConcreteModel) -> pyo.Expression:
        work = sum(model.stage_work[s] for s in model.STAGES)
        steady = (micro_batches - 1) / micro_batches * model.slowest_work
        return model.alpha >= steady + work / micro_batches + model.exposed


# What a solved model gives.

Terms = Iterable[tuple[int, int, int, Any]]
"""Stage, server, replicas and binary of each column of a model."""


def counts_from(model: pyo.ConcreteModel, terms: Terms) -> Ints:
    """Counts, stages x servers, of terms (stage, server, replicas, binary) of a solved model."""
    counts = np.zeros((len(model.STAGES), len(model.SERVERS)), dtype=np.int64)
    for s, m, replicas, binary in terms:
        counts[s, m] += replicas * round(pyo.value(binary))
    return counts


def with_reader(
    model: pyo.ConcreteModel, instance: PlacementInstance, terms: Callable[..., Terms]
) -> pyo.ConcreteModel:
    model.reader = lambda solved: PlacementSolution.of(
        instance.name, counts_from(solved, terms(solved)).tolist()
    )
    return model


def model_outcome(
    instance: PlacementInstance,
    options: PlacementOptions,
    settings: Settings,
    answer: SolverResult,
    placements: Sequence[Ints],
    unit: float,
    bound: Bound | None = None,
    details: Mapping[str, object] | None = None,
) -> Outcome:
    value, counts = min(
        ((iteration_time(instance, c, options), c) for c in placements), key=lambda pair: pair[0]
    )
    if answer.bound is not None and (bound is None or answer.bound * unit > bound.value):
        bound = Bound(min(max(answer.bound * unit, 0.0), value), str(answer.solver))
    gap = max(settings.gap, SOLVER_RTOL)
    proved = bound is not None and is_proved(value, bound.value, gap)
    return Outcome(
        PlacementSolution.of(instance.name, counts.tolist()),
        termination_of(proved, answer.termination is Termination.TIME_LIMIT),
        bound=None if bound is None else bound.value,
        bound_source=None if bound is None else bound.source,
        claimed=value,
        build_time=answer.build_time,
        solve_time=answer.solve_time,
        solver=answer.solver,
        trace=answer.scaled_trace(unit),
        details=details or {},
    )
