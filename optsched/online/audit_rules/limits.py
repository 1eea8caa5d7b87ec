"""Rules of limits: quotas and windows at all times, and at starts the order of the queue.

A job that is over quota at its turn may be overtaken. Jobs that must fit are counted on servers
that no window closes from then on, so that what windows forbid is never demanded.
Source: models/online/README.md, "Limits".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optsched.arrays import Bools, Floats, Ints
from optsched.checking import Violation
from optsched.online.audit_rules.placement import (
    MAX_LISTED,
    IterationTimes,
    evenly_spaced,
    expected_offer,
    free_gpus,
    lone_starts,
)
from optsched.online.audit_rules.replays import PREEMPTING
from optsched.online.records import Records

if TYPE_CHECKING:
    from optsched.online.data.jobs import Jobs
    from optsched.online.data.workload import Labels

WHERE = "Limits"
USAGE_RTOL = 1e-9
"""Usages that differ less may be in either order."""


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
    segments = records.segments
    if (walltime := jobs.workload.walltime) is None or records.policy in PREEMPTING:
        return segments.end
    estimate = np.where(segments.resumed, np.nan, walltime[rows][segments.job])
    return np.asarray(np.fmax(segments.end, segments.start + estimate))


class Limited:
    """The limits of records: priorities, quotas, and servers that are open at a time."""

    def __init__(self, jobs: Jobs, records: Records, rows: Ints) -> None:
        self.jobs, self.records, self.rows = jobs, records, rows
        table, cluster = jobs.workload, jobs.cluster
        self.user, self.group = table.user.codes[rows], table.group.codes[rows]
        limit = [(table.user.values, cluster.quotas.users)]
        limit += [(table.group.values, cluster.quotas.groups)]
        self.quotas = [np.array([q.get(n, np.inf) for n in names]) for names, q in limit]
        names = zip(table.user.codes, table.group.codes, strict=True)
        priority = [
            cluster.priorities.of(table.user.values[u], table.group.values[g]) for u, g in names
        ]
        self.priority = np.array(priority, dtype=np.int64)[rows]

    def rank(self, key: Floats | Ints) -> Ints:
        """Place of each record in the queue's order: priority, key, row."""
        rank = np.empty(len(self.rows), dtype=np.int64)
        rank[np.lexsort((self.rows, key, -self.priority))] = np.arange(len(rank))
        return rank

    def over_quota(self, job: int, running: Bools) -> bool:
        gpus = self.records.gpus
        return any(
            gpus[running & (codes == codes[job])].sum() + gpus[job] > quota[codes[job]]
            for codes, quota in zip((self.user, self.group), self.quotas, strict=True)
        )

    def free_for_good(self, running: Bools, now: float) -> int:
        """Free GPUs of servers without a window from now on."""
        segments = self.records.segments
        held = running[np.repeat(segments.job, np.diff(segments.first))]
        free = np.array(free_gpus(self.records, segments.server[held], segments.taken[held]))
        for window in self.jobs.cluster.maintenance:
            if window.end - self.jobs.first_submission > now:
                free[window.indices(self.records.servers)] = 0
        return int(free.sum())

    def open_servers(
        self, times: IterationTimes, i: int, now: float, free: list[int], rule: str
    ) -> list[int]:
        """Free GPUs of the servers that a record's offer is taken from; 0 for all others."""
        gpus, row, until = int(self.records.gpus[i]), int(self.rows[i]), np.full(len(free), np.inf)
        for window in self.jobs.cluster.maintenance:
            start, end = (t - self.jobs.first_submission for t in (window.start, window.end))
            if end > now:
                servers = window.indices(len(free))
                until[servers] = np.minimum(until[servers], start if start > now else -np.inf)
        horizon, walltime = now, self.jobs.workload.walltime
        while True:
            left = [gpus if u >= horizon else 0 for gpus, u in zip(free, until, strict=True)]
            offer = expected_offer(left, rule, gpus)
            alpha = times.of(int(self.jobs.configuration[row]), tuple(offer.values()))
            length = float(self.records.iterations[i]) * alpha
            end = now + np.fmax(length, np.nan if walltime is None else walltime[row])
            if sum(left) < gpus or not ((until >= horizon) & (until < end)).any():
                return left
            horizon = end


