"""The stage planner against hand-worked plans and against every plan there is."""

import random
from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any

import pytest

from optsched.errors import InputError
from optsched.profiles.planner import Plan, plan_stages, plans, stage_table, stage_times
from optsched.profiles.profile import Layer, LayerProfile


def chain(*layers: tuple[float, float, float, float]) -> LayerProfile:
    named = tuple(Layer(f"l{i}", *numbers) for i, numbers in enumerate(layers))
    return LayerProfile("chain", named, tuple((i, i + 1) for i in range(len(layers) - 1)), {})


def compute_only(*times: float) -> LayerProfile:
    return chain(*((time, 0.0, 0.0, 0.0) for time in times))


def random_profile(rng: random.Random, most_layers: int = 6) -> LayerProfile:
    n = rng.randint(1, most_layers)
    layers = tuple(Layer(f"l{i}", *(random_numbers(rng))) for i in range(n))
    pairs = combinations(range(n), 2)
    edges = tuple((u, v) for u, v in pairs if rng.random() < (0.9 if v == u + 1 else 0.3))
    return LayerProfile("random", layers, edges, {})


def random_numbers(rng: random.Random) -> tuple[float, float, float, float]:
    if rng.random() < 0.2:  # inputs and views take no time
        return 0.0, 0.0, rng.uniform(0, 10), 0.0
    return rng.uniform(0, 5), rng.uniform(0, 9), rng.uniform(0, 10), rng.uniform(0, 20)


def all_plans(layers: int, gpus: int, stages: int) -> Iterator[tuple[list[int], list[int]]]:
    for cuts in combinations(range(1, layers), stages - 1):
        for ends in combinations(range(1, gpus), stages - 1):
            marks = [0, *ends, gpus]
            yield list(cuts), [b - a for a, b in pairwise(marks)]


def worst(profile: LayerProfile, cuts: list[int], replicas: list[int], bandwidth: float) -> float:
    """The largest stage time by the definition, edge by edge."""
    longest = 0.0
    bounds = [0, *cuts, len(profile.layers)]
    for start, end, k in zip(bounds, bounds[1:], replicas, strict=False):
        inside = profile.layers[start:end]
        received = {u for u, v in profile.edges if u < start <= v}
        sent = {u for u, v in profile.edges if u < end <= v}
        moved = sum(profile.layers[u].output_bytes for u in received)
        moved += sum(profile.layers[u].output_bytes for u in sent)
        time = sum(x.forward_time + x.backward_time for x in inside) / k
        time += 2 * moved / k / bandwidth
        time += 2 * (k - 1) / k * sum(x.parameter_bytes for x in inside) / bandwidth
        longest = max(longest, time)
    return longest


def test_chain_partition_by_hand() -> None:
    # Times 4 1 1 3 3 in 3 stages on 3 GPUs: 4 | 1 1 3 | 3 gives 5, 4 1 | 1 3 | 3 gives 5, and
    # 4 1 1 | 3 | 3 gives 6. Least is 5; the last stage has one layer (3) in both, and of the rest
    # 4 1 1 3 the tie goes to the fewest layers in the second stage that reach 5: 1 3.
    plan = plan_stages(compute_only(4, 1, 1, 3, 3), 3, 3, bandwidth=1.0)
    assert plan == Plan((2, 4), (1, 1, 1), 5.0)


def test_communication_by_hand() -> None:
    # Two layers, (forward, backward, output, parameters) = (1, 2, 10, 40) and (2, 3, 0, 80),
    # bandwidth 10. One stage on 2 GPUs: (3 + 5)/2 + 2 * 1/2 * 120/10 = 4 + 12 = 16.
    # Two stages: 3 + 2 * 10/10 = 5 and 5 + 2 * 10/10 = 7, so the bottleneck is 7.
    net = chain((1, 2, 10, 40), (2, 3, 0, 80))
    assert plan_stages(net, 2, 1, bandwidth=10.0) == Plan((), (2,), 16.0)
    assert plan_stages(net, 2, 2, bandwidth=10.0) == Plan((1,), (1, 1), 7.0)
    assert stage_times(net, Plan((1,), (1, 1), 0.0), bandwidth=10.0) == (5.0, 7.0)
    assert [len(p.replicas) for p in plans(net, 2, bandwidth=10.0)] == [2, 1]


def test_ties_go_to_few_replicas_then_few_layers_at_the_end() -> None:
    # Times 9 0 1 on 2 GPUs: both cuts give max(9, 1) = 9; the last stage takes one layer.
    assert plan_stages(compute_only(9, 0, 1), 2, 2, bandwidth=1.0) == Plan((2,), (1, 1), 9.0)
    # Times 9 1, 4.5 parameter bytes in the first, on 3 GPUs: replicas (1, 2) give 9 and (2, 1) give
    # 9/2 + 2 * 1/2 * 4.5 = 9; the last stage takes one replica.
    net = chain((9, 0, 0, 4.5), (1, 0, 0, 0))
    assert plan_stages(net, 3, 2, bandwidth=1.0) == Plan((1,), (2, 1), 9.0)
    # Nothing costs anything: every plan has bottleneck 0.
    assert plan_stages(compute_only(0, 0, 0, 0), 5, 3, bandwidth=1.0) == Plan((2, 3), (3, 1, 1), 0)


