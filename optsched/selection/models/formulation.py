"""Sets, variables and linear constraints of (P1) of sts, corrected.

`minlp` adds the products as they are printed, `milp` their exact linearisation. The mathematics,
with the symbol table and every erratum, is models/selection/README.md; each component's ``doc``
carries its equation, primed where corrected. Seconds and dollars are scaled by `seconds_unit` and
`dollars_unit`, so that tolerances are relative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from optsched.backends.sizes import refuse_many_nonzeros
from optsched.deadline import Deadline
from optsched.selection.assignment import Assignment, Placement
from optsched.selection.cost import Floats, Tables

ONE_GPU = Fraction(1)
MAX_UNITS = 1e6
"""Largest right-hand side in units of seconds; solver tolerances are about 1e-9."""
MAX_COEFFICIENT = 1e9
"""Largest ratio of a cost to the unit of money: beyond 1e15 solvers refuse a row."""

State = Callable[[pyo.ConcreteModel, "FormulationData"], None]
"""Function that adds one constraint family."""


@dataclass(frozen=True, eq=False)
class FormulationData:
    """What (P1) is built from: tables, and the indices of GPUs and fractions."""

    tables: Tables
    gpus: tuple[tuple[int, int], ...]
    """G: every GPU of the cluster, as (node, index)."""
    fractions: tuple[Fraction, ...]
    """F: the union of the types' fractions, and 1."""
    incumbent: float | None = None
    """Expected cost of a known selection; None: complete model.

    If given, the model is valid only for selections that cost no more: variables that alone exceed
    it are fixed, the unavoidable cost becomes a constant, and money is scaled by the rest.
    """

    @cached_property
    def slack_dollars(self) -> float:
        """Dollars by which any job's choice may exceed its cheapest one; infinite if complete."""
        if self.incumbent is None:
            return np.inf
        paid = self.tables.unavoidable_cost
        return (self.incumbent - paid) * (1 + 1e-9) + 1e-12 * self.incumbent + self.tables.rounding

    @cached_property
    def must_run(self) -> NDArray[np.bool_]:
        """Jobs whose postponement alone costs more than the incumbent."""
        return self.tables.postponement_cost - self.tables.min_cost > self.slack_dollars

    @cached_property
    def usable(self) -> NDArray[np.bool_]:
        """(J, T, C): configurations that exist and whose tardiness alone stays within the slack."""
        excess = self.tables.tardiness_cost - self.tables.min_cost[:, None, None]
        return np.isfinite(excess) & (excess <= self.slack_dollars)

    @cached_property
    def min_epoch_seconds(self) -> Floats:
        """Seconds per epoch that each job needs in any case: 0 where it may be postponed."""
        fastest = np.where(self.usable, self.tables.seconds, np.inf).min(axis=(1, 2))
        return np.where(self.must_run, fastest, 0.0)

    @cached_property
    def slowest(self) -> Floats:
        """Seconds per epoch of each job's slowest configuration."""
        return np.where(np.isfinite(self.tables.seconds), self.tables.seconds, 0.0).max(axis=(1, 2))

    def in_time(self, j: int, s: int) -> float:
        """Effective due date of scenario s beside an incumbent, in seconds."""
        due = float(self.tables.due[j])
        if self.incumbent is None:
            return due
        epochs = float(self.tables.works[j].values[s])
        last = epochs * float(self.slowest[j])  # a later due date is always met
        return max(min(due, last), epochs * float(self.min_epoch_seconds[j]))

    @cached_property
    def paid(self) -> float:
        """Dollars of the tardiness that every selection pays: a constant of the objective."""
        return sum(
            float(self.tables.weights[j] * chance)
            * max(self.in_time(j, s) - float(self.tables.due[j]), 0.0)
            for j, work in enumerate(self.tables.works)
            for s, chance in enumerate(work.probabilities)
        )

    @cached_property
    def seconds_unit(self) -> float:
        """Seconds of the longest expected completion; larger if due dates are extreme."""
        if self.incumbent is not None:
            return self.tables.max_expected_seconds
        latest = float((np.abs(self.tables.due) + self.tables.instance.interval).max())
        return max(self.tables.max_expected_seconds, latest / MAX_UNITS)

    def worst_tardiness_unit(self, j: int) -> float:
        """Unit of tau_bar_j in seconds: its value beside an incumbent, 0 where it is none."""
        if self.incumbent is None:
            return self.seconds_unit
        return 0.0 if self.must_run[j] else max(float(self.tables.worst_tardiness[j]), 0.0)

    @cached_property
    def dollars_unit(self) -> float:
        """The tables' unit, at least the largest energy if nodes must open; or the open cost."""
        if self.incumbent is None and not self.tables.options.opens_exactly:
            return self.tables.money_unit
        max_energy = (
            max(node.cost_rate[-1] for node in self.tables.instance.nodes) * self.seconds_unit
        )
        if self.incumbent is None:
            return max(self.tables.money_unit, max_energy)
        return max(self.slack_dollars, max_energy / MAX_COEFFICIENT)

    @property
    def nodes(self) -> int:
        """|N|."""
        return len(self.tables.kind_of)

    @property
    def nonzeros(self) -> int:
        """Estimated number of nonzeros, mostly from the linearised products."""
        widest = max(node.gpus for node in self.tables.instance.nodes)
        scenarios = sum(len(work.values) for work in self.tables.works)
        per_pair = 10 * len(self.fractions) + 6 * len(self.tables.kinds) + widest + 6
        epoch_seconds = self.nodes * len(self.fractions) + len(self.gpus)
        return len(self.gpus) * self.tables.jobs * per_pair + scenarios * epoch_seconds

    def size(self, n: int) -> int:
        """K_n."""
        return self.tables.instance.nodes[n].gpus

    def kind(self, n: int) -> int:
        """The GPU type of a node."""
        return int(self.tables.kind_of[n])

    def rate(self, n: int, used: int) -> float:
        """c_nk in dollar units per second unit."""
        rate = self.tables.instance.nodes[n].cost_rate[used - 1]
        return rate * self.seconds_unit / self.dollars_unit

    def weight(self, j: int) -> float:
        """eta_j in dollar units per second unit."""
        weight = self.tables.instance.jobs[j].tardiness_weight
        return weight * self.seconds_unit / self.dollars_unit

    def epoch(self, j: int, t: int, k: int) -> float | None:
        """et_jik: second units per epoch on k whole GPUs; None where it cannot run so."""
        value = float(self.tables.seconds[j, t, k - 1]) / self.seconds_unit
        return value if value < float("inf") else None

    def offered(self, t: int) -> dict[Fraction, float]:
        """Fractions that a type offers, with b_f; 1 among them."""
        kind = self.tables.kinds[t]
        gpu = self.tables.instance.gpu_types[kind.name]
        fractions = [kind.configurations[c].fraction for c in kind.fractions]
        return {ONE_GPU: 1.0} | {f: gpu.slowdown_of(f) for f in fractions}

    def configuration(self, t: int, gpus: int, fraction: Fraction) -> int:
        """Index of a configuration in its type."""
        kind = self.tables.kinds[t]
        if fraction == ONE_GPU:
            return gpus - 1
        return next(c for c in kind.fractions if kind.configurations[c].fraction == fraction)


