"""The line of policies that stop jobs: keys, and the jobs that wait, by size.

Of each size those whose key is at most a limit are its front; the others are listed in no order.
Where jobs wait by the hundred thousand, only the front is looked at all the time. When it is empty,
or has grown too long, it is chosen anew, and put in order; who comes later is put among these where
few of them come before, or else kept in a heap beside them.
Source: models/online/README.md, "Preemption".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit_borrowing, njit_inlined
from optsched.online.simulator.bins import sort_keyed
from optsched.online.simulator.heaps import pop_keyed, push_keyed
from optsched.online.simulator.preemption_state import (
    ALPHA,
    ATTAINED,
    FETCHED,
    KIND,
    KNOWN,
    LEFT,
    NONE,
    NOW,
    QUEUED,
    REMAINING,
    SUBMITTED,
    WORKED,
)

SAMPLES = 64
"""Keys that are looked at to choose a limit."""
PART = 16
"""Of those that wait, about one in so many is in front."""
FEW = 64
"""Jobs that are all in front."""
NEAR = 16
"""Of those in order in front, so many are looked at for the place of who comes later."""
TOGETHER = 8
"""Jobs that are touched before they are needed: a processor waits for one line of each else."""


@njit_inlined
def enqueue(rows: Any, state: Any, row: int, key: float) -> None:
    """Let a job wait, by its key."""
    bucket = rows.bucket[state.number[row, KIND]]
    state.index[QUEUED] += 1
    if state.size[bucket] == 0:
        state.limit[bucket] = np.inf
    if key > state.limit[bucket]:
        _list(state, bucket, row, key)
        return
    wait_in_front(state, bucket, key, row)
    front = state.front[bucket] + state.until[bucket] - state.at[bucket]
    if front > state.longest[bucket]:
        list_front(state, bucket)
        _choose_front(state, bucket, state.size[bucket] // PART)
    elif state.head[bucket] == NONE or not _is_after_head(state, bucket, key, row):
        state.head_key[bucket], state.head[bucket] = key, row


@njit_inlined
def wait_in_front(state: Any, bucket: int, key: float, row: int) -> None:
    """Put a job among those in front: in order where few come before it, else beside these."""
    begin, at, until = state.begin[bucket], state.at[bucket], state.until[bucket]
    if at == until:
        at = until = min(begin + NEAR, state.begin[bucket + 1])
        state.until[bucket] = until
    place, last = at, min(until, at + NEAR)
    while place < last and (
        state.chosen_key[place] < key
        or (state.chosen_key[place] == key and state.chosen[place] < row)
    ):
        place += 1
    if at > begin and (place < last or last == until):
        for each in range(at, place):
            state.chosen_key[each - 1], state.chosen[each - 1] = (
                state.chosen_key[each],
                state.chosen[each],
            )
        state.chosen_key[place - 1], state.chosen[place - 1] = key, row
        state.at[bucket] = at - 1
        return
    state.at[bucket] = at
    front = state.front[bucket]
    push_keyed(state.front_key[begin:], state.front_row[begin:], front, key, row)
    state.front[bucket] = front + 1


@njit_inlined
def dequeue(state: Any, bucket: int) -> tuple[float, int]:
    """Take the first that waits in a bucket out of it; returns its key and row."""
    key, row, at = state.head_key[bucket], state.head[bucket], state.at[bucket]
    if at < state.until[bucket] and state.chosen[at] == row:
        state.at[bucket] = at + 1
        if at % TOGETHER == 0:
            _fetch_next(state, at, state.until[bucket])
    else:
        begin, front = state.begin[bucket], state.front[bucket]
        pop_keyed(state.front_key[begin:], state.front_row[begin:], front)
        state.front[bucket] = front - 1
    state.index[QUEUED] -= 1
    state.gone[bucket] += 1
    see_head(state, bucket)
    return key, row


@njit_inlined
def see_head(state: Any, bucket: int) -> None:
    """Note who is the first that waits in a bucket; where nobody is in front, some are chosen."""
    at, begin = state.at[bucket], state.begin[bucket]
    if at < state.until[bucket]:
        state.head_key[bucket], state.head[bucket] = state.chosen_key[at], state.chosen[at]
        if state.front[bucket] > 0 and not _is_after_head(
            state, bucket, state.front_key[begin], state.front_row[begin]
        ):
            state.head_key[bucket], state.head[bucket] = (
                state.front_key[begin],
                state.front_row[begin],
            )
    elif state.front[bucket] > 0:
        state.head_key[bucket], state.head[bucket] = state.front_key[begin], state.front_row[begin]
    elif state.size[bucket] > 0:
        _choose_front(state, bucket, state.size[bucket] // PART)
    else:
        state.head[bucket] = NONE


@njit_inlined
def _is_after_head(state: Any, bucket: int, key: float, row: int) -> bool:
    """Whether a job comes after the first that waits in a bucket."""
    return key > state.head_key[bucket] or (
        key == state.head_key[bucket] and row > state.head[bucket]
    )


@njit_inlined
def _fetch_next(state: Any, at: int, until: int) -> None:
    """Touch the jobs that come next: together, as `fetched` does."""
    touched = 0.0
    for row in state.chosen[at + 1 : min(at + 1 + TOGETHER, until)]:
        touched += state.job[row, LEFT]
    state.clock[FETCHED] = touched


@njit_inlined
def _list(state: Any, bucket: int, row: int, key: float) -> None:
    """Let a job wait behind the front."""
    at = state.begin[bucket] + state.size[bucket]
    state.size[bucket] += 1
    state.key[at], state.row[at] = key, row
    if len(state.served) > 0:
        state.served[at], state.since[at] = state.job[row, WORKED], state.job[row, SUBMITTED]


@njit_inlined
def list_front(state: Any, bucket: int) -> None:
    """List who is in a bucket's front."""
    begin = state.begin[bucket]
    for at in range(begin, begin + state.front[bucket]):
        _list(state, bucket, state.front_row[at], state.front_key[at])
    for at in range(state.at[bucket], state.until[bucket]):
        _list(state, bucket, state.chosen[at], state.chosen_key[at])
    state.front[bucket], state.at[bucket], state.until[bucket] = 0, begin, begin


