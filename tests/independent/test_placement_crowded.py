"""Placements that bounds leave open against all tables; certificates; what must not matter."""

from __future__ import annotations

from collections import Counter
from math import inf
from pathlib import Path
from typing import Any

import pytest
from independent import placement_crowded_cases as cases
from independent.black_box import close, loaded, proves, stays_below, told
from independent.day import batches, seed_of_the_day
from independent.placement_extended_cases import larger
from independent.placement_worked import job, stage
from oracles import placement as oracle

import optsched
from optsched.errors import NotApplicableError
from optsched.library.certificates import best_certificate
from optsched.library.verify import RefusedError, verify
from optsched.library.verify.placement import patterns_within
from optsched.verbs.judging import certificate_violations

EXACT = ("columns", "ilp", "exact")
SOLVERS = {"ilp-vertex": 3}
"""A weak model: on every so many cases of the nightly run."""
HEURISTICS = ("heavy-edge", "repartition")
SOLVED = 1e-8
"""Relative; a solver's tolerance is 1e-9 a row."""
FORGERIES = 20


@pytest.mark.parametrize("numbers", batches(nightly=1000, default=10, size=50))
def test_every_method_against_all_tables(numbers: range, tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    nightly = len(numbers) > 10
    for number in numbers:
        case = cases.draw(seed_of_the_day(), number, 60_000 if nightly else 5_000)
        with told(seed_of_the_day(), number, {**case.instance, "options": case.options}):
            _examine(case, number if nightly else None, tmp_path, counts)
    assert counts["proved by exact"] + counts["no table"] >= 0.8 * len(numbers)
    assert counts["certified"] >= 0.7 * counts["asked"]
    assert counts["refused forgeries"] == counts["forgeries"] > 0


def _examine(case: cases.Case, number: int | None, folder: Path, counts: Counter[str]) -> None:
    best = oracle.optimum(case.instance, case.options)
    counts["no table"] += best is None
    instance = loaded(folder, case.instance)
    results = []
    for method in (*EXACT, *SOLVERS, *HEURISTICS):
        if method in SOLVERS and (number is None or number % SOLVERS[method]):
            continue
        try:
            result = optsched.solve(instance, method, options=case.options, gap=case.gap)
        except NotApplicableError:
            counts[f"refused by {method}"] += 1
            continue
        if best is None:
            said = "no-solution" if method == "heavy-edge" else "infeasible"
            assert (result.termination.value, result.objective) == (said, None), method
            continue
        if result.objective is None:
            assert method in HEURISTICS, f"{method}: {result}"
            continue
        results.append(result)
        stays_below(result, best, SOLVED)
        table = result.solution.to_dict()["counts"]
        assert oracle.broken_rule(case.instance, table) is None, method
        assert close(result.objective, oracle.alpha(case.instance, table, case.options)), method
        is_open = result.termination.value != "optimal" and method == "columns" and case.options
        if method not in HEURISTICS and not is_open:
            proves(result, best, max(case.gap, SOLVED if result.solver else 0.0))
            counts[f"proved by {method}"] += 1
        if result.certificate is not None:
            broken = certificate_violations(instance, result.certificate, case.options)
            assert not broken, f"{method}: {broken}"
        if result.certificate is not None and not case.options:  # verify knows the defaults alone
            value = verify(case.instance, result.certificate.to_dict())
            assert close(value, result.bound), f"{method}: {value} is certified, not {result.bound}"
    if best is not None:
        _certify(case, instance, results, counts)


def _certify(case: cases.Case, instance: Any, results: list[Any], counts: Counter[str]) -> None:
    """What is certified is no more than the optimum; nothing proves a threshold above it."""
    best = oracle.optimum(case.instance, {}) or 0.0
    above = [best * (1 + by) or 1e-6 for by in (1e-9, 1e-7, 1e-3)]
    forgeries = [cases.forged(case.rng, case.instance, theta) for theta in above * FORGERIES]
    if not case.options:
        counts["asked"] += 1
        found = best_certificate(instance, max(results, key=lambda one: one.bound or 0.0), 2.0)
        if found is not None:
            assert found[0] <= best * (1 + 1e-9), f"{found} is certified, {best} the optimum"
            counts["certified"] += 1
            forgeries += [{**found[1], "threshold": theta} for theta in above]
    for certificate in forgeries:
        counts["forgeries"] += 1
        with pytest.raises(RefusedError):
            verify(case.instance, certificate)
        counts["refused forgeries"] += 1


@pytest.mark.parametrize("numbers", batches(nightly=20, default=1, size=5))
def test_what_must_not_matter(numbers: range, tmp_path: Path) -> None:
    """Of jobs too large for tables: units, the order of servers, empty ones, which end is first.

    One more server with free GPUs, or faster links, make no job slower.
    """
    for number in numbers:
        instance = larger(seed_of_the_day(), number)
        with told(seed_of_the_day(), number, instance):
            for method in ("columns", "ilp", "exact"):
                _relations(instance, method, tmp_path)


def _relations(instance: dict, method: str, folder: Path) -> None:
    def found(one: dict) -> float:
        result = optsched.solve(loaded(folder, one), method)
        if result.termination.value == "infeasible":
            return inf
        proves(result, result.objective, 1e-6)
        return float(result.objective)

    free = instance["free_gpus"]
    value = found(instance)
    for same, unit in (
        (cases.scaled(instance, 2.0**-7, 2.0**11), 2.0**7),
        (cases.mirrored(instance), 1.0),
        (cases.offered(instance, sorted(free)), 1.0),
        (cases.offered(instance, [0, *free, 0]), 1.0),
    ):
        other = found(same) * unit
        assert other == value or close(other, value, 1e-6), f"{method}: {other}, not {value}"
    faster = {key: 1.25 * x for key, x in instance["cluster"].items() if "bandwidth" in key}
    better = {**instance, "cluster": {**instance["cluster"], **faster}}
    for one in (better, cases.offered(instance, [*free, 1 + max(free) // 2])):
        assert found(one) <= value * (1 + 1e-6), method


def test_one_micro_batch_and_nothing_within_reach() -> None:
    """Of one micro-batch none waits for the slowest stage, be it endless.

    Found as case 226 of seed 90417; the times are whole numbers in the file.
    """
    instance = job([1, 1], stage(1, 1, 2), stage(1, 2, 4), micro_batches=1)
    within = patterns_within(instance, 1e-3, 1, [])
    assert not any(held[:, 1:].any() for held in within)
