"""The event loop of policies that preempt jobs: las, srpt-preemptive and max-min.

At one instant: ends, arrivals, then one pass. A full pass goes through all jobs in the order of
their keys and chooses those that fit together; running jobs that are not chosen are preempted. Then
waiting jobs start, or resume, in the order of their keys if they fit. Rounds begin at events of
their own while a job waits; without rounds every event makes a full pass. On a cluster with limits
the order is by priority first, and the ends of maintenance windows are events.
Guarantee: the records follow models/online/README.md, "Preemption" and "Limits"; a naive simulator
in the tests gives the same. Complexity: O(R log R + W) per pass for R running and W waiting jobs;
while windows are ahead, O(servers) more for each job that is examined.
"""

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.arrays import Bools, Floats, Ints
from optsched.kernels import kernel
from optsched.online.data.configurations import Packed
from optsched.online.simulator.event_loop import MAX_EXACT_MULTIPLE, next_multiple
from optsched.online.simulator.iteration_times import TimeTable
from optsched.online.simulator.limits import (
    NO_QUOTA,
    Limits,
    add_held,
    copy_servers,
    is_over_quota,
    keep_servers,
    next_windows,
    none_held,
    offer_time,
    offer_time_in_windows,
    take_from,
)
from optsched.online.simulator.offers import FreeServers, release, rule_for, take
from optsched.online.simulator.queues import bisect_left

ATTAINED, REMAINING, SHARE = 0, 1, 2
ORDERS = {"attained": ATTAINED, "remaining": REMAINING, "share": SHARE}
"""Priority keys: attained GPU-seconds, predicted remaining GPU-seconds, received over fair time."""


class Rules(NamedTuple):
    """A policy and its settings; `round` is 0 for a full pass at every event."""

    order: int
    offer: int
    checkpoint: float
    round: float
    slot: float


class JobData(NamedTuple):
    """The jobs in row order: r, n, n~ and the configuration; `heavy` is by configuration."""

    submit: Floats
    iterations: Floats
    predicted: Floats
    configuration: Ints
    heavy: Bools
    limits: Limits


class JobState(NamedTuple):
    """Work done and remaining of each job, (n,) each.

    `remaining` and `predicted_remaining` (iterations) and `worked_seconds` change only when the job
    is preempted. `compute_start`, `end` and `alpha` are of its last segment, whose index in the log
    is `segment` (-1: none yet): when iterations begin, the planned end, and seconds per iteration.
    """

    remaining: Floats
    predicted_remaining: Floats
    worked_seconds: Floats
    compute_start: Floats
    end: Floats
    alpha: Floats
    key: Floats
    segment: Ints


Segment = tuple[int, float, float, float, int]
"""Row, start, end, alpha, and the end of its allocations among all allocations."""


