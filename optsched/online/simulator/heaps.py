"""Binary heaps on plain arrays, for compiled loops. Each operation is O(log size)."""

from __future__ import annotations

from typing import Any

from optsched.compiled_loops import njit_inlined


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
    """Add an item to a heap ordered by (key, item) that holds `size`.

    Parameters
    ----------
    keys, items : (N,) float and int
        The heap; edited.
    size : int
        Entries before.
    key, item : float and int
        The new one.
    """
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
