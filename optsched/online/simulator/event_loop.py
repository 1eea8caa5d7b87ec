"""The event loop of policies that do not preempt jobs: a-srpt, Algorithm 1, and its baselines.

At one instant: ends of jobs, completions of the virtual machine, arrivals, then one scheduling
pass. Further events are the end of the head's delay window. With slots an event acts at the next
multiple of the slot. The comments name the lines of Algorithm 1.
Guarantee: the records follow models/online/README.md to the tie; a naive simulator in the tests
gives the same. Complexity: O(log n) an event, O(waiting configurations that fit) a start behind the
head, and what an offer takes.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from optsched.kernels import kernel
from optsched.online.data.configurations import Packed
from optsched.online.simulator.iteration_times import TimeTable, keep_time, known_time
from optsched.online.simulator.offers import FreeServers, give_back, offer_sizes, rule_for, take

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

HEAD_ONLY, SCAN, BACKFILL, EASY = 0, 1, 2, 3
"""Which jobs behind the head a pass may start: none, any that fits (there is no head), any that
fits while the head waits in its window, those that do not delay the head's reservation."""
IMPROVED, GOOD_IN_WINDOW, GOOD = 0, 1, 2
HOLDS = {"none": IMPROVED, "window": GOOD_IN_WINDOW, "inf": GOOD}
"""When a delayed job starts: on an offer better than the first, on a good one, also without end."""
IMPROVEMENT = 1e-9
"""A better offer has alpha < kappa (1 - 1e-9): smaller differences are rounding."""
COARSEST = 2.0**53
"""From so many multiples of a slot or a round on, the clock cannot tell two of them apart."""
NONE = 2**62
"""Rank and row that stand at the bottom of a heap: all others come first."""


class Rules(NamedTuple):
    """A policy and its settings; see `optsched.online.policies.by_name`."""

    virtual: bool
    behind_head: int
    delays: bool
    hold: int
    offer: int
    tau: float
    comm_heavy: float
    slot: float


