"""Server patterns: certificates, and the parts of the search on jobs of up to 144 GPUs."""

import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from placement.by_hand import BOTTLENECK
from placement.jobs import made

import optsched
from optsched.placement.bounds.pricing import PatternCertificate
from optsched.placement.instance import PlacementInstance
from optsched.verbs.judging import certificate_violations


def drawn(seed: int, stages: int = 3, offers: tuple[int, ...] = (3, 2, 3)) -> PlacementInstance:
    """A job of random times and bytes that needs every GPU offered."""
    random = np.random.default_rng(seed)
    cuts = np.sort(random.choice(np.arange(1, sum(offers)), stages - 1, replace=False))
    replicas = np.diff(np.concatenate(([0], cuts, [sum(offers)]))).tolist()
    sent = 10 ** random.uniform(7, 9.5, stages + 1)
    sent[0] = sent[-1] = 0.0
    drawn_stages = [
        {
            "replicas": k,
            "forward_time": float(random.uniform(0.01, 0.1)),
            "backward_time": float(random.uniform(0.02, 0.2)),
            "input_bytes": float(sent[s] / k),
            "output_bytes": float(sent[s + 1] / k),
            "parameter_bytes": float(10 ** random.uniform(6, 8.5)),
        }
        for s, k in enumerate(replicas)
    ]
    return made(list(offers), drawn_stages, gpus=max(offers), inter=1.25e9, intra=3e11)


def certified() -> tuple[PlacementInstance, PatternCertificate, float]:
    """The first drawn instance whose optimum prices prove, with the optimum."""
    for seed in range(100):
        instance = drawn(seed, 4, (4, 4, 4, 4))
        result = optsched.solve(instance, "columns", gap=0.0)
        if result.certificate is not None and result.proved and any(result.certificate.prices):
            return instance, result.certificate, result.objective
    raise AssertionError("no instance is proved by prices")


def test_a_certificate_is_checked() -> None:
    instance, certificate, best = certified()
    assert certificate_violations(instance, certificate) == []
    _, *others = prices = certificate.prices
    wrong = [{"threshold": best * (1 + 1e-9)}, {"threshold": float("nan")}]
    wrong += [{"prices": each} for each in (prices[:-1], (1,) * len(prices))]
    wrong += [{"prices": (first, *others)} for first in (-1, 10**10, 0.5)]
    for each in wrong:
        found = certificate_violations(instance, replace(certificate, **each))
        assert [v.rule for v in found] == ["certificate"], each


HUNDRED = (8, 7, 6, 5, 4, 3, 2, 1) * 4


@pytest.mark.parametrize(("seed", "by"), [(0, "pattern duals"), (4, "integer pattern programme")])
def test_exact_proves_a_job_of_a_hundred_gpus_by_columns(seed: int, by: str) -> None:
    instance = drawn(seed, 16, HUNDRED)
    result = optsched.solve(instance, "exact")
    assert (result.chosen, result.proved) == ("columns", True)
    assert result.check.feasible
    assert result.bound_source == by
    if result.certificate is not None:
        assert certificate_violations(instance, result.certificate) == []


def test_columns_prove_the_bottleneck_option_by_minimum_counts() -> None:
    instance = drawn(0, 16, HUNDRED)
    result = optsched.solve(instance, "exact", options=BOTTLENECK)
    assert (result.chosen, result.proved) == ("columns", True)
    assert result.check.feasible
    assert result.objective >= optsched.solve(instance, "exact").objective


@pytest.mark.parametrize(("family", "seed"), [("even", 3), ("spread", 1)])
def test_a_ring_job_needs_minimum_counts(
    family: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Priced at their smallest possible times, its patterns leave a gap that does not close."""
    folder = Path(__file__).parents[2] / "benchmarks"
    monkeypatch.syspath_prepend(folder)
    benchmark = runpy.run_path(str(folder / "placement.py"))
    instance = benchmark["ring_job"](family, 4, 8, seed)
    assert optsched.solve(instance, "columns", options=BOTTLENECK, time_limit=8.0).proved
