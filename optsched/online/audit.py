"""An independent audit of a run's records.

It shares nothing with the engine, its queues or its policies: capacity is swept server by server,
every job's alpha is recomputed by a plain Heavy-Edge and the placement checker's arithmetic, and
the queue rules are checked against the records with plain sorting and an SRPT of its own. It uses
the jobs as read from the files, nothing prepared for the engine. O((n + allocations) log n), plus
the spot checks.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from optsched.arrays import Bools, Floats, Ints
from optsched.checking import CANCELLATION, CheckReport, Violation
from optsched.online.audit_rules.cluster_state import Run
from optsched.online.audit_rules.limits import limit_violations, listed
from optsched.online.audit_rules.placement import IterationTimes
from optsched.online.audit_rules.queue import AUDITED, interrupted_violations, queue_violations
from optsched.online.policies.by_name import OFFLINE
from optsched.online.records import Records, Segments

if TYPE_CHECKING:
    from optsched.online.data.jobs import Jobs

DURATION_RTOL = 1e-9
"""Relative rounding allowed in a recomputed duration."""

PERFECT = ("a-srpt-perfect", OFFLINE)
"""Policies that use the true iterations."""


def audit(
    jobs: Jobs, records: Records, *, spot_checks: int = 200, predicted: Floats | None = None
) -> CheckReport:
    """Check a run, and recompute its total flow time."""
    rows, violations = _match(jobs, records, predicted)
    if violations:
        return CheckReport(None, tuple(violations))
    times = IterationTimes(jobs.configurations.jobs, jobs.cluster.hardware)
    early = records.submit - records.start
    wrong = np.flatnonzero(~(early <= 0))
    violations += listed("start", "(1)", records, wrong, early[wrong])
    violations += _segment_violations(records)
    gang = _gang_violations(records)
    violations += gang
    violations += _slot_violations(records)
    if not gang:
        violations += limit_violations(jobs, records, rows)
    misplaced = [] if gang else _replica_violations(jobs, records, rows, times)
    violations += misplaced
    if not gang and not misplaced:
        violations += _duration_violations(jobs, records, rows, times)
    if not violations and spot_checks > 0 and len(records):
        heavy = _heavy(jobs, records, rows, times)
        run = Run(jobs, records, rows, heavy, times)
        violations += queue_violations(run, spot_checks)
        if not records.complete:
            violations += interrupted_violations(run, spot_checks)
    rounding = CANCELLATION * float(np.abs(records.end).sum() + records.submit.sum())
    return CheckReport(float(records.flow.sum()), tuple(violations), rounding)


def _match(jobs: Jobs, records: Records, predicted: Floats | None) -> tuple[Ints, list[Violation]]:
    """Match records to workload rows; report missing, repeated and altered jobs."""
    row_of = {name: row for row, name in enumerate(jobs.workload.job_id)}
    violations: list[Violation] = []
    rows = np.array([row_of.get(name, -1) for name in records.job_id], dtype=np.int64)
    unknown = np.flatnonzero(rows < 0)
    violations += listed("record", "", records, unknown, np.ones(len(unknown)))
    if len(np.unique(rows)) < len(rows):
        violations.append(Violation("record", "", "duplicate job", float(len(rows))))
    if records.complete and len(records) < len(jobs):
        violations.append(Violation("record", "", "jobs missing", float(len(jobs) - len(records))))
    if not np.array_equal(records.server_gpus, jobs.cluster.server_gpus):
        found = f"{records.servers} servers, {records.cluster_gpus} GPUs"
        violations.append(Violation("record: cluster", "", found, 1.0))
    if violations:
        return rows, violations
    if predicted is not None:
        expected_prediction = predicted[rows]
    elif records.policy in PERFECT:
        expected_prediction = records.iterations
    else:
        expected_prediction = records.predicted
    for name, recorded, expected in (
        ("submit", records.submit, jobs.submit[rows]),
        ("gpus", records.gpus, jobs.workload.gpus[rows]),
        ("iterations", records.iterations, jobs.workload.iterations[rows]),
        ("predicted", records.predicted, expected_prediction),
    ):
        difference = np.abs(recorded - expected)
        wrong = np.flatnonzero(~(difference == 0))
        violations += listed(f"record: {name}", "", records, wrong, difference[wrong])
    return rows, violations


def _gang_violations(records: Records) -> list[Violation]:
    """Each job holds g GPUs while it runs, on existing servers, each listed once."""
    segments = records.segments
    gpus = np.zeros(len(segments), dtype=np.int64)
    segment = np.repeat(np.arange(len(segments)), np.diff(segments.first))
    np.add.at(gpus, segment, segments.taken.astype(np.int64))
    difference = gpus - records.gpus[segments.job]
    wrong = np.flatnonzero(difference)
    amounts = difference[wrong].astype(float)
    violations = listed("gang", "(2)", records, segments.job[wrong], amounts)
    invalid = (segments.server < 0) | (segments.server >= records.servers) | (segments.taken <= 0)
    repeated = np.zeros(len(segment), dtype=bool)
    order = np.lexsort((segments.server, segment))
    same = (np.diff(segment[order]) == 0) & (np.diff(segments.server[order]) == 0)
    repeated[order[1:][same]] = True
    wrong = np.unique(segments.job[segment[invalid | repeated]])
    return violations + listed("gang", "(2)", records, wrong, np.ones(len(wrong)))


def _segment_violations(records: Records) -> list[Violation]:
    """A job's segments do not overlap, and there is only one if the policy is non-preemptive."""
    segments = records.segments
    gap = segments.start[1:] - segments.end[:-1]
    overlap = 1 + np.flatnonzero(segments.resumed[1:] & ~(gap >= 0))
    length = segments.end - segments.start
    reverse = np.flatnonzero(~(length >= 0))
    violations = listed("segments", "(3)", records, segments.job[overlap], -gap[overlap - 1])
    violations += listed("segments", "(3)", records, segments.job[reverse], -length[reverse])
    if records.policy in AUDITED:
        resumed = np.unique(segments.job[segments.resumed])
        violations += listed("no preemption", "(3)", records, resumed, np.ones(len(resumed)))
    return violations


