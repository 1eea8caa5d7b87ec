"""What a run of a policy that stops jobs records, laid out by job: a counting sort.

Complexity: O(segments + pieces log pieces of a segment).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from optsched.compiled_loops import njit_borrowing
from optsched.online.records import GPUS, SERVER
from optsched.online.simulator.heaps import pop, push


class Log(NamedTuple):
    """What a run recorded, in order of time; see `preemption.State`."""

    segment_row: Any
    stopped_row: Any
    alpha: Any
    piece: Any
    instant: Any
    restarts: Any
    stops: Any


class Columns(NamedTuple):
    """Those of `records.Segments` that a log says; room for all rows."""

    start: Any
    end: Any
    alpha: Any
    first: Any
    server: Any
    taken: Any


@njit_borrowing
def count(log: Any, counts: Any) -> None:
    """Count the segments and pieces of each row.

    Parameters
    ----------
    log : Log
        The run's.
    counts : (n, 2) int
        Of both; 0, edited.
    """
    at = 0
    for row in log.segment_row:
        first = at
        while log.piece[at] >= 0:
            at += 1
        at += 1
        counts[row, 0] += 1
        counts[row, 1] += at - first


@njit_borrowing
def lay_out(log: Any, begin: Any, free: Any, heap: Any, columns: Any) -> None:
    """Put segments where they belong, each with its pieces by server.

    Parameters
    ----------
    log : Log
        The run's.
    begin : (n, 2) int
        Where each row's segments begin, and their pieces.
    free : (n, 2) int
        The same; edited.
    heap : (servers,) int
        Room.
    columns : Columns
        Edited: but for when a row's first segment starts and its last ends, and for alpha where a
        segment has one piece.
    """
    at, several, instant, left = 0, 0, -1, 0
    for row in log.segment_row:
        segment, to = free[row, 0], free[row, 1]
        free[row, 0] = segment + 1
        if segment > begin[row, 0]:
            while left == 0:
                instant += 1
                left = log.restarts[instant]
            left -= 1
            columns.start[segment] = log.instant[instant]
        columns.first[segment] = to
        pieces, piece = 0, 0
        while piece >= 0:
            piece = log.piece[at]
            at += 1
            push(heap, pieces, piece if piece >= 0 else ~piece)
            pieces += 1
        if pieces > 1:
            columns.alpha[segment] = log.alpha[several]
            several += 1
        free[row, 1] = to + pieces
        for more in range(pieces, 0, -1):
            piece = pop(heap, more)
            columns.server[to], columns.taken[to] = piece >> SERVER, piece & GPUS
            to += 1


@njit_borrowing
def lay_out_ends(log: Any, free: Any, end: Any) -> None:
    """Put the ends of segments that were stopped where they belong.

    Parameters
    ----------
    log : Log
        The run's.
    free : (n,) int
        Where each row's segments begin; edited.
    end : (S,) float
        Of each segment; edited.
    """
    at = 0
    for instant in range(len(log.instant)):
        for row in log.stopped_row[at : at + log.stops[instant]]:
            end[free[row]] = log.instant[instant]
            free[row] += 1
        at += log.stops[instant]
