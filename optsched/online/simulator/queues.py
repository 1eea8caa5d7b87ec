"""Waiting jobs in buckets, and which bucket's first job a pass examines next.

A bucket has jobs that need equally many GPUs: all jobs while none may overtake the head, with
fair-share those of a user. Its jobs are sorted by place: priority, the policy's key, row.
Complexity: O(log jobs) per job that joins or leaves, O(nonempty buckets) per choice.
"""

import heapq
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.arrays import Bools, Floats, Ints
from optsched.online.simulator.limits import HeldGpus, Limits, is_over_quota

SENTINEL = 2**62
"""Larger than every place and row, so that a heap is never empty."""

Place = tuple[int, int]
"""Place in the queue, and row."""


class Buckets(NamedTuple):
    """By bucket its jobs, its first place and a lower bound on their lengths; `nonempty` are the
    buckets with jobs, ascending."""

    heaps: list[list[Place]]
    first: Ints
    least_length: Floats
    nonempty: list[int]


@register_jitable
def push(buckets: Buckets, bucket: int, place: Place, least_length: float) -> None:
    if buckets.first[bucket] == SENTINEL:
        buckets.nonempty.insert(bisect_left(buckets.nonempty, bucket), bucket)
    heapq.heappush(buckets.heaps[bucket], place)
    buckets.first[bucket] = min(buckets.first[bucket], place[0])
    buckets.least_length[bucket] = min(buckets.least_length[bucket], least_length)


@register_jitable
def pop(buckets: Buckets, bucket: int) -> Place:
    """Remove and return the first job of a bucket."""
    place = heapq.heappop(buckets.heaps[bucket])
    buckets.first[bucket] = buckets.heaps[bucket][0][0]
    if buckets.first[bucket] == SENTINEL:
        buckets.least_length[bucket] = np.inf
        buckets.nonempty.pop(bisect_left(buckets.nonempty, bucket))
    return place


@register_jitable
def first_bucket(buckets: Buckets) -> int:
    """Return the bucket of the first job of the queue, or -1."""
    best, place = -1, SENTINEL
    for bucket in buckets.nonempty:
        if buckets.first[bucket] < place:
            best, place = bucket, buckets.first[bucket]
    return best


@register_jitable
def next_user(
    buckets: Buckets,
    passed_over: Bools,
    usage: Floats,
    held: HeldGpus,
    limits: Limits,
    gpus_of: Ints,
    configuration_of: Ints,
    free: int,
) -> int:
    """Return the user whose first job is next, or -1.

    Users whose first job is over quota or exceeds the free GPUs are passed over: within a pass
    both stay so.
    """
    best, best_key = -1, (SENTINEL, 0.0, 0, 0)
    for user in buckets.nonempty:
        if passed_over[user]:
            continue
        row = buckets.heaps[user][0][1]
        gpus = gpus_of[configuration_of[row]]
        if gpus > free or is_over_quota(limits, held, row, gpus):
            passed_over[user] = True
            continue
        key = (limits.priority_class[row], usage[user], held.by_user[user], row)
        if best < 0 or key < best_key:
            best, best_key = user, key
    return best


@register_jitable
def bisect_left(entries: Any, entry: Any) -> int:
    """Return the first index in a sorted list at which an entry is, or could be inserted."""
    low, high = 0, len(entries)
    while low < high:
        middle = (low + high) // 2
        if entries[middle] < entry:
            low = middle + 1
        else:
            high = middle
    return low
