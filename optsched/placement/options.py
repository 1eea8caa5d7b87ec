"""The options that change a placement's objective, and its speed-up over one GPU.

The reference is one GPU of unlimited memory. For the samples of one iteration it needs the summed
compute time of all GPUs, sum over stages of q_s k_s (p^f_s + c_b p^b_s), and no communication. c_b
is the option `backward_overlap`, which applies to the placement's time as well. The speed-up is
that time over alpha; the efficiency is the speed-up over the number of GPUs, at most 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from optsched.declared import Between, Options

if TYPE_CHECKING:
    from optsched.placement.instance import PlacementInstance
    from optsched.placement.solution import PlacementSolution

AllReduceBandwidth = Literal["own", "bottleneck"]
Coefficient = Annotated[float, Between(0, 100)]


@dataclass(frozen=True)
class PlacementOptions(Options):
    """Options of the cost model.

    Attributes
    ----------
    all_reduce_bandwidth : "own" or "bottleneck"
        NIC share that limits the all-reduce: the server's own, as equation (6) is printed, or the
        smallest over the servers of the stage, as the paper's text says.
    backward_overlap, all_reduce_overlap : float
        Coefficients on backward time and all-reduce time for engines that overlap the two
        (a-srpt, the remark after (7)).
    """

    all_reduce_bandwidth: AllReduceBandwidth = "own"
    backward_overlap: Coefficient = 1.0
    all_reduce_overlap: Coefficient = 1.0


STANDARD = PlacementOptions()
"""Default options; one shared instance, since creating options validates them."""


def features(instance: PlacementInstance, options: PlacementOptions) -> dict[str, tuple[str, str]]:
    """Optional features in use, each with (found, expected) for the error message."""
    present = {}
    if options.all_reduce_bandwidth == "bottleneck":
        present["bottleneck"] = (
            "all_reduce_bandwidth=bottleneck",
            "own: it requires server costs that depend only on the server's own counts",
        )
    if instance.job.micro_batches is not None:
        present["micro-batches"] = (
            f"micro_batches={instance.job.micro_batches}",
            "no micro_batches: it requires the objective of an asynchronous job",
        )
    return present


SLOWER = "slower than a single GPU"


def one_gpu_time(instance: PlacementInstance, options: PlacementOptions = STANDARD) -> float:
    """Compute time of one GPU for the samples of an iteration, in seconds."""
    overlap = options.backward_overlap
    return sum(
        stage.gpus * (stage.forward_time + overlap * stage.backward_time)
        for stage in instance.job.stages
    )


def measures(
    instance: PlacementInstance, objective: float | None, options: PlacementOptions = STANDARD
) -> dict[str, float | None]:
    """Speed-up over one GPU and efficiency; None without an iteration time."""
    if not objective:
        return {"speed_up": None, "efficiency": None}
    speed_up = one_gpu_time(instance, options) / objective
    return {"speed_up": speed_up, "efficiency": speed_up / instance.job.gpus}


def measures_of_solution(
    instance: PlacementInstance, solution: PlacementSolution | None, options: PlacementOptions
) -> dict[str, float | None]:
    """Speed-up and efficiency at a checked placement's iteration time."""
    return measures(instance, None if solution is None else solution.objective, options)
