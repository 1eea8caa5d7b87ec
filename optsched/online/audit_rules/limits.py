"""Rules of limits at all times: capacity, quotas and windows; and the priorities of jobs.

Source: models/online/README.md, "Limits".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.arrays import Floats, Ints
from optsched.checking import Violation
from optsched.online.records import Records

if TYPE_CHECKING:
    from optsched.online.data.jobs import Jobs

MAX_LISTED = 20
"""Violations listed for each rule."""
PREEMPTING = ("las", "srpt-preemptive", "max-min")


def limit_violations(jobs: Jobs, records: Records, rows: Ints) -> list[Violation]:
    """No server, user or group exceeds its GPUs at any time, and no job runs into a window."""
    table, quotas, segments = jobs.workload, jobs.cluster.quotas, records.segments
    servers = range(records.servers)
    segment = np.repeat(np.arange(len(segments)), np.diff(segments.first))
    violations = _excess_violations(
        records, "server", servers, records.server_gpus, segments.server, segment
    )
    for kind, labels, quota in (
        ("user", table.user, quotas.users),
        ("group", table.group, quotas.groups),
    ):
        if quota:
            capacity = np.array([quota.get(name, np.inf) for name in labels.values])
            code = labels.codes[rows][segments.job[segment]].astype(np.int64)
            violations += _excess_violations(records, kind, labels.values, capacity, code, segment)
    return violations + _window_violations(jobs, records, rows)


def _excess_violations(
    records: Records, kind: str, names: Sequence[Any], capacity: Any, code: Ints, segment: Ints
) -> list[Violation]:
    """The GPUs that allocations take of each server or quota are at most its capacity."""
    segments, violations = records.segments, []
    taken = segments.taken.astype(np.int64)
    time = np.concatenate((segments.start[segment], segments.end[segment]))
    change, code, segment = np.append(taken, -taken), np.tile(code, 2), np.tile(segment, 2)
    order = np.lexsort((change, time, code))  # ends before starts
    # the changes of each code sum to 0, so the cumulative sum is 0 where its changes begin
    excess = np.cumsum(change[order]) - capacity[code[order]]
    rule, equation = ("capacity", "(3)") if kind == "server" else ("quota", "Limits")
    for i in np.flatnonzero(excess > 0)[:MAX_LISTED].tolist():
        k = order[i]
        job = records.job_id[segments.job[segment[k]]]
        where = f"{kind} {names[code[k]]!r} at {time[k]:.6g} s, job {job}"
        violations.append(Violation(rule, equation, where, float(excess[i])))
    return violations


def _window_violations(jobs: Jobs, records: Records, rows: Ints) -> list[Violation]:
    segments, violations, walltime = records.segments, [], jobs.workload.walltime
    end, rounding = segments.end, 4 * np.spacing(segments.end)
    if walltime is not None and records.policy not in PREEMPTING:
        planned = segments.start + walltime[rows][segments.job]
        end = np.where(segments.resumed, end, np.fmax(end, planned))
    owner = np.repeat(np.arange(len(segments)), np.diff(segments.first))
    for i, window in enumerate(jobs.cluster.maintenance):
        closed = np.zeros(records.servers, dtype=bool)
        closed[window.indices(records.servers)] = True
        first, last = (t - jobs.first_submission for t in (window.start, window.end))
        inside = (segments.start < last) & (end - rounding > first)
        for segment in np.unique(owner[closed[segments.server] & inside[owner]])[:MAX_LISTED]:
            where = f"job {records.job_id[segments.job[segment]]} in window {i}"
            amount = min(float(end[segment]), last) - max(float(segments.start[segment]), first)
            violations.append(Violation("maintenance", "Limits", where, amount))
    return violations[:MAX_LISTED]


def priorities(jobs: Jobs, rows: Ints) -> Ints:
    """Priority of each record, the highest first."""
    user, group, given = jobs.workload.user, jobs.workload.group, jobs.cluster.priorities
    if "priorities" not in jobs.cluster.limits:
        return np.zeros(len(rows), dtype=np.int64)
    codes = zip(user.codes[rows].tolist(), group.codes[rows].tolist(), strict=True)
    named = [given.of(user.values[u], group.values[g]) for u, g in codes]
    return np.array(named, dtype=np.int64)


def listed(
    rule: str, equation: str, records: Records, wrong: Ints, amounts: Floats, tolerance: float = 0.0
) -> list[Violation]:
    return [
        Violation(rule, equation, f"job {records.job_id[i]}", float(amount), tolerance)
        for i, amount in zip(wrong[:MAX_LISTED], amounts[:MAX_LISTED], strict=True)
    ]
