"""Method ``exact``: the cheapest argument that proves an optimum.

First the combinatorial bounds against Repartition's placement: where they meet, nothing else is
needed. Then the dynamic programme while its states are few, threshold bisection while its programme
is small, else server patterns; of the "bottleneck" reading patterns where the model is large, else
the model with each stage's least count; the model for micro-batches. The outcome says which it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from optsched.deadline import clock
from optsched.errors import NotApplicableError
from optsched.placement.bounds.combinatorial import Bound, combinatorial_bound
from optsched.placement.cost import CostTables, Ints, placement_time, tables_of
from optsched.placement.exact.dp import programme, states
from optsched.placement.heuristics.repartition import starting_placement
from optsched.placement.instance import PlacementInstance
from optsched.placement.models.limits import count_nonzeros
from optsched.placement.options import PlacementOptions
from optsched.placement.solution import PlacementSolution
from optsched.result import SOLVED, Outcome, Settings, Termination, ended, is_proved

FEW_STATES = 100_000
"""Up to here the dynamic programme takes milliseconds."""
FEW_NONZEROS = 15_000
"""Up to here threshold bisection does."""


def exact(instance: PlacementInstance, options: PlacementOptions, settings: Settings) -> Outcome:
    """Place a job optimally by whichever method fits.

    Where none takes the instance the heuristics' placement and the best bound stand, as
    "feasible"; where the time ends first, as "time-limit". Complexity: that of the method chosen;
    the bounds' part takes milliseconds. Beyond the paper.
    """
    began = clock()
    tables = tables_of(instance, options)
    name, start, _ = found_first = starting_placement(instance, options, settings, tables)
    if start is None:
        return found_first.nothing
    bound = combinatorial_bound(instance, tables)
    value = placement_time(tables, start, options)
    settings.progress.report(value, bound.value)
    known = Outcome(
        PlacementSolution.of(instance.name, start.tolist()),
        ended(is_proved(value, bound.value, settings.gap), settings.deadline.is_over),
        bound=bound.value,
        bound_source=bound.source,
        claimed=value,
    )
    spent = clock() - began
    if known.termination is Termination.OPTIMAL:
        return replace(known, chosen=name, solve_time=spent)
    for method, solve in _methods(instance, options, settings, tables, start, bound):
        try:
            found = solve()
        except NotApplicableError:
            continue
        best = _better(lambda c: placement_time(tables, c, options), settings, known, found)
        proved = best.termination is Termination.OPTIMAL
        if method == "columns" and not (proved or settings.deadline.is_over):
            known, name = best, method  # its tries ended before its time did
            spent += best.solve_time
            continue
        return replace(best, chosen=method, solve_time=best.solve_time + spent)
    return replace(known, chosen=name, solve_time=spent)


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
    if tables.micro_batches is None:
        if own and states(instance) <= FEW_STATES:
            yield "dp", lambda: programme(instance, tables, start, settings)
        from optsched.placement.exact.columns import between
        from optsched.placement.exact.threshold import bisect

        if settings.solver == "highs":
            if count_nonzeros(instance) > FEW_NONZEROS:
                yield "columns", lambda: between(instance, options, settings, start, bound)
            if own:
                yield "threshold", lambda: bisect(instance, options, settings, start, bound)
        if own and states(instance) > FEW_STATES:
            yield "dp", lambda: programme(instance, tables, start, settings)
    from optsched.placement.models.ilp import ilp
    from optsched.placement.models.vertex_formulation import ilp_vertex

    yield "ilp", lambda: ilp(instance, options, settings)
    yield "ilp-vertex", lambda: ilp_vertex(instance, options, settings)


def _better(
    seconds: Callable[[Ints], float], settings: Settings, known: Outcome, found: Outcome
) -> Outcome:
    """The better placement and the better bound of what was known and what was found."""
    bound = max(
        (Bound(o.bound, str(o.bound_source)) for o in (known, found) if o.bound is not None),
        key=lambda b: b.value,
    )
    placements = [o.solution for o in (known, found) if o.solution is not None]
    times = [seconds(np.array(placement.counts)) for placement in placements]
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
