"""The audit's spot checks of queue rules: could this job start before those that waited?

Only what the records show is used; slots and user policies are passed over.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from optsched.checking import Violation
from optsched.online.audit_rules.placement import IterationTimes
from optsched.online.audit_rules.replays import consolidation_violations, delay_violations
from optsched.online.records import Records

if TYPE_CHECKING:
    from optsched.online.data.jobs import Jobs

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
STOPPING = ("fifo", "spjf", "spwf")
SCANNING = ("wcs-duration", "wcs-workload", "wcs-subtime")
IN_ORDER = ("a-srpt", "a-srpt-perfect")
BEYOND = ("srpt-workload-hold", "a-srpt-backfill")
RESERVING = ("easy",)
CONSOLIDATING = ("spwf-consolidated",)
ARITHMETIC = 1e-9
"""Relative rounding of a recomputed alpha."""
CHECKED = (*STOPPING, *SCANNING, *IN_ORDER, *BEYOND, *RESERVING, *CONSOLIDATING)
"""Policies whose rules are known."""


def queue_violations(
    jobs: Jobs,
    records: Records,
    rows: Ints,
    heavy: Bools,
    times: IterationTimes,
    spot_checks: int,
) -> list[Violation]:
    """Check starts spread evenly over the run against the policy's queue rule."""
    if records.options.slot > 0:
        return []
    chosen = np.unique(np.linspace(0, len(records) - 1, spot_checks).astype(np.int64))
    order = np.lexsort((rows, records.start))
    chosen = order[chosen]
    if records.policy in STOPPING:
        return _stopping(records, rows, chosen, records.submit)
    if records.policy in SCANNING:
        return _scanning(records, chosen, _sliced(jobs, rows, times))
    if records.policy in CONSOLIDATING:
        place = np.empty(len(rows), dtype=np.int64)
        place[np.lexsort((rows, _key(records)))] = np.arange(len(rows))
        asked = jobs.configuration[rows], heavy
        return consolidation_violations(records, asked, times, place, jobs.submit, chosen)
    if records.policy not in (*IN_ORDER, *BEYOND, *RESERVING) or not records.complete:
        return []
    if records.policy in RESERVING:
        return reservation_violations(jobs, records, rows, _sliced(jobs, rows, times), spot_checks)
    done, place = _virtual_completions(jobs, records, rows)
    violations = _released(records, done)
    if records.policy == "srpt-workload-hold":
        return violations + _stopping(records, rows, chosen, done)
    if records.policy == "a-srpt-backfill":
        return violations + _backfilled(records, chosen, heavy, done, place)
    violations += _in_virtual_order(records, place)
    if violations:
        return violations
    configuration = jobs.configuration[rows]
    return delay_violations(records, configuration, heavy, times, done, place, spot_checks)


def _key(records: Records) -> Floats:
    if records.policy == "fifo":
        return np.zeros(len(records))
    if records.policy == "spjf":
        return np.asarray(records.predicted * records.estimate)
    return np.asarray(records.gpus * records.predicted * records.estimate)


def _stopping(records: Records, rows: Ints, chosen: Ints, queued: Floats) -> list[Violation]:
    """No job starts while one with a smaller key waits, queued since `queued`."""
    key = _key(records)
    violations = []
    for i in chosen:
        t = records.start[i]
        waits = (queued <= t) & (records.start > t)
        before = (key < key[i]) | ((key == key[i]) & (rows < rows[i]))
        overtaken = np.flatnonzero(waits & before)
        if len(overtaken):
            where = f"job {records.job_id[i]} before job {records.job_id[overtaken[0]]}"
            violations.append(Violation("queue order", "V-A 1-d", where, float(len(overtaken))))
    return violations


def _sliced(jobs: Jobs, rows: Ints, times: IterationTimes) -> Bools:
    """By record: whether a job may wait although its GPUs are free, for its slices' sake."""
    return np.array([times.has_slices(int(c)) for c in jobs.configuration[rows]], dtype=bool)


def _scanning(records: Records, chosen: Ints, sliced: Bools) -> list[Violation]:
    """No job that fits is left waiting after a pass; the passes looked at are those of starts."""
    total = records.servers * records.gpus_per_server
    violations = []
    for i in chosen:
        t = records.start[i]
        running = (records.start <= t) & (records.end > t)
        free = total - int(records.gpus[running].sum())
        waits = (records.submit <= t) & (records.start > t) & ~sliced
        left = np.flatnonzero(waits & (records.gpus <= free))
        if len(left):
            where = f"job {records.job_id[left[0]]} at {t:.6g} s"
            violations.append(Violation("work conservation", "V-A 1-d", where, float(len(left))))
    return violations


def _virtual_completions(jobs: Jobs, records: Records, rows: Ints) -> tuple[Floats, Ints]:
    """When each record's job joins the queue, and its place in it: every job is recorded."""
    total = records.servers * records.gpus_per_server
    work = np.empty(len(rows))
    work[rows] = records.gpus / total * records.predicted * records.estimate
    done, place = virtual_order(jobs.submit, work)
    return done[rows], place[rows]


def _released(records: Records, done: Floats) -> list[Violation]:
    """No job starts before its virtual completion."""
    violations = []
    for i in np.flatnonzero(records.start < done)[:20]:
        where = f"job {records.job_id[i]} before its virtual completion"
        early = float(done[i] - records.start[i])
        violations.append(Violation("queue order", "Algorithm 1", where, early))
    return violations


