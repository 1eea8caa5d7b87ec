"""Offer rules: which free GPUs a job is offered.

Servers are taken by their number of free GPUs, ties by index; each gives all its free GPUs and the
last one what is still needed. `most` takes the largest numbers first, `least` the smallest,
`first-fit` goes by index alone, and `best-fit-last` is `most` with the final piece on the smallest
server that holds it. The iteration time depends only on how many servers give how many GPUs, so
`offer_sizes` works on a histogram and `take` names servers when the job starts.
Complexity: O(GPUs a server + pieces), and a walk over servers to find one by index.
Source: models/online/README.md, "Offers".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from optsched.online.policies.by_name import OFFERS

Ints = NDArray[np.int64]
MOST, LEAST, FIRST_FIT, BEST_FIT_LAST, ADAPTIVE = 0, 1, 2, 3, 4
RULES = dict(zip(OFFERS, (MOST, LEAST, FIRST_FIT, BEST_FIT_LAST, ADAPTIVE), strict=True))
"""Offer rules by name."""
GPU_BITS = 11
"""A piece of an offer is `server << GPU_BITS | gpus`; a server has at most 2^10 GPUs."""


class FreeServers(NamedTuple):
    """The free GPUs of a cluster.

    Attributes
    ----------
    free : (servers,) int
        Free GPUs of each server.
    histogram : (GPUs a server + 1,) int
        Servers by number of free GPUs.
    lowest : (GPUs a server + 1,) int
        No server with so many free GPUs has a smaller index.
    total : (1,) int
        Free GPUs of all servers.
    """

    free: Ints
    histogram: Ints
    lowest: Ints
    total: Ints


def all_free(servers: int, gpus_per_server: int) -> FreeServers:
    """Return a cluster with every GPU free."""
    histogram = np.zeros(gpus_per_server + 1, dtype=np.int64)
    histogram[gpus_per_server] = servers
    return FreeServers(
        free=np.full(servers, gpus_per_server, dtype=np.int64),
        histogram=histogram,
        lowest=np.zeros(gpus_per_server + 1, dtype=np.int64),
        total=np.array([servers * gpus_per_server], dtype=np.int64),
    )


@register_jitable
def rule_for(rule: int, heavy: bool) -> int:
    """Return the offer rule of a job: `ADAPTIVE` is most for heavy jobs and least for others."""
    if rule != ADAPTIVE:
        return rule
    return MOST if heavy else LEAST


@register_jitable
def offer_sizes(servers: FreeServers, rule: int, gpus: int, sizes: Ints) -> int:
    """Write to `sizes` how many servers give 1, 2, ... GPUs; return the number of servers."""
    sizes[:] = 0
    left, pieces = gpus, 0
    if rule == FIRST_FIT:
        server = 0
        while left > 0:
            given = min(servers.free[server], left)
            if given > 0:
                sizes[given] += 1
                pieces += 1
                left -= given
            server += 1
        return pieces
    largest = len(servers.histogram) - 1
    for step in range(largest):
        size = step + 1 if rule == LEAST else largest - step
        count = servers.histogram[size]
        if count == 0:
            continue
        whole = min(count, left // size)
        sizes[size] += whole
        pieces += whole
        left -= whole * size
        if left == 0 or count > whole:  # the rest goes to one server that has at least as much
            break
    if left > 0:
        sizes[left] += 1
        pieces += 1
    return pieces


@register_jitable
def take(servers: FreeServers, rule: int, gpus: int, pieces: list[int]) -> int:
    """Take the GPUs of an offer, append its pieces by server, and return their number."""
    begin = len(pieces)
    largest = len(servers.histogram) - 1
    left, server = gpus, -1
    size = 1 if rule == LEAST else largest
    while left > 0:
        if rule == FIRST_FIT:
            server += 1
            while servers.free[server] == 0:
                server += 1
        else:
            while servers.histogram[size] == 0:
                size += 1 if rule == LEAST else -1
            wanted = size
            if rule == BEST_FIT_LAST and size >= left:
                wanted = left
                while servers.histogram[wanted] == 0:
                    wanted += 1
            server = _first_server(servers, wanted)
        given = min(servers.free[server], left)
        pieces.append((server << GPU_BITS) | given)
        left -= given
        _set_free(servers, server, servers.free[server] - given)
    for at in range(begin + 1, len(pieces)):  # insertion sort by server
        piece = pieces[at]
        while at > begin and pieces[at - 1] > piece:
            pieces[at] = pieces[at - 1]
            at -= 1
        pieces[at] = piece
    return len(pieces) - begin


@register_jitable
def give_back(servers: FreeServers, piece: int) -> None:
    """Free the GPUs of a piece."""
    server, gpus = piece >> GPU_BITS, piece & ((1 << GPU_BITS) - 1)
    _set_free(servers, server, servers.free[server] + gpus)


@register_jitable
def _first_server(servers: FreeServers, size: int) -> int:
    """Return the first server with so many free GPUs; there is one."""
    server = servers.lowest[size]
    while servers.free[server] != size:
        server += 1
    servers.lowest[size] = server
    return server


@register_jitable
def _set_free(servers: FreeServers, server: int, count: int) -> None:
    before = servers.free[server]
    servers.free[server] = count
    servers.total[0] += count - before
    servers.histogram[before] -= 1
    servers.histogram[count] += 1
    servers.lowest[count] = min(servers.lowest[count], server)
