"""Greedy seating by gain: step 5 of the price policy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from optsched.selection.assignment import Seat
from optsched.selection.cluster_state import ClusterState
from optsched.selection.cost import Tables

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
    free = [sum(len(node.free) for node in nodes) for nodes in state.of_kind]
    flat = priced.reshape(tables.jobs, -1)
    best, count = flat.argmax(axis=1), tables.seconds.shape[2]
    value = flat[np.arange(tables.jobs), best]
    for j in map(int, np.argsort(-value, kind="stable")):
        if value[j] <= 0:
            break
        kind, configuration = divmod(int(best[j]), count)
        seat = _seat(tables, state, free, kind, configuration)
        if seat is not None:
            seats[j] = seat
    for j in map(int, np.argsort(-urgency, kind="stable")):
        if j not in seats:
            seat = _best_that_fits(tables, state, free, gain[j])
            if seat is not None:
                seats[j] = seat
    _raise(tables, state, seats, gain)
    return seats


def _seat(
    tables: Tables, state: ClusterState, free: list[int], kind: int, configuration: int
) -> Seat | None:
    wanted = tables.kinds[kind].configurations[configuration]
    if not wanted.shares and free[kind] < wanted.gpus:
        return None
    seat = state.seat(kind, configuration)
    if seat is not None:
        free[kind] = sum(len(node.free) for node in state.of_kind[kind])
    return seat


def _best_that_fits(
    tables: Tables, state: ClusterState, free: list[int], gain: Floats
) -> Seat | None:
    rooms = [any(node.shared for node in nodes) for nodes in state.of_kind]
    if not any(free) and not any(rooms):
        return None
    order = np.argsort(-gain, axis=None, kind="stable")
    for index in order:
        kind, configuration = divmod(int(index), gain.shape[1])
        if not gain[kind, configuration] > 0:
            return None
        if free[kind] or rooms[kind]:
            seat = _seat(tables, state, free, kind, configuration)
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
