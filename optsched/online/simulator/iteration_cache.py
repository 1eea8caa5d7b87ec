"""alpha of an offer in the compiled loop: Heavy-Edge, the cost, and a table of both.

The offered counts alone decide alpha, so the table is keyed by (configuration, pieces by size).
Keys are compared whole: a hash never decides a value. A full table is emptied.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from optsched.compiled_loops import njit_borrowing, njit_inlined, njit_owning
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


@njit_inlined
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
    return _worked_out(cache, packed, configuration, taken, pieces)


@njit_borrowing
def _worked_out(cache: Any, packed: Any, configuration: int, taken: Any, pieces: int) -> float:
    """What `cached_time` returns for an offer that the table lacks."""
    value = iteration_time(packed, configuration, taken, pieces)
    entries = len(cache.value)
    if 2 * (cache.filled[0] + 1) > entries:
        cache.key[:, 0] = -1
        cache.filled[0] = 0
    at = _hash(configuration, taken) & (entries - 1)
    while cache.key[at, 0] >= 0:
        at = (at + 1) & (entries - 1)
    cache.filled[0] += 1
    cache.key[at, 0] = configuration
    for size in range(1, len(taken)):
        cache.key[at, size] = taken[size]
    cache.value[at] = value
    return value


@njit_owning
def iteration_time(packed: Any, c: int, taken: Any, pieces: int) -> float:
    """alpha of (7) with Heavy-Edge's placement; the same arithmetic as the placement slice.

    Infinite where the offer cannot hold the replicas' slices as Heavy-Edge seats them.
    """
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
        packed.replica[s[c] : s[c + 1]],
        packed.experts[s[c] : s[c + 1]],
    )
    counts = grow_servers(graph, offer, np.arange(pieces))
    if counts.sum() < len(graph.stage_of):
        return np.inf
    if packed.micro_batches[c] > 0:
        return _pipelined(packed, c, counts)
    return _slowest(packed, c, counts)


@njit_borrowing
def _slowest(packed: Any, c: int, counts: Any) -> float:
    stages, servers = counts.shape
    slowest = 0.0
    for s in range(stages):
        for m in range(servers):
            if counts[s, m] > 0:
                cell = packed.cell[c] + s * packed.width[c] + counts[s, m]
                near = packed.near[cell] + packed.all_reduce[cell]
                slowest = max(slowest, _beside_neighbours(packed, c, counts, (s, m), near))
    return slowest


@njit_borrowing
def _pipelined(packed: Any, c: int, counts: Any) -> float:
    stages, servers = counts.shape
    batches = packed.micro_batches[c]
    longest, total, exposed = 0.0, 0.0, -np.inf
    for s in range(stages):
        work, reduce = 0.0, 0.0
        for m in range(servers):
            if counts[s, m] > 0:
                cell = packed.cell[c] + s * packed.width[c] + counts[s, m]
                near = packed.near[cell]
                work = max(work, _beside_neighbours(packed, c, counts, (s, m), near))
                reduce = max(reduce, packed.all_reduce[cell])
        longest = max(longest, work / batches)
        total += work / batches
        exposed = max(exposed, reduce - packed.hidden[packed.stage[c] + s])
    return (batches - 1) * longest + total + exposed


@njit_borrowing
def _beside_neighbours(
    packed: Any, c: int, counts: Any, place: tuple[int, int], near: float
) -> float:
    """Seconds of a stage on a server, with what its neighbours elsewhere cost."""
    (s, m), first, time = place, packed.stage[c], near
    vertex = packed.first[first + c :]
    if s > 0:
        time += packed.before[first + s] * (vertex[s] - vertex[s - 1] - counts[s - 1, m])
    if s + 1 < len(counts):
        time += packed.after[first + s] * (vertex[s + 2] - vertex[s + 1] - counts[s + 1, m])
    return time


@njit_inlined
def _is_key(key: Any, configuration: int, taken: Any) -> bool:
    if key[0] != configuration:
        return False
    for size in range(1, len(taken)):  # noqa: SIM110 - compiled
        if key[size] != taken[size]:
            return False
    return True


@njit_inlined
def _hash(configuration: int, taken: Any) -> Any:
    factor = power = np.uint64(0x9E3779B97F4A7C15)
    mixed = np.uint64(configuration + 1) * np.uint64(0xBF58476D1CE4E5B9)
    for size in range(1, len(taken)):
        mixed += np.uint64(taken[size]) * power
        power *= factor
    mixed ^= mixed >> np.uint64(29)
    return np.int64(mixed * factor >> np.uint64(20))