@njit_borrowing
def _choose_front(state: Any, bucket: int, wanted: int) -> None:
    """Let about as many as wanted of those that are listed be the front: who come first.

    There is none before.
    """
    begin, size = state.begin[bucket], state.size[bucket]
    limit = limit_for(state, bucket, wanted)
    first = begin + min(NEAR, state.begin[bucket + 1] - begin - size)
    to, at, end = first, begin, begin + size
    while at < end:
        if state.key[at] > limit:
            at += 1
            continue
        state.chosen_key[to], state.chosen[to] = state.key[at], state.row[at]
        to += 1
        end -= 1
        unlist(state, at, end)
    state.size[bucket], state.at[bucket], state.until[bucket] = end - begin, first, to
    state.longest[bucket] = max(state.longest[bucket], 2 * (to - first))
    sort_keyed(
        state.chosen_key[first:to], state.chosen[first:to], state.spare_key, state.spare, state.bins
    )
    state.head_key[bucket], state.head[bucket] = state.chosen_key[first], state.chosen[first]


@njit_inlined
def limit_for(state: Any, bucket: int, wanted: int) -> float:
    """A key that about as many as wanted of those that are listed do not exceed; the limit then."""
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
    state.limit[bucket] = limit
    return limit


@njit_inlined
def unlist(state: Any, at: int, last: int) -> None:
    """Let the last that is listed take the place of one that is not any more."""
    state.key[at], state.row[at] = state.key[last], state.row[last]
    if len(state.served) > 0:
        state.served[at], state.since[at] = state.served[last], state.since[last]


@njit_inlined
def fetched(state: Any, chosen: int) -> float:
    """Touch the jobs that are chosen: together, for a processor waits for one line of each else."""
    touched = 0.0
    for row in state.aside[:chosen]:
        touched += state.job[row, LEFT]
    return touched


@njit_inlined
def key_of(rows: Any, rules: Any, state: Any, row: int, ran: float, level: float) -> float:
    """A job's place in line once it has worked `ran` seconds more; the least comes first."""
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
    return _share_key(worked, share, state.clock[NOW] - state.job[row, SUBMITTED])


@njit_inlined
def _share_key(worked: float, share: float, since: float) -> float:
    """Time received over time due."""
    if worked == 0.0:
        return 0.0
    return worked / (share * since)


@njit_inlined
def is_sooner(state: Any, key: float, row: int, bucket: int) -> bool:
    """Whether a job comes before the first that waits in a bucket."""
    if key != state.head_key[bucket]:
        return key < state.head_key[bucket]
    return row < state.head[bucket]


@njit_inlined
def first_fitting(rows: Any, state: Any, room: int) -> int:
    """The bucket of the first job in line that waits and takes no more GPUs than that; or NONE."""
    best, best_key, best_row = NONE, np.inf, NONE
    for bucket in range(len(rows.sizes)):
        if rows.sizes[bucket] > room:
            break  # buckets are in order of size
        key, row = state.head_key[bucket], state.head[bucket]
        is_sooner = (key < best_key) | ((key == best_key) & (row < best_row)) | (best == NONE)
        if (row != NONE) & is_sooner:
            best, best_key, best_row = bucket, key, row
    return best
