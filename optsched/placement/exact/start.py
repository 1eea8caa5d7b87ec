"""Where the exact methods start: the best placement known without a solver, and the best bound."""

from __future__ import annotations

from collections.abc import Callable

from optsched.placement.bounds.combinatorial import Bound, combinatorial_bound
from optsched.placement.cost import Ints, tables_of
from optsched.placement.heuristics.repartition import starting_placement
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.result import Outcome, Settings

Search = Callable[[PlacementInstance, PlacementOptions, Settings, Ints, Bound], Outcome]
"""Of an instance between the counts of a known placement and a proven bound."""


def between_bounds(
    instance: PlacementInstance, options: PlacementOptions, settings: Settings, search: Search
) -> Outcome:
    """Search between the combinatorial bounds and Repartition's placement, if there is any."""
    start = starting_placement(instance, options, settings)
    if start.counts is None:
        return start.nothing
    bound = combinatorial_bound(instance, tables_of(instance, options))
    return search(instance, options, settings, start.counts, bound)
