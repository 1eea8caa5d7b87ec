"""Compiled annealing of method ``nested``: its parameters, its blocks of GPUs and its moves.

Jobs stand on aligned blocks of GPUs or on pairs of half blocks inside one server. The cost is the
sum over GPUs of max(0, load - target)^2. A move takes O(width of the job) steps; the exchange of
blocks and the swap of a job with two halves look through all jobs, and are rare.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.kernels import kernel
from optsched.makespan.contention import Floats, Ints
from optsched.makespan.heuristics.random_numbers import RandomState, draw


@dataclass(frozen=True)
class AnnealingParameters:
    """Parameters of the annealing.

    Attributes
    ----------
    moves : int
        Moves when neither time nor iterations are limited.
    moves_per_job, fewest_moves : int
        Moves of a short annealing, by job and at least.
    cycles : tuple of (int, int, bool)
        One round: the moves of a cycle's first annealing as a multiple of a short one's (0: a short
        one from the greedy positions), the number of short annealings, and whether jobs may stand
        on pairs of half blocks.
    tempering : int
        Moves of the tempering after a round, as a multiple of a short annealing's: half a round's.
    many_jobs : int
        From so many jobs on, growing annealings take the place of cycles.
    growth, last_share : float
        Factor from one of these to the next; share of the moves left that the last one has.
    hot, warm : (float, float)
        Square roots of the first and last temperature as shares of the bound: of annealings from
        scratch, and of the others, in which the widest jobs mostly stay.
    copies : int
        Number of temperatures of the tempering.
    coldest, hottest : float
        Square roots of the ends of their geometric sequence, as shares of the bound.
    fewest_slots : float
        Slots are whole, so temperatures are no lower than for a bound of so many.
    first_target : float
        First target as a multiple of the bound.
    restart : (float, float)
        The target of a short annealing lies between the bound and the load reached, at a share
        drawn from here.
    relocate, swap, exchange : float
        Cumulative shares of the moves: relocation, swap of two jobs of one width, exchange of two
        blocks' jobs; the rest swaps a job with one or two of half its width.
    near : float
        Share of the swaps with a job of similar duration: late in an annealing, others are refused.
    most_scanned : float
        The last two moves look through all jobs; with more than so many, fewer are made in
        proportion.
    moves_per_temperature, fewest_temperatures : int
        Most moves at one temperature, and fewest temperatures of an annealing.
    start_share, start_effort : float, int
        Local search beforehand: share of the time limit; without one, its moves times jobs.
    """

    moves: int = 20_000_000
    moves_per_job: int = 10_000
    fewest_moves: int = 200_000
    cycles: tuple[tuple[int, int, bool], ...] = (
        (0, 6, False),
        (1, 6, True),
        (4, 3, True),
        (4, 3, False),
    )
    tempering: int = 14
    many_jobs: int = 500
    growth: int = 4
    last_share: float = 0.7
    hot: tuple[float, float] = (2e-2, 1e-3)
    warm: tuple[float, float] = (8e-3, 4e-4)
    copies: int = 12
    coldest: float = 4e-3
    hottest: float = 2e-2
    fewest_slots: float = 200.0
    first_target: float = 1.004
    restart: tuple[float, float] = (0.1, 0.7)
    relocate: float = 0.35
    swap: float = 0.95
    exchange: float = 0.953
    near: float = 0.9
    most_scanned: float = 800.0
    moves_per_temperature: int = 20_000
    fewest_temperatures: int = 200
    start_share: float = 0.03
    start_effort: int = 400_000


PARAMETERS = AnnealingParameters()
RELOCATE, SWAP, EXCHANGE = PARAMETERS.relocate, PARAMETERS.swap, PARAMETERS.exchange
NEAR, MOST_SCANNED = PARAMETERS.near, PARAMETERS.most_scanned
REJECTED = math.inf
LARGEST_DRAW = 37.0
"""Above -log(1 - u) for every u < 1 of 53 bits: no rise of more such temperatures is accepted."""
ROUNDING = 1.001
"""Margin over the rounding errors that the cost sums up."""


class Blocks(NamedTuple):
    """Jobs, and the blocks they may stand on.

    ``kind[j]`` is the index of job j's width in ``widths``. The blocks of kind k are entries
    ``first_block[k]`` to ``first_block[k + 1]`` of ``block``, their first GPUs, and ``gap``, the
    GPUs between their halves (0 for aligned ones). The jobs of kind k are entries ``first_job[k]``
    to ``first_job[k + 1]`` of ``job``, shortest first, and ``job[rank[j]]`` is j. ``base`` and
    ``end`` give each GPU its server's first GPU and the one after its last.
    """

    width: Ints
    duration: Floats
    kind: Ints
    widths: Ints
    first_block: Ints
    block: Ints
    gap: Ints
    first_job: Ints
    job: Ints
    rank: Ints
    base: Ints
    end: Ints


class Positions(NamedTuple):
    """Present positions: first GPU and gap of each job's block (n, 2), and the load of each GPU."""

    position: Ints
    load: Floats
    random: RandomState


