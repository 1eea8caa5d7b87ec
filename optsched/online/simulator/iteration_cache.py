"""alpha of an offer in the compiled loop: Heavy-Edge, the cost, and a table of both.

The offered counts alone decide alpha, so the table is keyed by (configuration, pieces by size).
Keys are compared whole: a hash never decides a value. A full table is emptied.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from optsched.compiled_loops import njit_borrowing, njit_owning
from optsched.placement.heuristics._heavy_edge_kernel import JobGraph, grow_servers

LARGEST_TABLE = 2**25
MOST_ENTRIES = 2**17


class IterationCache(NamedTuple):
    """Open-addressing table; `key[:, 0]` is the configuration or -1, the rest pieces by size."""

    key: Any
    value: Any
    filled: Any


def empty_cache(gpus_per_server: int) -> IterationCache:
    """A table of at most 2^17 entries and 128 MiB."""
    entries = MOST_ENTRIES
    while entries > 1024 and entries * (gpus_per_server + 1) > LARGEST_TABLE:
        entries //= 2
    key = np.full((entries, gpus_per_server + 1), -1, dtype=np.int32)
    return IterationCache(key, np.empty(entries), np.zeros(1, dtype=np.int64))


@njit_borrowing
def cached_time(cache: Any, packed: Any, configuration: int, taken: Any, pieces: int) -> float:
    """alpha in seconds of a configuration on an offer of `pieces` pieces, counted by size."""
    if pieces == 1:  # all on one server: alpha~ by definition
        return packed.estimate[configuration]
    entries = len(cache.value)
    at = _hash(configuration, taken) & (entries - 1)
    while cache.key[at, 0] >= 0:
        if _is_key(cache.key[at], configuration, taken):
            return cache.value[at]
        at = (at + 1) & (entries - 1)
    value = iteration_time(packed, configuration, taken, pieces)
    if 2 * (cache.filled[0] + 1) > entries:
        cache.key[:, 0] = -1
        cache.filled[0] = 0
        at = _hash(configuration, taken) & (entries - 1)
    cache.filled[0] += 1
    cache.key[at, 0] = configuration
    for size in range(1, len(taken)):
        cache.key[at, size] = taken[size]
    cache.value[at] = value
    return value


@njit_owning
def iteration_time(packed: Any, c: int, taken: Any, pieces: int) -> float:
    """alpha of (7) with Heavy-Edge's placement; the same arithmetic as the placement slice."""
    offer = np.empty(pieces, dtype=np.int64)
    at = 0
    for size in range(len(taken) - 1, 0, -1):
        for _ in range(taken[size]):
            offer[at] = size
            at += 1
    v, s, e = packed.vertex, packed.stage, packed.edge
    graph = JobGraph(
        packed.stage_of[v[c] : v[c + 1]],
        packed.first[s[c] + c : s[c + 1] + c + 1],
        packed.pair[s[c] : s[c + 1]],
        packed.start[v[c] + c : v[c + 1] + c + 1],
        packed.neighbour[e[c] : e[c + 1]],
        packed.weight[e[c] : e[c + 1]],
        np.ones(s[c + 1] - s[c], dtype=np.int64),
        np.zeros(s[c + 1] - s[c]),
    )
    return _slowest(packed, c, grow_servers(graph, offer, np.arange(pieces)))


@njit_borrowing
def _slowest(packed: Any, c: int, counts: Any) -> float:
    first, width, cell = packed.stage[c], packed.width[c], packed.cell[c]
    vertex = packed.first[first + c :]
    stages, servers = counts.shape
    slowest = 0.0
    for s in range(stages):
        for m in range(servers):
            count = counts[s, m]
            if count == 0:
                continue
            previous = counts[s - 1, m] if s > 0 else 0
            following = counts[s + 1, m] if s + 1 < stages else 0
            time = packed.inside[first + s] + packed.all_reduce[cell + s * width + count]
            if s > 0:
                time += packed.before[first + s] * (vertex[s] - vertex[s - 1] - previous)
            if s + 1 < stages:
                time += packed.after[first + s] * (vertex[s + 2] - vertex[s + 1] - following)
            slowest = max(slowest, time)
    return slowest


@njit_borrowing
def _is_key(key: Any, configuration: int, taken: Any) -> bool:
    if key[0] != configuration:
        return False
    for size in range(1, len(taken)):  # noqa: SIM110 - compiled
        if key[size] != taken[size]:
            return False
    return True


@njit_borrowing
def _hash(configuration: int, taken: Any) -> Any:
    mixed = np.uint64(configuration + 1) * np.uint64(0x9E3779B97F4A7C15)
    for size in range(1, len(taken)):
        mixed = (mixed ^ np.uint64(taken[size])) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
    return np.int64(mixed >> np.uint64(20))
