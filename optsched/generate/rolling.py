"""Rolling instances as in sts, VII-A3: nodes and jobs as for selection, and arrivals.

From the paper: everything `generate.selection` takes from it, ten jobs a node, and three kinds of
arrivals. "exponential": mean inter-arrival time 50,000 s / nodes. "poisson-high": Poisson arrivals
of rate eps kappa lam with eps = 0.4, kappa = nodes x the most GPUs a job can get, lam = one over
the jobs' mean expected time in their fastest configuration; "poisson-low": a quarter of that.
"load": Poisson arrivals of the rate at which rho, the offered work over the cluster's speed, is
what is asked; rho = rate x E[W x seconds per epoch on one GPU of speed 1] / sum of GPU speeds,
where a type's speed is the jobs' mean speed on it relative to the slowest type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from optsched.errors import InputError, shown
from optsched.generate.selection import SelectionSettings, generate_selection
from optsched.rolling.instance import SCHEMA, RollingInstance
from optsched.rolling.load import offered_load
from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions

ARRIVALS = ("exponential", "poisson-high", "poisson-low", "load")
MEAN_GAP = 50_000.0
EPSILON = 0.4
JOBS_PER_NODE = 10


@dataclass(frozen=True)
class RollingGenerator:
    """What a generated workload looks like.

    Attributes
    ----------
    cluster : SelectionSettings
        Nodes and jobs; `interval` is H.
    arrivals : str
        One of `ARRIVALS`.
    load : float
        rho, for arrivals "load".
    a100_speed : float
        Factor on the A100's speed: 1 keeps its ratio to the K80 at 6.
    reconfiguration_delay : float
        Seconds.
    """

    cluster: SelectionSettings
    arrivals: str = "exponential"
    load: float = 0.5
    a100_speed: float = 1.0
    reconfiguration_delay: float = 0.0

    def __post_init__(self) -> None:
        if self.arrivals not in ARRIVALS:
            raise _refused("--arrivals", self.arrivals, " or ".join(ARRIVALS))
        for name, low, high in (
            ("load", 1e-3, 100.0),
            ("a100_speed", 0.05, 20.0),
            ("reconfiguration_delay", 0.0, 1e6),
        ):
            if not low <= getattr(self, name) <= high:
                where = f"--{name.replace('_', '-')}"
                raise _refused(where, getattr(self, name), f"{low:g} to {high:g}")


def rolling_settings(nodes: int = 10, **changes: Any) -> RollingGenerator:
    """Settings with the paper's ten jobs a node; other names go where they belong."""
    own = {k: changes.pop(k) for k in tuple(changes) if k in RollingGenerator.__dataclass_fields__}
    cluster = SelectionSettings(nodes=nodes, jobs=JOBS_PER_NODE * nodes, sharing=False)
    return RollingGenerator(replace(cluster, **changes), **own)


def generate_rolling(
    settings: RollingGenerator,
    *,
    seed: int = 0,
    name: str | None = None,
    submit_times: Sequence[float] | None = None,
) -> RollingInstance:
    """Generate one workload; equal arguments give equal instances.

    Parameters
    ----------
    settings : RollingGenerator
    seed : int
    name : str, optional
    submit_times : sequence of float, optional
        Seconds, one a job, instead of drawn arrivals: those of a trace.

    Raises
    ------
    InputError
        If a setting cannot be used.
    """
    base = generate_selection(settings.cluster, seed=seed)
    document = base.to_dict()
    _scale_a100(document, settings.a100_speed)
    kind = settings.arrivals if submit_times is None else "trace"
    if kind == "load":
        kind = f"load{settings.load:g}"
    times = submit_times
    if times is None:
        base = SelectionInstance.from_dict(document, "generate rolling")
        times = _submit_times(settings, base, np.random.default_rng([seed, 1])).tolist()
    for job, submit in zip(document["jobs"], times, strict=True):
        job["submit_time"] = round(float(submit), 3)
        job["due_date"] = round(job["due_date"] + job["submit_time"], 3)
    cluster = settings.cluster
    document |= {
        "schema": SCHEMA,
        "name": name or f"{cluster.nodes}x{cluster.jobs}-{kind}-s{seed}",
        "reconfiguration_delay": settings.reconfiguration_delay,
    }
    return RollingInstance.from_dict(document, "generate rolling")


def _scale_a100(document: dict[str, Any], factor: float) -> None:
    """Change the A100's speed; due dates stay, they are the jobs' own."""
    for job in document["jobs"] if factor != 1 else ():
        times = job["epoch_time"].get("A100")
        if times is not None:
            job["epoch_time"]["A100"] = [round(t / factor, 6) for t in times]


def _submit_times(
    settings: RollingGenerator, base: SelectionInstance, rng: np.random.Generator
) -> np.ndarray:
    gaps = rng.exponential(size=len(base.jobs))
    return np.cumsum(gaps * _mean_gap(settings, base))


def _mean_gap(settings: RollingGenerator, base: SelectionInstance) -> float:
    if settings.arrivals == "exponential":
        return MEAN_GAP / settings.cluster.nodes
    if settings.arrivals == "load":
        return offered_load(base, gap=1.0) / settings.load
    from optsched.selection.cost import tables_of

    tables = tables_of(base, SelectionOptions(sharing="off"))
    fastest = tables.expected.reshape(tables.jobs, -1).min(axis=1).mean()
    high = EPSILON * settings.cluster.nodes * settings.cluster.gpus_per_node / fastest
    return float(1 / (high if settings.arrivals == "poisson-high" else high / 4))


def _refused(where: str, found: object, expected: str) -> InputError:
    return InputError("generate rolling", where, shown(found), expected)
