"""Waiting under each scheduler, its parts, and how far the replay is from what really happened.

Waiting is the time from submission to end beyond a job's own length in the trace; hours, a job.
With R the least waiting that schedulers without preemption can have and A that of any scheduler,
both bounded from below, the waiting W of today has three parts, which add up to it:

    W = (W - R) + (R - A) + A
        a better order, at most   only by stopping jobs, at most   forced by the load

The bounds are on the total flow time: R the largest of `optsched.online.bounds.flow` and `gang`, A
the largest of those of `flow` that hold with preemption.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from optsched.arrays import Bools, Floats
from optsched.errors import OptschedError
from optsched.experiments.what_to_win.trace import Subject
from optsched.online.bounds.flow import flow_bounds
from optsched.online.bounds.gang import ITERATIONS, gang_bound
from optsched.online.data.jobs import Jobs
from optsched.online.options import OnlineOptions
from optsched.online.policies.by_name import POLICIES, PolicyOptions
from optsched.online.prediction.predictors import predict_instance
from optsched.online.runs import Run, run_policies

SCHEDULERS = {
    "fifo": "first come, first served",
    "easy": "first come, first served, with backfilling (EASY)",
    "wcs-subtime": "first come, skipping jobs that do not fit",
    "spwf": "smallest expected job first",
    "wcs-workload": "smallest expected job first, skipping jobs that do not fit",
    "a-srpt": "A-SRPT: in the order of an ideal machine",
    "srpt-workload-hold": "A-SRPT's releases, smallest expected job first",
    "las": "least GPU time so far first; stops jobs, in rounds",
    "srpt-preemptive": "least expected work left first; stops jobs at any time",
}
"""Schedulers of a page, in its words: usual ones, the papers', ours, preemptive ones."""
USUAL = ("fifo", "easy")
"""Schedulers that today's may be."""
HOUR = 3600.0
BOUND_WORK = 1_500_000
"""Jobs times steps of the gang bound, which takes 300 steps at most: about 30 s."""
SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Largest GPU counts of the classes of sizes."""
MAX_GROUPS = 12
"""Users or groups of a table, those with most GPU hours; the others are one row."""


@dataclass(frozen=True)
class Study:
    """Runs of the schedulers on the same jobs; hours.

    Attributes
    ----------
    waits : dict
        Waiting of each job, by scheduler.
    today : str
        The scheduler that stands for today's.
    least_running_on, least : float
        R and A of the module: bounds on the mean waiting without and with preemption.
    """

    subject: Subject
    jobs: Jobs
    runs: dict[str, Run]
    waits: dict[str, Floats]
    today: str
    least_running_on: float
    least: float

    @property
    def lengths(self) -> Floats:
        return np.asarray(self.jobs.iterations * self.jobs.estimate / HOUR)

    @property
    def real_waits(self) -> Floats | None:
        """Hours that each job really waited, NaN where the trace has no start; None without any."""
        table = self.jobs.workload
        return None if table.start_time is None else (table.start_time - table.submit_time) / HOUR

    def mean(self, scheduler: str) -> float:
        return float(self.waits[scheduler].mean())

    def best(self, preempts: bool) -> str | None:
        """The scheduler with the least mean waiting among those that stop jobs, or do not."""
        names = [n for n in self.runs if (POLICIES[n].preempts != "never") == preempts]
        return min((n for n in names if not POLICIES[n].perfect), key=self.mean, default=None)


def study_trace(
    subject: Subject,
    schedulers: Sequence[str] = tuple(SCHEDULERS),
    *,
    seed: int = 0,
    progress: Callable[[str, int, int], None] | None = None,
) -> Study:
    """Run the schedulers, audit the runs and bound the waiting.

    Today's scheduler is the one of `USUAL` whose mean waiting is nearest to that of the trace where
    it has real starts, else EASY.
    """
    names = [*dict.fromkeys((*USUAL, *schedulers))]
    prediction = predict_instance(subject.instance, OnlineOptions(), seed)
    options = PolicyOptions(offer="best-fit-last")
    runs: dict[str, Run] = {}
    for run in run_policies(prediction, names, options, with_audit=True, progress=progress):
        if not run.records.complete:
            raise KeyboardInterrupt
        if run.check is None or not run.check.feasible:
            raise OptschedError(f"the run of {run.records.policy} fails its audit")
        runs[run.records.policy] = run
    jobs = prediction.jobs
    lengths = jobs.iterations * jobs.estimate
    flows = {name: run.metrics.total_flow_time for name, run in runs.items()}
    known = min(flow for name, flow in flows.items() if POLICIES[name].preempts == "never")
    bounds = flow_bounds(jobs, known_flow=known)
    steps = min(ITERATIONS, BOUND_WORK // len(jobs))
    total = max(bounds.best, gang_bound(jobs, known, iterations=steps).value)
    least = max(0.0, (bounds.best_preemptive - lengths.sum()) / len(jobs) / HOUR)
    study = Study(
        subject,
        jobs,
        runs,
        {n: np.asarray(run.records.flow - lengths) / HOUR for n, run in runs.items()},
        "easy",
        max(least, (total - float(lengths.sum())) / len(jobs) / HOUR),
        least,
    )
    real = study.real_waits
    if real is None:
        return study
    known_start = ~np.isnan(real)
    error = {n: abs(float((study.waits[n] - real)[known_start].mean())) for n in USUAL}
    return replace(study, today=min(USUAL, key=lambda name: (error[name], name)))


@dataclass(frozen=True)
class Class:
    """Some of the jobs: those of a size, a user or a group."""

    kind: str
    name: str
    jobs: Bools


def classes_by_size(study: Study) -> list[Class]:
    upper = np.searchsorted(SIZES, study.jobs.gpus)
    edges = [0, *SIZES]
    names = [
        f"{high}" if high == low + 1 else f"{low + 1} to {high}" for low, high in pairwise(edges)
    ]
    names.append(f"more than {SIZES[-1]}")
    return [Class("GPUs", names[i], upper == i) for i in np.unique(upper).tolist()]


def classes_by_owner(study: Study) -> list[Class]:
    """By user, or by group where the trace has no users; empty if it has neither."""
    table, gpu_hours = study.jobs.workload, study.jobs.gpus * study.lengths
    for kind, labels in (("user", table.user), ("group", table.group)):
        hours = np.bincount(labels.codes, gpu_hours, minlength=len(labels.values))
        order = np.argsort(-hours, kind="stable")[: int((hours > 0).sum())]
        if len(order) > 1:
            classes = [
                Class(kind, labels.values[code] or "(none)", labels.codes == code)
                for code in order[:MAX_GROUPS].tolist()
            ]
            others = np.isin(labels.codes, order[MAX_GROUPS:])
            return classes + ([Class(kind, "all others", others)] if others.any() else [])
    return []


def quantiles(values: Floats) -> tuple[float, float, float]:
    """Mean, median and 95% quantile."""
    middle, high = np.percentile(values, (50, 95))
    return float(values.mean()), float(middle), float(high)


def warnings_of(study: Study) -> list[str]:
    """What makes the page's numbers doubtful."""
    table, load = study.jobs.workload, study.jobs.load
    warnings = []
    if load is None:
        warnings.append("All jobs are submitted at once: waiting says little about daily use.")
    elif load > 1:
        warnings.append(
            f"The jobs ask for {load:.0%} of the cluster: the queue grows to the end of the trace, "
            "so waiting depends on how long the trace is. Does the cluster have more GPUs?"
        )
    elif load < 0.2:
        warnings.append(
            f"The jobs ask for only {load:.0%} of the cluster: hardly any job waits. Does the "
            "cluster have fewer GPUs, or does the trace lack jobs?"
        )
    if load is not None and not 0.2 <= load <= 1:
        per_server = study.jobs.cluster.gpus_per_server
        servers = max(1, round(load * study.jobs.cluster.gpus / 0.8 / per_server))
        warnings[-1] += f" With {servers} servers of {per_server} GPUs the load would be about 80%."
    if table.walltime is None:
        warnings.append(
            "The trace has no time limits of users: backfilling goes by lengths learned from "
            "earlier jobs, and real backfilling by time limits may do better or worse."
        )
    elif (missing := float(np.isnan(table.walltime).mean())) > 0.05:
        warnings.append(f"{missing:.0%} of the jobs have no time limit of the user.")
    if len(table.user.values) < 2:
        warnings.append(
            "The trace names no users: no table by user, and lengths are hard to learn."
        )
    if table.start_time is None:
        warnings.append(
            "The trace has no start times: nothing on this page is compared with what really "
            "happened."
        )
    return warnings