@register_jitable
def _cost(load: float, target: float) -> float:
    return (load - target) * (load - target) if load > target else 0.0


@register_jitable
def _add(load: Floats, first: int, width: int, by: float) -> None:
    for g in range(first, first + width):
        load[g] += by


@register_jitable
def _rise(load: Floats, first: int, width: int, by: float, target: float) -> float:
    """Change of cost if `width` GPUs from `first` on get `by` more."""
    change = 0.0
    for g in range(first, first + width):
        change += _cost(load[g] + by, target) - _cost(load[g], target)
    return change


@register_jitable
def _add_to_block(load: Floats, first: int, gap: int, width: int, by: float) -> None:
    half = width // 2 if gap > 0 else width
    _add(load, first, half, by)
    _add(load, first + half + gap, width - half, by)


@register_jitable
def _rise_of_block(
    load: Floats, first: int, gap: int, width: int, by: float, target: float
) -> float:
    half = width // 2 if gap > 0 else width
    change = _rise(load, first, half, by, target)
    return change + _rise(load, first + half + gap, width - half, by, target)


@register_jitable
def _partner(first: int, end: int, rank: int, uniform: float) -> int:
    """Rank of another job among those of one width, mostly one of similar duration, or -1.

    It is drawn as often for a job as that job is for it, as the Metropolis rule requires.
    """
    count = end - first
    if uniform < NEAR:
        side = 2.0 * uniform / NEAR - 1.0
        steps = 1 + int(side * side * count)
        at = rank + (steps if side > 0.0 else -steps)
        return at if first <= at < end else -1
    return first + min(int((uniform - NEAR) / (1.0 - NEAR) * count), count - 1)


@register_jitable
def _exchange(blocks: Blocks, now: Positions, target: float, allowed: float) -> float:
    """Swap the aligned jobs that two aligned blocks of one width hold."""
    position, load, random = now.position, now.load, now.random
    k = int(draw(random) * len(blocks.widths))
    w = blocks.widths[k]
    count = blocks.first_block[k + 1] - blocks.first_block[k]
    one = blocks.first_block[k] + int(draw(random) * count)
    two = blocks.first_block[k] + int(draw(random) * count)
    if one == two or blocks.gap[one] > 0 or blocks.gap[two] > 0:
        return REJECTED
    a, b = blocks.block[one], blocks.block[two]
    # What GPU i of block a gains, and GPU i of block b loses.
    gain = np.zeros(w)
    for j in range(len(position)):
        if blocks.width[j] <= w and position[j, 1] == 0:
            if a <= position[j, 0] < a + w:
                _add(gain, position[j, 0] - a, blocks.width[j], -blocks.duration[j])
            elif b <= position[j, 0] < b + w:
                _add(gain, position[j, 0] - b, blocks.width[j], blocks.duration[j])
    change = 0.0
    for i in range(w):
        change += _rise(load, a + i, 1, gain[i], target)
        change += _rise(load, b + i, 1, -gain[i], target)
    if change > allowed:
        return REJECTED
    for i in range(w):
        load[a + i] += gain[i]
        load[b + i] -= gain[i]
    for j in range(len(position)):
        if blocks.width[j] <= w and position[j, 1] == 0:
            if a <= position[j, 0] < a + w:
                position[j, 0] += b - a
            elif b <= position[j, 0] < b + w:
                position[j, 0] += a - b
    return change


@register_jitable
def _split(blocks: Blocks, now: Positions, j: int, target: float, allowed: float) -> float:
    """Swap a job twice as wide as j with j and, if there is one, a job in the sibling block."""
    position, load, random = now.position, now.load, now.random
    half, k = blocks.width[j], blocks.kind[j]
    if k + 1 >= len(blocks.widths) or blocks.widths[k + 1] != 2 * half or position[j, 1] > 0:
        return REJECTED
    own = position[j, 0]
    base = blocks.base[own]
    b = base + ((own - base) & -(2 * half))  # the wide block around j
    if b + 2 * half > blocks.end[own]:
        return REJECTED
    first, end = blocks.first_job[k + 1], blocks.first_job[k + 2]
    wide = blocks.job[first + int(draw(random) * (end - first))]
    a = position[wide, 0]
    if a == b or position[wide, 1] > 0:
        return REJECTED
    sibling = b if own != b else b + half
    other = _job_at(blocks, position, k, sibling, random)
    here = blocks.duration[wide] - blocks.duration[j]
    there = blocks.duration[wide] - (0.0 if other < 0 else blocks.duration[other])
    change = _rise(load, own, half, here, target) + _rise(load, sibling, half, there, target)
    change += _rise(load, a + own - b, half, -here, target)
    change += _rise(load, a + sibling - b, half, -there, target)
    if change > allowed:
        return REJECTED
    _add(load, own, half, here)
    _add(load, sibling, half, there)
    _add(load, a + own - b, half, -here)
    _add(load, a + sibling - b, half, -there)
    position[wide, 0], position[j, 0] = b, a + own - b
    if other >= 0:
        position[other, 0] = a + sibling - b
    return change


