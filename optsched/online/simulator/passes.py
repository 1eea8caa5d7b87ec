"""One scheduling pass: which queued jobs start now, and on which GPUs.

Source: a-srpt, Algorithm 1, lines 3-25, and V-A 1-d, in the readings of models/online/README.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit_inlined
from optsched.online.simulator.backfilling import (
    forget,
    list_fitting,
    next_behind,
    next_to_backfill,
    remember,
    still_fitting,
)
from optsched.online.simulator.heaps import pop, push
from optsched.online.simulator.iteration_cache import cached_time
from optsched.online.simulator.offers import pattern, rule_for, take
from optsched.online.simulator.reservation import expect, reservation
from optsched.online.simulator.state import (
    BACKFILL,
    BETTER,
    GOOD,
    HEAD,
    LISTED,
    PIECES,
    QUEUED,
    RELEASED,
    RESERVE,
    RUNNING,
    SCAN_ON,
    SEEN_RELEASED,
    SEEN_RUNNING,
    SEEN_STARTED,
    STARTED,
)
from optsched.online.simulator.sure_ends import push_end

IMPROVEMENT = 1e-9
"""A better offer's alpha is below kappa (1 - 1e-9)."""
AS_ESTIMATED = 1.0 + 1e-9
"""Up to so many times alpha~ an alpha is alpha~, whatever its last digits."""


@njit_inlined
def enqueue(rows: Any, rules: Any, queue: Any, state: Any, row: int) -> None:
    """A job may start from now on."""
    rank = rows.rank[row]
    if rules.fifo:
        rank = state.index[RELEASED]
        queue.row_at[rank] = row
    state.index[RELEASED] += 1
    state.index[QUEUED] += 1
    bucket = rows.bucket[row]
    if rules.scan >= BACKFILL:  # ranks come in ascending order
        remember(queue, bucket, rank)
    else:
        push(queue.heap[queue.begin[bucket] :], queue.size[bucket], rank)
    queue.size[bucket] += 1
    if rules.scan == SCAN_ON:
        _list(queue, state, bucket)


@njit_inlined
def current_head(rules: Any, queue: Any, state: Any) -> int:
    """The first row of the queue, or -1; not for policies that scan on."""
    if state.index[QUEUED] == 0:
        return -1
    if rules.scan < BACKFILL:
        return queue.row_at[queue.heap[0]]
    while not np.isnan(state.start[queue.row_at[state.index[HEAD]]]):
        state.index[HEAD] += 1
    return queue.row_at[state.index[HEAD]]


@njit_inlined
def schedule(rows: Any, packed: Any, rules: Any, queue: Any, state: Any, now: float) -> None:
    """Start what the policy starts at this instant."""
    if rules.scan == SCAN_ON:
        _scan_on(rows, packed, rules, queue, state, now)
        return
    seen = _seen(state)
    while state.index[QUEUED] > 0:
        row = current_head(rules, queue, state)
        fits = rows.gpus[row] <= state.servers.total[0]
        if fits and rules.delays and seen > 0 and not np.isnan(state.kappa[row]):
            fits = now >= state.window[row]  # the offer is the one refused before
        alpha = np.inf
        if fits:
            alpha = _offered_time(rows, packed, rules, state, row)
            fits = alpha < np.inf
            if fits and rules.delays:
                fits = _is_accepted(rows, packed, rules, state, row, alpha, now)
        if not fits:
            break
        _unqueue_head(rows, rules, queue, state, row)
        _start(rows, rules, state, row, alpha, now)
        seen = 0
    if state.index[QUEUED] == 0:
        return
    if rules.scan == RESERVE:
        _fill_around(rows, packed, rules, queue, state, now)
    elif rules.scan == BACKFILL:
        head = current_head(rules, queue, state)
        if not np.isnan(state.kappa[head]) and now < state.window[head]:
            _backfill(rows, packed, rules, queue, state, now, seen)


