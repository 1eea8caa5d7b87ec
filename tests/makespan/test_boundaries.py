"""Where rounding decides: horizons met exactly, tau one ulp from a slot; statuses; history."""

import math
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from makespan.small import FREE, job
from oracles.makespan_cases import document
from sampling import first

import optsched
from optsched.errors import InputError, NotApplicableError
from optsched.makespan.bounds.best import clear_cache
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.solution import MakespanSolution
from optsched.problems import METHODS
from optsched.result import Termination

CASES = Path(__file__).resolve().parents[1] / "cases" / "makespan"
SCHEDULING = [m.name for m in METHODS["makespan"].values() if m.kind != "bound"]
HEURISTICS = [m.name for m in METHODS["makespan"].values() if m.kind == "heuristic"]


def instance(jobs: list[dict[str, Any]], **update: Any) -> MakespanInstance:
    usual = {"servers": [1], "network": FREE, "progress": "continuous", "horizon": 1}
    rows = [{**job(1, 3, 0.1), **each} for each in jobs]
    return MakespanInstance.from_dict(document("boundary", jobs=rows, **{**usual, **update}))


@pytest.mark.parametrize(("name", "slots"), [("a", 1), ("b", 3), ("c", 3)])
@pytest.mark.parametrize("method", SCHEDULING)
def test_a_horizon_met_exactly_is_met(name: str, slots: int, method: str) -> None:
    try:  # a search stops where it meets its bound, not at the limit
        result = optsched.solve(CASES / f"horizon-met-{name}.json", method, time_limit=20)
    except NotApplicableError:  # slotted models
        return
    assert result.check.feasible
    assert result.objective == pytest.approx(slots)
    proves = method in ("exact", "nested")
    assert result.termination is (Termination.OPTIMAL if proves else Termination.FEASIBLE)


@pytest.mark.parametrize("seed", first(4, range(12)))
def test_wide_and_narrow_jobs_that_fill_a_horizon(seed: int) -> None:
    """One job on all GPUs, then narrow ones of 0.1 or 0.2 s on each GPU that fill the rest."""
    rng = random.Random(seed)
    gpus, slot = rng.randint(1, 4), rng.choice([0.3, 0.6, 0.7])
    step = slot / 3
    horizon, wide = rng.randint(2, 4), 1
    jobs = [{"gpus": gpus, "iterations": 3 * wide, "backward_time": step}]
    jobs += [{"iterations": 3 * (horizon - wide), "backward_time": step}] * rng.randint(1, gpus)
    made = instance(jobs, servers=[gpus], slot=slot, horizon=horizon)
    for method in ("exact", "longest-first"):
        result = optsched.solve(made, method)
        assert result.check.feasible
        assert result.objective == pytest.approx(horizon)
    assert optsched.solve(made).termination is Termination.OPTIMAL
    shorter = instance(jobs, servers=[gpus], slot=slot, horizon=horizon - 1)
    assert optsched.solve(shorter).termination is Termination.INFEASIBLE


def test_methods_bound_and_checker_draw_one_line() -> None:
    """A run that takes the horizon and a share of it more: the three agree on every share."""
    for share in (0.0, 1e-10, 9e-10, 1.1e-9, 1e-8):
        made = instance([{"iterations": 1, "backward_time": 3 * (1 + share)}], horizon=3)
        placed = MakespanSolution.of("boundary", [("j0", 0, {0: 1}, None)])
        accepted = optsched.check(made, placed).feasible
        assert accepted == (share < 1e-9)
        for method in ("exact", "sjf-bco", "local-search", "nested"):
            found = optsched.solve(made, method)
            expected = ("optimal", "feasible") if accepted else ("infeasible",)
            assert found.termination.value in expected, (share, method)


@pytest.mark.parametrize("name", ["tau-one-ulp-a", "tau-one-ulp-b"])
def test_tau_has_one_formula(name: str) -> None:
    """Three slots, or refused at load: here the job makes no progress."""
    with pytest.raises(InputError, match="longer than a slot"):
        optsched.load(CASES / f"{name}.json")