@kernel
def simulate(
    jobs: JobData,
    packed: Packed,
    rules: Rules,
    servers: FreeServers,
    table: TimeTable,
    state: JobState,
    steps: int,
    stop: Bools,
    progress: Ints,
) -> tuple[Ints, Floats, Floats, Floats, Ints, Ints]:
    """Run all jobs for at most so many event times; return the columns of `Segment`, allocations.

    Another thread may set ``stop[0]``, which ends the run, and read the number of ended jobs from
    ``progress[0]``.
    """
    # local names avoid numba's reference counting of all arrays of a tuple at each call
    gpus_of, estimates, configuration_of = packed.gpus, packed.estimate, jobs.configuration
    remaining, predicted_remaining = state.remaining, state.predicted_remaining
    worked_seconds, key_of, compute_start = state.worked_seconds, state.key, state.compute_start
    end_of, alphas, segment_of = state.end, state.alpha, state.segment
    n, total_gpus, limits = len(jobs.submit), servers.total[0], jobs.limits
    priority_class, window_ends = limits.priority_class, limits.window_ends
    has_quotas = (limits.user_quota < NO_QUOTA).any() or (limits.group_quota < NO_QUOTA).any()
    server_counts = np.zeros(len(servers.histogram), dtype=np.int64)
    waiting = [(0, 0.0, 0) for _ in range(0)]  # (priority class, key, row), sorted
    running = [0 for _ in range(0)]
    segments = [(0, 0.0, 0.0, 0.0, 0) for _ in range(0)]  # in order of their start
    allocations = [0 for _ in range(0)]
    all_free, kept = copy_servers(servers), copy_servers(servers)
    held, chosen = none_held(limits), none_held(limits)
    until = np.full(len(servers.free), np.inf)  # next window by server; -inf inside a window
    boundary = -np.inf  # first time at which `until` changes
    arrived, ended, ends_passed, now = 0, 0, 0, -np.inf
    may_fit = False  # whether a waiting job needs no more than the free GPUs outside windows

    for _ in range(steps):
        progress[0] = ended
        if stop[0]:
            break
        # the next event: an end, an arrival, or the end of a window or a round while a job waits
        event = np.inf
        for row in running:
            event = min(event, end_of[row])
        if arrived < n:
            event = min(event, jobs.submit[arrived])
        if len(waiting) > 0 and ends_passed < len(window_ends):
            event = min(event, window_ends[ends_passed])
        if rules.round > 0.0 and len(waiting) > 0:
            next_round = _next_boundary(now, rules.round)
            if len(running) == 0 and not may_fit:  # nothing changes until another kind of event
                next_round = max(next_round, _last_boundary(event, rules.round))
            event = min(event, next_round)
        if event == np.inf:
            break
        now = next_multiple(event, rules.slot) if rules.slot > 0.0 else event
        while ends_passed < len(window_ends) and window_ends[ends_passed] <= now:
            ends_passed += 1
        if now >= boundary:
            boundary = next_windows(limits, until, now)
        windows_ahead = boundary < np.inf
        offered = kept if windows_ahead else servers
        # ends
        num_running = 0
        for row in running:
            if end_of[row] <= now:
                _release(servers, segments, allocations, segment_of[row])
                add_held(limits, held, row, -gpus_of[configuration_of[row]])
                ended += 1
            else:
                running[num_running] = row
                num_running += 1
        del running[num_running:]
        # arrivals
        while arrived < n and jobs.submit[arrived] <= now:
            row = arrived
            arrived += 1
            remaining[row], predicted_remaining[row] = jobs.iterations[row], jobs.predicted[row]
            c = configuration_of[row]
            key = _key(rules.order, gpus_of[c], estimates[c], 0.0, predicted_remaining[row], 0.0)
            entry = (priority_class[row], key, row)
            waiting.insert(bisect_left(waiting, entry), entry)
        if len(waiting) == 0:
            continue
        # full pass: preempt running jobs that are not chosen in key order
        if rules.round == 0.0 or _is_boundary(now, rules):
            if rules.order == SHARE:
                rows = [*running, *[row for _, _, row in waiting]]
                limit = _max_min_level([gpus_of[configuration_of[row]] for row in rows], total_gpus)
                for row in rows:
                    ran = max(0.0, now - compute_start[row]) if end_of[row] < np.inf else 0.0
                    share = min(1.0, limit / gpus_of[configuration_of[row]])
                    fair_seconds = share * (now - jobs.submit[row])
                    received_seconds = worked_seconds[row] + ran
                    key_of[row] = received_seconds / fair_seconds if received_seconds > 0.0 else 0.0
                waiting = [(level, key_of[row], row) for level, _, row in waiting]
                waiting.sort()
            # keys of the running jobs
            order = [(0, 0.0, 0) for _ in range(0)]
            for row in running:
                c, ran = configuration_of[row], max(0.0, now - compute_start[row])
                left, worked = (
                    predicted_remaining[row] - ran / alphas[row],
                    worked_seconds[row] + ran,
                )
                gpus, estimate = gpus_of[c], estimates[c]
                key = _key(rules.order, gpus, estimate, worked, max(0.0, left), key_of[row])
                i = len(order)  # insertion sort: mostly the order of the last pass
                entry = (priority_class[row], key, row)
                order.append(entry)
                while i > 0 and entry < order[i - 1]:
                    order[i] = order[i - 1]
                    i -= 1
                order[i] = entry
            # merge with the waiting jobs: choose jobs that fit together
            room, i, num_running = total_gpus, 0, 0
            if windows_ahead:
                room = keep_servers(kept, all_free, until, now)
            if has_quotas:
                chosen = none_held(limits)  # numba loses `chosen.by_user[:] = 0` here
            preempted = [(0, 0.0, 0) for _ in range(0)]
            for entry in order:
                while room > 0 and i < len(waiting) and waiting[i] < entry:
                    row = waiting[i][2]
                    gpus = gpus_of[configuration_of[row]]
                    fits = gpus <= room and not is_over_quota(limits, chosen, row, gpus)
                    if fits and windows_ahead:
                        c = configuration_of[row]
                        begin = now if segment_of[row] < 0 else now + rules.checkpoint
                        alpha = offer_time_in_windows(
                            packed, rule_for(rules.offer, jobs.heavy[c]), all_free, kept, until,
                            table, server_counts, c, now, begin, remaining[row], now,
                        )  # fmt: skip
                        fits = alpha < np.inf
                    if fits:
                        room -= gpus
                        add_held(limits, chosen, row, gpus)
                    i += 1
                row = entry[2]
                gpus = gpus_of[configuration_of[row]]
                if gpus <= room and not (has_quotas and is_over_quota(limits, chosen, row, gpus)):
                    room -= gpus
                    if has_quotas:
                        add_held(limits, chosen, row, gpus)
                    running[num_running] = row
                    num_running += 1
                else:
                    preempted.append(entry)
            del running[num_running:]
            # end the segments of the preempted jobs
            for entry in preempted:
                row = entry[2]
                ran = max(0.0, now - compute_start[row])
                iterations_done = ran / alphas[row]
                remaining[row] = max(0.0, remaining[row] - iterations_done)
                predicted_remaining[row] = max(0.0, predicted_remaining[row] - iterations_done)
                worked_seconds[row] += ran
                end_of[row] = np.inf
                _, start, _, alpha, last = segments[segment_of[row]]
                segments[segment_of[row]] = (row, start, now, alpha, last)
                _release(servers, segments, allocations, segment_of[row])
                add_held(limits, held, row, -gpus_of[configuration_of[row]])
                waiting.insert(bisect_left(waiting, entry), entry)
        # fill: start or resume waiting jobs in the order of their keys
        num_waiting, i, may_fit = 0, 0, False
        open_gpus = servers.total[0]  # free GPUs outside windows
        if windows_ahead:
            open_gpus = keep_servers(kept, servers, until, now)
        while i < len(waiting) and open_gpus > 0:
            row = waiting[i][2]
            c = configuration_of[row]
            gpus, rule, alpha = gpus_of[c], rule_for(rules.offer, jobs.heavy[c]), np.inf
            begin = now if segment_of[row] < 0 else now + rules.checkpoint
            if gpus <= open_gpus and not is_over_quota(limits, held, row, gpus):
                if windows_ahead:
                    alpha = offer_time_in_windows(
                        packed, rule, servers, kept, until, table, server_counts, c, now, begin,
                        remaining[row], now,
                    )  # fmt: skip
                else:
                    alpha = offer_time(packed, rule, servers, table, server_counts, c)
            if alpha < np.inf:
                first = len(allocations)
                take(offered, rule, gpus, allocations)
                if windows_ahead:
                    take_from(servers, allocations, first)
                add_held(limits, held, row, gpus)
                open_gpus -= gpus
                compute_start[row], alphas[row] = begin, alpha
                end_of[row] = begin + remaining[row] * alpha
                segment_of[row] = len(segments)
                segments.append((row, now, end_of[row], alpha, len(allocations)))
                running.append(row)
            else:
                may_fit |= gpus <= open_gpus
                waiting[num_waiting] = waiting[i]
                num_waiting += 1
            i += 1
        del waiting[num_waiting:i]
    return (
        np.array([segment[0] for segment in segments]),
        np.array([segment[1] for segment in segments]),
        np.array([segment[2] for segment in segments]),
        np.array([segment[3] for segment in segments]),
        np.array([segment[4] for segment in segments]),
        np.array(allocations),
    )


