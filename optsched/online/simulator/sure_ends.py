"""Ends of running jobs that nobody stops: those that come soon are in order, the next one last.

How soon is chosen anew when nobody is left who ends by then; the others are listed in no order.
Complexity: O(sqrt R) an end for R running jobs, where their ends are spread out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from optsched.compiled_loops import njit_borrowing, njit_inlined
from optsched.online.simulator.bins import FEW, LONG, insert_keyed, sort_keyed

SOON, LATER, MOST = range(3)


class Ends(NamedTuple):
    """Ends of running jobs.

    Attributes
    ----------
    key, row : (E,) float and int
        In order, those up to `until`: minus the end, and the job's row.
    later_end, later_row : (E,) float and int
        The others.
    count : (3,) int
        Entries of both, and how many are kept in order at most.
    until : (1,) float
        Seconds.
    spare_key, spare_row, bins
        Room to put a list in order.
    """

    key: Any
    row: Any
    later_end: Any
    later_row: Any
    count: Any
    until: Any
    spare_key: Any
    spare_row: Any
    bins: Any


def no_ends(room: int) -> Ends:
    """Nobody runs; there is room for so many ends."""
    return Ends(
        key=np.empty(room),
        row=np.empty(room, dtype=np.int64),
        later_end=np.empty(room),
        later_row=np.empty(room, dtype=np.int64),
        count=np.array([0, 0, LONG]),
        until=np.array([np.inf]),
        spare_key=np.empty(room),
        spare_row=np.empty(room, dtype=np.int64),
        bins=np.empty(room + 1, dtype=np.int64),
    )


@njit_inlined
def next_end(ends: Any) -> float:
    """When the next job ends; infinite if none runs."""
    if ends.count[SOON] == 0:
        if ends.count[LATER] == 0:
            return np.inf
        _look_ahead(ends)
    return -ends.key[ends.count[SOON] - 1]


@njit_inlined
def pop_end(ends: Any) -> int:
    """Forget the end that `next_end` told; returns the job's row."""
    at = ends.count[SOON] - 1
    ends.count[SOON] = at
    return ends.row[at]


@njit_inlined
def push_end(ends: Any, end: float, row: int) -> None:
    """Note when a job ends. There is room."""
    if end > ends.until[0]:
        at = ends.count[LATER]
        ends.later_end[at], ends.later_row[at] = end, row
        ends.count[LATER] = at + 1
        return
    insert_keyed(ends.key, ends.row, ends.count[SOON], -end, row)
    ends.count[SOON] += 1
    if ends.count[SOON] > ends.count[MOST]:
        _put_off(ends)


@njit_borrowing
def _look_ahead(ends: Any) -> None:
    """Put those that come soon in order; there is none before."""
    every, soon, later = ends.count[LATER], 0, 0
    until = _until(ends.later_end, every)
    for at in range(every):
        end, row = ends.later_end[at], ends.later_row[at]
        if end <= until:
            ends.key[soon], ends.row[soon] = -end, row
            soon += 1
        else:
            ends.later_end[later], ends.later_row[later] = end, row
            later += 1
    sort_keyed(ends.key[:soon], ends.row[:soon], ends.spare_key, ends.spare_row, ends.bins)
    ends.count[SOON], ends.count[LATER], ends.count[MOST] = soon, later, max(LONG, 2 * soon)
    ends.until[0] = until


@njit_inlined
def _until(end: Any, count: int) -> float:
    """A time that some of so many ends do not exceed: the second least of a few of them."""
    if count <= FEW:
        return np.inf
    first, second = np.inf, np.inf
    for at in range(0, count, int(2.0 * np.sqrt(count))):
        if end[at] < first:
            first, second = end[at], first
        elif end[at] < second:
            second = end[at]
    return second


@njit_borrowing
def _put_off(ends: Any) -> None:
    """List the later half of those in order with the others, and all that are as late."""
    soon, later = ends.count[SOON], ends.count[LATER]
    cut = soon // 2
    while cut < soon and ends.key[cut] == ends.key[cut - 1]:
        cut += 1
    if cut == soon:
        return
    for at in range(cut):
        ends.later_end[later + at], ends.later_row[later + at] = -ends.key[at], ends.row[at]
    for at in range(cut, soon):
        ends.key[at - cut], ends.row[at - cut] = ends.key[at], ends.row[at]
    ends.count[SOON], ends.count[LATER] = soon - cut, later + cut
    ends.until[0] = -ends.key[0]
