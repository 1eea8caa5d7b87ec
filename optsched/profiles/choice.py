"""The plan of a job: the fastest one that fits into its GPUs' memory, perhaps on fewer GPUs.

An iteration processes a mini-batch of the profile for each GPU of the plan ("per-gpu": weak
scaling), or one in all ("global": the more replicas share it, the more communication decides).
Plans are compared by samples per second: at the planner's bottleneck or, where an iteration is
cut into micro-batches, in the time that they all take.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from optsched.display import number
from optsched.errors import InputError
from optsched.profiles.memory import Training, bytes_per_gpu, memory_limits, steps_to_try
from optsched.profiles.planner import (
    Plan,
    as_single_gpus,
    plan_stages,
    plans,
    synchronous_time,
)
from optsched.profiles.profile import LayerProfile

if TYPE_CHECKING:
    from optsched.profiles.planner_kernel import MemoryLimits

SIZES_TRIED = 16
"""Numbers of GPUs tried with `fewer_gpus`, evenly spaced up to all."""


@dataclass(frozen=True)
class Choice:
    """A plan, the profile that it cuts, and its memory and time."""

    plan: Plan
    iteration: LayerProfile
    """The profile of an iteration's samples."""
    bytes_per_gpu: tuple[float, ...]
    """Bytes on each GPU, by stage."""
    accumulation_steps: int
    """Gradient accumulation steps: parts of a GPU's mini-batch."""
    seconds: float
    """Time of an iteration, by which plans are compared: the bottleneck, or the time of all
    micro-batches."""

    @property
    def most_bytes(self) -> float:
        """Bytes on a GPU of the stage that needs most."""
        return max(self.bytes_per_gpu)

    @property
    def gpus(self) -> int:
        """GPUs of the plan."""
        return self.iteration.tensor_parallel * sum(self.plan.replicas)


def choose_plan(
    profile: LayerProfile,
    gpus: int,
    training: Training,
    gpu_memory: float,
    *,
    bandwidth: float,
    intra_bandwidth: float = math.inf,
    stages: int | None = None,
    source: str = "plan",
) -> Choice:
    """Choose the fastest plan that fits into the GPUs' memory.

    Parameters
    ----------
    profile : LayerProfile
        Profile of one mini-batch, in the tensor slices of `training`.
    gpus : int
        GPUs offered: a multiple of the slices.
    training : Training
        The samples of an iteration; whether the plan may use fewer GPUs or exceed the memory.
    gpu_memory : float
        Bytes of a GPU.
    bandwidth : float
        Bytes per second that one GPU can count on across servers.
    intra_bandwidth : float
        Bytes per second between the GPUs of a server, over which slices all-reduce.
    stages : int, optional
        Stages of the plan; by default as many as make it fastest, up to 8.
    source : str
        Name of the input in error messages.

    Returns
    -------
    Choice
        The plan, its memory and its time.

    Raises
    ------
    InputError
        If an argument cannot be used, or no plan fits: the line names the stage that is too large.

    Examples
    --------
    >>> from optsched.profiles import Training
    >>> from optsched.zoo import profile_model
    >>> choose_plan(profile_model("VGG19"), 8, Training(), 3.2e10, bandwidth=1.25e9).plan.replicas
    (7, 1)
    """
    _check_slices(source, profile, gpus, training)
    q = profile.tensor_parallel
    steps = steps_to_try(profile, training)
    choices: list[Choice] = []
    too_large: list[Choice] = []
    replicas = gpus // q
    for used in _sizes(replicas, stages or 1) if training.fewer_gpus else [replicas]:
        mini_batches = q * used if training.batch == "per-gpu" else 1
        iteration = profile.repeated(mini_batches) if mini_batches > 1 else profile
        limits = memory_limits(profile, training, steps[0], gpu_memory, gpus=q * used)
        planned = as_single_gpus(iteration, q * bandwidth, intra_bandwidth)
        for plan, seconds in _plans(planned, used, stages, q * bandwidth, limits, training):
            # Take the fewest steps that fit; where none do, the most.
            for count in reversed(steps):
                stage_bytes = bytes_per_gpu(profile, plan, training, count)
                choice = Choice(plan, iteration, stage_bytes, count, seconds)
                if choice.most_bytes <= gpu_memory:
                    break
            if training.oversized or choice.most_bytes <= gpu_memory:
                choices.append(choice)
                break
            too_large.append(choice)
    if not choices:
        smallest = min(too_large, key=lambda choice: choice.most_bytes)
        raise _too_large(source, profile, smallest, gpu_memory)
    per_gpu = training.batch == "per-gpu"  # then an iteration has samples for each GPU
    return min(choices, key=lambda choice: choice.seconds / (choice.gpus if per_gpu else 1))


def _check_slices(source: str, profile: LayerProfile, gpus: int, training: Training) -> None:
    q = profile.tensor_parallel
    if training.tensor_parallel != q:
        found = f"{training.tensor_parallel} for {profile.model}"
        raise InputError(source, "tensor_parallel", found, f"the {q} of its profile")
    if training.experts is not None and training.experts != profile.experts:
        found = f"{training.experts} for {profile.model}"
        raise InputError(source, "experts", found, f"the {profile.experts} of its profile")
    if q > 1 and (gpus < q or gpus % q):
        raise InputError(source, "gpus", str(gpus), f"a multiple of tensor_parallel = {q}")


def _sizes(gpus: int, min_gpus: int) -> list[int]:
    sizes = {max(1, gpus * part // SIZES_TRIED) for part in range(1, SIZES_TRIED + 1)}
    return sorted(size for size in sizes if size >= min_gpus) or [gpus]


def _plans(
    planned: LayerProfile,
    replicas: int,
    stages: int | None,
    bandwidth: float,
    limits: MemoryLimits,
    training: Training,
) -> Iterator[tuple[Plan, float]]:
    """Yield the fastest plan, the best within the memory limits by stage count, the other plans.

    The second and the third group are sorted by time.
    """
    parts = training.micro_batches

    def time_of(plan: Plan) -> float:
        if parts is None:
            return plan.bottleneck
        return synchronous_time(planned, plan, parts, bandwidth=bandwidth)

    def with_times(unsorted: list[Plan]) -> list[tuple[Plan, float]]:
        return sorted(((plan, time_of(plan)) for plan in unsorted), key=lambda pair: pair[1])

    unlimited = with_times(
        plans(planned, replicas, bandwidth=bandwidth)
        if stages is None
        else [plan_stages(planned, replicas, stages, bandwidth=bandwidth)]
    )
    yield unlimited[0]
    fitting = []
    for plan, _ in unlimited:
        count = len(plan.replicas)
        with contextlib.suppress(InputError):
            fitting += [plan_stages(planned, replicas, count, bandwidth=bandwidth, limits=limits)]
    yield from with_times(fitting)
    yield from unlimited[1:]


def _too_large(
    source: str, profile: LayerProfile, smallest: Choice, gpu_memory: float
) -> InputError:
    stage, stages = smallest.bytes_per_gpu.index(smallest.most_bytes), len(smallest.bytes_per_gpu)
    gigabytes = f"{1e-9 * smallest.most_bytes:.3g} GB"
    found = f"{gigabytes} on each GPU of stage {stage} of {stages} of {profile.model}"
    expected = (
        f"at most the GPU's {number(1e-9 * gpu_memory)} GB: more stages or GPUs, or oversized"
    )
    return InputError(source, "memory", found, expected)