class JobData(NamedTuple):
    """The jobs in row order, and properties of their configurations.

    Attributes
    ----------
    submit, iterations, predicted, work, walltime : (n,) float
        r, n, n~, L (seconds of the virtual machine), and the user's estimate or NaN.
    configuration, rank : (n,) int
        The configuration, and the place in the order of the queue; -1: the order of queueing.
    bucket : (C,) int
        By configuration. Jobs of one bucket fit or do not fit together.
    bucket_gpus : (B,) int
        g of each bucket, ascending.
    bucket_offer : (B,) int
        Buckets of one number are offered the same; -1: no offer keeps its jobs from starting.
    heavy : (C,) bool
        alpha^max / alpha~ >= comm_heavy.
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
    """Starts, ends and pieces of the jobs, (n,) each; start is NaN until a job starts.

    A job has `pieces` pieces, from index `first` on. `kappa` and `window` are the iteration time
    of a delayed job's first offer and the end of its window.
    """

    start: Floats
    end: Floats
    alpha: Floats
    first: Ints
    pieces: Ints
    kappa: Floats
    window: Floats


class Offers(NamedTuple):
    """Offers that buckets got before, and whether these suited; a moment counts starts and ends.

    Attributes
    ----------
    sizes : (B, GPUs a server + 1) int
        By number in `bucket_offer`: servers in all, and servers by GPUs.
    examined, changed : (B,) int
        When it was compared with the free GPUs last, and when it differed from before.
    tried : (B,) int
        When a bucket's jobs were last set beside their offer.
    suits : (B,) bool
        Whether it suited them.
    """

    sizes: Ints
    examined: Ints
    changed: Ints
    tried: Ints
    suits: Bools


@kernel
def simulate(
    jobs: JobData,
    packed: Packed,
    rules: Rules,
    servers: FreeServers,
    table: TimeTable,
    runs: Runs,
    stop: Bools,
    steps: int,
) -> Iterator[tuple[int, Ints]]:
    """Run all jobs; yield (jobs started, nothing) every so many instants, and all pieces at last.

    Ends early once ``stop[0]`` is set.
    """
    # arrays are named one by one: at each call numba counts references to all arrays of a tuple
    submit, configuration_of, work_of = jobs.submit, jobs.configuration, jobs.work
    heavy, bucket_of, bucket_gpus = jobs.heavy, jobs.bucket, jobs.bucket_gpus
    bucket_offer = jobs.bucket_offer
    gpus_of, estimates, start = packed.gpus, packed.estimate, runs.start
    n, sizes = len(submit), np.zeros(len(servers.histogram), dtype=np.int64)
    ends = [(np.inf, NONE)]  # running jobs by their end
    due = [(np.inf, NONE)]  # EASY: running jobs by their expected end, all in order
    machine, clock = [(np.inf, NONE)], 0.0  # virtual machine: jobs by their work left
    line = [NONE]  # waiting jobs by rank; jobs that started from behind the head leave later
    buckets = [[NONE] for _ in range(len(bucket_gpus))]  # ranks of the waiting, by bucket
    first = np.full(len(buckets), NONE)  # the first rank of each bucket
    in_use = [0 for _ in range(0)]  # buckets of waiting jobs, ascending
    offers = Offers(
        sizes=np.zeros((len(buckets), len(sizes)), dtype=np.int64),
        examined=np.full(len(buckets), -1),
        changed=np.zeros(len(buckets), dtype=np.int64),
        tried=np.full(len(buckets), -1),
        suits=np.ones(len(buckets), dtype=np.bool_),
    )
    row_at = np.empty(n, dtype=np.int64)  # by rank
    released = [0 for _ in range(0)]  # jobs that queue at this instant
    pieces = [0 for _ in range(0)]
    arrived, queued, started, ended, window = 0, 0, 0, 0, np.inf

    for step in range(NONE):
        if step % steps == 0:
            yield started, sizes[:0]
            if stop[0]:
                break
        # the next event: an end, an arrival, a virtual completion, or the end of the head's window
        now = min(ends[0][0], window)
        if arrived < n:
            now = min(now, submit[arrived])
        if rules.virtual:
            now = min(now, clock + machine[0][0])
        if now == np.inf:
            break
        if rules.slot > 0.0:
            now = next_multiple(now, rules.slot)

        # ends
        while ends[0][0] <= now:
            row = heapq.heappop(ends)[1]
            ended += 1
            for at in range(runs.first[row], runs.first[row] + runs.pieces[row]):
                give_back(servers, pieces[at])
            if rules.behind_head == EASY:
                length = _expected_length(jobs.walltime, row, jobs.predicted[row] * runs.alpha[row])
                due.pop(place(due, (start[row] + length, row)))
        # line 2: completions of the virtual machine
        while rules.virtual and clock + machine[0][0] <= now:
            left, row = heapq.heappop(machine)
            clock += left
            released.append(row)
        # arrivals, which preempt the virtual machine's job if they have less work
        while arrived < n and submit[arrived] <= now:
            row, work = arrived, work_of[arrived]
            arrived += 1
            if not rules.virtual or work == 0.0:
                released.append(row)
                continue
            if len(machine) > 1:
                left, current = machine[0]
                heapq.heapreplace(machine, (max(0.0, left - (now - clock)), current))
            clock = now
            heapq.heappush(machine, (work, row))
        for row in released:
            rank = jobs.rank[row] if len(jobs.rank) > 0 else queued + started
            row_at[rank] = row
            queued += 1
            if rules.behind_head != SCAN:
                heapq.heappush(line, rank)
            if rules.behind_head != HEAD_ONLY:
                bucket = bucket_of[configuration_of[row]]
                _push(buckets, first, in_use, bucket, rank)
        released.clear()

        # lines 3-25: start the head of the line as often as it may start
        head, window = NONE, np.inf
        while rules.behind_head != SCAN and queued > 0:
            head = line[0]  # line 4
            row = row_at[head]
            if not np.isnan(start[row]):
                heapq.heappop(line)
                continue
            kind = configuration_of[row]
            gpus, rule = gpus_of[kind], rule_for(rules.offer, heavy[kind])
            if gpus > servers.total[0]:  # line 5
                break
            alpha = estimates[kind]  # lines 9-11 and 22; alpha~ on one server
            if offer_sizes(servers, rule, gpus, sizes) > 1:
                alpha = known_time(table, kind, sizes)
                if np.isnan(alpha):
                    alpha = keep_time(table, packed, kind, sizes)
            if alpha == np.inf:  # its slices do not fit there
                break
            if rules.delays and heavy[kind]:  # line 8
                length = rules.tau * work_of[row]
                if not _is_accepted(rules, runs, row, alpha, estimates[kind], length, now):
                    break
            heapq.heappop(line)  # line 7
            if rules.behind_head != HEAD_ONLY:  # no job of its bucket comes before the head
                _pop(buckets, first, in_use, bucket_of[kind])
            _take_offer(runs, servers, row, gpus, rule, pieces)
            _start(runs, row, alpha, now, now + jobs.iterations[row] * alpha, ends)
            started, queued = started + 1, queued - 1
            if rules.behind_head == EASY:
                length = _expected_length(jobs.walltime, row, jobs.predicted[row] * alpha)
                due.insert(place(due, (now + length, row)), (now + length, row))
        if queued == 0:
            continue
        if rules.delays and head != NONE and runs.window[row_at[head]] > now:
            window = runs.window[row_at[head]]

        # jobs behind the head
        if rules.behind_head == HEAD_ONLY or servers.total[0] == 0:
            continue
        if rules.behind_head == BACKFILL:  # only while the head waits for a better offer
            row = row_at[head]
            if np.isnan(runs.kappa[row]) or now >= runs.window[row]:
                continue
        promise, spare = np.inf, 0
        if rules.behind_head == EASY:
            gpus = gpus_of[configuration_of[row_at[head]]]
            if queued == 1 or gpus <= servers.total[0]:  # its slices do not fit there
                continue
            promise, spare = _reservation(
                due, gpus_of, configuration_of, gpus, servers.total[0], now
            )
        passed_over, turn = [NONE], head if rules.behind_head != SCAN else -1
        while len(in_use) > 0 and bucket_gpus[in_use[0]] <= servers.total[0]:
            bucket, alpha = _next_behind(
                rules, bucket_gpus, bucket_offer, configuration_of, heavy, estimates, servers,
                table, sizes, row_at, buckets, first, in_use, offers, passed_over,
                started + ended, turn,
            )  # fmt: skip
            if bucket < 0:
                break
            if np.isnan(alpha):
                kind = configuration_of[row_at[first[bucket]]]
                offer_sizes(servers, rule_for(rules.offer, heavy[kind]), gpus_of[kind], sizes)
                keep_time(table, packed, kind, sizes)
                continue
            turn = first[bucket]
            row = row_at[turn]
            kind = configuration_of[row]
            gpus, rule = gpus_of[kind], rule_for(rules.offer, heavy[kind])
            _pop(buckets, first, in_use, bucket)
            if rules.behind_head == EASY:
                length = _expected_length(jobs.walltime, row, jobs.predicted[row] * alpha)
                late = now + length > promise
                if alpha == np.inf or (late and gpus > spare):
                    passed_over.append(turn)
                    continue
                spare -= gpus if late else 0
                due.insert(place(due, (now + length, row)), (now + length, row))
            _take_offer(runs, servers, row, gpus, rule, pieces)
            _start(runs, row, alpha, now, now + jobs.iterations[row] * alpha, ends)
            started, queued = started + 1, queued - 1
        for rank in passed_over[1:]:
            bucket = bucket_of[configuration_of[row_at[rank]]]
            _push(buckets, first, in_use, bucket, rank)
    yield started, np.array(pieces)


@register_jitable
def next_multiple(time: float, slot: float) -> float:
    """Return the first multiple of the slot from a time on.

    A multiple is the number that the product rounds to, so that it is its own next one. Where the
    clock is coarser than the slot it is the time itself.
    """
    count = np.ceil(time / slot)
    if count >= COARSEST:
        return time
    if count * slot < time:
        count += 1.0
    elif (count - 1.0) * slot >= time:
        count -= 1.0
    return max(count * slot, time)


@register_jitable
def _is_accepted(
    rules: Rules, runs: Runs, row: int, alpha: float, estimate: float, length: float, now: float
) -> bool:
    """Return whether a heavy head starts on its offer (lines 12-20).

    A first refusal opens its window, which is `length` seconds long.
    """
    is_first = np.isnan(runs.kappa[row])
    if is_first or rules.hold != IMPROVED:
        accepted = alpha <= rules.comm_heavy * estimate  # line 12
    else:
        accepted = alpha < runs.kappa[row] * (1.0 - IMPROVEMENT)  # line 18
    if is_first and not accepted:
        runs.kappa[row] = alpha  # line 15
        if rules.hold != GOOD:
            runs.window[row] = now + length  # line 16
    return accepted or now >= runs.window[row]  # line 20


@register_jitable
def _suits(rules: Rules, heavy: bool, alpha: float, estimate: float) -> bool:
    """Return whether a job behind the head may start on its offer; equal for all of its bucket."""
    if not rules.delays:
        return alpha < np.inf
    if rules.behind_head == SCAN:
        return alpha <= estimate * max(rules.comm_heavy, 1.0 + IMPROVEMENT)
    return alpha <= rules.comm_heavy * estimate if heavy else alpha < np.inf


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
    sizes: Ints,
    row_at: Ints,
    buckets: list[list[int]],
    first: Ints,
    in_use: list[int],
    offers: Offers,
    passed_over: list[int],
    moment: int,
    turn: int,
) -> tuple[int, float]:
    """Return the bucket whose first job is next to start behind rank `turn`, and the job's alpha.

    The bucket is -1 if there is none, alpha NaN if it has to be computed first. Jobs up to `turn`
    are passed over. `moment` counts starts and ends. O(buckets in use that fit).
    """
    best, rank, alpha, at = -1, NONE, np.inf, 0
    while at < len(in_use):
        bucket = in_use[at]
        gpus, offer = bucket_gpus[bucket], bucket_offer[bucket]
        if gpus > servers.total[0]:  # and so have all that follow
            break
        if offer >= 0:  # jobs refuse an offer again that has not changed
            kind = configuration_of[row_at[first[bucket]]]
            if offers.examined[offer] != moment:
                offers.examined[offer] = moment
                sizes[0] = offer_sizes(servers, rule_for(rules.offer, heavy[kind]), gpus, sizes)
                for size in range(len(sizes)):
                    if offers.sizes[offer, size] != sizes[size]:
                        offers.sizes[offer, size] = sizes[size]
                        offers.changed[offer] = moment
            if offers.tried[bucket] < offers.changed[offer]:
                alpha = estimates[kind]
                if offers.sizes[offer, 0] > 1:
                    alpha = known_time(table, kind, offers.sizes[offer])
                    if np.isnan(alpha):
                        return bucket, alpha
                offers.tried[bucket] = moment
                offers.suits[bucket] = _suits(rules, heavy[kind], alpha, estimates[kind])
        while offers.suits[bucket] and first[bucket] <= turn:
            passed_over.append(first[bucket])
            _pop(buckets, first, in_use, bucket)
        if first[bucket] == NONE:
            continue
        at += 1
        if offers.suits[bucket] and first[bucket] < rank:
            best, rank = bucket, first[bucket]
    if best >= 0:
        kind = configuration_of[row_at[rank]]
        alpha, rule = estimates[kind], rule_for(rules.offer, heavy[kind])
        if offer_sizes(servers, rule, bucket_gpus[best], sizes) > 1:
            alpha = known_time(table, kind, sizes)
    return best, alpha


@register_jitable
def _push(buckets: list[list[int]], first: Ints, in_use: list[int], bucket: int, rank: int) -> None:
    """Put a waiting job into a bucket."""
    if first[bucket] == NONE:
        in_use.insert(place(in_use, bucket), bucket)
    heapq.heappush(buckets[bucket], rank)
    first[bucket] = min(first[bucket], rank)


@register_jitable
def _pop(buckets: list[list[int]], first: Ints, in_use: list[int], bucket: int) -> None:
    """Remove the first job of a bucket."""
    heapq.heappop(buckets[bucket])
    first[bucket] = buckets[bucket][0]
    if first[bucket] == NONE:
        in_use.pop(place(in_use, bucket))


@register_jitable
def _reservation(
    due: list[tuple[float, int]],
    gpus_of: Ints,
    configuration_of: Ints,
    gpus: int,
    free: int,
    now: float,
) -> tuple[float, int]:
    """Return when the head's GPUs are free if all jobs end as expected, and the GPUs to spare."""
    promise = np.inf
    for end, row in due:
        if row == NONE or max(end, now) > promise:
            break
        free += gpus_of[configuration_of[row]]
        if free >= gpus:
            promise = max(end, now)
    return promise, free - gpus


@register_jitable
def _expected_length(walltime: Floats, row: int, predicted: float) -> float:
    """Return the user's estimate, or the predicted length where there is none."""
    if len(walltime) == 0 or np.isnan(walltime[row]):
        return predicted
    return walltime[row]


@register_jitable
def place(entries: Any, entry: Any) -> int:
    """Return where an entry stands, or belongs, in a list that is in order."""
    low, high = 0, len(entries)
    while low < high:
        middle = (low + high) // 2
        if entries[middle] < entry:
            low = middle + 1
        else:
            high = middle
    return low


@register_jitable
def _take_offer(
    runs: Runs, servers: FreeServers, row: int, gpus: int, rule: int, pieces: list[int]
) -> None:
    """Take the GPUs of a job's offer and record its pieces."""
    runs.first[row] = len(pieces)
    runs.pieces[row] = take(servers, rule, gpus, pieces)


@register_jitable
def _start(
    runs: Runs, row: int, alpha: float, now: float, end: float, ends: list[tuple[float, int]]
) -> None:
    """Start a job on the offer that it took (lines 13, 19, 20 and 23)."""
    runs.start[row], runs.end[row], runs.alpha[row] = now, end, alpha
    heapq.heappush(ends, (runs.end[row], row))
