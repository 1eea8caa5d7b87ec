"""Method `exact`: the cheapest argument that proves an optimum.

First the combinatorial bounds against Repartition's placement: where they meet, nothing else is
needed. Then server patterns (`columns`) for an asynchronous job, unless HiGHS is not the solver or
the "bottleneck" reading's model is small; then the model (`ilp`), or the vertex-level model where
its assumption on bandwidths fails. The outcome says which it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from optsched.deadline import clock
from optsched.errors import NotApplicableError
from optsched.placement.bounds.combinatorial import Bound, combinatorial_bound
from optsched.placement.cost import CostTables, Ints, placement_time, tables_of
from optsched.placement.heuristics.repartition import starting_placement
from optsched.placement.instance import PlacementInstance
from optsched.placement.models.limits import count_nonzeros
from optsched.placement.options import PlacementOptions
from optsched.placement.solution import PlacementSolution
from optsched.result import SOLVED, Outcome, Settings, Termination, ended, is_proved

FEW_NONZEROS = 15_000
"""Of the model under the "bottleneck" reading, up to which it is solved without `columns`."""


def exact(instance: PlacementInstance, options: PlacementOptions, settings: Settings) -> Outcome:
    """Place a job optimally by whichever method fits.

    Where none takes the instance, the heuristics' placement and the best bound stand, as
    "feasible"; where the time ends first, as "time-limit".
    """
    began = clock()
    tables = tables_of(instance, options)
    start = starting_placement(instance, options, settings, tables)
    if start.counts is None:
        return start.nothing
    bound = combinatorial_bound(instance, tables)
    value = placement_time(tables, start.counts, options)
    settings.progress.report(value, bound.value)
    best = Outcome(
        PlacementSolution.of(instance.name, start.counts.tolist()),
        ended(is_proved(value, bound.value, settings.gap), settings.deadline.is_over),
        bound=bound.value,
        bound_source=bound.source,
        claimed=value,
        chosen=start.method,
    )
    spent = clock() - began
    if best.termination is Termination.OPTIMAL:
        return replace(best, solve_time=spent)
    for method, solve in _methods(instance, options, settings, tables, start.counts, bound):
        try:
            found = solve()
        except NotApplicableError:
            continue
        spent += found.solve_time
        best = replace(_better(tables, options, settings, best, found), chosen=method)
        # `columns` may give up before the time is over; the model then goes on.
        if best.termination is Termination.OPTIMAL or settings.deadline.is_over:
            break
        if method != "columns":
            break
    return replace(best, solve_time=spent)


def _methods(
    instance: PlacementInstance,
    options: PlacementOptions,
    settings: Settings,
    tables: CostTables,
    start: Ints,
    bound: Bound,
) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """The exact methods to try, the quickest first; each may refuse the instance."""
    own = options.all_reduce_bandwidth == "own"
    by_patterns = tables.micro_batches is None and settings.solver == "highs"
    if by_patterns and (own or count_nonzeros(instance) > FEW_NONZEROS):
        from optsched.placement.exact.columns import between

        yield "columns", lambda: between(instance, options, settings, start, bound)
    from optsched.placement.models.ilp import ilp
    from optsched.placement.models.vertex_formulation import ilp_vertex

    yield "ilp", lambda: ilp(instance, options, settings)
    yield "ilp-vertex", lambda: ilp_vertex(instance, options, settings)


def _better(
    tables: CostTables,
    options: PlacementOptions,
    settings: Settings,
    known: Outcome,
    found: Outcome,
) -> Outcome:
    """The better placement and the better bound of two outcomes, as the second's outcome."""
    bound = max(
        (Bound(o.bound, str(o.bound_source)) for o in (known, found) if o.bound is not None),
        key=lambda b: b.value,
    )
    placements = [o.solution for o in (known, found) if o.solution is not None]
    times = [placement_time(tables, np.array(p.counts), options) for p in placements]
    value = min(times)
    gap = settings.gap if found.solver is None else max(settings.gap, SOLVED)
    return replace(
        found,
        solution=placements[times.index(value)],
        termination=ended(is_proved(value, bound.value, gap), settings.deadline.is_over),
        claimed=value,
        bound=bound.value,
        bound_source=bound.source,
    )
