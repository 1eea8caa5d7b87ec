r"""From a layer profile and a number of GPUs to pipeline stages and their replicas.

Model. Layers :math:`0..L-1` in topological order are cut into :math:`S` contiguous stages; stage
:math:`s` holds layers :math:`i_s..j_s` on :math:`k_s \ge 1` replicas of one GPU each, with
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
it are in turn the best plan, by the same rule, of the remaining layers and GPUs.

Replicas of several GPUs. A replica of q tensor slices is planned as one GPU of q times the
bandwidth across servers, whose layers also all-reduce c bytes inside the replica:
2 (q - 1)/q c / B_intra seconds. A mixture sends e bytes to experts, as if all of them were on other
servers: e / (q B) seconds, 1/k too much in a stage of k replicas. Neither depends on the cut.

Micro-batches. Under M micro-batches (1F1B, with a flush) the stages' times add up: with w_s the
time of stage s without its all-reduce a_s, and t_s = w_s / M, an iteration takes

    max over s of (M - 1) max t + sum t - sum over s' < s of p^b_s' / M + a_s .

The programme still minimises the bottleneck for each number of stages; `choose_plan` takes the
plan of least such time.

Source: the contiguous-partition-with-replication programme in the style of D. Narayanan et al.,
"PipeDream: Generalized Pipeline Parallelism for DNN Training", SOSP 2019,
https://doi.org/10.1145/3341301.3359646.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from optsched.errors import InputError, shown
from optsched.profiles.profile import Layer, LayerProfile

if TYPE_CHECKING:
    from optsched.profiles.planner_kernel import MemoryLimits

MAX_GPUS = 4096
MAX_STEPS = 10**11
"""Pairs of a subproblem and a last stage, before pruning, of one programme."""
MAX_CELLS = 5 * 10**7
"""Subproblems (stages x layers x GPUs) of one programme; each takes 6 bytes."""
MAX_NAME_CHARACTERS = 60
"""Characters of a layer's name in the name of a stage."""


@dataclass(frozen=True)
class Plan:
    """Pipeline stages and their replicas."""

    cuts: tuple[int, ...]
    """Position of the first layer of stages 2..S."""
    replicas: tuple[int, ...]
    """Replicas of each of the S stages."""
    bottleneck: float
    """Largest stage time, in seconds per mini-batch."""


def plan_stages(
    profile: LayerProfile,
    gpus: int,
    stages: int,
    *,
    bandwidth: float,
    limits: MemoryLimits | None = None,
) -> Plan:
    """Find the best plan with exactly `stages` stages on exactly `gpus` GPUs.

    Parameters
    ----------
    profile : LayerProfile
        The network, L layers.
    gpus, stages : int
        G and S of the module's model.
    bandwidth : float
        Bytes per second that one GPU can count on across servers.
    limits : MemoryLimits, optional
        Bytes of a GPU; by default there is no limit.

    Returns
    -------
    Plan
        A plan of least bottleneck, unique by the module's tie rule.

    Raises
    ------
    InputError
        For more stages than GPUs or layers, fewer than 1 stage, GPUs outside 1..`MAX_GPUS`, a
        bandwidth that is not positive and finite, times that overflow, or a programme beyond
        `MAX_STEPS` or `MAX_CELLS`; or where no plan fits into the memory.

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
    _check_count("plan_stages", "gpus", gpus, MAX_GPUS)
    _check_count("plan_stages", "stages", stages, min(gpus, len(profile.layers)))
    max_gpus = [gpus - (stages - stage) for stage in range(stages + 1)]
    choices = _choices("plan_stages", profile, max_gpus, bandwidth, limits)
    return _trace_back(profile, choices, gpus, stages, bandwidth)


def plans(profile: LayerProfile, gpus: int, *, bandwidth: float, max_stages: int = 8) -> list[Plan]:
    """Find the best plan of each number of stages up to `max_stages`, least bottleneck first.

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
    _check_count("plans", "gpus", gpus, MAX_GPUS)
    _check_count("plans", "max_stages", max_stages, None)
    largest = min(max_stages, gpus, len(profile.layers))
    choices = _choices("plans", profile, [gpus] * (largest + 1), bandwidth)
    best = (_trace_back(profile, choices, gpus, n, bandwidth) for n in range(1, largest + 1))
    return sorted(best, key=lambda plan: (plan.bottleneck, len(plan.replicas)))


