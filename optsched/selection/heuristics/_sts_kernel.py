"""Compiled pass of STS (Algorithms 2 and 3, VI-C): a job at a time, until nothing is free.

A job's wishes are computed at its turn: once the cluster is full, no more profiles are solved.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.kernels import kernel
from optsched.selection.heuristics._best_fit_kernel import Nodes, best_fit, most_free
from optsched.speed_profile.exact._hull_kernel import (
    Hull,
    Speeds,
    curve_of,
    empty_hull,
    first_piece,
)
from optsched.uncertainty.survival import Curves

IN_TIME, LATE, NEVER = 0, 1, 2
NODE, FIRST, PLACED, ASKED, GIVEN, MORE = range(6)
"""Rows of what `select` returns."""


class Jobs(NamedTuple):
    """The jobs' data that STS reads.

    Attributes
    ----------
    seconds : (J, T, C) float
        Of an epoch, infinite where it cannot run.
    curves : Curves
        F^c of the epochs left.
    due, in_time : (J,) float
        Seconds to the due date, and with what the clock's rounding may have taken from it.
    least : (J, T) int
        Speeds below do not count.
    """

    seconds: Any
    curves: Curves
    due: Any
    in_time: Any
    least: Any


class Kinds(NamedTuple):
    """GPU types.

    Attributes
    ----------
    gpus : (T,) int
        Of the largest node.
    rates : (T, K) float
        Dollars per second with 1.. of them.
    whole : (T,) int
        Equal parts of a GPU such that every fraction is a number of them.
    parts : (T, C) int
        That number by configuration, 0 where there is none.
    """

    gpus: Any
    rates: Any
    whole: Any
    parts: Any


class Rules(NamedTuple):
    """Readings of the paper.

    Attributes
    ----------
    smaller : bool
        Fewer GPUs are tried where the wish fits nowhere.
    speeds_up : bool
        A fraction need only last for the first piece.
    gives_idle : bool
        Idle GPUs of open nodes are handed out (VI-C).
    shortest : float
        Seconds of a first piece at least.
    """

    smaller: bool
    speeds_up: bool
    gives_idle: bool
    shortest: float


class Wishes(NamedTuple):
    """One job's wish on each type (T,): Algorithm 3's two keys, configuration, epochs in it."""

    standing: Any
    worth: Any
    configuration: Any
    length: Any


class Left(NamedTuple):
    """Free GPUs (N,), and free parts of each shared GPU (N, K), -1 where it is not shared."""

    free: Any
    room: Any


@kernel
def select(jobs: Jobs, kinds: Kinds, nodes: Nodes, order: Any, rules: Rules) -> Any:
    """Seats (6, J), and epochs until each job's planned change of speed (J,).

    Rows of the seats: node (-1 for none); first of its GPUs, which lie side by side; configuration;
    the one wanted of that type; the one after `Rules.gives_idle`; first of the GPUs added then.
    """
    count, types, _ = jobs.seconds.shape
    seats, length = np.full((6, count), -1), np.full(count, np.inf)
    left = Left(nodes.gpus.copy(), np.full(nodes.rates.shape, -1))
    hull, spare = empty_hull(kinds.rates.shape[1]), np.empty((2, kinds.rates.shape[1]))
    wishes = Wishes(
        np.empty(types, np.int64), np.empty(types), np.empty(types, np.int64), np.empty(types)
    )
    is_open = np.ones(types, np.bool_)  # a type that is full stays so
    for j in order:
        for t in range(types):
            wishes.standing[t] = NEVER
            is_open[t] = is_open[t] and has_room(t, kinds, nodes, left)
            if is_open[t] and jobs.seconds[j, t, 0] < np.inf:
                _wish(jobs, kinds, rules, j, t, wishes, hull, spare)
        if not is_open.any():
            break
        _assign(kinds, nodes, left, rules, wishes, seats[:, j])
        if seats[NODE, j] >= 0:
            t = nodes.kind[seats[NODE, j]]
            seats[ASKED, j], length[j] = wishes.configuration[t], wishes.length[t]
    if rules.gives_idle:
        for j in order:
            _give_fraction(jobs, kinds, nodes, left, j, seats)
        for j in order:
            _give_gpus(jobs, kinds, nodes, left, j, seats)
    return seats, length


@register_jitable
def has_room(kind: int, kinds: Kinds, nodes: Nodes, left: Left) -> bool:
    """Whether any configuration of a type still fits somewhere."""
    for n in range(len(left.free)):
        if nodes.kind[n] == kind and left.free[n]:
            return True
    least = kinds.whole[kind]
    for part in kinds.parts[kind]:
        if part:
            least = min(least, part)
    return least < kinds.whole[kind] and _roomiest(kind, least, nodes, left)[0] >= 0


@register_jitable
def _wish(
    jobs: Jobs,
    kinds: Kinds,
    rules: Rules,
    j: int,
    t: int,
    wishes: Wishes,
    hull: Hull,
    spare: Any,
) -> None:
    """Algorithm 3 for a job on one type: its profile's first speed, else the fastest."""
    most, curve = kinds.gpus[t], curve_of(jobs.curves, j)
    epochs, fastest = curve.knots[-1], 0
    speeds = Speeds(spare[0, :most], spare[1, :most])
    for k in range(most):
        each = jobs.seconds[j, t, k]
        if each < jobs.seconds[j, t, fastest]:
            fastest = k
        speeds.inverse[k] = np.inf if k < jobs.least[j, t] else each
        speeds.energy[k] = each * kinds.rates[t, k] if each < np.inf else 0.0
    soonest, deadline = jobs.seconds[j, t, fastest] * epochs, jobs.due[j]
    if deadline < soonest <= jobs.in_time[j]:
        deadline = soonest
    k, length, energy = first_piece(curve, speeds, deadline, rules.shortest, hull)
    wishes.length[t] = length
    if k < 0:
        wishes.standing[t], wishes.worth[t], wishes.configuration[t] = LATE, soonest, fastest
        return
    wishes.standing[t], wishes.worth[t], wishes.configuration[t] = IN_TIME, energy, k
    if k == 0:  # the smallest fraction that meets the due date
        first = min(length, epochs) if rules.speeds_up else epochs
        rest = (epochs - first) * jobs.seconds[j, t, fastest]
        for c in range(kinds.parts.shape[1] - 1, most - 1, -1):
            each = jobs.seconds[j, t, c]
            if kinds.parts[t, c] and first * each + rest <= jobs.in_time[j]:
                wishes.configuration[t] = c
                break


