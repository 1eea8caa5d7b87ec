"""Checker of run files: runs the audit with recomputed iteration times and predictions.

Only the servers that each job held, and when, are taken from the file.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from optsched.arrays import Floats
from optsched.checking import CheckReport, another_instance, claim_violation
from optsched.files import instance_sha256
from optsched.online.audit import audit
from optsched.online.audit_rules.placement import IterationTimes
from optsched.online.data.jobs import Jobs
from optsched.online.instance import OnlineInstance
from optsched.online.options import OnlineOptions
from optsched.online.policies.by_name import OFFLINE, PolicyOptions, find_policy
from optsched.online.prediction.models import ZERO
from optsched.online.prediction.predictors import predict_instance
from optsched.online.records import Records, Segment, Segments
from optsched.online.solution import OnlineSolution

SPOT_CHECKS = 1000


def check(
    instance: OnlineInstance, solution: OnlineSolution, options: dict[str, Any] | None = None
) -> CheckReport:
    """Audit a run and recompute its total flow time."""
    # files without "unseen" predate the option, whose value was then zero
    option_values = {"unseen": ZERO, **solution.options} if options is None else options
    run_options = OnlineOptions.from_dict(option_values)
    is_policy = ":" not in solution.policy and solution.policy != OFFLINE
    policy = find_policy(solution.policy) if is_policy else None
    policy_options = run_options.policy
    if policy is not None:
        policy_options = policy_options.for_policy(policy)
    mismatch = another_instance(
        solution, instance.name, lambda: instance_sha256(instance.to_dict())
    )
    if mismatch is not None:
        return mismatch
    prediction = predict_instance(instance, run_options, solution.seed)
    jobs, predicted = prediction.jobs, prediction.iterations
    if solution.policy == OFFLINE or (policy is not None and policy.perfect):
        predicted = jobs.iterations
    records = records_of(jobs, predicted, policy_options, solution)
    report = audit(jobs, records, spot_checks=SPOT_CHECKS, predicted=predicted)
    if solution.objective is None or report.objective is None:
        return report
    claim = claim_violation(solution.objective, report.objective, report.rounding)
    return report if claim is None else replace(report, violations=(*report.violations, claim))


def records_of(
    jobs: Jobs, predicted: Floats, options: PolicyOptions, solution: OnlineSolution
) -> Records:
    """Join the file's decisions with the workload.

    Jobs unknown to the workload use row 0 and are reported by the audit.
    """
    times = IterationTimes(jobs.configurations.jobs, jobs.cluster.hardware)
    row_of = {name: row for row, name in enumerate(jobs.workload.job_id)}
    in_order = sorted(solution.jobs, key=lambda job: row_of.get(job.job_id, -1))
    rows = np.array([row_of.get(job.job_id, 0) for job in in_order], dtype=np.int64)
    # only this method places jobs otherwise than Heavy-Edge
    states_replicas = solution.policy == OFFLINE and any(job.replicas for job in solution.jobs)
    segment_jobs, segments, replicas = [], [], []
    for i, job in enumerate(in_order):
        for part in job.parts:
            servers = tuple(sorted((int(m), g) for m, g in part.servers.items()))
            configuration, held = int(jobs.configuration[rows[i]]), tuple(g for _, g in servers)
            placed = tuple(job.replicas.get(str(m), ()) for m, _ in servers)
            # the audit reports a wrong number of GPUs, or of replicas
            valid = sum(held) == times.jobs[configuration].gpus and min(held, default=0) > 0
            if not states_replicas:
                alpha = times.of(configuration, held) if valid else 0.0
            elif times.is_placement(configuration, held, placed):
                alpha = times.of_placement(configuration, placed)
            else:
                alpha = 0.0
            replicas.append(placed)
            segment_jobs.append(i)
            segments.append(Segment(part.start, part.end, alpha, servers))
    records = Records.of(
        jobs,
        rows,
        policy=solution.policy,
        options=options,
        predicted=predicted[rows],
        segments=Segments.of(segment_jobs, segments),
        replicas=tuple(replicas) if states_replicas else None,
    )
    return replace(records, job_id=np.array([job.job_id for job in in_order], dtype=object))
