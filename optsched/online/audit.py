"""An independent audit of a run's records.

It shares nothing with the engine, its queues or its policies: capacity is swept server by server,
every job's alpha is recomputed by a plain Heavy-Edge and the placement checker's arithmetic, and
the queue rules are checked against the records with plain sorting and an SRPT of its own. Of the
jobs it takes what the files say, nothing prepared for the engine. O((n + pieces) log n), and the
spot checks.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from optsched.checking import CANCELLATION, CheckReport, Violation
from optsched.online.audit_rules.placement import IterationTimes, offer_violations
from optsched.online.audit_rules.preemption import PREEMPTING, preemption_violations
from optsched.online.audit_rules.queue import CHECKED, queue_violations
from optsched.online.records import Records

if TYPE_CHECKING:
    from optsched.online.data.jobs import Jobs

ARITHMETIC = 1e-9
"""Relative rounding allowed in a recomputed duration."""

PERFECT = ("a-srpt-perfect",)
"""Policies that know the true iterations."""

MOST_LISTED = 20
"""Violations listed for each rule."""


def audit(
    jobs: Jobs,
    records: Records,
    *,
    spot_checks: int = 200,
    predicted: NDArray[np.float64] | None = None,
) -> CheckReport:
    """Check a run, and recompute its total flow time."""
    rows, violations = _match(jobs, records, predicted)
    if violations:
        return CheckReport(None, _few(violations))
    times = IterationTimes(jobs.configurations.jobs, jobs.cluster.hardware)
    violations += _start_violations(records)
    violations += _segment_violations(records)
    gang = _gang_violations(records)
    violations += gang
    violations += _capacity_violations(records)
    if not gang:
        violations += _duration_violations(jobs, records, rows, times)
    if not violations and spot_checks > 0 and len(records):
        heavy = _heavy(jobs, records, rows, times)
        stopping = records.policy in PREEMPTING
        whole = records.complete and records.options.slot == 0
        if stopping and whole:  # in part of a run the jobs that wait are missing
            sliced = np.array([times.has_slices(int(c)) for c in jobs.configuration[rows]])
            violations += preemption_violations(jobs, records, rows, sliced, spot_checks)
        violations += queue_violations(jobs, records, rows, heavy, times, spot_checks)
        if records.policy in CHECKED or (stopping and whole):  # not a user's own
            violations += offer_violations(records, heavy, spot_checks)
    rounding = CANCELLATION * float(np.abs(records.end).sum() + records.submit.sum())
    return CheckReport(float(records.flow.sum()), _few(violations), rounding)


def _few(violations: list[Violation]) -> tuple[Violation, ...]:
    """Return the first `MOST_LISTED` violations of each rule."""
    count: Counter[str] = Counter()
    few = []
    for violation in violations:
        count[violation.rule] += 1
        if count[violation.rule] <= MOST_LISTED:
            few.append(violation)
    return tuple(few)


def _match(
    jobs: Jobs, records: Records, predicted: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], list[Violation]]:
    """Match records to workload rows; report missing, repeated and altered jobs."""
    row_of = {name: row for row, name in enumerate(jobs.workload.job_id)}
    violations: list[Violation] = []
    rows = np.array([row_of.get(name, -1) for name in records.job_id], dtype=np.int64)
    unknown = np.flatnonzero(rows < 0)
    violations += _listed("record", "", records, unknown, np.ones(len(unknown)))
    if len(np.unique(rows)) < len(rows):
        violations.append(Violation("record", "", "a job twice", float(len(rows))))
    if records.complete and len(records) < len(jobs):
        violations.append(Violation("record", "", "jobs missing", float(len(jobs) - len(records))))
    cluster = (records.servers, records.gpus_per_server)
    if cluster != (jobs.cluster.servers, jobs.cluster.gpus_per_server):
        violations.append(
            Violation("record: cluster", "", f"{cluster[0]} x {cluster[1]} GPUs", 1.0)
        )
    if violations:
        return rows, violations
    known = records.iterations if records.policy in PERFECT else records.predicted
    for name, said, true in (
        ("submit", records.submit, jobs.submit[rows]),
        ("gpus", records.gpus, jobs.workload.gpus[rows]),
        ("iterations", records.iterations, jobs.workload.iterations[rows]),
        ("predicted", records.predicted, known if predicted is None else predicted[rows]),
    ):
        off = np.abs(said - true)
        bad = np.flatnonzero(~(off == 0))
        violations += _listed(f"record: {name}", "", records, bad, off[bad])
    return rows, violations


def _start_violations(records: Records) -> list[Violation]:
    early = records.submit - records.start
    bad = np.flatnonzero(~(early <= 0))
    return _listed("start", "(1)", records, bad, early[bad])


def _gang_violations(records: Records) -> list[Violation]:
    """Each job holds g GPUs while it runs, on servers that exist, each named once."""
    parts = records.segments
    held = np.zeros(len(parts), dtype=np.int64)
    part = np.repeat(np.arange(len(parts)), np.diff(parts.first))
    np.add.at(held, part, parts.taken.astype(np.int64))
    off = held - records.gpus[parts.job]
    bad = np.flatnonzero(off)
    violations = _listed("gang", "(2)", records, parts.job[bad], off[bad].astype(float))
    strange = (parts.server < 0) | (parts.server >= records.servers) | (parts.taken <= 0)
    repeated = np.zeros(len(part), dtype=bool)
    order = np.lexsort((parts.server, part))
    same = (np.diff(part[order]) == 0) & (np.diff(parts.server[order]) == 0)
    repeated[order[1:][same]] = True
    bad = np.unique(parts.job[part[strange | repeated]])
    return violations + _listed("gang", "(2)", records, bad, np.ones(len(bad)))


def _segment_violations(records: Records) -> list[Violation]:
    """A job's segments follow one another, and are one where its policy stops none."""
    parts = records.segments
    early = parts.start[1:] - parts.end[:-1]
    bad = 1 + np.flatnonzero(parts.resumed[1:] & ~(early >= 0))
    violations = _listed("segments", "(3)", records, parts.job[bad], -early[bad - 1])
    back = np.flatnonzero(~(parts.end >= parts.start))
    violations += _listed(
        "segments", "(3)", records, parts.job[back], (parts.start - parts.end)[back]
    )
    if records.policy in CHECKED:
        several = np.unique(parts.job[parts.resumed])
        violations += _listed("no preemption", "(3)", records, several, np.ones(len(several)))
    return violations


