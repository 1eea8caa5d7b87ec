"""The line of policies that stop jobs: keys, and the jobs that wait, by size.

Of each size those whose key is at most a limit are its front, a heap by (key, row); the others are
listed in no order. Where jobs wait by the hundred thousand, only the front is looked at all the
time. When it is empty, or has grown too long, it is chosen anew.
Source: models/online/README.md, "Preemption".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit_borrowing, njit_dividing, njit_inlined
from optsched.online.simulator.heaps import pop_keyed, push_keyed
from optsched.online.simulator.preemption import (
    ALPHA,
    ATTAINED,
    KIND,
    KNOWN,
    LEFT,
    NONE,
    NOW,
    QUEUED,
    REMAINING,
    WORKED,
)

SAMPLES = 64
"""Keys that are looked at to choose a limit."""
PART = 16
"""Of those that wait, about one in so many is in front."""
FEW = 64
"""Jobs that are all kept in order."""
SPARE = 16
"""By shares, the front of a round is half as long again as the last one took, and so many more."""


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
    bucket = rows.bucket[state.number[row, KIND]]
    begin, front = state.begin[bucket], state.front[bucket]
    state.index[QUEUED] += 1
    if state.size[bucket] == 0:
        state.limit[bucket] = np.inf
    if key > state.limit[bucket]:
        _list(rows, state, bucket, row, key)
        return
    push_keyed(state.front_key[begin:], state.front_row[begin:], front, key, row)
    state.front[bucket] = front + 1
    if front >= state.longest[bucket]:
        _list_front(rows, state, bucket)
        _choose_front(state, bucket, state.size[bucket] // PART)


@njit_inlined
def dequeue(state: Any, bucket: int) -> tuple[float, int]:
    """Take the first that waits in a bucket out of it; returns its key and row."""
    begin, front = state.begin[bucket], state.front[bucket]
    key, row = pop_keyed(state.front_key[begin:], state.front_row[begin:], front)
    state.front[bucket] = front - 1
    state.index[QUEUED] -= 1
    state.gone[bucket] += 1
    if front == 1 and state.size[bucket] > 0:
        _choose_front(state, bucket, state.size[bucket] // PART)
    return key, row


@njit_inlined
def _list(rows: Any, state: Any, bucket: int, row: int, key: float) -> None:
    """Let a job wait behind the front.

    Parameters
    ----------
    rows : Rows
        The jobs.
    state : State
        The run so far; edited.
    bucket, row : int
        The job's.
    key : float
        Its key.
    """
    at = state.begin[bucket] + state.size[bucket]
    state.size[bucket] += 1
    state.key[at], state.row[at] = key, row
    if len(state.served) > 0:
        state.served[at], state.since[at] = state.job[row, WORKED], rows.submit[row]


@njit_inlined
def _list_front(rows: Any, state: Any, bucket: int) -> None:
    """List who is in a bucket's front."""
    begin = state.begin[bucket]
    for at in range(begin, begin + state.front[bucket]):
        _list(rows, state, bucket, state.front_row[at], state.front_key[at])
    state.front[bucket] = 0


@njit_borrowing
def _choose_front(state: Any, bucket: int, wanted: int) -> None:
    """Let about as many as wanted of those that are listed be the front: who come first.

    There is none before.
    """
    begin, size = state.begin[bucket], state.size[bucket]
    keys, items = state.front_key[begin:], state.front_row[begin:]
    limit = np.inf
    if wanted < size and size > FEW:
        samples, step = 0, size // SAMPLES
        for at in range(begin, begin + size, step):
            push_keyed(keys, items, samples, state.key[at], at)
            samples += 1
        for left in range(samples, samples - 1 - wanted // step, -1):
            limit, _ = pop_keyed(keys, items, left)
    front, at, end = 0, begin, begin + size
    while at < end:
        if state.key[at] > limit:
            at += 1
            continue
        push_keyed(keys, items, front, state.key[at], state.row[at])
        front += 1
        end -= 1
        state.key[at], state.row[at] = state.key[end], state.row[end]
        if len(state.served) > 0:
            state.served[at], state.since[at] = state.served[end], state.since[end]
    state.size[bucket], state.front[bucket], state.limit[bucket] = end - begin, front, limit
    state.longest[bucket] = max(state.longest[bucket], 2 * front)


@njit_inlined
def fetched(state: Any, chosen: int) -> float:
    """Touch the jobs that are chosen: together, for a processor waits for one line of each else."""
    touched = 0.0
    for row in state.aside[:chosen]:
        touched += state.job[row, LEFT]
    return touched


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
    kind = state.number[row, KIND]
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
        if state.front[bucket] == 0:
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


@njit_dividing
def _compute_shares(key: Any, served: Any, since: Any, share: float, now: float) -> None:
    """The keys of some that wait, by shares.

    Parameters
    ----------
    key, served, since : (k,) float
        Of each its key, which is set, seconds worked, and submission.
    share : float
        Of GPUs, of their size.
    now : float
        The instant.
    """
    for at in range(len(key)):
        due = share * (now - since[at])
        key[at] = served[at] / (due if due > 0.0 else 1.0)  # none is due where none has worked


@njit_borrowing
def rank_again(rows: Any, state: Any, level: float) -> None:
    """Order the jobs that wait by their shares now.

    Fronts hold twice as many as the last round took.

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
        _list_front(rows, state, bucket)
        share = min(1.0, level / rows.sizes[bucket])
        end = begin + state.size[bucket]
        _compute_shares(
            state.key[begin:end], state.served[begin:end], state.since[begin:end], share, now
        )
        if state.size[bucket] > 0:
            _choose_front(state, bucket, state.gone[bucket] * 3 // 2 + SPARE)
        state.gone[bucket] = 0
