"""Speed-up of a placement over one GPU, and its efficiency.

The reference is one GPU of unlimited memory. For the samples of one iteration it needs the summed
compute time of all GPUs, sum over stages of q_s k_s (p^f_s + c_b p^b_s), and no communication. c_b
is the option `backward_overlap`, which applies to the placement's time as well. The speed-up is
that time over alpha; the efficiency is the speed-up over the number of GPUs, at most 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optsched.placement.options import STANDARD, PlacementOptions

if TYPE_CHECKING:
    from optsched.placement.instance import PlacementInstance
    from optsched.placement.solution import PlacementSolution

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