def formulation_data(
    tables: Tables, method: str, incumbent: float | None = None
) -> FormulationData:
    """Gather the data; raises NotApplicableError where the model would be too large."""
    gpus = tuple((n, g) for n, node in enumerate(tables.instance.nodes) for g in range(node.gpus))
    fractions = {ONE_GPU} | {c.fraction for kind in tables.kinds for c in kind.configurations}
    data = FormulationData(tables, gpus, tuple(sorted(fractions, reverse=True)), incumbent)
    refuse_many_nonzeros(method, data.nonzeros, "use patterns or columns")
    return data


def build_model(
    data: FormulationData, name: str, products: Iterable[State], deadline: Deadline | None
) -> pyo.ConcreteModel:
    """State (P1): its linear part, then its products; raises OutOfTimeError at a deadline."""
    clock = deadline or Deadline()
    model = pyo.ConcreteModel(name=name)
    linear = (
        _declare_sets,
        _declare_variables,
        _place_jobs,
        _choose_types,
        _choose_fractions,
        _choose_gpus,
        _count_gpus_in_use,
        _open_nodes,
        _add_leaders,
        _postponed_jobs,
    )
    for state in (*linear, *products):
        clock.check()
        state(model, data)
    model.cost = pyo.Objective(
        expr=_penalties(model, data) + pyo.quicksum(model.leader_energy.values()),
        doc=f"(P1.1), in {data.dollars_unit!r} dollars",
    )
    return model


