"""The event loop of policies that do not preempt jobs: a-srpt, Algorithm 1, and its baselines.

At one instant: ends of jobs, completions of the virtual machine, arrivals, then one scheduling
pass. The end of the head's delay window is an event too, and so are the ends of maintenance
windows. With slots an event acts at the next multiple of the slot. The comments name the lines of
Algorithm 1.
Guarantee: the records follow models/online/README.md, including tie-breaking and limits; a naive
simulator in the tests gives the same. Complexity: O(log n) per event, O(nonempty buckets) per job
that a pass examines, and the cost of an offer. Jobs behind the head are examined one by one with
EASY, quotas and windows, otherwise by bucket.
"""

import heapq
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.arrays import Bools, Floats, Ints
from optsched.kernels import kernel
from optsched.online.data.configurations import Packed
from optsched.online.simulator.iteration_times import TimeTable, cached_time, compute_and_cache_time
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
from optsched.online.simulator.offers import FreeServers, count_servers, release, rule_for, take
from optsched.online.simulator.queues import (
    SENTINEL,
    Buckets,
    bisect_left,
    first_bucket,
    next_user,
    pop,
    push,
)
from optsched.online.simulator.reservation import expected_length, longer, reservation, usable_gpus

HEAD_ONLY = 0  # no job overtakes the head of the queue
SCAN = 1  # every waiting job that fits may start: there is no head
BACKFILL = 2  # any job that fits may start while the head waits in its delay window
EASY = 3  # jobs that do not delay the head's reservation may start
FAIR = 4  # fair-share: the user with the least GPU-seconds is next; there is no head
ACCEPT_IMPROVEMENT, ACCEPT_GOOD_WITHIN_WINDOW, ACCEPT_GOOD = 0, 1, 2
HOLDS = {
    "none": ACCEPT_IMPROVEMENT,
    "window": ACCEPT_GOOD_WITHIN_WINDOW,
    "inf": ACCEPT_GOOD,
}
"""Acceptance rule of a delayed job: an offer better than the first one; alpha <= comm_heavy alpha~
within the window; the same without a window."""
IMPROVEMENT_RTOL = 1e-9
"""Smaller differences of alpha are rounding: a better offer has alpha < kappa (1 - 1e-9), a good
one alpha <= max(comm_heavy, 1 + 1e-9) alpha~; else a job might refuse the best of all offers."""
MAX_EXACT_MULTIPLE = 2.0**53
"""Larger multiples of a slot or a round are not exact in float64."""


class Rules(NamedTuple):
    """A policy and its settings; see `optsched.online.policies.by_name`.

    An offer with alpha <= max_ratio alpha~ is good enough, and each offer if all `gpus` of the
    cluster are free: on unequal servers a job might otherwise wait forever.
    """

    virtual: bool
    overtaking: int
    delays: bool
    hold: int
    offer: int
    tau: float
    max_ratio: float
    slot: float
    gpus: int


class JobData(NamedTuple):
    """The jobs in row order, and properties of their configurations.

    `work` is L, seconds of the virtual machine; `walltime` the user's estimate or NaN;
    `least_length` a lower bound on the expected length; `rank` the place in the order of the queue,
    or empty for the order of queueing. Rows beyond those of `submit` run already, with GPUs from
    `allocations`, and stay until the loop ends.

    `bucket` and `heavy` are by configuration; a heavy one has alpha^max / alpha~ >= comm_heavy. By
    bucket, `bucket_gpus` is g, ascending, and `bucket_configuration` that of its jobs if they are
    accepted or refused together, else -1.
    """

    submit: Floats
    iterations: Floats
    predicted: Floats
    work: Floats
    walltime: Floats
    least_length: Floats
    configuration: Ints
    rank: Ints
    bucket: Ints
    bucket_gpus: Ints
    bucket_configuration: Ints
    heavy: Bools
    allocations: Ints
    limits: Limits


class Runs(NamedTuple):
    """Starts, ends and allocations of the jobs, (n,) each; start is NaN until a job starts.

    A job has `num_allocations` allocations, from index `first_allocation` on. `kappa` and `window`
    are the iteration time of a delayed job's first offer and the end of its window.
    """

    start: Floats
    end: Floats
    alpha: Floats
    first_allocation: Ints
    num_allocations: Ints
    kappa: Floats
    window: Floats


