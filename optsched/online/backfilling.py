"""Sorted lists of queued ranks from which any entry may leave: O(log n) by shortcuts.

Source of the shortcuts: path halving in disjoint-set forests (Tarjan and van Leeuwen, 1984).
"""

from __future__ import annotations

from typing import Any

from numba import njit


@njit(cache=True)
def first_behind(queue: Any, bucket: int, rank: int) -> int:
    """The least queued rank of a bucket above `rank`, or -1."""
    at = _present(queue, bucket, _place(queue, bucket, rank + 1))
    if at == queue.size[bucket]:
        return -1
    return queue.heap[queue.begin[bucket] + at]


@njit(cache=True)
def forget(queue: Any, bucket: int, rank: int) -> None:
    """Take a rank out of its bucket."""
    at = _place(queue, bucket, rank)
    queue.skip[queue.begin[bucket] + at] = at + 1


@njit(cache=True)
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


@njit(cache=True)
def _present(queue: Any, bucket: int, at: int) -> int:
    """The first entry from `at` on that has not left, or the size."""
    begin, size = queue.begin[bucket], queue.size[bucket]
    while at < size and queue.skip[begin + at] != at:
        onward = queue.skip[begin + at]
        if onward < size:
            queue.skip[begin + at] = queue.skip[begin + onward]
        at = onward
    return at