def overtaking_violations(
    limited: Limited, chosen: Ints, key: Floats | Ints, queued: Floats
) -> list[Violation]:
    """No job starts while one before it waits, queued since `queued`, that is not over quota."""
    records, rank, violations = limited.records, limited.rank(key), []
    for i in chosen:
        t = records.start[i]
        waiting = (queued <= t) & (records.start > t) & (rank < rank[i])
        for j in np.flatnonzero(waiting)[np.argsort(rank[waiting])].tolist():
            before = (records.start < t) | ((records.start == t) & (rank < rank[j]))
            if not limited.over_quota(j, before & (records.end > t)):
                where = f"job {records.job_id[i]} before job {records.job_id[j]}"
                violations.append(Violation("queue order", WHERE, where, 1.0))
                break
    return violations


def idle_violations(limited: Limited, chosen: Ints, sliced: Bools) -> list[Violation]:
    """No job that fits and is not over quota waits after a pass; checked at start times."""
    records, violations = limited.records, []
    for i in chosen:
        t = records.start[i]
        running = (records.start <= t) & (records.end > t)
        free = limited.free_for_good(running, t)
        waiting = (records.submit <= t) & (records.start > t) & ~sliced & (records.gpus <= free)
        fitting = [
            j for j in np.flatnonzero(waiting).tolist() if not limited.over_quota(j, running)
        ]
        if fitting:
            where = f"job {records.job_id[fitting[0]]} at {t:.6g} s"
            violations.append(Violation("work conservation", WHERE, where, float(len(fitting))))
    return violations


def fair_share_violations(limited: Limited, sliced: Bools, spot_checks: int) -> list[Violation]:
    """At lone starts the job is its user's first, and no user with a smaller key has one that fits.

    Afterwards no user's first job fits.
    """
    records, user, violations = limited.records, limited.user, []
    rank = limited.rank(limited.rows)
    by_rank = np.argsort(rank)
    for i in evenly_spaced(lone_starts(records.start), spot_checks).tolist():
        t, gpus = records.start[i], records.gpus
        held = np.where(records.start < t, np.minimum(records.end, t) - records.start, 0.0)
        usage = np.bincount(user, gpus * held)
        running = (records.start < t) & (records.end > t)
        held_now = np.bincount(user, gpus * running, len(usage))
        for has_started in (False, True):
            running[i] = has_started
            waiting = by_rank[((records.submit <= t) & (records.start >= t) & ~running)[by_rank]]
            firsts = waiting[np.unique(user[waiting], return_index=True)[1]]
            if not has_started and i not in firsts:
                where = f"job {records.job_id[i]} is not the first of its user"
                violations.append(Violation("fair share", WHERE, where, 1.0))
                break
            free = limited.free_for_good(running, t)
            for j in firsts[(firsts != i) & (gpus[firsts] <= free) & ~sliced[firsts]].tolist():
                if limited.over_quota(j, running):
                    continue
                u, v = user[i], user[j]
                tied = abs(usage[u] - usage[v]) <= USAGE_RTOL * usage[u]
                order = (0, held_now[u] - held_now[v]) if tied else (usage[u] - usage[v], 0)
                keys = (limited.priority[j] - limited.priority[i], *order, rank[i] - rank[j])
                if tied and usage[u] != usage[v]:
                    keys = keys[:1]  # rounding decides
                if has_started or keys > (0,) * len(keys):
                    rule = "work conservation" if has_started else "fair share"
                    where = f"job {records.job_id[j]} at {t:.6g} s"
                    violations.append(Violation(rule, WHERE, where, 1.0))
    return violations[:MAX_LISTED]
