"""The compiled sweep behind the fragmentation metric."""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit

END, SUBMISSION, START = 0, 1, 2


@njit(cache=True)
def queue_statistics(
    time: Any,
    kind: Any,
    row: Any,
    first: Any,
    server: Any,
    taken: Any,
    servers: int,
    gpus_per_server: int,
) -> tuple[float, float]:
    """Seconds with a queue, and their integral of the share of free GPUs on partly used servers.

    A segment that starts and ends at one instant is swept end first; nothing lasts, so nothing is
    weighed in between.
    """
    used = np.zeros(servers, dtype=np.int64)
    free, partly, queue = servers * gpus_per_server, 0, 0
    queued, weighted = 0.0, 0.0
    for event in range(len(time)):
        if event > 0 and queue > 0:
            span = time[event] - time[event - 1]
            queued += span
            if free > 0:
                weighted += span * partly / free
        if kind[event] == SUBMISSION:
            queue += 1
            continue
        sign = 1 if kind[event] == START else -1
        if sign > 0:
            queue -= 1
        for piece in range(first[row[event]], first[row[event] + 1]):
            m = server[piece]
            if 0 < used[m] < gpus_per_server:
                partly -= gpus_per_server - used[m]
            used[m] += sign * taken[piece]
            free -= sign * taken[piece]
            if 0 < used[m] < gpus_per_server:
                partly += gpus_per_server - used[m]
    return queued, weighted
