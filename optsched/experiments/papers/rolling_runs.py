"""Runs over time for tables and figures: settings x seeds x policies, as flat rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import mean, stdev

from optsched.errors import OptschedError
from optsched.files import write_text
from optsched.generate.rolling import RollingGenerator, generate_rolling
from optsched.rolling.bounds import BoundSettings, clairvoyant_utilisation
from optsched.rolling.draws import true_epochs
from optsched.rolling.instance import RollingInstance
from optsched.rolling.load import offered_load
from optsched.rolling.policies import RollingSettings
from optsched.rolling.run import Rolled, roll
from optsched.rolling.world import World
from optsched.selection.options import SelectionOptions


@dataclass(frozen=True)
class Row:
    """One policy's run; `utilisation` is the uncapacitated clairvoyant plan's, fullest type."""

    case: str
    nodes: int
    seed: int
    sharing: str
    policy: str
    rho: float
    utilisation: float
    total: float
    energy: float
    tardiness: float
    late: int
    jobs: int
    bound: float | None
    clean: bool


def rows_of(
    case: str,
    settings: RollingGenerator,
    seeds: Iterable[int],
    policies: Sequence[str],
    *,
    sharing: str = "off",
    bound: int = 0,
    passes: int = 5,
    time_limit: float | None = None,
) -> list[Row]:
    """Run policies on one workload a seed, with common random numbers.

    Raises
    ------
    OptschedError
        If the audit finds a rule broken: no table is made of such a run.
    """
    rows = []
    for seed in seeds:
        instance = generate_rolling(settings, seed=seed)
        options = SelectionOptions(sharing=sharing)
        utilisation = clairvoyant_utilisation(World(instance, options), true_epochs(instance, seed))
        for each in roll(
            instance,
            policies,
            options=options,
            settings=RollingSettings(seed=seed, iterations=passes, time_limit=time_limit),
            bound=BoundSettings(iterations=bound) if bound else None,
        ):
            if not each.audit.feasible:
                raise OptschedError(
                    f"{instance.name}, {each.run.policy}: {each.audit.violations[0]}"
                )
            rows.append(_row(case, seed, sharing, each, instance, max(utilisation.values())))
    return rows


def _row(
    case: str,
    seed: int,
    sharing: str,
    rolled: Rolled,
    instance: RollingInstance,
    utilisation: float,
) -> Row:
    m = rolled.metrics
    return Row(
        case=case,
        nodes=len(instance.nodes),
        seed=seed,
        sharing=sharing,
        policy=rolled.run.policy,
        rho=offered_load(instance),
        utilisation=utilisation,
        total=m.total_cost,
        energy=m.energy_cost,
        tardiness=m.tardiness_cost,
        late=m.late_jobs,
        jobs=len(instance.jobs),
        bound=rolled.bound,
        clean=rolled.audit.feasible,
    )


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """All rows as CSV."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, [f.name for f in fields(Row)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    write_text(path, stream.getvalue())


def of(rows: Sequence[Row], **wanted: object) -> list[Row]:
    """Rows whose fields have the values given."""
    return [row for row in rows if all(getattr(row, k) == v for k, v in wanted.items())]


def average(rows: Sequence[Row], field: str) -> float:
    """Mean of a field."""
    return mean(float(getattr(row, field)) for row in rows)


def spread(values: Sequence[float]) -> str:
    """Mean, standard deviation and range."""
    deviation = stdev(values) if len(values) > 1 else 0.0
    return f"{mean(values):.2f} ± {deviation:.2f} [{min(values):.2f}-{max(values):.2f}]"


def loads(rows: Sequence[Row]) -> str:
    """Both statements of the load."""
    return f"{average(rows, 'rho'):.2f} | {average(rows, 'utilisation'):.2f}"
