"""Rules of queues: passes are repeated in the order of each policy.

Only the records are used; runs with slots and custom policies are skipped.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from optsched.arrays import Bools, Floats, Ints
from optsched.checking import Violation
from optsched.online.audit_rules.cluster_state import ClusterState
from optsched.online.audit_rules.limits import PREEMPTING
from optsched.online.audit_rules.passes import (
    DELAYING,
    WITHOUT_HEAD,
    WORK_CONSERVING,
    pass_violations,
)
from optsched.online.audit_rules.placement import MAX_LISTED, IterationTimes
from optsched.online.audit_rules.preemption import preemption_violations
from optsched.online.records import Records

if TYPE_CHECKING:
    from optsched.online.data.jobs import Jobs

IN_ORDER = ("fifo", "a-srpt", "a-srpt-perfect")
"""Policies that start jobs in the order of their queue."""
AUDITED = (*DELAYING, *WITHOUT_HEAD, "fifo", "spjf", "spwf", "easy")
"""Policies whose queue rules are audited."""


def queue_violations(
    jobs: Jobs,
    records: Records,
    rows: Ints,
    heavy: Bools,
    times: IterationTimes,
    spot_checks: int,
) -> list[Violation]:
    """Repeat passes spread over a run of a named policy."""
    policy = records.policy
    if records.options.slot > 0 or policy not in (*AUDITED, *PREEMPTING):
        return []
    if not records.complete and policy not in (*WORK_CONSERVING, "spwf-consolidated"):
        return []  # a waiting job without a record may block others
    state = ClusterState(jobs, records, rows, heavy, times)
    if policy in PREEMPTING:
        return preemption_violations(jobs, state, rows, spot_checks)
    queued, key = records.submit, _key(records)
    if policy in DELAYING:
        queued, place = _joined(jobs, records, rows)
        key = key if policy == "srpt-workload-hold" else place.astype(np.float64)
        if violations := _released(records, queued):
            return violations
    rank = np.empty(len(rows), dtype=np.int64)
    rank[np.lexsort((rows, key, -state.priority))] = np.arange(len(rows))
    reorders = {"quotas", "priorities"}.intersection(jobs.cluster.limits)
    violations = _started_in_order(records, rank) if policy in IN_ORDER and not reorders else []
    return violations or pass_violations(jobs, state, rows, queued, rank, spot_checks)


def _joined(jobs: Jobs, records: Records, rows: Ints) -> tuple[Floats, Ints]:
    """When each record's job joins the queue of the virtual machine, and its rank in it."""
    gpu_share = records.gpus / records.cluster_gpus
    work = np.empty(len(rows))
    work[rows] = gpu_share * records.predicted * records.estimate
    virtual_completion, rank = virtual_order(jobs.submit, work)
    return virtual_completion[rows], rank[rows]


def _key(records: Records) -> Floats:
    """Each job's key in the queue of a policy without a virtual machine, before its row."""
    if records.policy in ("fifo", "wcs-subtime", "easy", "fair-share"):
        return np.zeros(len(records))
    if records.policy in ("spjf", "wcs-duration"):
        return np.asarray(records.predicted * records.estimate)
    return np.asarray(records.gpus * records.predicted * records.estimate)


def _released(records: Records, virtual_completion: Floats) -> list[Violation]:
    """No job starts before its virtual completion."""
    violations = []
    for i in np.flatnonzero(records.start < virtual_completion)[:MAX_LISTED]:
        where = f"job {records.job_id[i]} before its virtual completion"
        early = float(virtual_completion[i] - records.start[i])
        violations.append(Violation("queue order", "Algorithm 1", where, early))
    return violations


def _started_in_order(records: Records, rank: Ints) -> list[Violation]:
    """Jobs start in the order of a queue that is first in, first out."""
    violations = []
    by_rank = np.argsort(rank)
    for i in np.flatnonzero(np.diff(records.start[by_rank]) < 0)[:MAX_LISTED]:
        where = f"job {records.job_id[by_rank[i + 1]]} before job {records.job_id[by_rank[i]]}"
        violations.append(Violation("queue order", records.policy, where, 1.0))
    return violations


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
            remaining, first = heapq.heappop(active)
            heapq.heappush(active, (max(0.0, remaining - (now - clock)), first))
        clock = now
        heapq.heappush(active, (float(work[row]), row))
    return completion, rank
