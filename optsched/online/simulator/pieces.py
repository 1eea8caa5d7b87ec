"""What a job holds, piece by piece: the GPUs of a server in one word, laid out by server.

Complexity: O(pieces log pieces of a job).
"""

from __future__ import annotations

from typing import Any

from optsched.compiled_loops import njit_borrowing, njit_inlined
from optsched.online.records import GPUS, SERVER
from optsched.online.simulator.heaps import pop, push


@njit_inlined
def put_in_order(piece: Any, pieces: int, heap: Any, server: Any, taken: Any) -> None:
    """Lay out the pieces of a job, or of a segment of it, by server."""
    if pieces == 1:
        word = piece[0] if piece[0] >= 0 else ~piece[0]
        server[0], taken[0] = word >> SERVER, word & GPUS
        return
    for each in range(pieces):
        word = piece[each]
        push(heap, each, word if word >= 0 else ~word)
    for each in range(pieces):
        word = pop(heap, pieces - each)
        server[each], taken[each] = word >> SERVER, word & GPUS


@njit_inlined
def count_pieces(piece: Any) -> int:
    """How many pieces a segment has: the last is negated bit by bit."""
    last = 0
    while piece[last] >= 0:
        last += 1
    return last + 1


@njit_borrowing
def lay_out_pieces(kept: Any, begin: Any, pieces: Any, piece: Any, heap: Any, columns: Any) -> None:
    """Lay the pieces of some jobs, each of which ran once, end to end."""
    first, server, taken = columns
    to = 0
    for at, job in enumerate(kept):
        first[at] = to
        put_in_order(piece[begin[job] :], pieces[job], heap, server[to:], taken[to:])
        to += pieces[job]
    first[len(kept)] = to
