"""Where an iteration's time goes: each stage on each server, split into its four parts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from optsched.display import Explanation
from optsched.placement.instance import PlacementInstance, Stage
from optsched.placement.options import PlacementOptions
from optsched.placement.scaling import SLOWER, measures
from optsched.placement.solution import PlacementSolution


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

    @property
    def parts(self) -> dict[str, float]:
        """The four parts by name."""
        return {
            "compute": self.compute,
            "inter-server transfer": self.inter_server,
            "intra-server transfer": self.intra_server,
            "all-reduce": self.all_reduce,
        }

    @property
    def total(self) -> float:
        """The four parts' sum."""
        return sum(self.parts.values())


@dataclass(frozen=True, repr=False)
class Breakdown(Explanation):
    """All parts of a placement's time, and which stage on which server is the bottleneck.

    `speed_up` is over one GPU, `efficiency` the speed-up over the number of GPUs.
    """

    right = (
        *("server", "replicas", "compute", "inter-server", "intra-server", "all-reduce"),
        "total",
    )

    instance: str
    rows: tuple[StageTime, ...]
    speed_up: float | None = None
    efficiency: float | None = None

    @property
    def bottleneck(self) -> StageTime:
        """The slowest row; the first among equals."""
        return max(self.rows, key=lambda row: row.total)

    @property
    def iteration_time(self) -> float:
        """alpha, in seconds."""
        return self.bottleneck.total

    def to_dict(self) -> dict[str, Any]:
        """The breakdown as a JSON object."""
        return {
            "instance": self.instance,
            "iteration_time": self.iteration_time,
            "speed_up": self.speed_up,
            "efficiency": self.efficiency,
            "bottleneck": {"stage": self.bottleneck.stage, "server": self.bottleneck.server},
            "rows": [{**asdict(row), "total": row.total} for row in self.rows],
        }

    def table(self) -> tuple[str, list[str], list[list[str]], str]:
        """Title, headings, the rows in ms, and how the bottleneck's time splits."""
        headings = ["", "stage", *self.right[:6], "over", "total"]
        worst = self.bottleneck
        rows = [
            [
                ">" if row is worst else "",
                f"{row.stage} {row.name}",
                str(row.server),
                str(row.replicas),
                *(f"{1e3 * part:.3f}" for part in row.parts.values()),
                row.all_reduce_link,
                f"{1e3 * row.total:.3f}",
            ]
            for row in self.rows
        ]
        total = worst.total or 1.0
        split = ", ".join(f"{name} {100 * part / total:.1f}%" for name, part in worst.parts.items())
        closing = (
            f"bottleneck: stage {worst.stage} ({worst.name}) on server {worst.server}, "
            f"{1e3 * worst.total:.3f} ms: {split}"
        )
        if self.speed_up is not None and self.efficiency is not None:
            closing += (
                f"\nspeed-up over one GPU {self.speed_up:.2f}, "
                f"efficiency {100 * self.efficiency:.0f}%"
            ) + (f": {SLOWER}" if self.speed_up < 1 else "")
        return f"{self.instance}: ms of an iteration", headings, rows, closing


def explain(
    instance: PlacementInstance, solution: PlacementSolution, options: PlacementOptions
) -> Breakdown:
    """Break a feasible placement's time down.

    Parameters
    ----------
    instance, solution, options
        A placement that `optsched.check` accepts, and the readings of its cost.

    Returns
    -------
    Breakdown
        One row for each stage and server that holds it; the largest total is alpha.
    """
    stages, servers = instance.shape
    rows = tuple(
        _row(instance, solution.counts, s, m, options)
        for s in range(stages)
        for m in range(servers)
        if solution.counts[s][m] > 0
    )
    return Breakdown(instance.name, rows, **measures(instance, max(row.total for row in rows)))


def _row(
    instance: PlacementInstance,
    counts: tuple[tuple[int, ...], ...],
    s: int,
    m: int,
    options: PlacementOptions,
) -> StageTime:
    stages, cluster = instance.job.stages, instance.cluster
    stage = stages[s]
    near = away = 0.0
    if s > 0:
        inside = counts[s - 1][m] / stages[s - 1].replicas
        near += 2 * stage.input_bytes * inside
        away += 2 * stage.input_bytes * (1 - inside)
    if s + 1 < len(stages):
        inside = counts[s + 1][m] / stages[s + 1].replicas
        near += 2 * stage.output_bytes * inside
        away += 2 * stage.output_bytes * (1 - inside)
    seconds, link = _all_reduce(instance, stage, counts[s], m, options)
    return StageTime(
        stage=s,
        name=stage.name,
        server=m,
        replicas=counts[s][m],
        compute=stage.forward_time + options.backward_overlap * stage.backward_time,
        inter_server=away * cluster.gpus_per_server / cluster.inter_bandwidth,
        intra_server=near / cluster.intra_bandwidth,
        all_reduce=options.all_reduce_overlap * seconds,
        all_reduce_link=link,
    )


def _all_reduce(
    instance: PlacementInstance,
    stage: Stage,
    row: tuple[int, ...],
    m: int,
    options: PlacementOptions,
) -> tuple[float, str]:
    k, cluster = stage.replicas, instance.cluster
    if k == 1:
        return 0.0, "none"
    volume = 2 * (k - 1) / k * stage.parameter_bytes
    if row[m] == k:
        return volume / cluster.intra_bandwidth, "intra-server"
    sharing = row[m] if options.all_reduce_bandwidth == "own" else min(x for x in row if x > 0)
    share = sharing * cluster.inter_bandwidth / cluster.gpus_per_server
    return volume / share, "inter-server"