def stage_times(profile: LayerProfile, plan: Plan, *, bandwidth: float) -> tuple[float, ...]:
    """Compute each stage's time T(i, j, k) in seconds per mini-batch, from its layers.

    Parameters
    ----------
    profile : LayerProfile
        The network.
    plan : Plan
        Its stages.
    bandwidth : float
        Bytes per second that one GPU can count on across servers.

    Returns
    -------
    tuple of float
        Seconds by stage.

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


def as_single_gpus(profile: LayerProfile, bandwidth: float, intra_bandwidth: float) -> LayerProfile:
    """Return the profile whose replicas are single GPUs, with all-reduces inside them as time."""
    q = profile.tensor_parallel
    if q == 1 and profile.experts == 0:
        return profile
    layers = tuple(
        replace(
            layer,
            forward_time=layer.forward_time
            + 2 * (q - 1) / q * layer.tensor_bytes / intra_bandwidth
            + layer.expert_bytes / bandwidth,
        )
        for layer in profile.layers
    )
    return replace(profile, layers=layers)


def synchronous_time(
    profile: LayerProfile, plan: Plan, micro_batches: int, *, bandwidth: float
) -> float:
    """Return the seconds of an iteration of so many micro-batches, with a flush."""
    rows = _stage_numbers(profile, plan)
    all_reduces = [
        2 * (k - 1) / k * row["parameter_bytes"] / bandwidth
        for row, k in zip(rows, plan.replicas, strict=True)
    ]
    times = stage_times(profile, plan, bandwidth=bandwidth)
    work = [time - all_reduce for time, all_reduce in zip(times, all_reduces, strict=True)]
    # Backward passes of the earlier stages hide a part of a stage's all-reduce.
    hidden = accumulate((row["backward_time"] for row in rows[:-1]), initial=0.0)
    slowest, total = max(work), sum(work)
    return max(
        ((micro_batches - 1) * slowest + total - hidden_time) / micro_batches + all_reduce
        for hidden_time, all_reduce in zip(hidden, all_reduces, strict=True)
    )


def stage_table(profile: LayerProfile, plan: Plan) -> list[dict[str, Any]]:
    """Return the plan's stages in the form of an instance file.

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
        stage's replicas sum to the inputs of the next one's. With slices or experts, also
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
    # first and last layer of each stage, by the first word of their names
    words = [(layer.name.split() or ["?"])[0][:MAX_NAME_CHARACTERS] for layer in profile.layers]
    names = [
        words[start] if end - start == 1 else f"{words[start]}..{words[end - 1]}"
        for start, end in pairwise((0, *plan.cuts, len(words)))
    ]
    q = {} if profile.tensor_parallel == 1 else {"tensor_parallel": profile.tensor_parallel}
    return [
        {"name": name, "replicas": k, **row, **q}
        for name, k, row in zip(names, plan.replicas, rows, strict=True)
    ]


def _stage_numbers(profile: LayerProfile, plan: Plan) -> list[dict[str, float]]:
    """Times and bytes of each replica of each stage."""
    _check_plan(profile, plan)
    crossing = _crossing_bytes(profile)
    bounds = (0, *plan.cuts, len(profile.layers))
    rows = []
    for (start, end), k in zip(pairwise(bounds), plan.replicas, strict=True):
        layers = profile.layers[start:end]
        row = {
            "forward_time": _total(layers, "forward_time") / k,
            "backward_time": _total(layers, "backward_time") / k,
            "input_bytes": float(crossing[start]) / k,
            "output_bytes": float(crossing[end]) / k,
            "parameter_bytes": _total(layers, "parameter_bytes"),
        }
        for name in ("expert_bytes", "tensor_bytes"):
            if total := _total(layers, name):
                row[name] = total / k
        if profile.experts and k > profile.experts:
            # Each replica holds one expert, whose gradient goes into the stage's all-reduce: more
            # than the ring of its copies, which is shorter.
            row["parameter_bytes"] += _total(layers, "expert_parameter_bytes") / profile.experts
        rows.append(row)
    return rows


def _total(layers: tuple[Layer, ...], name: str) -> float:
    return math.fsum(getattr(layer, name) for layer in layers)


def _crossing_bytes(profile: LayerProfile) -> NDArray[np.float64]:
    """Bytes crossing the cut before each position 0..L; nothing enters or leaves the network."""
    return np.concatenate(([0.0], profile.cut_bytes(), [0.0]))


