"""Generated instances with tensor slices, experts and micro-batches, from Python and as files."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import stderr_of
from processes import ROOT

import optsched
from optsched.generators.placement import random_offer
from optsched.typing import PlacementInstance
from optsched.zoo import MODELS

GREEDY = ["heavy-edge", "repartition"]
GPT = {"model": "GPT-6.7B", "gpus": 16, "device": "A100-BF16", "inter_bandwidth": 1e11}


def made(**arguments: Any) -> PlacementInstance:
    return optsched.generate("placement", **{**GPT, **arguments})


def test_a_tensor_parallel_gpt_says_what_its_slices_all_reduce() -> None:
    instance = made(tensor_parallel=4, micro_batches=8, stages=2)
    job = instance.job
    assert job.micro_batches == 8
    assert [stage.tensor_parallel for stage in job.stages] == [4, 4]
    assert job.gpus == 16
    # 16 mini-batches of 32 sequences of 512 tokens, width 4096, two bytes: four times a block of
    # 32, and at either end of the network once; shared by a stage's replicas.
    sent = sum(stage.replicas * stage.tensor_bytes for stage in job.stages)
    assert sent == pytest.approx((4 * 32 + 2) * 16 * 32 * 512 * 4096 * 2)
    assert instance.name == "gpt-6.7b-16-2stages-q4-m8-s0"
    assert optsched.solve(instance, "exact").check.feasible


def test_a_slice_holds_its_part_of_the_parameters() -> None:
    """One stage of 16 GPUs, four micro-batches: parameters in q parts, activations in four."""
    training: dict[str, Any] = {"micro_batches": 4, "stages": 1, "oversized": True}
    plans = {q: made(tensor_parallel=q, **training) for q in (1, 2, 8)}
    held = {q: plan.provenance["memory"]["bytes_per_gpu"] for q, plan in plans.items()}
    parameters = 16 * MODELS["GPT-6.7B"].build().parameters
    # A replica of q GPUs has q mini-batches in four parts; each slice keeps all of one part.
    activations = held[1] - parameters
    for q in (2, 8):
        assert held[q] == pytest.approx(parameters / q + q * activations, rel=1e-9)


def test_a_mixture_routes_bytes_in_every_stage_with_experts() -> None:
    how = {"gpus": 16, "device": "A100-BF16", "oversized": True}
    instance = optsched.generate("placement", model="Mixtral-8x7B", **how)
    sent = sum(stage.replicas * stage.expert_bytes for stage in instance.job.stages)
    # 32 blocks; 16 x 8 sequences, 2 experts a token, there and back, forward and backward.
    assert sent == pytest.approx(32 * 4 * 2 * 16 * 8 * 512 * 4096 * 2)
    assert optsched.solve(instance, "exact").check.feasible


def test_offers_hold_whole_replicas_and_keep_what_is_over() -> None:
    over = 0
    for seed in range(60):
        for replica in (1, 2, 3, 4, 8):
            gpus = 4 * replica
            free = random_offer(gpus, 8, np.random.default_rng(seed), replica_gpus=replica)
            whole = [each // replica for each in free]
            assert sum(whole) == 4
            assert 1 <= min(whole) <= max(free) <= 8
            assert free == sorted(free, reverse=True)
            over += sum(free) > gpus
            if replica == 1:
                assert sum(free) == gpus
    assert over > 0


def test_the_page_says_what_commands_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/parallel-plans.md; what compare and explain print has times in it and is not quoted."""
    page = (ROOT / "docs" / "parallel-plans.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    quoted = re.findall(r"^\$ optsched (generate .*)\n(?!\$)(.+)$", page, re.MULTILINE)
    assert len(quoted) == 4
    for command, line in quoted:
        assert (
            line in stderr_of(command, code=2 if line.startswith("optsched:") else 0).splitlines()
        )
    for name, slower in (("gpt-13b-64-m32-s1", "5.1%"), ("gpt-13b-64-q4-m32-s1", "0.0%")):
        greedy, moved = optsched.compare(f"plans/{name}.json", GREEDY)["objective"]
        assert f"{100 * (greedy / moved - 1):.1f}%" == slower
    (python,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    made_there: dict[str, Any] = {}
    exec(python, made_there)  # the page's own example
    assert [stage.tensor_parallel for stage in made_there["instance"].job.stages] == [8, 8]
