"""`--gap 0`: where an exact method says "optimal", its bound meets its value; else it says why."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from oracles import placement
from oracles.makespan_cases import tiny_instance
from oracles.selection_cases import tiny
from oracles.speed_profile_cases import adversarial
from sampling import first

import optsched
from optsched.makespan.instance import MakespanInstance
from optsched.placement.instance import PlacementInstance
from optsched.problems import METHODS
from optsched.result import SOLVER_RTOL


def placed(seed: int) -> PlacementInstance:
    rng = random.Random(seed)
    while True:
        document = placement.random_instance(rng)
        if len(document["free_gpus"]) > 1 and placement.saves_inside(document):
            return PlacementInstance.from_dict(document)


def scheduled(seed: int) -> MakespanInstance:
    document = tiny_instance(seed)
    document["jobs"] = document["jobs"][:3]
    return MakespanInstance.from_dict(document)


DRAWS: dict[str, Callable[[int], Any]] = {
    "placement": placed,
    "makespan": scheduled,
    "selection": lambda seed: tiny(seed, jobs=2 + seed % 2, nodes=2, most=2),
    "speed-profile": lambda seed: adversarial(np.random.default_rng(seed)),
}


@pytest.mark.parametrize("seed", first(2, range(60)))
@pytest.mark.parametrize("problem", DRAWS)
def test_optimal_at_gap_zero_leaves_no_gap(problem: str, seed: int) -> None:
    instance, optima = DRAWS[problem](seed), {}
    for method in METHODS[problem].values():
        if method.kind == "exact":
            result = optsched.solve(instance, method.name, gap=0)
            if result.termination == "feasible":  # not proved, and said
                assert "tolerance" in result.details["message"], method.name
                continue
            assert result.termination == "optimal", method.name
            assert result.check.feasible
            assert result.bound == pytest.approx(result.objective, rel=SOLVER_RTOL, abs=0), (
                method.name
            )
            optima[method.name] = result.objective
    some = next(iter(optima.values()))
    assert optima == pytest.approx(dict.fromkeys(optima, some), rel=SOLVER_RTOL, abs=0)
