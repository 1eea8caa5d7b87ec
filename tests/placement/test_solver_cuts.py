"""Jobs of which HiGHS has said "optimal" of placements up to 3.3% above the optimum.

A generator of adversarial cases drew them; their optima come from enumeration. Of the second one
prices that the checker verifies without a solver prove it, too.
"""

from __future__ import annotations

import pytest
from placement.jobs import made

import optsched
from optsched.placement.instance import PlacementInstance
from optsched.verbs.judging import certificate_violations

TREES = (
    (1.573768899166143, 0.9135543012342874, 0, 0.03528448388479004, 0.11227993883598525, 1, 0.0),
    (
        1.573768899166143,
        0.9135543012342874,
        0.03528448388479004,
        0.03528448388479004,
        0.11227993883598525,
        2,
        0.0,
    ),
    (
        1.3433109192570918,
        0.6723351974152317,
        0.03528448388479004,
        0.051991656940829516,
        0.039244608083847096,
        1,
        0.0,
    ),
    (
        1.3433109192570918,
        0.6723351974152317,
        0.051991656940829516,
        0.051991656940829516,
        0.039244608083847096,
        2,
        0.5745812662296677,
    ),
    (1.3433109192570918, 0.6723351974152317, 0.051991656940829516, 0, 0.039244608083847096, 1, 0.0),
)
RINGS = (
    (1.1226150541539575, 0.47810952910233684, 0, 0.07432586048138845, 0.04290795753580942, 1, 0.0),
    (
        1.1226150541539575,
        0.47810952910233684,
        0.07432586048138845,
        0.07432586048138845,
        0.04290795753580942,
        1,
        0.0,
    ),
    (
        0.6306095552527775,
        0.44674386571988334,
        0.07432586048138845,
        0.08281003011086333,
        0.16565546241134232,
        1,
        0.0,
    ),
    (
        0.4634602000228007,
        0.23281601732738855,
        0.08281003011086333,
        0.04095725482534328,
        0.06889673238705923,
        1,
        0.0,
    ),
    (0.4634602000228007, 0.23281601732738855, 0.04095725482534328, 0, 0.06889673238705923, 1, 0.0),
)
"""By stage: forward and backward pass, bytes in, out and of parameters; q, and bytes within q."""
FIELDS = (
    "forward_time",
    "backward_time",
    "input_bytes",
    "output_bytes",
    "parameter_bytes",
    "tensor_parallel",
    "tensor_bytes",
)
BOTTLENECK = {"all_reduce_bandwidth": "bottleneck"}


def job(
    stages: tuple[tuple[float, ...], ...], offers: list[int], intra: float, kind: str
) -> PlacementInstance:
    gpus = max(16 if kind == "double-tree" else 12, *offers)
    several = [{"replicas": 6, **dict(zip(FIELDS, stage, strict=True))} for stage in stages]
    return made(offers, several, gpus=gpus, inter=1.0, intra=intra, kind=kind)


CASES = {
    "trees": (job(TREES, [10, 15, 7, 10], 1.5, "double-tree"), 4.320617472234611),
    "rings": (job(RINGS, [12, 6, 5, 3, 4], 10.0, "ring"), 3.678173844550324),
}


@pytest.mark.parametrize("method", ["ilp", "exact"])
@pytest.mark.parametrize("case", CASES)
def test_no_seed_ends_above_the_optimum(case: str, method: str) -> None:
    instance, optimum = CASES[case]
    for seed in range(6):
        result = optsched.solve(instance, method, options=BOTTLENECK, seed=seed)
        assert result.objective == pytest.approx(optimum, rel=1e-9)
        assert result.bound <= optimum * (1 + 1e-9)


def test_prices_prove_the_second_one() -> None:
    instance, optimum = CASES["rings"]
    proved = optsched.solve(instance, "columns", options=BOTTLENECK)
    assert proved.bound == pytest.approx(optimum, rel=1e-8)
    assert certificate_violations(instance, proved.certificate, BOTTLENECK) == []
