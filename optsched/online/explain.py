"""Where a run's flow time goes: waiting and running, by the jobs' GPUs, and the longest flows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from optsched.display import Explanation
from optsched.online.data.jobs import prepare_jobs
from optsched.online.instance import OnlineInstance
from optsched.online.options import OnlineOptions
from optsched.online.solution import OnlineSolution


@dataclass(frozen=True)
class WidthShare:
    """Jobs of one number of GPUs: how many, and their seconds of waiting and of running.

    Waiting is also a job's that was stopped, until it resumes; running, restoring a checkpoint.
    """

    gpus: int
    jobs: int
    waiting: float
    running: float


@dataclass(frozen=True, repr=False)
class OnlineBreakdown(Explanation):
    """A run's total flow time (s), by the jobs' number of GPUs, and the job that flowed longest."""

    instance: str
    policy: str
    rows: tuple[WidthShare, ...]
    longest_job: str
    longest_flow: float

    @property
    def bottleneck(self) -> WidthShare:
        """The width whose jobs wait most in all."""
        return max(self.rows, key=lambda row: row.waiting)

    @property
    def total_flow_time(self) -> float:
        """Seconds."""
        return sum(row.waiting + row.running for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """The breakdown as a JSON object."""
        return {**asdict(self), "total_flow_time": self.total_flow_time}

    def table(self) -> tuple[str, list[str], list[list[str]], str]:
        """Title, headings, rows and closing line, for print."""
        total = self.total_flow_time or 1.0
        headings = ["GPUs per job", "jobs", "waiting h", "running h", "of the flow %"]
        rows = [
            [
                str(row.gpus),
                str(row.jobs),
                f"{row.waiting / 3600:.2f}",
                f"{row.running / 3600:.2f}",
                f"{100 * (row.waiting + row.running) / total:.1f}",
            ]
            for row in self.rows
        ]
        waiting = sum(row.waiting for row in self.rows)
        closing = (
            f"total flow {self.total_flow_time / 3600:.2f} h, {100 * waiting / total:.1f}% of it "
            f"waiting; the longest is job {self.longest_job}'s, {self.longest_flow / 3600:.2f} h"
        )
        return f"{self.instance} by {self.policy}", headings, rows, closing


def explain(
    instance: OnlineInstance, solution: OnlineSolution, options: OnlineOptions
) -> OnlineBreakdown:
    """Break a run's flow time down; of a run that `optsched.check` accepts."""
    jobs = prepare_jobs(instance.workload, instance.catalogue, instance.cluster)
    known = {name: row for row, name in enumerate(jobs.workload.job_id)}
    shares: dict[int, list[float]] = {}
    longest = ("", 0.0)
    for job in solution.jobs:
        row = known[job.job_id]
        share = shares.setdefault(int(jobs.gpus[row]), [0, 0.0, 0.0])
        share[0] += 1
        stopped = sum(later.start - part.end for part, later in pairwise(job.parts))
        share[1] += job.start - float(jobs.submit[row]) + stopped
        share[2] += job.end - job.start - stopped
        longest = max(longest, (job.job_id, job.end - float(jobs.submit[row])), key=lambda x: x[1])
    rows = tuple(WidthShare(gpus, int(n), w, r) for gpus, (n, w, r) in sorted(shares.items()))
    return OnlineBreakdown(instance.name, solution.policy, rows, *longest)
