"""Limits of a cluster as the simulators use them: windows, quotas and priorities in numbers.

Source: models/online/README.md, "Limits". Complexity: O(servers) per round of an offer while
windows are ahead.
"""

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.arrays import Floats, Ints
from optsched.online.data.configurations import Packed
from optsched.online.data.jobs import Jobs
from optsched.online.simulator.iteration_times import TimeTable, cached_time, compute_and_cache_time
from optsched.online.simulator.offers import GPU_BITS, FreeServers, count_servers, set_free

NO_QUOTA = 2**62


class Limits(NamedTuple):
    """The limits in numbers; times in seconds since the first submission.

    By row: `priority_class`, 0 for the highest priority, and the codes of `user` and `group`; by
    code their quotas, `NO_QUOTA` for none. Window i is one server's. `window_ends` are sorted,
    distinct and above 0.
    """

    priority_class: Ints
    user: Ints
    group: Ints
    user_quota: Ints
    group_quota: Ints
    window_server: Ints
    window_start: Floats
    window_end: Floats
    window_ends: Floats


class HeldGpus(NamedTuple):
    """GPUs that jobs hold, by code of their user and group."""

    by_user: Ints
    by_group: Ints


def limits_of(jobs: Jobs) -> Limits:
    """Return the limits that the jobs' cluster states, none of a kind that it does not."""
    cluster, workload, origin = jobs.cluster, jobs.workload, jobs.first_submission
    users, groups = workload.user, workload.group
    quotas, priorities = cluster.quotas, cluster.priorities
    priority_class = np.zeros(len(jobs), dtype=np.int64)
    if "priorities" in cluster.limits:
        codes = np.stack((users.codes, groups.codes), axis=1)
        distinct = np.unique(codes, axis=0, return_inverse=True)
        pairs, pair = distinct[0].tolist(), distinct[1].reshape(-1)
        priority = [priorities.of(users.values[u], groups.values[g]) for u, g in pairs]
        _, of_pair = np.unique(-np.array(priority, dtype=np.int64), return_inverse=True)
        priority_class = of_pair.reshape(-1).astype(np.int64)[pair]
    windows = [
        (server, window.start - origin, window.end - origin)
        for window in cluster.maintenance
        for server in window.indices(cluster.num_servers)
    ]
    server, start, end = np.array(windows, dtype=np.float64).reshape(-1, 3).T
    return Limits(
        priority_class=priority_class,
        user=users.codes.astype(np.int64),
        group=groups.codes.astype(np.int64),
        user_quota=np.array([quotas.users.get(n, NO_QUOTA) for n in users.values], np.int64),
        group_quota=np.array([quotas.groups.get(n, NO_QUOTA) for n in groups.values], np.int64),
        window_server=server.astype(np.int64),
        window_start=start.copy(),
        window_end=end.copy(),
        window_ends=np.unique(end[end > 0.0]),
    )


@register_jitable
def none_held(limits: Limits) -> HeldGpus:
    return HeldGpus(
        np.zeros(len(limits.user_quota), dtype=np.int64),
        np.zeros(len(limits.group_quota), dtype=np.int64),
    )


@register_jitable
def add_held(limits: Limits, held: HeldGpus, row: int, gpus: int) -> None:
    held.by_user[limits.user[row]] += gpus
    held.by_group[limits.group[row]] += gpus


@register_jitable
def is_over_quota(limits: Limits, held: HeldGpus, row: int, gpus: int) -> bool:
    user, group = limits.user[row], limits.group[row]
    if held.by_user[user] + gpus > limits.user_quota[user]:
        return True
    return held.by_group[group] + gpus > limits.group_quota[group]


@register_jitable
def next_windows(limits: Limits, until: Floats, now: float) -> float:
    """Write to `until` the next start of a window of each server, -inf inside one.

    Return the time of the next change; infinite if no window is ahead.
    """
    until[:] = np.inf
    boundary = np.inf
    for i in range(len(limits.window_server)):
        server, begin, end = limits.window_server[i], limits.window_start[i], limits.window_end[i]
        if end <= now:
            continue
        until[server] = min(until[server], begin if begin > now else -np.inf)
        boundary = min(boundary, begin if begin > now else end)
    return boundary


@register_jitable
def copy_servers(servers: FreeServers) -> FreeServers:
    return FreeServers(
        servers.free.copy(), servers.histogram.copy(), servers.lowest.copy(), servers.total.copy()
    )


@register_jitable
def keep_servers(kept: FreeServers, servers: FreeServers, until: Floats, time: float) -> int:
    """Write to `kept` the servers, free only where the next window starts at a time or later.

    Return their free GPUs.
    """
    kept.histogram[:] = 0
    kept.lowest[:] = 0
    kept.total[0] = 0
    for server in range(len(until)):
        free = servers.free[server] if until[server] >= time else 0
        kept.free[server] = free
        kept.histogram[free] += 1
        kept.total[0] += free
    return kept.total[0]


@register_jitable
def take_from(servers: FreeServers, allocations: list[int], first: int) -> None:
    """Take the allocations from an index on, which were taken from kept servers."""
    for i in range(first, len(allocations)):
        server, taken = allocations[i] >> GPU_BITS, allocations[i] % (1 << GPU_BITS)
        set_free(servers, server, servers.free[server] - taken)


@register_jitable
def offer_time(
    packed: Packed,
    rule: int,
    servers: FreeServers,
    table: TimeTable,
    server_counts: Ints,
    configuration: int,
) -> float:
    """Return alpha of a job's offer from servers with enough free GPUs; infinite without seats."""
    if count_servers(servers, rule, packed.gpus[configuration], server_counts) == 1:
        return packed.estimate[configuration]
    alpha = cached_time(table, configuration, server_counts)
    if np.isnan(alpha):
        alpha = compute_and_cache_time(table, packed, configuration, server_counts)
    return alpha


@register_jitable
def offer_time_in_windows(
    packed: Packed,
    rule: int,
    servers: FreeServers,
    kept: FreeServers,
    until: Floats,
    table: TimeTable,
    server_counts: Ints,
    configuration: int,
    now: float,
    begin: float,
    iterations: float,
    earliest_end: float,
) -> float:
    """Return alpha of a job's offer while windows are ahead; infinite if it does not fit.

    The job needs its servers until its `iterations` from `begin` on have ended, and until
    `earliest_end`. Leave in `kept` the servers that the offer is taken from: the next window of
    each starts later.
    """
    horizon = now
    for _ in range(len(until) + 1):  # each round but the last leaves out a server
        if packed.gpus[configuration] > keep_servers(kept, servers, until, horizon):
            break
        alpha = offer_time(packed, rule, kept, table, server_counts, configuration)
        if alpha == np.inf:
            break
        end = max(begin + iterations * alpha, earliest_end)
        reaches_window = False
        for server in range(len(until)):
            reaches_window |= horizon <= until[server] < end
        if not reaches_window:
            return alpha
        horizon = end
    return np.inf
