"""Compiled inner loops of the stage planner's dynamic programme."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from optsched.compiled_loops import njit

Floats = NDArray[np.float64]


class Room(NamedTuple):
    """What a GPU has room for; bytes, by position 0..layers.

    Attributes
    ----------
    parameters, outputs : ndarray
        Prefix sums of what the layers' parameters take with their optimiser, and of the outputs
        kept of one part in flight.
    entering : ndarray
        What enters at each position, of one part in flight.
    shared : bool
        Whether a stage's replicas share a part, so that each keeps only the k-th of it.
    limit : float
        A GPU's bytes.
    experts : ndarray
        Prefix sums of what the experts' parameters take in all with their optimiser.
    most_shares : int
        Most replicas that share out a stage's experts: so many there are.
    most_in_flight : int
        Most parts in flight, however many stages follow.
    """

    parameters: Floats
    outputs: Floats
    entering: Floats
    shared: bool
    limit: float
    experts: Floats
    most_shares: int
    most_in_flight: int


@njit(cache=True)
def fill_choices(
    compute: Floats,
    transfer: Floats,
    sync: Floats,
    copies: Floats,
    most: NDArray[np.int64],
    room: Room,
) -> tuple[NDArray[np.int32], NDArray[np.int16], float]:
    """Best last stage of every subproblem "first `end` layers, `stage` stages, `gpus` GPUs"."""
    layers = compute.size - 1
    stages = most.size - 1
    total = most[stages]
    starts = np.zeros((stages + 1, total + 1, layers + 1), np.int32)
    replicas = np.zeros((stages + 1, total + 1, layers + 1), np.int16)
    best = np.full((total + 1, layers + 1), np.inf)
    best[0, 0] = 0.0
    for stage in range(1, stages + 1):
        previous = best
        best = np.full((total + 1, layers + 1), np.inf)
        last = stage == stages
        for gpus in range(total if last else stage, most[stage] + 1):
            for end in range(layers if last else stage, layers + 1):
                in_flight = min(stages - stage + 1, room.most_in_flight)
                value, start, k = _best_last_stage(
                    previous, (compute, transfer, sync, copies), stage, end, gpus, in_flight, room
                )
                best[gpus, end] = value
                starts[stage, gpus, end] = start
                replicas[stage, gpus, end] = k
    return starts, replicas, best[total, layers]


@njit(cache=True)
def _best_last_stage(
    previous: Floats,
    seconds: tuple[Floats, Floats, Floats, Floats],
    stage: int,
    end: int,
    gpus: int,
    in_flight: int,
    room: Room,
) -> tuple[float, int, int]:
    # Strict improvement in this order gives the tie rule: fewest replicas, then fewest layers.
    compute, transfer, sync, copies = seconds
    value, best_start, best_k = np.inf, end - 1, 1
    first = gpus if stage == 1 else 1
    for k in range(first, gpus - stage + 2):
        for start in range(0 if stage == 1 else end - 1, stage - 2, -1):
            reduced = sync[end] - sync[start]
            if k > room.most_shares:
                reduced += copies[end] - copies[start]
            layer_time = compute[end] - compute[start] + (k - 1) * reduced
            floor = (layer_time + transfer[end]) / k
            # Without the bytes that come in, a stage's time only grows with its layers (also as
            # rounded), so no earlier start can be strictly better.
            if floor >= value:
                break
            experts = (room.experts[end] - room.experts[start]) / min(k, room.most_shares)
            parameters = room.parameters[end] - room.parameters[start] + experts
            if parameters > room.limit:  # as they do
                break
            kept = room.entering[start] + room.outputs[end] - room.outputs[start]
            if parameters + in_flight * kept / (k if room.shared else 1) > room.limit:
                continue
            time = max(previous[gpus - k, start], floor + transfer[start] / k)
            if time < value:
                value, best_start, best_k = time, start, k
    return value, best_start, best_k
