"""The compiled annealing of nested blocks: jobs on aligned blocks of GPUs inside one server.

The cost is the sum over GPUs of max(0, load - target)^2; loads are sums of durations.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from optsched.compiled_loops import njit
from optsched.makespan.heuristics._random_kernel import draw

RELOCATE, SWAP, EXCHANGE = 0.35, 0.95, 0.953
"""Shares of the moves: relocation 35%, swap of one width 60%, of two blocks' contents 0.3%; the
rest moves one wide job against one or two of half its width in sibling blocks."""


class Blocks(NamedTuple):
    """The jobs' widths and durations, and the blocks they may stand on.

    ``kind[j]`` indexes the distinct widths; the blocks of kind k start at the GPUs
    ``block[first_block[k] : first_block[k + 1]]``, its jobs are ``job[first_job[k] : ...]``.
    ``base`` and ``end`` give each GPU its server's first GPU and the one after its last.
    """

    width: Any
    duration: Any
    kind: Any
    widths: Any
    first_block: Any
    block: Any
    first_job: Any
    job: Any
    base: Any
    end: Any


class Positions(NamedTuple):
    """Where the jobs stand now, and where they stood when the makespan was least.

    Attributes
    ----------
    position, best_position : (n,) int
        The first GPU of each job's block.
    load : (N,) float
        Sum of durations on each GPU, in slots.
    best : (1,) float
        The makespan of `best_position`, in slots.
    random : (1,) uint64
        The generator's state.
    """

    position: Any
    load: Any
    best_position: Any
    best: Any
    random: Any


class Cooling(NamedTuple):
    """The temperature falls geometrically from `hot` to `cold`, slots squared, in `moves`."""

    hot: float
    cold: float
    moves: int


@njit(cache=True)
def place_greedily(blocks: Blocks, order: Any, position: Any, load: Any) -> None:
    """Put each job, in `order`, on the block whose fullest GPU is least loaded.

    Parameters
    ----------
    blocks : Blocks
        Widths, durations and places of jobs.
    order : (n,) int
        Jobs, first to last.
    position : (n,) int
        Gets the first GPU of each job.
    load : (N,) float
        Gets the slots of each GPU.
    """
    load[:] = 0.0
    for j in order:
        k, w = blocks.kind[j], blocks.width[j]
        best, least = -1, np.inf
        for b in blocks.block[blocks.first_block[k] : blocks.first_block[k + 1]]:
            fullest = load[b : b + w].max()
            if fullest < least:
                best, least = b, fullest
        position[j] = best
        _add(load, best, w, blocks.duration[j])


@njit(cache=True)
def loads_of(blocks: Blocks, position: Any, load: Any) -> None:
    """The load (N,) of every GPU, in slots."""
    load[:] = 0.0
    for j in range(len(position)):
        _add(load, position[j], blocks.width[j], blocks.duration[j])


@njit(cache=True)
def anneal(
    blocks: Blocks, now: Positions, target: float, cooling: Cooling, done: int, moves: int
) -> int:
    """Moves `done` to ``done + moves`` of a cooling, towards a target in slots; how many were made.

    Stops when no GPU is above the target.

    Parameters
    ----------
    blocks : Blocks
        Widths, durations and places of jobs.
    now : Positions
        The present positions and the best; edited.
    target : float
        Slots.
    cooling : Cooling
        The temperature's fall.
    done, moves : int
        Moves made of the cooling, and to make.
    """
    position, load, random = now.position, now.load, now.random
    n = len(position)
    cost = 0.0
    for g in range(len(load)):
        cost += _over(load[g], target)
    falling = math.log(cooling.cold / cooling.hot) / cooling.moves
    temperature = cooling.hot
    made = 0
    while made < moves and cost > 0.0:
        if made % 64 == 0:
            temperature = cooling.hot * math.exp(falling * (done + made))
        made += 1
        allowed = -temperature * math.log(1.0 - draw(random))
        what = draw(random)
        j = int(draw(random) * n)
        if what < RELOCATE:
            change = _relocate(blocks, now, target, allowed, int(draw(random) * n))
        elif what < SWAP:
            change = _swap(blocks, now, target, allowed, j)
        elif what < EXCHANGE:
            change = _exchange(blocks, now, target, allowed)
        else:
            change = _split(blocks, now, target, allowed, j)
        cost += change
        excess = now.best[0] - target
        if change < 0.0 and cost < excess * excess:
            cost = 0.0
            for g in range(len(load)):
                cost += _over(load[g], target)
            highest = load.max()
            if highest < now.best[0]:
                now.best[0] = highest
                for j in range(n):
                    now.best_position[j] = position[j]
    return made


@njit(cache=True)
def _add(load: Any, at: int, width: int, by: float) -> None:
    for g in range(at, at + width):
        load[g] += by


@njit(cache=True)
def _over(load: float, target: float) -> float:
    return (load - target) * (load - target) if load > target else 0.0


@njit(cache=True)
def _shift(load: Any, at: int, width: int, by: float, target: float) -> float:
    """Change of cost when `width` GPUs from `at` get `by` more."""
    change = 0.0
    for g in range(at, at + width):
        change += _over(load[g] + by, target) - _over(load[g], target)
    return change


@njit(cache=True)
def _relocate(blocks: Blocks, now: Positions, target: float, allowed: float, j: int) -> float:
    position, load, random = now.position, now.load, now.random
    k, w, d, old = blocks.kind[j], blocks.width[j], blocks.duration[j], position[j]
    count = blocks.first_block[k + 1] - blocks.first_block[k]
    new = blocks.block[blocks.first_block[k] + int(draw(random) * count)]
    if new == old:
        return 0.0
    change = _shift(load, old, w, -d, target)
    if change + _shift(load, new, 1, d, target) > allowed:
        return 0.0
    change += _shift(load, new, w, d, target)
    if change > allowed:
        return 0.0
    _add(load, old, w, -d)
    _add(load, new, w, d)
    position[j] = new
    return change


@njit(cache=True)
def _swap(blocks: Blocks, now: Positions, target: float, allowed: float, j: int) -> float:
    position, load, random = now.position, now.load, now.random
    k, w = blocks.kind[j], blocks.width[j]
    count = blocks.first_job[k + 1] - blocks.first_job[k]
    other = blocks.job[blocks.first_job[k] + int(draw(random) * count)]
    a, b = position[j], position[other]
    d = blocks.duration[other] - blocks.duration[j]
    if a == b or d == 0.0:
        return 0.0
    change = _shift(load, a, w, d, target) + _shift(load, b, w, -d, target)
    if change > allowed:
        return 0.0
    _add(load, a, w, d)
    _add(load, b, w, -d)
    position[j], position[other] = b, a
    return change


@njit(cache=True)
def _exchange(blocks: Blocks, now: Positions, target: float, allowed: float) -> float:
    """Swap what two blocks of one width hold, jobs of that width or narrower."""
    position, load, random = now.position, now.load, now.random
    k = int(draw(random) * len(blocks.widths))
    w = blocks.widths[k]
    count = blocks.first_block[k + 1] - blocks.first_block[k]
    a = blocks.block[blocks.first_block[k] + int(draw(random) * count)]
    b = blocks.block[blocks.first_block[k] + int(draw(random) * count)]
    if a == b:
        return 0.0
    shift = np.zeros(w)
    for j in range(len(position)):
        if blocks.width[j] <= w:
            if a <= position[j] < a + w:
                at = position[j] - a
                _add(shift, at, blocks.width[j], -blocks.duration[j])
            elif b <= position[j] < b + w:
                at = position[j] - b
                _add(shift, at, blocks.width[j], blocks.duration[j])
    change = 0.0
    for i in range(w):
        change += _shift(load, a + i, 1, shift[i], target)
        change += _shift(load, b + i, 1, -shift[i], target)
    if change > allowed:
        return 0.0
    for i in range(w):
        load[a + i] += shift[i]
        load[b + i] -= shift[i]
    for j in range(len(position)):
        if blocks.width[j] <= w:
            if a <= position[j] < a + w:
                position[j] += b - a
            elif b <= position[j] < b + w:
                position[j] += a - b
    return change


@njit(cache=True)
def _split(blocks: Blocks, now: Positions, target: float, allowed: float, j: int) -> float:
    """Swap a job of width w with one or two of width w / 2 that share an aligned block of w."""
    position, load, random = now.position, now.load, now.random
    half, k = blocks.width[j], blocks.kind[j]
    wide = k + 1
    if wide >= len(blocks.widths) or blocks.widths[wide] != 2 * half:
        return 0.0
    w, x = 2 * half, position[j]
    base = blocks.base[x]
    b = base + (x - base) // w * w
    if b + w > blocks.end[x]:
        return 0.0
    count = blocks.first_job[wide + 1] - blocks.first_job[wide]
    big = blocks.job[blocks.first_job[wide] + int(draw(random) * count)]
    a = position[big]
    if a == b:
        return 0.0
    sibling = b if x != b else b + half
    partner = _one_at(blocks, position, k, sibling, random)
    offset = x - b
    to_big = blocks.duration[big]
    mine = blocks.duration[j]
    theirs = 0.0 if partner < 0 else blocks.duration[partner]
    change = _shift(load, b + offset, half, to_big - mine, target)
    change += _shift(load, sibling, half, to_big - theirs, target)
    change += _shift(load, a + offset, half, mine - to_big, target)
    change += _shift(load, a + sibling - b, half, theirs - to_big, target)
    if change > allowed:
        return 0.0
    _add(load, b + offset, half, to_big - mine)
    _add(load, sibling, half, to_big - theirs)
    _add(load, a + offset, half, mine - to_big)
    _add(load, a + sibling - b, half, theirs - to_big)
    position[big] = b
    position[j] = a + offset
    if partner >= 0:
        position[partner] = a + sibling - b
    return change


@njit(cache=True)
def _one_at(blocks: Blocks, position: Any, kind: int, at: int, random: Any) -> int:
    """A random job of that width standing exactly there, or -1; sometimes -1 though there is."""
    found, seen = -1, 1 if draw(random) < 0.3 else 0
    for i in range(blocks.first_job[kind], blocks.first_job[kind + 1]):
        j = blocks.job[i]
        if position[j] == at:
            seen += 1
            if draw(random) * seen < 1.0:
                found = j
    return found
