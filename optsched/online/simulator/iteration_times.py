"""alpha of an offer in the compiled loops: Heavy-Edge, the cost, and a table of known times.

How many servers give how many GPUs decides alpha, so the table is keyed by (configuration, servers
by size). Keys are compared whole: a hash never decides a value. A full table is emptied.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from optsched.online.data.configurations import Packed
from optsched.placement.heuristics.heavy_edge import JobGraph, grow_servers

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LARGEST_TABLE = 2**25
"""Numbers in all keys: 128 MiB."""
MAX_ENTRIES = 2**17


class TimeTable(NamedTuple):
    """Open addressing: `key[:, 0]` is the configuration or -1, the rest servers by size."""

    key: NDArray[np.int32]
    value: Floats
    filled: Ints


def empty_table(gpus_per_server: int) -> TimeTable:
    """Return a table without entries."""
    entries = MAX_ENTRIES
    while entries > 1024 and entries * (gpus_per_server + 1) > LARGEST_TABLE:
        entries //= 2
    key = np.full((entries, gpus_per_server + 1), -1, dtype=np.int32)
    return TimeTable(key, np.empty(entries), np.zeros(1, dtype=np.int64))


@register_jitable
def known_time(table: TimeTable, configuration: int, sizes: Ints) -> float:
    """Return alpha of a configuration on an offer of several servers; NaN if not known yet."""
    at = _slot_of(table, configuration, sizes)
    return table.value[at] if table.key[at, 0] >= 0 else np.nan


@register_jitable
def keep_time(table: TimeTable, packed: Packed, configuration: int, sizes: Ints) -> float:
    """Return alpha of a configuration on an offer, and keep it in the table."""
    value = _iteration_time(packed, configuration, sizes)
    if 2 * (table.filled[0] + 1) > len(table.value):
        table.key[:, 0] = -1
        table.filled[0] = 0
    at = _slot_of(table, configuration, sizes)
    table.filled[0] += 1
    table.key[at, 0] = configuration
    for size in range(1, len(sizes)):
        table.key[at, size] = sizes[size]
    table.value[at] = value
    return value


@register_jitable
def _slot_of(table: TimeTable, configuration: int, sizes: Ints) -> int:
    """Return where a key stands in the table, or the empty entry where it belongs."""
    key, entries = table.key, len(table.value)
    hashed = configuration + 1
    for size in range(1, len(sizes)):
        hashed = (hashed * 1_000_003 + sizes[size]) & 0x7FFFFFFFFF  # products stay below 2^63
    at = (hashed ^ (hashed >> 17)) & (entries - 1)
    while key[at, 0] >= 0:
        same = key[at, 0] == configuration
        for size in range(1, len(sizes)):
            same &= key[at, size] == sizes[size]
        if same:
            break
        at = (at + 1) & (entries - 1)
    return at


@register_jitable
def _iteration_time(packed: Packed, c: int, sizes: Ints) -> float:
    """Return alpha of (7) with Heavy-Edge's placement, in the arithmetic of the placement slice.

    Infinite where the offer cannot hold the replicas' slices as Heavy-Edge places them.
    """
    pieces = 0
    for size in range(1, len(sizes)):
        pieces += sizes[size]
    offer, at = np.empty(pieces, dtype=np.int64), 0
    for size in range(len(sizes) - 1, 0, -1):
        for _ in range(sizes[size]):
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
    """Add to a stage's time on a server what its neighbours on other servers cost."""
    first, time = packed.stage[c], near
    vertex = packed.first[first + c :]
    if s > 0:
        time += packed.before[first + s] * (vertex[s] - vertex[s - 1] - counts[s - 1, m])
    if s + 1 < len(counts):
        time += packed.after[first + s] * (vertex[s + 2] - vertex[s + 1] - counts[s + 1, m])
    return time
