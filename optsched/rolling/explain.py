"""Break down a run's cost by job and node."""

from dataclasses import asdict, dataclass
from typing import Any

from optsched.display import Explanation
from optsched.rolling.instance import RollingInstance
from optsched.rolling.metrics import compute_metrics
from optsched.rolling.options import RollingOptions
from optsched.rolling.solution import RollingSolution

MAX_ROWS = 20


@dataclass(frozen=True)
class JobCost:
    """One job: submission, first start and completion (s), and the cost of its tardiness ($)."""

    name: str
    submitted: float
    waited: float
    completion: float
    due_date: float
    late: float
    tardiness_cost: float


@dataclass(frozen=True, repr=False)
class RollingBreakdown(Explanation):
    """A run's total cost ($): energy by node, and jobs sorted by descending tardiness cost."""

    instance: str
    policy: str
    energy_cost: float
    tardiness_cost: float
    energy_by_node: dict[str, float]
    rows: tuple[JobCost, ...]

    @property
    def bottleneck(self) -> JobCost:
        return self.rows[0]

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "total_cost": self.energy_cost + self.tardiness_cost}

    def table(self) -> tuple[str, list[str], list[list[str]], str]:
        headings = ["job", "submitted s", "waited s", "completed s", "due s", "late s", "costs $"]
        rows = []
        for row in self.rows[:MAX_ROWS]:
            times = (row.submitted, row.waited, row.completion, row.due_date, row.late)
            rows.append([row.name, *(f"{t:.0f}" for t in times), f"{row.tardiness_cost:.2f}"])
        late = sum(row.tardiness_cost > 0 for row in self.rows)
        closing = (
            f"total ${self.energy_cost + self.tardiness_cost:.2f}: energy ${self.energy_cost:.2f}, "
            f"tardiness ${self.tardiness_cost:.2f} ({late} of {len(self.rows)} jobs late)"
        )
        title = f"{self.instance} by {self.policy}: jobs with the highest tardiness cost"
        return title, headings, rows, closing


def explain(
    instance: RollingInstance, solution: RollingSolution, options: RollingOptions
) -> RollingBreakdown:
    run = solution.run
    metrics = compute_metrics(instance, run)
    energy = {node.name: 0.0 for node in instance.nodes}
    for interval in run.nodes:
        node = instance.nodes[interval.node]
        energy[node.name] += (interval.end - interval.start) * node.cost_rate[interval.used - 1]
    rows = []
    for record in run.jobs:
        job, end = instance.jobs[record.job], record.completion
        late, waited = max(end - job.due_date, 0.0), record.first_start - job.submit_time
        cost = job.tardiness_weight * late
        rows.append(JobCost(job.name, job.submit_time, waited, end, job.due_date, late, cost))
    rows.sort(key=lambda row: (-row.tardiness_cost, row.name))
    costs = (metrics.energy_cost, metrics.tardiness_cost)
    return RollingBreakdown(instance.name, run.policy, *costs, energy, tuple(rows))
