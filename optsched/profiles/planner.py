r"""From a layer profile and a number of GPUs to pipeline stages and their replicas.

Model. Layers :math:`0..L-1` in topological order are cut into :math:`S` contiguous stages; stage
:math:`s` holds layers :math:`i_s..j_s` on :math:`k_s \ge 1` replicas, one GPU each (of several:
`profiles.replicas`), with
:math:`\sum_s k_s = G`. A mini-batch is split evenly over the replicas of a stage, so with
:math:`c_\ell` the forward plus backward time of layer :math:`\ell`, :math:`h_\ell` its parameter
bytes, :math:`A_i` the bytes that cross the cut before layer :math:`i` (:math:`A_0 = A_L = 0`) and
:math:`B` the bandwidth, the time of a stage is

.. math::

   T(i, j, k) = \frac{1}{k} \sum_{\ell=i}^{j} c_\ell + \frac{2 (A_i + A_{j+1})}{k B}
              + \frac{2 (k-1)}{k B} \sum_{\ell=i}^{j} h_\ell :

compute, activations in and out with their gradients, and a ring all-reduce of the parameters, of
which each replica holds a full copy. The best plan minimises the bottleneck
:math:`\max_s T(i_s, j_s, k_s)`.

Dynamic programme. With :math:`b_s(i, n)` the least bottleneck of the first :math:`i` layers in
exactly :math:`s` stages on exactly :math:`n` GPUs,

.. math::

   b_s(i, n) = \min_{s-1 \le j < i,\; 1 \le k \le n-s+1}
               \max\{ b_{s-1}(j, n-k),\; T(j, i-1, k) \}, \qquad b_0(0, 0) = 0 .

Ties go to the last stage with the fewest replicas, then with the fewest layers; the stages before
it are in turn the best plan, by the same rule, of what is left.

Source: the contiguous-partition-with-replication programme in the style of D. Narayanan et al.,
"PipeDream: Generalized Pipeline Parallelism for DNN Training", SOSP 2019,
https://doi.org/10.1145/3341301.3359646.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from optsched.errors import InputError, shown
from optsched.profiles.profile import Layer, LayerProfile

if TYPE_CHECKING:
    from optsched.profiles._planner_kernel import Room

MAX_GPUS = 4096
"""Most GPUs planned for."""

MAX_STEPS = 10**11
"""Most steps (pairs of a subproblem and a last stage, before pruning) of one programme."""

LONGEST_WORD = 60
"""Characters of a layer's name that go into a stage's."""

MAX_CELLS = 5 * 10**7
"""Most subproblems (stages x layers x GPUs) of one programme; each takes 6 bytes."""


@dataclass(frozen=True)
class Plan:
    """Stages and replicas.

    Attributes
    ----------
    cuts : tuple of int
        Position of the first layer of stages 2..S.
    replicas : tuple of int
        Replicas of each of the S stages.
    bottleneck : float
        Largest stage time, in seconds per mini-batch.
    """

    cuts: tuple[int, ...]
    replicas: tuple[int, ...]
    bottleneck: float


def plan_stages(
    profile: LayerProfile,
    gpus: int,
    stages: int,
    *,
    bandwidth: float,
    room: Room | None = None,
) -> Plan:
    """The best plan with exactly `stages` stages on exactly `gpus` GPUs.

    Parameters
    ----------
    profile : LayerProfile
        The network, L layers.
    gpus, stages : int
        G and S of the module's model.
    bandwidth : float
        Bytes per second that one GPU can count on across servers.
    room : Room, optional
        What a GPU can hold; by default anything.

    Returns
    -------
    Plan
        A plan of least bottleneck, unique by the module's tie rule.

    Raises
    ------
    InputError
        For more stages than GPUs or layers, fewer than 1 stage, GPUs outside 1..`MAX_GPUS`, a
        bandwidth that is not positive and finite, times that overflow, or a programme beyond
        `MAX_STEPS` or `MAX_CELLS`; or where no plan fits into `room`.

    Notes
    -----
    Exact. O(S L^2 (G - S + 1)^2) steps before pruning; with S = G it is the plain chain
    partition. Each stage leaves one GPU to each stage after it.

    Examples
    --------
    >>> from optsched.zoo import profile_model
    >>> plan_stages(profile_model("VGG19"), 8, 2, bandwidth=1.25e9).replicas
    (7, 1)
    """
    _check_gpus("plan_stages", gpus)
    _check_count("plan_stages", "stages", stages, min(gpus, len(profile.layers)))
    most = [gpus - (stages - stage) for stage in range(stages + 1)]
    choices = _choices("plan_stages", profile, most, bandwidth, room)
    return _trace_back(profile, choices, gpus, stages, bandwidth)


def plans(profile: LayerProfile, gpus: int, *, bandwidth: float, max_stages: int = 8) -> list[Plan]:
    """The best plan of each number of stages up to `max_stages`, least bottleneck first.

    Parameters
    ----------
    profile, gpus, bandwidth
        As for `plan_stages`.
    max_stages : int
        Most stages; fewer are planned when there are fewer GPUs or layers.

    Returns
    -------
    list of Plan
        One plan per number of stages 1..min(max_stages, gpus, layers), sorted by bottleneck, then
        by number of stages.

    Raises
    ------
    InputError
        As for `plan_stages`.

    Notes
    -----
    One programme for all numbers of stages S <= M: O(M L^2 G^2) steps before pruning.

    Examples
    --------
    >>> from optsched.zoo import profile_model
    >>> [plan.replicas for plan in plans(profile_model("VGG19"), 8, bandwidth=1.25e9, max_stages=3)]
    [(4, 3, 1), (7, 1), (8,)]
    """
    _check_gpus("plans", gpus)
    _check_count("plans", "max_stages", max_stages, None)
    largest = min(max_stages, gpus, len(profile.layers))
    choices = _choices("plans", profile, [gpus] * (largest + 1), bandwidth)
    found = [
        _trace_back(profile, choices, gpus, stages, bandwidth) for stages in range(1, largest + 1)
    ]
    return sorted(found, key=lambda plan: (plan.bottleneck, len(plan.replicas)))


def stage_times(profile: LayerProfile, plan: Plan, *, bandwidth: float) -> tuple[float, ...]:
    """Each stage's time T(i, j, k) in seconds per mini-batch, from the layers themselves; O(L).

    Parameters
    ----------
    profile : LayerProfile
        Of one mini-batch.
    plan : Plan
        Stages and their replicas.
    bandwidth : float
        Bytes/s.

    Returns
    -------
    tuple of float
        Seconds, a stage each.

    Raises
    ------
    InputError
        For a plan that does not fit the profile, or a bandwidth that is not positive and finite.

    Examples
    --------
    >>> from optsched.zoo import profile_model
    >>> profile = profile_model("VGG19")
    >>> plan = plan_stages(profile, 8, 2, bandwidth=1.25e9)
    >>> [round(time, 4) for time in stage_times(profile, plan, bandwidth=1.25e9)]
    [0.1237, 0.0692]
    """
    _check_bandwidth("stage_times", bandwidth)
    return tuple(
        row["forward_time"]
        + row["backward_time"]
        + 2 * (row["input_bytes"] + row["output_bytes"]) / bandwidth
        + 2 * (k - 1) / k * row["parameter_bytes"] / bandwidth
        for row, k in zip(_stage_numbers(profile, plan), plan.replicas, strict=True)
    )


def stage_table(profile: LayerProfile, plan: Plan) -> list[dict[str, Any]]:
    """The plan's stages in the form of an instance file.

    Parameters
    ----------
    profile : LayerProfile
        The network.
    plan : Plan
        Its stages.

    Returns
    -------
    list of dict
        Per stage ``name``, ``replicas``, and of each replica ``forward_time``, ``backward_time``
        (s), ``input_bytes``, ``output_bytes`` (per iteration) and ``parameter_bytes`` (a full
        copy). What crosses a cut is split over the replicas on either side, so the outputs of a
        stage's replicas sum to the inputs of the next one's. Where they are not 1 or 0, also
        ``tensor_parallel``, and ``tensor_bytes`` and ``expert_bytes`` of a replica per iteration.

    Raises
    ------
    InputError
        For a plan that does not fit the profile.

    Examples
    --------
    >>> from optsched.zoo import profile_model
    >>> profile = profile_model("VGG19")
    >>> plan = plan_stages(profile, 8, 2, bandwidth=1.25e9)
    >>> [(row["name"], row["replicas"]) for row in stage_table(profile, plan)]
    [('conv1_1..pool4', 7), ('conv5_1..fc8', 1)]
    """
    rows = _stage_numbers(profile, plan)
    names = _stage_names(profile, plan)
    q = {} if profile.tensor_parallel == 1 else {"tensor_parallel": profile.tensor_parallel}
    return [
        {"name": name, "replicas": k, **row, **q}
        for name, k, row in zip(names, plan.replicas, rows, strict=True)
    ]


def _stage_names(profile: LayerProfile, plan: Plan) -> list[str]:
    """First and last layer of each stage; of a layer's name, its first word."""
    words = [(layer.name.split() or ["?"])[0][:LONGEST_WORD] for layer in profile.layers]
    bounds = (0, *plan.cuts, len(words))
    return [
        words[start] if end - start == 1 else f"{words[start]}..{words[end - 1]}"
        for start, end in pairwise(bounds)
    ]


