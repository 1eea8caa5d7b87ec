"""Where the makespan comes from: each job's run, what slowed it, and which end is last."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from optsched.display import Explanation
from optsched.makespan.bounds.best import shared_links, simple_bound
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.contention import Evaluation, evaluate, schedule_of
from optsched.makespan.instance import MakespanInstance, duration
from optsched.makespan.options import MakespanOptions
from optsched.makespan.solution import MakespanSolution

IN_WORDS = {
    "contention bound": ": however jobs share links, servers give them no more iterations sooner"
}


@dataclass(frozen=True)
class JobRun:
    """One job's run in slots; ``level`` is the highest p_j it met, 0 inside one server.

    ``alone`` on the same servers, ``spread`` more than on the best ones, ``contention`` besides.
    """

    name: str
    gpus: int
    servers: tuple[int, ...]
    start: float
    end: float
    alone: float
    spread: float
    contention: float
    level: int


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
        """GPU time held, as a multiple of what it would be on the best servers, alone."""
        held = sum(row.gpus * (row.end - row.start) for row in self.rows)
        return held / sum(row.gpus * (row.alone - row.spread) for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """The breakdown as a JSON object."""
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
        """Title, headings, rows and closing lines, as the command line shows them."""
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
        headings = ["", "job", "GPUs", "servers", "start", "end", "alone", "of it spread",
                    "contention", "highest p"]  # fmt: skip
        closing = (
            f"makespan {self.makespan:g} slots, by job {self.bottleneck.name}; mean completion "
            f"{self.mean_completion_time:.6g}; GPUs busy {100 * self.busy:.1f}%\n"
            f"{self.spanning} of {len(self.rows)} jobs across servers, {self.contended} of them "
            f"sharing a link; GPU time {self.inflation:.3f} times the least\n"
            f"bound {self.bound:g} ({self.bound_source}{IN_WORDS.get(self.bound_source, '')})"
        )
        return f"{self.instance}: slots of each job", headings, rows, closing


def explain(
    instance: MakespanInstance, solution: MakespanSolution, options: MakespanOptions
) -> MakespanBreakdown:
    """Break a feasible schedule's makespan down.

    Makespan's options are parameters of its methods: none of them changes what a schedule takes.
    """
    evaluation = evaluate(instance, schedule_of(instance, solution))
    durations = durations_of(instance)
    bound = shared_links(durations, simple_bound(durations))
    rows = tuple(_row(evaluation, j, float(durations.least[j])) for j in range(len(instance.jobs)))
    work = sum(row.gpus * (row.end - row.start) for row in rows)
    return MakespanBreakdown(
        instance.name,
        rows,
        bound.value,
        bound.source,
        work / (instance.gpus * evaluation.makespan),
    )


def _row(evaluation: Evaluation, j: int, least: float) -> JobRun:
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
        alone - least,
        end - start - alone,
        int(levels.max()) if len(levels) else 0,
    )
