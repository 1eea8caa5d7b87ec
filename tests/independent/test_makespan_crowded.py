"""Makespans that bounds leave open against every state: what proves, what bounds, certificates."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from independent import makespan_crowded_cases as cases
from independent import makespan_oracle as oracle
from independent.black_box import loaded, proves, stays_below, told
from independent.day import batches, seed_of_the_day

import optsched
from optsched.library.certificates import best_certificate
from optsched.library.verify import RefusedError, verify

EXACT = ("exact",)
SOLVERS = {"ilp": 8, "ilp-relaxed": 4}
"""Large models: on every so many cases of the nightly run."""
SECONDS = 10.0
BOUNDS = ("theta",)
HEURISTICS = ("sjf-bco", "list-scheduling", "longest-first", "local-search", "nested")
FORGERIES = 40


@pytest.mark.parametrize("numbers", batches(nightly=360, default=12, size=36))
def test_every_method_against_every_state(numbers: range, tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    for number in numbers:
        case = cases.draw(seed_of_the_day(), number)
        with told(seed_of_the_day(), number, case.instance):
            _examine(case, number, tmp_path, counts, solvers=len(numbers) > 12)
    assert counts["proved by exact"] == len(numbers)
    assert counts["verified"] >= len(numbers)
    assert counts["refused forgeries"] == counts["forgeries"] > 0


def test_these_cases_are_left_to_the_search(tmp_path: Path) -> None:
    """Of the days' cases 39 in 100 are (30 days measured); a day's twelve may be one or ten."""
    drawn = [cases.draw(1, number) for number in range(len(cases.FAMILIES))]
    results = [optsched.solve(loaded(tmp_path, case.instance), "exact") for case in drawn]
    assert sum(result.bound_source == "state-search" for result in results) >= 2


def _examine(
    case: cases.Case, number: int, folder: Path, counts: Counter[str], solvers: bool
) -> None:
    optimum = case.optimum
    assert optimum is not None
    instance = loaded(folder, case.instance)
    results = []
    for method in (*EXACT, *SOLVERS, *BOUNDS, *HEURISTICS):
        if number % SOLVERS.get(method, 1) or (method in SOLVERS and not solvers):
            continue
        limit = SECONDS if method in SOLVERS else None
        result = optsched.solve(instance, method, time_limit=limit, iterations=200)
        results.append(result)
        stays_below(result, optimum)
        if result.objective is not None:
            _judge(case, result)
        assert result.termination.value != "infeasible", f"{method}: the optimum is {optimum}"
        if method in EXACT or (method == "ilp" and result.termination.value == "optimal"):
            proves(result, optimum, 0.0)
            counts[f"proved by {method}"] += 1
        if result.certificate is not None:
            certificate = result.certificate.to_dict()
            assert result.bound == verify(case.instance, certificate), f"{method}: {certificate}"
            counts["verified"] += 1
    found = best_certificate(instance, results[0], 1.0)
    assert found is None or found[0] <= optimum, f"the optimum is {optimum}, certified: {found}"
    _forge(case, found, counts)


def _judge(case: cases.Case, result: Any) -> None:
    """A schedule keeps every rule, and ends when it says."""
    solution = result.solution.to_dict()
    assert result.check.feasible, f"{result.method}: {result.check.violations}"
    assert oracle.broken_rule(case.instance, solution) is None, result.method
    assert oracle.makespan(case.instance, solution) == result.objective, result.method


def _forge(case: cases.Case, found: Any, counts: Counter[str]) -> None:
    """Whatever the prices, nothing proves that the optimum is no makespan."""
    optimum = case.optimum or 0
    forgeries = [cases.forged(case.rng, case.instance, optimum) for _ in range(FORGERIES)]
    if found is not None:
        forgeries.append({**found[1], "deadline": optimum})
    for certificate in forgeries:
        counts["forgeries"] += 1
        with pytest.raises(RefusedError):
            verify(case.instance, certificate)
        counts["refused forgeries"] += 1
