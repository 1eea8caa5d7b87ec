"""Speed-up of a placement over one GPU, and its efficiency.

One GPU that could hold the whole job would take, for the samples of one iteration, what all GPUs
compute: the sum over stages of q_s k_s (p^f_s + c_b p^b_s), without any communication. c_b is the
option `backward_overlap`, which changes the placement's own time alike. The speed-up is that time
over alpha; the efficiency is the speed-up over the number of GPUs, at most 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from optsched.placement.options import STANDARD, PlacementOptions

if TYPE_CHECKING:
    from optsched.placement.instance import PlacementInstance
    from optsched.placement.solution import PlacementSolution

SLOWER = "slower than one GPU, no one would run this"


def one_gpu_time(instance: PlacementInstance, options: PlacementOptions = STANDARD) -> float:
    """Seconds that one GPU computes for the samples of an iteration."""
    overlap = options.backward_overlap
    return sum(
        stage.gpus * (stage.forward_time + overlap * stage.backward_time)
        for stage in instance.job.stages
    )


def measures(
    instance: PlacementInstance, objective: float | None, options: PlacementOptions = STANDARD
) -> dict[str, float | None]:
    """Speed-up over one GPU and efficiency at an iteration time; None where there is none."""
    if not objective:
        return {"speed_up": None, "efficiency": None}
    speed_up = one_gpu_time(instance, options) / objective
    return {"speed_up": speed_up, "efficiency": speed_up / instance.job.gpus}


def measures_of_solution(
    instance: PlacementInstance, solution: PlacementSolution | None, options: PlacementOptions
) -> dict[str, float | None]:
    """Speed-up and efficiency at a checked placement's iteration time."""
    return measures(instance, None if solution is None else solution.objective, options)
