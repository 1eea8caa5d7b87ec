"""The event loop of policies that preempt jobs: las, srpt-preemptive and max-min.

At one instant: ends, arrivals, then one pass. A full pass goes through all jobs in the order of
their keys and chooses those that fit together; running jobs that are not chosen stop. Then waiting
jobs start, or resume, in the order of their keys where they fit. Rounds begin at events of their
own while a job waits; without rounds every event makes a full pass.
Guarantee: the records follow models/online/README.md, "Preemption"; a naive simulator in the tests
gives the same. Complexity: O(R log R + W) a pass for R running and W waiting jobs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from optsched.kernels import kernel
from optsched.online.data.configurations import Packed
from optsched.online.simulator.event_loop import COARSEST, next_multiple, place
from optsched.online.simulator.iteration_times import TimeTable, keep_time, known_time
from optsched.online.simulator.offers import FreeServers, give_back, offer_sizes, rule_for, take

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
ATTAINED, REMAINING, SHARE = 0, 1, 2
ORDERS = {"attained": ATTAINED, "remaining": REMAINING, "share": SHARE}
"""What the key of a job is: GPU-seconds worked, predicted GPU-seconds left, time received over the
time that is due to it."""


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


class Progress(NamedTuple):
    """Work done and left of each job, (n,) each.

    `left`, `known` (iterations left, and predicted to be left) and `worked` (seconds) change only
    when the job stops. `begin`, `end` and `alpha` are of its last segment, whose place in the log
    is `segment` (-1: none yet): when iterations begin, the planned end, and seconds an iteration.
    """

    left: Floats
    known: Floats
    worked: Floats
    begin: Floats
    end: Floats
    alpha: Floats
    key: Floats
    segment: Ints


Segment = tuple[int, float, float, float, int]
"""Row, start, end, alpha, and the end of its pieces among all pieces."""


@kernel
def simulate(
    jobs: JobData,
    packed: Packed,
    rules: Rules,
    servers: FreeServers,
    table: TimeTable,
    progress: Progress,
    stop: Bools,
    steps: int,
) -> Iterator[tuple[int, Ints, Floats, Floats, Floats, Ints, Ints]]:
    """Run all jobs; yield (jobs ended, columns of `Segment`, pieces), which are full at last only.

    Ends early once ``stop[0]`` is set.
    """
    # arrays are named one by one: helpers that take whole tuples count references to all in them
    gpus_of, estimates, configuration_of = packed.gpus, packed.estimate, jobs.configuration
    left, known, worked, key_of = progress.left, progress.known, progress.worked, progress.key
    begin, end_of, alphas, segment_of = (
        progress.begin,
        progress.end,
        progress.alpha,
        progress.segment,
    )
    n, gpus_in_all = len(jobs.submit), servers.total[0]
    sizes, no_floats = np.zeros(len(servers.histogram), dtype=np.int64), np.zeros(0)
    waiting = [(0.0, 0) for _ in range(0)]  # (key, row) in order
    running = [0 for _ in range(0)]
    segments = [(0, 0.0, 0.0, 0.0, 0) for _ in range(0)]  # in order of their start
    pieces = [0 for _ in range(0)]
    arrived, ended, now = 0, 0, -np.inf

    for step in range(2**62):
        if step % steps == 0:
            yield ended, sizes[:0], no_floats, no_floats, no_floats, sizes[:0], sizes[:0]
            if stop[0]:
                break
        # the next event: an end, an arrival, or a round while a job waits
        event = np.inf
        for row in running:
            event = min(event, end_of[row])
        if arrived < n:
            event = min(event, jobs.submit[arrived])
        if rules.round > 0.0 and len(waiting) > 0:
            event = min(event, _next_boundary(now, rules.round))
        if event == np.inf:
            break
        now = next_multiple(event, rules.slot) if rules.slot > 0.0 else event
        # ends
        kept = 0
        for row in running:
            if end_of[row] <= now:
                _release(servers, segments, pieces, segment_of[row])
                ended += 1
            else:
                running[kept] = row
                kept += 1
        del running[kept:]
        # arrivals
        while arrived < n and jobs.submit[arrived] <= now:
            row = arrived
            arrived += 1
            left[row], known[row] = jobs.iterations[row], jobs.predicted[row]
            kind = configuration_of[row]
            entry = (_key(rules.order, gpus_of[kind], estimates[kind], 0.0, known[row], 0.0), row)
            waiting.insert(place(waiting, entry), entry)
        if len(waiting) == 0:
            continue
        # a full pass: stop the running jobs that are not among the first that fit together
        if rules.round == 0.0 or _is_boundary(now, rules):
            if rules.order == SHARE:
                rows = [*running, *[row for _, row in waiting]]
                level = _fair_level([gpus_of[configuration_of[row]] for row in rows], gpus_in_all)
                for row in rows:
                    ran = max(0.0, now - begin[row]) if end_of[row] < np.inf else 0.0
                    share = min(1.0, level / gpus_of[configuration_of[row]])
                    due, received = share * (now - jobs.submit[row]), worked[row] + ran
                    key_of[row] = received / due if received > 0.0 else 0.0
                waiting = [(key_of[row], row) for _, row in waiting]
                waiting.sort()
            order = [(0.0, 0) for _ in range(0)]
            for row in running:
                kind, ran = configuration_of[row], max(0.0, now - begin[row])
                left_now = max(0.0, known[row] - ran / alphas[row])
                key = _key(
                    rules.order,
                    gpus_of[kind],
                    estimates[kind],
                    worked[row] + ran,
                    left_now,
                    key_of[row],
                )
                at = len(order)  # insertion sort: mostly the order of the last pass
                order.append((key, row))
                while at > 0 and (key, row) < order[at - 1]:
                    order[at] = order[at - 1]
                    at -= 1
                order[at] = (key, row)
            room, at, kept = gpus_in_all, 0, 0
            stopped = [(0.0, 0) for _ in range(0)]
            for entry in order:
                while room > 0 and at < len(waiting) and waiting[at] < entry:
                    gpus = gpus_of[configuration_of[waiting[at][1]]]
                    room -= gpus if gpus <= room else 0
                    at += 1
                gpus = gpus_of[configuration_of[entry[1]]]
                if gpus <= room:
                    room -= gpus
                    running[kept] = entry[1]
                    kept += 1
                else:
                    stopped.append(entry)
            del running[kept:]
            for entry in stopped:
                row = entry[1]
                ran = max(0.0, now - begin[row])
                made = ran / alphas[row]
                left[row] = max(0.0, left[row] - made)
                known[row] = max(0.0, known[row] - made)
                worked[row] += ran
                end_of[row] = np.inf
                _, start, _, alpha, last = segments[segment_of[row]]
                segments[segment_of[row]] = (row, start, now, alpha, last)
                _release(servers, segments, pieces, segment_of[row])
                waiting.insert(place(waiting, entry), entry)
        # fill: start or resume waiting jobs in the order of their keys
        kept = at = 0
        while at < len(waiting) and servers.total[0] > 0:
            row = waiting[at][1]
            kind = configuration_of[row]
            gpus, rule, alpha = gpus_of[kind], rule_for(rules.offer, jobs.heavy[kind]), np.inf
            if gpus <= servers.total[0]:
                alpha = estimates[kind]  # on one server
                if offer_sizes(servers, rule, gpus, sizes) > 1:
                    alpha = known_time(table, kind, sizes)
                    if np.isnan(alpha):
                        alpha = keep_time(table, packed, kind, sizes)
            if alpha < np.inf:
                take(servers, rule, gpus, pieces)
                begin[row] = now if segment_of[row] < 0 else now + rules.checkpoint
                alphas[row], end_of[row] = alpha, begin[row] + left[row] * alpha
                segment_of[row] = len(segments)
                segments.append((row, now, end_of[row], alpha, len(pieces)))
                running.append(row)
            else:
                waiting[kept] = waiting[at]
                kept += 1
            at += 1
        del waiting[kept:at]
    yield (
        ended,
        np.array([segment[0] for segment in segments]),
        np.array([segment[1] for segment in segments]),
        np.array([segment[2] for segment in segments]),
        np.array([segment[3] for segment in segments]),
        np.array([segment[4] for segment in segments]),
        np.array(pieces),
    )


@register_jitable
def _release(
    servers: FreeServers, segments: list[Segment], pieces: list[int], segment: int
) -> None:
    """Free the GPUs of a segment."""
    first = segments[segment - 1][4] if segment > 0 else 0
    for at in range(first, segments[segment][4]):
        give_back(servers, pieces[at])


@register_jitable
def _key(order: int, gpus: int, estimate: float, worked: float, left: float, key: float) -> float:
    """Return the key of a job with so many seconds worked and iterations predicted to be left.

    Between rounds of `SHARE` it stays what it was: `key`.
    """
    if order == ATTAINED:
        return gpus * worked
    if order == REMAINING:
        return (gpus * left) * estimate
    return key


@register_jitable
def _fair_level(gpus: list[int], gpus_in_all: int) -> float:
    """Return the level of max-min fair shares min(g, level) of all GPUs."""
    gpus.sort()
    rest = gpus_in_all
    for at in range(len(gpus)):
        if gpus[at] * (len(gpus) - at) > rest:
            return rest / (len(gpus) - at)
        rest -= gpus[at]
    return np.inf


@register_jitable
def _next_boundary(now: float, length: float) -> float:
    """Return when the next round begins; infinite where the clock is coarser than a round."""
    count = np.floor(now / length)
    while count * length <= now:
        if count >= COARSEST:
            return np.inf
        count += 1.0
    return count * length


@register_jitable
def _is_boundary(now: float, rules: Rules) -> bool:
    """Return whether a round begins now, or began since the last multiple of the slot."""
    if rules.slot == 0.0:
        return np.floor(now / rules.round + 0.5) * rules.round == now
    count = np.floor(now / rules.round)
    if count * rules.round > now:
        count -= 1.0
    elif (count + 1.0) * rules.round <= now:
        count += 1.0
    return next_multiple(count * rules.round, rules.slot) == now
