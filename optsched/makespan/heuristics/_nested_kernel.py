"""The compiled annealing of jobs on blocks: its moves, and by how much they may raise the cost."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from optsched.compiled_loops import njit_borrowing, njit_inlined, njit_owning
from optsched.makespan.heuristics._blocks_kernel import (
    Blocks,
    Positions,
    add,
    change_on,
    change_on_block,
    over,
    put,
)
from optsched.makespan.heuristics._random_kernel import draw

RELOCATE, SWAP, EXCHANGE = 0.35, 0.95, 0.953
"""Shares of the moves: relocation 35%, swap of one width 60%, of two blocks' contents 0.3%; the
rest moves one wide job against one or two of half its width in sibling blocks."""
NEAR = 0.9
"""Share of the swaps that are with a job of about the same duration: what a swap changes is the
difference, and late in an annealing a large one is refused."""
SCANS = 800.0
"""The last two look through all jobs: with more than so many, only that many in n are made."""
REFUSED = math.inf
HIGHEST_DRAW = 37.0
"""More than -log(1 - u) ever is, for u below 1 of 53 bits: a move's rise is at most so many
temperatures."""
SAFELY = 1.001
"""What rounding may have done to the cost, many times over."""


class Odds(NamedTuple):
    """What decides a move: a rise of the cost by up to -temperature log(1 - u) is accepted.

    Attributes
    ----------
    target : float
        Slots.
    temperature : float
        Slots squared.
    drawn : float
        u, uniform in [0, 1).
    hopeless : float
        Slots squared. No block that sheds load saves more than the whole cost: a rise elsewhere
        above this is refused whatever was drawn.
    """

    target: float
    temperature: float
    drawn: float
    hopeless: float


@njit_borrowing
def anneal(blocks: Blocks, now: Positions, target: float, temperature: float, moves: int) -> int:
    """So many moves at one temperature, towards a target in slots; how many were made.

    Stops when no GPU is above the target.
    """
    load, random = now.load, now.random
    n = len(now.position)
    cost = 0.0
    for g in range(len(load)):
        cost += over(load[g], target)
    made = 0
    while made < moves and cost > 0.0:
        made += 1
        hopeless = SAFELY * (cost + HIGHEST_DRAW * temperature)
        odds = Odds(target, temperature, draw(random), hopeless)
        what = draw(random)
        j = int(draw(random) * n)
        if what < RELOCATE:
            change = _relocate(blocks, now, odds, int(draw(random) * n))
        elif what < SWAP:
            change = _swap(blocks, now, odds, j)
        elif draw(random) * n > SCANS:
            change = REFUSED
        elif what < EXCHANGE:
            change = _exchange(blocks, now, odds)
        else:
            change = _split(blocks, now, odds, j)
        if change < REFUSED:
            cost += change
    return made


@njit_inlined
def _allowed(odds: Odds) -> float:
    """The most by which the cost may rise: Metropolis's rule, drawn beforehand."""
    return -odds.temperature * math.log(1.0 - odds.drawn)


@njit_inlined
def _transfer(load: Any, odds: Odds, a: Any, b: Any, w: int, by: float, crossing: bool) -> float:
    """Give the GPUs of block a `by` more, above 0, and those of b as much less, if that may be."""
    target = odds.target
    rise = change_on(load, a[0], 1, by, target)
    if rise > odds.hopeless and not crossing:
        return REFUSED
    allowed = _allowed(odds)
    change = change_on_block(load, b, w, -by, target)
    if crossing:
        put(load, b, w, -by)
        rise = change_on(load, a[0], 1, by, target)
    if change + rise <= allowed:
        change += change_on_block(load, a, w, by, target)
        if change <= allowed:
            if not crossing:
                put(load, b, w, -by)
            put(load, a, w, by)
            return change
    if crossing:
        put(load, b, w, by)
    return REFUSED


@njit_inlined
def _relocate(blocks: Blocks, now: Positions, odds: Odds, j: int) -> float:
    position, k = now.position, blocks.kind[j]
    count = blocks.first_block[k + 1] - blocks.first_block[k]
    at = blocks.first_block[k] + int(draw(now.random) * count)
    new, old = (blocks.block[at], blocks.gap[at]), (position[j, 0], position[j, 1])
    if new == old:
        return REFUSED
    d = blocks.duration[j]
    crossing = new[1] != old[1] and blocks.base[new[0]] == blocks.base[old[0]]
    change = _transfer(now.load, odds, new, old, blocks.width[j], d, crossing)
    if change < REFUSED:
        position[j, 0], position[j, 1] = new
    return change


@njit_inlined
def _partner(blocks: Blocks, j: int, uniform: float) -> int:
    """A job of j's width, mostly one near by in the order of durations, or -1.

    It is drawn as often for j as j is for it, as the Metropolis rule asks.
    """
    first, beyond = blocks.first_job[blocks.kind[j]], blocks.first_job[blocks.kind[j] + 1]
    many = beyond - first
    if uniform < NEAR:
        side = 2.0 * uniform / NEAR - 1.0
        steps = 1 + int(side * side * many)
        at = blocks.rank[j] + (steps if side > 0.0 else -steps)
        return blocks.job[at] if first <= at < beyond else -1
    return blocks.job[first + min(int((uniform - NEAR) / (1.0 - NEAR) * many), many - 1)]


