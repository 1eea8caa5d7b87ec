"""Leaving jobs where they are when a new assignment would do as well there.

Nodes of one class are alike, so their contents may change places at no cost; which content goes to
which node is a linear assignment that keeps the most jobs on their node in their configuration.
On its node a job keeps its GPUs' numbers where they are free. Source: sts, VI-C.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from optsched.rolling.policies._same_gpus_kernel import Before, Placed, count_stays, rename
from optsched.rolling.simulator.seats import Seats
from optsched.selection.assignment import Seat
from optsched.selection.cost import Tables


def keep_same_gpus(tables: Tables, seats: Mapping[int, Seat], before: Mapping[int, Seat]) -> Seats:
    """The same assignment on nodes of the same classes, with the fewest jobs moved."""
    return same_gpus(tables, placed_of(seats), before)


def placed_of(seats: Mapping[int, Seat]) -> Placed:
    """Seats in arrays."""
    rows = [(j, s.node, min(s.gpus), len(s.gpus), s.configuration) for j, s in seats.items()]
    return Placed(*np.ascontiguousarray(np.array(rows, dtype=np.int64).reshape(-1, 5).T))


def same_gpus(tables: Tables, placed: Placed, before: Mapping[int, Seat]) -> Seats:
    """`keep_same_gpus` of seats in arrays."""
    if isinstance(before, Seats):
        jobs = len(before.node)
    else:
        jobs = 1 + max([*placed.job.tolist(), *before], default=-1)
    held = Seats.of(before, jobs, max(kind.gpus for kind in tables.kinds))
    theirs, made = held.of_some(placed.job), held.none_of(jobs)
    old = Before(theirs.node, theirs.configuration, theirs.sizes, theirs.gpus)
    target = _places(tables, placed, old)
    gpus = made.gpus[placed.job]
    rename(target, placed, old, gpus)
    made.gpus[placed.job], made.node[placed.job] = gpus, target[placed.node]
    made.configuration[placed.job] = placed.configuration
    return made


def _places(tables: Tables, placed: Placed, before: Before) -> NDArray[np.int64]:
    """Where each node's contents go."""
    target = np.arange(len(tables.kind_of))
    column, is_open = np.full(len(target), -1), np.zeros(len(target), dtype=bool)
    is_open[placed.node] = True
    for each in tables.classes:
        if len(each.nodes) == 1:
            continue
        alike = each.alike
        stays = np.zeros((len(alike), len(alike)))
        if count_stays(alike, placed, before, column, stays):
            continue
        from scipy.optimize import linear_sum_assignment

        opened = alike[is_open[alike]]
        rows, columns = linear_sum_assignment(stays[: len(opened)], maximize=True)
        target[opened[rows]] = alike[columns]
    return target
