"""The map of Figs. 4-6 of sts: load x speed-up exponent x GPUs a node, and what else is left open.

The paper states none of these but the largest node, so each cell is a world that it may have had.
Ten nodes, as the smallest of its clusters; the load of its Poisson arrivals is one axis, that of
its exponential ones (a Poisson process too) is near the axis' start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from optsched.experiments.papers.artefact import Scale
from optsched.experiments.papers.sts.runs import workload
from optsched.experiments.papers.sts.world import GPUS
from optsched.experiments.plans.plan import Family
from optsched.generators.rolling import RollingGenerator, due_dates, generate_rolling
from optsched.rolling.instance import RollingInstance

LOADS = (0.05, 0.25, 0.5, 0.75, 1.0)
SPEEDUPS = (0.5, 0.6, 0.7, 0.8, 0.9)
NODE_GPUS = (4, GPUS)
NODES, SEEDS, SHARING_SEEDS = 10, 3, 2
QUICK_LOADS, QUICK_SPEEDUPS, QUICK_NODES = (0.25, 1.0), (0.5, 0.9), 3
FAMILIES = (("K80 and M60", ("K80", "M60")), ("A100", ("A100",)))
OTHER_SPEED = f"{__name__}:generate_other_speed"


@dataclass(frozen=True)
class Cell:
    """A world: rho, the exponent x of the speed-up k^x, GPUs a node, and what else differs."""

    load: float
    speedup: float
    gpus: int
    other: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def name(self) -> str:
        """Of its families, and a case of their rows."""
        words = f"rho {self.load:g}, k^{self.speedup:g}, {self.gpus} GPUs"
        return f"{words}, {self.other}" if self.other else words

    @property
    def arguments(self) -> dict[str, Any]:
        """Of the generator of rolling instances."""
        axes = {"load": self.load, "speedup": self.speedup, "gpus_per_node": self.gpus}
        return {"arrivals": "load", **axes, **self.changes}


OTHERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("A100 half as fast", {"a100_speed": 0.5}),
    ("A100 twice as fast", {"a100_speed": 2.0}),
    ("H 15 min", {"interval": 900.0}),
    ("H 4 h", {"interval": 14_400.0}),
    ("postponement penalty 2", {"penalty": 2.0}),
)
"""What the paper leaves open beside the map's axes, one at a time."""
OTHER_LOAD, OTHER_SPEEDUPS = 0.25, (0.5, 0.8)


def map_cells(scale: Scale) -> list[Cell]:
    """The cells of the map, load by load."""
    loads, speedups = (QUICK_LOADS, QUICK_SPEEDUPS) if scale.quick else (LOADS, SPEEDUPS)
    sizes = (GPUS,) if scale.quick else NODE_GPUS
    return [Cell(load, x, gpus) for gpus in sizes for x in speedups for load in loads]


def other_cells(scale: Scale) -> list[Cell]:
    """The cells beside the map."""
    return [
        Cell(OTHER_LOAD, speedup, GPUS, words, changes)
        for words, changes in (() if scale.quick else OTHERS)
        for speedup in OTHER_SPEEDUPS
    ]


def policies_on_cells(policies: Sequence[str], scale: Scale) -> list[Family]:
    """Policies on every cell."""
    return [
        family
        for cell in (*map_cells(scale), *other_cells(scale))
        for seed in range(1 if scale.quick else SEEDS)
        for family in _workload(cell.name, cell, seed, policies, scale, {})
    ]


def sharing_on_cells(policies: Sequence[str], scale: Scale) -> list[Family]:
    """Policies with and without shared GPUs on every cell, by family of GPU types."""
    return [
        family
        for cell in (*map_cells(scale), *other_cells(scale))
        for name, types in FAMILIES
        for sharing in ("off", "on")
        for seed in range(1 if scale.quick else SHARING_SEEDS)
        for family in _workload(
            f"{cell.name}, {name}",
            cell,
            seed,
            policies,
            scale,
            {"sharing": True, "gpu_types": list(types)},
            sharing=sharing,
        )
    ]


def generate_other_speed(settings: RollingGenerator, *, seed: int = 0) -> RollingInstance:
    """A workload on A100s of another speed, each due date at its place in the (31) of that speed.

    The generator leaves due dates alone, so that on slower A100s some could not be met.
    """
    usual = generate_rolling(replace(settings, a100_speed=1.0), seed=seed).to_dict()
    made = generate_rolling(settings, seed=seed).to_dict()
    for before, job in zip(usual["jobs"], made["jobs"], strict=True):
        old, new = (due_dates(each, settings.cluster.sharing) for each in (before, job))
        share = (before["due_date"] - before["submit_time"] - old[0]) / (old[1] - old[0])
        job["due_date"] = round(job["submit_time"] + new[0] + share * (new[1] - new[0]), 3)
    return RollingInstance.from_dict(made, "generate rolling")


def _workload(
    case: str,
    cell: Cell,
    seed: int,
    policies: Sequence[str],
    scale: Scale,
    more: Mapping[str, Any],
    *,
    sharing: str = "off",
) -> list[Family]:
    arguments = {"nodes": QUICK_NODES if scale.quick else NODES, **cell.arguments, **more}
    generator = OTHER_SPEED if "a100_speed" in cell.changes else "rolling"
    return list(workload(case, arguments, seed, policies, sharing=sharing, generator=generator))
