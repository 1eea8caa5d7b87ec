"""Greedy seating by gain: step 5 of the price policy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from optsched.selection.assignment import Seat
from optsched.selection.cost import Tables
from optsched.selection.heuristics.cluster_state import ClusterState

Floats = NDArray[np.float64]


def seat_by_gain(tables: Tables, gain: Floats, priced: Floats, urgency: Floats) -> dict[int, Seat]:
    """Seats by job.

    Parameters
    ----------
    tables : Tables
    gain : array (J, T, C)
        nu s - c k, dollars per second; minus infinity where the job cannot run.
    priced : array (J, T, C)
        The same less the price of the GPUs: what a job asks for.
    urgency : array (J,)
        nu s at the fastest configuration: the order of those whose wish does not fit.

    Notes
    -----
    Jobs take their best configuration, the largest gain first; the others the best that fits of
    positive gain; then jobs get more GPUs of their node while that gains most. O(J (N + T C)).
    """
    state, seats = ClusterState(tables), {}
    flat = priced.reshape(tables.jobs, -1)
    best, count = flat.argmax(axis=1), tables.seconds.shape[2]
    value = flat[np.arange(tables.jobs), best]
    for j in map(int, np.argsort(-value, kind="stable")):
        if value[j] <= 0 or state.is_full():
            break
        kind, configuration = divmod(int(best[j]), count)
        seat = state.seat(kind, configuration)
        if seat is not None:
            seats[j] = seat
    for j in map(int, np.argsort(-urgency, kind="stable")):
        if state.is_full():
            break
        if j not in seats:
            seat = _best_that_fits(tables, state, gain[j])
            if seat is not None:
                seats[j] = seat
    _raise(tables, state, seats, gain)
    return seats


def _best_that_fits(tables: Tables, state: ClusterState, gain: Floats) -> Seat | None:
    kinds = range(len(tables.kinds))
    most, rooms = [state.most_free(t) for t in kinds], [state.may_share(t) for t in kinds]
    for index in np.argsort(-gain, axis=None, kind="stable"):
        kind, configuration = divmod(int(index), gain.shape[1])
        if not gain[kind, configuration] > 0:
            return None
        if most[kind] or rooms[kind]:
            seat = state.seat(kind, configuration)
            if seat is not None:
                return seat
    return None


def _raise(tables: Tables, state: ClusterState, seats: dict[int, Seat], gain: Floats) -> None:
    """One more GPU of its node to the job that gains most by it, again and again."""
    holders: dict[int, list[int]] = {}
    for j, seat in seats.items():
        kind = tables.kinds[state.nodes[seat.node].kind]
        if state.nodes[seat.node].free and not kind.configurations[seat.configuration].shares:
            holders.setdefault(seat.node, []).append(j)
    for n, jobs in holders.items():
        node = state.nodes[n]
        while node.free:
            steps = [
                (_more(gain[j, node.kind], seats[j].configuration, node.gpus), -j) for j in jobs
            ]
            step, j = max(steps)
            if step <= 0:
                break
            seat = seats[-j]
            taken, node.free = node.free[0], node.free[1:]
            seats[-j] = Seat(n, (*seat.gpus, taken), seat.configuration + 1)


def _more(gain: Floats, configuration: int, gpus: int) -> float:
    """What one GPU more gains."""
    if configuration + 1 >= gpus:
        return -1.0
    return float(gain[configuration + 1] - gain[configuration])
