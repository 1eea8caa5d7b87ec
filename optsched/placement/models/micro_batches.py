"""An iteration of micro-batches in a model: alpha of each stage's slowest work and all-reduce.

The same in every formulation: ``equations`` are the numbers of its three rows in
models/placement/README.md.
"""

from __future__ import annotations

import pyomo.environ as pyo

from optsched.placement.cost import CostTables

SMALLEST = 1e-9
"""In units: HiGHS drops smaller coefficients from rows, and its presolve may then find none met."""


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
