"""Speed-up and efficiency by hand, how results and texts show them, and what a GPU holds."""

import json
from pathlib import Path
from typing import Any

import pytest
from commands import json_of, printed
from placement.jobs import made

import optsched
from optsched.errors import InputError
from optsched.generators.placement import Hardware, generate_placement, instance_from_profile
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import measures, one_gpu_time
from optsched.profiles import (
    Choice,
    Layer,
    LayerProfile,
    Plan,
    Training,
    bytes_per_gpu,
    choose_plan,
)

PROFILE = LayerProfile(
    "three",
    (
        Layer("a", 1.0, 2.0, output_bytes=80.0, parameter_bytes=40.0),
        Layer("b", 1.0, 2.0, output_bytes=40.0, parameter_bytes=400.0),
        Layer("c", 1.0, 2.0, output_bytes=20.0, parameter_bytes=4000.0),
    ),
    ((0, 1), (1, 2)),
    {"batch_size": 8},
)
EFFICIENCY = Path(__file__).parents[1] / "cases" / "placement" / "efficiency.json"
GLOBAL = Training("global")
NIC = Hardware(gpus_per_server=1, inter_bandwidth=1e6, intra_bandwidth=1e6)


def choose(
    gpus: int = 3,
    stages: int | None = None,
    gpu_memory: float = 1e9,
    bandwidth: float = 1e6,
    **training: Any,
) -> Choice:
    return choose_plan(
        PROFILE, gpus, Training(**training), gpu_memory, bandwidth=bandwidth, stages=stages
    )


def two_stages() -> PlacementInstance:
    stage = {"replicas": 1, "forward_time": 1.0, "backward_time": 2.0}
    stages = [{**stage, "output_bytes": 6}, {**stage, "input_bytes": 6}]
    return made([1, 1], stages, inter=8.0, intra=1e9, name="two")


def test_speed_up_by_hand() -> None:
    """Two stages of one replica, 3 s each, 12 bytes at 1 byte/s between them: 6 s against 15 s."""
    instance = two_stages()
    assert one_gpu_time(instance) == 6.0
    result = optsched.solve(instance)
    assert result.objective == 15.0
    assert result.measures == {"speed_up": 0.4, "efficiency": 0.2}
    assert measures(instance, None) == {"speed_up": None, "efficiency": None}


def test_one_gpu_overlaps_as_the_placement_does() -> None:
    """0.030 s of forward work on one GPU against 6 GPUs for 6.169 ms: never above 1."""
    rows = optsched.solve(EFFICIENCY, "exact", options={"backward_overlap": 0})
    assert rows.measures["efficiency"] == pytest.approx(0.030 / (6 * rows.objective))
    assert rows.measures["efficiency"] == pytest.approx(0.81, abs=0.005)
    explained = optsched.explain(EFFICIENCY, rows)
    assert explained.efficiency == pytest.approx(rows.measures["efficiency"])


def test_every_row_carries_it_and_what_is_slower_than_one_gpu_is_marked(
    tmp_path: Any,
) -> None:
    path = tmp_path / "two.json"
    path.write_text(json.dumps(two_stages().to_dict()))
    rows = json_of("compare", path, "placement/fig2")
    assert [row["speed_up"] for row in rows[:4]] == [0.4] * 4
    assert rows[-1]["efficiency"] == pytest.approx(rows[-1]["speed_up"] / 6)
    text = printed("compare", path, "placement/fig2")
    assert "0.40 < 1" in text
    assert "slower than a single GPU: two (heavy-edge, first-fit, repartition, exact)\n" in text
    printed("solve", path, "-o", tmp_path / "s.json")
    said = "speed-up over one GPU 0.40, efficiency 20%: slower than a single GPU"
    assert said in printed("explain", path, tmp_path / "s.json")


def test_an_iteration_has_a_mini_batch_for_each_gpu_or_one_in_all() -> None:
    per_gpu = instance_from_profile(PROFILE, 3, [1, 1, 1], stages=1, hardware=NIC)
    shared = instance_from_profile(PROFILE, 3, [1, 1, 1], stages=1, training=GLOBAL, hardware=NIC)
    assert one_gpu_time(per_gpu) == pytest.approx(27.0)
    assert one_gpu_time(shared) == pytest.approx(9.0)
    assert per_gpu.job.stages[0].forward_time == pytest.approx(3.0)
    assert per_gpu.job.stages[0].parameter_bytes == shared.job.stages[0].parameter_bytes == 4440.0
    assert per_gpu.provenance["plan"]["mini_batches"] == 3
    assert shared.provenance["plan"]["mini_batches"] == 1


def test_bytes_a_gpu_holds_by_hand() -> None:
    """Stages a-b and c: 110 and 1,000 parameters; in flight two parts of 120, one of 40 + 20."""
    plan = Plan((2,), (2, 1), 0.0)
    held = bytes_per_gpu(PROFILE, plan, Training())
    assert held == pytest.approx((16 * 110 + 2 * 120, 16 * 1000 + 60))
    shared = bytes_per_gpu(PROFILE, plan, Training("global", optimiser="sgd"), 4)
    assert shared == pytest.approx((12 * 110 + 2 * 120 / 2 / 4, 12 * 1000 + 60 / 4))


def test_the_fewest_accumulation_steps_that_fit() -> None:
    """One stage: 1,110 parameters and 140 bytes kept of a part."""
    parameters = 16 * 1110
    for room, steps in ((140, 1), (139, 2), (70, 2), (35, 4), (17.5, 8)):
        choice = choose(stages=1, gpu_memory=parameters + room)
        assert choice.accumulation_steps == steps
        assert choice.most_bytes == pytest.approx(parameters + 140 / steps)
    with pytest.raises(InputError, match="each GPU of stage 0 of 1 of three"):
        choose(stages=1, gpu_memory=parameters + 17)
    asked = choose(stages=1, gpu_memory=1.0, oversized=True)
    assert asked.accumulation_steps == 8
    assert choose(stages=1, accumulation_steps=5).accumulation_steps == 5


@pytest.mark.parametrize(
    ("make", "arguments", "expected"),
    [
        (generate_placement, {"training": Training(device="P100")},
         "device: found 'P100', expected 'V100'"),
        (generate_placement, {"model": "GPT-175B"}, "GPT-175B, expected at most the GPU's 32 GB"),
        (Training, {"batch": "weak"}, "batch"),
        (Training, {"optimiser": "adagrad"}, "optimiser"),
        (Training, {"accumulation_steps": 0}, "accumulation_steps"),
        (Training, {"gpu_memory": 0.0}, "gpu_memory"),
    ],
)  # fmt: skip
def test_what_is_refused(make: Any, arguments: dict[str, Any], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        make(**arguments)