@njit_inlined
def _seen(state: Any) -> int:
    """How many releases a pass has looked at with the GPUs free as now; 0 after a start or end.

    A pass that starts something is taken up again from the front by the next one: what another
    start leaves free may suit a heavy job that was refused before it.
    """
    index = state.index
    same = index[SEEN_STARTED] == index[STARTED] and index[SEEN_RUNNING] == index[RUNNING]
    seen = index[SEEN_RELEASED] if same else 0
    index[SEEN_STARTED], index[SEEN_RUNNING] = index[STARTED], index[RUNNING]
    index[SEEN_RELEASED] = index[RELEASED]
    return seen


@njit_inlined
def _scan_on(rows: Any, packed: Any, rules: Any, queue: Any, state: Any, now: float) -> None:
    """Start every job that fits, in the queue's order, and that its offer suits.

    A bucket's jobs fit or fail together. What a start leaves free may suit a job that comes before
    the one started: its turn is over, so it is laid aside for the pass.
    """
    aside, turn = 0, -1
    while state.index[QUEUED] > aside and state.servers.total[0] > 0:
        bucket, alpha = _next_suited(rows, packed, rules, queue, state)
        if bucket < 0:
            break
        rank = pop(queue.heap[queue.begin[bucket] :], queue.size[bucket])
        queue.size[bucket] -= 1
        if rank < turn:
            state.aside[aside] = rank
            aside += 1
            continue
        turn = rank
        state.index[QUEUED] -= 1
        _start(rows, rules, state, queue.row_at[rank], alpha, now)
    for rank in state.aside[:aside]:
        bucket = rows.bucket[queue.row_at[rank]]
        push(queue.heap[queue.begin[bucket] :], queue.size[bucket], rank)
        queue.size[bucket] += 1
        _list(queue, state, bucket)


@njit_inlined
def _list(queue: Any, state: Any, bucket: int) -> None:
    """Put a bucket on the list of those that have jobs, where passes scan on."""
    if queue.front[bucket] == 0:
        queue.front[bucket] = 1
        queue.fitting[state.index[LISTED]] = bucket
        state.index[LISTED] += 1


@njit_inlined
def _next_suited(rows: Any, packed: Any, rules: Any, queue: Any, state: Any) -> tuple[int, float]:
    """The bucket of the least rank that is offered GPUs that suit it, or -1; and alpha on them.

    A bucket that fails is not looked at again until GPUs are taken or freed.
    """
    changes = 2 * state.index[STARTED] - state.index[RUNNING]  # starts and ends
    best, chosen, found, at = len(rows.submit), -1, np.inf, 0
    while at < state.index[LISTED]:
        bucket = queue.fitting[at]
        if queue.size[bucket] == 0:
            state.index[LISTED] -= 1
            queue.fitting[at] = queue.fitting[state.index[LISTED]]
            queue.front[bucket] = 0
            continue
        at += 1
        rank = queue.heap[queue.begin[bucket]]
        if rank >= best or queue.gpus[bucket] > state.servers.total[0]:
            continue
        if queue.failed[bucket] == changes:
            continue
        row = queue.row_at[rank]
        alpha = _offered_time(rows, packed, rules, state, row)
        most = np.inf
        if rules.hold == GOOD:
            most = packed.estimate[rows.configuration[row]]
            most *= max(rules.comm_heavy, AS_ESTIMATED)
        if alpha == np.inf or alpha > most:
            queue.failed[bucket] = changes
            continue
        best, chosen, found = rank, bucket, alpha
    return chosen, found


@njit_inlined
def _backfill(
    rows: Any, packed: Any, rules: Any, queue: Any, state: Any, now: float, seen: int
) -> None:
    """Start later jobs in queue order that fit now: heavy ones only on an offer good enough."""
    behind = max(state.index[HEAD], seen - 1)
    while True:
        behind, bucket = next_to_backfill(packed, rules, queue, state, behind)
        if bucket < 0:
            return
        row = queue.row_at[behind]
        alpha = _offered_time(rows, packed, rules, state, row)
        if alpha == np.inf:
            continue
        forget(queue, bucket, behind)
        state.index[QUEUED] -= 1
        _start(rows, rules, state, row, alpha, now)


