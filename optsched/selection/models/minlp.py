"""Method ``minlp``: (P1) with its products kept, solved by SCIP.

Guarantee: optimal at the requested gap when it ends as "optimal". It is the paper's own model with
the corrections that it needs, and slow: 3 nodes x 6 jobs take seconds to minutes. Needs the extra
``scip``. Source: sts (P1); models/selection/README.md.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import pyomo.environ as pyo

from optsched.backends.models import build_and_solve
from optsched.backends.pyomo_solvers import require_solver
from optsched.deadline import Deadline, clock
from optsched.result import Outcome, Settings, Termination, is_proved
from optsched.selection.assignment import expected_cost
from optsched.selection.cost import TARDINESS, tables_of
from optsched.selection.exact.incumbents import cheaper, starting_assignment
from optsched.selection.exact.outcomes import (
    RESCALE_BELOW,
    model_outcome,
    outcome_without_model,
    with_assignment,
)
from optsched.selection.instance import SelectionInstance
from optsched.selection.models.formulation import (
    FormulationData,
    Model,
    build_model,
    formulation_data,
    read_assignment,
    with_reader,
)
from optsched.selection.options import SelectionOptions


def minlp(instance: SelectionInstance, options: SelectionOptions, settings: Settings) -> Outcome:
    """Select resources by the MINLP; always with SCIP."""
    return solve_p1("minlp", build, instance, options, replace(settings, solver="scip"))


def solve_p1(
    method: str,
    build: Callable[[FormulationData, Deadline], pyo.ConcreteModel],
    instance: SelectionInstance,
    options: SelectionOptions,
    settings: Settings,
    *,
    restarts: bool = True,
) -> Outcome:
    """Solve (P1) with the method's products, or return the best heuristic's if time runs out."""
    require_solver(settings.solver)
    started = clock()
    tables = tables_of(instance, options)
    incumbent = starting_assignment(tables, settings)
    while True:
        value = None if incumbent is None else expected_cost(tables, incumbent)
        paid = tables.unavoidable_cost
        if value is not None and is_proved(value, paid, 0.0):
            shell = Outcome(None, Termination.OPTIMAL, bound=paid, bound_source=TARDINESS)
            return with_assignment(tables, incumbent or {}, shell, settings)
        data = formulation_data(tables, method, value)
        unit = data.dollars_unit
        answer, model = build_and_solve(
            partial(build, data, settings.deadline),
            data.nonzeros,
            settings,
            began=started,
            restarts=restarts,
            listener=settings.progress.of_model(unit),
        )
        if model is None:
            return outcome_without_model(tables, incumbent, settings)
        solver_assignment = read_assignment(model, data) if answer.has_solution else None
        outcome = model_outcome(tables, answer, incumbent, solver_assignment, unit, settings)
        best = cheaper(tables, incumbent, solver_assignment)
        if best is None or settings.deadline.is_over:
            return outcome
        open_cost = expected_cost(tables, best) - paid
        if open_cost >= RESCALE_BELOW * unit or best is incumbent or open_cost <= tables.rounding:
            break
        incumbent = best
    # A solver that stopped early without a proof has reached its tolerance.
    if outcome.termination is not Termination.FEASIBLE:
        return outcome
    message = (
        f"the solver's tolerance corresponds to about {1e-6 * unit:.2g} $; "
        "optimality is not proved beyond it"
    )
    return replace(outcome, details={**outcome.details, "message": message})


def model(instance: SelectionInstance, options: SelectionOptions, *, pruned: bool = False) -> Model:
    data = data_of("minlp", instance, options, pruned=pruned)
    return with_reader(build(data), data)


def data_of(
    method: str, instance: SelectionInstance, options: SelectionOptions, *, pruned: bool
) -> FormulationData:
    """The data of the complete model, or of the model reduced by the best heuristic's cost."""
    tables = tables_of(instance, options)
    incumbent = starting_assignment(tables, Settings()) if pruned else None
    value = None if incumbent is None else expected_cost(tables, incumbent)
    return formulation_data(tables, method, value)


def build(data: FormulationData, deadline: Deadline | None = None) -> Model:
    products = (
        partial(state_capacity, shared=_shared),
        partial(state_tardiness, epoch_seconds=_epoch_seconds),
        _energy,
        _leader_energy_is_product,
    )
    return build_model(data, "selection-minlp", products, deadline)


