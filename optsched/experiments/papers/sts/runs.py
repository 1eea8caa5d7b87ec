"""Runs over time for tables and figures: settings x seeds x policies, as flat rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from optsched.errors import OptschedError
from optsched.experiments.papers.gathering import gather
from optsched.generators.rolling import RollingGenerator, generate_rolling
from optsched.result import Settings
from optsched.rolling.audit import audit
from optsched.rolling.bounds.clairvoyant import (
    BoundSettings,
    clairvoyant_bound,
    clairvoyant_utilisation,
)
from optsched.rolling.instance import RollingInstance
from optsched.rolling.metrics import Metrics, compute_metrics
from optsched.rolling.offered_load import offered_load
from optsched.rolling.options import RollingOptions
from optsched.rolling.policies.by_name import make_policy
from optsched.rolling.simulator.engine import simulate_rolling
from optsched.rolling.simulator.true_epochs import true_epochs
from optsched.rolling.simulator.world import World

REPEATED = ("rg", "avg-rg")
STRIDE = 1_000_003
"""Between the seeds of repeated runs: those of other workloads are nearer."""


@dataclass(frozen=True)
class Task:
    """Policies on one workload, on one draw of the true epochs.

    Attributes
    ----------
    bound : int
        Iterations of the clairvoyant bound; 0 for none.
    passes, repeats : int
        Of ``rg`` and ``avg-rg``: passes of a decision, and runs whose mean is taken.
    """

    case: str
    settings: RollingGenerator
    seed: int
    policies: tuple[str, ...]
    sharing: str = "off"
    bound: int = 0
    passes: int = 5
    repeats: int = 1
    time_limit: float | None = None


@dataclass(frozen=True)
class Row:
    """One policy on one workload; dollars and late jobs are means over its repeated runs.

    Attributes
    ----------
    utilisation : float
        Of the uncapacitated clairvoyant plan, the fullest GPU type's; `plan` has every type's.
    """

    case: str
    nodes: int
    seed: int
    sharing: str
    policy: str
    repeats: int
    rho: float
    utilisation: float
    plan: str
    total: float
    energy: float
    tardiness: float
    late: float
    jobs: int
    bound: float | None


def rows_of(tasks: Iterable[Task], *, parallel: bool = True) -> list[Row]:
    """Run tasks, largest first, on all cores unless told otherwise; rows in the tasks' order.

    Raises
    ------
    OptschedError
        If the audit finds a rule broken: no table is made of such a run.
    """
    return gather(tasks, run_task, Row, weight=_jobs, parallel=parallel)


def run_task(task: Task) -> list[Row]:
    """Run one task: a row a policy."""
    instance = generate_rolling(task.settings, seed=task.seed)
    world = World(instance, RollingOptions.from_dict({"sharing": task.sharing}))
    epochs = true_epochs(instance, task.seed)
    found: dict[str, list[Metrics]] = {name: [] for name in task.policies}
    last = 0.0
    for name, runs in found.items():
        for repeat in range(task.repeats if name in REPEATED else 1):
            settings = Settings(
                seed=task.seed + STRIDE * repeat,
                iterations=task.passes,
                time_limit=task.time_limit,
            )
            run = simulate_rolling(
                world, make_policy(name, world, settings), seed=task.seed, epochs=epochs
            )
            report = audit(instance, run, epochs=epochs)
            if not report.feasible:
                raise OptschedError(f"{instance.name}, {name}: {report.violations[0]}")
            runs.append(compute_metrics(instance, run))
            last = max(last, *(record.completion for record in run.jobs))
    bound = None
    if task.bound:
        best = min(m.total_cost for runs in found.values() for m in runs)
        effort = BoundSettings(iterations=task.bound)
        bound = clairvoyant_bound(world, epochs, best, effort, until=last).bound
    use = clairvoyant_utilisation(world, epochs)
    return [_row(task, name, runs, instance, use, bound) for name, runs in found.items()]


def _row(
    task: Task,
    name: str,
    runs: list[Metrics],
    instance: RollingInstance,
    use: dict[str, float],
    bound: float | None,
) -> Row:
    return Row(
        case=task.case,
        nodes=len(instance.nodes),
        seed=task.seed,
        sharing=task.sharing,
        policy=name,
        repeats=len(runs),
        rho=offered_load(instance),
        utilisation=max(use.values()),
        plan=" ".join(f"{kind}={share:.3f}" for kind, share in use.items()),
        total=mean(m.total_cost for m in runs),
        energy=mean(m.energy_cost for m in runs),
        tardiness=mean(m.tardiness_cost for m in runs),
        late=mean(m.late_jobs for m in runs),
        jobs=len(instance.jobs),
        bound=bound,
    )


def _jobs(task: Task) -> int:
    return task.settings.cluster.jobs


def of(rows: Sequence[Row], **wanted: object) -> list[Row]:
    """Rows whose fields have the values given."""
    return [row for row in rows if all(getattr(row, k) == v for k, v in wanted.items())]


def average(rows: Sequence[Row], field: str) -> float:
    """Mean of a field."""
    return mean(float(getattr(row, field)) for row in rows)


def ratios(own: Sequence[Row], base: Sequence[Row], field: str = "total") -> list[float]:
    """A field over that of the same workloads' other rows, seed by seed."""
    return [
        getattr(a, field) / getattr(b, field) if getattr(b, field) else float("inf")
        for a, b in zip(own, base, strict=True)
    ]


def spread(values: Sequence[float]) -> str:
    """Mean, standard deviation and range."""
    deviation = stdev(values) if len(values) > 1 else 0.0
    return f"{mean(values):.2f} ± {deviation:.2f} [{min(values):.2f}-{max(values):.2f}]"


def loads(rows: Sequence[Row]) -> str:
    """Both statements of the load."""
    return f"{average(rows, 'rho'):.2f} | {average(rows, 'utilisation'):.2f}"


def late_share(rows: Sequence[Row]) -> float:
    """Late jobs, percent."""
    return 100 * sum(row.late for row in rows) / sum(row.jobs for row in rows)