@njit_inlined
def _fill_around(rows: Any, packed: Any, rules: Any, queue: Any, state: Any, now: float) -> None:
    """Start later jobs in queue order that fit now and leave the head its reservation.

    Such a job ends, by its prediction, before the head is to start, or takes GPUs that the head
    will not need. Source: EASY backfilling.
    """
    head = state.index[HEAD]
    gpus = rows.gpus[queue.row_at[head]]
    count = list_fitting(queue, state.servers.total[0], head)
    if count == 0 or gpus <= state.servers.total[0]:  # or where they are its slices do not fit
        return
    start, spare = reservation(state, gpus, now)
    behind = head
    while True:
        at = next_behind(queue, count, behind)
        if at < 0:
            return
        behind, bucket = queue.upcoming[at], queue.fitting[at]
        row = queue.row_at[behind]
        alpha = _offered_time(rows, packed, rules, state, row)
        if alpha == np.inf:
            continue
        if now + expected_length(rows, row, alpha) > start:
            if rows.gpus[row] > spare:
                continue
            spare -= rows.gpus[row]
        forget(queue, bucket, behind)
        state.index[QUEUED] -= 1
        _start(rows, rules, state, row, alpha, now)
        count = still_fitting(queue, count, state.servers.total[0])


@njit_inlined
def predicted_end(rows: Any, state: Any, row: int) -> float:
    """When a job that has started is expected to end."""
    return state.start[row] + expected_length(rows, row, state.alpha[row])


@njit_inlined
def expected_length(rows: Any, row: int, alpha: float) -> float:
    """The user's estimate, or without one the predicted length."""
    walltime = rows.walltime[row]
    return rows.predicted[row] * alpha if np.isnan(walltime) else walltime


@njit_inlined
def _offered_time(rows: Any, packed: Any, rules: Any, state: Any, row: int) -> float:
    configuration = rows.configuration[row]
    rule = rule_for(rules.offer, rows.heavy[configuration])
    pieces = pattern(state.servers, rule, rows.gpus[row], state.taken, state.scratch)
    return cached_time(state.cache, packed, configuration, state.taken, pieces)


@njit_inlined
def _is_good(rows: Any, packed: Any, rules: Any, row: int, alpha: float) -> bool:
    return alpha <= rules.comm_heavy * packed.estimate[rows.configuration[row]]


@njit_inlined
def _is_accepted(
    rows: Any, packed: Any, rules: Any, state: Any, row: int, alpha: float, now: float
) -> bool:
    """Whether the head starts on this offer; its first refusal opens the window."""
    if not rows.heavy[rows.configuration[row]]:
        return True
    first = np.isnan(state.kappa[row])
    if first or rules.hold != BETTER:
        accepted = _is_good(rows, packed, rules, row, alpha)
    else:
        accepted = alpha < state.kappa[row] * (1.0 - IMPROVEMENT)
    if first and not accepted:
        state.kappa[row] = alpha
        if rules.hold != GOOD:
            state.window[row] = now + rules.tau * rows.work[row]
    return accepted or now >= state.window[row]


@njit_inlined
def _unqueue_head(rows: Any, rules: Any, queue: Any, state: Any, row: int) -> None:
    if rules.scan >= BACKFILL:
        forget(queue, rows.bucket[row], state.index[HEAD])
    else:
        pop(queue.heap, queue.size[0])
        queue.size[0] -= 1
    state.index[QUEUED] -= 1


@njit_inlined
def _start(rows: Any, rules: Any, state: Any, row: int, alpha: float, now: float) -> None:
    rule = rule_for(rules.offer, rows.heavy[rows.configuration[row]])
    first = state.index[PIECES]
    last = take(state.servers, rule, rows.gpus[row], state.piece, first)
    state.index[PIECES] = last
    state.index[STARTED] += 1
    state.first_piece[row] = first
    state.pieces[row] = last - first
    state.start[row] = now
    state.alpha[row] = alpha
    state.end[row] = now + rows.iterations[row] * alpha
    push_end(state.ends, state.end[row], row)
    state.index[RUNNING] += 1
    if rules.scan == RESERVE and state.end[row] > now:
        expect(state, predicted_end(rows, state, row), rows.gpus[row])