def _stage_numbers(profile: LayerProfile, plan: Plan) -> list[dict[str, float]]:
    """What each replica of each stage computes, receives, sends and holds."""
    _check_plan(profile, plan)
    crossing = _crossing_bytes(profile)
    bounds = (0, *plan.cuts, len(profile.layers))
    rows = []
    for (start, end), k in zip(pairwise(bounds), plan.replicas, strict=True):
        layers = profile.layers[start:end]
        rows.append(
            {
                "forward_time": math.fsum(layer.forward_time for layer in layers) / k,
                "backward_time": math.fsum(layer.backward_time for layer in layers) / k,
                "input_bytes": float(crossing[start]) / k,
                "output_bytes": float(crossing[end]) / k,
                "parameter_bytes": math.fsum(layer.parameter_bytes for layer in layers),
            }
        )
        _add_experts(rows[-1], profile, layers, k)
        tensor = math.fsum(layer.tensor_bytes for layer in layers)
        if tensor:
            rows[-1]["tensor_bytes"] = tensor / k
    return rows


def _add_experts(
    row: dict[str, float], profile: LayerProfile, layers: tuple[Layer, ...], k: int
) -> None:
    """What k replicas send to the experts of a stage, which they share out.

    With more replicas than experts each holds one, whose gradient goes into the stage's all-reduce:
    more than the ring of its copies, which is shorter.
    """
    sent = math.fsum(layer.expert_bytes for layer in layers)
    if sent:
        row["expert_bytes"] = sent / k
    if profile.experts and k > profile.experts:
        held = math.fsum(layer.expert_parameter_bytes for layer in layers)
        row["parameter_bytes"] += held / profile.experts


