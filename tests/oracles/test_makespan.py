"""Every makespan method against every state that a schedule can pass through."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sampling import first
from scripts import script

import optsched
from optsched.errors import NotApplicableError
from optsched.library.verify import RefusedError, verify
from optsched.makespan.bounds.best import simple_bound
from optsched.makespan.bounds.contention import contention_bound
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.instance import MakespanInstance
from optsched.problems import METHODS
from oracles import makespan as oracle
from oracles import makespan_cases as cases
from oracles.harness import (
    ROUNDING,
    accepts,
    batches,
    case_named_on_failure,
    close,
    loaded,
    proves,
    seed_of_the_day,
    stays_below,
    was_refused,
)

EXACT = ("exact", "ilp")
BOUNDS = ("ilp-relaxed", "theta")
HEURISTICS = [m.name for m in METHODS["makespan"].values() if m.kind in ("heuristic", "model")]
SLOTTED = ("ilp", "ilp-relaxed")
"""They refuse continuous progress by name."""
COSTLY = {"ilp": 4, "ilp-relaxed": 2, "theta": 4, "ilp-schedules": 4}
"""Methods that build a Pyomo model run on every so many cases: the nightly run is minutes."""
GAP = 1e-6
"""To which "optimal" is proved where none is asked."""
ILP_SECONDS = 3.0
"""The full model can stall on contended jobs; where it does, its incumbent and bound are judged."""
CROWDED = (
    "exact",
    "theta",
    "sjf-bco",
    "list-scheduling",
    "longest-first",
    "local-search",
    "nested",
)
"""Methods on cases that bounds leave open."""
CROWDED_MODELS = {"ilp": 8, "ilp-relaxed": 4}
"""Large models: on every so many cases of the nightly run."""
CROWDED_SECONDS = 10.0
FORGERIES = 40


@pytest.mark.parametrize("numbers", batches(nightly=3_000, default=13, size=100))
def test_every_method_against_every_state(numbers: range, tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    for number in numbers:
        _run(seed_of_the_day(), number, tmp_path, counts)
    slotted = counts["within the horizon"] + counts["beyond the horizon"]
    assert counts["cases"] == len(numbers)
    assert counts["cases"] == slotted + counts["continuous"] + counts["refused files"]
    assert counts["proved by exact"] == slotted
    if len(numbers) < 100:  # shares mean little in fewer
        return
    assert counts["one job beyond the horizon"] >= 0.02 * slotted
    assert counts["continuous with a schedule"] >= 0.8 * counts["continuous"]
    assert counts["within the horizon"] >= 0.3 * slotted
    assert counts["beyond the horizon"] >= 0.08 * slotted
    assert counts["proved by ilp"] >= 0.7 * slotted / COSTLY["ilp"] - 1
    assert counts["heuristic above the optimum"] >= 0.1 * slotted
    assert counts["contention above the simple bound"] >= 0.01 * slotted
    assert counts["spanning"] >= 0.3 * slotted
    assert counts["rejected edits"] >= 0.4 * slotted
    assert counts["accepted edits"] >= 0.1 * slotted


def _run(seed: int, number: int, folder: Path, counts: Counter[str]) -> None:
    case = cases.draw(seed, number)
    with case_named_on_failure(seed, number, case.instance):
        if not was_refused(folder, case, counts):
            least = [oracle.min_slots(case.instance, job) or 0 for job in case.instance["jobs"]]
            counts["one job beyond the horizon"] += max(least) > case.instance["horizon"]
            _examine(case, number, folder, counts)


def _examine(case: cases.Case, number: int, folder: Path, counts: Counter[str]) -> None:
    instance = loaded(folder, case.instance)
    horizon = case.instance["horizon"]
    late = case.optimum is not None and case.optimum > horizon
    best = case.optimum
    if best is None:
        counts["continuous"] += 1
    else:
        counts["beyond the horizon" if late else "within the horizon"] += 1
    if best is not None:
        _contend({**case.instance, "horizon": 10**6}, best, case.rng, counts)
    solutions, bounds = [], []
    for method in (*EXACT, *BOUNDS, *HEURISTICS):
        if number % COSTLY.get(method, 1):
            continue
        limit = ILP_SECONDS if method == "ilp" else None
        try:
            result = optsched.solve(instance, method, time_limit=limit, iterations=200)
        except NotApplicableError:
            assert best is None, f"{method} refuses whole iterations"
            assert method in SLOTTED, f"{method} refuses continuous progress"
            counts[f"refused by {method}"] += 1
            continue
        if best is None and method == "exact":  # its heuristics alone
            assert result.termination.value in ("optimal", "feasible", "infeasible", "no-solution")
            is_met = result.objective is not None and close(result.objective, result.bound, GAP)
            assert (result.termination.value == "optimal") == is_met
            counts["continuous with a schedule"] += result.objective is not None
        assert best is not None or method not in SLOTTED, f"{method} is not slotted"
        bounds.append((method, result.bound))
        if result.objective is not None:
            _judge(case, result)
            solutions.append(result.solution.to_dict())
        if best is None:
            continue
        if late:
            assert result.objective is None, f"{method}: {result.objective}, optimum {best}"
            assert result.bound is None or result.bound <= best + ROUNDING
        else:
            stays_below(result, best)
        counts["heuristic above the optimum"] += method in HEURISTICS and result.objective != best
        if method in EXACT:
            if method == "ilp" and result.termination.value in ("feasible", "time-limit"):
                unbuilt = "not built in the time left" in result.details["stopped_at"]
                at_once = result.solve_time < 0.5 * ILP_SECONDS
                assert unbuilt or not at_once, f"{result.termination} at once"
                counts["ilp without its model" if unbuilt else "ilp at its limit"] += 1
                continue
            if late:
                assert result.termination.value == "infeasible", f"{method}: {result.termination}"
            else:
                proves(result, best, ROUNDING)
            counts[f"proved by {method}"] += 1
        elif result.termination.value == "infeasible":
            assert late, f"{method}: infeasible, the optimum is {best}"
        elif method in BOUNDS:
            assert result.bound is not None, method
    _compare(case, solutions, bounds)
    counts["spanning"] += any(len(run["gpus"]) > 1 for s in solutions for run in s["jobs"])
    if solutions:
        _edit(case, solutions[number % len(solutions)], instance, folder, counts)


def _contend(document: dict, optimum: int, rng: Any, counts: Counter[str]) -> None:
    """The contention bound is below the optimum; no prices, its own or drawn, refute that."""
    forgeries = [cases.forged(rng, document, optimum) for _ in range(5)]
    durations = durations_of(MakespanInstance.from_dict(document))
    certificate = contention_bound(durations, 1.0)
    if certificate is not None:
        bound = certificate.bound(slotted=True)
        assert bound <= optimum
        assert verify(document, certificate.to_dict()) == bound
        forgeries.append({**certificate.to_dict(), "deadline": optimum})
        counts["contention above the simple bound"] += bound > simple_bound(durations).value
    for forgery in forgeries:
        with pytest.raises(RefusedError):
            verify(document, forgery)


def _judge(case: cases.Case, result: Any, rounding: float = ROUNDING) -> None:
    """A schedule keeps every rule, and ends when it says."""
    solution = result.solution.to_dict()
    assert result.check.feasible, f"{result.method}: {result.check.violations}"
    broken = oracle.violated_rule(case.instance, solution)
    assert broken is None or broken[1] <= rounding, f"{result.method} breaks {broken}"
    value = oracle.makespan(case.instance, solution)
    assert close(result.objective, value, rounding), f"{result.method}: not {value}"


def _compare(
    case: cases.Case, solutions: list[dict], bounds: list[tuple[str, float | None]]
) -> None:
    """No bound lies above any schedule, the oracle's own included."""
    values = [oracle.makespan(case.instance, solution) for solution in solutions]
    if case.optimum is None:
        values.append(oracle.best_of_event_schedules(case.instance))
    for method, bound in bounds:
        for value in values:
            assert bound is None or bound <= value * (1 + ROUNDING), (
                f"{method}: bound {bound} above a schedule of {value}"
            )


