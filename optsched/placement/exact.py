"""Method ``exact``: the cheapest argument that proves an optimum.

First the combinatorial bounds against Repartition's placement: where they meet, nothing else is
needed. Then the dynamic programme while its states are few, else threshold bisection; the model
with the stage's least count under the "bottleneck" reading. The outcome says which it was.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from optsched.placement.bounds import Bound, combinatorial_bound
from optsched.placement.cost import CostTables, Ints, iteration_time, tables_of
from optsched.placement.dp import programme, states
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.placement.repartition import known_placement
from optsched.placement.solution import PlacementSolution
from optsched.result import Outcome, Settings, Termination, is_proved

FEW_STATES = 100_000
"""Up to here the dynamic programme takes milliseconds."""


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
    chosen, outcome = _solve(instance, options, settings, _Known(tables, start, bound))
    return replace(outcome, chosen=chosen, solve_time=outcome.solve_time + spent)


@dataclass(frozen=True)
class _Known:
    """What the bounds' part leaves for the exact methods."""

    tables: CostTables
    start: Ints
    bound: Bound


def _solve(
    instance: PlacementInstance, options: PlacementOptions, settings: Settings, known: _Known
) -> tuple[str, Outcome]:
    if options.all_reduce_bandwidth == "own":
        if states(instance) <= FEW_STATES:
            return "dp", programme(instance, known.tables, known.start, settings)
        if known.tables.savings_are_positive:
            from optsched.placement.threshold import bisect

            return "threshold", bisect(instance, options, settings, known.start, known.bound)
    if known.tables.savings_are_positive:
        from optsched.placement.ilp import ilp

        return "ilp", ilp(instance, options, settings)
    from optsched.placement.vertex_formulation import ilp_vertex

    return "ilp-vertex", ilp_vertex(instance, options, settings)
