"""Method ``exact``: the cheapest argument that proves an optimum.

First the combinatorial bounds against Repartition's placement: where they meet, nothing else is
needed. Then the dynamic programme while its states are few, else threshold bisection; the model
with the stage's least count under the "bottleneck" reading. The outcome says which it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from optsched.placement.bounds import combinatorial_bound
from optsched.placement.cost import CostTables, iteration_time, tables_of
from optsched.placement.dp import states
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.placement.repartition import known_placement
from optsched.placement.solution import PlacementSolution
from optsched.result import Outcome, Settings, Termination, is_proved

FEW_STATES = 100_000
"""Up to here the dynamic programme takes milliseconds."""

_Solve = Callable[[PlacementInstance, PlacementOptions, Settings], Outcome]


def exact(instance: PlacementInstance, options: PlacementOptions, settings: Settings) -> Outcome:
    """Place a job optimally by whichever method fits.

    Raises
    ------
    NotApplicableError
        If no exact method takes the instance.
    """
    began = time.perf_counter()
    tables = tables_of(instance, options)
    start = known_placement(instance, options)
    value = iteration_time(instance, start, options)
    bound = combinatorial_bound(instance, tables)
    if is_proved(value, bound.value, settings.gap):
        return Outcome(
            PlacementSolution.of(instance.name, start.tolist()),
            Termination.OPTIMAL,
            bound=bound.value,
            bound_source=bound.source,
            claimed=value,
            solve_time=time.perf_counter() - began,
            chosen="repartition" if options.all_reduce_bandwidth == "own" else "heavy-edge",
        )
    spent = time.perf_counter() - began
    chosen, solve = _choose(instance, options, tables)
    outcome = solve(instance, options, settings)
    return replace(outcome, chosen=chosen, solve_time=outcome.solve_time + spent)


def _choose(
    instance: PlacementInstance, options: PlacementOptions, tables: CostTables
) -> tuple[str, _Solve]:
    if options.all_reduce_bandwidth == "bottleneck":
        return _milp(tables)
    if states(instance) <= FEW_STATES:
        from optsched.placement.dp import dp

        return "dp", dp
    if tables.savings_are_positive:
        from optsched.placement.threshold import threshold

        return "threshold", threshold
    return _milp(tables)


def _milp(tables: CostTables) -> tuple[str, _Solve]:
    if tables.savings_are_positive:
        from optsched.placement.ilp import ilp

        return "ilp", ilp
    from optsched.placement.vertex_formulation import ilp_vertex

    return "ilp-vertex", ilp_vertex
