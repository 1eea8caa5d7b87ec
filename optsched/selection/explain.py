"""Break down a selection's cost by node and job."""

from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import Any

from optsched.display import Explanation
from optsched.selection.cost import Tables, energy_rate, tables_of
from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions
from optsched.selection.solution import SelectionSolution

MEASURES = ("jobs_waiting", "waiting_cost", "tardiness", "interval_energy", "full_run_energy")
"""A count, and dollars; interval energy ends at a node's first completion, full-run at its last."""


@dataclass(frozen=True)
class NodeCost:
    """An open node: GPUs in use, its first job to end, expected seconds until then, dollars.

    `full_run` is the dollars until its last job ends, every job as selected for its expected time
    and each GPU in use until the last job on it ends.
    """

    node: str
    gpu_type: str
    used: int
    gpus: int
    jobs: int
    first: str
    seconds: float
    energy: float
    full_run: float


@dataclass(frozen=True)
class JobCost:
    """A job: node and GPUs (none when postponed), expected seconds, P(late), dollars."""

    job: str
    node: str | None
    gpus: float
    seconds: float | None
    late_probability: float
    tardiness: float


@dataclass(frozen=True, repr=False)
class Breakdown(Explanation):
    """Breakdown of (P1.1)."""

    instance: str
    nodes: tuple[NodeCost, ...]
    jobs: tuple[JobCost, ...]

    @property
    def energy(self) -> float:
        """Dollars for energy until the first completion on each node."""
        return sum(row.energy for row in self.nodes)

    @property
    def full_run_energy(self) -> float:
        """Dollars for energy until the last completion on each node."""
        return sum(row.full_run for row in self.nodes)

    @property
    def tardiness(self) -> float:
        """Expected dollars of the placed jobs' tardiness."""
        return sum(row.tardiness for row in self.jobs if row.node is not None)

    @property
    def postponement(self) -> float:
        """Dollars of the postponed jobs' worst-case tardiness."""
        return sum(row.tardiness for row in self.jobs if row.node is None)

    @property
    def waiting(self) -> int:
        return sum(row.node is None for row in self.jobs)

    @property
    def total(self) -> float:
        """(P1.1)."""
        return self.energy + self.tardiness + self.postponement

    def to_dict(self) -> dict[str, Any]:
        return {
            "instance": self.instance,
            "total": self.total,
            "energy": self.energy,
            "full_run_energy": self.full_run_energy,
            "tardiness": self.tardiness,
            "postponement": self.postponement,
            "postponed_jobs": self.waiting,
            "nodes": [asdict(row) for row in self.nodes],
            "jobs": [asdict(row) for row in self.jobs],
        }

    def table(self) -> tuple[str, list[str], list[list[str]], str]:
        headings = ["node", "type", "GPUs", "jobs", "first to end", "after s", "energy $"]
        rows = [
            [
                row.node,
                row.gpu_type,
                f"{row.used} of {row.gpus}",
                str(row.jobs),
                row.first,
                f"{row.seconds:.6g}",
                f"{row.energy:.6g}",
            ]
            for row in self.nodes
        ]
        split, *details = self.lines()
        costliest_jobs = details[len(self.nodes) :][:5]
        return self.instance, headings, rows, "; ".join([split, *costliest_jobs])

    def lines(self) -> list[str]:
        """The breakdown in words: the split, every open node, and the jobs that cost most."""
        lines = [
            f"{self.instance}: total ${self.total:.6g}, of it energy ${self.energy:.6g}, tardiness "
            f"${self.tardiness:.6g}, postponement ${self.postponement:.6g} ({self.waiting} of "
            f"{len(self.jobs)} jobs)"
        ]
        for row in self.nodes:
            lines.append(
                f"{row.node} ({row.gpu_type}): {row.used} of {row.gpus} GPUs, {row.jobs} jobs, "
                f"until {row.first} ends after {row.seconds:.6g} s: ${row.energy:.6g}"
            )
        for job in sorted(self.jobs, key=lambda row: -row.tardiness)[:20]:
            if job.tardiness > 0:
                where = "postponed" if job.node is None else f"on {job.node}, {job.gpus:g} GPUs"
                late = "" if job.node is None else f", P(late) = {job.late_probability:.3f}"
                lines.append(f"{job.job} {where}{late}: ${job.tardiness:.6g}")
        return lines


def explain(
    instance: SelectionInstance, solution: SelectionSolution, options: SelectionOptions
) -> Breakdown:
    tables = tables_of(instance, options)
    index = {node.name: n for n, node in enumerate(instance.nodes)}
    placed = {p.name: p for p in solution.jobs if p.node is not None}
    completions: dict[int, list[tuple[float, int]]] = defaultdict(list)
    ends: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    jobs = []
    for j, job in enumerate(instance.jobs):
        if job.name not in placed:
            cost = float(tables.postponement_cost[j])
            jobs.append(JobCost(job.name, None, 0.0, None, 1.0, cost))
            continue
        placement, work = placed[job.name], tables.works[j]
        n, count = index[str(placement.node)], len(placement.gpus)
        t = tables.kind_of[n]
        c = tables.kinds[t].configuration_of(count, placement.fraction)
        seconds, cost = float(tables.expected[j, t, c]), float(tables.tardiness_cost[j, t, c])
        completions[n].append((seconds, j))
        for gpu in placement.gpus:
            ends[n][gpu] = max(ends[n][gpu], seconds)
        is_late = work.values * tables.seconds[j, t, c] > tables.latest_on_time[j]
        late, gpus = float(work.probabilities[is_late].sum()), count * placement.fraction
        jobs.append(JobCost(job.name, placement.node, gpus, seconds, late, cost))
    nodes = [
        _node_cost(tables, n, on_node, sorted(ends[n].values()))
        for n, on_node in sorted(completions.items())
    ]
    return Breakdown(instance.name, tuple(nodes), tuple(jobs))


def _node_cost(
    tables: Tables, n: int, completions: list[tuple[float, int]], ends: list[float]
) -> NodeCost:
    """The cost of a node whose jobs end at `completions` and whose GPUs become idle at `ends`."""
    node, used = tables.instance.nodes[n], len(ends)
    seconds, first = min(completions)
    name = tables.instance.jobs[first].name
    energy = seconds * energy_rate(tables, n, used)
    full_run = sum(
        (end - start) * energy_rate(tables, n, used - ended)
        for ended, (start, end) in enumerate(zip([0.0, *ends], ends, strict=False))
    )
    sizes = used, node.gpus, len(completions)
    return NodeCost(node.name, node.gpu_type, *sizes, name, seconds, energy, full_run)


def measures(
    instance: SelectionInstance, solution: SelectionSolution | None, options: SelectionOptions
) -> dict[str, float | None]:
    """The number of postponed jobs and the parts of the cost; None for an infeasible selection."""
    if solution is None or solution.objective is None:
        return dict.fromkeys(MEASURES)
    parts = explain(instance, solution, options)
    dollars = (parts.postponement, parts.tardiness, parts.energy, parts.full_run_energy)
    return dict(zip(MEASURES, (parts.waiting, *dollars), strict=True))
