"""The event loop of clusters with maintenance windows, quotas or priorities, and of fair-share.

At one instant: ends of jobs, completions of the virtual machine, arrivals, then one pass. The ends
of windows are events too. A pass goes through the waiting jobs in the order of the queue; the rules
are those of `event_loop`, without its tables: there, jobs of one size fit or do not fit together,
which quotas and windows rule out.
Guarantee: the records follow models/online/README.md, "Limits". Complexity: a pass takes
O(waiting jobs + servers per offer while windows are ahead), of fair-share O(users) per start.
"""

import heapq
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.arrays import Bools, Floats, Ints
from optsched.kernels import kernel
from optsched.online.data.configurations import Packed
from optsched.online.simulator import event_loop
from optsched.online.simulator.event_loop import (
    BACKFILL,
    EASY,
    HEAD_ONLY,
    SCAN,
    SENTINEL,
    bisect_left,
    complete_virtually,
    expected_length,
    is_accepted,
    next_multiple,
    start_job,
    submit_virtually,
)
from optsched.online.simulator.iteration_times import TimeTable
from optsched.online.simulator.limits import (
    HeldGpus,
    Limits,
    add_held,
    copy_servers,
    is_over_quota,
    keep_servers,
    next_windows,
    none_held,
    offered_time,
    take_from,
)
from optsched.online.simulator.offers import GPU_BITS, FreeServers, release, rule_for

FAIR = 4  # fair-share: the user with the least GPU-seconds is next


class LimitedJobs(NamedTuple):
    jobs: event_loop.JobData
    limits: Limits


