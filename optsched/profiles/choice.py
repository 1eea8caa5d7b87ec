"""The plan of a job: the fastest one that fits into its GPUs' memory, perhaps on fewer GPUs.

An iteration processes a mini-batch of the profile for each GPU of the plan ("per-gpu": weak
scaling), or one in all ("global": the more replicas share it, the more communication decides).
Plans are compared by samples per second: at the planner's bottleneck or, where an iteration is
cut into micro-batches, in the time that they all take.

Bytes on a GPU are parameters with their optimiser, and activations in flight.

An iteration's samples pass through the pipeline one mini-batch of the profile at a time, or one
replica's share of it if that is less. A mini-batch is cut into `accumulation_steps` parts whose
gradients add up. Without a flush, stage s of S (from 0) has S - s parts in flight. Of each it keeps
the stage's input and each layer's output; tensors inside a layer are computed again. No copies of
older parameters are counted.

With a flush (`micro_batches`, 1F1B) a stage keeps min(M, S - s) micro-batches, each 1/M of its
replica's share of the iteration. Each of q tensor slices holds 1/q of the parameters and every
activation; each of k replicas holds 1/k of the experts, and at least one.

Source: D. Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN Training", ICML 2021 (the
parts in flight); S. Rajbhandari et al., "ZeRO", SC 2020, section 3.1 (bytes per parameter).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from optsched.declared import LARGEST, Between, require_declared
from optsched.display import number
from optsched.errors import InputError, shown
from optsched.placement.instance import MAX_GPUS_PER_SERVER
from optsched.profiles.planner import Plan, as_single_gpus, plan_stages, plans, synchronous_time
from optsched.profiles.profile import LayerProfile

if TYPE_CHECKING:
    from optsched.profiles.planner_kernel import MemoryLimits

OPTIMISERS = {"sgd": 12.0, "adam": 16.0}
"""Bytes per parameter: itself, its gradient and one moment (sgd) or two (adam), 4 bytes each;
adam's 16 are also those of mixed precision (2 + 2, and 12 in single precision)."""
MOST_STEPS = 2**20
Steps = Annotated[int, Between(1, MOST_STEPS)]
ROUNDING = 1e-9
"""Relative error that differences of prefix sums may have."""
SIZES_TRIED = 16
"""Numbers of GPUs tried with `fewer_gpus`, evenly spaced up to all."""


@dataclass(frozen=True)
class Training:
    """How a job is trained, and on which GPUs.

    Attributes
    ----------
    batch : str
        "per-gpu": in an iteration each GPU processes a mini-batch of the model; "global": all GPUs
        share one, so communication weighs more on more GPUs.
    mini_batch : int, optional
        Samples of a zoo model's mini-batch; by default those of Table I of a-srpt.
    device : str
        GPU in `optsched.zoo.DEVICES` (speed, memory); a measured profile keeps its times.
    fewer_gpus : bool
        Let the plan use fewer GPUs than offered if it then trains faster.
    optimiser : str
        "sgd" (with momentum) or "adam".
    accumulation_steps : int, optional
        Gradient accumulation steps, at most one per sample; by default 1, or the least power of two
        with which the plan fits the memory.
    gpu_memory : float, optional
        Memory of a GPU, bytes; by default the device's.
    oversized : bool
        Accept a plan that needs more than the memory of a GPU.
    tensor_parallel : int
        GPUs of one server that slice the layers of a replica; transformers only.
    micro_batches : int, optional
        Micro-batches of a synchronous pipeline (1F1B); by default the pipeline is asynchronous.
    experts : int, optional
        Experts per mixture-of-experts layer; by default the model's.
    """

    batch: Literal["per-gpu", "global"] = "per-gpu"
    mini_batch: int | None = None
    device: str = "V100"
    fewer_gpus: bool = False
    optimiser: Literal["sgd", "adam"] = "adam"
    accumulation_steps: Steps | None = None
    gpu_memory: Annotated[float, Between(0, LARGEST, above=True)] | None = None
    oversized: bool = False
    tensor_parallel: Annotated[int, Between(1, MAX_GPUS_PER_SERVER)] = 1
    micro_batches: Steps | None = None
    experts: Steps | None = None

    def __post_init__(self) -> None:
        require_declared("training", self)
        if self.micro_batches is not None and self.accumulation_steps is not None:
            expected = "none together with micro_batches"
            found = shown(self.accumulation_steps)
            raise InputError("training", "accumulation_steps", found, expected)


