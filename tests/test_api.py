"""The package from Python: names, results, the gap table."""

import json

import pandas as pd
import pytest

import optsched
from optsched.files import instance_sha256

KEYS = (
    "problem", "instance", "instance_sha256", "method", "solver", "solver_version", "options",
    "seed", "termination", "objective", "bound", "bound_source", "gap", "excess", "build_time",
    "solve_time", "check",
)  # fmt: skip


def test_names() -> None:
    for name in optsched.__all__:
        assert getattr(optsched, name) is not None
    assert set(optsched.__all__) <= set(dir(optsched))
    with pytest.raises(AttributeError, match="no attribute 'optimise'"):
        _ = optsched.optimise


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


def test_the_gap_table_is_a_frame() -> None:
    frame = optsched.compare(["placement/vgg19-16", "placement/xlnet-large-16"], full=True)
    assert isinstance(frame, pd.DataFrame)
    assert set(KEYS) <= set(frame.columns)
    assert "solution" not in frame.columns
    assert list(frame["method"]) == ["heavy-edge", "first-fit", "repartition", "exact"] * 2
    for _, rows in frame.groupby("instance"):
        assert rows["bound"].min() == pytest.approx(rows["bound"].max(), rel=1e-12)
        exact = rows[rows["method"] == "exact"].iloc[0]
        assert exact["excess"] == pytest.approx(0, abs=1e-6)
        greedy = rows[rows["method"] == "heavy-edge"].iloc[0]
        assert greedy["excess"] == pytest.approx(greedy["objective"] / exact["objective"] - 1)


def test_a_folder_name_is_all_of_it() -> None:
    frame = optsched.compare("placement", ["heavy-edge"])
    assert len(frame) == len(optsched.compare(["placement"], ["repartition"])) >= 15


def test_equal_input_equal_output() -> None:
    for method in optsched.METHODS["placement"]:
        first, second = (
            optsched.solve("placement/bert-large-16", method).to_dict() for _ in range(2)
        )
        for key in ("build_time", "solve_time", "trace"):
            first.pop(key), second.pop(key)
        assert first == second