def _in_virtual_order(records: Records, place: Ints) -> list[Violation]:
    """Jobs start in the order of their virtual completions."""
    violations = []
    in_place = np.argsort(place)
    back = np.flatnonzero(np.diff(records.start[in_place]) < 0)
    for i in back[:20]:
        where = f"job {records.job_id[in_place[i + 1]]} before job {records.job_id[in_place[i]]}"
        violations.append(Violation("queue order", "Algorithm 1", where, 1.0))
    return violations


def _backfilled(
    records: Records, chosen: Ints, heavy: Bools, done: Floats, place: Ints
) -> list[Violation]:
    """A job overtakes only a heavy head, and itself is light or on an offer good enough."""
    good = records.alpha <= records.options.comm_heavy * records.estimate * (1 + ARITHMETIC)
    violations = []
    for i in chosen:
        t = records.start[i]
        ahead = np.flatnonzero((done <= t) & (records.start > t) & (place < place[i]))
        if not len(ahead):
            continue
        head = ahead[np.argmin(place[ahead])]
        if not heavy[head] or (heavy[i] and not good[i]):
            where = f"job {records.job_id[i]} before job {records.job_id[head]}"
            violations.append(Violation("queue order", "backfilling", where, float(len(ahead))))
    return violations


def virtual_order(submit: Floats, work: Floats) -> tuple[Floats, Ints]:
    """Completion by row of preemptive SRPT, and each row's place in the queue that it feeds.

    Jobs without work queue at submission, after completions at that instant.
    """
    done, place = np.empty(len(submit)), np.empty(len(submit), dtype=np.int64)
    left: list[tuple[float, int]] = []
    clock, count = 0.0, 0
    for row, now in enumerate((*submit.tolist(), float("inf"))):
        while left and clock + left[0][0] <= now:
            remaining, first = heapq.heappop(left)
            clock += remaining
            done[first], place[first] = clock, count
            count += 1
        if row == len(submit):
            break
        if work[row] == 0:
            done[row], place[row] = now, count
            count += 1
            continue
        if left:
            remaining, first = heapq.heappop(left)
            heapq.heappush(left, (max(0.0, remaining - (now - clock)), first))
        clock = now
        heapq.heappush(left, (float(work[row]), row))
    return done, place


def reservation_violations(
    jobs: Jobs, records: Records, rows: Ints, sliced: Bools, spot_checks: int
) -> list[Violation]:
    """Check EASY's reservations at starts spread evenly over the run.

    Only jobs that start alone at their instant are looked at: then what ran before is what the
    records say.

    The head is the first job in row order that waits. It is promised the first moment at which, if
    every running job ends as expected (now, once that has passed), its GPUs are free. A job is
    expected to run for its user's estimate, or for its predicted length without one. A later job
    may start if it is expected to end by then, or with GPUs that the head leaves free then; one
    that needs no more GPUs than are free at both moments may not be left waiting, unless it is
    `sliced`: its slices may not fit where they are. Nothing overtakes a head whose GPUs are free.
    """
    _, place, count = np.unique(records.start, return_inverse=True, return_counts=True)
    alone = np.flatnonzero(count[place] == 1)
    if not len(alone):
        return []
    violations = []
    length = np.asarray(records.predicted * records.alpha)
    if (walltime := jobs.workload.walltime) is not None:
        length = np.where(np.isnan(walltime[rows]), length, walltime[rows])
    for i in alone[np.unique(np.linspace(0, len(alone) - 1, spot_checks).astype(np.int64))]:
        t = records.start[i]
        waits = (records.submit <= t) & (records.start > t)
        before = waits & (rows < rows[i])
        if not before.any():
            continue
        head = np.flatnonzero(before)[np.argmin(rows[before])]
        runs = (records.start < t) & (records.end > t)
        promised, spare, free = _reservation(records, length, runs, int(records.gpus[head]), t)
        if free >= records.gpus[head]:
            where = f"job {records.job_id[i]} before job {records.job_id[head]}, which fits"
            violations.append(Violation("queue order", "EASY", where, 1.0))
        if t + length[i] > promised:
            spare -= int(records.gpus[i])
        if spare < 0:
            where = f"job {records.job_id[i]} delays job {records.job_id[head]}"
            violations.append(Violation("reservation", "EASY", where, float(-spare)))
        room = min(free - int(records.gpus[i]), spare)
        left = waits & (rows > rows[head]) & (records.gpus <= room) & ~sliced
        if left.any():
            where = f"job {records.job_id[np.flatnonzero(left)[0]]} at {t:.6g} s"
            violations.append(Violation("work conservation", "EASY", where, float(left.sum())))
    return violations


def _reservation(
    records: Records, length: Floats, runs: Bools, gpus: int, now: float
) -> tuple[float, int, int]:
    """The moment promised, the GPUs free then beside those promised, and those free now."""
    due = np.maximum(records.start + length, now)
    total = records.servers * records.gpus_per_server
    free = total - int(records.gpus[runs].sum())
    for moment in (now, *np.unique(due[runs]).tolist()):
        then = free + int(records.gpus[runs & (due <= moment)].sum())
        if then >= gpus:
            return float(moment), then - gpus, free
    return float("inf"), 0, free  # larger than the cluster: another rule's business