def _slot_violations(records: Records) -> list[Violation]:
    """With slots, jobs start at multiples of the slot."""
    segments, slot = records.segments, records.options.slot
    if slot == 0:
        return []
    late = segments.start - np.rint(segments.start / slot) * slot
    wrong = np.flatnonzero(late != 0)
    return listed("slot", "(8)", records, segments.job[wrong], np.abs(late[wrong]))


def _replica_violations(
    jobs: Jobs, records: Records, rows: Ints, times: IterationTimes
) -> list[Violation]:
    """Where replicas are recorded, each stage has all of them, on the GPUs held."""
    if records.replicas is None:
        return []
    configuration, held = jobs.configuration[rows].tolist(), _held(records.segments)
    placed = zip(configuration, held, records.replicas, strict=True)
    wrong = np.flatnonzero([not times.is_placement(*placement) for placement in placed])
    return listed("replicas", "(2)", records, wrong, np.ones(len(wrong)))


def _held(segments: Segments) -> list[tuple[int, ...]]:
    taken = segments.taken.tolist()
    return [tuple(taken[begin:end]) for begin, end in pairwise(segments.first.tolist())]


def _duration_violations(
    jobs: Jobs, records: Records, rows: Ints, times: IterationTimes
) -> list[Violation]:
    """C - t = n alpha, with alpha recomputed: of the replicas recorded, or of Heavy-Edge's.

    If tensor slices do not fit, the rule "slices" is violated. A preempted job must complete n
    iterations over its segments, excluding restores.
    """
    configuration = jobs.configuration[rows]
    estimate = np.array([times.estimate(c) for c in range(len(times.jobs))])[configuration]
    segments = records.segments
    by_segment = configuration[segments.job].tolist()
    if records.replicas is None:
        placed = zip(by_segment, _held(segments), strict=True)
        alpha = np.array([times.of(*placement) for placement in placed])
    else:
        stated = zip(by_segment, records.replicas, strict=True)
        alpha = np.array([times.of_placement(*placement) for placement in stated])
    misfits = np.unique(segments.job[np.isinf(alpha)])
    if len(misfits):
        return listed("slices", "VI", records, misfits, np.ones(len(misfits)))
    violations = []
    for name, owner, recorded, expected in (
        ("alpha~", np.arange(len(records)), records.estimate, estimate),
        ("alpha", segments.job, segments.alpha, alpha),
    ):
        difference = np.abs(recorded - expected) / expected
        wrong = np.flatnonzero(~(difference <= DURATION_RTOL))
        amounts = difference[wrong]
        violations += listed(name, "(7)", records, owner[wrong], amounts, DURATION_RTOL)
    resumed, ended = segments.resumed, segments.ended
    compute_start = np.where(resumed, segments.start + records.options.restore, segments.start)
    ran = segments.end - compute_start
    ran = np.where(~resumed & ended, ran, np.maximum(0.0, ran))
    iterations_done = np.bincount(segments.job, ran / alpha, len(records))
    last = alpha[ended]  # compare in seconds at the last segment's alpha
    length = records.iterations * last
    spacing = 4 * np.spacing(segments.end)
    rounding = np.bincount(segments.job, spacing / alpha, len(records)) * last
    difference = np.abs(iterations_done * last - length)
    wrong = np.flatnonzero(~(difference <= DURATION_RTOL * length + rounding))
    amounts = difference[wrong]
    return violations + listed("duration", "(7)", records, wrong, amounts, DURATION_RTOL)


def _heavy(jobs: Jobs, records: Records, rows: Ints, times: IterationTimes) -> Bools:
    """Whether each record's job is heavy.

    If the ratio equals comm_heavy within rounding, the engine's value decides.
    """
    configurations, threshold = jobs.configurations, records.options.comm_heavy
    ratio = np.array([times.worst(c) / times.estimate(c) for c in range(len(times.jobs))])
    equal = np.abs(ratio - threshold) <= DURATION_RTOL * threshold
    ratio = np.where(equal, configurations.worst / configurations.estimate, ratio)
    return np.asarray((ratio >= threshold)[jobs.configuration[rows]])