@kernel
def simulate(
    jobs: JobData,
    packed: Packed,
    rules: Rules,
    servers: FreeServers,
    table: TimeTable,
    runs: Runs,
    steps: int,
    stop: Bools,
    progress: Ints,
) -> Ints:
    """Run all jobs for at most so many event times; return all allocations.

    Another thread may set ``stop[0]``, which ends the run, and read the number of started jobs
    from ``progress[0]``.
    """
    # local names avoid numba's reference counting of all arrays of a tuple at each call
    submit, configuration_of, work_of = jobs.submit, jobs.configuration, jobs.work
    heavy, bucket_of, bucket_gpus = jobs.heavy, jobs.bucket, jobs.bucket_gpus
    bucket_configuration, least_length = jobs.bucket_configuration, jobs.least_length
    gpus_of, estimates, start = packed.gpus, packed.estimate, runs.start
    limits, window_ends = jobs.limits, jobs.limits.window_ends
    n, num_users, is_fair = len(submit), len(limits.user_quota), rules.overtaking == FAIR
    has_quotas = (limits.user_quota < NO_QUOTA).any() or (limits.group_quota < NO_QUOTA).any()
    has_head = rules.overtaking != SCAN and not is_fair
    server_counts = np.zeros(len(servers.histogram), dtype=np.int64)
    held = none_held(limits)
    usage = np.zeros(num_users)  # fair-share: GPU-seconds until the last event
    end_heap = [(np.inf, SENTINEL)]  # running jobs by their end
    expected_ends = [(np.inf, SENTINEL)]  # EASY: running jobs, sorted by their expected end
    virtual_queue, clock = [(np.inf, SENTINEL)], 0.0  # virtual machine: jobs by remaining work
    num_buckets = num_users if is_fair else len(bucket_gpus)
    buckets = Buckets(
        [[(SENTINEL, SENTINEL)] for _ in range(num_buckets)],
        np.full(num_buckets, SENTINEL),
        np.full(num_buckets, np.inf),
        [0 for _ in range(0)],
    )
    tested_at = np.full(num_buckets, -1)  # starts and ends until the last test of a bucket's offer
    is_acceptable = np.ones(num_buckets, dtype=np.bool_)
    newly_queued = [0 for _ in range(0)]  # jobs that join the queue at this instant
    passed_over = [(0, 0, 0) for _ in range(0)]  # in this pass: place, row and bucket
    allocations = list(jobs.allocations)
    skipped_users = np.zeros(num_users if is_fair else 0, dtype=np.bool_)
    kept = copy_servers(servers)
    until = np.full(len(servers.free), np.inf)  # next window by server; -inf inside a window
    boundary = -np.inf  # first time at which `until` changes
    arrived, queued, joined, started, ended, ends_passed = 0, 0, 0, 0, 0, 0
    now, window = 0.0, np.inf
    for row in range(n, len(start)):  # jobs that run already
        add_held(limits, held, row, gpus_of[configuration_of[row]])
        if rules.overtaking == EASY:
            length = expected_length(jobs.walltime, row, jobs.predicted[row] * runs.alpha[row])
            entry = (start[row] + length, row)
            expected_ends.insert(bisect_left(expected_ends, entry), entry)

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
        if ends_passed < len(window_ends) and (now < np.inf or queued > 0):
            now = min(now, window_ends[ends_passed])
        if now == np.inf:
            break
        if rules.slot > 0.0:
            now = next_multiple(now, rules.slot)
        while ends_passed < len(window_ends) and window_ends[ends_passed] <= now:
            ends_passed += 1
        if now >= boundary:
            boundary = next_windows(limits, until, now)
        windows_ahead = boundary < np.inf
        if is_fair:
            for user in range(num_users):
                usage[user] += held.by_user[user] * (now - last)

        # ends
        while end_heap[0][0] <= now:
            row = heapq.heappop(end_heap)[1]
            ended += 1
            first = runs.first_allocation[row]
            for i in range(first, first + runs.num_allocations[row]):
                release(servers, allocations[i])
            if has_quotas or is_fair:
                add_held(limits, held, row, -gpus_of[configuration_of[row]])
            if rules.overtaking == EASY:
                length = expected_length(jobs.walltime, row, jobs.predicted[row] * runs.alpha[row])
                expected_ends.pop(bisect_left(expected_ends, (start[row] + length, row)))
        # line 2: completions of the virtual machine
        if rules.virtual:
            clock = complete_virtually(virtual_queue, clock, now, newly_queued)
        # arrivals, which preempt the virtual machine's job if they have less work
        while arrived < n and submit[arrived] <= now:
            row, work = arrived, work_of[arrived]
            arrived += 1
            if not rules.virtual or work == 0.0:
                newly_queued.append(row)
                continue
            clock = submit_virtually(virtual_queue, clock, now, work, row)
        for row in newly_queued:
            rank = jobs.rank[row] if len(jobs.rank) > 0 else joined
            bucket = limits.user[row] if is_fair else bucket_of[configuration_of[row]]
            place = limits.priority_class[row] * n + rank
            push(buckets, bucket, (place, row), least_length[row])
            joined, queued = joined + 1, queued + 1
        newly_queued.clear()

        # lines 3-25: one pass over the queue
        open_gpus = servers.total[0]  # free GPUs outside maintenance windows
        if windows_ahead:
            open_gpus = keep_servers(kept, servers, until, now)
        window, head, last_place = np.inf, -1, -1
        reserved_start, spare_gpus = np.inf, 0
        skipped_users[:] = False
        while queued > 0 and open_gpus > 0:
            if is_fair:
                bucket = next_user(
                    buckets, skipped_users, usage, held, limits, gpus_of, configuration_of,
                    open_gpus,
                )  # fmt: skip
            elif has_head and head < 0:
                bucket = first_bucket(buckets)  # line 4
            else:
                bucket = _fitting_bucket(
                    packed, rules, bucket_gpus, bucket_configuration, heavy, servers, table,
                    server_counts, buckets, tested_at, is_acceptable, passed_over, open_gpus,
                    started + ended, last_place, now, reserved_start, spare_gpus,
                )  # fmt: skip
            if bucket < 0:
                break
            last_place, row = buckets.heaps[bucket][0]
            configuration = configuration_of[row]
            gpus, rule = gpus_of[configuration], rule_for(rules.offer, heavy[configuration])
            estimate, alpha = estimates[configuration], np.inf
            over_quota = has_quotas and is_over_quota(limits, held, row, gpus)
            if gpus <= open_gpus and not over_quota:  # lines 5, 9-11 and 22
                if windows_ahead:
                    alpha = offer_time_in_windows(
                        packed, rule, servers, kept, until, table, server_counts, configuration,
                        now, now, jobs.iterations[row], now + longer(jobs.walltime, row, 0.0),
                    )  # fmt: skip
                else:
                    alpha = offer_time(packed, rule, servers, table, server_counts, configuration)
            starts, late = alpha < np.inf, False
            if starts and rules.delays and servers.total[0] < rules.gpus:
                if head < 0 and has_head and heavy[configuration]:  # line 8
                    delay = rules.tau * work_of[row]
                    starts = is_accepted(rules, runs, row, alpha, estimate, delay, now)
                else:
                    starts = _is_acceptable(rules, heavy[configuration], alpha, estimate)
            if starts and head >= 0 and rules.overtaking == EASY:
                length = expected_length(jobs.walltime, row, jobs.predicted[row] * alpha)
                late = now + length > reserved_start
                starts = not late or gpus <= spare_gpus
            if starts:  # lines 7, 13, 19, 20 and 23
                pop(buckets, bucket)
                first = len(allocations)
                end = now + jobs.iterations[row] * alpha
                if windows_ahead:
                    take(kept, rule, gpus, allocations)
                    take_from(servers, allocations, first)
                else:
                    take(servers, rule, gpus, allocations)
                runs.start[row], runs.end[row], runs.alpha[row] = now, end, alpha
                runs.first_allocation[row] = first
                runs.num_allocations[row] = len(allocations) - first
                heapq.heappush(end_heap, (end, row))
                open_gpus -= gpus
                started, queued = started + 1, queued - 1
                if has_quotas or is_fair:
                    add_held(limits, held, row, gpus)
                if rules.overtaking == EASY:
                    spare_gpus -= gpus if late else 0
                    length = expected_length(jobs.walltime, row, jobs.predicted[row] * alpha)
                    entry = (now + length, row)
                    expected_ends.insert(bisect_left(expected_ends, entry), entry)
                continue
            if is_fair:
                skipped_users[bucket] = True
                continue
            if has_head and head < 0 and not over_quota:
                head = row
                if rules.delays and runs.window[row] > now:
                    window = runs.window[row]
                # which jobs may overtake the head
                if rules.overtaking == HEAD_ONLY:
                    break
                if rules.overtaking == BACKFILL:  # while it waits for a better offer
                    if np.isnan(runs.kappa[row]) or now >= runs.window[row]:
                        break
                else:
                    # a head that fits by count but not by slices has no reservation
                    length = longer(jobs.walltime, row, jobs.iterations[row] * estimate)
                    if queued == 1 or usable_gpus(limits, servers, now, length) >= gpus:
                        break
                    reserved_start, spare_gpus = reservation(
                        limits, servers, runs.first_allocation, runs.num_allocations, allocations,
                        gpus_of, configuration_of, expected_ends, gpus, length, now,
                    )  # fmt: skip
            pop(buckets, bucket)
            passed_over.append((last_place, row, bucket))
        for place, row, bucket in passed_over:
            push(buckets, bucket, (place, row), least_length[row])
        passed_over.clear()
    return np.array(allocations)


