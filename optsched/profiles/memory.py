"""What a GPU must hold of a plan: parameters with their optimiser, and activations in flight.

Reading. An iteration's samples pass through the pipeline a mini-batch of the profile at a time, or
a replica's share of it where that is less, cut into `accumulation_steps` parts whose gradients add
up. Without a flush, stage s of S (from 0) has let S - s parts through forward before the first of
them comes back. Of each it keeps what entered the stage and each layer's output; what a layer
makes inside itself is computed again. No copies of older parameters are counted.

Source: D. Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN Training", ICML 2021 (the
parts in flight); S. Rajbhandari et al., "ZeRO", SC 2020, section 3.1 (bytes a parameter).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from optsched.errors import InputError, shown
from optsched.profiles.planner import Plan
from optsched.profiles.profile import LayerProfile

if TYPE_CHECKING:
    from optsched.profiles._planner_kernel import Room

BATCHES = ("per-gpu", "global")
BYTES_PER_NUMBER = 4
"""Parameters of a profile are in single precision."""
OPTIMISERS = {"sgd": 12.0, "adam": 16.0}
"""Bytes a parameter: itself, its gradient and one moment (sgd) or two (adam), 4 bytes each; adam's
16 are also those of mixed precision (2 + 2, and 12 in single precision)."""
MOST_STEPS = 2**20
ROUNDING = 1e-9
"""By which differences of prefix sums may be off."""


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
        A name of `optsched.zoo.DEVICES`: the GPU, by its speed and its memory. A measured profile
        has its own times.
    fewer_gpus : bool
        Let the plan use fewer GPUs than offered where it then trains faster.
    optimiser : str
        "sgd" (with momentum) or "adam".
    accumulation_steps : int, optional
        Parts that a GPU's mini-batch passes in, one after another; by default 1, or the least power
        of two that makes the plan fit, at most a part a sample.
    gpu_memory : float, optional
        Bytes of a GPU; by default the device's.
    oversized : bool
        Accept a plan that no GPU of so much memory can hold.
    """

    batch: str = "per-gpu"
    mini_batch: int | None = None
    device: str = "V100"
    fewer_gpus: bool = False
    optimiser: str = "adam"
    accumulation_steps: int | None = None
    gpu_memory: float | None = None
    oversized: bool = False

    def __post_init__(self) -> None:
        def refuse(name: str, expected: str) -> InputError:
            return InputError("training", name, shown(getattr(self, name)), expected)

        if self.batch not in BATCHES:
            raise refuse("batch", " or ".join(map(repr, BATCHES)))
        if self.optimiser not in OPTIMISERS:
            raise refuse("optimiser", f"one of {', '.join(OPTIMISERS)}")
        if not 1 <= (self.accumulation_steps or 1) <= MOST_STEPS or self.accumulation_steps == 0:
            raise refuse("accumulation_steps", f"1 to {MOST_STEPS}")
        if self.gpu_memory is not None and not 0 < self.gpu_memory < math.inf:
            raise refuse("gpu_memory", "a positive number of bytes")


def steps_to_try(profile: LayerProfile, training: Training) -> list[int]:
    """Numbers of accumulation steps, the most first: one sample is the smallest part."""
    if training.accumulation_steps is not None:
        return [training.accumulation_steps]
    samples = profile.provenance.get("batch_size")
    most = samples if isinstance(samples, int) else 1
    return [2**power for power in reversed(range(most.bit_length()))]


def bytes_per_gpu(
    profile: LayerProfile, plan: Plan, batch: str, optimiser: str, steps: int
) -> tuple[float, ...]:
    """Bytes that each GPU of each stage holds.

    Parameters
    ----------
    profile : LayerProfile
        Of one mini-batch.
    plan : Plan
        Its stages.
    batch : str
        "per-gpu": an iteration has a mini-batch for each GPU; "global": one in all.
    optimiser : str
        A name of `OPTIMISERS`.
    steps : int
        Accumulation steps.
    """
    bounds = (0, *plan.cuts, len(profile.layers))
    entering = (0.0, *profile.cut_bytes())
    held = []
    for stage, ((start, end), k) in enumerate(zip(pairwise(bounds), plan.replicas, strict=True)):
        layers = profile.layers[start:end]
        parameters = math.fsum(layer.parameter_bytes for layer in layers) / BYTES_PER_NUMBER
        activations = entering[start] + math.fsum(layer.output_bytes for layer in layers)
        share = 1.0 if batch == "per-gpu" else 1.0 / k
        in_flight = (len(plan.replicas) - stage) * share / steps
        held.append(OPTIMISERS[optimiser] * parameters + in_flight * activations)
    return tuple(held)


def room_of(
    profile: LayerProfile, batch: str, optimiser: str, steps: int, gpu_memory: float
) -> Room:
    """The same for the planner: what fits into a GPU of so many bytes."""
    from optsched.profiles._planner_kernel import Room

    outputs = np.cumsum([0.0, *(layer.output_bytes for layer in profile.layers)])
    return Room(
        OPTIMISERS[optimiser] / BYTES_PER_NUMBER * profile.totals.parameter_bytes,
        outputs / steps,
        np.array([0.0, *profile.cut_bytes(), 0.0]) / steps,
        batch == "global",
        gpu_memory * (1 - ROUNDING),
    )
