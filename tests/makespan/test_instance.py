"""Instance files: impossible ones get one line that says which job and why."""

from typing import Any

import pytest

import optsched
from optsched.errors import InputError
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.instance import MakespanInstance


def document() -> dict[str, Any]:
    return optsched.load("makespan/contended-4x3").to_dict()


def refused(**changes: Any) -> str:
    changed = {**document(), **changes}
    with pytest.raises(InputError) as error:
        MakespanInstance.from_dict(changed, "file.json")
    assert "\n" not in str(error.value)
    return str(error.value)


def with_job(**changes: Any) -> list[dict[str, Any]]:
    jobs = document()["jobs"]
    jobs[1] = {**jobs[1], **changes}
    return jobs


def test_round_trip() -> None:
    for name in ("fig2", "paper-160x20", "continuous-12x3"):
        instance = optsched.load(f"makespan/{name}")
        assert MakespanInstance.from_dict(instance.to_dict()) == instance


def test_a_job_larger_than_the_cluster() -> None:
    line = refused(jobs=with_job(gpus=7))
    assert "jobs[1] (b)" in line
    assert "7 GPUs" in line
    assert "6 of the cluster" in line


def test_tau_above_a_slot_under_floor() -> None:
    line = refused(jobs=with_job(backward_time=2.0))
    assert "jobs[1] (b)" in line
    assert "longer than a slot" in line
    changed = {**document(), "jobs": with_job(backward_time=2.0), "progress": "continuous"}
    assert MakespanInstance.from_dict({**changed, "horizon": 1000})


@pytest.mark.parametrize("progress", ["floor", "continuous"])
@pytest.mark.parametrize("iterations", [2_000, 10**12])
def test_a_horizon_shorter_than_a_job_is_infeasible_and_no_bad_file(
    progress: str, iterations: int
) -> None:
    changes = {"progress": progress, "horizon": 1, "jobs": with_job(iterations=iterations)}
    instance = MakespanInstance.from_dict({**document(), **changes})
    least = durations_of(instance).minimum.max()
    assert least > 1
    for method in ("exact", "sjf-bco", "local-search", "ilp-schedules"):
        result = optsched.solve(instance, method)
        assert result.termination == "infeasible"
        assert result.solution is None
        assert least * (1 - 1e-9) <= result.bound
        assert "the horizon of 1 slot:" in result.details["message"]


def test_an_iteration_that_takes_no_time() -> None:
    network = {**document()["network"], "overhead_per_server": 0}
    free = {"gpus": 1, "forward_time_per_sample": 0, "backward_time": 0}
    assert "iteration time 0" in refused(network=network, jobs=with_job(**free))


@pytest.mark.parametrize(
    "changes",
    [
        {"servers": []},
        {"jobs": []},
        {"servers": [0]},
        {"slot": 0},
        {"progress": "round"},
        {"horizon": 0},
        {"horizon": 1.5},
        {"jobs": with_job(name="a")},
        {"jobs": with_job(iterations=0)},
        {"jobs": with_job(iterations=10.5)},
        {"jobs": with_job(extra=1)},
        {"servers": [4096] * 300},
    ],
)
def test_other_faults_are_one_line_too(changes: dict[str, Any]) -> None:
    assert refused(**changes).startswith("file.json: ")
