"""Instance files: impossible ones get one line that says which job and why."""

from typing import Any

import pytest

import optsched
from optsched.errors import InputError
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.instance import MakespanInstance


def document() -> dict[str, Any]:
    return optsched.load("makespan/contended-4x3").to_dict()


def with_job(**changes: Any) -> list[dict[str, Any]]:
    jobs = document()["jobs"]
    jobs[1] = {**jobs[1], **changes}
    return jobs


def test_round_trip() -> None:
    for name in ("fig2", "paper-160x20", "continuous-12x3"):
        instance = optsched.load(f"makespan/{name}")
        assert MakespanInstance.from_dict(instance.to_dict()) == instance


def test_an_iteration_longer_than_a_slot_may_be_continuous() -> None:
    changes = {"jobs": with_job(backward_time=2.0), "progress": "continuous", "horizon": 1000}
    assert MakespanInstance.from_dict({**document(), **changes})


@pytest.mark.parametrize("progress", ["floor", "continuous"])
@pytest.mark.parametrize("iterations", [2_000, 10**12])
def test_a_horizon_shorter_than_a_job_is_infeasible(progress: str, iterations: int) -> None:
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


FREE = {"gpus": 1, "forward_time_per_sample": 0, "backward_time": 0}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"jobs": with_job(gpus=7)}, r"jobs\[1\] \(b\).*7 GPUs.*6 of the cluster"),
        ({"jobs": with_job(backward_time=2.0)}, r"jobs\[1\] \(b\).*longer than a slot"),
        (
            {
                "network": {**document()["network"], "overhead_per_server": 0},
                "jobs": with_job(**FREE),
            },
            "iteration time 0",
        ),
        ({"servers": []}, "file.json: "),
        ({"jobs": []}, "file.json: "),
        ({"servers": [0]}, "file.json: "),
        ({"slot": 0}, "file.json: "),
        ({"progress": "round"}, "file.json: "),
        ({"horizon": 0}, "file.json: "),
        ({"horizon": 1.5}, "file.json: "),
        ({"jobs": with_job(name="a")}, "file.json: "),
        ({"jobs": with_job(iterations=0)}, "file.json: "),
        ({"jobs": with_job(iterations=10.5)}, "file.json: "),
        ({"jobs": with_job(extra=1)}, "file.json: "),
        ({"servers": [4096] * 300}, "file.json: "),
    ],
)
def test_faults_are_one_line(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said) as error:
        MakespanInstance.from_dict({**document(), **changes}, "file.json")
    assert "\n" not in str(error.value)
    assert str(error.value).startswith("file.json: ")
