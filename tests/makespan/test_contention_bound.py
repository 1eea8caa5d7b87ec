"""The contention bound: below every optimum and every schedule, above the area where jobs span."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from oracles.makespan_cases import Case, draw

import optsched
from optsched.generators.makespan import generate_makespan
from optsched.makespan.bounds.best import area, best_bound, simple_bound
from optsched.makespan.bounds.certificate import MAX_DUAL, ContentionCertificate
from optsched.makespan.bounds.contention import contention_bound
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.instance import MakespanInstance
from optsched.verbs.judging import certificate_violations

CASES, FULL_CASES = range(75), range(3000)


def instance_of(case: Case) -> MakespanInstance | None:
    if case.family == "refused" or case.optimum is None:
        return None
    return MakespanInstance.from_dict({**case.instance, "horizon": 10**6})


def any_prices(instance: MakespanInstance, rng: np.random.Generator) -> ContentionCertificate:
    """Prices that no programme chose, for as many levels as it pleases."""
    most, jobs = max(instance.servers), len(instance.jobs)

    def drawn(count: int) -> tuple[int, ...]:
        return tuple(int(p) for p in rng.integers(0, 100, count) * rng.integers(0, 2, count))

    rows = tuple(drawn(most) for _ in range(int(rng.integers(1, 6))))
    running = {j: p for j, p in enumerate(drawn(jobs)) if rng.random() < 0.3}
    return ContentionCertificate(1, rows, drawn(most), running)


def stays_below(number: int) -> str:
    """Check one drawn case: its bound, and that its optimum is never refuted by any prices."""
    case = draw(11, number)
    instance = instance_of(case)
    if instance is None:
        return "left out"
    optimum, durations = int(case.optimum or 0), durations_of(instance)
    for _ in range(5):
        found = any_prices(instance, case.rng)
        assert certificate_violations(instance, replace(found, deadline=optimum))
    found = contention_bound(durations, 1.0)
    if found is None:
        return "none"
    assert found.bound(slotted=True) <= optimum
    assert certificate_violations(instance, found) == []
    assert certificate_violations(instance, replace(found, deadline=optimum))
    return "better" if found.bound(True) > simple_bound(durations).value else "as good"


def test_no_prices_refute_an_optimum() -> None:
    assert Counter(map(stays_below, CASES))["better"] >= 2


@pytest.mark.full
def test_no_prices_refute_an_optimum_in_full() -> None:
    assert Counter(map(stays_below, FULL_CASES))["better"] > 100


def must_span(wide: bool, **other: Any) -> MakespanInstance:
    size = 8 if wide else 4
    made: dict[str, Any] = {
        "contention": "strong", "server_sizes": (size,), "horizon": 10**5,
        "sizes": tuple(range(size + 1, 2 * size + 1)), **other,
    }  # fmt: skip
    return generate_makespan(20, 6, **made)


@pytest.mark.parametrize("progress", ["floor", "continuous"])
@pytest.mark.parametrize("wide", [False, True])
def test_it_lies_between_the_area_and_every_schedule(wide: bool, progress: str) -> None:
    instance = must_span(wide, progress=progress)
    bound = best_bound(instance)
    assert bound.source == "contention bound"
    assert bound.value > 1.08 * area(durations_of(instance)).value
    for method in ("sjf-bco", "first-fit", "longest-first", "local-search"):
        result = optsched.solve(instance, method, iterations=300)
        assert result.bound is not None
        assert result.objective is not None
        assert bound.value <= result.bound <= result.objective
        if result.bound == bound.value:
            assert result.bound_source == "contention bound"
            assert certificate_violations(instance, result.certificate) == []


@pytest.mark.parametrize("progress", ["floor", "continuous"])
def test_its_certificate_proves_its_own_deadline_only(progress: str) -> None:
    instance = must_span(False, progress=progress)
    found = contention_bound(durations_of(instance), 1.0)
    assert found is not None
    assert certificate_violations(instance, found) == []
    for change in (
        {"deadline": found.deadline + (1 if progress == "floor" else 1e-6 * found.deadline)},
        {"pieces": found.pieces[:1]},
        {"pieces": (tuple(p // 2 for p in found.pieces[0]), *found.pieces[1:])},
        {"inside": tuple(MAX_DUAL for _ in found.inside)},
        {"running": {0: MAX_DUAL}},
    ):
        changed = certificate_violations(instance, replace(found, **change))
        assert bool(changed) == (change.keys() != {"inside"}), change


def test_where_nothing_has_to_span_it_adds_nothing() -> None:
    for seed in range(3):
        instance = generate_makespan(40, 6, contention="strong", largest_job=4, seed=seed)
        durations = durations_of(instance)
        assert contention_bound(durations, simple_bound(durations).value) is None


def test_the_explanation_says_what_it_is() -> None:
    text = str(optsched.explain("makespan/must-span-40x8", method="longest-first"))
    assert "bound 436 (contention bound: link contention limits" in text


def test_whole_slots_close_the_last_gap() -> None:
    """The value of the programme is 28.2, and the best schedule takes 30."""
    bound = best_bound(optsched.load("makespan/must-span-8x6"))
    assert (bound.value, bound.source) == (30, "contention bound")
