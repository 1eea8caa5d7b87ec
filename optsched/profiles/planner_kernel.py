"""Compiled loops of the stage planner's dynamic programme, and the memory limits that it keeps."""

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from optsched.kernels import kernel

Floats = NDArray[np.float64]


class MemoryLimits(NamedTuple):
    """Bytes that a plan puts on a GPU, by position 0..layers, and the bytes of a GPU."""

    parameters: Floats  # prefix sums, with the optimiser
    outputs: Floats  # prefix sums of the outputs of one part in flight
    entering: Floats  # input at each position, of one part in flight
    shared: bool  # a stage's replicas share a part, so that each of k keeps 1/k of it
    limit: float  # bytes of a GPU
    experts: Floats  # prefix sums of the parameters of all experts, with the optimiser
    max_shares: int  # largest number of replicas that share out a stage's experts
    max_in_flight: int  # largest number of parts in flight, however many stages follow


@register_jitable
def _best_last_stage(
    previous: Floats,
    seconds: tuple[Floats, Floats, Floats, Floats],
    stage: int,
    end: int,
    gpus: int,
    in_flight: int,
    limits: MemoryLimits,
) -> tuple[float, int, int]:
    # Strict improvement in this order gives the tie rule: fewest replicas, then fewest layers.
    compute, transfer, sync, copies = seconds
    value, best_start, best_k = np.inf, end - 1, 1
    first = gpus if stage == 1 else 1
    for k in range(first, gpus - stage + 2):
        for start in range(0 if stage == 1 else end - 1, stage - 2, -1):
            reduced = sync[end] - sync[start]
            if k > limits.max_shares:
                reduced += copies[end] - copies[start]
            layer_time = compute[end] - compute[start] + (k - 1) * reduced
            floor = (layer_time + transfer[end]) / k
            # Without the bytes that come in, a stage's time only grows with its layers (also as
            # rounded), so no earlier start can be strictly better.
            if floor >= value:
                break
            experts = (limits.experts[end] - limits.experts[start]) / min(k, limits.max_shares)
            parameters = limits.parameters[end] - limits.parameters[start] + experts
            if parameters > limits.limit:  # an earlier start only adds parameters
                break
            activations = limits.entering[start] + limits.outputs[end] - limits.outputs[start]
            if parameters + in_flight * activations / (k if limits.shared else 1) > limits.limit:
                continue
            time = max(previous[gpus - k, start], floor + transfer[start] / k)
            if time < value:
                value, best_start, best_k = time, start, k
    return value, best_start, best_k


@kernel
def fill_choices(
    compute: Floats,
    transfer: Floats,
    sync: Floats,
    copies: Floats,
    max_gpus: NDArray[np.int64],
    limits: MemoryLimits,
) -> tuple[NDArray[np.int32], NDArray[np.int16], float]:
    """Choose each subproblem's last stage: its first layer, its replicas, the least bottleneck."""
    layers = compute.size - 1
    stages = max_gpus.size - 1
    total = max_gpus[stages]
    starts = np.zeros((stages + 1, total + 1, layers + 1), np.int32)
    replicas = np.zeros((stages + 1, total + 1, layers + 1), np.int16)
    best = np.full((total + 1, layers + 1), np.inf)
    best[0, 0] = 0.0
    for stage in range(1, stages + 1):
        previous = best
        best = np.full((total + 1, layers + 1), np.inf)
        last = stage == stages
        for gpus in range(total if last else stage, max_gpus[stage] + 1):
            for end in range(layers if last else stage, layers + 1):
                in_flight = min(stages - stage + 1, limits.max_in_flight)
                value, start, k = _best_last_stage(
                    previous, (compute, transfer, sync, copies), stage, end, gpus, in_flight, limits
                )
                best[gpus, end] = value
                starts[stage, gpus, end] = start
                replicas[stage, gpus, end] = k
    return starts, replicas, best[total, layers]
