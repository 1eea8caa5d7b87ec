"""Methods ``dp`` and ``avg-dp``: a dynamic programme over jobs x GPUs with the proxy (28).

Guarantee: the allocation is optimal for the proxy on one GPU type whose GPUs are pooled; none for
(P1.1). Types are taken from the dearest first; a job that a type leaves out goes on to the next
one, at the best proxy it could have there. Proxy: eta times the tardiness at w^max (avg-: at
E[W]), the GPUs' cost over the interval H, and for a job left out eta times its worst-case
tardiness. (28) prints the last term without eta, which adds seconds to dollars: the jobs that run
would depend on the unit of money. It has no rho, which is kept. The programme says which jobs run;
in FIFO order each takes the fastest configuration available, of any type, the cheaper of equally
fast ones (the sentence after (28)), and waits when nothing is free. If the programme runs no job,
those that would be late are run.
Complexity: O(T J G K).
Source: sts, VII-A1, (28).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.deadline import clock
from optsched.kernels import kernel
from optsched.result import Outcome, Settings
from optsched.selection.assignment import Seat
from optsched.selection.cost import Tables, tables_of, type_rates
from optsched.selection.heuristics.baselines import heuristic_outcome, is_average, planned_times
from optsched.selection.heuristics.cluster_state import ClusterState
from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions

Floats = NDArray[np.float64]


def dp(
    name: str, instance: SelectionInstance, options: SelectionOptions, settings: Settings
) -> Outcome:
    """Select resources by dynamic programming, ``dp`` at w^max and ``avg-dp`` at E[W]."""
    began = clock()
    tables = tables_of(instance, options)
    order = dp_jobs(tables, planned_times(tables, is_average(name)))
    return heuristic_outcome(tables, fastest_seats(tables, ClusterState(tables), order), began)


def dp_jobs(tables: Tables, times: Floats) -> list[int]:
    """The jobs that the programme runs, in the file's order; ``times`` are planned seconds."""
    order = sorted(range(len(tables.kinds)), key=lambda t: (-float(type_rates(tables, t)[0]), t))
    proxies = [_proxy(tables, times, t) for t in range(len(tables.kinds))]
    worst = _worst_tardiness(tables)
    leaving = tables.weights * worst
    waiting = np.arange(tables.jobs)
    for position, t in enumerate(order):
        later = [proxies[u].min(axis=1) for u in order[position + 1 :]]
        leave = np.minimum.reduce([leaving, *later])
        gpus = sum(c.gpus * len(c.nodes) for c in tables.classes if c.kind == t)
        chosen = np.zeros(len(waiting), dtype=np.int64)
        steps = len(waiting) * gpus * tables.kinds[t].gpus
        allocate.for_size(steps)(proxies[t][waiting], leave[waiting], gpus, chosen)
        waiting = waiting[chosen == 0]
        if not len(waiting):
            break
    if len(waiting) == tables.jobs:
        waiting = np.flatnonzero(worst <= 0)
    return sorted(set(range(tables.jobs)) - set(waiting.tolist()))


def fastest_seats(tables: Tables, state: ClusterState, order: Sequence[int]) -> dict[int, Seat]:
    """Jobs in order, each at the fastest configuration that is free, the cheaper of equal ones."""
    rates = [type_rates(tables, t) for t in range(len(tables.kinds))]
    seats = {}
    for j in order:
        free = [
            (float(tables.seconds[j, t, k]), float(rates[t][k]), t, k)
            for t in range(len(rates))
            for k in range(state.most_free(t))
        ]
        seconds, _, t, k = min(free, default=(np.inf, 0.0, 0, 0))
        seat = state.seat(t, k) if seconds < np.inf else None
        if seat is not None:
            seats[j] = seat
    return seats


def _proxy(tables: Tables, times: Floats, t: int) -> Floats:
    """The first two terms of (28) for each job and 1..K GPUs of a type."""
    seconds = times[:, t, : tables.kinds[t].gpus]
    weights = np.array([job.tardiness_weight for job in tables.instance.jobs])
    usable = np.isfinite(seconds)
    late = np.maximum(np.where(usable, seconds, 0.0) - tables.due[:, None], 0.0)
    cost = weights[:, None] * late + type_rates(tables, t) * tables.instance.interval
    return np.where(usable, cost, np.inf)


def _worst_tardiness(tables: Tables) -> Floats:
    """The worst-case tardiness of (20'), seconds: the last term of (28) as printed."""
    worst = np.where(np.isfinite(tables.worst), tables.worst, 0.0).reshape(tables.jobs, -1)
    return np.maximum(tables.instance.interval + worst.max(axis=1) - tables.due, 0.0)


@kernel
def allocate(run: Any, leave: Any, gpus: Any, chosen: Any) -> Any:
    """Least total proxy in dollars of giving each job 0..K of so many GPUs: O(J G K)."""
    jobs, most = run.shape
    value = np.zeros(gpus + 1)
    pick = np.zeros((jobs, gpus + 1), np.int32)
    for j in range(jobs):
        after = np.empty(gpus + 1)
        for g in range(gpus + 1):
            best, choice = value[g] + leave[j], 0
            for k in range(1, min(most, g) + 1):
                cost = value[g - k] + run[j, k - 1]
                if cost < best:
                    best, choice = cost, k
            after[g], pick[j, g] = best, choice
        value = after
    g = gpus
    for j in range(jobs - 1, -1, -1):
        chosen[j] = pick[j, g]
        g -= chosen[j]
    return value[gpus]
