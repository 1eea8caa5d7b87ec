"""Breakdown of a makespan: each job's run, its slowdown and the last completion."""

from dataclasses import asdict, dataclass
from typing import Any

from optsched.display import Explanation
from optsched.makespan.bounds.best import simple_bound, with_contention_bound
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.contention import Evaluation, evaluate, schedule_from_solution
from optsched.makespan.instance import MakespanInstance, duration
from optsched.makespan.options import MakespanOptions
from optsched.makespan.solution import MakespanSolution

BOUND_EXPLANATIONS = {
    "contention bound": ": link contention limits the iterations that all servers can complete"
}


@dataclass(frozen=True)
class JobRun:
    """One job's run; times in slots."""

    name: str
    gpus: int
    servers: tuple[int, ...]
    start: float
    end: float
    alone: float  # duration on its servers without contention
    spread: float  # part of it caused by a placement worse than the best
    contention: float  # additional delay by contention
    level: int  # highest p_j, 0 inside one server


@dataclass(frozen=True, repr=False)
class MakespanBreakdown(Explanation):
    """All runs, the last to end, a bound, and how busy the GPUs were."""

    instance: str
    rows: tuple[JobRun, ...]
    bound: float
    bound_source: str
    busy: float

    @property
    def bottleneck(self) -> JobRun:
        """The run that ends last; the first among equals."""
        return max(self.rows, key=lambda row: row.end)

    @property
    def makespan(self) -> float:
        """Slots."""
        return self.bottleneck.end

    @property
    def mean_completion_time(self) -> float:
        """Slots."""
        return sum(row.end for row in self.rows) / len(self.rows)

    @property
    def spanning(self) -> int:
        """How many jobs run across servers."""
        return sum(len(row.servers) > 1 for row in self.rows)

    @property
    def contended(self) -> int:
        """How many of them share a link at some time: p_j above 1."""
        return sum(row.level > 1 for row in self.rows)

    @property
    def inflation(self) -> float:
        """GPU time divided by the minimum GPU time."""
        held = sum(row.gpus * (row.end - row.start) for row in self.rows)
        return held / sum(row.gpus * (row.alone - row.spread) for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        return {
            "instance": self.instance,
            "makespan": self.makespan,
            "mean_completion_time": self.mean_completion_time,
            "bottleneck": self.bottleneck.name,
            "bound": self.bound,
            "bound_source": self.bound_source,
            "busy_share": self.busy,
            "spanning_jobs": self.spanning,
            "contended_jobs": self.contended,
            "inflation": self.inflation,
            "rows": [asdict(row) for row in self.rows],
        }

    def table(self) -> tuple[str, list[str], list[list[str]], str]:
        rows = [
            [
                ">" if row is self.bottleneck else "",
                row.name,
                str(row.gpus),
                " ".join(str(server) for server in row.servers),
                *(f"{v:g}" for v in (row.start, row.end)),
                *(f"{v:.6g}" for v in (row.alone, row.spread, row.contention)),
                str(row.level),
            ]
            for row in sorted(self.rows, key=lambda row: (-row.end, row.name))
        ]
        headings = ["", "job", "GPUs", "servers", "start", "end", "uncontended",
                    "placement loss", "contention", "max level"]  # fmt: skip
        explanation = BOUND_EXPLANATIONS.get(self.bound_source, "")
        closing = (
            f"makespan {self.makespan:g} slots, by job {self.bottleneck.name}; mean completion "
            f"{self.mean_completion_time:.6g}; GPUs busy {100 * self.busy:.1f}%\n"
            f"{self.spanning} of {len(self.rows)} jobs across servers, {self.contended} of them "
            f"sharing a link; GPU time {self.inflation:.3f} times the minimum\n"
            f"bound {self.bound:g} ({self.bound_source}{explanation})"
        )
        return f"{self.instance}: job times (slots)", headings, rows, closing


def explain(
    instance: MakespanInstance, solution: MakespanSolution, options: MakespanOptions
) -> MakespanBreakdown:
    """Break a feasible schedule's makespan down; options do not change the value of a schedule."""
    evaluation = evaluate(instance, schedule_from_solution(instance, solution))
    durations = durations_of(instance)
    bound = with_contention_bound(durations, simple_bound(durations))
    rows = tuple(
        _row(evaluation, j, float(durations.minimum[j])) for j in range(len(instance.jobs))
    )
    work = sum(row.gpus * (row.end - row.start) for row in rows)
    return MakespanBreakdown(
        instance.name,
        rows,
        bound.value,
        bound.source,
        work / (instance.gpus * evaluation.makespan),
    )


def _row(evaluation: Evaluation, j: int, minimum: float) -> JobRun:
    instance, schedule = evaluation.instance, evaluation.schedule
    job, servers = instance.jobs[j], tuple(sorted(schedule.placed[j]))
    start, end = schedule.starts[j], float(evaluation.ends[j])
    alone = duration(instance, job, len(servers), 1 if len(servers) > 1 else 0)
    levels = evaluation.levels[:, j]
    return JobRun(
        job.name,
        job.gpus,
        servers,
        start,
        end,
        alone,
        alone - minimum,
        end - start - alone,
        int(levels.max()) if len(levels) else 0,
    )
