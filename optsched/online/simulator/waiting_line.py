"""The line of policies that stop jobs: keys, and the jobs that wait, by size.

Of each size all that wait are listed in no order; those whose key is at most a limit are its front,
too, a heap by (key, row). Where jobs wait by the hundred thousand, only the front is looked at all
the time. When it is empty, or has grown too long, it is chosen anew.
Source: models/online/README.md, "Preemption".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit_borrowing, njit_inlined
from optsched.online.simulator.heaps import pop_keyed, push_keyed
from optsched.online.simulator.preemption import (
    ALPHA,
    ATTAINED,
    CUT,
    KNOWN,
    NONE,
    NOW,
    QUEUED,
    REMAINING,
    WORKED,
)

SAMPLES = 16
"""Keys that are looked at to choose a limit: about one in so many of those that wait is below."""
FEW = 64
"""Jobs that are all kept in order."""


@njit_inlined
def enqueue(rows: Any, state: Any, row: int, key: float) -> None:
    """Let a job wait, by its key.

    Parameters
    ----------
    rows : Rows
        The jobs.
    state : State
        The run so far; edited.
    row : int
        The job's.
    key : float
        Its key.
    """
    bucket = rows.bucket[rows.configuration[row]]
    begin, size, front = state.begin[bucket], state.size[bucket], state.front[bucket]
    at = begin + size
    state.key[at], state.row[at], state.place[row] = key, row, at
    if len(state.served) > 0:
        state.served[at], state.since[at] = state.job[row, WORKED], rows.submit[row]
    state.size[bucket] = size + 1
    state.index[QUEUED] += 1
    if size == 0:
        state.limit[bucket] = np.inf
    if key <= state.limit[bucket]:
        push_keyed(state.front_key[begin:], state.front_row[begin:], front, key, row)
        state.front[bucket] = front + 1
        if front >= state.longest[bucket]:
            _choose_front(state, bucket)


@njit_inlined
def dequeue(state: Any, bucket: int) -> tuple[float, int]:
    """Take the first that waits in a bucket out of it; returns its key and row."""
    begin, front = state.begin[bucket], state.front[bucket]
    key, row = pop_keyed(state.front_key[begin:], state.front_row[begin:], front)
    state.front[bucket] = front - 1
    state.index[QUEUED] -= 1
    size = state.size[bucket] - 1
    state.size[bucket] = size
    last, at = begin + size, state.place[row]
    moved = state.row[last]
    state.key[at], state.row[at], state.place[moved] = state.key[last], moved, at
    if len(state.served) > 0:
        state.served[at], state.since[at] = state.served[last], state.since[last]
    if front == 1 and size > 0:
        _choose_front(state, bucket)
    return key, row


@njit_borrowing
def _choose_front(state: Any, bucket: int) -> None:
    begin = state.begin[bucket]
    end = begin + state.size[bucket]
    limit = np.inf
    if end - begin > FEW:
        for at in range(begin, end, (end - begin) // SAMPLES):
            limit = min(limit, state.key[at])
    _collect_front(state, bucket, limit)
    state.longest[bucket] = max(state.longest[bucket], 2 * state.front[bucket])


@njit_inlined
def _collect_front(state: Any, bucket: int, limit: float) -> None:
    """Let the front be all that wait in a bucket with keys up to a limit."""
    begin, front = state.begin[bucket], 0
    for at in range(begin, begin + state.size[bucket]):
        key = state.key[at]
        if key <= limit:
            push_keyed(state.front_key[begin:], state.front_row[begin:], front, key, state.row[at])
            front += 1
    state.front[bucket], state.limit[bucket] = front, limit


@njit_inlined
def key_of(rows: Any, rules: Any, state: Any, row: int, ran: float, level: float) -> float:
    """A job's place in line once it has worked `ran` seconds more; the least comes first.

    Parameters
    ----------
    rows : Rows
        The jobs.
    rules : Rules
        The policy's.
    state : State
        The run so far.
    row : int
        The job's.
    ran : float
        Seconds.
    level : float
        Of max-min fair shares.
    """
    kind = rows.configuration[row]
    gpus, worked = rows.gpus[kind], state.job[row, WORKED] + ran
    if rules.order == ATTAINED:
        return gpus * worked
    if rules.order == REMAINING:
        known = state.job[row, KNOWN]
        if ran > 0.0:
            known = max(0.0, known - ran / state.job[row, ALPHA])
        return gpus * known * rows.estimate[kind]
    share = min(1.0, level / gpus)
    return _share_key(worked, share, state.clock[NOW] - rows.submit[row])


@njit_inlined
def _share_key(worked: float, share: float, since: float) -> float:
    """Time received over time due."""
    if worked == 0.0:
        return 0.0
    return worked / (share * since)


@njit_borrowing
def fair_level(rows: Any, state: Any) -> float:
    """The level of max-min fair shares min(g, level) of all GPUs among the jobs there are."""
    rest = len(state.servers.free) * (len(state.servers.histogram) - 1)
    jobs = 0
    for count in state.present:
        jobs += count
    for bucket in range(len(rows.sizes)):
        gpus, count = rows.sizes[bucket], state.present[bucket]
        if count > 0 and gpus * jobs >= rest:
            return rest / jobs
        rest -= gpus * count
        jobs -= count
    return np.inf


@njit_inlined
def is_sooner(state: Any, key: float, row: int, bucket: int) -> bool:
    """Whether a job comes before the first that waits in a bucket.

    Parameters
    ----------
    state : State
        The run so far.
    key : float
        Its key.
    row : int
        The job's.
    bucket : int
        Of sizes.
    """
    at = state.begin[bucket]
    if key != state.front_key[at]:
        return key < state.front_key[at]
    return row < state.front_row[at]


@njit_inlined
def first_fitting(rows: Any, state: Any, room: int) -> int:
    """The bucket of the first job in line that waits and takes no more GPUs than that; or NONE."""
    best = NONE
    for bucket in range(len(rows.sizes)):
        if rows.sizes[bucket] > room:
            break  # buckets are in order of size
        if state.size[bucket] == 0:
            continue
        at = state.begin[bucket]
        if best != NONE:
            first = state.begin[best]
            if state.front_key[at] > state.front_key[first]:
                continue
            if (
                state.front_key[at] == state.front_key[first]
                and state.front_row[at] > state.front_row[first]
            ):
                continue
        best = bucket
    return best


@njit_borrowing
def rank_again(rows: Any, state: Any, level: float) -> None:
    """Order the jobs that wait by their shares now; fronts hold what the last round would take.

    Parameters
    ----------
    rows : Rows
        The jobs.
    state : State
        The run so far; edited.
    level : float
        Of max-min fair shares.
    """
    now = state.clock[NOW]
    for bucket in range(len(rows.sizes)):
        begin = state.begin[bucket]
        share = min(1.0, level / rows.sizes[bucket])
        for at in range(begin, begin + state.size[bucket]):
            state.key[at] = _share_key(state.served[at], share, now - state.since[at])
        _collect_front(state, bucket, state.clock[CUT])
        if state.size[bucket] > 0 and state.front[bucket] == 0:
            _choose_front(state, bucket)
