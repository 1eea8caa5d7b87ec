"""The event loop of policies that do not preempt jobs: a-srpt, Algorithm 1, and its baselines.

At one instant: ends of jobs, completions of the virtual machine, arrivals, then one scheduling
pass. The end of the head's delay window is an event too. With slots an event acts at the next
multiple of the slot. The comments name the lines of Algorithm 1.
Guarantee: the records follow models/online/README.md, including tie-breaking; a naive simulator in
the tests gives the same. Complexity: O(log n) per event, O(waiting configurations that fit) per
start behind the head, and the cost of an offer.
"""

import heapq
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.arrays import Bools, Floats, Ints
from optsched.kernels import kernel
from optsched.online.data.configurations import Packed
from optsched.online.simulator.iteration_times import TimeTable, cached_time, compute_and_cache_time
from optsched.online.simulator.offers import FreeServers, count_servers, release, rule_for, take

HEAD_ONLY = 0  # no job overtakes the head of the queue
SCAN = 1  # every waiting job that fits may start: there is no head
BACKFILL = 2  # any job that fits may start while the head waits in its delay window
EASY = 3  # jobs that do not delay the head's reservation may start
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
SENTINEL = 2**62
"""Larger than every rank and row, so that a heap is never empty."""


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

    `work` is L, seconds of the virtual machine; `walltime` the user's estimate or NaN; `rank` the
    place in the order of the queue, or empty for the order of queueing. Rows beyond those of
    `submit` run already, and stay until the loop ends.

    `bucket` and `heavy` are by configuration: jobs of one bucket fit or do not fit together; a
    heavy one has alpha^max / alpha~ >= comm_heavy. By bucket, `bucket_gpus` is g, ascending, and
    `bucket_offer` the index of the offer that it receives, or -1 if every offer is accepted.
    """

    submit: Floats
    iterations: Floats
    predicted: Floats
    work: Floats
    walltime: Floats
    configuration: Ints
    rank: Ints
    bucket: Ints
    bucket_gpus: Ints
    bucket_offer: Ints
    heavy: Bools


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


class OfferCache(NamedTuple):
    """Last offer of each bucket and whether it was acceptable; times are counted in starts + ends.

    By index in `bucket_offer`: servers in total and by the GPUs that they give, when the offer was
    last compared with the free GPUs, and when it last changed. By bucket: when it was last tested
    whether the bucket accepts its offer, and the result.
    """

    server_counts: Ints
    checked_at: Ints
    changed_at: Ints
    tested_at: Ints
    acceptable: Bools


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
    bucket_offer = jobs.bucket_offer
    gpus_of, estimates, start = packed.gpus, packed.estimate, runs.start
    n, server_counts = len(submit), np.zeros(len(servers.histogram), dtype=np.int64)
    end_heap = [(np.inf, SENTINEL)]  # running jobs by their end
    expected_ends = [(np.inf, SENTINEL)]  # EASY: running jobs, sorted by their expected end
    virtual_queue, clock = [(np.inf, SENTINEL)], 0.0  # virtual machine: jobs by remaining work
    waiting_heap = [SENTINEL]  # waiting jobs by rank; jobs that overtook the head leave later
    bucket_heaps = [[SENTINEL] for _ in range(len(bucket_gpus))]  # ranks of the waiting jobs
    bucket_first = np.full(len(bucket_heaps), SENTINEL)  # the first rank of each bucket
    nonempty_buckets = [0 for _ in range(0)]  # ascending
    offers = OfferCache(
        server_counts=np.zeros((len(bucket_heaps), len(server_counts)), dtype=np.int64),
        checked_at=np.full(len(bucket_heaps), -1),
        changed_at=np.zeros(len(bucket_heaps), dtype=np.int64),
        tested_at=np.full(len(bucket_heaps), -1),
        acceptable=np.ones(len(bucket_heaps), dtype=np.bool_),
    )
    row_of_rank = np.empty(n, dtype=np.int64)
    newly_queued = [0 for _ in range(0)]  # jobs that join the queue at this instant
    allocations = [0 for _ in range(0)]
    arrived, queued, started, ended, window = 0, 0, 0, 0, np.inf
    for row in range(n, len(start)):  # EASY: jobs that run already
        length = expected_length(jobs.walltime, row, jobs.predicted[row] * runs.alpha[row])
        entry = (start[row] + length, row)
        expected_ends.insert(bisect_left(expected_ends, entry), entry)

    for _ in range(steps):
        progress[0] = started
        if stop[0]:
            break
        # the next event: an end, an arrival, a virtual completion, or the end of the head's window
        now = min(end_heap[0][0], window)
        if arrived < n:
            now = min(now, submit[arrived])
        if rules.virtual:
            now = min(now, clock + virtual_queue[0][0])
        if now == np.inf:
            break
        if rules.slot > 0.0:
            now = next_multiple(now, rules.slot)

        # ends
        while end_heap[0][0] <= now:
            row = heapq.heappop(end_heap)[1]
            ended += 1
            first = runs.first_allocation[row]
            for i in range(first, first + runs.num_allocations[row]):
                release(servers, allocations[i])
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
            rank = jobs.rank[row] if len(jobs.rank) > 0 else queued + started
            row_of_rank[rank] = row
            queued += 1
            if rules.overtaking != SCAN:
                heapq.heappush(waiting_heap, rank)
            if rules.overtaking != HEAD_ONLY:
                bucket = bucket_of[configuration_of[row]]
                _push(bucket_heaps, bucket_first, nonempty_buckets, bucket, rank)
        newly_queued.clear()

        # lines 3-25: start the head of the queue as often as it may start
        head, window = SENTINEL, np.inf
        while rules.overtaking != SCAN and queued > 0:
            head = waiting_heap[0]  # line 4
            row = row_of_rank[head]
            if not np.isnan(start[row]):
                heapq.heappop(waiting_heap)
                continue
            configuration = configuration_of[row]
            gpus, rule = gpus_of[configuration], rule_for(rules.offer, heavy[configuration])
            if gpus > servers.total[0]:  # line 5
                break
            alpha = estimates[configuration]  # lines 9-11 and 22; alpha~ on one server
            if count_servers(servers, rule, gpus, server_counts) > 1:
                alpha = cached_time(table, configuration, server_counts)
                if np.isnan(alpha):
                    alpha = compute_and_cache_time(table, packed, configuration, server_counts)
            if alpha == np.inf:  # the offer does not hold its slices
                break
            if rules.delays and heavy[configuration]:  # line 8
                length, estimate = rules.tau * work_of[row], estimates[configuration]
                is_empty = servers.total[0] == rules.gpus
                if not (is_empty or is_accepted(rules, runs, row, alpha, estimate, length, now)):
                    break
            heapq.heappop(waiting_heap)  # line 7
            if rules.overtaking != HEAD_ONLY:  # the head is the first job of its bucket
                _pop(bucket_heaps, bucket_first, nonempty_buckets, bucket_of[configuration])
            end = now + jobs.iterations[row] * alpha
            start_job(runs, servers, row, gpus, rule, alpha, now, end, allocations, end_heap)
            started, queued = started + 1, queued - 1
            if rules.overtaking == EASY:
                length = expected_length(jobs.walltime, row, jobs.predicted[row] * alpha)
                entry = (now + length, row)
                expected_ends.insert(bisect_left(expected_ends, entry), entry)
        if queued == 0:
            continue
        if rules.delays and head != SENTINEL and runs.window[row_of_rank[head]] > now:
            window = runs.window[row_of_rank[head]]

        # jobs behind the head
        if rules.overtaking == HEAD_ONLY or servers.total[0] == 0:
            continue
        if rules.overtaking == BACKFILL:  # only while the head waits for a better offer
            row = row_of_rank[head]
            if np.isnan(runs.kappa[row]) or now >= runs.window[row]:
                continue
        reserved_start, spare_gpus = np.inf, 0
        if rules.overtaking == EASY:
            gpus = gpus_of[configuration_of[row_of_rank[head]]]
            # a head that fits by count but not by slices has no reservation
            if queued == 1 or gpus <= servers.total[0]:
                continue
            reserved_start, spare_gpus = _reservation(
                expected_ends, gpus_of, configuration_of, gpus, servers.total[0], now
            )
        passed_over, last_rank = [SENTINEL], head if rules.overtaking != SCAN else -1
        while len(nonempty_buckets) > 0 and bucket_gpus[nonempty_buckets[0]] <= servers.total[0]:
            bucket, alpha = _next_behind(
                rules, bucket_gpus, bucket_offer, configuration_of, heavy, estimates, servers,
                table, server_counts, row_of_rank, bucket_heaps, bucket_first, nonempty_buckets,
                offers, passed_over, started + ended, last_rank,
            )  # fmt: skip
            if bucket < 0:
                break
            if np.isnan(alpha):
                configuration = configuration_of[row_of_rank[bucket_first[bucket]]]
                gpus, rule = gpus_of[configuration], rule_for(rules.offer, heavy[configuration])
                count_servers(servers, rule, gpus, server_counts)
                compute_and_cache_time(table, packed, configuration, server_counts)
                continue
            last_rank = bucket_first[bucket]
            row = row_of_rank[last_rank]
            configuration = configuration_of[row]
            gpus, rule = gpus_of[configuration], rule_for(rules.offer, heavy[configuration])
            _pop(bucket_heaps, bucket_first, nonempty_buckets, bucket)
            if rules.overtaking == EASY:
                length = np.inf  # the offer does not hold the slices
                if alpha < np.inf:
                    length = expected_length(jobs.walltime, row, jobs.predicted[row] * alpha)
                late = now + length > reserved_start
                if alpha == np.inf or (late and gpus > spare_gpus):
                    passed_over.append(last_rank)
                    continue
                spare_gpus -= gpus if late else 0
                entry = (now + length, row)
                expected_ends.insert(bisect_left(expected_ends, entry), entry)
            end = now + jobs.iterations[row] * alpha
            start_job(runs, servers, row, gpus, rule, alpha, now, end, allocations, end_heap)
            started, queued = started + 1, queued - 1
        for rank in passed_over[1:]:
            bucket = bucket_of[configuration_of[row_of_rank[rank]]]
            _push(bucket_heaps, bucket_first, nonempty_buckets, bucket, rank)
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
def _next_behind(
    rules: Rules,
    bucket_gpus: Ints,
    bucket_offer: Ints,
    configuration_of: Ints,
    heavy: Bools,
    estimates: Floats,
    servers: FreeServers,
    table: TimeTable,
    server_counts: Ints,
    row_of_rank: Ints,
    bucket_heaps: list[list[int]],
    bucket_first: Ints,
    nonempty_buckets: list[int],
    offers: OfferCache,
    passed_over: list[int],
    time: int,
    last_rank: int,
) -> tuple[int, float]:
    """Return the bucket of the next job to start after rank `last_rank`, and the job's alpha.

    The bucket is -1 if there is none, alpha NaN if it has to be computed first. Jobs up to
    `last_rank` move to `passed_over`. `time` counts starts + ends. O(nonempty buckets that fit).
    """
    best, rank, alpha, i = -1, SENTINEL, np.inf, 0
    while i < len(nonempty_buckets):
        bucket = nonempty_buckets[i]
        gpus, offer = bucket_gpus[bucket], bucket_offer[bucket]
        if gpus > servers.total[0]:  # later buckets need at least as many
            break
        if offer >= 0:  # a rejected, unchanged offer is rejected again
            configuration = configuration_of[row_of_rank[bucket_first[bucket]]]
            rule, estimate = rule_for(rules.offer, heavy[configuration]), estimates[configuration]
            if offers.checked_at[offer] != time:
                offers.checked_at[offer] = time
                server_counts[0] = count_servers(servers, rule, gpus, server_counts)
                for size in range(len(server_counts)):
                    if offers.server_counts[offer, size] != server_counts[size]:
                        offers.server_counts[offer, size] = server_counts[size]
                        offers.changed_at[offer] = time
            is_empty = servers.total[0] == rules.gpus
            if is_empty or offers.tested_at[bucket] < offers.changed_at[offer]:
                alpha = estimate
                if offers.server_counts[offer, 0] > 1:
                    alpha = cached_time(table, configuration, offers.server_counts[offer])
                    if np.isnan(alpha):
                        return bucket, alpha
                offers.tested_at[bucket] = -1 if is_empty else time
                acceptable = _is_acceptable(rules, heavy[configuration], alpha, estimate)
                offers.acceptable[bucket] = acceptable or (is_empty and alpha < np.inf)
        while offers.acceptable[bucket] and bucket_first[bucket] <= last_rank:
            passed_over.append(bucket_first[bucket])
            _pop(bucket_heaps, bucket_first, nonempty_buckets, bucket)
        if bucket_first[bucket] == SENTINEL:
            continue
        i += 1
        if offers.acceptable[bucket] and bucket_first[bucket] < rank:
            best, rank = bucket, bucket_first[bucket]
    if best >= 0:
        configuration = configuration_of[row_of_rank[rank]]
        alpha, rule = estimates[configuration], rule_for(rules.offer, heavy[configuration])
        if count_servers(servers, rule, bucket_gpus[best], server_counts) > 1:
            alpha = cached_time(table, configuration, server_counts)
    return best, alpha


@register_jitable
def _push(heaps: list[list[int]], first: Ints, nonempty: list[int], bucket: int, rank: int) -> None:
    if first[bucket] == SENTINEL:
        nonempty.insert(bisect_left(nonempty, bucket), bucket)
    heapq.heappush(heaps[bucket], rank)
    first[bucket] = min(first[bucket], rank)


@register_jitable
def _pop(heaps: list[list[int]], first: Ints, nonempty: list[int], bucket: int) -> None:
    heapq.heappop(heaps[bucket])
    first[bucket] = heaps[bucket][0]
    if first[bucket] == SENTINEL:
        nonempty.pop(bisect_left(nonempty, bucket))


@register_jitable
def _reservation(
    expected_ends: list[tuple[float, int]],
    gpus_of: Ints,
    configuration_of: Ints,
    gpus: int,
    free: int,
    now: float,
) -> tuple[float, int]:
    """Return when the head's GPUs are free if all jobs end as expected, and the GPUs to spare."""
    reserved_start = np.inf
    for end, row in expected_ends:
        if row == SENTINEL or max(end, now) > reserved_start:
            break
        free += gpus_of[configuration_of[row]]
        if free >= gpus:
            reserved_start = max(end, now)
    return reserved_start, free - gpus


@register_jitable
def expected_length(walltime: Floats, row: int, predicted: float) -> float:
    """Return the user's estimate, or the predicted length if there is none."""
    if len(walltime) == 0 or np.isnan(walltime[row]):
        return predicted
    return walltime[row]


@register_jitable
def bisect_left(entries: Any, entry: Any) -> int:
    """Return the first index in a sorted list at which an entry is, or could be inserted."""
    low, high = 0, len(entries)
    while low < high:
        middle = (low + high) // 2
        if entries[middle] < entry:
            low = middle + 1
        else:
            high = middle
    return low


@register_jitable
def start_job(
    runs: Runs,
    servers: FreeServers,
    row: int,
    gpus: int,
    rule: int,
    alpha: float,
    now: float,
    end: float,
    allocations: list[int],
    end_heap: list[tuple[float, int]],
) -> None:
    """Take the GPUs of a job's offer and start it (lines 13, 19, 20 and 23)."""
    runs.first_allocation[row] = len(allocations)
    runs.num_allocations[row] = take(servers, rule, gpus, allocations)
    runs.start[row], runs.end[row], runs.alpha[row] = now, end, alpha
    heapq.heappush(end_heap, (end, row))
