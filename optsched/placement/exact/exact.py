"""Method `exact`: try the provers in order of cost.

First the combinatorial bounds against Repartition's placement: if they meet, nothing else is
needed. Then server patterns (`columns`) for an asynchronous job, unless HiGHS is not the solver;
then the model (`ilp`), which comes first with all_reduce_bandwidth="bottleneck" if it is small; or
the vertex-level model where `ilp`'s assumption on bandwidths fails. The outcome names the prover.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from optsched.deadline import clock
from optsched.errors import NotApplicableError
from optsched.placement.bounds.combinatorial import Bound, combinatorial_bound
from optsched.placement.cost import placement_time, tables_of
from optsched.placement.heuristics.repartition import no_placement, starting_placement
from optsched.placement.instance import PlacementInstance
from optsched.placement.models.parts import ilp_nonzeros
from optsched.placement.options import PlacementOptions
from optsched.placement.solution import PlacementSolution
from optsched.result import Outcome, Settings, Termination, is_proved, termination_of

FEW_NONZEROS = 15_000
"""Nonzeros up to which a "bottleneck" instance is solved by `ilp` instead of `columns`: VGG19 on 16
GPUs has fewer, the ring jobs of 128 GPUs have more."""


def exact(instance: PlacementInstance, options: PlacementOptions, settings: Settings) -> Outcome:
    """Place a job by the first prover that accepts it; without one, heuristically."""
    began = clock()
    tables = tables_of(instance, options)
    start = starting_placement(instance, options, settings)
    if start.counts is None:
        return no_placement(start.termination)
    bound = combinatorial_bound(instance, tables)
    value = placement_time(tables, start.counts, options)
    settings.progress.report(value, bound.value)
    best = Outcome(
        PlacementSolution.of(instance.name, start.counts.tolist()),
        termination_of(is_proved(value, bound.value, settings.gap), settings.deadline.is_over),
        bound=bound.value,
        bound_source=bound.source,
        claimed=value,
        chosen=start.method,
    )
    spent = clock() - began
    incumbent, accepted = start.counts, list[str]()
    for method, close_gap in _provers(instance, options, settings):
        # `columns` or `ilp` can stop before the deadline without a proof; then the other goes on.
        is_done = settings.deadline.is_over or (method == "ilp-vertex" and "ilp" in accepted)
        if is_done or best.termination is Termination.OPTIMAL:
            break
        try:
            outcome = close_gap(instance, options, settings, incumbent, bound)
        except NotApplicableError:
            continue
        accepted.append(method)
        spent += outcome.solve_time
        best = replace(outcome, chosen=method)
        incumbent = np.array(outcome.solution.counts)
        if outcome.bound is not None:
            bound = Bound(outcome.bound, str(outcome.bound_source))
    return replace(best, solve_time=spent)


def _provers(
    instance: PlacementInstance, options: PlacementOptions, settings: Settings
) -> Iterator[tuple[str, Callable[..., Outcome]]]:
    """The exact methods to try, the quickest first; each may refuse the instance."""
    from optsched.placement.exact import columns

    own_bandwidth = options.all_reduce_bandwidth == "own"
    use_columns = instance.job.micro_batches is None and settings.solver == "highs"
    columns_first = own_bandwidth or ilp_nonzeros(instance) > FEW_NONZEROS
    if use_columns and columns_first:
        yield "columns", columns.close_gap
    from optsched.placement.models import formulation, vertex_formulation

    yield "ilp", formulation.close_gap
    if use_columns and not columns_first:
        yield "columns", columns.close_gap
    yield "ilp-vertex", vertex_formulation.close_gap
