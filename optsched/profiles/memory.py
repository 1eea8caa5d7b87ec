"""Bytes that a plan puts on a GPU: parameters with their optimiser, and activations in flight.

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

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from optsched.declared import LARGEST, Between, require_declared
from optsched.errors import InputError, shown
from optsched.placement.instance import MAX_GPUS_PER_SERVER
from optsched.profiles.planner import Plan
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


@dataclass(frozen=True)
class Training:
    """How a job is trained, and on which GPUs.

    Attributes
    ----------
    batch : str
        "per-gpu": an iteration has the model's mini-batch for each GPU; "global": one in all, so
        that the more GPUs share it, the more communication decides.
    mini_batch : int, optional
        Samples of a zoo model's mini-batch; by default those of Table I of a-srpt.
    device : str
        A name of `optsched.zoo.DEVICES`: the GPU model (speed and memory). A measured profile has
        its own times.
    fewer_gpus : bool
        Let the plan use fewer GPUs than offered where it then trains faster.
    optimiser : str
        "sgd" (with momentum) or "adam".
    accumulation_steps : int, optional
        Gradient accumulation steps, parts of a GPU's mini-batch; by default 1, or the least power
        of two that makes the plan fit, at most one part per sample.
    gpu_memory : float, optional
        Bytes of a GPU; by default the device's.
    oversized : bool
        Accept a plan that no GPU of so much memory can hold.
    tensor_parallel : int
        GPUs that slice a replica's layers, as Megatron does, in one server: transformers only.
    micro_batches : int, optional
        M of a synchronous pipeline (1F1B with a flush); by default the pipeline is asynchronous.
    experts : int, optional
        Experts of each mixture of a model that has them; by default the model's.
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