def _edit(
    case: cases.Case, solution: dict, instance: object, folder: Path, counts: Counter[str]
) -> None:
    """The checker and the oracle judge edited schedules alike."""
    assert accepts(folder, instance, solution)[0]
    claimed = {**solution, "objective": solution["objective"] * (1 + 1e-5)}
    assert not accepts(folder, instance, claimed)[0], "a wrong claim passes"
    for _ in range(4):
        edited = cases.corrupted(case.rng, case.instance, solution)
        broken = oracle.violated_rule(case.instance, edited)
        accepted, objective = accepts(folder, instance, edited)
        if broken is None:
            assert accepted, f"valid, yet rejected: {edited}"
            assert close(objective, oracle.makespan(case.instance, edited))
        elif broken[1] > 1e-6:
            assert not accepted, f"{broken} passes: {edited}"
        counts["accepted edits" if accepted else "rejected edits"] += 1


@pytest.mark.parametrize("numbers", batches(nightly=360, default=4, size=36))
def test_crowded_cases_against_every_state(numbers: range, tmp_path: Path) -> None:
    """Bounds leave these cases open; certificates prove what they say and no more."""
    counts: Counter[str] = Counter()
    for number in numbers:
        case = cases.draw_crowded(seed_of_the_day(), number)
        with case_named_on_failure(seed_of_the_day(), number, case.instance):
            _examine_crowded(case, number, tmp_path, counts, solvers=len(numbers) > 12)
    assert counts["proved by exact"] == len(numbers)
    assert counts["verified"] >= len(numbers)
    assert counts["refused forgeries"] == counts["forgeries"] > 0


