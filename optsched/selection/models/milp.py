"""Method ``milp``: (P1) with every product linearised exactly, solved by HiGHS.

Guarantee: optimal at the requested gap when it ends as "optimal". Each product is binary x binary
or binary x bounded, so McCormick's inequalities are exact. Nodes and GPUs are individual, so the
model is symmetric; `patterns` has the same optimum without symmetry. Source: sts (P1);
models/selection/README.md.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import pyomo.environ as pyo

from optsched.deadline import Deadline
from optsched.result import Outcome, Settings
from optsched.selection.instance import SelectionInstance
from optsched.selection.models.formulation import FormulationData, Model, build_model, with_reader
from optsched.selection.models.minlp import (
    data_of,
    epoch_seconds,
    solve_p1,
    state_capacity,
    state_tardiness,
)
from optsched.selection.options import SelectionOptions


def milp(instance: SelectionInstance, options: SelectionOptions, settings: Settings) -> Outcome:
    """Select resources by the linearised MILP."""
    return solve_p1("milp", build, instance, options, settings, restarts=False)


def model(instance: SelectionInstance, options: SelectionOptions, *, pruned: bool = False) -> Model:
    data = data_of("milp", instance, options, pruned=pruned)
    return with_reader(build(data), data)


def build(data: FormulationData, deadline: Deadline | None = None) -> Model:
    products = (
        _declare_products,
        _fraction_on_gpu_is_product,
        _single_gpu_fraction_is_product,
        _seconds_by_usage_is_product,
        _leader_energy_is_product,
        partial(state_capacity, shared=_shared),
        partial(state_tardiness, epoch_seconds=_epoch_seconds),
        _energy,
    )
    return build_model(data, "selection-milp", products, deadline)


def _declare_products(model: Model, data: FormulationData) -> None:
    real = pyo.NonNegativeReals
    model.fraction_on_gpu = pyo.Var(
        model.JOBS, model.GPUS, model.FRACTIONS, domain=real, doc="phi_jf sigma_jg: f on GPU g"
    )
    model.single_gpu_fraction = pyo.Var(
        model.JOBS, model.NODES, model.FRACTIONS, domain=real, doc="xi_jin1 phi_jf: f of one GPU"
    )
    doc = f"e_jn gamma_nk: epoch while k GPUs are in use, in {data.seconds_unit!r} s"
    model.seconds_by_usage = pyo.Var(model.JOBS, model.USAGES, domain=real, doc=doc)
    doc = f"alpha_jn pi_jn: energy cost that job j sets, in {data.dollars_unit!r} dollars"
    model.leader_energy = pyo.Var(model.JOBS, model.NODES, domain=real, doc=doc)


def _fraction_on_gpu_is_product(model: Model, _: FormulationData) -> None:
    _linearise_product(
        model,
        "fraction_on_gpu",
        "(L1) product of binaries",
        fraction=lambda j, n, g, f: model.fraction[j, f],
        assigned=lambda j, n, g, f: model.assigned[j, n, g],
    )


def _single_gpu_fraction_is_product(model: Model, data: FormulationData) -> None:
    _linearise_product(
        model,
        "single_gpu_fraction",
        "(L2) product of binaries",
        configuration=lambda j, n, f: model.configuration[j, data.kind(n), n, 1],
        fraction=lambda j, n, f: model.fraction[j, f],
    )


def _linearise_product(model: Model, product: str, doc: str, **factors: Callable[..., Any]) -> None:
    """z <= x, z <= y and z >= x + y - 1 for a product z of two binaries (McCormick)."""
    z = getattr(model, product)
    rules = {
        f"{product}_le_{name}": lambda _, *at, factor=factor: z[at] <= factor(*at)
        for name, factor in factors.items()
    }
    x, y = factors.values()
    rules[f"{product}_ge_both"] = lambda _, *at: z[at] >= x(*at) + y(*at) - 1
    for name, rule in rules.items():
        setattr(model, name, pyo.Constraint(z.index_set(), rule=rule, doc=doc))


def _epoch_seconds(model: Model, data: FormulationData, j: int, n: int) -> Any:
    """e_jn in the product variables."""

    def single_gpu(seconds: float, slowdowns: list[float]) -> Any:
        return pyo.quicksum(
            seconds * slowdowns[f] * model.single_gpu_fraction[j, n, f] for f in model.FRACTIONS
        )

    return epoch_seconds(model, data, j, n, single_gpu)


def _max_epoch_seconds(data: FormulationData, j: int, n: int) -> float:
    """The largest e_jn: slowest whole GPUs, or one GPU at the largest slowdown."""
    t = data.kind(n)
    times = [data.epoch(j, t, k) or 0.0 for k in range(1, data.size(n) + 1)]
    return max(*times, times[0] * max(data.offered(t).values()))


def _seconds_by_usage_is_product(model: Model, data: FormulationData) -> None:
    @model.Constraint(model.JOBS, model.USAGES, doc="(L3) product with a binary")
    def seconds_by_usage_defined(m: Model, j: int, n: int, k: int) -> pyo.Expression:
        max_seconds = _max_epoch_seconds(data, j, n)
        return m.seconds_by_usage[j, n, k] >= _epoch_seconds(m, data, j, n) - max_seconds * (
            1 - m.usage[n, k]
        )


def _leader_energy_is_product(model: Model, data: FormulationData) -> None:
    @model.Constraint(model.JOBS, model.NODES, doc="(L4) product with a binary")
    def leader_energy_defined(m: Model, j: int, n: int) -> pyo.Expression:
        seconds = data.tables.works[j].mean * _max_epoch_seconds(data, j, n)
        max_energy = seconds * data.rate(n, data.size(n))
        return m.leader_energy[j, n] >= m.energy[j, n] - max_energy * (1 - m.first[j, n])


def _shared(m: Model, factor: float, j: int, n: int, g: int, f: int) -> Any:
    """Return `factor` * phi_jf sigma_jg."""
    return factor * m.fraction_on_gpu[j, n, g, f]


def _energy(model: Model, data: FormulationData) -> None:
    @model.Constraint(model.JOBS, model.NODES, doc="(21') energy until completion")
    def energy_defined(m: Model, j: int, n: int) -> pyo.Expression:
        mean = data.tables.works[j].mean
        sizes = range(1, data.size(n) + 1)
        paid = pyo.quicksum(mean * data.rate(n, k) * m.seconds_by_usage[j, n, k] for k in sizes)
        return paid <= m.energy[j, n]