Choices = tuple[NDArray[np.int32], NDArray[np.int16]]


def _choices(
    source: str,
    profile: LayerProfile,
    max_gpus: list[int],
    bandwidth: float,
    limits: MemoryLimits | None = None,
) -> Choices:
    """Run the dynamic programme with at most `max_gpus[s]` GPUs in the first s stages."""
    _check_bandwidth(source, bandwidth)
    steps = _count_steps(source, len(profile.layers), max_gpus)
    with np.errstate(over="ignore", invalid="ignore"):  # refused below
        compute = profile.prefix_sum("forward_time") + profile.prefix_sum("backward_time")
        transfer = 2 * _crossing_bytes(profile) / bandwidth
        sync = 2 * profile.prefix_sum("parameter_bytes") / bandwidth
        experts = 2 * profile.prefix_sum("expert_parameter_bytes")
        copies = experts / max(profile.experts, 1) / bandwidth
        largest = compute[-1] + 2 * transfer.max() + max_gpus[-1] * (sync[-1] + copies[-1])
    if not math.isfinite(largest):
        raise InputError(source, "", "stage times that overflow", "times that a float can hold")
    from optsched.profiles.planner_kernel import MemoryLimits, fill_choices

    if limits is None:
        zeros, shares = np.zeros(compute.size), max(profile.experts, 1)
        limits = MemoryLimits(zeros, zeros, zeros, False, math.inf, zeros, shares, 1)
    starts, counts, value = fill_choices.for_size(steps)(
        compute, transfer, sync, copies, np.array(max_gpus, np.int64), limits
    )
    if math.isinf(value):
        expected = f"{limits.limit:g} bytes per GPU"
        raise InputError(source, "limits", "no plan that fits", expected)
    return starts, counts


def _trace_back(
    profile: LayerProfile, choices: Choices, gpus: int, stages: int, bandwidth: float
) -> Plan:
    starts, counts = choices
    cuts: list[int] = []
    replicas: list[int] = []
    end, remaining = len(profile.layers), gpus
    for stage in range(stages, 0, -1):
        replicas.append(int(counts[stage, remaining, end]))
        end, remaining = int(starts[stage, remaining, end]), remaining - replicas[-1]
        cuts.append(end)
    plan = Plan(tuple(cuts[-2::-1]), tuple(replicas[::-1]), 0.0)
    # Sum anew: differences of prefix sums carry more rounding.
    bottleneck = max(stage_times(profile, plan, bandwidth=bandwidth))
    return Plan(plan.cuts, plan.replicas, bottleneck)


def _check_count(source: str, where: str, count: int, largest: int | None) -> None:
    if isinstance(count, Integral) and count >= 1 and (largest is None or count <= largest):
        return
    upper = "" if largest is None else f" of at most {largest}"
    raise InputError(source, where, shown(count), f"a positive integer{upper}")


def _check_bandwidth(source: str, bandwidth: float) -> None:
    if not (isinstance(bandwidth, Real) and 0 < bandwidth <= sys.float_info.max):
        raise InputError(source, "bandwidth", shown(bandwidth), "a positive finite number")


def _count_steps(source: str, layers: int, max_gpus: list[int]) -> int:
    """Return the programme's steps before pruning; refuse too many of them."""
    cells = len(max_gpus) * (layers + 1) * (max_gpus[-1] + 1)
    if cells > MAX_CELLS:
        raise InputError(source, "", f"{cells} subproblems", f"at most {MAX_CELLS}")
    slacks = [gpus - stage + 1 for stage, gpus in enumerate(max_gpus)][1:-1]
    pairs = layers * (layers + 1) // 2
    steps = sum(pairs * slack * (slack + 1) // 2 for slack in slacks)
    if steps > MAX_STEPS:
        raise InputError(source, "", f"a programme of {steps} steps", f"at most {MAX_STEPS}")
    return steps


def _check_plan(profile: LayerProfile, plan: Plan) -> None:
    bounds = (0, *plan.cuts, len(profile.layers))
    if any(start >= end for start, end in pairwise(bounds)):
        expected = f"increasing positions in 1..{len(profile.layers) - 1}"
        raise InputError("plan", "cuts", shown(plan.cuts), expected)
    if len(plan.replicas) != len(plan.cuts) + 1 or any(k < 1 for k in plan.replicas):
        expected = f"{len(plan.cuts) + 1} positive integers"
        raise InputError("plan", "replicas", shown(plan.replicas), expected)