def read_assignment(model: pyo.ConcreteModel, data: FormulationData) -> Assignment:
    """The assignment of the values in the model."""
    assignment = {}
    for j in model.JOBS:
        gpus = [(n, g) for n, g in model.GPUS if _is_one(model.assigned[j, n, g])]
        if gpus:
            n = gpus[0][0]
            share = next(f for f in range(len(data.fractions)) if _is_one(model.fraction[j, f]))
            c = data.configuration(data.kind(n), len(gpus), data.fractions[share])
            assignment[int(j)] = Placement(int(n), tuple(int(g) for _, g in gpus), c)
    return assignment


def _is_one(variable: pyo.Var) -> bool:
    return (variable.value or 0) > 0.5


def _declare_sets(model: pyo.ConcreteModel, data: FormulationData) -> None:
    model.JOBS = pyo.RangeSet(0, data.tables.jobs - 1, doc="j in J")
    model.TYPES = pyo.RangeSet(0, len(data.tables.kinds) - 1, doc="i in I")
    model.NODES = pyo.RangeSet(0, data.nodes - 1, doc="n in N")
    model.FRACTIONS = pyo.RangeSet(0, len(data.fractions) - 1, doc="f in F, 1 first")
    model.GPUS = pyo.Set(dimen=2, initialize=data.gpus, doc="g in G, as (n, index)")
    usages = [(n, k) for n in range(data.nodes) for k in range(1, data.size(n) + 1)]
    model.USAGES = pyo.Set(dimen=2, initialize=usages, doc="(n, k), k = 1..K_n")
    scenarios = [
        (j, s) for j, work in enumerate(data.tables.works) for s in range(len(work.values))
    ]
    model.SCENARIOS = pyo.Set(dimen=2, initialize=scenarios, doc="(j, s)")


def _declare_variables(model: pyo.ConcreteModel, data: FormulationData) -> None:
    def binary(*sets: object, doc: str) -> pyo.Var:
        return pyo.Var(*sets, domain=pyo.Binary, doc=doc)

    model.opened = binary(model.NODES, doc="nu_n")
    model.configuration = binary(model.JOBS, model.TYPES, model.USAGES, doc="xi_jink")
    model.on_node = binary(model.JOBS, model.NODES, doc="zeta_jn")
    model.fraction = binary(model.JOBS, model.FRACTIONS, doc="phi_jf")
    model.assigned = binary(model.JOBS, model.GPUS, doc="sigma_jg")
    model.in_use = binary(model.GPUS, doc="u_g (new)")
    model.usage = binary(model.USAGES, doc="gamma_nk")
    model.first = binary(model.JOBS, model.NODES, doc="alpha_jn")
    real = pyo.NonNegativeReals
    model.tardiness = pyo.Var(model.SCENARIOS, domain=real, doc="tau_js")
    model.worst_tardiness = pyo.Var(model.JOBS, domain=real, doc="tau_bar_j")
    model.energy = pyo.Var(model.JOBS, model.NODES, domain=real, doc="pi_jn")


