"""Checking a run's file: the audit, with lengths and predictions recomputed.

Only the servers that each job held, and when, are taken from the file.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from optsched.checking import CheckReport, another_instance, claim_violation
from optsched.files import instance_sha256
from optsched.online.audit import audit
from optsched.online.audit_rules.placement import IterationTimes
from optsched.online.data.jobs import Jobs, prepare_jobs
from optsched.online.instance import OnlineInstance
from optsched.online.options import OnlineOptions
from optsched.online.policies.by_name import PolicyOptions, find_policy
from optsched.online.prediction.predictors import predict
from optsched.online.prediction.statistics import ZERO
from optsched.online.records import Floats, Records, Segment, Segments
from optsched.online.solution import OnlineSolution

SPOT_CHECKS = 1000


def check(
    instance: OnlineInstance, solution: OnlineSolution, options: dict[str, Any] | None = None
) -> CheckReport:
    """Audit a run and recompute its total flow time."""
    given = {"unseen": ZERO, **solution.options} if options is None else options
    chosen = OnlineOptions.from_dict(given)  # a file that does not say is older than the option
    policy = None if ":" in solution.policy else find_policy(solution.policy)
    applied = chosen.policy if policy is None else chosen.policy.for_policy(policy)
    other = another_instance(solution, instance.name, lambda: instance_sha256(instance.to_dict()))
    if other is not None:
        return other
    prediction = predict(
        prepare_jobs(instance.workload, instance.catalogue, instance.cluster),
        chosen.predictor,
        training_share=chosen.training_share,
        refit_interval=chosen.refit_interval,
        unseen=chosen.unseen,
        seed=solution.seed,
    )
    jobs = prediction.jobs
    known = jobs.iterations if policy is not None and policy.perfect else prediction.iterations
    records = records_of(jobs, known, applied, solution)
    report = audit(jobs, records, spot_checks=SPOT_CHECKS, predicted=known)
    if solution.objective is None or report.objective is None:
        return report
    claim = claim_violation(solution.objective, report.objective, report.rounding)
    return report if claim is None else replace(report, violations=(*report.violations, claim))


def records_of(
    jobs: Jobs, known: Floats, options: PolicyOptions, solution: OnlineSolution
) -> Records:
    """Join the file's decisions with the workload; unknown jobs get the first row's values."""
    times = IterationTimes(jobs.configurations.jobs, jobs.cluster.hardware)
    row_of = {name: row for row, name in enumerate(jobs.workload.job_id)}
    in_order = sorted(solution.jobs, key=lambda job: row_of.get(job.job_id, -1))
    rows = np.array([row_of.get(job.job_id, 0) for job in in_order], dtype=np.int64)
    owners, held = [], []
    for at, job in enumerate(in_order):
        for part in job.parts:
            pieces = tuple(sorted((int(m), g) for m, g in part.servers.items()))
            alpha = _alpha(times, int(jobs.configuration[rows[at]]), tuple(g for _, g in pieces))
            owners.append(at)
            held.append(Segment(part.start, part.end, alpha, pieces))
    made = Records.of(
        jobs,
        rows,
        policy=solution.policy,
        options=options,
        predicted=known[rows],
        segments=Segments.of(owners, held),
    )
    return replace(made, job_id=np.array([job.job_id for job in in_order], dtype=object))


def _alpha(times: IterationTimes, configuration: int, held: tuple[int, ...]) -> float:
    """Return alpha, or 0 for a wrong number of GPUs, which the audit reports."""
    right = sum(held) == times.jobs[configuration].gpus and all(gpus > 0 for gpus in held)
    return times.of(configuration, held) if right else 0.0
