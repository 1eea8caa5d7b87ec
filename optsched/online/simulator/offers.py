"""Offer rules: which free GPUs a job gets.

Servers are taken by free count, ties by index, each drained whole and the last one truncated:
most-available first, least-available first, or by index (first-fit). best-fit-last drains like
most-available but gives the final piece to the smallest server that holds it. What a job's
iteration takes depends only on how many GPUs each server gives, so `pattern` works on the
histogram of free counts and `take` names servers only when a job starts. O(gpus a server + pieces)
for all but first-fit, which looks servers up by index. Source: models/online/README.md, "Offers".
"""

from __future__ import annotations

from typing import Any

from optsched.compiled_loops import njit_borrowing, njit_inlined
from optsched.online.policies.by_name import OFFERS
from optsched.online.records import GPUS, SERVER
from optsched.online.simulator.server_sets import add, discard, least

MOST, LEAST, FIRST_FIT, BEST_FIT_LAST, ADAPTIVE = 0, 1, 2, 3, 4
RULES = dict(zip(OFFERS, (MOST, LEAST, FIRST_FIT, BEST_FIT_LAST, ADAPTIVE), strict=True))
"""Offer rules by name."""


@njit_inlined
def rule_for(rule: int, heavy: bool) -> int:
    """The rule a job is offered by: `ADAPTIVE` resolved."""
    if rule != ADAPTIVE:
        return rule
    return MOST if heavy else LEAST


@njit_inlined
def pattern(servers: Any, rule: int, gpus: int, taken: Any, scratch: Any) -> int:
    """Count the pieces of each size that a rule gives; nothing is taken."""
    taken[:] = 0
    if rule == FIRST_FIT:
        return _first_fit_pattern(servers, gpus, taken, scratch)
    histogram = servers.histogram
    largest = len(histogram) - 1
    left, pieces = gpus, 0
    for step in range(largest):
        size = step + 1 if rule == LEAST else largest - step
        there = histogram[size]
        if there == 0:
            continue
        whole = min(there, left // size)
        taken[size] += whole
        pieces += whole
        left -= whole * size
        if left == 0 or there > whole:  # the next server, or a smaller one that holds it, ends it
            break
    if left > 0:
        taken[left] += 1
        pieces += 1
    return pieces


@njit_inlined
def take(servers: Any, rule: int, gpus: int, piece: Any, at: int) -> int:
    """Take the GPUs and write the pieces from `at` on; returns where they end."""
    largest = len(servers.histogram) - 1
    left = gpus
    size = 1 if rule == LEAST else largest
    while left > 0:
        if rule == FIRST_FIT:
            row = len(servers.histogram)
        else:
            while servers.histogram[size] == 0:
                size += 1 if rule == LEAST else -1
            row = size
            if rule == BEST_FIT_LAST and size >= left:
                row = left
                while servers.histogram[row] == 0:
                    row += 1
        server = least(servers, row)
        given = min(servers.free[server], left)
        piece[at] = (server << SERVER) | given
        at += 1
        left -= given
        set_free(servers, server, servers.free[server] - given)
    return at


@njit_inlined
def give_back(servers: Any, word: int) -> None:
    """Free the GPUs of a piece."""
    server = word >> SERVER
    set_free(servers, server, servers.free[server] + (word & GPUS))


@njit_inlined
def set_free(servers: Any, server: int, count: int) -> None:
    """Change a server's free GPUs."""
    before = servers.free[server]
    servers.free[server] = count
    servers.total[0] += count - before
    servers.histogram[before] -= 1
    servers.histogram[count] += 1
    discard(servers, before, server)
    add(servers, count, server)
    if servers.by_index and count == 0:
        discard(servers, len(servers.histogram), server)
    elif servers.by_index and before == 0:
        add(servers, len(servers.histogram), server)


@njit_borrowing
def _first_fit_pattern(servers: Any, gpus: int, taken: Any, scratch: Any) -> int:
    left, pieces, any_free = gpus, 0, len(servers.histogram)
    while left > 0:
        server = least(servers, any_free)
        discard(servers, any_free, server)
        scratch[pieces] = server
        given = min(servers.free[server], left)
        taken[given] += 1
        pieces += 1
        left -= given
    for piece in range(pieces):
        add(servers, any_free, scratch[piece])
    return pieces
