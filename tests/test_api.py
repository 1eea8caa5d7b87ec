"""A result from Python."""

import json

import optsched
from optsched.files import instance_sha256

KEYS = (
    "problem", "instance", "instance_sha256", "method", "solver", "solver_version", "options",
    "seed", "termination", "objective", "bound", "bound_source", "gap", "excess", "build_time",
    "solve_time", "check",
)  # fmt: skip


def test_a_result_says_what_is_needed_to_repeat_it() -> None:
    result = optsched.solve("placement/vgg19-16", "ilp", seed=3)
    document = json.loads(json.dumps(result.to_dict()))
    assert set(KEYS) | {"solution"} <= set(document)
    assert document["problem"] == "placement"
    assert document["solver"] == "highs"
    assert document["solver_version"].count(".") == 2
    assert document["seed"] == 3
    instance = optsched.load("placement/vgg19-16")
    assert document["instance_sha256"] == instance_sha256(instance.to_dict())
    assert document["solution"]["objective"] == document["objective"]
    assert document["solution"]["options"] == document["options"]
    assert document["check"]["feasible"] is True
