"""Numbers and arrays of numpy are taken wherever a caller gives numbers, and files stay plain."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import optsched
from optsched.errors import InputError
from optsched.result import Outcome, Settings, Termination


def test_settings_become_pythons_own() -> None:
    settings = Settings(
        np.float32(2), np.int64(4), np.float64(0), threads=np.int32(1), seed=np.uint8(3)
    )
    plain = Settings(2.0, 4, 0.0, threads=1, seed=3)
    assert settings == plain
    assert repr(settings) == repr(plain)
    for bad in (np.float64(1.5), np.bool_(True), np.array([1, 2]), np.int64(-1)):
        with pytest.raises(InputError, match="settings: seed"):
            Settings(seed=bad)


def test_a_run_with_numpys_numbers_is_the_same_run() -> None:
    given: dict[str, Any] = {"seed": np.int64(3), "iterations": np.int64(50)}
    result = optsched.solve("makespan/contended-3x3", "local-search", **given)
    again = optsched.solve("makespan/contended-3x3", "local-search", seed=3, iterations=50)
    assert result.objective == again.objective
    assert json.loads(json.dumps(result.to_dict()))["seed"] == 3


@pytest.mark.parametrize(
    ("problem", "arguments"),
    [
        ("placement", {"model": "VGG19", "gpus": np.int64(8)}),
        ("makespan", {"jobs": np.int32(3)}),
        ("selection", {"jobs": np.int64(3)}),
        ("online", {"jobs": np.int64(5)}),
    ],
)
def test_generators(problem: str, arguments: dict[str, Any]) -> None:
    made = optsched.generate(problem, seed=np.int64(3), **arguments)
    plain = {name: int(v) if isinstance(v, np.integer) else v for name, v in arguments.items()}
    assert made.to_dict() == optsched.generate(problem, seed=3, **plain).to_dict()
    json.dumps(made.to_dict())


def test_a_heuristic_from_outside_that_counts_in_numpy() -> None:
    best = optsched.solve("placement/fig2")

    def counting(instance: Any, options: Any, settings: Any) -> Outcome:
        document = best.solution.to_dict()
        lists = {name: np.array(v) for name, v in document.items() if isinstance(v, list)}
        assert lists
        return Outcome({**document, **lists}, Termination.FEASIBLE, bound=np.float32(0.01))

    result = optsched.solve("placement/fig2", counting)
    assert result.check.feasible
    assert result.objective == best.objective
    assert json.loads(json.dumps(result.to_dict()))["bound"] == pytest.approx(0.01)


def test_a_heuristic_from_outside_without_a_solution() -> None:
    def giving_up(instance: Any, options: Any, settings: Any) -> Outcome:
        return Outcome(None, Termination.NO_SOLUTION)

    result = optsched.solve("placement/fig2", giving_up, bound=False)
    assert (result.status, result.solution) == ("no-solution", None)
    row = optsched.compare("placement/fig2", [giving_up, "exact"]).iloc[0]
    assert (row["status"], row["checked"]) == ("no-solution", None)