@pytest.mark.parametrize("numbers", first(1, [range(10, 12), range(len(cases.CROWDED))]))
def test_these_cases_are_left_to_the_search(numbers: range, tmp_path: Path) -> None:
    """Of the days' cases 39 in 100 are (30 days measured); a day's twelve may be one or ten."""
    drawn = [cases.draw_crowded(1, number) for number in numbers]
    results = [optsched.solve(loaded(tmp_path, case.instance), "exact") for case in drawn]
    assert sum(result.bound_source == "state-search" for result in results) >= 2


def _examine_crowded(
    case: cases.Case, number: int, folder: Path, counts: Counter[str], solvers: bool
) -> None:
    optimum = case.optimum
    instance = loaded(folder, case.instance)
    results = []
    models = [m for m, step in CROWDED_MODELS.items() if solvers and number % step == 0]
    for method in (*CROWDED, *models):
        limit = CROWDED_SECONDS if method in models else None
        result = optsched.solve(instance, method, time_limit=limit, iterations=200)
        results.append(result)
        stays_below(result, optimum)
        if result.objective is not None:
            _judge(case, result, 0.0)
        assert result.termination.value != "infeasible", f"{method}: the optimum is {optimum}"
        if method == "exact" or (method == "ilp" and result.termination.value == "optimal"):
            proves(result, optimum, 0.0)
            counts[f"proved by {method}"] += 1
        if result.certificate is not None:
            certificate = result.certificate.to_dict()
            assert result.bound == verify(case.instance, certificate), f"{method}: {certificate}"
            counts["verified"] += 1
    found = script("measure_library").best_certificate(instance, results[0], 1.0)
    assert found is None or found[0] <= optimum, f"the optimum is {optimum}, certified: {found}"
    forgeries = [cases.forged(case.rng, case.instance, optimum) for _ in range(FORGERIES)]
    if found is not None:
        forgeries.append({**found[1], "deadline": optimum})
    for certificate in forgeries:  # whatever the prices, they do not exclude the optimum
        counts["forgeries"] += 1
        with pytest.raises(RefusedError):
            verify(case.instance, certificate)
        counts["refused forgeries"] += 1


def by_hand(servers: list[int], jobs: list[dict], **more: Any) -> dict:
    """An instance in which only what is given takes time; the keys of `network` may be given."""
    network = {"inter_bandwidth": 1.0, "intra_bandwidth": 64.0, "contention_share": 1.0}
    network |= {"degradation": 0.0, "overhead_per_server": 0.0, "overhead_on_one_server": True}
    network |= {key: more.pop(key) for key in network if key in more}
    nothing = {"gradient_bytes": 0.0, "batch_size": 1.0, "backward_time": 0.0}
    nothing["forward_time_per_sample"] = 0.0
    return cases.document("by hand", servers, network, [{**nothing, **job} for job in jobs], **more)


