"""Method ``ilp``: the strengthened MILP, started from the heuristic, solved to proven optimality.

Guarantee: optimal at the requested gap when it ends as "optimal"; at a time limit it returns the
incumbent and the bound.
"""

from __future__ import annotations

import pyomo.environ as pyo

from optsched.backends import require_solver, state_and_solve
from optsched.deadline import clock
from optsched.placement.bounds.combinatorial import Bound, combinatorial_bound
from optsched.placement.cost import Ints, iteration_time, tables_of
from optsched.placement.heuristics.repartition import no_placement, starting_placement
from optsched.placement.instance import PlacementInstance
from optsched.placement.models import formulation
from optsched.placement.models.parts import ilp_nonzeros, model_outcome
from optsched.placement.options import PlacementOptions
from optsched.result import Outcome, Settings


def ilp(instance: PlacementInstance, options: PlacementOptions, settings: Settings) -> Outcome:
    """Solve the strengthened MILP from the heuristic's placement and the combinatorial bound."""
    require_solver(settings.solver)
    start = starting_placement(instance, options, settings)
    if start.counts is None:
        return no_placement(start.termination)
    bound = combinatorial_bound(instance, tables_of(instance, options))
    return close_gap(instance, options, settings, start.counts, bound)


def close_gap(
    instance: PlacementInstance,
    options: PlacementOptions,
    settings: Settings,
    incumbent: Ints,
    bound: Bound,
) -> Outcome:
    """Solve the MILP between a proven lower bound and the time of an incumbent."""
    began = clock()
    settings.progress.report(iteration_time(instance, incumbent, options), bound.value)
    data = formulation.model_data(instance, options, incumbent, bound.value, pruned=True)

    def build() -> pyo.ConcreteModel:
        model = formulation.build(data, settings.deadline)
        formulation.set_start(model, data, incumbent)
        return model

    answer, model = state_and_solve(
        build,
        ilp_nonzeros(instance, min_counts=data.bottleneck),
        settings,
        began=began,
        start=True,
        cautious=True,  # HiGHS at a tolerance of 1e-9: see `backends.models.FINER`
        listener=settings.progress.of_model(data.unit),
    )
    placements = [incumbent]
    if answer.has_solution:
        placements.append(formulation.read_counts(model))
    return model_outcome(instance, options, settings, answer, placements, data.unit, bound)


def model(
    instance: PlacementInstance, options: PlacementOptions, *, pruned: bool = False
) -> pyo.ConcreteModel:
    """Build the model alone, complete or pruned to placements no slower than the heuristic's."""
    start = starting_placement(instance, options).counts
    bound = combinatorial_bound(instance, tables_of(instance, options)).value
    data = formulation.model_data(instance, options, start, bound, pruned=pruned)
    return formulation.build(data)
