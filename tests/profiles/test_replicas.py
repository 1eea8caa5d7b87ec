"""Planning replicas of several GPUs, experts and micro-batches: by hand, and against every plan."""

import random
from dataclasses import replace

import pytest
from profiles.test_planner import all_plans

from optsched.errors import InputError
from optsched.placement.cost import worst_iteration_time
from optsched.placement.instance import Cluster, Job
from optsched.profiles import (
    Choice,
    Layer,
    LayerProfile,
    Plan,
    Training,
    bytes_per_gpu,
    choose_plan,
    plan_stages,
    stage_table,
    stage_times,
)
from optsched.profiles.choice import memory_limits
from optsched.profiles.planner import as_single_gpus, synchronous_time

NET = LayerProfile(
    "net",
    (
        Layer("a", 1.0, 2.0, 40.0, 400.0, tensor_bytes=60.0),
        Layer("b", 2.0, 3.0, 20.0, 800.0, tensor_bytes=30.0, expert_bytes=80.0),
        Layer("c", 1.0, 1.0, 10.0, 200.0),
    ),
    ((0, 1), (1, 2)),
)
SLICED = replace(NET, tensor_parallel=4)
MIXED = replace(NET.layers[1], expert_parameter_bytes=6000.0)
EXPERTS = replace(NET, layers=(NET.layers[0], MIXED, NET.layers[2]), experts=3)


def choose(gpus: int, training: Training, profile: LayerProfile = SLICED) -> Choice:
    return choose_plan(profile, gpus, training, 1e12, bandwidth=100.0, intra_bandwidth=50.0)


def test_stage_table_of_slices_and_experts_by_hand() -> None:
    first, second = stage_table(SLICED, Plan((1,), (2, 4), 0.0))
    assert first["tensor_parallel"] == second["tensor_parallel"] == 4
    assert (first["tensor_bytes"], second["tensor_bytes"]) == (60 / 2, 30 / 4)
    assert "expert_bytes" not in first
    assert second["expert_bytes"] == 80 / 4
    assert (first["forward_time"], first["parameter_bytes"]) == (0.5, 400.0)


def test_more_replicas_than_experts_all_reduce_the_one_that_they_hold() -> None:
    few, many = (stage_table(EXPERTS, Plan((), (k,), 0.0))[0] for k in (3, 4))
    assert few["parameter_bytes"] == 1400.0
    assert many["parameter_bytes"] == 1400.0 + 6000 / 3


def test_a_replica_is_planned_as_one_gpu_by_hand() -> None:
    planned = as_single_gpus(SLICED, 400.0, 50.0)
    # a: 2 x 3/4 x 60 bytes at 50 a second; b: 30 of them, and 80 bytes to experts at 400 a second.
    assert planned.layers[0].forward_time == pytest.approx(1.0 + 1.8)
    assert planned.layers[1].forward_time == pytest.approx(2.0 + 0.9 + 0.2)
    assert planned.layers[2] == SLICED.layers[2]


def test_time_of_micro_batches_by_hand() -> None:
    """Two stages of one replica, 20 bytes across at 10 a second: 4 s each in one iteration.

    Work 3 + 4 and 2 + 4; of 4 micro-batches: 3 x 7/4 + 13/4. No all-reduce.
    """
    net = LayerProfile("two", (Layer("a", 1, 2, 20, 0), Layer("b", 1, 1, 5, 0)), ((0, 1),))
    time = synchronous_time(net, Plan((1,), (1, 1), 0.0), 4, bandwidth=10.0)
    assert time == pytest.approx(3 * 7 / 4 + 13 / 4)
    # Two replicas of b: half its work, and an all-reduce of 30 bytes, 3 s, of which a's backward
    # passes hide 2/4.
    held = replace(net, layers=(net.layers[0], replace(net.layers[1], parameter_bytes=30.0)))
    time = synchronous_time(held, Plan((1,), (1, 2), 0.0), 4, bandwidth=10.0)
    assert time == pytest.approx(3 * 7 / 4 + 10 / 4 + 3 - 2 / 4)


@pytest.mark.parametrize("q", [1, 2, 4])
def test_planned_times_are_those_of_replicas_on_servers_of_their_own(q: int) -> None:
    """The cost of the placement that has every replica elsewhere, worked out from the file's job.

    Experts are left out: the planner counts a k-th too much.
    """
    rng = random.Random(q)
    for _ in range(30):
        profile = drawn(rng, q=q)
        stages = rng.randint(1, len(profile.layers))
        cuts = tuple(sorted(rng.sample(range(1, len(profile.layers)), stages - 1)))
        plan = Plan(cuts, tuple(rng.randint(1, 4) for _ in range(stages)), 0.0)
        cluster = Cluster(gpus_per_server=4, inter_bandwidth=20.0, intra_bandwidth=35.0)
        planned = as_single_gpus(profile, q * 5.0, 35.0)
        for micro_batches in (1, 3, 8):
            how = {"all_reduce": "ring", "micro_batches": micro_batches}
            job = Job(model=profile.model, stages=stage_table(profile, plan), **how)
            time = synchronous_time(planned, plan, micro_batches, bandwidth=q * 5.0)
            assert time == pytest.approx(worst_iteration_time(job, cluster), rel=1e-12)


