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
    state, seats = _Seating(tables), {}
    flat = priced.reshape(tables.jobs, -1)
    best = flat.argmax(axis=1)
    value = flat[np.arange(tables.jobs), best]
    wishes, worth = best.tolist(), value.tolist()
    for j in np.argsort(-value, kind="stable").tolist():
        if worth[j] <= 0 or state.full:
            break
        seat = state.take(wishes[j])
        if seat is not None:
            seats[j] = seat
    if not state.full:
        _seat_the_rest(state, seats, gain.reshape(tables.jobs, -1), urgency)
    _raise(tables, state.cluster, seats, gain)
    return seats


class _Seating:
    """A cluster that fills, and what no longer fits: free GPUs and rooms only ever grow fewer.

    A room is only made of a free GPU, which is there for whoever wants the room.
    """

    def __init__(self, tables: Tables) -> None:
        self.cluster, self.count = ClusterState(tables), tables.seconds.shape[2]
        self.gone = bytearray(len(tables.kinds) * self.count)
        self.full = self.cluster.is_full()

    def take(self, wish: int) -> Seat | None:
        """A seat for configuration `wish % count` of type `wish // count`, if one is left."""
        if self.gone[wish]:
            return None
        seat = self.cluster.seat(*divmod(wish, self.count))
        if seat is None:
            self.gone[wish] = True
        else:
            self.full = self.cluster.is_full()
        return seat


def _seat_the_rest(state: _Seating, seats: dict[int, Seat], gain: Floats, urgency: Floats) -> None:
    """Let the others have what fits of positive gain, the most urgent first.

    Parameters
    ----------
    state : _Seating
        The cluster.
    seats : dict
        By job; grows.
    gain : (J, T C) float
        Of each configuration.
    urgency : (J,) float
        Of each job.
    """
    orders = np.argsort(-gain, axis=1, kind="stable").tolist()
    gains = gain.tolist()
    for j in np.argsort(-urgency, kind="stable").tolist():
        if state.full:
            return
        if j in seats:
            continue
        for wish in orders[j]:
            if not gains[j][wish] > 0:
                break
            seat = state.take(wish)
            if seat is not None:
                seats[j] = seat
                break


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