@register_jitable
def _job_at(blocks: Blocks, position: Ints, kind: int, first: int, random: RandomState) -> int:
    """Draw a job of a kind from an aligned block, or -1; sometimes -1 though there is one."""
    job, seen = -1, 1 if draw(random) < 0.3 else 0
    for i in range(blocks.first_job[kind], blocks.first_job[kind + 1]):
        j = blocks.job[i]
        if position[j, 0] == first and position[j, 1] == 0:
            seen += 1
            if draw(random) * seen < 1.0:
                job = j
    return job


@kernel
def anneal(blocks: Blocks, now: Positions, target: float, temperature: float, moves: int) -> int:
    """Make up to `moves` moves at one temperature until no load exceeds the target.

    A move that raises the cost by at most -temperature log(1 - u) is made: Metropolis's rule. The
    cost is in slots squared, and so is the temperature. Returns the number of moves.
    """
    # Relocation and swap stand here and not in helpers: at a call, numba counts references to every
    # array of `blocks` and `now`, which takes three times as long as the move.
    position, load, random = now.position, now.load, now.random
    width, duration, kind, rank = blocks.width, blocks.duration, blocks.kind, blocks.rank
    first_block, block, gap = blocks.first_block, blocks.block, blocks.gap
    first_job, job, base = blocks.first_job, blocks.job, blocks.base
    n = len(position)
    cost = 0.0
    for g in range(len(load)):
        cost += _cost(load[g], target)
    count = 0
    while count < moves and cost > 0.0:
        count += 1
        drawn, move, j = draw(random), draw(random), int(draw(random) * n)
        if move >= SWAP:
            if draw(random) * n <= MOST_SCANNED:
                allowed = -temperature * math.log(1.0 - drawn)
                if move < EXCHANGE:
                    change = _exchange(blocks, now, target, allowed)
                else:
                    change = _split(blocks, now, j, target, allowed)
                if change < REJECTED:
                    cost += change
            continue
        # Propose: job `giver` leaves block b for block a; in a swap, the shorter job of a leaves it
        # for b, and the GPUs of a gain the difference of the durations.
        k, shorter = kind[j], -1
        if move < RELOCATE:
            at = first_block[k] + int(draw(random) * (first_block[k + 1] - first_block[k]))
            giver, a, gap_a, by = j, block[at], gap[at], duration[j]
        else:
            at = _partner(first_job[k], first_job[k + 1], rank[j], draw(random))
            if at < 0:
                continue
            giver, shorter = job[at], j
            if duration[giver] < duration[shorter]:
                giver, shorter = shorter, giver
            a, gap_a = position[shorter, 0], position[shorter, 1]
            by = duration[giver] - duration[shorter]
        b, gap_b, w = position[giver, 0], position[giver, 1], width[giver]
        if (a == b and gap_a == gap_b) or by == 0.0:
            continue
        overlap = gap_a != gap_b and base[a] == base[b]
        # Reject early: the rise on one GPU is above the whole cost, which is the most that b can
        # save, and any rise that the temperature allows. Late in an annealing, most moves end here.
        rise = _cost(load[a] + by, target) - _cost(load[a], target)
        if not overlap and rise > ROUNDING * (cost + LARGEST_DRAW * temperature):
            continue
        allowed = -temperature * math.log(1.0 - drawn)
        change = _rise_of_block(load, b, gap_b, w, -by, target)
        if overlap:
            _add_to_block(load, b, gap_b, w, -by)
            rise = _cost(load[a] + by, target) - _cost(load[a], target)
        accepted = change + rise <= allowed
        if accepted:
            change += _rise_of_block(load, a, gap_a, w, by, target)
            accepted = change <= allowed
        if overlap != accepted:  # b has yet to lose its load, or gets it back
            _add_to_block(load, b, gap_b, w, -by if accepted else by)
        if accepted:
            _add_to_block(load, a, gap_a, w, by)
            position[giver, 0], position[giver, 1] = a, gap_a
            if shorter >= 0:
                position[shorter, 0], position[shorter, 1] = b, gap_b
            cost += change
    return count


def loads_of(blocks: Blocks, position: Ints, load: Floats) -> None:
    """Write the load of every GPU, in slots."""
    load[:] = 0.0
    for (first, gap), w, by in zip(
        position.tolist(), blocks.width.tolist(), blocks.duration.tolist(), strict=True
    ):
        half = w // 2 if gap else w
        load[first : first + half] += by
        load[first + half + gap : first + w + gap] += by
