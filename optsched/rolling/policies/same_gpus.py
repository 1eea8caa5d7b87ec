"""Leaving jobs where they are when a new assignment would do as well there.

Nodes of one class are alike, so their contents may change places at no cost; which content goes to
which node is a linear assignment that keeps the most jobs on their node in their configuration.
On its node a job keeps its GPUs' numbers where they are free. Source: sts, VI-C.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from optsched.selection.assignment import Seat
from optsched.selection.cost import Tables


def keep_same_gpus(
    tables: Tables, seats: Mapping[int, Seat], before: Mapping[int, Seat]
) -> dict[int, Seat]:
    """The same assignment on nodes of the same classes, with the fewest jobs moved."""
    contents: dict[int, list[int]] = defaultdict(list)
    for j, seat in seats.items():
        contents[seat.node].append(j)
    target: dict[int, int] = {}
    for each in tables.classes:
        target.update(_places(each.nodes, contents, seats, before))
    moved = {
        j: seat if target[seat.node] == seat.node else replace(seat, node=target[seat.node])
        for j, seat in seats.items()
    }
    return _same_gpus(moved, before)


def _places(
    nodes: tuple[int, ...],
    contents: Mapping[int, list[int]],
    seats: Mapping[int, Seat],
    before: Mapping[int, Seat],
) -> dict[int, int]:
    opened = [n for n in nodes if n in contents]
    if not opened:
        return {}
    column = {n: i for i, n in enumerate(nodes)}
    stays = np.zeros((len(opened), len(nodes)))
    for row, n in enumerate(opened):
        stays[row, column[n]] += 1e-3  # ties: do not rename
        for j in contents[n]:
            old = before.get(j)
            if old is not None and old.node in column:
                alike = old.configuration == seats[j].configuration
                stays[row, column[old.node]] += 1.0 if alike else 0.25
    if all(stays[row, column[n]] >= stays[row].max() for row, n in enumerate(opened)):
        return {n: n for n in opened}
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(stays, maximize=True)
    return {opened[r]: nodes[c] for r, c in zip(rows, columns, strict=True)}


def _same_gpus(seats: dict[int, Seat], before: Mapping[int, Seat]) -> dict[int, Seat]:
    """Rename the GPUs of each node so that jobs keep theirs; sharers of a GPU stay together."""
    groups: dict[int, dict[tuple[int, ...], list[int]]] = defaultdict(dict)
    for j, seat in seats.items():
        groups[seat.node].setdefault(tuple(sorted(seat.gpus)), []).append(j)
    result = dict(seats)
    for node, held in groups.items():
        taken: set[int] = set()
        names: dict[tuple[int, ...], tuple[int, ...]] = {}
        for gpus, jobs in held.items():
            for j in jobs:
                old = before.get(j)
                same = old is not None and old.node == node and len(old.gpus) == len(gpus)
                if same and old is not None and gpus not in names and not taken & set(old.gpus):
                    names[gpus] = tuple(sorted(old.gpus))
                    taken |= set(old.gpus)
        free = iter(g for g in range(sum(map(len, held)) + len(taken) + 1) if g not in taken)
        for gpus in held:
            if gpus not in names:
                names[gpus] = tuple(next(free) for _ in gpus)
            for j in held[gpus]:
                if seats[j].gpus != names[gpus]:
                    result[j] = replace(seats[j], gpus=names[gpus])
    return result