@register_jitable
def _assign(
    kinds: Kinds, nodes: Nodes, left: Left, rules: Rules, wishes: Wishes, seat: Any
) -> None:
    """Fill ``seat`` by the best wish that fits, else by fewer GPUs of the best type with any."""
    for smaller in range(2 if rules.smaller else 1):
        tried = np.zeros(len(wishes.standing), np.bool_)
        for _ in range(len(tried)):
            best = -1
            for t in range(len(tried)):
                if tried[t] or wishes.standing[t] == NEVER:
                    continue
                if best < 0 or wishes.standing[t] < wishes.standing[best]:
                    best = t
                elif wishes.standing[t] == wishes.standing[best]:
                    best = t if wishes.worth[t] < wishes.worth[best] else best
            if best < 0:
                break
            tried[best] = True
            wanted = wishes.configuration[best]
            if smaller:  # less than was wanted, or it would have fitted
                wanted = most_free(best, left.free, nodes) - 1
            if wanted >= 0:
                take_seat(kinds, nodes, left, best, wanted, seat)
            if seat[NODE] >= 0:
                return


@register_jitable
def take_seat(kinds: Kinds, nodes: Nodes, left: Left, kind: int, wanted: int, seat: Any) -> None:
    """Take GPUs by best fit; a fraction goes to the shared GPU of least sufficient room."""
    gpus, part = wanted + 1, kinds.parts[kind, wanted]
    shares = part < kinds.whole[kind]
    if shares:
        gpus = 1
        n, g = _roomiest(kind, part, nodes, left)
        if n >= 0:
            left.room[n, g] -= part
            seat[NODE], seat[FIRST], seat[PLACED], seat[GIVEN] = n, g, wanted, wanted
            return
    n = best_fit(kind, gpus, left.free, nodes)
    if n < 0:
        return
    g = nodes.gpus[n] - left.free[n]
    left.free[n] -= gpus
    if shares:
        left.room[n, g] = kinds.whole[kind] - part
    seat[NODE], seat[FIRST], seat[PLACED], seat[GIVEN] = n, g, wanted, wanted


@register_jitable
def _roomiest(kind: int, part: int, nodes: Nodes, left: Left) -> Any:
    """The shared GPU of a type with the least sufficient room, the first of them; or -1."""
    node, gpu = -1, -1
    for n in range(len(nodes.gpus)):
        if nodes.kind[n] != kind:
            continue
        for g in range(nodes.gpus[n] - left.free[n]):
            if left.room[n, g] >= part and (node < 0 or left.room[n, g] < left.room[node, gpu]):
                node, gpu = n, g
    return node, gpu


@register_jitable
def _give_fraction(jobs: Jobs, kinds: Kinds, nodes: Nodes, left: Left, j: int, seats: Any) -> None:
    """On a shared GPU give the least slowdown that fits; the whole GPU to a job alone on it."""
    n, g, held = seats[NODE, j], seats[FIRST, j], seats[GIVEN, j]
    if n < 0:
        return
    t = nodes.kind[n]
    if kinds.parts[t, held] == kinds.whole[t]:
        return
    room, best = left.room[n, g] + kinds.parts[t, held], -1
    for c in range(kinds.parts.shape[1]):
        fits = c >= kinds.gpus[t] and 0 < kinds.parts[t, c] <= room
        fits = fits or (c == 0 and room == kinds.whole[t])
        if fits and (best < 0 or jobs.seconds[j, t, c] < jobs.seconds[j, t, best]):
            best = c
    if jobs.seconds[j, t, best] >= jobs.seconds[j, t, held]:
        return
    seats[GIVEN, j] = best
    left.room[n, g] = -1 if best == 0 else room - kinds.parts[t, best]


@register_jitable
def _give_gpus(jobs: Jobs, kinds: Kinds, nodes: Nodes, left: Left, j: int, seats: Any) -> None:
    """Give idle whole GPUs of the node while the job gets faster."""
    n, held = seats[NODE, j], seats[GIVEN, j]
    if n < 0 or kinds.parts[nodes.kind[n], held] < kinds.whole[nodes.kind[n]]:
        return
    t, best = nodes.kind[n], held
    for c in range(held + 1, held + left.free[n] + 1):
        if jobs.seconds[j, t, c] < jobs.seconds[j, t, best]:
            best = c
    seats[MORE, j], seats[GIVEN, j] = nodes.gpus[n] - left.free[n], best
    left.free[n] -= best - held
