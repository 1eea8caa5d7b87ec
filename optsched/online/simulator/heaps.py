"""Binary heaps on plain arrays, for compiled loops: each operation is O(log size). And parting."""

from __future__ import annotations

from typing import Any

from optsched.compiled_loops import njit_borrowing, njit_inlined


@njit_inlined
def push(heap: Any, size: int, value: int) -> None:
    """Add a value to a heap of integers that holds `size`."""
    at = size
    while at > 0:
        above = (at - 1) >> 1
        if heap[above] <= value:
            break
        heap[at] = heap[above]
        at = above
    heap[at] = value


@njit_inlined
def pop(heap: Any, size: int) -> int:
    """Remove and return the least value of a heap of integers that holds `size`."""
    least = heap[0]
    value = heap[size - 1]
    last = size - 1
    at = 0
    while True:
        below = 2 * at + 1
        if below >= last:
            break
        if below + 1 < last and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= value:
            break
        heap[at] = heap[below]
        at = below
    heap[at] = value
    return least


@njit_inlined
def push_keyed(keys: Any, items: Any, size: int, key: float, item: int) -> None:
    """Add an item to a heap ordered by (key, item) that holds `size`."""
    at = size
    while at > 0:
        above = (at - 1) >> 1
        if keys[above] < key or (keys[above] == key and items[above] <= item):
            break
        keys[at] = keys[above]
        items[at] = items[above]
        at = above
    keys[at] = key
    items[at] = item


@njit_inlined
def pop_keyed(keys: Any, items: Any, size: int) -> tuple[float, int]:
    """Remove and return the least (key, item) of a heap that holds `size`."""
    least_key, least_item = keys[0], items[0]
    last = size - 1
    key, item = keys[last], items[last]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= last:
            break
        right = below + 1
        if right < last and (
            keys[right] < keys[below]
            or (keys[right] == keys[below] and items[right] < items[below])
        ):
            below = right
        if key < keys[below] or (key == keys[below] and item <= items[below]):
            break
        keys[at] = keys[below]
        items[at] = items[below]
        at = below
    keys[at] = key
    items[at] = item
    return least_key, least_item


@njit_borrowing
def part_keyed(keys: Any, items: Any, others: Any, begin: int, end: int) -> int:
    """Part a list about the median of three of it: what is less by (key, item) comes first."""
    middle, last = (begin + end) // 2, end - 1
    if _is_less(keys, items, middle, begin):
        _swap(keys, items, others, middle, begin)
    if _is_less(keys, items, begin, last):
        median = middle if _is_less(keys, items, middle, last) else last
        _swap(keys, items, others, median, begin)
    at = begin
    for each in range(begin + 1, end):
        if _is_less(keys, items, each, begin):
            at += 1
            _swap(keys, items, others, at, each)
    _swap(keys, items, others, begin, at)
    return at


@njit_inlined
def _is_less(keys: Any, items: Any, one: int, other: int) -> bool:
    if keys[one] != keys[other]:
        return keys[one] < keys[other]
    return items[one] < items[other]


@njit_inlined
def _swap(keys: Any, items: Any, others: Any, one: int, other: int) -> None:
    keys[one], keys[other] = keys[other], keys[one]
    items[one], items[other] = items[other], items[one]
    others[one], others[other] = others[other], others[one]
