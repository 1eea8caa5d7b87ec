"""Sets, variables and linear constraints of (P1) of sts, corrected.

`minlp` adds the products as they are printed, `milp` their exact linearisation. The mathematics,
with the symbol table and every erratum, is models/selection/README.md; each component's ``doc``
carries its equation, primed where corrected. Seconds and dollars are scaled by `seconds_unit` and
`dollars_unit`, so that tolerances are relative.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from optsched.backends.sizes import refuse_many_nonzeros
from optsched.deadline import Deadline
from optsched.selection.assignment import Assignment, Placement, solution_of
from optsched.selection.cost import Floats, Tables

ONE_GPU = Fraction(1)
MAX_UNITS = 1e6
"""Largest right-hand side in units of seconds; solver tolerances are about 1e-9."""
MAX_COEFFICIENT = 1e9
"""Largest ratio of a cost to the unit of money: beyond 1e15 solvers refuse a row."""

Model: TypeAlias = pyo.ConcreteModel
State = Callable[[Model, "FormulationData"], None]
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
        epochs = float(self.tables.scenarios[j].values[s])
        last = epochs * float(self.slowest[j])  # a later due date is always met
        return max(min(due, last), epochs * float(self.min_epoch_seconds[j]))

    @cached_property
    def paid(self) -> float:
        """Dollars of the tardiness that every selection pays: a constant of the objective."""
        rho = self.tables.instance.postponement_penalty
        return rho * float(self.tables.weights @ self.tables.overdue) + sum(
            float(self.tables.weights[j] * chance)
            * max(self.in_time(j, s) - float(self.tables.due[j]), 0.0)
            for j, work in enumerate(self.tables.scenarios)
            for s, chance in enumerate(work.probabilities)
        )

    @cached_property
    def seconds_unit(self) -> float:
        """Seconds of the longest expected completion; larger if due dates are extreme."""
        if self.incumbent is not None:
            return self.tables.max_expected_seconds
        latest = float((np.abs(self.tables.due) + self.tables.instance.interval).max())
        return max(self.tables.max_expected_seconds, latest / MAX_UNITS)

    def worst_tardiness(self, j: int) -> float:
        """Seconds that postponing adds to the worst-case tardiness which job j pays for."""
        return float(self.tables.worst_tardiness[j] - self.tables.overdue[j])

    def worst_tardiness_unit(self, j: int) -> float:
        """Unit of tau_bar_j in seconds: its value beside an incumbent, 0 where it is none."""
        if self.incumbent is None:
            return self.seconds_unit
        return 0.0 if self.must_run[j] else max(self.worst_tardiness(j), 0.0)

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
        scenarios = len(self.tables.scenarios.values)
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
) -> Model:
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
        _open_nodes,
        _postponed_jobs,
    )
    for state in (*linear, *products):
        clock.check()
        state(model, data)
    model.cost = pyo.Objective(
        expr=_penalties(model, data) + pyo.quicksum(model.leader_energy.values()),
        doc=f"(P1.1) expected cost, in {data.dollars_unit!r} dollars",
    )
    return model


def with_reader(model: Model, data: FormulationData) -> Model:
    """Add the function that reads a solution to a complete model, for `optsched.solution_of`."""
    model.reader = lambda solved: solution_of(data.tables, read_assignment(solved, data))
    return model


def read_assignment(model: Model, data: FormulationData) -> Assignment:
    assignment = {}
    for j in model.JOBS:
        gpus = [(n, g) for n, g in model.GPUS if _is_one(model.assigned[j, n, g])]
        if gpus:
            n = gpus[0][0]
            share = next(f for f in range(len(data.fractions)) if _is_one(model.fraction[j, f]))
            kind = data.tables.kinds[data.kind(n)]
            c = kind.configuration_of(len(gpus), float(data.fractions[share]))
            assignment[int(j)] = Placement(int(n), tuple(int(g) for _, g in gpus), c)
    return assignment


def _is_one(variable: pyo.Var) -> bool:
    return (variable.value or 0) > 0.5


def _declare_sets(model: Model, data: FormulationData) -> None:
    model.JOBS = pyo.RangeSet(0, data.tables.jobs - 1, doc="j: jobs")
    model.TYPES = pyo.RangeSet(0, len(data.tables.kinds) - 1, doc="i: GPU types")
    model.NODES = pyo.RangeSet(0, data.nodes - 1, doc="n: nodes")
    model.FRACTIONS = pyo.RangeSet(0, len(data.fractions) - 1, doc="f: fractions, 1 first")
    model.GPUS = pyo.Set(dimen=2, initialize=data.gpus, doc="(n, g): GPUs, as node and index")
    usages = [(n, k) for n in range(data.nodes) for k in range(1, data.size(n) + 1)]
    model.USAGES = pyo.Set(dimen=2, initialize=usages, doc="(n, k): k = 1..K_n GPUs in use on n")
    scenarios = [
        (j, s) for j, work in enumerate(data.tables.scenarios) for s in range(len(work.values))
    ]
    model.SCENARIOS = pyo.Set(dimen=2, initialize=scenarios, doc="(j, s): scenarios of a job")


def _declare_variables(model: Model, data: FormulationData) -> None:
    def binary(*sets: object, doc: str) -> pyo.Var:
        return pyo.Var(*sets, domain=pyo.Binary, doc=doc)

    model.opened = binary(model.NODES, doc="nu_n: node n is open")
    model.configuration = binary(model.JOBS, model.TYPES, model.USAGES, doc="xi_jink: j has k GPUs")
    model.on_node = binary(model.JOBS, model.NODES, doc="zeta_jn: job j runs on node n")
    model.fraction = binary(model.JOBS, model.FRACTIONS, doc="phi_jf: job j has the fraction f")
    model.assigned = binary(model.JOBS, model.GPUS, doc="sigma_jg: job j has GPU g")
    model.in_use = binary(model.GPUS, doc="u_g: GPU g is in use (not in the paper)")
    model.usage = binary(model.USAGES, doc="gamma_nk: k GPUs of node n are in use")
    model.first = binary(model.JOBS, model.NODES, doc="alpha_jn: job j completes first on node n")
    real = pyo.NonNegativeReals
    doc = f"tau_js: tardiness of job j in scenario s, in {data.seconds_unit!r} s"
    model.tardiness = pyo.Var(model.SCENARIOS, domain=real, doc=doc)
    doc = "tau_bar_j: worst tardiness of a postponed job, in its own unit"
    model.worst_tardiness = pyo.Var(model.JOBS, domain=real, doc=doc)
    doc = f"pi_jn: energy cost of node n until job j completes, in {data.dollars_unit!r} dollars"
    model.energy = pyo.Var(model.JOBS, model.NODES, domain=real, doc=doc)


def _place_jobs(model: Model, data: FormulationData) -> None:
    @model.Constraint(model.JOBS, model.TYPES, model.USAGES, doc="(2) only on the job's node")
    def configuration_needs_node(m: Model, j: int, i: int, n: int, k: int) -> pyo.Expression:
        return m.configuration[j, i, n, k] <= m.on_node[j, n]

    @model.Constraint(model.JOBS, model.NODES, doc="(3) one configuration on an open node")
    def one_configuration(m: Model, j: int, n: int) -> pyo.Expression:
        sizes = range(1, data.size(n) + 1)
        runs = pyo.quicksum(m.configuration[j, i, n, k] for i in m.TYPES for k in sizes)
        return runs <= m.opened[n]

    @model.Constraint(model.JOBS, doc="(4) at most one node")
    def one_node(m: Model, j: int) -> pyo.Expression:
        return _placed(m, j) <= 1

    @model.Constraint(model.JOBS, model.NODES, doc="(5) only on open nodes")
    def node_is_open(m: Model, j: int, n: int) -> pyo.Expression:
        return m.on_node[j, n] <= m.opened[n]


def _placed(model: Model, j: int) -> pyo.Expression:
    """sum_n zeta_jn: 1 for a job that runs, 0 for a postponed one."""
    return pyo.quicksum(model.on_node[j, n] for n in model.NODES)


def _choose_types(model: Model, data: FormulationData) -> None:
    @model.Constraint(model.JOBS, model.TYPES, model.USAGES, doc="(6) usable, of the node's type")
    def type_of_node(m: Model, j: int, i: int, n: int, k: int) -> pyo.Expression:
        allowed = data.kind(n) == i and bool(data.usable[j, i, k - 1])
        return m.configuration[j, i, n, k] <= int(allowed)

    @model.Constraint(model.JOBS, model.NODES, model.TYPES, doc="(7) as many GPUs as it has there")
    def gpus_chosen(m: Model, j: int, n: int, i: int) -> pyo.Expression:
        chosen = pyo.quicksum(m.configuration[j, i, n, k] for k in range(1, data.size(n) + 1))
        return chosen == m.on_node[j, n] * int(data.kind(n) == i)


def _choose_fractions(model: Model, data: FormulationData) -> None:
    @model.Constraint(model.JOBS, doc="(8') one fraction of a job that runs")
    def one_fraction(m: Model, j: int) -> pyo.Expression:
        return pyo.quicksum(m.fraction[j, f] for f in m.FRACTIONS) == _placed(m, j)

    not_offered = [
        (j, f, n)
        for j in model.JOBS
        for f in model.FRACTIONS
        for n in model.NODES
        if not _is_offered(data, j, data.kind(n), data.fractions[f])
    ]

    @model.Constraint(not_offered, doc="(8'') fractions that the type offers")
    def fraction_is_offered(m: Model, j: int, f: int, n: int) -> pyo.Expression:
        return m.fraction[j, f] + m.on_node[j, n] <= 1

    @model.Constraint(model.JOBS, doc="(10') several GPUs are whole")
    def several_gpus_are_whole(m: Model, j: int) -> pyo.Expression:
        several = ((i, n, k) for i in m.TYPES for n, k in m.USAGES if k >= 2)
        return pyo.quicksum(m.configuration[j, use] for use in several) <= m.fraction[j, 0]


def _is_offered(data: FormulationData, j: int, t: int, fraction: Fraction) -> bool:
    """Whether job j may have this fraction of type t; memory is left to (15)."""
    if fraction not in data.offered(t):
        return False
    c = data.tables.kinds[t].configuration_of(1, float(fraction))
    return data.incumbent is None or fraction == ONE_GPU or bool(data.usable[j, t, c])


def _choose_gpus(model: Model, data: FormulationData) -> None:
    @model.Constraint(model.JOBS, doc="(11) as many GPUs as configured")
    def gpus_assigned(m: Model, j: int) -> pyo.Expression:
        assigned = pyo.quicksum(m.assigned[j, gpu] for gpu in m.GPUS)
        return assigned == pyo.quicksum(
            k * m.configuration[j, i, n, k] for i in m.TYPES for n, k in m.USAGES
        )

    @model.Constraint(model.JOBS, model.GPUS, doc="(12') GPUs of the job's node")
    def gpus_on_the_node(m: Model, j: int, n: int, g: int) -> pyo.Expression:
        return m.assigned[j, n, g] <= m.on_node[j, n]

    @model.Constraint(model.JOBS, model.GPUS, doc="(13') a GPU with a job is in use")
    def gpu_in_use(m: Model, j: int, n: int, g: int) -> pyo.Expression:
        return m.assigned[j, n, g] <= m.in_use[n, g]

    @model.Constraint(model.NODES, doc="(13') GPUs in use are counted")
    def usage_counted(m: Model, n: int) -> pyo.Expression:
        in_use = pyo.quicksum(m.in_use[n, g] for g in range(data.size(n)))
        return in_use == pyo.quicksum(k * m.usage[n, k] for k in range(1, data.size(n) + 1))

    @model.Constraint(model.NODES, doc="(14) one count on an open node")
    def one_usage(m: Model, n: int) -> pyo.Expression:
        return pyo.quicksum(m.usage[n, k] for k in range(1, data.size(n) + 1)) == m.opened[n]


def _open_nodes(model: Model, data: FormulationData) -> None:
    opening, limit = data.tables.options.node_opening, data.tables.max_open_nodes
    opened = pyo.quicksum(model.opened[n] for n in model.NODES)
    if opening == "printed":
        model.nodes_opened = pyo.Constraint(expr=opened == limit, doc="(16) open nodes")
    elif opening == "at-most":
        model.nodes_opened = pyo.Constraint(expr=opened <= limit, doc="(16') open nodes")

    @model.Constraint(model.NODES, doc="(17) one first job on an open node")
    def one_first(m: Model, n: int) -> pyo.Expression:
        return pyo.quicksum(m.first[j, n] for j in m.JOBS) == m.opened[n]

    @model.Constraint(model.JOBS, model.NODES, doc="(18) the first job runs there")
    def first_is_there(m: Model, j: int, n: int) -> pyo.Expression:
        return m.first[j, n] <= m.on_node[j, n]


def _postponed_jobs(model: Model, data: FormulationData) -> None:
    @model.Constraint(model.JOBS, doc="(20') tardiness of a postponed job")
    def worst_tardiness_defined(m: Model, j: int) -> pyo.Expression:
        unit = data.worst_tardiness_unit(j)
        if unit == 0:
            return pyo.Constraint.Skip
        late = data.worst_tardiness(j) / unit
        return late * (1 - _placed(m, j)) <= m.worst_tardiness[j]

    if data.must_run.any():
        must_run = np.flatnonzero(data.must_run).tolist()

        @model.Constraint(must_run, doc="(4) jobs that an incumbent forces to run")
        def not_postponed(m: Model, j: int) -> pyo.Expression:
            return _placed(m, j) == 1


def _penalties(model: Model, data: FormulationData) -> object:
    """The first two sums of (P1.1): expected and worst-case tardiness, weighted."""
    rho = data.tables.instance.postponement_penalty
    expected = pyo.quicksum(
        data.weight(j) * float(data.tables.scenarios[j].probabilities[s]) * model.tardiness[j, s]
        for j, s in model.SCENARIOS
    )
    if data.paid:
        expected += data.paid / data.dollars_unit
    units = [data.worst_tardiness_unit(j) / data.seconds_unit for j in model.JOBS]
    return expected + pyo.quicksum(
        rho * data.weight(j) * unit * model.worst_tardiness[j]
        for j, unit in enumerate(units)
        if unit
    )