def _crossing_bytes(profile: LayerProfile) -> NDArray[np.float64]:
    """Bytes crossing the cut before each position 0..L; nothing enters or leaves the network."""
    return np.concatenate(([0.0], profile.cut_bytes(), [0.0]))


Choices = tuple[NDArray[np.int32], NDArray[np.int16]]


def _choices(
    source: str,
    profile: LayerProfile,
    most: list[int],
    bandwidth: float,
    room: Room | None = None,
) -> Choices:
    _check_bandwidth(source, bandwidth)
    _check_size(source, len(profile.layers), most)
    totals = profile.totals
    with np.errstate(over="ignore", invalid="ignore"):  # refused below
        compute = totals.forward_time + totals.backward_time
        transfer = 2 * _crossing_bytes(profile) / bandwidth
        sync = 2 * totals.parameter_bytes / bandwidth
        copies = 2 * totals.expert_parameter_bytes / max(profile.experts, 1) / bandwidth
        largest = compute[-1] + 2 * transfer.max() + most[-1] * (sync[-1] + copies[-1])
    if not math.isfinite(largest):
        raise InputError(source, "", "stage times that overflow", "times that a float can hold")
    from optsched.profiles._planner_kernel import Room, fill_choices

    if room is None:
        nothing = np.zeros(compute.size)
        room = Room(nothing, nothing, nothing, False, math.inf, nothing, max(profile.experts, 1), 1)
    starts, counts, value = fill_choices(
        compute, transfer, sync, copies, np.array(most, np.int64), room
    )
    if math.isinf(value):
        raise InputError(source, "room", "no plan that fits", f"{room.limit:g} bytes per GPU")
    return starts, counts