@register_jitable
def _release(
    servers: FreeServers, segments: list[Segment], allocations: list[int], segment: int
) -> None:
    first = segments[segment - 1][4] if segment > 0 else 0
    for i in range(first, segments[segment][4]):
        release(servers, allocations[i])


@register_jitable
def _key(order: int, gpus: int, estimate: float, worked: float, left: float, key: float) -> float:
    """Return a job's key from its worked seconds and predicted remaining iterations.

    Between rounds of `SHARE` the previous `key` stays.
    """
    if order == ATTAINED:
        return gpus * worked
    if order == REMAINING:
        return (gpus * left) * estimate
    return key


@register_jitable
def _max_min_level(gpus: list[int], total_gpus: int) -> float:
    """Return the level of max-min fair shares min(g, level) of all GPUs."""
    gpus.sort()
    left = total_gpus
    for i in range(len(gpus)):
        if gpus[i] * (len(gpus) - i) > left:
            return left / (len(gpus) - i)
        left -= gpus[i]
    return np.inf


@register_jitable
def _next_boundary(now: float, length: float) -> float:
    """Return when the next round begins; infinite if a round is below the float resolution."""
    count = np.floor(now / length)
    while count * length <= now:
        if count >= MAX_EXACT_MULTIPLE:
            return np.inf
        count += 1.0
    return count * length


@register_jitable
def _is_boundary(now: float, rules: Rules) -> bool:
    """Return whether a round begins now, or began since the last multiple of the slot."""
    if rules.slot == 0.0:
        return np.floor(now / rules.round + 0.5) * rules.round == now
    return next_multiple(_last_boundary(now, rules.round), rules.slot) == now


@register_jitable
def _last_boundary(now: float, length: float) -> float:
    """Return when the last round until now began."""
    count = np.floor(now / length)
    if count * length > now:
        count -= 1.0
    elif (count + 1.0) * length <= now:
        count += 1.0
    return count * length
