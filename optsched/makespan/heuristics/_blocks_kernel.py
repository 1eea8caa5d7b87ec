"""Jobs on aligned or on paired blocks of GPUs inside one server: loads and their cost, compiled.

A paired block has its halves at one place of the two halves of its server, ``gap`` GPUs apart.
Loads are sums of durations; the cost is the sum over GPUs of max(0, load - target)^2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from optsched.compiled_loops import njit, njit_inlined


class Blocks(NamedTuple):
    """The jobs' widths and durations, and the blocks they may stand on.

    ``kind[j]`` indexes the distinct widths; the blocks of kind k start at the GPUs
    ``block[first_block[k] : first_block[k + 1]]``, ``gap`` is 0 for the aligned ones. Its jobs are
    ``job[first_job[k] : ...]``, shortest first, and ``job[rank[j]]`` is j. ``base`` and ``end``
    give each GPU its server's first GPU and the one after its last.
    """

    width: Any
    duration: Any
    kind: Any
    widths: Any
    first_block: Any
    block: Any
    gap: Any
    first_job: Any
    job: Any
    rank: Any
    base: Any
    end: Any


class Positions(NamedTuple):
    """Where the jobs stand now.

    Attributes
    ----------
    position : (n, 2) int
        The first GPU of each job's block, and the gap between its halves.
    load : (N,) float
        Sum of durations on each GPU, in slots.
    random : (1,) uint64
        The generator's state.
    """

    position: Any
    load: Any
    random: Any


@njit(cache=True)
def place_greedily(blocks: Blocks, order: Any, position: Any, load: Any) -> None:
    """Put each job, in `order`, on the aligned block whose fullest GPU is least loaded."""
    load[:] = 0.0
    for j in order:
        k, w = blocks.kind[j], blocks.width[j]
        best, least = -1, np.inf
        for at in range(blocks.first_block[k], blocks.first_block[k + 1]):
            if blocks.gap[at] == 0:
                b = blocks.block[at]
                fullest = load[b : b + w].max()
                if fullest < least:
                    best, least = b, fullest
        position[j, 0], position[j, 1] = best, 0
        add(load, best, w, blocks.duration[j])


@njit(cache=True)
def loads_of(blocks: Blocks, position: Any, load: Any) -> None:
    """The load (N,) of every GPU, in slots."""
    load[:] = 0.0
    for j in range(len(position)):
        at = position[j, 0], position[j, 1]
        put(load, at, blocks.width[j], blocks.duration[j])


@njit_inlined
def add(load: Any, at: int, width: int, by: float) -> None:
    """Give `width` GPUs from `at` on `by` more."""
    for g in range(at, at + width):
        load[g] += by


@njit_inlined
def over(load: float, target: float) -> float:
    """What a GPU of that load costs."""
    return (load - target) * (load - target) if load > target else 0.0


@njit_inlined
def change_on(load: Any, at: int, width: int, by: float, target: float) -> float:
    """Change of cost when `width` GPUs from `at` on get `by` more."""
    change = 0.0
    for g in range(at, at + width):
        change += over(load[g] + by, target) - over(load[g], target)
    return change


@njit_inlined
def put(load: Any, at: Any, width: int, by: float) -> None:
    """Give the GPUs of a block `by` more."""
    if at[1] == 0:
        add(load, at[0], width, by)
    else:
        half = width // 2
        add(load, at[0], half, by)
        add(load, at[0] + half + at[1], half, by)


@njit_inlined
def change_on_block(load: Any, at: Any, width: int, by: float, target: float) -> float:
    """Change of cost when the GPUs of a block get `by` more."""
    if at[1] == 0:
        return change_on(load, at[0], width, by, target)
    half = width // 2
    change = change_on(load, at[0], half, by, target)
    return change + change_on(load, at[0] + half + at[1], half, by, target)
