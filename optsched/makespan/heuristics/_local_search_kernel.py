"""The compiled local search on the order of list scheduling."""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import lean, njit
from optsched.makespan._contention_kernel import Jobs
from optsched.makespan.heuristics._greedy_kernel import draw
from optsched.makespan.heuristics._list_scheduling_kernel import schedule_list

REINSERT, SWAP = 0.55, 0.92
"""Shares of the moves: reinsertion, then swap; the rest lets one job span or forbids it."""
PULL = 0.4
"""Share of reinsertions that pull the last job to end to an earlier place."""


@njit(cache=True)
def improve(
    jobs: Jobs, order: Any, spans: Any, value: float, target: float, moves: int, slack: float,
    random: Any, starts: Any, where: Any, held: Any, used: Any, finish: Any, best_order: Any,
    best_spans: Any, best_value: float, last: int,
) -> Any:  # fmt: skip
    """Try so many moves; a move is kept if the makespan stays within `slack` of the best.

    Edits order and spans, and their best in `best_order` and `best_spans`; returns the present
    value, the best value, the last job to end (`last` of the next call) and the moves done.
    """
    n = len(order)
    done = 0
    while done < moves and best_value > target:
        done += 1
        what = draw(random)
        a, b = int(draw(random) * n), int(draw(random) * n)
        if what < REINSERT:
            if draw(random) < PULL:
                for i in range(n):
                    if order[i] == last:
                        a = i
                b = int(draw(random) * (a + 1))
            _reinsert(order, a, b)
        elif what < SWAP:
            order[a], order[b] = order[b], order[a]
        else:
            spans[order[a]] = not spans[order[a]]
        cutoff = max(value, best_value + slack)
        new = schedule_list(
            jobs, order, spans, np.nextafter(cutoff, np.inf), starts, where, held, used, finish
        )
        if new < np.inf:
            value = new
            last = int(np.argmax(finish))
            if new < best_value:
                best_value = new
                best_order[:] = order
                best_spans[:] = spans
        elif what < REINSERT:
            _reinsert(order, b, a)
        elif what < SWAP:
            order[a], order[b] = order[b], order[a]
        else:
            spans[order[a]] = not spans[order[a]]
    return value, best_value, last, done


@lean
def _reinsert(order: Any, a: int, b: int) -> None:
    """Move the entry at a to b; what lies between shifts by one."""
    moved = order[a]
    step = 1 if b > a else -1
    i = a
    while i != b:
        order[i] = order[i + step]
        i += step
    order[b] = moved
