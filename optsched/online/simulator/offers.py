"""Offer rules: which free GPUs a job is offered.

Servers are taken by their number of free GPUs, ties by index; each gives all its free GPUs and the
last one what is still needed. Rule `most` is most-free-first, `least` is least-free-first,
`first-fit` goes by index alone, and `best-fit-last` is `most` with the last server chosen by best
fit. The iteration time depends only on how many servers give how many GPUs, so `count_servers`
works on a histogram and `take` chooses servers when the job starts.
Complexity: O(GPUs per server + servers taken), plus a linear search for a server by index.
Source: models/online/README.md, "Offers".
"""

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.arrays import Ints
from optsched.online.policies.by_name import OFFERS

MOST, LEAST, FIRST_FIT, BEST_FIT_LAST, ADAPTIVE = 0, 1, 2, 3, 4
RULES = dict(zip(OFFERS, (MOST, LEAST, FIRST_FIT, BEST_FIT_LAST, ADAPTIVE), strict=True))
"""Offer rules by name."""
GPU_BITS = 11
"""An allocation is `server << GPU_BITS | gpus`; a server has at most 2^10 GPUs."""


class FreeServers(NamedTuple):
    """Free GPUs by server and in `total` (1,), and by number of free GPUs how many servers have so
    many, and a lower bound on their index."""

    free: Ints
    histogram: Ints
    lowest: Ints
    total: Ints


def all_free(server_gpus: Ints) -> FreeServers:
    """Return a cluster of servers with so many GPUs, all of them free."""
    histogram = np.bincount(server_gpus).astype(np.int64)
    return FreeServers(
        free=server_gpus.copy(),
        histogram=histogram,
        lowest=np.zeros_like(histogram),
        total=np.array([server_gpus.sum()], dtype=np.int64),
    )


@register_jitable
def rule_for(rule: int, heavy: bool) -> int:
    """Return the offer rule of a job: `ADAPTIVE` is `MOST` for heavy jobs, else `LEAST`."""
    if rule != ADAPTIVE:
        return rule
    return MOST if heavy else LEAST


@register_jitable
def count_servers(servers: FreeServers, rule: int, gpus: int, server_counts: Ints) -> int:
    """Write to `server_counts` how many servers give 1, 2, ... GPUs; return their number."""
    server_counts[:] = 0
    remaining, num_servers = gpus, 0
    if rule == FIRST_FIT:
        server = 0
        while remaining > 0:
            size = min(servers.free[server], remaining)
            if size > 0:
                server_counts[size] += 1
                num_servers += 1
                remaining -= size
            server += 1
        return num_servers
    largest = len(servers.histogram) - 1
    for step in range(largest):
        size = step + 1 if rule == LEAST else largest - step
        count = servers.histogram[size]
        if count == 0:
            continue
        full = min(count, remaining // size)  # servers that give all their free GPUs
        server_counts[size] += full
        num_servers += full
        remaining -= full * size
        if remaining == 0 or count > full:  # one server has enough for the remainder
            break
    if remaining > 0:
        server_counts[remaining] += 1
        num_servers += 1
    return num_servers


@register_jitable
def take(servers: FreeServers, rule: int, gpus: int, allocations: list[int]) -> int:
    """Take the GPUs of an offer, append its allocations by server, and return their number."""
    begin = len(allocations)
    largest = len(servers.histogram) - 1
    remaining, server = gpus, -1
    size = 1 if rule == LEAST else largest
    while remaining > 0:
        if rule == FIRST_FIT:
            server += 1
            while servers.free[server] == 0:
                server += 1
        else:
            while servers.histogram[size] == 0:
                size += 1 if rule == LEAST else -1
            wanted = size
            if rule == BEST_FIT_LAST and size >= remaining:
                wanted = remaining
                while servers.histogram[wanted] == 0:
                    wanted += 1
            server = _first_server(servers, wanted)
        taken = min(servers.free[server], remaining)
        allocations.append((server << GPU_BITS) | taken)
        remaining -= taken
        set_free(servers, server, servers.free[server] - taken)
    for i in range(begin + 1, len(allocations)):  # insertion sort by server
        allocation = allocations[i]
        while i > begin and allocations[i - 1] > allocation:
            allocations[i] = allocations[i - 1]
            i -= 1
        allocations[i] = allocation
    return len(allocations) - begin


@register_jitable
def release(servers: FreeServers, allocation: int) -> None:
    server, gpus = allocation >> GPU_BITS, allocation & ((1 << GPU_BITS) - 1)
    set_free(servers, server, servers.free[server] + gpus)


@register_jitable
def _first_server(servers: FreeServers, size: int) -> int:
    """Return the first server with `size` free GPUs; there must be one."""
    server = servers.lowest[size]
    while servers.free[server] != size:
        server += 1
    servers.lowest[size] = server
    return server


@register_jitable
def set_free(servers: FreeServers, server: int, count: int) -> None:
    before = servers.free[server]
    servers.free[server] = count
    servers.total[0] += count - before
    servers.histogram[before] -= 1
    servers.histogram[count] += 1
    servers.lowest[count] = min(servers.lowest[count], server)
