"""Rules of limits at all times: capacity, quotas and windows; and the priorities of jobs.

Source: models/online/README.md, "Limits".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from optsched.arrays import Floats, Ints
from optsched.checking import Violation
from optsched.online.records import Records

if TYPE_CHECKING:
    from optsched.online.data.jobs import Jobs

WHERE = "Limits"
MAX_LISTED = 20
"""Violations listed for each rule."""
PREEMPTING = ("las", "srpt-preemptive", "max-min")


def limit_violations(jobs: Jobs, records: Records, rows: Ints) -> list[Violation]:
    """No server, user or group exceeds its GPUs at any time, and no job runs into a window."""
    table, quotas, segments = jobs.workload, jobs.cluster.quotas, records.segments
    segment = np.repeat(np.arange(len(segments)), np.diff(segments.first))
    taken, servers = segments.taken.astype(np.int64), range(records.servers)
    on_servers = segments.server, segment, taken
    violations = _excess_violations("server", servers, records.server_gpus, records, *on_servers)
    for kind, labels, quota in (
        ("user", table.user, quotas.users),
        ("group", table.group, quotas.groups),
    ):
        if quota:
            code, gpus = labels.codes[rows][segments.job], records.gpus[segments.job]
            capacity = np.array([quota.get(name, np.inf) for name in labels.values])
            of_all = code, np.arange(len(segments)), gpus
            violations += _excess_violations(kind, labels.values, capacity, records, *of_all)
    return violations + _window_violations(jobs, records, rows)


def _excess_violations(
    kind: str,
    names: Sequence[str | int],
    capacity: Floats | Ints,
    records: Records,
    code: Ints,
    segment: Ints,
    gpus: Ints,
) -> list[Violation]:
    """GPUs that segments hold of each server or quota are at most its capacity."""
    segments, violations = records.segments, []
    time = np.concatenate((segments.start[segment], segments.end[segment]))
    change, code, segment = np.concatenate((gpus, -gpus)), np.tile(code, 2), np.tile(segment, 2)
    order = np.lexsort((change, time, code))  # ends before starts
    # the changes of each code sum to 0, so the cumulative sum is 0 where its changes begin
    excess = np.cumsum(change[order]) - capacity[code[order]]
    rule, equation = ("capacity", "(3)") if kind == "server" else ("quota", WHERE)
    for i in np.flatnonzero(excess > 0)[:MAX_LISTED].tolist():
        k = order[i]
        job = records.job_id[segments.job[segment[k]]]
        where = f"{kind} {names[code[k]]!r} at {time[k]:.6g} s, job {job}"
        violations.append(Violation(rule, equation, where, float(excess[i])))
    return violations


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