def _capacity_violations(records: Records) -> list[Violation]:
    """At every moment each server's GPUs in use are at most those it has; ends come first."""
    parts = records.segments
    part = np.repeat(np.arange(len(parts)), np.diff(parts.first))
    taken = parts.taken.astype(np.int64)
    time = np.concatenate((parts.start[part], parts.end[part]))
    change = np.concatenate((taken, -taken))
    place = np.concatenate((parts.server, parts.server))
    owner = parts.job[np.concatenate((part, part))]
    order = np.lexsort((change, time, place))
    running = np.cumsum(change[order])
    over = np.flatnonzero(running > records.gpus_per_server)
    # each server's changes sum to 0, so the running sum starts anew at each server
    return [
        Violation(
            "capacity",
            "(3)",
            f"server {place[order][i]} at {time[order][i]:.6g} s, job "
            f"{records.job_id[owner[order][i]]}",
            float(running[i] - records.gpus_per_server),
        )
        for i in over[:MOST_LISTED]
    ]


def _duration_violations(
    jobs: Jobs, records: Records, rows: NDArray[np.int64], times: IterationTimes
) -> list[Violation]:
    """C - t = n alpha, with alpha of Heavy-Edge recomputed on the servers held.

    On servers that cannot hold a job's slices it has none. A job that was stopped makes n
    iterations in all its segments, at each one's alpha and none while a checkpoint is restored.
    """
    configuration = jobs.configuration[rows]
    estimate = np.array([times.estimate(c) for c in range(len(times.jobs))])[configuration]
    parts = records.segments
    first, taken = parts.first.tolist(), parts.taken.tolist()
    alpha = np.array(
        [
            times.of(c, tuple(taken[begin:end]))
            for c, (begin, end) in zip(
                configuration[parts.job].tolist(), pairwise(first), strict=True
            )
        ]
    )
    unfit = np.unique(parts.job[np.isinf(alpha)])
    if len(unfit):
        return _listed("slices", "VI", records, unfit, np.ones(len(unfit)))
    violations = []
    for name, owner, said, true in (
        ("alpha~", np.arange(len(records)), records.estimate, estimate),
        ("alpha", parts.job, parts.alpha, alpha),
    ):
        off = np.abs(said - true) / true
        bad = np.flatnonzero(~(off <= ARITHMETIC))
        violations += _listed(name, "(7)", records, owner[bad], off[bad], ARITHMETIC)
    begun, ended = ~parts.resumed, parts.ended
    begin = np.where(begun, parts.start, parts.start + records.options.restore)
    ran = np.where(begun & ended, parts.end - parts.start, np.maximum(0.0, parts.end - begin))
    made = np.bincount(parts.job, ran / alpha, len(records))
    last = alpha[ended]  # what is missing or too much, at the pace the job ended with
    length = records.iterations * last
    rounding = np.bincount(parts.job, 4 * np.spacing(parts.end) / alpha, len(records)) * last
    off = np.abs(made * last - length)
    bad = np.flatnonzero(~(off <= ARITHMETIC * length + rounding))
    return violations + _listed("duration", "(7)", records, bad, off[bad], ARITHMETIC)


def _heavy(
    jobs: Jobs, records: Records, rows: NDArray[np.int64], times: IterationTimes
) -> NDArray[np.bool_]:
    """Whether each record's job is heavy; ties up to rounding follow the run's own digits."""
    made, least = jobs.configurations, records.options.comm_heavy
    ratio = np.array([times.worst(c) / times.estimate(c) for c in range(len(times.jobs))])
    equal = np.abs(ratio - least) <= ARITHMETIC * least
    heavy = np.where(equal, made.worst / made.estimate >= least, ratio >= least)
    return np.asarray(heavy[jobs.configuration[rows]])


def _listed(
    rule: str,
    equation: str,
    records: Records,
    bad: NDArray[np.int64],
    amount: NDArray[np.float64],
    tolerance: float = 0.0,
) -> list[Violation]:
    return [
        Violation(rule, equation, f"job {records.job_id[i]}", float(a), tolerance)
        for i, a in zip(bad[:MOST_LISTED], amount[:MOST_LISTED], strict=True)
    ]