def _place_jobs(model: pyo.ConcreteModel, data: FormulationData) -> None:
    model.configuration_needs_node = pyo.Constraint(
        model.JOBS,
        model.TYPES,
        model.USAGES,
        rule=lambda m, j, i, n, k: m.configuration[j, i, n, k] <= m.on_node[j, n],
        doc="(2)",
    )
    model.one_configuration = pyo.Constraint(
        model.JOBS,
        model.NODES,
        rule=lambda m, j, n: _sum_runs(m, data, j, n) <= m.opened[n],
        doc="(3)",
    )
    model.one_node = pyo.Constraint(
        model.JOBS, rule=lambda m, j: pyo.quicksum(m.on_node[j, n] for n in m.NODES) <= 1, doc="(4)"
    )
    model.node_is_open = pyo.Constraint(
        model.JOBS, model.NODES, rule=lambda m, j, n: m.on_node[j, n] <= m.opened[n], doc="(5)"
    )


def _sum_runs(model: pyo.ConcreteModel, data: FormulationData, j: int, n: int) -> object:
    sizes = range(1, data.size(n) + 1)
    return pyo.quicksum(model.configuration[j, i, n, k] for i in model.TYPES for k in sizes)


def _choose_types(model: pyo.ConcreteModel, data: FormulationData) -> None:
    def hosts(n: int, i: int) -> int:
        return int(data.kind(n) == i)

    def usable(j: int, n: int, k: int) -> int:
        return int(data.usable[j, data.kind(n), k - 1])

    model.type_of_node = pyo.Constraint(
        model.JOBS,
        model.TYPES,
        model.USAGES,
        rule=lambda m, j, i, n, k: m.configuration[j, i, n, k] <= hosts(n, i) * usable(j, n, k),
        doc="(6), also 0 where the job cannot use the type",
    )
    model.gpus_chosen = pyo.Constraint(
        model.JOBS,
        model.NODES,
        model.TYPES,
        rule=lambda m, j, n, i: (
            pyo.quicksum(m.configuration[j, i, n, k] for k in range(1, data.size(n) + 1))
            == m.on_node[j, n] * hosts(n, i)
        ),
        doc="(7)",
    )


def _choose_fractions(model: pyo.ConcreteModel, data: FormulationData) -> None:
    model.one_fraction = pyo.Constraint(
        model.JOBS,
        rule=lambda m, j: (
            pyo.quicksum(m.fraction[j, f] for f in m.FRACTIONS)
            == pyo.quicksum(m.on_node[j, n] for n in m.NODES)
        ),
        doc="(8')",
    )
    not_offered = [
        (j, f, n)
        for j in model.JOBS
        for f in model.FRACTIONS
        for n in model.NODES
        if not _is_offered(data, j, data.kind(n), data.fractions[f])
    ]
    model.fraction_is_offered = pyo.Constraint(
        not_offered, rule=lambda m, j, f, n: m.fraction[j, f] + m.on_node[j, n] <= 1, doc="(8'')"
    )
    model.several_gpus_are_whole = pyo.Constraint(
        model.JOBS,
        rule=lambda m, j: (
            pyo.quicksum(
                m.configuration[j, i, n, k] for i in m.TYPES for n, k in m.USAGES if k >= 2
            )
            <= m.fraction[j, 0]
        ),
        doc="(10')",
    )


def _is_offered(data: FormulationData, j: int, t: int, fraction: Fraction) -> bool:
    """Whether job j may have this fraction of type t; memory is left to (15)."""
    if fraction not in data.offered(t):
        return False
    c = data.configuration(t, 1, fraction)
    return data.incumbent is None or fraction == ONE_GPU or bool(data.usable[j, t, c])