@kernel
def simulate(
    limited: LimitedJobs,
    packed: Packed,
    rules: event_loop.Rules,
    servers: FreeServers,
    table: TimeTable,
    runs: event_loop.Runs,
    steps: int,
    stop: Bools,
    progress: Ints,
) -> Ints:
    """Run all jobs for at most so many event times; return all allocations.

    Another thread may set ``stop[0]``, which ends the run, and read the number of started jobs
    from ``progress[0]``.
    """
    jobs, limits = limited
    submit, configuration_of, heavy, start = jobs.submit, jobs.configuration, jobs.heavy, runs.start
    gpus_of, estimates, window_ends = packed.gpus, packed.estimate, limits.window_ends
    n, num_users = len(submit), len(limits.user_quota)
    server_counts = np.zeros(len(servers.histogram), dtype=np.int64)
    held = none_held(limits)
    usage = np.zeros(num_users)  # fair-share: GPU-seconds until the last event
    end_heap = [(np.inf, SENTINEL)]  # running jobs by their end
    expected_ends = [(np.inf, SENTINEL)]  # EASY: running jobs, sorted by their expected end
    virtual_queue, clock = [(np.inf, SENTINEL)], 0.0  # virtual machine: jobs by remaining work
    waiting = [(0, 0) for _ in range(0)]  # (rank, row), sorted
    user_heaps = [[(SENTINEL, SENTINEL)] for _ in range(num_users)]  # fair-share: the same by user
    newly_queued = [0 for _ in range(0)]
    allocations = [0 for _ in range(0)]
    until = np.full(len(servers.free), np.inf)  # next window by server; -inf inside a window
    boundary = -np.inf  # first time at which `until` changes
    arrived, queued, joined, started, ended, ends_passed = 0, 0, 0, 0, 0, 0
    now, window = 0.0, np.inf

    for _ in range(steps):
        progress[0] = started
        if stop[0]:
            break
        # the next event: an end, an arrival, a virtual completion, the end of the head's delay
        # window, or of a maintenance window while there are jobs
        last, now = now, min(end_heap[0][0], window)
        if arrived < n:
            now = min(now, submit[arrived])
        if rules.virtual:
            now = min(now, clock + virtual_queue[0][0])
        if now == np.inf and queued == 0:
            break
        if ends_passed < len(window_ends):
            now = min(now, window_ends[ends_passed])
        if now == np.inf:
            break
        if rules.slot > 0.0:
            now = next_multiple(now, rules.slot)
        for end in window_ends[ends_passed:]:
            if end > now:
                break
            ends_passed += 1
        if now >= boundary:
            boundary = next_windows(limits, until, now)
        windows_ahead = boundary < np.inf
        scratch = servers if not windows_ahead else copy_servers(servers)
        if rules.overtaking == FAIR:
            for user in range(num_users):
                usage[user] += held.by_user[user] * (now - last)

        # ends
        while end_heap[0][0] <= now:
            row = heapq.heappop(end_heap)[1]
            ended += 1
            first = runs.first_allocation[row]
            for i in range(first, first + runs.num_allocations[row]):
                release(servers, allocations[i])
            add_held(limits, held, row, -gpus_of[configuration_of[row]])
            if rules.overtaking == EASY:
                length = expected_length(jobs.walltime, row, jobs.predicted[row] * runs.alpha[row])
                expected_ends.pop(bisect_left(expected_ends, (start[row] + length, row)))
        # completions of the virtual machine, then arrivals
        if rules.virtual:
            clock = complete_virtually(virtual_queue, clock, now, newly_queued)
        while arrived < n and submit[arrived] <= now:
            row, work = arrived, jobs.work[arrived]
            arrived += 1
            if not rules.virtual or work == 0.0:
                newly_queued.append(row)
            else:
                clock = submit_virtually(virtual_queue, clock, now, work, row)
        for row in newly_queued:
            rank = jobs.rank[row] if len(jobs.rank) > 0 else joined
            place = (limits.priority_class[row] * n + rank, row)
            joined, queued = joined + 1, queued + 1
            if rules.overtaking == FAIR:
                heapq.heappush(user_heaps[limits.user[row]], place)
            else:
                waiting.insert(bisect_left(waiting, place), place)
        newly_queued.clear()

        open_gpus = servers.total[0]  # free GPUs outside windows
        if windows_ahead:
            open_gpus = keep_servers(scratch, servers, until, now)
        # one pass: the turns are those of fair-share, or the queue's
        window, head, queued_before = np.inf, -1, queued
        passed_over = np.zeros(num_users, dtype=np.bool_)
        reserved_start, spare_gpus = np.inf, 0
        for turn in range(queued + num_users):
            if rules.overtaking == FAIR:
                user = _next_user(
                    user_heaps, passed_over, usage, held, limits, n, gpus_of, configuration_of,
                    open_gpus,
                )  # fmt: skip
                if user < 0:
                    break
                row = user_heaps[user][0][1]
            else:
                if turn == queued_before or open_gpus == 0:
                    break
                row = waiting[turn][1]
            configuration = configuration_of[row]
            gpus, estimate = gpus_of[configuration], estimates[configuration]
            if is_over_quota(limits, held, row, gpus):
                continue
            alpha, rule = np.inf, rule_for(rules.offer, heavy[configuration])
            if gpus <= open_gpus:
                alpha = offered_time(
                    packed, rule, servers, scratch, until, windows_ahead, table, server_counts,
                    configuration, now, now, jobs.iterations[row],
                    now + _longer(jobs.walltime, row, 0.0),
                )  # fmt: skip
            starts, is_empty = alpha < np.inf, started == ended
            late = False
            if starts and not is_empty and rules.delays:
                if rules.overtaking == SCAN or (head >= 0 and heavy[configuration]):
                    starts = alpha <= rules.max_ratio * estimate
                elif heavy[configuration]:
                    delay = rules.tau * jobs.work[row]
                    starts = is_accepted(rules, runs, row, alpha, estimate, delay, now)
            if starts and head >= 0 and rules.overtaking == EASY:
                length = expected_length(jobs.walltime, row, jobs.predicted[row] * alpha)
                late = now + length > reserved_start
                starts = not late or gpus <= spare_gpus
            if not starts:
                if rules.overtaking == FAIR:
                    passed_over[limits.user[row]] = True
                elif rules.overtaking != SCAN and head < 0:
                    head = row
                    if rules.delays and runs.window[row] > now:
                        window = runs.window[row]
                    if rules.overtaking == HEAD_ONLY:
                        break
                    if rules.overtaking == BACKFILL:
                        if np.isnan(runs.kappa[row]) or now >= runs.window[row]:
                            break
                    else:
                        length = _longer(jobs.walltime, row, jobs.iterations[row] * estimate)
                        if _usable_gpus(limits, servers.free, now, length) >= gpus:
                            break
                        reserved_start, spare_gpus = _reservation(
                            limits, servers, runs, allocations, expected_ends, gpus, length, now
                        )
                continue
            # the start
            first = len(allocations)
            end = now + jobs.iterations[row] * alpha
            start_job(runs, scratch, row, gpus, rule, alpha, now, end, allocations, end_heap)
            open_gpus -= gpus
            if windows_ahead:
                take_from(servers, allocations, first)
            add_held(limits, held, row, gpus)
            started, queued = started + 1, queued - 1
            spare_gpus -= gpus if late else 0
            if rules.overtaking == FAIR:
                heapq.heappop(user_heaps[limits.user[row]])
            elif rules.overtaking == EASY:
                length = expected_length(jobs.walltime, row, jobs.predicted[row] * alpha)
                entry = (now + length, row)
                expected_ends.insert(bisect_left(expected_ends, entry), entry)
        if rules.overtaking != FAIR and queued < queued_before:
            _remove_started(waiting, start)
    return np.array(allocations)


