"""Putting lists in order by (key, item): into bins by key, and then within each.

Complexity: O(k) for k keys that are spread evenly, O(k log k) whatever they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit_borrowing, njit_inlined
from optsched.online.simulator.heaps import pop_keyed, push_keyed

MANY = 16
"""Entries that are put in order one by one; more go into bins of their own, or through a heap."""
FEW = 64
"""A list of so many is all kept in order; of more, those that come first."""
LONG = 128
"""Of these are kept in order at most so many, or twice as many as there were at first."""
NARROW = 1e-300
"""A width that is not divided into bins."""


@njit_inlined
def insert_keyed(keys: Any, items: Any, at: int, key: float, item: int) -> None:
    """Put an item where it belongs beside the first so many of a list in order by (key, item)."""
    while at > 0 and (keys[at - 1] > key or (keys[at - 1] == key and items[at - 1] > item)):
        keys[at], items[at] = keys[at - 1], items[at - 1]
        at -= 1
    keys[at], items[at] = key, item


@njit_borrowing
def sort_keyed(keys: Any, items: Any, spare_keys: Any, spare_items: Any, ends: Any) -> None:
    """Put a list in order by (key, item)."""
    count = len(keys)
    if count <= MANY:
        _sort_few(keys, items)
        return
    low, high = np.inf, -np.inf
    for each in range(count):
        low, high = min(low, keys[each]), max(high, keys[each])
        spare_keys[each], spare_items[each] = keys[each], items[each]
    spread(spare_keys[:count], spare_items[:count], (keys, items), ends, low, high)
    begin = 0
    for each in range(count):
        end = ends[each]
        if end - begin > MANY:
            _sort_by_heap(keys[begin:end], items[begin:end], spare_keys, spare_items)
        elif end - begin > 1:
            _sort_few(keys[begin:end], items[begin:end])
        begin = end


@njit_borrowing
def spread(keys: Any, items: Any, to: Any, ends: Any, low: float, high: float) -> None:
    """Put k entries into k bins of the same width between two keys."""
    to_keys, to_items = to
    count, width = len(keys), high - low
    scale = count / width if width > NARROW else 0.0
    for each in range(count + 1):
        ends[each] = 0
    for key in keys:
        ends[_bin(key - low, scale, count) + 1] += 1
    for each in range(count):
        ends[each + 1] += ends[each]
    for each in range(count):
        place = _bin(keys[each] - low, scale, count)
        at = ends[place]
        ends[place] = at + 1
        to_keys[at], to_items[at] = keys[each], items[each]


@njit_inlined
def _bin(above: float, scale: float, count: int) -> int:
    """The bin of a key so far above the least, which never falls as the key grows."""
    return int(min(above * scale, count - 1.0))


@njit_inlined
def _sort_few(keys: Any, items: Any) -> None:
    for each in range(1, len(keys)):
        insert_keyed(keys, items, each, keys[each], items[each])


@njit_inlined
def _sort_by_heap(keys: Any, items: Any, spare_keys: Any, spare_items: Any) -> None:
    """Put a list in order."""
    for each in range(len(keys)):
        push_keyed(spare_keys, spare_items, each, keys[each], items[each])
    for each in range(len(keys)):
        keys[each], items[each] = pop_keyed(spare_keys, spare_items, len(keys) - each)