@njit_inlined
def _swap(blocks: Blocks, now: Positions, odds: Odds, j: int) -> float:
    position, other = now.position, _partner(blocks, j, draw(now.random))
    if other < 0:
        return REFUSED
    if blocks.duration[other] < blocks.duration[j]:
        j, other = other, j
    a, b = (position[j, 0], position[j, 1]), (position[other, 0], position[other, 1])
    d = blocks.duration[other] - blocks.duration[j]
    if a == b or d == 0.0:
        return REFUSED
    crossing = a[1] != b[1] and blocks.base[a[0]] == blocks.base[b[0]]
    change = _transfer(now.load, odds, a, b, blocks.width[j], d, crossing)
    if change < REFUSED:
        position[j, 0], position[j, 1] = b
        position[other, 0], position[other, 1] = a
    return change


@njit_owning
def _exchange(blocks: Blocks, now: Positions, odds: Odds) -> float:
    """Swap what two aligned blocks of one width hold, jobs of that width or narrower."""
    position, load, random, target = now.position, now.load, now.random, odds.target
    k = int(draw(random) * len(blocks.widths))
    w = blocks.widths[k]
    count = blocks.first_block[k + 1] - blocks.first_block[k]
    one = blocks.first_block[k] + int(draw(random) * count)
    two = blocks.first_block[k] + int(draw(random) * count)
    if one == two or blocks.gap[one] > 0 or blocks.gap[two] > 0:
        return REFUSED
    a, b = blocks.block[one], blocks.block[two]
    shift = np.zeros(w)
    for j in range(len(position)):
        if blocks.width[j] <= w and position[j, 1] == 0:
            if a <= position[j, 0] < a + w:
                at = position[j, 0] - a
                add(shift, at, blocks.width[j], -blocks.duration[j])
            elif b <= position[j, 0] < b + w:
                at = position[j, 0] - b
                add(shift, at, blocks.width[j], blocks.duration[j])
    change = 0.0
    for i in range(w):
        change += change_on(load, a + i, 1, shift[i], target)
        change += change_on(load, b + i, 1, -shift[i], target)
    if change > _allowed(odds):
        return REFUSED
    for i in range(w):
        load[a + i] += shift[i]
        load[b + i] -= shift[i]
    for j in range(len(position)):
        if blocks.width[j] <= w and position[j, 1] == 0:
            if a <= position[j, 0] < a + w:
                position[j, 0] += b - a
            elif b <= position[j, 0] < b + w:
                position[j, 0] += a - b
    return change


@njit_inlined
def _split(blocks: Blocks, now: Positions, odds: Odds, j: int) -> float:
    """Swap a job of width w with one or two of width w / 2 that share an aligned block of w."""
    position, load, random, target = now.position, now.load, now.random, odds.target
    half, k = blocks.width[j], blocks.kind[j]
    wide = k + 1
    if wide >= len(blocks.widths) or blocks.widths[wide] != 2 * half or position[j, 1] > 0:
        return REFUSED
    w, x = 2 * half, position[j, 0]
    base = blocks.base[x]
    b = base + (x - base) // w * w
    if b + w > blocks.end[x]:
        return REFUSED
    first, beyond = blocks.first_job[wide], blocks.first_job[wide + 1]
    big = blocks.job[first + int(draw(random) * (beyond - first))]
    a = position[big, 0]
    if a == b or position[big, 1] > 0:
        return REFUSED
    sibling = b if x != b else b + half
    partner = _one_at(blocks, position, k, sibling, random)
    offset = x - b
    to_big = blocks.duration[big]
    mine = blocks.duration[j]
    theirs = 0.0 if partner < 0 else blocks.duration[partner]
    change = change_on(load, b + offset, half, to_big - mine, target)
    change += change_on(load, sibling, half, to_big - theirs, target)
    change += change_on(load, a + offset, half, mine - to_big, target)
    change += change_on(load, a + sibling - b, half, theirs - to_big, target)
    if change > _allowed(odds):
        return REFUSED
    add(load, b + offset, half, to_big - mine)
    add(load, sibling, half, to_big - theirs)
    add(load, a + offset, half, mine - to_big)
    add(load, a + sibling - b, half, theirs - to_big)
    position[big, 0] = b
    position[j, 0] = a + offset
    if partner >= 0:
        position[partner, 0] = a + sibling - b
    return change


@njit_inlined
def _one_at(blocks: Blocks, position: Any, kind: int, at: int, random: Any) -> int:
    """A random job of that width standing exactly there, or -1; sometimes -1 though there is."""
    found, seen = -1, 1 if draw(random) < 0.3 else 0
    for i in range(blocks.first_job[kind], blocks.first_job[kind + 1]):
        j = blocks.job[i]
        if position[j, 0] == at and position[j, 1] == 0:
            seen += 1
            if draw(random) * seen < 1.0:
                found = j
    return found