def _choose_gpus(model: pyo.ConcreteModel, data: FormulationData) -> None:
    model.gpus_assigned = pyo.Constraint(
        model.JOBS,
        rule=lambda m, j: (
            pyo.quicksum(m.assigned[j, n, g] for n, g in m.GPUS)
            == pyo.quicksum(k * m.configuration[j, i, n, k] for i in m.TYPES for n, k in m.USAGES)
        ),
        doc="(11)",
    )
    model.gpus_on_the_node = pyo.Constraint(
        model.JOBS,
        model.GPUS,
        rule=lambda m, j, n, g: m.assigned[j, n, g] <= m.on_node[j, n],
        doc="(12')",
    )


def _count_gpus_in_use(model: pyo.ConcreteModel, data: FormulationData) -> None:
    model.gpu_in_use = pyo.Constraint(
        model.JOBS,
        model.GPUS,
        rule=lambda m, j, n, g: m.assigned[j, n, g] <= m.in_use[n, g],
        doc="(13'), GPUs",
    )
    model.usage_counted = pyo.Constraint(
        model.NODES,
        rule=lambda m, n: (
            pyo.quicksum(m.in_use[n, g] for g in range(data.size(n)))
            == pyo.quicksum(k * m.usage[n, k] for k in range(1, data.size(n) + 1))
        ),
        doc="(13'), nodes",
    )
    model.one_usage = pyo.Constraint(
        model.NODES,
        rule=lambda m, n: (
            pyo.quicksum(m.usage[n, k] for k in range(1, data.size(n) + 1)) == m.opened[n]
        ),
        doc="(14)",
    )


def _open_nodes(model: pyo.ConcreteModel, data: FormulationData) -> None:
    opening = data.tables.options.node_opening
    opened = pyo.quicksum(model.opened[n] for n in model.NODES)
    if opening == "printed":
        model.nodes_opened = pyo.Constraint(expr=opened == data.tables.max_open_nodes, doc="(16)")
    elif opening == "at-most":
        model.nodes_opened = pyo.Constraint(expr=opened <= data.tables.max_open_nodes, doc="(16')")


def _add_leaders(model: pyo.ConcreteModel, _: FormulationData) -> None:
    model.one_first = pyo.Constraint(
        model.NODES,
        rule=lambda m, n: pyo.quicksum(m.first[j, n] for j in m.JOBS) == m.opened[n],
        doc="(17)",
    )
    model.first_is_there = pyo.Constraint(
        model.JOBS, model.NODES, rule=lambda m, j, n: m.first[j, n] <= m.on_node[j, n], doc="(18)"
    )


def _postponed_jobs(model: pyo.ConcreteModel, data: FormulationData) -> None:
    def rule(m: pyo.ConcreteModel, j: int) -> object:
        unit = data.worst_tardiness_unit(j)
        if unit == 0:
            return pyo.Constraint.Skip
        placed = pyo.quicksum(m.on_node[j, n] for n in m.NODES)
        late = float(data.tables.worst_tardiness[j]) / unit
        return late * (1 - placed) <= m.worst_tardiness[j]

    model.worst_tardiness_defined = pyo.Constraint(model.JOBS, rule=rule, doc="(20')")
    if data.must_run.any():
        model.not_postponed = pyo.Constraint(
            np.flatnonzero(data.must_run).tolist(),
            rule=lambda m, j: pyo.quicksum(m.on_node[j, n] for n in m.NODES) == 1,
            doc="(4), beside an incumbent",
        )


def _penalties(model: pyo.ConcreteModel, data: FormulationData) -> object:
    """The first two sums of (P1.1): expected and worst-case tardiness, weighted."""
    rho = data.tables.instance.postponement_penalty
    expected = pyo.quicksum(
        data.weight(j) * float(data.tables.works[j].probabilities[s]) * model.tardiness[j, s]
        for j, s in model.SCENARIOS
    )
    if data.incumbent is not None:
        expected += data.paid / data.dollars_unit
    units = [data.worst_tardiness_unit(j) / data.seconds_unit for j in model.JOBS]
    return expected + pyo.quicksum(
        rho * data.weight(j) * unit * model.worst_tardiness[j]
        for j, unit in enumerate(units)
        if unit
    )
