"""Decode the values of the arc-flow model into nodes and GPUs.

Leaders take free nodes of their class; arcs are walked from the largest residue down, so that each
finds a node with just that many GPUs left (in >= out at every residue); shared GPUs and fraction
leaders' GPUs take their fills; followers take any slot of their type and configuration.
"""

from __future__ import annotations

from collections import defaultdict, deque

import numpy as np
from numpy.typing import NDArray

from optsched.errors import SolverError
from optsched.selection.assignment import Seat
from optsched.selection.models.arcs import Ints, Skeleton
from optsched.selection.models.packings import read

Slots = dict[tuple[int, int], deque[tuple[int, tuple[int, ...]]]]


def seats_of(skeleton: Skeleton, leaders: Ints, values: NDArray[np.float64]) -> dict[int, Seat]:
    """Seats by job; costs at most what the values do."""
    where = skeleton.slices
    first = where["leaders"].start
    chosen = leaders[values[first : first + len(leaders)] > 0.5]
    seats, residues, led = _seat_leaders(skeleton, chosen)
    slots: Slots = defaultdict(deque)
    plain = _walk_arcs(skeleton, np.rint(values[where["arcs"]]).astype(int), residues, slots)
    _fill(skeleton, np.rint(values[where["fills"]]).astype(int), plain, led, slots)
    for j, t, c in skeleton.followers[values[where["followers"]] > 0.5].tolist():
        if not slots[t, c]:
            raise SolverError(f"columns seats more followers than slots at {(t, c)}")
        node, gpus = slots[t, c].popleft()
        seats[j] = Seat(node, gpus, c)
    return seats


def _seat_leaders(skeleton: Skeleton, chosen: Ints) -> tuple[dict, dict, dict]:
    """Seats of the leaders, nodes by (type, residue), and fraction leaders' GPUs by (t, L)."""
    free = {v: iter(each.nodes) for v, each in enumerate(skeleton.classes)}
    seats: dict[int, Seat] = {}
    residues: dict[tuple[int, int], list] = defaultdict(list)
    led: dict[tuple[int, int], list] = defaultdict(list)
    for j, v, c, used in chosen.tolist():
        node = next(free[v], None)
        if node is None:
            raise SolverError(f"columns opens more nodes than class {v} has")
        t = skeleton.classes[v].kind
        configuration = skeleton.tables.kinds[t].configurations[c]
        seats[j] = Seat(node, tuple(range(configuration.gpus)), c)
        if configuration.shares:
            led[t, c].append(node)
        residues[t, used - configuration.gpus].append((node, configuration.gpus))
    return seats, residues, led


def _walk_arcs(
    skeleton: Skeleton, counts: NDArray[np.int64], residues: dict, slots: Slots
) -> dict[int, list]:
    """Cut residues into dedicated slots; returns the shared GPUs by type."""
    plain: dict[int, list] = defaultdict(list)
    order = sorted(range(len(skeleton.arcs)), key=lambda i: -skeleton.arcs[i][1])
    for i in order:
        t, r, k = skeleton.arcs[i]
        for _ in range(counts[i]):
            if not residues[t, r]:
                raise SolverError(f"columns cuts more residues than there are at {(t, r)}")
            node, gpu = residues[t, r].pop()
            size = max(k, 1)
            if k:
                slots[t, k - 1].append((node, tuple(range(gpu, gpu + k))))
            else:
                plain[t].append((node, gpu))
            residues[t, r - size].append((node, gpu + size))
    return plain


def _fill(
    skeleton: Skeleton,
    counts: NDArray[np.int64],
    plain: dict[int, list],
    led: dict[tuple[int, int], list],
    slots: Slots,
) -> None:
    for (t, fill, leader), count in zip(skeleton.fills, counts, strict=True):
        fractions = skeleton.tables.kinds[t].fractions
        for _ in range(count):
            gpus = plain[t] if leader < 0 else led[t, leader]
            if not gpus:
                raise SolverError(f"columns fills more shared GPUs than there are of type {t}")
            node, gpu = gpus.pop() if leader < 0 else (gpus.pop(), 0)
            for c, number in zip(fractions, read(fill), strict=True):
                slots[t, c] += [(node, (gpu,))] * (number - (c == leader))