@register_jitable
def complete_virtually(
    virtual_queue: list[tuple[float, int]], clock: float, now: float, completed: list[int]
) -> float:
    """Complete the virtual machine's jobs until now; return when its queue was last exact."""
    while clock + virtual_queue[0][0] <= now:
        remaining, row = heapq.heappop(virtual_queue)
        clock += remaining
        completed.append(row)
    return clock


@register_jitable
def submit_virtually(
    virtual_queue: list[tuple[float, int]], clock: float, now: float, work: float, row: int
) -> float:
    """Submit a job to the virtual machine; return when its queue was last exact, which is now."""
    if len(virtual_queue) > 1:
        remaining, current = virtual_queue[0]
        heapq.heapreplace(virtual_queue, (max(0.0, remaining - (now - clock)), current))
    heapq.heappush(virtual_queue, (work, row))
    return now


@register_jitable
def next_multiple(time: float, slot: float) -> float:
    """Return the first multiple of the slot from a time on.

    Idempotent: next_multiple(k * slot) == k * slot in float64. Returns `time` if the slot is below
    the float resolution.
    """
    count = np.ceil(time / slot)
    if count >= MAX_EXACT_MULTIPLE:
        return time
    if count * slot < time:
        count += 1.0
    elif (count - 1.0) * slot >= time:
        count -= 1.0
    return max(count * slot, time)


