"""Which method `exact` picks, what each refuses, and instances beyond brute force."""

from __future__ import annotations

import pytest

import optsched
from optsched.errors import NotApplicableError
from optsched.generate.placement import generate_placement
from optsched.placement.dp import states
from optsched.placement.exact import FEW_STATES
from optsched.placement.instance import PlacementInstance
from optsched.result import Termination


def test_bounds_first() -> None:
    result = optsched.solve("placement/vgg19-32")
    assert result.chosen == "repartition"
    assert "bound" in result.bound_source
    assert result.termination is Termination.OPTIMAL


def test_then_the_programme_for_few_states() -> None:
    instance = optsched.load("placement/vgg19-16")
    assert states(instance) <= FEW_STATES
    assert optsched.solve(instance).chosen == "dp"


def test_then_bisection_for_many() -> None:
    instance = optsched.load("placement/gpt-175b-64x1")
    assert states(instance) > FEW_STATES
    result = optsched.solve(instance)
    assert result.chosen == "threshold"
    assert result.details["probes"] >= 1
    assert result.termination is Termination.OPTIMAL


@pytest.mark.parametrize("model", ["VGG19", "Inception-V3", "XLNet-large"])
@pytest.mark.parametrize("seed", range(3))
def test_exact_methods_agree_on_zoo_jobs(model: str, seed: int) -> None:
    instance = generate_placement(model, 32, stages=4, seed=seed)
    values = {
        method: optsched.solve(instance, method, gap=0.0)
        for method in ("dp", "threshold", "ilp", "exact")
    }
    for method, result in values.items():
        assert result.termination is Termination.OPTIMAL, method
        assert result.objective == pytest.approx(values["dp"].objective, rel=1e-9), method
    assert values["dp"].objective <= optsched.solve(instance, "repartition").objective * (1 + 1e-12)


def test_the_bottleneck_reading_costs_no_less() -> None:
    """A stage's least share of a NIC is at most a server's own: the optimum cannot fall."""
    options = {"all_reduce_bandwidth": "bottleneck"}
    for name in ("vgg19-16", "bert-large-16", "inception-v3-16"):
        own = optsched.solve(f"placement/{name}")
        bottleneck = optsched.solve(f"placement/{name}", options=options)
        assert bottleneck.termination is Termination.OPTIMAL
        assert bottleneck.objective >= own.objective * (1 - 1e-9)


@pytest.mark.parametrize("method", ["dp", "threshold", "repartition"])
def test_methods_of_separate_servers_refuse_the_bottleneck_reading(method: str) -> None:
    with pytest.raises(NotApplicableError, match=f"method {method}.*bottleneck"):
        optsched.solve("placement/vgg19-16", method, options={"all_reduce_bandwidth": "bottleneck"})


def slow_inside() -> PlacementInstance:
    """One GPU a server with a NIC faster than the link inside: neighbours near cost time."""
    document = optsched.load("placement/fig2").to_dict()
    document["cluster"] = {"gpus_per_server": 4, "inter_bandwidth": 1e12, "intra_bandwidth": 1e9}
    return PlacementInstance.from_dict(document)


@pytest.mark.parametrize("method", ["ilp", "threshold"])
def test_models_with_savings_refuse_a_slow_link_inside(method: str) -> None:
    with pytest.raises(NotApplicableError, match=f"{method}.*B_intra"):
        optsched.solve(slow_inside(), method)


def test_others_take_a_slow_link_inside() -> None:
    values = {
        method: optsched.solve(slow_inside(), method, gap=0.0).objective
        for method in ("dp", "ilp-vertex", "exact")
    }
    assert values["dp"] == pytest.approx(values["ilp-vertex"], rel=1e-9)
    assert values["dp"] == pytest.approx(values["exact"], rel=1e-9)
    assert values["dp"] <= optsched.solve(slow_inside(), "heavy-edge").objective


def test_the_programme_refuses_what_it_cannot_hold() -> None:
    with pytest.raises(NotApplicableError, match="states"):
        optsched.solve("placement/gpt-175b-64x1", "dp")


def test_bisection_stops_at_its_limit_with_a_bound() -> None:
    instance = generate_placement("GPT-175B", 64, stages=64, seed=0)
    result = optsched.solve(instance, "threshold", time_limit=0.0)
    assert result.termination is Termination.TIME_LIMIT
    assert 0 < result.bound < result.objective
    assert result.check.feasible


def test_the_trace_closes() -> None:
    result = optsched.solve("placement/gpt-175b-64x1", "threshold")
    bounds = [point.bound for point in result.trace]
    assert bounds == sorted(bounds)
    assert result.trace[-1].bound == pytest.approx(result.trace[-1].incumbent, rel=1e-9)


def test_a_very_large_offer_is_still_solved() -> None:
    """128 GPUs on some 29 servers, four stages."""
    instance = generate_placement("VGG19", 128, stages=4, seed=0)
    assert len(instance.free_gpus) >= 20
    result = optsched.solve(instance)
    assert result.termination is Termination.OPTIMAL
    assert result.check.feasible


def test_build_model_and_what_has_none() -> None:
    model = optsched.build_model("placement/fig2", "ilp")
    assert model.replicas.doc.startswith("(1a)")
    with pytest.raises(NotApplicableError, match="one of ilp, ilp-vertex, min-cut"):
        optsched.build_model("placement/fig2", "dp")
