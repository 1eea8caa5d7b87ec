"""Methods ``edf``, ``fifo``, ``rg`` and their avg- variants: one job after another, greedily.

Guarantee: none. Each job takes the cheapest free configuration that completes it before its due
date, else the fastest free one; dedicated GPUs only, since only STS shares in the paper. Orders:
due date (edf), the file's order (fifo), pressure (27) (rg). Times are at w^max; the avg- variants
take E[W] instead. Complexity: O(J T (K + N)) a pass.

``rg``: the first pass is greedy, the others are randomised: jobs of neighbouring pressure change
places, and the configuration is drawn among the best few; the best of `settings.iterations` passes
(default 20) by expected cost is kept. Source: sts, VII-A1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from optsched.deadline import clock
from optsched.result import Outcome, Settings, Termination
from optsched.selection.assignment import Seat, expected_cost, solution_of
from optsched.selection.cost import Tables, tables_of, type_rates
from optsched.selection.heuristics.cluster_state import ClusterState
from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions

STARTS = 20
SWAP_SHARE = 0.2
CHOICES = 3

Floats = NDArray[np.float64]


def queue(
    name: str, instance: SelectionInstance, options: SelectionOptions, settings: Settings
) -> Outcome:
    """``edf`` and ``avg-edf``, earliest due date first, and ``fifo``, the file's order."""
    began = clock()
    tables = tables_of(instance, options)
    order = list(range(tables.jobs))
    if name != "fifo":
        order = [int(j) for j in np.argsort(tables.due, kind="stable")]
    return heuristic_outcome(tables, Greedy(tables, is_average(name)).run(order), began)


def randomised_greedy(
    name: str, instance: SelectionInstance, options: SelectionOptions, settings: Settings
) -> Outcome:
    """``rg`` and ``avg-rg``, the best of several starts."""
    began = clock()
    tables, average = tables_of(instance, options), is_average(name)
    greedy, rng = Greedy(tables, average), np.random.default_rng(settings.seed)
    fastest = planned_times(tables, average).reshape(tables.jobs, -1).min(axis=1)
    order = np.argsort(tables.due - fastest, kind="stable")
    best = greedy.run(order.tolist())
    value = expected_cost(tables, best)
    starts = STARTS if settings.iterations is None else max(settings.iterations, 1)
    for _ in range(starts - 1):
        seats = greedy.run(shuffled(order, rng).tolist(), rng)
        cost = expected_cost(tables, seats)
        if cost < value:
            best, value = seats, cost
        if settings.time_limit is not None and clock() - began > settings.time_limit:
            break
    return heuristic_outcome(tables, best, began)


def is_average(name: str) -> bool:
    """Whether a method plans at E[W] instead of w^max."""
    return name.startswith("avg-")


def planned_times(tables: Tables, average: bool) -> Floats:
    """Seconds to completion by job, type and configuration: at w^max, or at E[W]."""
    return tables.expected if average else tables.worst


class Greedy:
    """One job after another: the cheapest configuration in time, else the fastest."""

    def __init__(self, tables: Tables, average: bool) -> None:
        self.tables, self.times = tables, planned_times(tables, average)
        self.rates = [type_rates(tables, t) for t in range(len(tables.kinds))]
        self.ranked = [self._ranking(j) for j in range(tables.jobs)]

    def run(self, order: Sequence[int], rng: np.random.Generator | None = None) -> dict[int, Seat]:
        """Seats of jobs taken in order; with a generator the choice is randomised."""
        state, seats = ClusterState(self.tables), {}
        for j in order:
            seat = self._seat(state, self.ranked[j], rng)
            if seat is not None:
                seats[int(j)] = seat
        return seats

    def _ranking(self, j: int) -> list[tuple[int, int]]:
        """(type, configuration), best first: in time by cost, then late by completion time."""
        keyed = []
        for t, kind in enumerate(self.tables.kinds):
            for c in range(kind.gpus):
                seconds = float(self.times[j, t, c])
                if seconds < np.inf:
                    late = seconds > self.tables.in_time[j]
                    worth = seconds if late else seconds * float(self.rates[t][c])
                    keyed.append((late, worth, seconds, t, c))
        return [(t, c) for _, _, _, t, c in sorted(keyed)]

    def _seat(
        self, state: ClusterState, ranked: list[tuple[int, int]], rng: np.random.Generator | None
    ) -> Seat | None:
        most = [state.most_free(t) for t in range(len(self.tables.kinds))]
        fitting = [(t, c) for t, c in ranked if c < most[t]]
        if not fitting:
            return None
        index = 0 if rng is None else int(rng.integers(min(CHOICES, len(fitting))))
        return state.seat(*fitting[index])


def shuffled(order: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Neighbours change places with probability `SWAP_SHARE`."""
    order = order.copy()
    for index in range(len(order) - 1):
        if rng.random() < SWAP_SHARE:
            order[index], order[index + 1] = order[index + 1], order[index]
    return order


def heuristic_outcome(tables: Tables, seats: dict[int, Seat], began: float) -> Outcome:
    """The outcome of a heuristic's seats, timed from `began`."""
    seconds = clock() - began
    return Outcome(
        solution_of(tables, seats),
        Termination.FEASIBLE,
        claimed=expected_cost(tables, seats),
        solve_time=seconds,
    )
