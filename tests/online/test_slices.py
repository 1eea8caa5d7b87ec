"""Workloads of sliced jobs: what the generator draws, the shipped one, and the page on waiting."""

import re
from pathlib import Path
from typing import Any

import pytest

import optsched
from optsched.errors import InputError
from optsched.online.data.configuration_draw import SLICED
from optsched.online.data.jobs import prepare_jobs

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("slices", [1, 2, 4, 8])
def test_jobs_of_a_multiple_are_sliced(slices: int) -> None:
    made = optsched.generate("online", seed=3, jobs=200, servers=16, slices=slices)
    jobs = prepare_jobs(made.workload, made.catalogue, made.cluster)
    several = 0
    for key, job in made.catalogue.models.items():
        sizes = {stage.tensor_parallel for stage in job.stages}
        whole = job.gpus > 1 and job.gpus % slices == 0
        assert sizes == {slices if whole else 1}, key
        assert not whole or job.model in SLICED
        several += whole
        sent = any(stage.tensor_bytes > 0 for stage in job.stages)
        assert sent == (whole and slices > 1)
    assert several > 2
    assert jobs.replaced == 0
    assert any(job.model == "Mixtral-8x7B" for job in made.catalogue.models.values()) or slices > 1


def test_without_slices_nothing_is_drawn_otherwise() -> None:
    asked: dict[str, Any] = {"seed": 3, "jobs": 60, "servers": 8}
    plain = optsched.generate("online", **asked)
    assert plain.to_dict() == optsched.generate("online", **asked, slices=0).to_dict()
    assert "slices" not in str(plain.provenance)


@pytest.mark.parametrize(("slices", "per_server"), [(3, 9), (8, 4), (4, 6), (-1, 8), (16, 16)])
def test_what_no_server_divides_into_is_refused(slices: int, per_server: int) -> None:
    with pytest.raises(InputError, match="slices"):
        optsched.generate("online", jobs=10, servers=8, gpus_per_server=per_server, slices=slices)


def test_in_the_shipped_workload_jobs_wait_for_their_slices() -> None:
    instance: Any = optsched.load("online/sliced-400x40")
    experts = [s.expert_bytes for job in instance.catalogue.models.values() for s in job.stages]
    assert max(experts) > 0
    own, other = (
        optsched.solve(instance, "a-srpt", options={"predictor": "perfect", **offer})
        for offer in ({}, {"offer": "best-fit-last"})
    )
    assert own.check.feasible
    assert other.objective < own.objective / 2


def test_the_page_says_what_least_available_offers_cost() -> None:
    page = (ROOT / "docs" / "slices.md").read_text(encoding="utf-8")
    for label in ("a-srpt", "a-srpt, offers best-fit-last"):
        rows = re.findall(r"(?m)^\| 0\.9 \|(.*)\|$", page.partition(f"## {label}\n")[2])
        medians = [float(value) for value in re.findall(r"(\d+) \[", rows[0])]
        assert (medians[-1] > 100 * medians[0]) == (label == "a-srpt")
