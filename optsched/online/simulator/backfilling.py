"""Sorted lists of queued ranks from which any entry may leave: O(log n) by shortcuts.

Around a reservation a pass lists the buckets that fit once, then draws from them the least rank
each time; a backfilling one looks at all that fit after each start, by the bits of those somebody
waits in. An offer that was refused is known again by its number.

Source of the shortcuts: path halving in disjoint-set forests (Tarjan and van Leeuwen, 1984).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit_inlined
from optsched.online.simulator.bits import BITS, MASK, lowest
from optsched.online.simulator.iteration_cache import cached_time
from optsched.online.simulator.offers import pattern, rule_for


@njit_inlined
def list_fitting(queue: Any, free: int, behind: int) -> int:
    """List the buckets with a rank above `behind` that fit, with that rank; returns how many."""
    count = 0
    for bucket in range(len(queue.size)):
        if queue.gpus[bucket] > free:
            break  # buckets are in order of size
        if queue.waiting[bucket] == 0:
            continue
        rank = _first_behind(queue, bucket, behind)
        if rank < len(queue.row_at):
            queue.fitting[count], queue.upcoming[count] = bucket, rank
            count += 1
    return count


@njit_inlined
def next_behind(queue: Any, count: int, behind: int) -> int:
    """Where on the list the least rank above `behind` is, or -1.

    A rank is looked up again once it is passed.
    """
    best, chosen = len(queue.row_at), -1
    for at in range(count):
        if queue.upcoming[at] <= behind:
            queue.upcoming[at] = _first_behind(queue, queue.fitting[at], behind)
        if queue.upcoming[at] < best:
            best, chosen = queue.upcoming[at], at
    return chosen


@njit_inlined
def still_fitting(queue: Any, count: int, free: int) -> int:
    """How many of the list fit after a start; they are the first ones."""
    while count > 0 and queue.gpus[queue.fitting[count - 1]] > free:
        count -= 1
    return count


@njit_inlined
def next_to_backfill(
    packed: Any, rules: Any, queue: Any, state: Any, behind: int
) -> tuple[int, int]:
    """The least rank above `behind` of no more GPUs than are free, close enough if it is heavy.

    And its bucket, or -1. A bucket holds light jobs of one size or heavy jobs of one configuration,
    so that its jobs are offered the same; buckets of one size follow one another, with one offer.
    """
    best, chosen, size, pieces, offer = len(queue.row_at), -1, -1, 0, 0
    for word in range(len(queue.some)):
        left = queue.some[word]
        while left != 0:
            bucket = (word << BITS) | lowest(left)
            left &= left - 1
            if queue.gpus[bucket] > state.servers.total[0]:
                return best, chosen  # buckets are in order of size
            if _is_before(queue, bucket, behind):
                continue
            if queue.configuration[bucket] >= 0:
                if size != queue.size_of[bucket]:
                    size, rule = queue.size_of[bucket], rule_for(rules.offer, True)
                    gpus = queue.gpus[bucket]
                    pieces = pattern(state.servers, rule, gpus, state.taken, state.scratch)
                    offer = _which_offer(queue, state.taken, size)
                if queue.refused[bucket] == offer:
                    continue
                if not _suits(packed, rules, queue, state, bucket, pieces):
                    queue.refused[bucket] = offer
                    continue
            rank = _first_behind(queue, bucket, behind)
            if rank < best:
                best, chosen = rank, bucket
    return best, chosen


@njit_inlined
def _which_offer(queue: Any, taken: Any, size: int) -> int:
    """The number of an offer: another one than that of the last, if that differed."""
    last, differs = queue.offered[size], False
    for each in range(1, len(taken)):
        differs |= last[each] != taken[each]
        last[each] = taken[each]
    last[0] += differs
    return last[0]


@njit_inlined
def _suits(packed: Any, rules: Any, queue: Any, state: Any, bucket: int, pieces: int) -> bool:
    """Whether an offer is good enough for the heavy jobs of a bucket."""
    configuration = queue.configuration[bucket]
    alpha = cached_time(state.cache, packed, configuration, state.taken, pieces)
    return alpha <= rules.comm_heavy * packed.estimate[configuration]


@njit_inlined
def remember(queue: Any, bucket: int, rank: int) -> None:
    """Put a rank, larger than all before, into its bucket."""
    queue.heap[queue.begin[bucket] + queue.size[bucket]] = rank
    queue.waiting[bucket] += 1
    queue.newest[bucket] = rank
    queue.some[bucket >> BITS] |= np.int64(1) << (bucket & MASK)


@njit_inlined
def forget(queue: Any, bucket: int, rank: int) -> None:
    """Take a rank out of its bucket."""
    at = _place(queue, bucket, rank)
    queue.waiting[bucket] -= 1
    queue.skip[queue.begin[bucket] + at] = at + 1
    if queue.waiting[bucket] == 0:
        queue.some[bucket >> BITS] &= ~(np.int64(1) << (bucket & MASK))


@njit_inlined
def _is_before(queue: Any, bucket: int, rank: int) -> bool:
    """Whether nobody in a bucket has a rank above `rank`."""
    return queue.newest[bucket] <= rank


@njit_inlined
def _first_behind(queue: Any, bucket: int, rank: int) -> int:
    """The least queued rank of a bucket above `rank`, or one above every rank."""
    if _is_before(queue, bucket, rank):
        return len(queue.row_at)
    begin, size = queue.begin[bucket], queue.size[bucket]
    at = _present(queue, bucket, queue.front[bucket])
    queue.front[bucket] = at
    if at < size and queue.heap[begin + at] <= rank:
        at = _present(queue, bucket, _place(queue, bucket, rank + 1))
    if at == size:
        return len(queue.row_at)
    return queue.heap[begin + at]


@njit_inlined
def _place(queue: Any, bucket: int, rank: int) -> int:
    """Index in the bucket of the first entry, present or not, that is at least `rank`."""
    begin = queue.begin[bucket]
    low, high = 0, queue.size[bucket]
    while low < high:
        middle = (low + high) >> 1
        if queue.heap[begin + middle] < rank:
            low = middle + 1
        else:
            high = middle
    return low


@njit_inlined
def _present(queue: Any, bucket: int, at: int) -> int:
    """The first entry from `at` on that has not left, or the size."""
    begin, size = queue.begin[bucket], queue.size[bucket]
    while at < size and queue.skip[begin + at] != at:
        onward = queue.skip[begin + at]
        if onward < size:
            queue.skip[begin + at] = queue.skip[begin + onward]
        at = onward
    return at
