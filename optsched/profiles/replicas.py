"""What planning makes of replicas of several GPUs, of experts, and of micro-batches.

A replica of q tensor slices is to the planner one GPU of q times the bandwidth across servers,
whose layers also all-reduce c bytes inside the replica: 2 (q - 1)/q c / B_intra seconds. A mixture
sends e bytes to experts, as if all of them on other servers: e / (q B) seconds, a k-th too much in
a stage of k replicas. Neither depends on the cut, so the programme stays what it is.

Under M micro-batches (1F1B, with a flush) the stages' times add up: with w_s the time of stage s
without its all-reduce a_s, and t_s = w_s / M, an iteration takes

    max over s of (M - 1) max t + sum t - sum over s' < s of p^b_s' / M + a_s .

The programme still minimises the bottleneck of each number of stages; of these plans the one of
least such time is chosen.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

from optsched.profiles.planner import Plan, stage_table, stage_times
from optsched.profiles.profile import LayerProfile


def as_single_gpus(profile: LayerProfile, bandwidth: float, intra_bandwidth: float) -> LayerProfile:
    """The profile as the programme plans it: a replica is one GPU, all-reduces inside are time."""
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
    """Seconds of an iteration of so many micro-batches, by the planner's times; O(L)."""
    rows = stage_table(profile, plan)
    reduced = [
        2 * (k - 1) / k * row["parameter_bytes"] / bandwidth
        for row, k in zip(rows, plan.replicas, strict=True)
    ]
    times = stage_times(profile, plan, bandwidth=bandwidth)
    work = [time - own for time, own in zip(times, reduced, strict=True)]
    earlier = accumulate((row["backward_time"] for row in rows[:-1]), initial=0.0)
    slowest, total = max(work), sum(work)
    return max(
        ((micro_batches - 1) * slowest + total - before) / micro_batches + own
        for before, own in zip(earlier, reduced, strict=True)
    )
