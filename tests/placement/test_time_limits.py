"""Placement at a short limit: a placement in any case, nothing stated that time does not allow."""

from typing import Any

import numpy as np
import pytest

import optsched
from optsched.backends import sizes
from optsched.deadline import Deadline, OutOfTimeError
from optsched.errors import NotApplicableError
from optsched.placement.instance import PlacementInstance
from optsched.placement.models import cut_formulation, formulation, vertex_formulation
from optsched.placement.options import PlacementOptions
from optsched.result import Outcome, Settings, Termination

MODELS = ("ilp", "ilp-vertex", "min-cut")
OWN = PlacementOptions()


@pytest.mark.parametrize("method", [*MODELS, "columns"])
@pytest.mark.parametrize("name", ["gpt-175b-64x1", "vgg19-16"])
def test_a_placement_at_no_time_at_all(method: str, name: str) -> None:
    instance = optsched.load(f"placement/{name}")
    known = optsched.solve(instance, "heavy-edge").objective
    result = optsched.solve(instance, method, time_limit=0.0)
    assert result.termination is Termination.TIME_LIMIT
    assert result.check.feasible
    assert result.objective <= known
    assert 0 < result.bound <= result.objective


@pytest.mark.parametrize("method", MODELS)
def test_models_beyond_the_time_are_not_begun(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []
    for module in (formulation, vertex_formulation, cut_formulation):
        monkeypatch.setattr(module, "build", lambda *given: begun.append(given))
    monkeypatch.setattr(sizes, "NONZEROS_PER_SECOND", 1)
    result = optsched.solve("placement/vgg19-16", method, time_limit=5)
    assert result.termination is Termination.TIME_LIMIT
    assert result.check.feasible
    assert begun == []


def stated(instance: PlacementInstance) -> list[tuple[Any, Any]]:
    """Each formulation with what it is built of."""
    counts = np.array(optsched.solve(instance, "heavy-edge").solution.counts)
    return [
        (formulation, formulation.model_data(instance, OWN, counts, 0.0, pruned=True)),
        (vertex_formulation, vertex_formulation.vertex_data(instance, OWN, pruned=True)),
        (cut_formulation, instance),
    ]


def test_stating_a_model_stops_at_the_deadline() -> None:
    for module, data in stated(optsched.load("placement/fig2")):
        with pytest.raises(OutOfTimeError):
            module.build(data, Deadline(0.0))
        assert module.build(data, Deadline()).nconstraints() > 0


@pytest.mark.parametrize("method", MODELS)
def test_models_beyond_memory_are_refused(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "MAX_NONZEROS", 10)
    with pytest.raises(NotApplicableError, match=r"about \d+ nonzeros, expected at most 10: use"):
        optsched.solve("placement/vgg19-16", method)


def test_a_bound_of_the_callers_own_method_asks_the_same_clock() -> None:
    instance = optsched.load("placement/vgg19-16")
    known = optsched.solve(instance, "heavy-edge").solution

    def mine(instance: object, options: object, settings: Settings) -> Outcome:
        return Outcome(known, Termination.FEASIBLE)

    assert optsched.solve(instance, mine, time_limit=0.0).bound_source == "stage bound"