def test_slices_share_parameters_and_not_activations() -> None:
    plan = Plan((1,), (1, 2), 0.0)
    held = bytes_per_gpu(SLICED, plan, Training())
    # 100 and 250 parameters, 16 bytes each, in 4 slices; two parts in flight of 40, one of 40 + 30.
    assert held == pytest.approx((16 * 100 / 4 + 2 * 40, 16 * 250 / 4 + 70))
    in_two = bytes_per_gpu(replace(SLICED, bytes_per_number=2), plan, Training())
    assert in_two == pytest.approx((16 * 200 / 4 + 2 * 40, 16 * 500 / 4 + 70))


@pytest.mark.parametrize(("micro_batches", "in_flight"), [(1, 1), (2, 2), (3, 3), (8, 3)])
def test_a_flush_keeps_the_micro_batches_on_their_way(micro_batches: int, in_flight: int) -> None:
    """Three stages of one, one and two replicas; an iteration has 4 mini-batches."""
    plan = Plan((1, 2), (1, 1, 2), 0.0)
    held = bytes_per_gpu(NET, plan, Training(optimiser="sgd", micro_batches=micro_batches))
    each = 4 / micro_batches
    assert held[0] == pytest.approx(12 * 100 + in_flight * each * 40)
    assert held[1] == pytest.approx(12 * 200 + min(2, micro_batches) * each * 60)
    assert held[2] == pytest.approx(12 * 50 + each / 2 * 30)


@pytest.mark.parametrize(("replicas", "share"), [(1, 1), (2, 1 / 2), (3, 1 / 3), (5, 1 / 3)])
def test_replicas_share_out_experts_and_hold_one_at_least(replicas: int, share: float) -> None:
    (held,) = bytes_per_gpu(EXPERTS, Plan((), (replicas,), 0.0), Training())
    assert held == pytest.approx(16 * (350 + 1500 * share) + 70)


@pytest.mark.parametrize("micro_batches", [None, 1, 2, 6])
def test_no_better_plan_fits(micro_batches: int | None) -> None:
    """Of all plans that fit into the memory, the planner's has the least bottleneck."""
    rng = random.Random(17)
    refused = compared = 0
    for _ in range(60):
        profile = drawn(rng, q=1, experts=rng.choice([0, 2, 3]))
        gpus, batch = rng.randint(2, 5), rng.choice(["per-gpu", "global"])
        stages = rng.randint(1, min(gpus, len(profile.layers)))
        limit = rng.uniform(50.0, 900.0)
        training = Training(batch, micro_batches=micro_batches)
        limits = memory_limits(profile, training, 1, limit, gpus=gpus)
        fitting = [
            max(stage_times(profile, plan, bandwidth=5.0))
            for cuts, replicas in all_plans(len(profile.layers), gpus, stages)
            for plan in [Plan(tuple(cuts), tuple(replicas), 0.0)]
            if max(bytes_per_gpu(profile, plan, training)) <= limit
        ]
        if not fitting:
            refused += 1
            with pytest.raises(InputError, match="no plan that fits"):
                plan_stages(profile, gpus, stages, bandwidth=5.0, limits=limits)
            continue
        compared += 1
        plan = plan_stages(profile, gpus, stages, bandwidth=5.0, limits=limits)
        assert plan.bottleneck == pytest.approx(min(fitting), rel=1e-12)
        assert max(bytes_per_gpu(profile, plan, training)) <= limit
    assert min(refused, compared) > 5


def test_what_the_profile_does_not_have_is_refused() -> None:
    for gpus, training, line in (
        (6, {"tensor_parallel": 4}, "gpus: found 6, expected a multiple of tensor_parallel"),
        (8, {}, "tensor_parallel: found 1 for net, expected the 4 of its profile"),
        (8, {"tensor_parallel": 4, "experts": 2}, "experts: found 2 for net, expected the 0 of"),
    ):
        with pytest.raises(InputError, match=line):
            choose(gpus, Training(**training))


def drawn(rng: random.Random, *, q: int, experts: int = 0) -> LayerProfile:
    """A chain of layers with numbers of like weight."""
    layers = tuple(
        Layer(
            f"l{index}",
            *(rng.uniform(0.0, largest) for largest in (5.0, 9.0, 30.0, 40.0)),
            tensor_bytes=rng.uniform(0.0, 60.0) if q > 1 else 0.0,
            expert_parameter_bytes=rng.uniform(0.0, 90.0) if experts else 0.0,
        )
        for index in range(rng.randint(2, 5))
    )
    edges = tuple((index, index + 1) for index in range(len(layers) - 1))
    return LayerProfile("drawn", layers, edges, tensor_parallel=q, experts=experts)
