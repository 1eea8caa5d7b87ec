"""The contention bound: below schedules, above the area where jobs span; `oracles` has optima."""

from dataclasses import replace
from typing import Any

import pytest

import optsched
from optsched.generators.makespan import generate_makespan
from optsched.makespan.bounds.best import area, best_bound
from optsched.makespan.bounds.certificate import MAX_DUAL
from optsched.makespan.bounds.contention import contention_bound
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.instance import MakespanInstance
from optsched.verbs.judging import certificate_violations


def must_span(wide: bool, **other: Any) -> MakespanInstance:
    size = 8 if wide else 4
    made: dict[str, Any] = {
        "contention": "strong", "server_sizes": (size,), "horizon": 10**5,
        "sizes": tuple(range(size + 1, 2 * size + 1)), **other,
    }  # fmt: skip
    return generate_makespan(20, 6, **made)


@pytest.mark.parametrize("progress", ["floor", "continuous"])
@pytest.mark.parametrize("wide", [False, pytest.param(True, marks=pytest.mark.full)])
def test_it_lies_between_the_area_and_every_schedule(wide: bool, progress: str) -> None:
    instance = must_span(wide, progress=progress)
    bound = best_bound(instance)
    assert bound.source == "contention bound"
    assert bound.value > 1.08 * area(durations_of(instance)).value
    for method in ("sjf-bco", "first-fit", "longest-first", "local-search"):
        result = optsched.solve(instance, method, iterations=300)
        assert bound.value <= result.bound <= result.objective
        if result.bound == bound.value:
            assert result.bound_source == "contention bound"
            assert certificate_violations(instance, result.certificate) == []


@pytest.mark.parametrize("progress", ["floor", "continuous"])
def test_its_certificate_proves_its_own_deadline_only(progress: str) -> None:
    instance = must_span(False, progress=progress)
    found = contention_bound(durations_of(instance), 1.0)
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


def test_whole_slots_close_the_last_gap() -> None:
    """The value of the programme is 28.2, and the best schedule takes 30."""
    bound = best_bound(optsched.load("makespan/must-span-8x6"))
    assert (bound.value, bound.source) == (30, "contention bound")
