"""Waiting under each scheduler, its parts, and how far the replay is from what really happened.

Waiting is the time from submission to end beyond a job's own length. With W the mean waiting today
and lower bounds R on that of any scheduler that runs jobs to their end and A on that of any,

    W = (W - R) + (R - A) + A
        at most what a better order saves, what only stopping jobs can save, what the load forces
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from optsched.arrays import Bools, Floats
from optsched.errors import InputError, OptschedError
from optsched.online.bounds.flow import flow_bounds
from optsched.online.bounds.gang import gang_bound
from optsched.online.data.catalogue import Catalogue, read_catalogue
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.jobs import Jobs, prepare_jobs
from optsched.online.data.workload import Labels, Workload
from optsched.online.data.workload_files import read_workload
from optsched.online.instance import OnlineInstance
from optsched.online.options import OnlineOptions
from optsched.online.policies.by_name import POLICIES, PolicyOptions
from optsched.online.prediction.predictors import predict_instance
from optsched.online.runs import Run, run_policies
from optsched.placement.instance import Job

SCHEDULERS = {
    "fifo": "first come, first served",
    "easy": "first come, first served, with backfilling (EASY)",
    "wcs-subtime": "first come, skipping jobs that do not fit (a-srpt paper)",
    "spwf": "smallest expected job first (a-srpt paper)",
    "wcs-workload": "smallest expected job first, skipping jobs that do not fit (a-srpt paper)",
    "a-srpt": "in the order in which one ideal machine would complete the jobs (a-srpt paper)",
    "srpt-workload-hold": "as a-srpt, with the smallest jobs first (ours)",
    "fair-share": "user with the fewest GPU hours first, skipping jobs that do not fit",
    "las": "least GPU time so far first; stops jobs, in rounds (Tiresias)",
    "srpt-preemptive": "least expected remaining work first; stops jobs at any time (ours)",
}
"""Schedulers of the page, and their descriptions."""
USUAL = ("fifo", "easy")
"""Schedulers that may stand for today's."""
HOUR = 3600.0
FLOW_BOUND: dict[str, Any] = {"cells": 1000, "iterations": 100}
GANG_JOBS = 10_000
"""Most jobs for the gang bound: on Philly's and Chronus's, in 60 s, it is below the flow bound."""
SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Largest GPU counts of the classes of sizes."""
MAX_OWNERS = 12
"""Users or groups of a table, those with most GPU hours; the others are one row."""


Lengths = Literal["trace", "cost-model"]
"""How long a job runs: as the trace says, wherever it runs, or as the cost model of its place."""


def instance_of(
    files: tuple[Path, Path],
    cluster: OnlineCluster,
    imported: OnlineCluster,
    lengths: Lengths = "trace",
) -> OnlineInstance:
    """Read a workload and its catalogue; leave out jobs larger than the cluster.

    `imported` is the cluster on whose best placements the lengths are those of the trace.
    """
    workload, catalogue = read_workload(files[0]).in_row_order(), read_catalogue(files[1])
    if lengths == "trace":
        size = imported.largest_server
        servers = max(imported.num_servers, -(-int(workload.gpus.max(initial=1)) // size))
        network = imported.inter_bandwidth, imported.intra_bandwidth
        jobs = prepare_jobs(workload, catalogue, OnlineCluster.of(servers, size, *network))
        workload, catalogue = placement_neutral(workload, jobs.iterations * jobs.estimate)
    fitting = np.flatnonzero(workload.gpus <= cluster.gpus)
    if not len(fitting):
        expected = f"a job of at most {cluster.gpus} GPUs"
        raise InputError(str(files[0]), "", f"{len(workload)} jobs, all larger", expected)
    name = files[0].resolve().parent.name
    facts = {"lengths": lengths, "left_out": len(workload) - len(fitting)}
    return OnlineInstance(workload.rows(fitting).named(name), catalogue, cluster, facts)


def placement_neutral(workload: Workload, seconds: Floats) -> tuple[Workload, Catalogue]:
    """Return the jobs with these lengths on any servers: an iteration takes a second everywhere."""
    stage: dict[str, Any] = {"name": "any", "forward_time": 1.0, "backward_time": 0.0}
    stage |= dict.fromkeys(("input_bytes", "output_bytes", "parameter_bytes"), 0.0)
    models = {}
    for gpus in np.unique(workload.gpus).tolist():
        stages = [stage | {"replicas": gpus}]
        document = {"model": "any", "all_reduce": "ring", "stages": stages}
        models[str(gpus)] = Job.model_validate(document)
    labels = Labels.of([str(gpus) for gpus in workload.gpus.tolist()])
    return replace(workload, iterations=seconds, model=labels), Catalogue.of(models, {})


@dataclass(frozen=True)
class Study:
    """Runs of the schedulers on the same jobs, each job's waiting in hours, and bounds on it."""

    instance: OnlineInstance
    jobs: Jobs
    runs: dict[str, Run]
    waits: dict[str, Floats]
    min_wait_without_stops: float
    min_wait: float
    today: str = "easy"

    @property
    def lengths(self) -> Floats:
        return np.asarray(self.jobs.iterations * self.jobs.estimate / HOUR)

    @property
    def real_waits(self) -> Floats | None:
        """Hours from submission to real start, NaN for jobs without one; None for a trace."""
        table = self.jobs.workload
        return None if table.start_time is None else (table.start_time - table.submit_time) / HOUR

    def mean(self, scheduler: str) -> float:
        return float(self.waits[scheduler].mean())

    def best(self, *, stops_jobs: bool) -> str:
        """The scheduler with the least mean waiting among those that stop jobs, or do not."""
        names = (n for n in self.runs if (POLICIES[n].preempts != "never") == stops_jobs)
        return min(names, key=self.mean)


