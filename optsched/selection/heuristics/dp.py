"""Methods ``dp`` and ``avg-dp``: a dynamic programme over jobs x GPUs with the proxy (28).

Guarantee: the allocation is optimal for the proxy on one GPU type whose GPUs are pooled; none for
(P1.1). Types are processed in descending cost; a job not allocated on one type is passed to the
next, valued at its best proxy cost there.

Proxy: eta times the tardiness at w^max (avg-: at E[W]), the GPUs' cost over the interval H, and for
a job that is not allocated eta times its worst-case tardiness (printed without eta; see
models/selection/README.md), without the penalty rho.

The allocated jobs run in FIFO order, each in the fastest free configuration of any type, the
cheaper of equally fast ones (the sentence after (28)); a job is postponed if nothing is free. If no
job is allocated, those that would be late are run.

Complexity: O(T J G K). Source: sts, VII-A1, (28).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from optsched.deadline import clock
from optsched.kernels import kernel
from optsched.result import Outcome, Settings
from optsched.selection.assignment import Placement
from optsched.selection.cost import Floats, Tables, tables_of, type_rates
from optsched.selection.heuristics.baselines import heuristic_outcome, is_average, planned_times
from optsched.selection.heuristics.cluster_state import ClusterState
from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions


def dp(
    name: str, instance: SelectionInstance, options: SelectionOptions, settings: Settings
) -> Outcome:
    """Select resources by dynamic programming, ``dp`` at w^max and ``avg-dp`` at E[W]."""
    started = clock()
    tables = tables_of(instance, options)
    order = dp_jobs(tables, planned_times(tables, is_average(name)))
    return heuristic_outcome(tables, fastest_assignment(tables, order), started)


def dp_jobs(tables: Tables, times: Floats) -> list[int]:
    """The jobs that the programme runs, in the file's order; ``times`` are planned seconds."""
    order = sorted(range(len(tables.kinds)), key=lambda t: (-float(type_rates(tables, t)[0]), t))
    proxies = [_proxy(tables, times, t) for t in range(len(tables.kinds))]
    worst = np.maximum(tables.worst_tardiness, 0.0)  # the last term of (28) as printed
    postponement_cost = tables.weights * worst
    unallocated = np.arange(tables.jobs)
    for position, t in enumerate(order):
        later = [proxies[u].min(axis=1) for u in order[position + 1 :]]
        alternative_cost = np.minimum.reduce([postponement_cost, *later])
        gpus = sum(c.gpus * len(c.nodes) for c in tables.classes if c.kind == t)
        chosen = np.zeros(len(unallocated), dtype=np.int64)
        steps = len(unallocated) * gpus * tables.kinds[t].gpus
        run_cost, skip_cost = proxies[t][unallocated], alternative_cost[unallocated]
        allocate.for_size(steps)(run_cost, skip_cost, gpus, chosen)
        unallocated = unallocated[chosen == 0]
        if not len(unallocated):
            break
    if len(unallocated) == tables.jobs:
        unallocated = np.flatnonzero(worst <= 0)
    return sorted(set(range(tables.jobs)) - set(unallocated.tolist()))


def fastest_assignment(tables: Tables, order: Sequence[int]) -> dict[int, Placement]:
    """Place jobs in order, each at its fastest free configuration; ties by cost."""
    state = ClusterState(tables)
    rates = [type_rates(tables, t) for t in range(len(tables.kinds))]
    assignment = {}
    for j in order:
        free = [
            (float(tables.seconds[j, t, k]), float(rates[t][k]), t, k)
            for t in range(len(rates))
            for k in range(state.max_free_gpus(t))
        ]
        seconds, _, t, k = min(free, default=(np.inf, 0.0, 0, 0))
        if seconds < np.inf and (placement := state.allocate(t, k)) is not None:
            assignment[j] = placement
    return assignment


def _proxy(tables: Tables, times: Floats, t: int) -> Floats:
    """The first two terms of (28) for each job and 1..K GPUs of a type."""
    seconds = times[:, t, : tables.kinds[t].gpus]
    usable = np.isfinite(seconds)
    tardiness = np.maximum(np.where(usable, seconds, 0.0) - tables.due[:, None], 0.0)
    cost = tables.weights[:, None] * tardiness + type_rates(tables, t) * tables.instance.interval
    return np.where(usable, cost, np.inf)


@kernel
def allocate(run_cost: Any, skip_cost: Any, gpus: Any, chosen: Any) -> Any:
    """Least total proxy in dollars of giving each job 0..K of so many GPUs: O(J G K)."""
    jobs, max_gpus = run_cost.shape
    value = np.zeros(gpus + 1)
    choices = np.zeros((jobs, gpus + 1), np.int32)
    for j in range(jobs):
        after = np.empty(gpus + 1)
        for g in range(gpus + 1):
            best, choice = value[g] + skip_cost[j], 0
            for k in range(1, min(max_gpus, g) + 1):
                cost = value[g - k] + run_cost[j, k - 1]
                if cost < best:
                    best, choice = cost, k
            after[g], choices[j, g] = best, choice
        value = after
    g = gpus
    for j in range(jobs - 1, -1, -1):
        chosen[j] = choices[j, g]
        g -= chosen[j]
    return value[gpus]
