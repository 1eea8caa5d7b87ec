"""The exact pipeline: where it stops, what it refuses, and the paper's own ILPs."""

import re

import pytest
from makespan.small import crowded

import optsched
from optsched.deadline import Deadline
from optsched.generators.makespan import generate_makespan
from optsched.library import shipped_folder
from optsched.library.best_known import read_best_known
from optsched.makespan.bounds.best import best_bound
from optsched.makespan.contention import evaluate
from optsched.makespan.exact.starting_schedules import candidates
from optsched.result import Settings, Termination
from optsched.verbs.judging import certificate_violations

SHIPPED = shipped_folder() / "makespan"
BEST = read_best_known(SHIPPED / "best_known.json")
NAMES = sorted(path.stem for path in SHIPPED.glob("*.json") if path.stem != "best_known")


@pytest.mark.usefixtures("short_searches")
@pytest.mark.parametrize("limit", [None, 0.01, pytest.param(2.0, marks=pytest.mark.full)])
def test_exact_hands_back_what_heuristics_find_of_continuous_progress(limit: float | None) -> None:
    """No exact method supports it: the schedule and the bound stand."""
    instance = generate_makespan(
        20, 3, server_sizes=[4, 8], largest_job=8, contention="strong", seed=5, horizon=9000,
        progress="continuous",
    )  # fmt: skip
    result = optsched.solve(instance, "exact", time_limit=limit)
    assert result.check.feasible
    assert result.bound <= result.objective
    if limit is None:
        quick = optsched.solve(instance, "local-search", iterations=200)
        assert result.objective <= quick.objective
        assert result.status in ("optimal", "feasible")
        assert result.details["stopped_at"] == "search: the models are indexed by slots"


@pytest.mark.full
def test_the_full_model_proves_what_bounds_leave_open() -> None:
    full = optsched.solve("makespan/contended-3x3", "ilp", time_limit=600)
    assert full.details["stopped_at"] == full.bound_source == "full model"
    assert full.proved


def test_searches_from_other_seeds_can_meet_the_bound() -> None:
    """The first heuristics stop at 17 slots, the bound is 16; no model needs to be built."""
    found = optsched.solve(crowded(2), "ilp", time_limit=600)
    assert (found.details["stopped_at"], found.proved) == ("search", True)
    assert found.objective == found.bound == 16
    assert found.build_time == 0


@pytest.mark.nightly
def test_what_is_too_large_for_models_is_annealed_without_a_limit_too() -> None:
    """The start's short annealing ends at 563 slots."""
    instance = generate_makespan(160, 20, contention="mild", seed=3)
    found, again = (optsched.solve(instance, "exact") for _ in range(2))
    assert found.objective == again.objective
    starts = [each.schedule for _, each in candidates(instance, Settings(), Deadline())]
    least = min(evaluate(instance, schedule).makespan for schedule in starts if schedule)
    assert found.objective < least


def test_ilp_schedules_selects_the_best_of_the_heuristics() -> None:
    name = "makespan/uniform-10x4-strong"
    chosen = optsched.solve(name, "ilp-schedules", time_limit=300)
    assert chosen.termination is Termination.FEASIBLE
    for method in ("sjf-bco", "first-fit", "list-scheduling", "random", "longest-first"):
        assert chosen.objective <= optsched.solve(name, method).objective


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.full if "160" in n else ()) for n in NAMES]
)
def test_best_known_values_stand_up(name: str) -> None:
    instance, entry = optsched.load(f"makespan/{name}"), BEST[name]
    if "1600" not in name:
        bound = best_bound(instance)
        assert bound.value <= entry["objective"] * (1 + 1e-9)
        if bound.certificate is not None:
            assert certificate_violations(instance, bound.certificate) == []
    if name.startswith(("fig2", "contended", "uniform")):
        found = optsched.solve(instance)
        assert found.objective == entry["objective"] == entry["bound"]
        if name == "contended-3x3":
            assert found.chosen == "state-search"


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_best_known_commands_give_their_values(name: str) -> None:
    entry = BEST[name]
    limit = re.search(r"--time-limit (\S+)", entry["command"])
    seconds = limit and float(limit[1])
    result = optsched.solve(f"makespan/{name}", entry["method"], time_limit=seconds)
    assert result.objective == pytest.approx(entry["objective"])
