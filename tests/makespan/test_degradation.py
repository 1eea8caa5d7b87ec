"""Degradation as a table or a function: every method, bound and verifier takes f from it."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from makespan.small import crowded
from oracles.harness import proves, stays_below
from oracles.makespan import makespan, optimal_makespan, violated_rule
from oracles.makespan_cases import drawn_table, tiny_instance
from sampling import first

import optsched
from optsched.errors import InputError
from optsched.library.verify import RefusedError, verify
from optsched.makespan.bounds.contention import contention_bound
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.instance import MakespanInstance
from optsched.problems import METHODS

METHOD_NAMES = tuple(METHODS["makespan"])


def with_table(seed: int) -> dict[str, Any]:
    document = tiny_instance(seed)
    document["network"]["degradation"] = drawn_table(np.random.default_rng(seed))
    return document


@pytest.mark.parametrize("seed", first(4, range(40)))
def test_exact_equals_the_oracle(seed: int) -> None:
    """All others are on their side of the optimum; the checker's ends are the oracle's."""
    document = with_table(seed)
    instance, best = MakespanInstance.from_dict(document), optimal_makespan(document, 60)
    assert best is not None
    proves(optsched.solve(instance, "exact"), best, 0.0)
    for name in METHOD_NAMES:
        result = optsched.solve(instance, name, iterations=200, time_limit=5.0)
        stays_below(result, best)
        if result.objective is not None:
            assert violated_rule(document, result.solution.to_dict()) is None
            assert makespan(document, result.solution.to_dict()) == result.objective


@pytest.mark.full
def test_tables_move_some_optima() -> None:
    """Else the comparison above would not see that f is ignored."""
    pairs = [(optimal_makespan(tiny_instance(s), 60), optimal_makespan(with_table(s), 60))
             for s in range(40)]  # fmt: skip
    assert sum(a != b for a, b in pairs) >= 10


def test_certificates_and_claims_hold_for_their_own_table() -> None:
    steep = crowded(2, 12, 4, server_sizes=(4,), sizes=(5, 6, 7)).with_(
        network={"degradation": [1, 3, 6, 9]}, horizon=10**5
    )
    flat = steep.with_(network={"degradation": [1]})
    certificate = contention_bound(durations_of(steep), 1.0)
    assert certificate is not None
    document, proof = steep.to_dict(), certificate.to_dict()
    assert verify(document, proof) == certificate.bound(steep.slotted)
    with pytest.raises(RefusedError):
        verify(flat.to_dict(), proof)
    linear = steep.with_(network={"degradation": 2.0, "contention_share": 1.0})
    solution = optsched.solve(steep, "first-fit").solution
    assert optsched.check(steep, solution).feasible
    for other in (flat, linear):
        rules = {violation.rule for violation in optsched.check(other, solution).violations}
        assert "claimed end" in rules


@pytest.mark.parametrize("function", [np.sqrt, lambda p: p * p, lambda _: 2])
def test_a_function_is_its_table(function: Callable[[int], float]) -> None:
    instance = MakespanInstance.from_dict(tiny_instance(1))
    levels = min(sum(job.gpus > 1 for job in instance.jobs), max(instance.servers))
    table = [float(function(p)) for p in range(1, levels + 1)]
    made = instance.with_(network={"degradation": function})
    document = {
        **instance.to_dict(),
        "network": {**vars(instance.network), "degradation": function},
    }
    assert made == instance.with_(network={"degradation": table})
    assert made == MakespanInstance.from_dict(document)
    assert made == MakespanInstance.from_dict(made.to_dict())
    assert made.to_dict()["network"]["degradation"] == table
    assert len(table) > 1


def broken(_: int) -> float:
    raise ZeroDivisionError("no\nsuch level")


@pytest.mark.parametrize(
    ("degradation", "line"),
    [
        ([], "found 0 values, expected 1 to 32768 values of f"),
        ([1] * 40_000, "found 40000 values, expected 1 to 32768 values of f"),
        (
            [0.9],
            "found f = 0.9 at p = 1, expected a number in [1, 1e+18]: f >= 1 is non-decreasing",
        ),
        ([1, 2, 1.5], "found f = 1.5 at p = 3, expected a number in [2, 1e+18]: f"),
        ([1, math.inf], "found f = inf at p = 2, expected a number in [1, 1e+18]"),
        ([1, math.nan], "found f = nan at p = 2, expected a number in [1, 1e+18]"),
        ([True], "found f = True at p = 1, expected a number"),
        ([1, "2"], "found f = '2' at p = 2, expected a number"),
        ([[1]], "found f = [1] at p = 1, expected a number"),
        (lambda p: 3 - p, "found f = 1 at p = 2, expected a number in [2, 1e+18]"),
        (broken, "found ZeroDivisionError: no such level, expected a function of p = 1, 2, ..."),
        ("2", "found '2', expected a finite number in [0, 1e+18]"),
    ],
)
def test_garbage_is_one_line(degradation: object, line: str) -> None:
    document = tiny_instance(1)
    document["network"]["degradation"] = degradation
    with pytest.raises(InputError) as raised:
        MakespanInstance.from_dict(document, "file.json")
    assert str(raised.value).startswith(f"file.json: network.degradation: {line}")
    assert "\n" not in str(raised.value)
