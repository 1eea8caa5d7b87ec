"""Where an iteration's time goes: each stage on each server, split into its parts."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from optsched.display import Explanation
from optsched.placement.cost import (
    CostTables,
    Ints,
    all_reduce_counts,
    placement_time,
    tables_of,
    tensor_time,
    work_matrix,
)
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import SLOWER, PlacementOptions, measures
from optsched.placement.solution import PlacementSolution

PARTS = {
    "compute": "compute",
    "inter_server": "inter-server transfer",
    "intra_server": "intra-server transfer",
    "tensor": "tensor all-reduce",
    "experts": "expert all-to-all",
    "all_reduce": "all-reduce",
}
"""Display names of the attributes of `StageTime`."""
_HEADINGS = {attribute: name.split()[0] for attribute, name in PARTS.items()}


@dataclass(frozen=True)
class StageTime:
    """Time of one stage on one server, in seconds: beta[s, m] of a-srpt (7) by its parts.

    Attributes
    ----------
    compute : float
        Forward and backward time (4).
    inter_server, intra_server : float
        Activations and gradients over the NIC, and inside the server: the two terms of (5).
    all_reduce : float
        Parameter synchronisation (6); `all_reduce_link` says over which link, if any.
    gpus : int or None
        GPUs of the replicas; None where every replica of the job takes one.
    tensor, experts : float or None
        All-reduce among a replica's slices, and all-to-all between experts; None where no stage of
        the job has any.
    """

    stage: int
    name: str
    server: int
    replicas: int
    compute: float
    inter_server: float
    intra_server: float
    all_reduce: float
    all_reduce_link: str
    gpus: int | None = None
    tensor: float | None = None
    experts: float | None = None

    @property
    def seconds(self) -> dict[str, float]:
        """Available parts, by attribute."""
        parts = ((attribute, getattr(self, attribute)) for attribute in PARTS)
        return {attribute: part for attribute, part in parts if part is not None}

    @property
    def parts(self) -> dict[str, float]:
        """Available parts, by display name."""
        return {PARTS[attribute]: part for attribute, part in self.seconds.items()}

    @property
    def total(self) -> float:
        return sum(self.seconds.values())

    @property
    def work(self) -> float:
        """Sum of the parts without the all-reduce, which a synchronous job does at the end."""
        return sum(part for name, part in self.seconds.items() if name != "all_reduce")

    def to_dict(self) -> dict[str, Any]:
        """The row as a JSON object; parts that are None are omitted."""
        values = {name: value for name, value in asdict(self).items() if value is not None}
        return {**values, "total": self.total}


@dataclass(frozen=True)
class Pipeline:
    """Parts of a synchronous iteration, in seconds; they sum to alpha.

    Attributes
    ----------
    micro_batches : int
        M.
    bottleneck : float
        Work of the slowest stage over all micro-batches.
    fill_and_drain : float
        Pipeline bubble: time of one micro-batch through all other stages.
    exposed_all_reduce : float
        All-reduce time after the last backward pass.
    """

    micro_batches: int
    bottleneck: float
    fill_and_drain: float
    exposed_all_reduce: float

    @property
    def total(self) -> float:
        """alpha."""
        return self.bottleneck + self.fill_and_drain + self.exposed_all_reduce


@dataclass(frozen=True, repr=False)
class Breakdown(Explanation):
    """All parts of a placement's time, and which stage on which server is the bottleneck.

    `speed_up` is over one GPU, `efficiency` the speed-up over the number of GPUs; `pipeline` is
    None for an asynchronous job.
    """

    right = ("server", "replicas", "GPUs", *_HEADINGS.values(), "total")

    instance: str
    rows: tuple[StageTime, ...]
    speed_up: float | None = None
    efficiency: float | None = None
    pipeline: Pipeline | None = None

    @property
    def bottleneck(self) -> StageTime:
        """The slowest row; the first among equals."""
        return max(self.rows, key=lambda row: row.work if self.pipeline else row.total)

    @property
    def iteration_time(self) -> float:
        """alpha, in seconds."""
        return self.pipeline.total if self.pipeline else self.bottleneck.total

    @property
    def causes(self) -> dict[str, float]:
        """Parts of alpha, in seconds: the bottleneck's and the pipeline's."""
        parts = self.bottleneck.parts
        if self.pipeline is not None:
            del parts[PARTS["all_reduce"]]
            parts["fill and drain"] = self.pipeline.fill_and_drain
            parts["exposed all-reduce"] = self.pipeline.exposed_all_reduce
        return parts

    def to_dict(self) -> dict[str, Any]:
        return {
            "instance": self.instance,
            "iteration_time": self.iteration_time,
            "speed_up": self.speed_up,
            "efficiency": self.efficiency,
            "bottleneck": {"stage": self.bottleneck.stage, "server": self.bottleneck.server},
            "rows": [row.to_dict() for row in self.rows],
            **({"pipeline": asdict(self.pipeline)} if self.pipeline else {}),
        }

    def table(self) -> tuple[str, list[str], list[list[str]], str]:
        worst = self.bottleneck
        sliced = worst.gpus is not None
        headings = ["", "stage", "server", "replicas", *(["GPUs"] if sliced else [])]
        headings += [*(_HEADINGS[attribute] for attribute in worst.seconds), "link", "total"]
        rows = [
            [
                ">" if row is worst else "",
                f"{row.stage} {row.name}",
                str(row.server),
                str(row.replicas),
                *([str(row.gpus)] if sliced else []),
                *(f"{1e3 * part:.3f}" for part in row.seconds.values()),
                row.all_reduce_link,
                f"{1e3 * row.total:.3f}",
            ]
            for row in self.rows
        ]
        total = self.iteration_time or 1.0
        split = ", ".join(f"{name} {100 * part / total:.1f}%" for name, part in self.causes.items())
        batches = f"{self.pipeline.micro_batches} micro-batches in " if self.pipeline else ""
        closing = (
            f"bottleneck: stage {worst.stage} ({worst.name}) on server {worst.server}, "
            f"{batches}{1e3 * self.iteration_time:.3f} ms: {split}"
        )
        if self.speed_up is not None and self.efficiency is not None:
            slower = f": {SLOWER}" if self.speed_up < 1 else ""
            closing += f"\nspeed-up over one GPU {self.speed_up:.2f}, "
            closing += f"efficiency {100 * self.efficiency:.0f}%{slower}"
        return f"{self.instance}: time per iteration (ms)", headings, rows, closing


def explain(
    instance: PlacementInstance, solution: PlacementSolution, options: PlacementOptions
) -> Breakdown:
    tables, counts = tables_of(instance, options), np.array(solution.counts)
    shares = all_reduce_counts(counts, options.all_reduce_bandwidth == "bottleneck")
    rows = tuple(
        _row(instance, tables, counts, shares, (s, m)) for s, m in np.argwhere(counts).tolist()
    )
    pipeline = _pipeline(tables, counts, options)
    alpha = pipeline.total if pipeline else max(row.total for row in rows)
    return Breakdown(instance.name, rows, **measures(instance, alpha, options), pipeline=pipeline)


def _pipeline(tables: CostTables, counts: Ints, options: PlacementOptions) -> Pipeline | None:
    """Parts of a synchronous iteration; the exposed all-reduce is alpha minus work and bubble."""
    if tables.micro_batches is None:
        return None
    slowest = work_matrix(tables, counts).max(axis=1)
    bottleneck = float(slowest.max())
    fill_and_drain = (float(slowest.sum()) - bottleneck) / tables.num_micro_batches
    exposed = placement_time(tables, counts, options) - bottleneck - fill_and_drain
    return Pipeline(tables.micro_batches, bottleneck, fill_and_drain, max(exposed, 0.0))


def _row(
    instance: PlacementInstance,
    tables: CostTables,
    counts: Ints,
    shares: Ints,
    place: tuple[int, int],
) -> StageTime:
    s, m = place
    stages, cluster = instance.job.stages, instance.cluster
    stage, replicas = stages[s], int(counts[s, m])
    near = away = 0.0
    for neighbour, size in ((s - 1, stage.input_bytes), (s + 1, stage.output_bytes)):
        if 0 <= neighbour < len(stages):
            share = int(counts[neighbour, m]) / stages[neighbour].replicas
            near += 2 * size * share
            away += 2 * size * (1 - share)
    nic = stage.tensor_parallel * cluster.inter_bandwidth
    link = "intra-server" if replicas == stage.replicas else "inter-server"
    has_tensor_part = any(other.tensor_bytes and other.tensor_parallel > 1 for other in stages)
    return StageTime(
        stage=s,
        name=stage.name,
        server=m,
        replicas=replicas,
        compute=stage.forward_time + float(tables.backward[s]),
        inter_server=away * cluster.gpus_per_server / nic,
        intra_server=near / cluster.intra_bandwidth,
        all_reduce=float(tables.all_reduce[s, shares[s, m]]),
        all_reduce_link="none" if stage.replicas == 1 else link,
        gpus=stage.tensor_parallel * replicas if instance.job.has_tensor_slices else None,
        tensor=tensor_time(stage, cluster) if has_tensor_part else None,
        experts=float(tables.experts[s, replicas]) if tables.experts.any() else None,
    )
