"""Measured layer profiles (PipeDream), imported, planned and solved; needs OPTSCHED_DATA."""

import os
from pathlib import Path

import numpy as np
import pytest

import optsched
from optsched.generators.placement import instance_from_profile, random_offer
from optsched.profiles import read_pipedream
from optsched.result import Termination

DATA = os.environ.get("OPTSCHED_DATA")
PROFILES = {
    "vgg16": "image_classification__vgg16",
    "resnet50": "image_classification__resnet50",
    "gnmt": "translation__gnmt",
}
pytestmark = pytest.mark.skipif(
    DATA is None, reason="OPTSCHED_DATA is unset: VGG16, ResNet50, GNMT on 8-32 GPUs skipped"
)


def path(model: str) -> Path:
    return Path(str(DATA)) / "profiles" / "pipedream" / f"{PROFILES[model]}.graph.txt"


@pytest.mark.parametrize("gpus", [8, *(pytest.param(g, marks=pytest.mark.full) for g in (16, 32))])
@pytest.mark.parametrize("model", PROFILES)
def test_import_plan_solve(model: str, gpus: int) -> None:
    offer = random_offer(gpus, 8, np.random.default_rng(1))
    instance = instance_from_profile(read_pipedream(path(model)), gpus, offer)
    assert instance.job.gpus == gpus
    best = optsched.solve(instance)
    assert best.termination is Termination.OPTIMAL
    assert best.check.feasible
    for method in ("heavy-edge", "repartition"):
        result = optsched.solve(instance, method)
        assert result.check.feasible
        assert result.objective >= best.objective * (1 - 1e-9)
        assert result.bound <= best.objective * (1 + 1e-9)
    ilp = optsched.solve(instance, "ilp", time_limit=300.0)
    assert ilp.objective == pytest.approx(best.objective, rel=1e-6)
