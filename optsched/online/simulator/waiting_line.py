"""The line of policies that stop jobs: keys, and jobs that wait, in a heap by key for each size.

Source: models/online/README.md, "Preemption".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit_borrowing, njit_inlined
from optsched.online.simulator.heaps import pop_keyed, push_keyed
from optsched.online.simulator.preemption import ATTAINED, NONE, QUEUED, REMAINING


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
    bucket = rows.bucket[row]
    begin = state.begin[bucket]
    push_keyed(state.key[begin:], state.row[begin:], state.size[bucket], key, row)
    state.size[bucket] += 1
    state.index[QUEUED] += 1
    if state.row[begin] == row:
        state.ahead[bucket] = 0


@njit_inlined
def dequeue(state: Any, bucket: int) -> tuple[float, int]:
    """Take the first that waits in a bucket out of it; returns its key and row."""
    begin = state.begin[bucket]
    key, row = pop_keyed(state.key[begin:], state.row[begin:], state.size[bucket])
    state.size[bucket] -= 1
    state.index[QUEUED] -= 1
    return key, row


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
    gpus, worked = rows.gpus[row], state.worked[row] + ran
    if rules.order == ATTAINED:
        return gpus * worked
    if rules.order == REMAINING:
        known = state.known[row]
        if ran > 0.0:
            known = max(0.0, known - ran / state.alpha[row])
        return gpus * known * rows.estimate[row]
    if worked == 0.0:
        return 0.0
    return worked / (min(1.0, level / gpus) * (state.now[0] - rows.submit[row]))


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
    return key < state.key[at] or (key == state.key[at] and row < state.row[at])


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
            if state.key[at] > state.key[first]:
                continue
            if state.key[at] == state.key[first] and state.row[at] > state.row[first]:
                continue
        best = bucket
    return best


@njit_borrowing
def rank_again(rows: Any, rules: Any, state: Any, level: float) -> None:
    """Order the jobs that wait by the keys they have now.

    Parameters
    ----------
    rows : Rows
        The jobs.
    rules : Rules
        The policy's.
    state : State
        The run so far; edited.
    level : float
        Of max-min fair shares.
    """
    for bucket in range(len(rows.sizes)):
        begin = state.begin[bucket]
        for at in range(state.size[bucket]):
            row = state.row[begin + at]
            key = key_of(rows, rules, state, row, 0.0, level)
            push_keyed(state.key[begin:], state.row[begin:], at, key, row)
