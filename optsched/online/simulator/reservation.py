"""EASY's reservation of the head, from when the running jobs are expected to end.

Source: models/online/README.md, "Policies of other simulators" and "Limits". Complexity:
O(running jobs + their servers); with maintenance windows O(servers + windows) per expected end.
"""

import numpy as np
from numba.extending import register_jitable

from optsched.arrays import Floats, Ints
from optsched.online.simulator.limits import Limits
from optsched.online.simulator.offers import GPU_BITS, FreeServers


@register_jitable
def expected_length(walltime: Floats, row: int, predicted: float) -> float:
    """Return the user's estimate, or the predicted length if there is none."""
    if len(walltime) == 0 or np.isnan(walltime[row]):
        return predicted
    return walltime[row]


@register_jitable
def longer(walltime: Floats, row: int, length: float) -> float:
    """Return the longer of a length and the user's estimate, if there is one."""
    return max(length, expected_length(walltime, row, length))


@register_jitable
def usable_gpus(limits: Limits, servers: FreeServers, time: float, length: float) -> int:
    """Return the free GPUs of servers without a window in [time, time + length)."""
    if len(limits.window_server) == 0:
        return servers.total[0]
    return _usable(limits, servers.free, time, length)


@register_jitable
def _usable(limits: Limits, free: Ints, time: float, length: float) -> int:
    usable = free.copy()
    for i in range(len(limits.window_server)):
        if limits.window_start[i] < time + length and limits.window_end[i] > time:
            usable[limits.window_server[i]] = 0
    return usable.sum()


@register_jitable
def reservation(
    limits: Limits,
    servers: FreeServers,
    first_allocation: Ints,
    num_allocations: Ints,
    allocations: list[int],
    gpus_of: Ints,
    configuration_of: Ints,
    expected_ends: list[tuple[float, int]],
    gpus: int,
    length: float,
    now: float,
) -> tuple[float, int]:
    """Return when the head's GPUs are usable if all jobs end as expected, and the GPUs to spare."""
    total, window_ends = servers.total[0], limits.window_ends
    has_windows = len(limits.window_server) > 0
    free = servers.free.copy() if has_windows else servers.free
    i, w = 0, np.searchsorted(window_ends, now, side="right")
    window_end = window_ends[w] if w < len(window_ends) else np.inf
    for _ in range(len(expected_ends) + len(window_ends)):
        time = min(max(expected_ends[i][0], now), window_end)
        if time == np.inf:
            break
        if time == window_end:
            w += 1
            window_end = window_ends[w] if w < len(window_ends) else np.inf
        else:
            row = expected_ends[i][1]
            i += 1
            total += gpus_of[configuration_of[row]]
            first = first_allocation[row]
            last = first + num_allocations[row] if has_windows else first
            for k in range(first, last):
                free[allocations[k] >> GPU_BITS] += allocations[k] % (1 << GPU_BITS)
        is_last = min(max(expected_ends[i][0], now), window_end) > time
        if is_last and total >= gpus:
            usable = _usable(limits, free, time, length) if has_windows else total
            if usable >= gpus:
                return time, usable - gpus
    return np.inf, 0