@register_jitable
def _remove_started(waiting: list[tuple[int, int]], start: Floats) -> None:
    kept = 0
    for place in waiting:
        if np.isnan(start[place[1]]):
            waiting[kept] = place
            kept += 1
    for _ in range(len(waiting) - kept):
        waiting.pop()


@register_jitable
def _next_user(
    user_heaps: list[list[tuple[int, int]]],
    passed_over: Bools,
    usage: Floats,
    held: HeldGpus,
    limits: Limits,
    n: int,
    gpus_of: Ints,
    configuration_of: Ints,
    free: int,
) -> int:
    """Return the user whose first job is next, or -1.

    Users whose first job is over quota or exceeds the free GPUs are passed over: within a pass
    both stay so.
    """
    best, best_key = -1, (SENTINEL, 0.0, 0, 0)
    for user in range(len(usage)):
        rank, row = user_heaps[user][0]
        if row == SENTINEL or passed_over[user]:
            continue
        gpus = gpus_of[configuration_of[row]]
        if gpus > free or is_over_quota(limits, held, row, gpus):
            passed_over[user] = True
            continue
        key = (rank // n, usage[user], held.by_user[user], row)
        if best < 0 or key < best_key:
            best, best_key = user, key
    return best


@register_jitable
def _longer(walltime: Floats, row: int, length: float) -> float:
    """Return the longer of a length and the user's estimate, if there is one."""
    if len(walltime) == 0 or np.isnan(walltime[row]):
        return length
    return max(length, walltime[row])


@register_jitable
def _usable_gpus(limits: Limits, free: Ints, time: float, length: float) -> int:
    """Return the free GPUs of servers without a window in [time, time + length)."""
    usable = free.copy()
    for i in range(len(limits.window_server)):
        if limits.window_start[i] < time + length and limits.window_end[i] > time:
            usable[limits.window_server[i]] = 0
    return usable.sum()


@register_jitable
def _reservation(
    limits: Limits,
    servers: FreeServers,
    runs: event_loop.Runs,
    allocations: list[int],
    expected_ends: list[tuple[float, int]],
    gpus: int,
    length: float,
    now: float,
) -> tuple[float, int]:
    """Return when the head's GPUs are usable if all jobs end as expected, and the GPUs to spare."""
    free, total, window_ends = servers.free.copy(), servers.total[0], limits.window_ends
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
            first = runs.first_allocation[row]
            for allocation in allocations[first : first + runs.num_allocations[row]]:
                free[allocation >> GPU_BITS] += allocation % (1 << GPU_BITS)
                total += allocation % (1 << GPU_BITS)
        is_last = min(max(expected_ends[i][0], now), window_end) > time
        if is_last and total >= gpus:
            usable = _usable_gpus(limits, free, time, length)
            if usable >= gpus:
                return time, usable - gpus
    return np.inf, 0