def test_numbers_of_the_oracle_by_hand() -> None:
    """Two jobs of two workers on two servers of one GPU: one after the other, 4 + 3 slots."""
    # 2 x 0.125 s over the link, 0.125 s to add up, 0.125 s backward: two iterations per slot
    job = {"gpus": 2, "gradient_bytes": 0.25, "backward_time": 0.125}
    jobs = [{**job, "iterations": 8}, {**job, "iterations": 5}]
    rates = {"compute_rate": 1.0, "intra_bandwidth": 9.0}
    assert oracle.optimal_makespan(by_hand([1, 1], jobs, **rates), 20) == 7
    # inside one server: 1/36 + 1/8 + 1/8 s, three iterations per slot, and side by side
    assert oracle.optimal_makespan(by_hand([2, 2], jobs, **rates), 20) == 3


def test_a_job_beyond_its_server_takes_no_time_there(tmp_path: Path) -> None:
    """Only where it does not fit is an iteration free: found as case 263 of seed 20261122."""
    free = {"gpus": 3, "iterations": 4}
    network = {"overhead_per_server": 0.1, "overhead_on_one_server": False}
    instance = loaded(tmp_path, by_hand([2, 2], [free], **network, compute_rate=1.0))
    solution = {"schema": "optsched/makespan-solution", "version": 1, "instance": "by hand"}
    run = {"name": "j0", "start": 0, "gpus": {"0": 3}}
    assert not accepts(tmp_path, instance, {**solution, "jobs": [run]})[0]
    run["gpus"] = {"0": 2, "1": 1}
    assert accepts(tmp_path, instance, {**solution, "jobs": [run]}) == (True, 1.0)


def spanning(servers: list[int], progress: str, *jobs: tuple[int, int]) -> dict:
    """Jobs of so many GPUs and iterations, two of them a slot on a link of their own.

    2 m (G - 1) / G = 1/2 s; two jobs on a link: f = max(1, 2 + 1) = 3, and 3/2 s, longer than the
    slot.
    """
    drawn = [
        {"gpus": gpus, "iterations": iterations, "gradient_bytes": gpus / (gpus - 1) / 4}
        for gpus, iterations in jobs
    ]
    return by_hand(servers, drawn, degradation=1.0, compute_rate=1e18, progress=progress)


def test_half_a_slot_is_paid_whole(tmp_path: Path) -> None:
    """A job of 5 GPUs has a piece on each of 3 servers for 6 slots, one of 3 GPUs two for 2.

    A price of 1 for a piece that has its server alone, of 0 beside another: then neither job ever
    gets on. Servers take in 3 a slot; 6 x 3 + 2 x 2 = 22 is more than by the end of slot 7, though
    6 x 3 + 1.5 x 2 = 21 would not be. The optimum is 6 + 2 = 8.
    """
    instance = spanning([2, 2, 2], "floor", (5, 12), (3, 3))
    assert oracle.optimal_makespan(instance, 20) == 8
    certificate = {"kind": "contention", "pieces": [[1, 1], [0, 0]], "inside": [0, 0]}
    assert verify(instance, {**certificate, "running": {}, "deadline": 7}) == 8
    with pytest.raises(RefusedError):
        verify(instance, {**certificate, "running": {}, "deadline": 8})
    found = optsched.solve(loaded(tmp_path, instance), "longest-first")
    assert found.bound == 8
    assert verify(instance, found.certificate.to_dict()) == 8


def test_a_bound_that_is_met_proves_at_no_gap(tmp_path: Path) -> None:
    """Two jobs of 3 of 4 GPUs, one after the other, 3 iterations of half a slot each: 3 slots."""
    instance = spanning([2, 2], "continuous", (3, 3), (3, 3))
    result = optsched.solve(loaded(tmp_path, instance), gap=0.0)
    proves(result, 3.0, 0.0)
    assert 3 * (1 - 1e-11) < verify(instance, result.certificate.to_dict()) <= 3
