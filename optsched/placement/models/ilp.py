"""Method ``ilp``: the strengthened MILP, started from the heuristic, solved to proven optimality.

Guarantee: optimal at the gap asked when it ends as "optimal"; at a time limit the incumbent and
the bound stand.
"""

from __future__ import annotations

import time

import pyomo.environ as pyo

from optsched.backends import Answer, require_solver, solve_model
from optsched.backends.answer import unsolved
from optsched.backends.sizes import require_time
from optsched.deadline import OutOfTimeError
from optsched.placement.bounds.combinatorial import Bound, combinatorial_bound
from optsched.placement.cost import Ints, iteration_time, tables_of
from optsched.placement.heuristics.repartition import known_placement
from optsched.placement.instance import PlacementInstance
from optsched.placement.models import formulation
from optsched.placement.models.limits import count_nonzeros
from optsched.placement.options import PlacementOptions
from optsched.placement.solution import PlacementSolution
from optsched.result import Outcome, Settings, Termination, TracePoint, ended, is_proved


def ilp(instance: PlacementInstance, options: PlacementOptions, settings: Settings) -> Outcome:
    """Solve the strengthened MILP.

    Raises
    ------
    NotApplicableError
        If g/B_inter < 1/B_intra, or above `sizes.MOST_NONZEROS`.
    """
    require_solver(settings.solver)
    began = time.perf_counter()
    _, start = known_placement(instance, options)
    bound = combinatorial_bound(instance, tables_of(instance, options))
    settings.progress.report(iteration_time(instance, start, options), bound.value)
    data = formulation.model_data(instance, options, start, bound.value)
    heard, counts = settings.progress.of_model(data.unit), start
    try:
        require_time(settings.deadline, count_nonzeros(instance, widths=data.bottleneck))
        model = formulation.build(data, settings.deadline)
        formulation.set_start(model, data, start)
        spent = time.perf_counter() - began
        answer = solve_model(model, settings, start=True, build_time=spent, heard=heard)
        if answer.has_solution:
            counts = formulation.read_counts(model)
    except OutOfTimeError:
        answer = unsolved(settings, time.perf_counter() - began)
    return _outcome(instance, options, data.unit, (start, counts), bound, answer, settings)


def model(instance: PlacementInstance, options: PlacementOptions) -> pyo.ConcreteModel:
    """Build the model alone, as `optsched.build_model` and `optsched export` show it."""
    _, start = known_placement(instance, options)
    bound = combinatorial_bound(instance, tables_of(instance, options))
    return formulation.build(formulation.model_data(instance, options, start, bound.value))


def _outcome(
    instance: PlacementInstance,
    options: PlacementOptions,
    unit: float,
    known: tuple[Ints, Ints],
    bound: Bound,
    answer: Answer,
    settings: Settings,
) -> Outcome:
    value, counts = min(
        ((iteration_time(instance, c, options), c) for c in known), key=lambda pair: pair[0]
    )
    if answer.bound is not None and answer.bound * unit > bound.value:
        bound = Bound(min(answer.bound * unit, value), answer.solver)
    proved = is_proved(value, bound.value, settings.gap)
    return Outcome(
        PlacementSolution.of(instance.name, counts.tolist()),
        ended(proved, answer.termination is Termination.TIME_LIMIT),
        bound=bound.value,
        bound_source=bound.source,
        claimed=value,
        build_time=answer.build_time,
        solve_time=answer.solve_time,
        solver=answer.solver,
        trace=in_seconds(answer, unit),
    )


def in_seconds(answer: Answer, unit: float) -> tuple[TracePoint, ...]:
    """The answer's trace with objective values scaled to seconds."""

    def scaled(value: float | None) -> float | None:
        return None if value is None else value * unit

    return tuple(TracePoint(p.time, scaled(p.incumbent), scaled(p.bound)) for p in answer.trace)
