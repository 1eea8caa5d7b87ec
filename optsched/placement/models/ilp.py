"""Method ``ilp``: the strengthened MILP, started from the heuristic, solved to proven optimality.

Guarantee: optimal at the gap asked when it ends as "optimal"; at a time limit the incumbent and
the bound stand. A start that breaks a rule of the options is dropped, and the model is solved
complete, so that a new constraint needs no word here.
"""

from __future__ import annotations

import pyomo.environ as pyo

from optsched.backends import Answer, require_solver, state_and_solve
from optsched.deadline import clock
from optsched.placement.bounds.combinatorial import Bound, combinatorial_bound
from optsched.placement.check import check
from optsched.placement.cost import Ints, iteration_time, tables_of
from optsched.placement.heuristics.repartition import starting_placement
from optsched.placement.instance import PlacementInstance
from optsched.placement.models import formulation
from optsched.placement.models.limits import count_nonzeros
from optsched.placement.options import PlacementOptions
from optsched.placement.solution import PlacementSolution
from optsched.result import SOLVED, Outcome, Settings, Termination, ended, is_proved


def ilp(instance: PlacementInstance, options: PlacementOptions, settings: Settings) -> Outcome:
    """Solve the strengthened MILP."""
    require_solver(settings.solver)
    began = clock()
    known = starting_placement(instance, options, settings)
    if known.counts is None:
        return known.nothing
    placed = PlacementSolution.of(instance.name, known.counts.tolist())
    start = known.counts if check(instance, placed, options.to_dict()).feasible else None
    bound = combinatorial_bound(instance, tables_of(instance, options))
    if start is not None:
        settings.progress.report(iteration_time(instance, start, options), bound.value)
    data = formulation.model_data(
        instance, options, known.counts, bound.value, pruned=start is not None
    )

    def build() -> pyo.ConcreteModel:
        model = formulation.build(data, settings.deadline)
        if start is not None:
            formulation.set_start(model, data, start)
        return model

    answer, model = state_and_solve(
        build,
        count_nonzeros(instance, widths=data.bottleneck),
        settings,
        began=began,
        start=start is not None,
        cautious=True,
        listener=settings.progress.of_model(data.unit),
    )
    placements = [] if start is None else [start]
    if answer.has_solution:
        placements.append(formulation.read_counts(model))
    if not placements:
        return Outcome(None, answer.termination, solver=answer.solver)
    return _outcome(instance, options, data.unit, placements, bound, answer, settings)


def model(
    instance: PlacementInstance, options: PlacementOptions, *, pruned: bool = False
) -> pyo.ConcreteModel:
    """Build the model alone, complete or pruned to placements no slower than the heuristic's."""
    start = starting_placement(instance, options).counts
    bound = combinatorial_bound(instance, tables_of(instance, options)).value
    data = formulation.model_data(instance, options, start, bound, pruned=pruned)
    return formulation.build(data)


def _outcome(
    instance: PlacementInstance,
    options: PlacementOptions,
    unit: float,
    placements: list[Ints],
    bound: Bound,
    answer: Answer,
    settings: Settings,
) -> Outcome:
    value, counts = min(
        ((iteration_time(instance, c, options), c) for c in placements), key=lambda pair: pair[0]
    )
    if answer.bound is not None and answer.bound * unit > bound.value:
        bound = Bound(min(answer.bound * unit, value), answer.solver)
    proved = is_proved(value, bound.value, max(settings.gap, SOLVED))
    return Outcome(
        PlacementSolution.of(instance.name, counts.tolist()),
        ended(proved, answer.termination is Termination.TIME_LIMIT),
        bound=bound.value,
        bound_source=bound.source,
        claimed=value,
        build_time=answer.build_time,
        solve_time=answer.solve_time,
        solver=answer.solver,
        trace=answer.trace_in(unit),
    )
