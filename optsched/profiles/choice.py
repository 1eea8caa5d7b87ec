"""Which plan a job runs: the fastest that its GPUs' memory holds, perhaps on fewer GPUs.

An iteration processes a mini-batch of the profile for each GPU of the plan ("per-gpu": weak
scaling), or one in all ("global": the more replicas share it, the more communication decides).
Plans are compared by the planner's bottleneck, samples per second.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from optsched.display import number
from optsched.errors import InputError
from optsched.profiles.memory import Training, bytes_per_gpu, room_of, steps_to_try
from optsched.profiles.planner import Plan, plan_stages, plans
from optsched.profiles.profile import LayerProfile

if TYPE_CHECKING:
    from optsched.profiles._planner_kernel import Room

SIZES_TRIED = 16
"""With `fewer_gpus`, so many numbers of GPUs are tried, evenly spaced up to all."""


@dataclass(frozen=True)
class Choice:
    """A plan, and what it is a plan of.

    Attributes
    ----------
    plan : Plan
        Stages and replicas.
    iteration : LayerProfile
        The profile of an iteration's samples.
    bytes_per_gpu : tuple of float
        What each GPU of each stage holds.
    accumulation_steps : int
        Parts that a GPU's mini-batch passes in.
    """

    plan: Plan
    iteration: LayerProfile
    bytes_per_gpu: tuple[float, ...]
    accumulation_steps: int

    @property
    def most_bytes(self) -> float:
        """Of the stage that needs most."""
        return max(self.bytes_per_gpu)

    @property
    def gpus(self) -> int:
        """GPUs of the plan."""
        return sum(self.plan.replicas)


def choose_plan(
    profile: LayerProfile,
    gpus: int,
    training: Training,
    gpu_memory: float,
    *,
    bandwidth: float,
    stages: int | None = None,
    source: str = "plan",
) -> Choice:
    """Choose a plan.

    Parameters
    ----------
    profile : LayerProfile
        Of one mini-batch.
    gpus : int
        GPUs offered.
    training : Training
        What an iteration is; whether the plan may use fewer GPUs, and need not fit.
    gpu_memory : float
        Bytes of a GPU.
    bandwidth : float
        Bytes per second that one GPU can count on across servers.
    stages : int, optional
        Stages of the plan; by default as many as make it fastest, up to 8.
    source : str
        What an error line names.

    Raises
    ------
    InputError
        If an argument cannot be used, or no plan fits: the line names the stage that is too large.
    """
    batch, optimiser = training.batch, training.optimiser
    steps = steps_to_try(profile, training)
    room = room_of(profile, batch, optimiser, steps[0], gpu_memory)
    found: list[Choice] = []
    least: Choice | None = None
    for used in _sizes(gpus, stages or 1) if training.fewer_gpus else [gpus]:
        iteration = profile.repeated(used) if batch == "per-gpu" and used > 1 else profile
        for plan in _plans(iteration, used, stages, bandwidth, room):
            # The fewest steps that fit; where none do, the most.
            of_steps = [
                Choice(plan, iteration, bytes_per_gpu(profile, plan, batch, optimiser, n), n)
                for n in reversed(steps)
            ]
            choice = next((c for c in of_steps if c.most_bytes <= gpu_memory), of_steps[-1])
            if training.oversized or choice.most_bytes <= gpu_memory:
                found.append(choice)
                break
            if least is None or choice.most_bytes < least.most_bytes:
                least = choice
    if not found:
        assert least is not None  # a plan was made, and did not fit
        raise _too_large(source, profile, least, gpu_memory)
    return min(found, key=lambda choice: _seconds_a_sample(choice, batch))


def _sizes(gpus: int, fewest: int) -> list[int]:
    sizes = {max(1, gpus * part // SIZES_TRIED) for part in range(1, SIZES_TRIED + 1)}
    return sorted(size for size in sizes if size >= fewest) or [gpus]


def _plans(
    iteration: LayerProfile, gpus: int, stages: int | None, bandwidth: float, room: Room
) -> Iterator[Plan]:
    """The fastest plan of all, then those that fit, fastest first, if any does."""
    free = (
        plans(iteration, gpus, bandwidth=bandwidth)
        if stages is None
        else [plan_stages(iteration, gpus, stages, bandwidth=bandwidth)]
    )
    yield free[0]
    fitting = []
    for count in [len(plan.replicas) for plan in free]:
        with contextlib.suppress(InputError):
            fitting.append(plan_stages(iteration, gpus, count, bandwidth=bandwidth, room=room))
    yield from sorted(fitting, key=lambda plan: plan.bottleneck)
    yield from free[1:]


def _seconds_a_sample(choice: Choice, batch: str) -> float:
    return choice.plan.bottleneck / (choice.gpus if batch == "per-gpu" else 1)


def _too_large(source: str, profile: LayerProfile, least: Choice, gpu_memory: float) -> InputError:
    stage = max(range(len(least.bytes_per_gpu)), key=least.bytes_per_gpu.__getitem__)
    held = f"{1e-9 * least.bytes_per_gpu[stage]:.3g}"
    return InputError(
        source,
        "memory",
        f"{held} GB on each GPU of stage {stage} of {len(least.bytes_per_gpu)} of {profile.model}",
        f"at most the GPU's {number(1e-9 * gpu_memory)} GB: more stages or GPUs, or oversized",
    )
