"""Free GPUs by server; sets of servers whose least is at hand: bits, under words that say where.

Row by row of `bits`; a word of level l + 1 has a bit for each word of level l that is not empty.
O(levels), of which there are log_32(servers).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from optsched.compiled_loops import njit_borrowing, njit_inlined
from optsched.online.simulator.bits import BITS, MASK, lowest

Ints = NDArray[np.int64]


class FreeServers(NamedTuple):
    """Free GPUs by server.

    Row c of `bits` is the set of the servers with c free GPUs; the last row, kept where `by_index`,
    of those with any.
    """

    free: Any
    total: Any
    histogram: Any
    bits: Any
    level: Any
    by_index: bool


def all_free(servers: int, gpus_per_server: int, by_index: bool) -> FreeServers:
    """A cluster with every GPU free."""
    level = _levels(servers)
    made = FreeServers(
        free=np.full(servers, gpus_per_server, dtype=np.int64),
        total=np.array([servers * gpus_per_server], dtype=np.int64),
        histogram=np.zeros(gpus_per_server + 1, dtype=np.int64),
        bits=np.zeros((gpus_per_server + 2, level[-1]), dtype=np.int64),
        level=level,
        by_index=by_index,
    )
    made.histogram[gpus_per_server] = servers
    made.bits[gpus_per_server : gpus_per_server + 1 + by_index] = _everything(servers, level)
    return made


@njit_inlined
def add(servers: Any, row: int, server: int) -> None:
    """Put a server into a row's set."""
    bits, level, at = servers.bits, servers.level, np.int64(server)  # 1 << 31 is no int32
    for each in range(len(level) - 1):
        bits[row, level[each] + (at >> BITS)] |= 1 << (at & MASK)
        at >>= BITS


@njit_inlined
def discard(servers: Any, row: int, server: int) -> None:
    """Take a server out of a row's set."""
    bits, level, at = servers.bits, servers.level, np.int64(server)  # 1 << 31 is no int32
    emptied = np.int64(1)
    for each in range(len(level) - 1):
        word = level[each] + (at >> BITS)
        left = bits[row, word] & ~(emptied << (at & MASK))
        bits[row, word] = left
        emptied = np.int64(left == 0)
        at >>= BITS


@njit_borrowing
def see_free(servers: Any) -> None:
    """Make everything of the free GPUs by server. O(servers (1 + GPUs a server / 32))."""
    bits, histogram, total = servers.bits, servers.histogram, 0
    for count in range(len(histogram)):
        histogram[count] = 0
    for row in range(len(bits)):
        for word in range(bits.shape[1]):
            bits[row, word] = 0
    for server in range(len(servers.free)):
        count = servers.free[server]
        total += count
        histogram[count] += 1
        add(servers, count, server)
        if servers.by_index and count > 0:
            add(servers, len(histogram), server)
    servers.total[0] = total


@njit_inlined
def least(servers: Any, row: int) -> int:
    """The least server of a row's set, which is not empty."""
    bits, level, at = servers.bits, servers.level, 0
    for each in range(len(level) - 2, -1, -1):
        at = (at << BITS) | lowest(bits[row, level[each] + at])
    return at


def _levels(servers: int) -> Ints:
    """Where the words of each level begin in a row, and where the last one ends."""
    begin, words = [0], servers
    while words > 1 or len(begin) == 1:
        words = (words + MASK) >> BITS
        begin.append(begin[-1] + words)
    return np.array(begin, dtype=np.int64)


def _everything(servers: int, level: Ints) -> Ints:
    """The row that holds all servers."""
    row, members = np.zeros(level[-1], dtype=np.int64), servers
    for begin, end in pairwise(level):
        row[begin:end] = (1 << MASK + 1) - 1
        row[end - 1] = (1 << members - ((end - begin - 1) << BITS)) - 1
        members = end - begin
    return row
