"""Compiled seating by gain: the greedy step of the price policy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from optsched.compiled_loops import njit, njit_inner
from optsched.selection.heuristics._best_fit_kernel import Nodes
from optsched.selection.heuristics._sts_kernel import (
    GIVEN,
    NODE,
    Kinds,
    Left,
    has_room,
    take_seat,
)


class Offers(NamedTuple):
    """What each way to run is worth.

    Attributes
    ----------
    gain : (J, T, C) float
        Dollars per second; minus infinity where there is no such way.
    wish : (J,) int
        The best t C + c after the price of the GPUs.
    value : (J,) float
        What that is worth.
    turn, later : (J,) int
        Jobs in the order in which they ask for it, and in which they take what else there is.
    """

    gain: Any
    wish: Any
    value: Any
    turn: Any
    later: Any


@njit(cache=True)
def ask(prices: Any, sizes: Any, gain: Any, wish: Any, value: Any) -> None:
    """Fill each job's best way to run after the price, and what it is worth."""
    jobs, kinds, count = gain.shape
    for j in range(jobs):
        wish[j], value[j] = 0, -np.inf
        for t in range(kinds):
            for c in range(count):
                priced = gain[j, t, c] - prices[t] * sizes[t, c]
                if priced > value[j]:
                    wish[j], value[j] = t * count + c, priced


@njit(cache=True)
def seat_jobs(offers: Offers, kinds: Kinds, nodes: Nodes, seats: Any, order: Any) -> int:
    """Fill ``seats`` (6, J), as in the kernel of STS, and ``order`` (J,); return their number."""
    _, types, width = offers.gain.shape
    left = Left(nodes.gpus.copy(), np.full(nodes.rates.shape, -1))
    is_open, gone = np.ones(types, np.bool_), np.zeros(types * width, np.bool_)
    seated = 0
    for j in offers.turn:
        t = offers.wish[j] // width
        if not offers.value[j] > 0 or not is_open.any():
            break
        if not gone[offers.wish[j]]:
            _take(offers.wish[j], kinds, nodes, left, gone, seats[:, j])
        if seats[NODE, j] >= 0:
            is_open[t] = has_room(t, kinds, nodes, left)
            order[seated] = j
            seated += 1
    for j in offers.later:
        if not is_open.any():
            break
        if seats[NODE, j] >= 0:
            continue
        while seats[NODE, j] < 0:
            wish = _best(offers.gain[j], gone)
            if wish < 0:
                break
            _take(wish, kinds, nodes, left, gone, seats[:, j])
        if seats[NODE, j] >= 0:
            is_open[wish // width] = has_room(wish // width, kinds, nodes, left)
            order[seated] = j
            seated += 1
    _raise(offers.gain, nodes, kinds, left, seats, order[:seated])
    return seated


@njit_inner
def _best(gain: Any, gone: Any) -> int:
    """The best of a job's ways of positive gain that may still fit; -1 if there is none."""
    types, width = gain.shape
    best, most = -1, 0.0
    for t in range(types):
        for c in range(width):
            if gain[t, c] > most and not gone[t * width + c]:
                best, most = t * width + c, gain[t, c]
    return best


@njit_inner
def _take(wish: int, kinds: Kinds, nodes: Nodes, left: Left, gone: Any, row: Any) -> None:
    """A seat for a configuration; what once finds none never will: free GPUs only grow fewer.

    A shared GPU's room is only made of a free GPU, which is there for whoever wants the room.
    """
    t, c = divmod(wish, kinds.parts.shape[1])
    take_seat(kinds, nodes, left, t, c, row)
    gone[wish] = row[NODE] < 0


@njit_inner
def _raise(gain: Any, nodes: Nodes, kinds: Kinds, left: Left, seats: Any, order: Any) -> None:
    """One more GPU of its node to the job that gains most by it, again and again."""
    for n in range(len(left.free)):
        t = nodes.kind[n]
        while left.free[n]:
            best, most = -1, 0.0
            for j in order:
                c = seats[GIVEN, j]
                if seats[NODE, j] != n or kinds.parts[t, c] < kinds.whole[t]:
                    continue
                step = gain[j, t, c + 1] - gain[j, t, c] if c + 1 < nodes.gpus[n] else -1.0
                if step > most or (step == most and best > j):
                    best, most = j, step
            if best < 0:
                break
            seats[GIVEN, best] += 1
            left.free[n] -= 1