def study_jobs(
    instance: OnlineInstance,
    *,
    seed: int = 0,
    progress: Callable[[str, int, int], None] | None = None,
) -> Study:
    """Run and audit the schedulers, and bound the waiting.

    Today's scheduler is the one of `USUAL` whose mean waiting is nearest to the real one where the
    trace has real starts, else EASY.
    """
    prediction = predict_instance(instance, OnlineOptions(), seed)
    options, jobs = PolicyOptions(offer="best-fit-last"), prediction.jobs
    runs = {}
    for run in run_policies(prediction, [*SCHEDULERS], options, with_audit=True, progress=progress):
        if not run.records.complete:
            raise KeyboardInterrupt
        if run.check is None or not run.check.feasible:
            raise OptschedError(f"the run of {run.records.policy} fails its audit")
        runs[run.records.policy] = run
    lengths = jobs.iterations * jobs.estimate
    waits = {n: np.asarray(run.records.flow - lengths) / HOUR for n, run in runs.items()}
    known = min(run.metrics.total_flow_time for run in runs.values() if not run.records.preemptions)
    bounds = flow_bounds(jobs, known_flow=known, **FLOW_BOUND)
    gang = gang_bound(jobs, known).value if len(jobs) <= GANG_JOBS else 0.0
    flow_without_stops = max(bounds.best, gang)
    min_wait, min_wait_without_stops = (
        max(0.0, float(flow - lengths.sum()) / len(jobs) / HOUR)
        for flow in (bounds.best_preemptive, flow_without_stops)
    )
    study = Study(instance, jobs, runs, waits, min_wait_without_stops, min_wait)
    if (real := study.real_waits) is None:
        return study
    error = {name: abs(float(np.nanmean(waits[name] - real))) for name in USUAL}
    return replace(study, today=min(USUAL, key=lambda name: error[name]))


@dataclass(frozen=True)
class Class:
    """Some of the jobs: those of a size, a user or a group."""

    kind: str
    name: str
    jobs: Bools


def classes_by_size(study: Study) -> list[Class]:
    index = np.searchsorted(SIZES, study.jobs.gpus)
    names = [f"{a + 1} to {b}" if b > a + 1 else f"{b}" for a, b in pairwise((0, *SIZES))]
    names.append(f"more than {SIZES[-1]}")
    return [Class("GPUs", names[i], index == i) for i in np.unique(index).tolist()]


def classes_by_owner(study: Study) -> list[Class]:
    """By user, or by group where the trace has no users; empty if it has neither."""
    table, gpu_hours = study.jobs.workload, study.jobs.gpus * study.lengths
    for kind, labels in (("user", table.user), ("group", table.group)):
        hours = np.bincount(labels.codes, gpu_hours, minlength=len(labels.values))
        order = np.argsort(-hours, kind="stable")[: int((hours > 0).sum())]
        if len(order) > 1:
            classes = [
                Class(kind, labels.values[code] or "(none)", labels.codes == code)
                for code in order[:MAX_OWNERS].tolist()
            ]
            others = np.isin(labels.codes, order[MAX_OWNERS:])
            return classes + ([Class(kind, "all others", others)] if others.any() else [])
    return []


def warnings_of(study: Study) -> list[str]:
    """Reasons to doubt the page's numbers."""
    table, cluster, load = study.jobs.workload, study.jobs.cluster, study.jobs.load
    limits, size = table.walltime, cluster.largest_server
    servers = max(1, round((load or 0.0) * cluster.gpus / 0.8 / size))
    right = (
        f"Is the number of GPUs right, and are all jobs in the trace? {servers} servers of {size} "
        "GPUs would be about 80% busy."
    )
    left_out = study.instance.provenance["left_out"]
    unlimited = 1.0 if limits is None else float(np.isnan(limits).mean())
    first, windows = study.jobs.first_submission, cluster.maintenance
    last = first + max(float(run.records.end.max()) for run in study.runs.values())
    outside = sum(window.end <= first or window.start >= last for window in windows)
    warnings = {
        f"The cluster has {' and '.join(cluster.limits)}: what no scheduler can save is computed "
        "without them.": bool(cluster.limits),
        f"{outside} of {len(windows)} maintenance windows lie outside the run, which is from "
        f"{first:.0f} to {last:.0f} s on the clock of submit_time.": outside > 0,
        f"{left_out} jobs that need more than {cluster.gpus} GPUs are left out.": left_out > 0,
        "All jobs are submitted at once, so the page says little about daily use.": load is None,
        f"The jobs ask for {load or 0:.0%} of the cluster, so the queue grows until the trace "
        f"ends. {right}": load is not None and load > 1,
        f"The jobs ask for {load or 0:.0%} of the cluster, so hardly any job waits. {right}": load
        is not None
        and load < 0.2,
        f"{unlimited:.0%} of the jobs have no time limit. For these, EASY uses lengths learned "
        "from earlier jobs, and skips ahead as wcs-subtime does if jobs run longer.": unlimited
        > 0.05,
        "The trace names no users: there is no table by user.": len(table.user.values) < 2,
        "The trace has no start times, so the simulation cannot be compared with "
        "reality.": study.real_waits is None,
    }
    return [text for text, holds in warnings.items() if holds]
