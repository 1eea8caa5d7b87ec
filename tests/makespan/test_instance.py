"""Instance files: impossible ones get one line that says which job and why."""

from typing import Any

import pytest

import optsched
from optsched.errors import InputError
from optsched.makespan.instance import MakespanInstance


def document() -> dict[str, Any]:
    return optsched.load("makespan/contended-4x3").to_dict()


def with_job(**changes: Any) -> list[dict[str, Any]]:
    jobs = document()["jobs"]
    jobs[1] = {**jobs[1], **changes}
    return jobs


def test_an_iteration_longer_than_a_slot_may_be_continuous() -> None:
    changes = {"jobs": with_job(backward_time=2.0), "progress": "continuous", "horizon": 1000}
    assert MakespanInstance.from_dict({**document(), **changes})


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
