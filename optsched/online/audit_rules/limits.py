"""Rules of limits: quotas and windows at all times, and the priorities of jobs.

Source: models/online/README.md, "Limits".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optsched.arrays import Floats, Ints
from optsched.checking import Violation
from optsched.online.records import Records

if TYPE_CHECKING:
    from optsched.online.data.jobs import Jobs
    from optsched.online.data.workload import Labels

WHERE = "Limits"
MAX_LISTED = 20
"""Violations listed for each rule."""
PREEMPTING = ("las", "srpt-preemptive", "max-min")


def limit_violations(jobs: Jobs, records: Records, rows: Ints) -> list[Violation]:
    """No user or group exceeds its quota at any time, and no job runs into a window."""
    table, quotas = jobs.workload, jobs.cluster.quotas
    return [
        *_quota_violations(records, "user", table.user, rows, quotas.users),
        *_quota_violations(records, "group", table.group, rows, quotas.groups),
        *_window_violations(jobs, records, rows),
    ]


def _quota_violations(
    records: Records, kind: str, labels: Labels, rows: Ints, quotas: dict[str, int]
) -> list[Violation]:
    segments, violations = records.segments, []
    codes = labels.codes[rows][segments.job]
    for name in (name for name in labels.values if name in quotas):
        chosen = np.flatnonzero(codes == labels.values.index(name))
        gpus = records.gpus[segments.job[chosen]]
        time = np.concatenate((segments.start[chosen], segments.end[chosen]))
        change = np.concatenate((gpus, -gpus))
        order = np.lexsort((change, time))  # ends before starts
        excess = np.cumsum(change[order]) - quotas[name]
        for i in np.flatnonzero(excess > 0)[:1]:
            where = f"{kind} {name!r} at {time[order[i]]:.6g} s"
            violations.append(Violation("quota", WHERE, where, float(excess.max())))
    return violations[:MAX_LISTED]


def _window_violations(jobs: Jobs, records: Records, rows: Ints) -> list[Violation]:
    segments, violations = records.segments, []
    end, rounding = _planned_end(jobs, records, rows), 4 * np.spacing(segments.end)
    owner = np.repeat(np.arange(len(segments)), np.diff(segments.first))
    for i, window in enumerate(jobs.cluster.maintenance):
        closed = np.zeros(records.servers, dtype=bool)
        closed[window.indices(records.servers)] = True
        first, last = (t - jobs.first_submission for t in (window.start, window.end))
        inside = (segments.start < last) & (end - rounding > first)
        for segment in np.unique(owner[closed[segments.server] & inside[owner]])[:MAX_LISTED]:
            where = f"job {records.job_id[segments.job[segment]]} in window {i}"
            amount = min(float(end[segment]), last) - max(float(segments.start[segment]), first)
            violations.append(Violation("maintenance", WHERE, where, amount))
    return violations


def _planned_end(jobs: Jobs, records: Records, rows: Ints) -> Floats:
    """The end of each segment, or that of the user's estimate if it counts and is later."""
    segments, walltime = records.segments, jobs.workload.walltime
    if walltime is None or records.policy in PREEMPTING:
        return segments.end
    planned = segments.start + walltime[rows][segments.job]
    return np.where(segments.resumed, segments.end, np.fmax(segments.end, planned))


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
