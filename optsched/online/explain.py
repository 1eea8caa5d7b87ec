"""Breakdown of the total flow time into waiting and running, by job size."""

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from optsched.display import Explanation
from optsched.online.data.jobs import prepare_jobs
from optsched.online.instance import OnlineInstance
from optsched.online.options import OnlineOptions
from optsched.online.solution import OnlineSolution


@dataclass(frozen=True)
class FlowBySize:
    """Jobs of one size: their number, and their seconds of waiting and of running.

    Waiting includes the time between preemption and resumption; running includes checkpoint
    restores.
    """

    gpus: int
    jobs: int
    waiting: float
    running: float


@dataclass(frozen=True, repr=False)
class OnlineBreakdown(Explanation):
    """A run's total flow time (s) by job size, and the job with the longest flow time."""

    instance: str
    policy: str
    rows: tuple[FlowBySize, ...]
    longest_job: str
    longest_flow: float

    @property
    def bottleneck(self) -> FlowBySize:
        """Job size with the largest total waiting time."""
        return max(self.rows, key=lambda row: row.waiting)

    @property
    def total_flow_time(self) -> float:
        return sum(row.waiting + row.running for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "total_flow_time": self.total_flow_time}

    def table(self) -> tuple[str, list[str], list[list[str]], str]:
        total = self.total_flow_time or 1.0
        headings = ["GPUs per job", "jobs", "waiting h", "running h", "flow %"]
        rows = []
        for row in self.rows:
            hours = (f"{seconds / 3600:.2f}" for seconds in (row.waiting, row.running))
            share = f"{100 * (row.waiting + row.running) / total:.1f}"
            rows.append([str(row.gpus), str(row.jobs), *hours, share])
        waiting = sum(row.waiting for row in self.rows)
        closing = (
            f"total flow {self.total_flow_time / 3600:.2f} h, {100 * waiting / total:.1f}% of it "
            f"waiting; the longest is job {self.longest_job}'s, {self.longest_flow / 3600:.2f} h"
        )
        return f"{self.instance} by {self.policy}", headings, rows, closing


def explain(
    instance: OnlineInstance, solution: OnlineSolution, options: OnlineOptions
) -> OnlineBreakdown:
    """Break down the flow time of a run that `optsched.check` accepts."""
    jobs = prepare_jobs(instance.workload, instance.catalogue, instance.cluster)
    row_of = {name: row for row, name in enumerate(jobs.workload.job_id)}
    shares: dict[int, list[float]] = {}
    longest = ("", 0.0)
    for job in solution.jobs:
        row = row_of[job.job_id]
        share = shares.setdefault(int(jobs.gpus[row]), [0, 0.0, 0.0])
        share[0] += 1
        preempted = sum(later.start - part.end for part, later in pairwise(job.parts))
        share[1] += job.start - float(jobs.submit[row]) + preempted
        share[2] += job.end - job.start - preempted
        longest = max(longest, (job.job_id, job.end - float(jobs.submit[row])), key=lambda x: x[1])
    rows = tuple(FlowBySize(gpus, int(n), w, r) for gpus, (n, w, r) in sorted(shares.items()))
    return OnlineBreakdown(instance.name, solution.policy, rows, *longest)
