"""Method ``milp``: (P1) with every product linearised exactly, solved by HiGHS.

Guarantee: optimal at the requested gap when it ends as "optimal". Each product is binary x binary
or binary x bounded, so McCormick's inequalities are exact. Nodes and GPUs are individual, so the
model is symmetric; `patterns` has the same optimum without symmetry. Source: sts (P1);
models/selection/README.md.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pyomo.environ as pyo

from optsched.deadline import Deadline
from optsched.result import Outcome, Settings
from optsched.selection.instance import SelectionInstance
from optsched.selection.models.formulation import FormulationData, build_model
from optsched.selection.models.minlp import (
    data_of,
    solve_p1,
    state_gpu_capacity,
    state_memory,
    state_tardiness,
)
from optsched.selection.options import SelectionOptions


def milp(instance: SelectionInstance, options: SelectionOptions, settings: Settings) -> Outcome:
    """Select resources by the linearised MILP."""
    return solve_p1("milp", build, instance, options, settings, restarts=False)


def model(
    instance: SelectionInstance, options: SelectionOptions, *, pruned: bool = False
) -> pyo.ConcreteModel:
    """Build the model alone, as `optsched.build_model` and `optsched export` show it."""
    return build(data_of("milp", instance, options, pruned=pruned))


def build(data: FormulationData, deadline: Deadline | None = None) -> pyo.ConcreteModel:
    """State the model; see `models/selection/README.md`. Raises OutOfTimeError at a deadline."""
    products = (
        _declare_products,
        _fraction_on_gpu_is_product,
        _single_gpu_fraction_is_product,
        _seconds_by_usage_is_product,
        _leader_energy_is_product,
        partial(state_gpu_capacity, shared=_shared),
        partial(state_memory, shared=_shared),
        partial(state_tardiness, epoch_seconds=_epoch_seconds),
        _energy,
    )
    return build_model(data, "selection-milp", products, deadline)


def _declare_products(model: pyo.ConcreteModel, data: FormulationData) -> None:
    real = pyo.NonNegativeReals
    model.fraction_on_gpu = pyo.Var(
        model.JOBS, model.GPUS, model.FRACTIONS, domain=real, doc="phi_jf sigma_jg"
    )
    model.single_gpu_fraction = pyo.Var(
        model.JOBS, model.NODES, model.FRACTIONS, domain=real, doc="xi_jin1 phi_jf"
    )
    model.seconds_by_usage = pyo.Var(model.JOBS, model.USAGES, domain=real, doc="e_jn gamma_nk")
    model.leader_energy = pyo.Var(model.JOBS, model.NODES, domain=real, doc="alpha_jn pi_jn")


def _fraction_on_gpu_is_product(model: pyo.ConcreteModel, _: FormulationData) -> None:
    sets = (model.JOBS, model.GPUS, model.FRACTIONS)
    model.fraction_on_gpu_le_fraction = pyo.Constraint(
        *sets,
        rule=lambda m, j, n, g, f: m.fraction_on_gpu[j, n, g, f] <= m.fraction[j, f],
        doc="(L1)",
    )
    model.fraction_on_gpu_le_assigned = pyo.Constraint(
        *sets,
        rule=lambda m, j, n, g, f: m.fraction_on_gpu[j, n, g, f] <= m.assigned[j, n, g],
        doc="(L1)",
    )
    model.fraction_on_gpu_ge_both = pyo.Constraint(
        *sets,
        rule=lambda m, j, n, g, f: (
            m.fraction_on_gpu[j, n, g, f] >= m.fraction[j, f] + m.assigned[j, n, g] - 1
        ),
        doc="(L1)",
    )


def _single_gpu_fraction_is_product(model: pyo.ConcreteModel, data: FormulationData) -> None:
    def one_gpu(m: pyo.ConcreteModel, j: int, n: int) -> object:
        return m.configuration[j, data.kind(n), n, 1]

    sets = (model.JOBS, model.NODES, model.FRACTIONS)
    model.single_gpu_fraction_le_configuration = pyo.Constraint(
        *sets,
        rule=lambda m, j, n, f: m.single_gpu_fraction[j, n, f] <= one_gpu(m, j, n),
        doc="(L2)",
    )
    model.single_gpu_fraction_le_fraction = pyo.Constraint(
        *sets,
        rule=lambda m, j, n, f: m.single_gpu_fraction[j, n, f] <= m.fraction[j, f],
        doc="(L2)",
    )
    model.single_gpu_fraction_ge_both = pyo.Constraint(
        *sets,
        rule=lambda m, j, n, f: (
            m.single_gpu_fraction[j, n, f] >= one_gpu(m, j, n) + m.fraction[j, f] - 1
        ),
        doc="(L2)",
    )


def _epoch_seconds(model: pyo.ConcreteModel, data: FormulationData, j: int, n: int) -> Any:
    """e_jn in the product variables."""
    t = data.kind(n)
    one = data.epoch(j, t, 1)
    if one is None:
        return 0.0
    offered = data.offered(t)
    return pyo.quicksum(
        one * offered.get(data.fractions[f], 1.0) * model.single_gpu_fraction[j, n, f]
        for f in model.FRACTIONS
    ) + pyo.quicksum(
        (data.epoch(j, t, k) or 0.0) * model.configuration[j, t, n, k]
        for k in range(2, data.size(n) + 1)
    )


def _max_epoch_seconds(data: FormulationData, j: int, n: int) -> float:
    """The largest e_jn: slowest whole GPUs, or one GPU at the largest slowdown."""
    t = data.kind(n)
    times = [data.epoch(j, t, k) or 0.0 for k in range(1, data.size(n) + 1)]
    return max(*times, times[0] * max(data.offered(t).values()))


def _seconds_by_usage_is_product(model: pyo.ConcreteModel, data: FormulationData) -> None:
    def rule(m: pyo.ConcreteModel, j: int, n: int, k: int) -> object:
        max_seconds = _max_epoch_seconds(data, j, n)
        return m.seconds_by_usage[j, n, k] >= _epoch_seconds(m, data, j, n) - max_seconds * (
            1 - m.usage[n, k]
        )

    model.seconds_by_usage_defined = pyo.Constraint(model.JOBS, model.USAGES, rule=rule, doc="(L3)")


def _leader_energy_is_product(model: pyo.ConcreteModel, data: FormulationData) -> None:
    def rule(m: pyo.ConcreteModel, j: int, n: int) -> object:
        seconds = data.tables.works[j].mean * _max_epoch_seconds(data, j, n)
        max_energy = seconds * data.rate(n, data.size(n))
        return m.leader_energy[j, n] >= m.energy[j, n] - max_energy * (1 - m.first[j, n])

    model.leader_energy_defined = pyo.Constraint(model.JOBS, model.NODES, rule=rule, doc="(L4)")


def _shared(m: pyo.ConcreteModel, factor: float, j: int, n: int, g: int, f: int) -> Any:
    """Return `factor` * phi_jf sigma_jg."""
    return factor * m.fraction_on_gpu[j, n, g, f]


def _energy(model: pyo.ConcreteModel, data: FormulationData) -> None:
    def rule(m: pyo.ConcreteModel, j: int, n: int) -> object:
        mean = data.tables.works[j].mean
        sizes = range(1, data.size(n) + 1)
        paid = pyo.quicksum(mean * data.rate(n, k) * m.seconds_by_usage[j, n, k] for k in sizes)
        return paid <= m.energy[j, n]

    model.energy_defined = pyo.Constraint(model.JOBS, model.NODES, rule=rule, doc="(21')")