@register_jitable
def is_accepted(
    rules: Rules, runs: Runs, row: int, alpha: float, estimate: float, length: float, now: float
) -> bool:
    """Return whether a heavy head starts on its offer (lines 12-20).

    The first rejection starts the delay window, which is `length` seconds long.
    """
    is_first = np.isnan(runs.kappa[row])
    if is_first or rules.hold != ACCEPT_IMPROVEMENT:
        accepted = alpha <= rules.max_ratio * estimate  # line 12
    else:
        accepted = alpha < runs.kappa[row] * (1.0 - IMPROVEMENT_RTOL)  # line 18
    if is_first and not accepted:
        runs.kappa[row] = alpha  # line 15
        if rules.hold != ACCEPT_GOOD:
            runs.window[row] = now + length  # line 16
    return accepted or now >= runs.window[row]  # line 20


@register_jitable
def _is_acceptable(rules: Rules, heavy: bool, alpha: float, estimate: float) -> bool:
    """Return whether a job behind the head may start on its offer; equal for all of its bucket."""
    if not rules.delays:
        return alpha < np.inf
    if rules.overtaking == SCAN:
        return alpha <= rules.max_ratio * estimate
    return alpha <= rules.max_ratio * estimate if heavy else alpha < np.inf


@register_jitable
def _fitting_bucket(
    packed: Packed,
    rules: Rules,
    bucket_gpus: Ints,
    bucket_configuration: Ints,
    heavy: Bools,
    servers: FreeServers,
    table: TimeTable,
    server_counts: Ints,
    buckets: Buckets,
    tested_at: Ints,
    is_acceptable: Bools,
    passed_over: list[tuple[int, int, int]],
    open_gpus: int,
    time: int,
    last_place: int,
    now: float,
    reserved_start: float,
    spare_gpus: int,
) -> int:
    """Return the bucket of the next job after a place that fits and may be accepted, or -1.

    Jobs up to the place are passed over. `time` counts starts + ends: an offer that is refused
    stays so until the next. Jobs of more than the spare GPUs must end by the head's reserved start.
    """
    best, first_place, i = -1, SENTINEL, 0
    is_empty = servers.total[0] == rules.gpus
    while i < len(buckets.nonempty):
        bucket = buckets.nonempty[i]
        gpus = bucket_gpus[bucket]
        if gpus > open_gpus:  # later buckets need at least as many
            break
        if gpus > spare_gpus and now + buckets.least_length[bucket] > reserved_start:
            i += 1
            continue
        may_be_next = buckets.first[bucket] < first_place
        c = bucket_configuration[bucket]
        if may_be_next and c >= 0 and tested_at[bucket] != time:
            tested_at[bucket] = time
            rule, estimate = rule_for(rules.offer, heavy[c]), packed.estimate[c]
            # as `offer_time`, whose call passes all of `packed`: a third of a run's time
            alpha = estimate
            if count_servers(servers, rule, gpus, server_counts) > 1:
                alpha = cached_time(table, c, server_counts)
                if np.isnan(alpha):
                    alpha = compute_and_cache_time(table, packed, c, server_counts)
            accepted = is_empty or _is_acceptable(rules, heavy[c], alpha, estimate)
            is_acceptable[bucket] = alpha < np.inf and accepted
        while is_acceptable[bucket] and buckets.first[bucket] <= last_place:
            place, row = pop(buckets, bucket)
            passed_over.append((place, row, bucket))
        if buckets.first[bucket] == SENTINEL:
            continue
        i += 1
        if is_acceptable[bucket] and buckets.first[bucket] < first_place:
            best, first_place = bucket, buckets.first[bucket]
    return best