def _trace_back(
    profile: LayerProfile, choices: Choices, gpus: int, stages: int, bandwidth: float
) -> Plan:
    starts, counts = choices
    cuts: list[int] = []
    replicas: list[int] = []
    end, left = len(profile.layers), gpus
    for stage in range(stages, 0, -1):
        replicas.append(int(counts[stage, left, end]))
        end, left = int(starts[stage, left, end]), left - replicas[-1]
        cuts.append(end)
    plan = Plan(tuple(cuts[-2::-1]), tuple(replicas[::-1]), 0.0)
    # Summed anew: differences of prefix sums, good enough to choose by, carry more rounding.
    bottleneck = max(stage_times(profile, plan, bandwidth=bandwidth))
    return Plan(plan.cuts, plan.replicas, bottleneck)


def _check_gpus(source: str, gpus: int) -> None:
    _check_count(source, "gpus", gpus, MAX_GPUS)


def _check_count(source: str, where: str, count: int, largest: int | None) -> None:
    if isinstance(count, Integral) and count >= 1 and (largest is None or count <= largest):
        return
    upper = "" if largest is None else f" of at most {largest}"
    raise InputError(source, where, shown(count), f"a positive integer{upper}")


def _check_bandwidth(source: str, bandwidth: float) -> None:
    if not (isinstance(bandwidth, Real) and 0 < bandwidth <= sys.float_info.max):
        raise InputError(source, "bandwidth", shown(bandwidth), "a positive finite number")


def _check_size(source: str, layers: int, most: list[int]) -> None:
    cells = len(most) * (layers + 1) * (most[-1] + 1)
    if cells > MAX_CELLS:
        raise InputError(source, "", f"{cells} subproblems", f"at most {MAX_CELLS}")
    slacks = [gpus - stage + 1 for stage, gpus in enumerate(most)][1:-1]
    pairs = layers * (layers + 1) // 2
    steps = sum(pairs * slack * (slack + 1) // 2 for slack in slacks)
    if steps > MAX_STEPS:
        raise InputError(source, "", f"a programme of {steps} steps", f"at most {MAX_STEPS}")


def _check_plan(profile: LayerProfile, plan: Plan) -> None:
    bounds = (0, *plan.cuts, len(profile.layers))
    if any(start >= end for start, end in pairwise(bounds)):
        expected = f"increasing positions in 1..{len(profile.layers) - 1}"
        raise InputError("plan", "cuts", shown(plan.cuts), expected)
    if len(plan.replicas) != len(plan.cuts) + 1 or any(k < 1 for k in plan.replicas):
        expected = f"{len(plan.cuts) + 1} positive integers"
        raise InputError("plan", "replicas", shown(plan.replicas), expected)