@pytest.mark.parametrize("seed", first(10, range(40)))
def test_tau_around_a_whole_slot(seed: int) -> None:
    """A slot within some ulps of n (1 - 1e-9) iterations: every method, or a refusal at load."""
    rng = random.Random(seed)
    gpus, whole = rng.choice([3, 5, 6, 7]), rng.choice([1, 1, 2])
    network = FREE | {
        "inter_bandwidth": rng.uniform(1e9, 9e9),
        "intra_bandwidth": rng.uniform(1e10, 9e10),
    }
    rate, size = rng.uniform(1e10, 9e10), rng.uniform(1e7, 1e8)
    servers, bandwidth = rng.choice([([gpus], "intra"), ([gpus - 1, 2], "inter")])
    exchanged = 2 * size * (gpus - 1) / (gpus * network[f"{bandwidth}_bandwidth"])
    exchanged += size * (gpus - 1) / (gpus * rate)
    least = 1.0 / (whole - 1e-9) - exchanged
    for _ in range(rng.randint(0, 6)):
        least = math.nextafter(least, rng.choice([0.0, 2.0]))
    wide = {"gpus": gpus, "gradient_bytes": size, "backward_time": least}
    changes = {"servers": servers, "network": network, "compute_rate": rate}
    try:
        made = instance([wide], **changes, progress="floor", horizon=9)
    except InputError as error:
        assert "longer than a slot" in str(error)
        return
    for method in ("exact", "sjf-bco", "random", "longest-first", "nested", "ilp"):
        result = optsched.solve(made, method, iterations=50)
        assert result.check is not None, method
        assert result.check.feasible, method


@pytest.mark.parametrize(("name", "optimum"), [("a", 3), ("b", 3), ("c", 10)])
def test_a_heuristic_that_finds_nothing_has_no_solution(name: str, optimum: int) -> None:
    path = CASES / f"heuristic-finds-nothing-{name}.json"
    for method in HEURISTICS:
        result = optsched.solve(path, method, iterations=500)
        if result.solution is None:
            assert result.termination is Termination.NO_SOLUTION
        else:
            assert result.termination.value in ("feasible", "optimal")
    for method in ("exact", "ilp"):
        proved = optsched.solve(path, method)
        assert (proved.termination, proved.objective) == (Termination.OPTIMAL, optimum)


@pytest.mark.parametrize("method", METHODS["makespan"])
def test_a_time_limit_is_named_only_where_one_was_given(method: str) -> None:
    path = CASES / "heuristic-finds-nothing-b.json"
    assert optsched.solve(path, method, iterations=50).termination is not Termination.TIME_LIMIT


MET = ["heuristic-finds-nothing-b", "horizon-met-c", "makespan/contended-3x3"]
EVERY = METHODS["makespan"]


def outcome_of(path: str, method: str, *, alone: bool = False) -> dict[str, Any] | None:
    """What a method returns, without times; alone: as in a process that has proved nothing yet."""
    if alone:
        clear_cache()
    try:
        result = optsched.solve(path, method, iterations=300)
    except NotApplicableError:
        return None
    names = ("termination", "objective", "bound", "bound_source", "certificate", "solution")
    return {name: result.to_dict().get(name) for name in names}


@pytest.mark.usefixtures("short_searches")
@pytest.mark.parametrize(
    ("names", "methods"),
    [
        (["bound-by-history"], ["nested", "theta"]),
        pytest.param(["bound-by-history"], EVERY, marks=pytest.mark.full),
        pytest.param(MET, EVERY, marks=pytest.mark.full),
    ],
)
def test_outputs_do_not_depend_on_what_ran_before(names: list[str], methods: Iterable[str]) -> None:
    paths = [name if "/" in name else str(CASES / f"{name}.json") for name in names]
    runs = [(path, method) for path in paths for method in methods]
    alone = {run: outcome_of(*run, alone=True) for run in runs}
    clear_cache()
    for run in (*runs, *reversed(runs)):
        assert outcome_of(*run) == alone[run]
