"""What a run of a policy that stops jobs records, laid out by job: a counting sort.

Complexity: O(segments + pieces log pieces of a segment).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from optsched.compiled_loops import njit_borrowing, njit_dividing
from optsched.online.simulator.pieces import count_pieces, put_in_order


class Log(NamedTuple):
    """What a run recorded, in order of time; see `preemption.State`."""

    segment_row: Any
    stopped_row: Any
    alpha: Any
    piece: Any
    instant: Any
    restarts: Any
    stops: Any


class Last(NamedTuple):
    """Of jobs: when iterations of their last segment began and end, and seconds each takes.

    Seconds worked before it; the how manieth it is, and where its pieces begin.
    """

    begin: Any
    end: Any
    alpha: Any
    worked: Any
    times: Any
    piece: Any


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
    """Count the segments and pieces of each row."""
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
    """Put segments where they belong, each with its pieces by server."""
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
        pieces = count_pieces(log.piece[at:])
        put_in_order(log.piece[at:], pieces, heap, columns.server[to:], columns.taken[to:])
        if pieces > 1:
            columns.alpha[segment] = log.alpha[several]
            several += 1
        free[row, 1] = to + pieces
        at += pieces


@njit_dividing
def lay_out_last(log: Any, last: Any, iterations: Any, heap: Any, columns: Any) -> int:
    """Say when jobs ended and what alpha was, over all segments; lay their last pieces end to end.

    Returns how many jobs have several segments.
    """
    end, alpha, first, server, taken = columns
    to, several = 0, 0
    for job in range(len(end)):
        end[job], alpha[job] = last.end[job], last.alpha[job]
        if last.times[job] > 1:
            worked = last.worked[job] + max(last.end[job] - last.begin[job], 0.0)
            alpha[job] = worked / iterations[job]
            several += 1
        first[job] = to
        piece = log.piece[last.piece[job] :]
        pieces = count_pieces(piece)
        put_in_order(piece, pieces, heap, server[to:], taken[to:])
        to += pieces
    first[len(end)] = to
    return several


@njit_borrowing
def lay_out_ends(log: Any, free: Any, end: Any) -> None:
    """Put the ends of segments that were stopped where they belong."""
    at = 0
    for instant in range(len(log.instant)):
        for row in log.stopped_row[at : at + log.stops[instant]]:
            end[free[row]] = log.instant[instant]
            free[row] += 1
        at += log.stops[instant]
