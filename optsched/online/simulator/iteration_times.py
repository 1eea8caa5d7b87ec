"""Iteration time of an offer, with a hash table as cache.

alpha depends only on how many servers give how many GPUs, so the key is (configuration, servers by
number of GPUs). Hash collisions are resolved by comparing keys; a full table is cleared.
"""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from optsched.arrays import Floats, Ints
from optsched.online.data.configurations import Packed
from optsched.placement.heuristics.heavy_edge import JobGraph, grow_servers

MAX_KEY_ELEMENTS = 2**25
"""Numbers in all keys: 128 MiB."""
MAX_ENTRIES = 2**17


class TimeTable(NamedTuple):
    """Open addressing: `key[:, 0]` is the configuration or -1, `key[:, 1:]` the server counts."""

    key: NDArray[np.int32]
    value: Floats
    filled: Ints


def empty_table(gpus_per_server: int) -> TimeTable:
    entries = MAX_ENTRIES
    while entries > 1024 and entries * (gpus_per_server + 1) > MAX_KEY_ELEMENTS:
        entries //= 2
    key = np.full((entries, gpus_per_server + 1), -1, dtype=np.int32)
    return TimeTable(key, np.empty(entries), np.zeros(1, dtype=np.int64))


@register_jitable
def cached_time(table: TimeTable, configuration: int, server_counts: Ints) -> float:
    """Return alpha of a configuration on an offer of several servers; NaN if not in the table."""
    slot = _slot_of(table, configuration, server_counts)
    return table.value[slot] if table.key[slot, 0] >= 0 else np.nan


@register_jitable
def compute_and_cache_time(
    table: TimeTable, packed: Packed, configuration: int, server_counts: Ints
) -> float:
    """Return alpha of a configuration on an offer, and store it in the table."""
    value = _iteration_time(packed, configuration, server_counts)
    if 2 * (table.filled[0] + 1) > len(table.value):
        table.key[:, 0] = -1
        table.filled[0] = 0
    slot = _slot_of(table, configuration, server_counts)
    table.filled[0] += 1
    table.key[slot, 0] = configuration
    for size in range(1, len(server_counts)):
        table.key[slot, size] = server_counts[size]
    table.value[slot] = value
    return value


@register_jitable
def _slot_of(table: TimeTable, configuration: int, server_counts: Ints) -> int:
    """Return the slot of a key, or the free slot for it."""
    key, entries = table.key, len(table.value)
    hashed = configuration + 1
    for size in range(1, len(server_counts)):
        # products stay below 2^63
        hashed = (hashed * 1_000_003 + server_counts[size]) & 0x7FFFFFFFFF
    slot = (hashed ^ (hashed >> 17)) & (entries - 1)
    while key[slot, 0] >= 0:
        same = key[slot, 0] == configuration
        for size in range(1, len(server_counts)):
            same &= key[slot, size] == server_counts[size]
        if same:
            break
        slot = (slot + 1) & (entries - 1)
    return slot


@register_jitable
def _iteration_time(packed: Packed, c: int, server_counts: Ints) -> float:
    """Return alpha of (7) with Heavy-Edge's placement, in the arithmetic of the placement problem.

    Infinite if the offer cannot hold the replicas' slices as Heavy-Edge places them.
    """
    num_servers = 0
    for size in range(1, len(server_counts)):
        num_servers += server_counts[size]
    offer, server = np.empty(num_servers, dtype=np.int64), 0  # GPUs of each server, descending
    for size in range(len(server_counts) - 1, 0, -1):
        for _ in range(server_counts[size]):
            offer[server] = size
            server += 1
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
    counts = grow_servers(graph, offer, np.arange(num_servers))
    placed = 0
    for stage in range(counts.shape[0]):
        for m in range(num_servers):
            placed += counts[stage, m]
    if placed < len(graph.stage_of):
        return np.inf
    if packed.micro_batches[c] > 0:
        return _pipelined(packed, c, counts)
    return _slowest(packed, c, counts)


@register_jitable
def _slowest(packed: Packed, c: int, counts: Any) -> float:
    """Asynchronous jobs: the slowest stage on any server."""
    slowest = 0.0
    for s in range(counts.shape[0]):
        for m in range(counts.shape[1]):
            if counts[s, m] > 0:
                cell = packed.cell[c] + s * packed.width[c] + counts[s, m]
                near = packed.near[cell] + packed.all_reduce[cell]
                slowest = max(slowest, _with_neighbours(packed, c, counts, s, m, near))
    return slowest


@register_jitable
def _pipelined(packed: Packed, c: int, counts: Any) -> float:
    """Jobs with micro-batches: the pipeline's fill and drain, and the all-reduce not hidden."""
    batches = packed.micro_batches[c]
    longest, total, exposed = 0.0, 0.0, -np.inf
    for s in range(counts.shape[0]):
        work, reduce = 0.0, 0.0
        for m in range(counts.shape[1]):
            if counts[s, m] > 0:
                cell = packed.cell[c] + s * packed.width[c] + counts[s, m]
                near = packed.near[cell]
                work = max(work, _with_neighbours(packed, c, counts, s, m, near))
                reduce = max(reduce, packed.all_reduce[cell])
        longest = max(longest, work / batches)
        total += work / batches
        exposed = max(exposed, reduce - packed.hidden[packed.stage[c] + s])
    return (batches - 1) * longest + total + exposed


@register_jitable
def _with_neighbours(packed: Packed, c: int, counts: Any, s: int, m: int, near: float) -> float:
    """Add the transfer time to neighbouring stages on other servers."""
    first, time = packed.stage[c], near
    vertex = packed.first[first + c :]
    if s > 0:
        time += packed.before[first + s] * (vertex[s] - vertex[s - 1] - counts[s - 1, m])
    if s + 1 < len(counts):
        time += packed.after[first + s] * (vertex[s + 2] - vertex[s + 1] - counts[s + 1, m])
    return time
