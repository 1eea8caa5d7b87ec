"""Whether a placement is worth its GPUs: its speed-up over one GPU, and its efficiency.

One GPU that could hold the whole job would take, for the samples of one iteration, what all the
GPUs compute: sum over s of q_s k_s (p^f_s + p^b_s), without any communication. The speed-up is
that time over alpha, the efficiency the speed-up over the number of GPUs, at most 1. A placement
of a speed-up below 1 is slower than one of its GPUs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optsched.placement.instance import PlacementInstance
    from optsched.placement.options import PlacementOptions
    from optsched.placement.solution import PlacementSolution

SLOWER = "slower than one GPU, no one would run this"


def one_gpu_time(instance: PlacementInstance) -> float:
    """Seconds that one GPU computes for the samples of an iteration."""
    return sum(
        stage.gpus * (stage.forward_time + stage.backward_time) for stage in instance.job.stages
    )


def measures(instance: PlacementInstance, objective: float | None) -> dict[str, float | None]:
    """Speed-up over one GPU and efficiency at an iteration time; None where there is none."""
    if not objective:
        return {"speed_up": None, "efficiency": None}
    speed_up = one_gpu_time(instance) / objective
    return {"speed_up": speed_up, "efficiency": speed_up / instance.job.gpus}


def measures_of_solution(
    instance: PlacementInstance, solution: PlacementSolution | None, _: PlacementOptions
) -> dict[str, float | None]:
    """The same at a checked placement's iteration time."""
    return measures(instance, None if solution is None else solution.objective)