def _leader_energy_is_product(model: Model, data: FormulationData) -> None:
    """The product of (P1.1) as a row of its own.

    With the product in the objective SCIP 10 called points optimal that cost 5-20% less than they
    do (3 of 9 tiny instances that must open every node); as a row it agrees with brute force.
    """
    model.leader_energy = pyo.Var(
        model.JOBS,
        model.NODES,
        domain=pyo.NonNegativeReals,
        doc=f"alpha_jn pi_jn: energy cost that job j sets, in {data.dollars_unit!r} dollars",
    )

    @model.Constraint(model.JOBS, model.NODES, doc="(P1.1) its product")
    def leader_energy_defined(m: Model, j: int, n: int) -> pyo.Expression:
        return m.first[j, n] * m.energy[j, n] <= m.leader_energy[j, n]


def _shared(m: Model, factor: float, j: int, n: int, g: int, f: int) -> Any:
    """So many times phi_jf sigma_jg."""
    return factor * m.fraction[j, f] * m.assigned[j, n, g]


def state_capacity(model: Model, data: FormulationData, shared: Callable[..., Any]) -> None:
    """(9) and (15) with phi_jf sigma_jg as a method has it."""

    @model.Constraint(model.GPUS, doc="(9) fractions on a GPU sum to at most 1")
    def gpu_capacity(m: Model, n: int, g: int) -> pyo.Expression:
        used = (
            shared(m, float(data.fractions[f]), j, n, g, f) for j in m.JOBS for f in m.FRACTIONS
        )
        return pyo.quicksum(used) <= 1

    @model.Constraint(model.JOBS, model.NODES, doc="(15) memory of the fraction")
    def memory(m: Model, j: int, n: int) -> pyo.Expression:
        margins = (
            shared(m, _memory_margin(data, j, n, f), j, n, g, f)
            for g in range(data.size(n))
            for f in m.FRACTIONS
        )
        return pyo.quicksum(margins) >= 0


def _memory_margin(data: FormulationData, j: int, n: int, f: int) -> int:
    """The sign of M_n f - m_j in (15): a job has one fraction, so only the sign matters."""
    # The difference itself may be a rounding of the file's numbers, which solvers overlook.
    kind = data.tables.kinds[data.kind(n)]
    room = data.fractions[f] * Fraction(data.tables.instance.gpu_types[kind.name].memory_bytes)
    needed = Fraction(data.tables.instance.jobs[j].memory_bytes)
    return (room > needed) - (room < needed)


def _epoch_seconds(model: Model, data: FormulationData, j: int, n: int) -> Any:
    """e_jn with its products."""

    def single_gpu(seconds: float, slowdowns: list[float]) -> Any:
        slowdown = pyo.quicksum(slowdowns[f] * model.fraction[j, f] for f in model.FRACTIONS)
        return seconds * model.configuration[j, data.kind(n), n, 1] * slowdown

    return epoch_seconds(model, data, j, n, single_gpu)


def epoch_seconds(
    model: Model, data: FormulationData, j: int, n: int, single_gpu: Callable[..., Any]
) -> Any:
    """e_jn: seconds per epoch of job j on node n, a product for k = 1 and a sum for k >= 2."""
    t = data.kind(n)
    one = data.epoch(j, t, 1)
    if one is None:
        return 0.0
    offered = data.offered(t)
    several = pyo.quicksum(
        (data.epoch(j, t, k) or 0.0) * model.configuration[j, t, n, k]
        for k in range(2, data.size(n) + 1)
    )
    return single_gpu(one, [offered.get(fraction, 1.0) for fraction in data.fractions]) + several


def state_tardiness(model: Model, data: FormulationData, epoch_seconds: Callable[..., Any]) -> None:
    """(19') with e_jn as a method has it."""

    @model.Constraint(model.SCENARIOS, doc="(19') tardiness in a scenario")
    def tardiness_defined(m: Model, j: int, s: int) -> pyo.Expression:
        epochs = float(data.tables.scenarios[j].values[s])
        seconds = sum(epoch_seconds(m, data, j, n) for n in m.NODES)
        return epochs * seconds <= data.in_time(j, s) / data.seconds_unit + m.tardiness[j, s]


def _energy(model: Model, data: FormulationData) -> None:
    @model.Constraint(model.JOBS, model.NODES, doc="(21') energy until completion")
    def energy_defined(m: Model, j: int, n: int) -> pyo.Expression:
        seconds = data.tables.works[j].mean * _epoch_seconds(m, data, j, n)
        rate = pyo.quicksum(data.rate(n, k) * m.usage[n, k] for k in range(1, data.size(n) + 1))
        return seconds * rate <= m.energy[j, n]
