"""Speed profiles decided by an ulp, against a linear programme and exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from independent.day import batches, seed_of_the_day
from oracles.adversarial_profiles import adversarial, generated
from oracles.exact_profile import exact_energy
from oracles.speed_profile import least_energy

from optsched import solve
from optsched.speed_profile.instance import SpeedProfileInstance


def agree(instance: SpeedProfileInstance, case: object) -> str:
    """bound <= optimum <= hull and dichotomy, which end in time; the status."""
    best, status = exact_energy(instance.to_dict()), "infeasible"
    for method in ("hull", "dichotomy"):
        result = solve(instance, method)
        status = result.solution.status
        assert result.check.feasible, (case, method, result.check)
        if best is None:
            assert status == "infeasible", (case, method)
            continue
        seconds = sum((p.to - p.from_) / instance.speeds[p.speed] for p in result.solution.pieces)
        assert seconds <= instance.deadline * (1 + 2e-12), (case, method)
        assert Fraction(result.bound) <= best, (case, method, float(result.bound / best - 1))
        scale = 1e-11 * float(best) + 1e-11 * _steepness(instance)
        assert float(best) - scale <= result.objective <= float(best) + scale, (case, method)
    return status


def _steepness(instance: SpeedProfileInstance) -> float:
    """Energy per relative change of the deadline, at most: what an ulp of it can cost."""
    inverse = 1 / np.array(instance.speeds)
    energy = np.array(instance.power) * inverse
    saved, paid = inverse[:, None] - inverse, energy - energy[:, None]
    slopes = paid[saved > 0] / saved[saved > 0]
    return float(max(slopes.max(initial=0.0), 0.0)) * float(instance.deadline)


@pytest.mark.parametrize("cases", batches(20_000, 150, 50))
def test_generated_profiles(cases: range) -> None:
    for case in cases:
        agree(generated(np.random.default_rng([seed_of_the_day(), 1, case])), case)


@pytest.mark.parametrize("cases", batches(10_000, 300, 100))
def test_adversarial_profiles(cases: range) -> None:
    found = {agree(adversarial(np.random.default_rng([seed_of_the_day(), 2, c])), c) for c in cases}
    assert found >= {"binding", "slack"}


@pytest.mark.parametrize("cases", batches(1_000, 30, 30))
def test_the_two_oracles_agree(cases: range) -> None:
    for case in cases:
        instance = generated(np.random.default_rng([seed_of_the_day(), 3, case])).to_dict()
        exact, programme = exact_energy(instance), least_energy(instance)
        if exact is None:
            assert programme is None
            continue
        assert programme == pytest.approx(float(exact), rel=1e-9)
