"""Rules of queues: passes are repeated in the order of each policy.

Only the records are used; runs with slots and custom policies are skipped.
"""

from __future__ import annotations

import heapq

import numpy as np

from optsched.arrays import Floats, Ints
from optsched.checking import Violation
from optsched.online.audit_rules.cluster_state import ClusterState, Run
from optsched.online.audit_rules.limits import MAX_LISTED, PREEMPTING, listed
from optsched.online.audit_rules.passes import (
    DELAYING,
    WITHOUT_HEAD,
    WORK_CONSERVING,
    pass_violations,
)
from optsched.online.audit_rules.preemption import preemption_violations
from optsched.online.records import Records

IN_ORDER = ("fifo", "a-srpt", "a-srpt-perfect")
"""Policies that start jobs in the order of their queue."""
AUDITED = (*DELAYING, *WITHOUT_HEAD, "fifo", "spjf", "spwf", "easy")
"""Policies whose queue rules are audited."""


def queue_violations(run: Run, spot_checks: int) -> list[Violation]:
    """Repeat passes spread over a run of a named policy."""
    records, policy = run.records, run.records.policy
    if records.options.slot > 0 or policy not in (*AUDITED, *PREEMPTING):
        return []
    if not records.complete and policy not in (*WORK_CONSERVING, "spwf-consolidated"):
        return []  # a waiting job without a record may block others
    if policy in PREEMPTING:
        return preemption_violations(run, spot_checks)
    queued, key = records.submit, _key(records)
    if policy in DELAYING:
        queued, place = _joined(run)
        key = key if policy == "srpt-workload-hold" else place.astype(np.float64)
    rank = np.argsort(np.lexsort((run.rows, key, -run.priority)))
    return _order_violations(run, queued, rank) or pass_violations(run, queued, rank, spot_checks)


def interrupted_violations(run: Run, spot_checks: int) -> list[Violation]:
    """Without windows, a job that starts alone at its time gets the servers of its offer."""
    records, segments, violations = run.records, run.segments, []
    is_named = records.policy in AUDITED and records.options.offer is not None
    if not is_named or records.options.slot > 0 or run.jobs.cluster.maintenance:
        return []
    state, (times, count) = ClusterState(run), np.unique(segments.start, return_counts=True)
    for now in run.times_to_check(times[count == 1], np.empty(0), spot_checks):
        state.go_to(now, (segments.start < now) & (segments.end > now))
        ((i, servers),) = run.starting(now).items()
        if state.offer(i, state.free, now, now, 0.0, now)[0] != servers:
            where, gpus = f"job {records.job_id[i]}", float(run.gpus[i])
            violations.append(Violation("offer", "offer", where, gpus))
    return violations[:MAX_LISTED]


def _joined(run: Run) -> tuple[Floats, Ints]:
    """When each record's job joins the queue of the virtual machine, and its place in it."""
    records, work = run.records, np.empty(len(run.rows))
    gpu_share = records.gpus / records.cluster_gpus
    work[run.rows] = gpu_share * records.predicted * records.estimate
    completion, place = virtual_order(run.jobs.submit, work)
    return completion[run.rows], place[run.rows]


def _key(records: Records) -> Floats:
    """Each job's key in the queue of a policy without a virtual machine, before its row."""
    if records.policy in ("fifo", "wcs-subtime", "easy", "fair-share"):
        return np.zeros(len(records))
    if records.policy in ("spjf", "wcs-duration"):
        return np.asarray(records.predicted * records.estimate)
    return np.asarray(records.gpus * records.predicted * records.estimate)


def _order_violations(run: Run, queued: Floats, rank: Ints) -> list[Violation]:
    """No job starts before it queues, or overtakes another one where none may."""
    records, by_rank = run.records, np.argsort(rank)
    early = queued - records.start
    if records.policy in IN_ORDER and not run.has_reordering_limits:
        latest = np.maximum.accumulate(records.start[by_rank])
        early[by_rank] = np.maximum(early[by_rank], latest - records.start[by_rank])
    wrong = np.flatnonzero(early > 0)
    return listed("queue order", records.policy, records, wrong, early[wrong])


def virtual_order(submit: Floats, work: Floats) -> tuple[Floats, Ints]:
    """Completion by row of preemptive SRPT, and each row's rank in the queue that it feeds.

    Jobs without work queue at submission, after completions at that time.
    """
    completion, rank = np.empty(len(submit)), np.empty(len(submit), dtype=np.int64)
    active: list[tuple[float, int]] = []  # (remaining work, row)
    clock, count = 0.0, 0
    for row, now in enumerate((*submit.tolist(), float("inf"))):
        while active and clock + active[0][0] <= now:
            remaining, first = heapq.heappop(active)
            clock += remaining
            completion[first], rank[first] = clock, count
            count += 1
        if row == len(submit):
            break
        if work[row] == 0:
            completion[row], rank[row] = now, count
            count += 1
            continue
        if active:
            remaining, first = active[0]
            heapq.heapreplace(active, (max(0.0, remaining - (now - clock)), first))
        clock = now
        heapq.heappush(active, (float(work[row]), row))
    return completion, rank
