"""What the formulations share: their data, counts of a solved model, and the rows of micro-batches.

``equations`` are the numbers of a formulation's rows in models/placement/README.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo

from optsched.placement.bounds.combinatorial import most_saving
from optsched.placement.cost import CostTables, Ints

SMALLEST = 1e-9
"""In units: HiGHS drops smaller coefficients from rows, and its presolve may then find none met."""


@dataclass(frozen=True)
class ModelData:
    """What a model is built from; times in seconds, `unit` is the model's.

    `bottleneck` says whether the stage's least count bounds its all-reduce; for micro-batches both
    readings are the same, since the slowest all-reduce of a stage counts. `bound` and
    `upper_bound` limit alpha; a `pruned` model has only placements up to the known one's time, and
    its tables are capped there.
    """

    tables: CostTables
    offers: tuple[int, ...]
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
        """q_s."""
        return [int(q) for q in self.tables.gpus]

    @property
    def is_synchronous(self) -> bool:
        """Whether the job has micro-batches."""
        return self.tables.micro_batches is not None

    def most(self, stage: int, server: int) -> int:
        """Replicas of a stage that a server can hold."""
        return min(self.replicas[stage], self.offers[server] // self.gpus[stage])

    def counts(self, stage: int, server: int) -> range:
        """Counts of a stage that a server can hold."""
        return range(1, self.most(stage, server) + 1)

    def base(self, stage: int, count: int, width: int) -> float:
        """base_s(v) in units: a stage's time with no neighbour near, all-reducing w shares wide."""
        tables = self.tables
        return float(tables.work[stage, count] + tables.all_reduce[stage, width]) / self.unit

    def work(self, stage: int, count: int) -> float:
        """base_s(v) in units without the all-reduce."""
        return float(self.tables.work[stage, count]) / self.unit

    def all_reduce(self, stage: int, width: int) -> float:
        """The all-reduce in units, w shares wide."""
        return float(self.tables.all_reduce[stage, width]) / self.unit

    def saving(self, stage: int, before: float, after: float) -> float:
        """a_s u + b_s w in units, for u replicas of the stage before and w of the one after."""
        tables = self.tables
        return (tables.before[stage] * before + tables.after[stage] * after) / self.unit

    def most_saving(self, stage: int, server: int, count: int) -> float:
        """ms(s, m, v) in units: the most that neighbours in the GPUs left over can save."""
        at = stage, self.offers[server] - count * self.gpus[stage]
        if at not in self._savings:
            self._savings[at] = float(most_saving(self.tables.costs, *at)) / self.unit
        return self._savings[at]

    @cached_property
    def _savings(self) -> dict[tuple[int, int], float]:
        return {}


def counts_from(model: pyo.ConcreteModel, terms: Iterable[tuple[int, int, int, Any]]) -> Ints:
    """Counts, stages x servers, of terms (stage, server, replicas, binary) of a solved model."""
    counts = np.zeros((len(model.STAGES), len(model.SERVERS)), dtype=np.int64)
    for s, m, replicas, binary in terms:
        counts[s, m] += replicas * round(pyo.value(binary))
    return counts


def model_tables(tables: CostTables, unit: float, *, pruned: bool) -> CostTables:
    """Tables with coefficients that a solver can tell apart, in units.

    Pruned, times are capped above the unit. For a sum over stages coefficients below 1e-9 are
    dropped.
    """
    capped = tables.capped(unit) if pruned else tables
    return capped if tables.micro_batches is None else capped.floored(SMALLEST * unit)


def declare_pipeline(model: pyo.ConcreteModel) -> None:
    """Declare what alpha is made of, in the model's unit; the model has the set STAGES."""
    model.stage_work = pyo.Var(
        model.STAGES, domain=pyo.NonNegativeReals, doc="P_s, slowest work of a stage on any server"
    )
    model.slowest_work = pyo.Var(domain=pyo.NonNegativeReals, doc="P, slowest work of any stage")
    model.stage_all_reduce = pyo.Var(
        model.STAGES, domain=pyo.NonNegativeReals, doc="A_s, slowest all-reduce of a stage"
    )
    model.exposed = pyo.Var(
        domain=pyo.NonNegativeReals, doc="E, all-reduce left after the last backward pass"
    )


def state_pipeline(
    model: pyo.ConcreteModel, tables: CostTables, unit: float, equations: tuple[str, str, str]
) -> None:
    """State alpha >= ((M - 1) P + sum P_s)/M + E, with P >= P_s and E >= A_s - hidden_s."""
    slowest, exposed, pipeline = equations
    parts = tables.parts

    @model.Constraint(model.STAGES, doc=f"{slowest} P >= P_s")
    def largest_work(model: pyo.ConcreteModel, s: int) -> pyo.Expression:
        return model.slowest_work >= model.stage_work[s]

    @model.Constraint(model.STAGES, doc=f"{exposed} E >= A_s - earlier stages' backward passes")
    def left_over(model: pyo.ConcreteModel, s: int) -> pyo.Expression:
        return model.exposed >= model.stage_all_reduce[s] - float(tables.hidden[s]) / unit

    @model.Constraint(doc=f"{pipeline} alpha >= ((M - 1) P + sum P_s)/M + E")
    def pipeline_time(model: pyo.ConcreteModel) -> pyo.Expression:
        work = sum(model.stage_work[s] for s in model.STAGES)
        steady = (parts - 1) / parts * model.slowest_work
        return model.alpha >= steady + work / parts + model.exposed


def longest_time(tables: CostTables) -> float:
    """Seconds that no placement exceeds if neighbours on a server only save time."""
    known = tables.all_reduce.copy()
    known[~(known < float("inf"))] = 0.0
    if tables.micro_batches is None:
        return float((tables.work + known).max())
    return tables.pipeline_time(tables.work.max(axis=1), known.max(axis=1))
