"""Which plan a job runs: the fastest that its GPUs' memory holds, perhaps on fewer GPUs.

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
from optsched.profiles.memory import Training, bytes_per_gpu, room_of, steps_to_try
from optsched.profiles.planner import Plan, plan_stages, plans
from optsched.profiles.profile import LayerProfile
from optsched.profiles.replicas import as_single_gpus, synchronous_time

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
    seconds : float
        Of an iteration, by which plans are compared: the bottleneck, or the time of all
        micro-batches.
    """

    plan: Plan
    iteration: LayerProfile
    bytes_per_gpu: tuple[float, ...]
    accumulation_steps: int
    seconds: float

    @property
    def most_bytes(self) -> float:
        """Of the stage that needs most."""
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
    """Choose a plan.

    Parameters
    ----------
    profile : LayerProfile
        Of one mini-batch, in the tensor slices of `training`.
    gpus : int
        GPUs offered: a multiple of the slices.
    training : Training
        What an iteration is; whether the plan may use fewer GPUs, and need not fit.
    gpu_memory : float
        Bytes of a GPU.
    bandwidth : float
        Bytes per second that one GPU can count on across servers.
    intra_bandwidth : float
        Between the GPUs of a server, bytes/s: what slices of a replica all-reduce by.
    stages : int, optional
        Stages of the plan; by default as many as make it fastest, up to 8.
    source : str
        What an error line names.

    Returns
    -------
    Choice
        The plan, and what it was chosen from.

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
    found: list[Choice] = []
    least: Choice | None = None
    replicas = gpus // q
    for used in _sizes(replicas, stages or 1) if training.fewer_gpus else [replicas]:
        mini_batches = q * used if training.batch == "per-gpu" else 1
        iteration = profile.repeated(mini_batches) if mini_batches > 1 else profile
        room = room_of(
            profile,
            training.batch,
            training.optimiser,
            steps[0],
            gpu_memory,
            gpus=q * used,
            micro_batches=training.micro_batches,
        )
        planned = as_single_gpus(iteration, q * bandwidth, intra_bandwidth)
        for plan, seconds in _plans(planned, used, stages, q * bandwidth, room, training):
            # The fewest steps that fit; where none do, the most.
            of_steps = [
                Choice(plan, iteration, _held(profile, plan, training, n), n, seconds)
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
    return min(found, key=lambda choice: _seconds_a_sample(choice, training.batch))


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


def _held(profile: LayerProfile, plan: Plan, training: Training, steps: int) -> tuple[float, ...]:
    return bytes_per_gpu(
        profile,
        plan,
        training.batch,
        training.optimiser,
        steps,
        micro_batches=training.micro_batches,
    )


def _sizes(gpus: int, fewest: int) -> list[int]:
    sizes = {max(1, gpus * part // SIZES_TRIED) for part in range(1, SIZES_TRIED + 1)}
    return sorted(size for size in sizes if size >= fewest) or [gpus]


def _plans(
    planned: LayerProfile,
    replicas: int,
    stages: int | None,
    bandwidth: float,
    room: Room,
    training: Training,
) -> Iterator[tuple[Plan, float]]:
    """The fastest plan of all, then those that fit, fastest first, if any does; with its time."""

    def timed(plan: Plan) -> tuple[Plan, float]:
        parts = training.micro_batches
        if parts is None:
            return plan, plan.bottleneck
        return plan, synchronous_time(planned, plan, parts, bandwidth=bandwidth)

    def fastest(found: list[Plan]) -> list[tuple[Plan, float]]:
        return sorted(map(timed, found), key=lambda pair: pair[1])

    free = fastest(
        plans(planned, replicas, bandwidth=bandwidth)
        if stages is None
        else [plan_stages(planned, replicas, stages, bandwidth=bandwidth)]
    )
    yield free[0]
    fitting = []
    for count in [len(plan.replicas) for plan, _ in free]:
        with contextlib.suppress(InputError):
            fitting.append(plan_stages(planned, replicas, count, bandwidth=bandwidth, room=room))
    yield from fastest(fitting)
    yield from free[1:]


def _seconds_a_sample(choice: Choice, batch: str) -> float:
    return choice.seconds / (choice.gpus if batch == "per-gpu" else 1)


def _too_large(source: str, profile: LayerProfile, least: Choice, gpu_memory: float) -> InputError:
    stage = max(range(len(least.bytes_per_gpu)), key=least.bytes_per_gpu.__getitem__)
    held = f"{1e-9 * least.bytes_per_gpu[stage]:.3g}"
    return InputError(
        source,
        "memory",
        f"{held} GB on each GPU of stage {stage} of {len(least.bytes_per_gpu)} of {profile.model}",
        f"at most the GPU's {number(1e-9 * gpu_memory)} GB: more stages or GPUs, or oversized",
    )
