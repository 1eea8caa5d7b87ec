"""Methods ``dp`` and ``avg-dp``: a dynamic programme over jobs x GPUs with the proxy (28).

Guarantee: the allocation is optimal for the proxy on one GPU type whose GPUs are pooled; none for
(P1.1). Types are taken from the dearest first; a job that a type leaves out goes on to the next
one, at the best proxy it could have there. Allocations are then seated in FIFO order by best fit,
with fewer GPUs where the pooled ones are split over nodes. Proxy: eta times the tardiness at w^max
(avg-: at E[W]), the GPUs' cost over the interval H, and for a job left out its worst-case
tardiness; (28) prints the last without eta and rho, which is kept. Complexity: O(T J G K).
Source: sts, VII-A1, (28).
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from optsched.result import Outcome, Settings
from optsched.selection.assignment import Seat
from optsched.selection.baselines import heuristic_outcome, planned_times
from optsched.selection.cluster_state import ClusterState
from optsched.selection.cost import Tables, tables_of
from optsched.selection.dp_kernel import allocate
from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions
from optsched.selection.profiles import type_rates

Floats = NDArray[np.float64]


def dp(instance: SelectionInstance, options: SelectionOptions, settings: Settings) -> Outcome:
    """Select resources by dynamic programming at w^max."""
    return _dp(instance, options, "dp", average=False)


def avg_dp(instance: SelectionInstance, options: SelectionOptions, settings: Settings) -> Outcome:
    """Select resources by dynamic programming at E[W]."""
    return _dp(instance, options, "avg-dp", average=True)


def _dp(
    instance: SelectionInstance, options: SelectionOptions, method: str, *, average: bool
) -> Outcome:
    options.require_free_opening(method)
    began = time.perf_counter()
    tables = tables_of(instance, options)
    return heuristic_outcome(tables, _seated(tables, dp_allocation(tables, average)), began)


def dp_allocation(tables: Tables, average: bool) -> dict[int, tuple[int, int]]:
    """Type and GPUs of each job that gets some."""
    order = sorted(range(len(tables.kinds)), key=lambda t: (-float(type_rates(tables, t)[0]), t))
    proxies = [_proxy(tables, t, average) for t in range(len(tables.kinds))]
    waiting = np.arange(tables.jobs)
    found: dict[int, tuple[int, int]] = {}
    for position, t in enumerate(order):
        later = [proxies[u].min(axis=1) for u in order[position + 1 :]]
        leave = np.minimum.reduce([_worst_tardiness(tables), *later])
        gpus = sum(c.gpus * len(c.nodes) for c in tables.classes if c.kind == t)
        chosen = np.zeros(len(waiting), dtype=np.int64)
        allocate(proxies[t][waiting], leave[waiting], gpus, chosen)
        found.update({int(j): (t, int(k)) for j, k in zip(waiting, chosen, strict=True) if k})
        waiting = waiting[chosen == 0]
        if not len(waiting):
            break
    return found


def _proxy(tables: Tables, t: int, average: bool) -> Floats:
    """The first two terms of (28) for each job and 1..K GPUs of a type."""
    seconds = planned_times(tables, average)[:, t, : tables.kinds[t].gpus]
    weights = np.array([job.tardiness_weight for job in tables.instance.jobs])
    usable = np.isfinite(seconds)
    late = np.maximum(np.where(usable, seconds, 0.0) - tables.due[:, None], 0.0)
    cost = weights[:, None] * late + type_rates(tables, t) * tables.instance.interval
    return np.where(usable, cost, np.inf)


def _worst_tardiness(tables: Tables) -> Floats:
    """The last term of (28): the worst-case tardiness of (20') in seconds, as printed."""
    worst = np.where(np.isfinite(tables.worst), tables.worst, 0.0).reshape(tables.jobs, -1)
    return np.maximum(tables.instance.interval + worst.max(axis=1) - tables.due, 0.0)


def _seated(tables: Tables, allocation: dict[int, tuple[int, int]]) -> dict[int, Seat]:
    state, seats = ClusterState(tables), {}
    for j in sorted(allocation):
        t, gpus = allocation[j]
        for k in range(min(gpus, state.most_free(t)), 0, -1):
            seat = state.seat(t, k - 1)
            if seat is not None:
                seats[j] = seat
                break
    return seats
