"""Leaving jobs where they are when a new assignment would do as well there.

Nodes of one class are alike, so their contents may change places at no cost; which content goes to
which node is a linear assignment that keeps the most jobs on their node in their configuration.
On its node a job keeps its GPUs' numbers where they are free. Source: sts, VI-C.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from optsched.rolling.policies._same_gpus_kernel import Before, Placed, count_stays, rename
from optsched.selection.assignment import Seat
from optsched.selection.cost import Tables


def keep_same_gpus(
    tables: Tables, seats: Mapping[int, Seat], before: Mapping[int, Seat]
) -> dict[int, Seat]:
    """The same assignment on nodes of the same classes, with the fewest jobs moved."""
    return same_gpus(tables, placed_of(seats), before)


def placed_of(seats: Mapping[int, Seat]) -> Placed:
    """Seats in arrays."""
    rows = [(j, s.node, min(s.gpus), len(s.gpus), s.configuration) for j, s in seats.items()]
    return Placed(*np.ascontiguousarray(np.array(rows, dtype=np.int64).reshape(-1, 5).T))


def same_gpus(tables: Tables, placed: Placed, before: Mapping[int, Seat]) -> dict[int, Seat]:
    """`keep_same_gpus` of seats in arrays."""
    jobs = placed.job.tolist()
    old = _before([before.get(j) for j in jobs])
    target = _places(tables, placed, old)
    names = np.empty(int(placed.size.sum()), dtype=np.int64)
    kept = rename(target, placed, old, max(kind.gpus for kind in tables.kinds), names).tolist()
    gpus, nodes = names.tolist(), target[placed.node].tolist()
    sizes, configurations = placed.size.tolist(), placed.configuration.tolist()
    found, end = {}, 0
    for i, j in enumerate(jobs):
        start, end = end, end + sizes[i]
        if kept[i]:
            found[j] = before[j]
        else:
            found[j] = Seat(nodes[i], tuple(gpus[start:end]), configurations[i])
    return found


_NONE = (-1, -1, 0)


def _before(seats: list[Seat | None]) -> Before:
    rows = [_NONE if s is None else (s.node, s.configuration, len(s.gpus)) for s in seats]
    node, configuration, size = np.ascontiguousarray(
        np.array(rows, dtype=np.int64).reshape(-1, 3).T
    )
    gpus = np.fromiter(chain.from_iterable(s.gpus for s in seats if s is not None), np.int64)
    return Before(node, configuration, gpus, np.append(0, size).cumsum())


def _places(tables: Tables, placed: Placed, before: Before) -> NDArray[np.int64]:
    """Where each node's contents go."""
    target = np.arange(len(tables.kind_of))
    column, is_open = np.full(len(target), -1), np.zeros(len(target), dtype=bool)
    is_open[placed.node] = True
    for each in tables.classes:
        if len(each.nodes) == 1:
            continue
        alike = np.array(each.nodes)
        stays = np.zeros((len(alike), len(alike)))
        if count_stays(alike, placed, before, column, stays):
            continue
        from scipy.optimize import linear_sum_assignment

        opened = alike[is_open[alike]]
        rows, columns = linear_sum_assignment(stays[: len(opened)], maximize=True)
        target[opened[rows]] = alike[columns]
    return target