def steps_to_try(profile: LayerProfile, training: Training) -> list[int]:
    """Return numbers of accumulation steps, largest first: one sample is the smallest part."""
    if training.micro_batches is not None:
        return [1]
    if training.accumulation_steps is not None:
        return [training.accumulation_steps]
    samples = profile.provenance.get("batch_size")
    samples_per_batch = samples if isinstance(samples, int) else 1
    return [2**power for power in reversed(range(samples_per_batch.bit_length()))]


def bytes_per_gpu(
    profile: LayerProfile, plan: Plan, training: Training, steps: int = 1
) -> tuple[float, ...]:
    """Compute the bytes on each GPU of each stage.

    Parameters
    ----------
    profile : LayerProfile
        Profile of one mini-batch.
    plan : Plan
        Its stages.
    training : Training
        The samples of an iteration, the optimiser and the micro-batches.
    steps : int
        Accumulation steps.

    Returns
    -------
    tuple of float
        Bytes by stage.

    Examples
    --------
    >>> from optsched.profiles import plan_stages
    >>> from optsched.zoo import profile_model
    >>> profile = profile_model("VGG19")
    >>> plan = plan_stages(profile, 8, 2, bandwidth=1.25e9)
    >>> [f"{held:.2e}" for held in bytes_per_gpu(profile, plan, Training("global"))]
    ['7.53e+08', '2.20e+09']
    """
    bounds = (0, *plan.cuts, len(profile.layers))
    entering = (0.0, *profile.cut_bytes())
    gpus = profile.tensor_parallel * sum(plan.replicas)
    parts, shared = _parts(training, steps, gpus)
    factor = _bytes_per_parameter_byte(profile, training)
    stage_bytes = []
    for stage, ((start, end), k) in enumerate(zip(pairwise(bounds), plan.replicas, strict=True)):
        layers = profile.layers[start:end]
        experts = math.fsum(layer.expert_parameter_bytes for layer in layers)
        parameters = math.fsum(layer.parameter_bytes for layer in layers)
        parameters += experts / min(k, max(profile.experts, 1))
        activations = entering[start] + math.fsum(layer.output_bytes for layer in layers)
        share = 1.0 / k if shared else 1.0
        in_flight = min(training.micro_batches or MOST_STEPS, len(plan.replicas) - stage)
        stage_bytes.append(factor * parameters + in_flight * share / parts * activations)
    return tuple(stage_bytes)


def memory_limits(
    profile: LayerProfile, training: Training, steps: int, gpu_memory: float, *, gpus: int = 1
) -> MemoryLimits:
    """Return the memory model as arrays for the planner's kernel, for a plan on `gpus` GPUs."""
    from optsched.profiles.planner_kernel import MemoryLimits

    parts, shared = _parts(training, steps, gpus)
    factor = _bytes_per_parameter_byte(profile, training)
    return MemoryLimits(
        factor * profile.prefix_sum("parameter_bytes"),
        profile.prefix_sum("output_bytes") / parts,
        np.array([0.0, *profile.cut_bytes(), 0.0]) / parts,
        shared,
        gpu_memory * (1 - ROUNDING),
        factor * profile.prefix_sum("expert_parameter_bytes"),
        max(profile.experts, 1),
        training.micro_batches or MOST_STEPS,
    )


def _parts(training: Training, steps: int, gpus: int) -> tuple[float, bool]:
    """Return how many parts a mini-batch has in the pipeline, and whether replicas share each."""
    if training.micro_batches is None:
        return steps, training.batch == "global"
    return training.micro_batches / (gpus if training.batch == "per-gpu" else 1), True


def _bytes_per_parameter_byte(profile: LayerProfile, training: Training) -> float:
    """Bytes on a GPU for each byte of its replica's parameters."""
    return OPTIMISERS[training.optimiser] / profile.bytes_per_number / profile.tensor_parallel


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
    """Yield the fastest plan; by time the best within memory by stage count, then the others."""
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