def test_equals_brute_force_on_random_profiles() -> None:
    rng = random.Random(2019)
    compared = 0
    for _ in range(150):
        profile, gpus = random_profile(rng), rng.randint(1, 5)
        bandwidth = rng.choice([0.5, 2.0, 10.0, 100.0])
        for stages in range(1, min(gpus, len(profile.layers)) + 1):
            best = min(
                worst(profile, cuts, replicas, bandwidth)
                for cuts, replicas in all_plans(len(profile.layers), gpus, stages)
            )
            plan = plan_stages(profile, gpus, stages, bandwidth=bandwidth)
            found = worst(profile, list(plan.cuts), list(plan.replicas), bandwidth)
            assert len(plan.replicas) == stages
            assert sum(plan.replicas) == gpus
            assert plan.bottleneck == pytest.approx(best, rel=1e-12, abs=1e-12)
            assert found == pytest.approx(best, rel=1e-12, abs=1e-12)
            compared += stages > 1
    assert compared >= 150


def test_plans_are_the_best_of_each_stage_count_in_order() -> None:
    rng = random.Random(77)
    for _ in range(40):
        profile, gpus = random_profile(rng, 9), rng.randint(1, 9)
        max_stages = rng.randint(1, 6)
        best = plans(profile, gpus, bandwidth=5.0, max_stages=max_stages)
        counts = range(1, min(max_stages, gpus, len(profile.layers)) + 1)
        alone = [plan_stages(profile, gpus, s, bandwidth=5.0) for s in counts]
        assert best == sorted(alone, key=lambda plan: (plan.bottleneck, len(plan.replicas)))


def test_stage_table_by_hand() -> None:
    # Cut after layer 0 of the net above on (2, 1) replicas: 10 bytes leave two replicas, 5 each,
    # and enter one.
    net = chain((1, 2, 10, 40), (2, 3, 0, 80))
    keys = ("name", "replicas", "forward_time", "backward_time", "input_bytes", "output_bytes")
    rows = [("l0", 2, 0.5, 1, 0, 5, 40), ("l1", 1, 2, 3, 10, 0, 80)]
    by_hand = [dict(zip((*keys, "parameter_bytes"), row, strict=True)) for row in rows]
    assert stage_table(net, Plan((1,), (2, 1), 7.0)) == by_hand


def test_stage_tables_conserve_bytes_time_and_gpus() -> None:
    rng = random.Random(11)
    for _ in range(60):
        profile, gpus = random_profile(rng, 10), rng.randint(1, 12)
        for plan in plans(profile, gpus, bandwidth=3.0):
            table = stage_table(profile, plan)
            assert sum(row["replicas"] for row in table) == gpus
            assert table[0]["input_bytes"] == 0
            assert table[-1]["output_bytes"] == 0
            for left, right in pairwise(table):
                sent = left["output_bytes"] * left["replicas"]
                assert sent == pytest.approx(right["input_bytes"] * right["replicas"], rel=1e-9)
            busy = sum(row["forward_time"] * row["replicas"] for row in table)
            assert busy == pytest.approx(sum(x.forward_time for x in profile.layers), abs=1e-9)
            held = sum(row["parameter_bytes"] for row in table)
            assert held == pytest.approx(sum(x.parameter_bytes for x in profile.layers), abs=1e-9)


@pytest.mark.parametrize(
    ("where", "gpus", "stages", "bandwidth"),
    [
        ("stages", 1, 2, 1.0),  # more than GPUs
        ("stages", 9, 4, 1.0),  # more than layers
        ("stages", 2, 0, 1.0),
        *(("gpus", gpus, 1, 1.0) for gpus in (0, 4097, 2.0)),
        *(("bandwidth", 2, 1, b) for b in (0.0, -1.0, float("nan"), float("inf"), 10**400, "fast")),
    ],
)
def test_refuses_what_cannot_be_planned(where: str, gpus: Any, stages: int, bandwidth: Any) -> None:
    with pytest.raises(InputError) as caught:
        plan_stages(compute_only(1, 1, 1), gpus, stages, bandwidth=bandwidth)
    assert caught.value.where == where


def test_refuses_too_much_work_and_times_that_overflow_before_starting() -> None:
    long, net = compute_only(*[1.0] * 2000), chain((1, 1, 1e300, 1e300), (1, 1, 0, 0))
    for profile, gpus, stages, bandwidth, reason in (
        (long, 1000, 8, 1.0, "steps"),
        (long, 1000, 1000, 1.0, "subproblems"),
        (net, 2, 2, 1e-300, "overflow"),
    ):
        with pytest.raises(InputError, match=reason):
            plan_stages(profile, gpus, stages, bandwidth=bandwidth)
