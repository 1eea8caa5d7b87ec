"""`offline-ilp`, problem (8) with everything known, beside brute force, policies and bounds."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from online.small import instance_of
from oracles.offline import least_total_flow, limited_case, tiny_case
from sampling import first

import optsched
from optsched.errors import InputError, MissingExtraError, NotApplicableError
from optsched.online.instance import OnlineInstance
from optsched.online.policies.by_name import OFFLINE, POLICIES

CASES = Path(__file__).resolve().parents[1] / "cases"
WITHOUT_PREEMPTION = [p.name for p in POLICIES.values() if p.preempts == "never"]


@pytest.mark.parametrize(
    ("draw", "seed"),
    [
        *first(40, [(tiny_case, seed) for seed in range(300)]),
        *first(60, [(limited_case, seed) for seed in range(600)]),
    ],
)
def test_optimum_is_that_of_brute_force(draw: Any, seed: int) -> None:
    document, slot = draw(seed)
    instance = OnlineInstance.from_dict(document)
    least, options = least_total_flow(document, slot), {"slot": slot}
    result = optsched.solve(instance, OFFLINE, options=options)
    assert (result.proved, result.check.feasible) == (True, True), result.check
    assert result.objective == pytest.approx(least, rel=1e-7)
    assert result.bound <= least * (1 + 1e-9)
    for policy in WITHOUT_PREEMPTION if draw is tiny_case else WITHOUT_PREEMPTION[seed % 4 :: 4]:
        run = optsched.solve(instance, policy, options=options | {"unseen": "zero"}, bound=False)
        assert run.objective >= least * (1 - 1e-9), policy
    for bound in ("flow-bound", "gang-bound"):
        value = optsched.solve(instance, bound, options=options, iterations=50).bound
        assert value <= least * (1 + 1e-9), bound


def test_the_best_policys_schedule_does_not_mislead_the_solver() -> None:
    """HiGHS 1.16 called 45 s optimal when it got the best policy's schedule as MIP start."""
    document = json.loads((CASES / "online" / "wrong-with-a-start.json").read_text())
    result = optsched.solve(OnlineInstance.from_dict(document), OFFLINE, options={"slot": 3.0})
    assert (result.objective, result.bound, result.proved) == (39.0, 39.0, True)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(3))
def test_eight_jobs_on_three_servers_are_proved(seed: int) -> None:
    rng = random.Random(seed)
    rows = [(rng.randint(0, 8), rng.randint(1, 8), rng.randint(4, 16)) for _ in range(8)]
    instance = instance_of(*rows, servers=3, per_server=4)
    result = optsched.solve(instance, OFFLINE, options={"slot": 1}, time_limit=60)
    assert result.proved


def test_a_submission_on_a_slot_stays_there() -> None:
    """0.4 - 0.3 is above 0.1, which was a slot later for policies, model and audit alike."""
    instance = instance_of((0.3, 1, 1.0), (0.4, 1, 1.0), (0.7, 2, 1.0))
    for method in ("fifo", OFFLINE):
        result = optsched.solve(instance, method, options={"slot": 0.1, "unseen": "zero"})
        assert [job.start for job in result.solution.jobs][:2] == [0.0, 0.1], method
        assert result.check.feasible
        assert result.objective == pytest.approx(3.7)


PAIR = {"servers": 2, "per_server": 2}
ROWS = ((0, 3, 2.0), (0, 2, 1.5))


def solved(**edits: Any) -> tuple[OnlineInstance, Any]:
    """Two jobs, one over both servers, and their optimum with edits of its first job."""
    instance = instance_of(*ROWS, **PAIR)
    solution = optsched.solve(instance, OFFLINE, options={"slot": 1}).solution
    document = solution.to_dict()
    document["jobs"][0] |= edits
    return instance, type(solution).from_dict(document)


def test_the_file_of_a_run_states_where_replicas_are() -> None:
    instance, solution = solved()
    assert solution.jobs[0].replicas == {"0": (2,), "1": (1,)}
    assert optsched.check(instance, solution).objective == 2.0 + 3.5


@pytest.mark.parametrize(
    ("edits", "rule"),
    [
        ({"start": 2.5, "end": 4.5}, "slot"),
        ({"start": 3.0, "end": 4.0}, "duration"),
        ({"start": 1.0, "end": 3.0}, "capacity"),
        ({"servers": {"0": 2}}, "gang"),
        ({"replicas": {"0": [1], "1": [2]}}, "replicas"),
        ({"replicas": {"0": [2], "1": [0]}}, "replicas"),
        ({"replicas": {"0": [2, 0], "1": [1, 0]}}, "replicas"),
        ({"replicas": {"0": [3], "1": [-1]}}, "replicas"),
        ({"replicas": {"0": [2]}}, "replicas"),
    ],
)
def test_audit_finds_what_is_wrong(edits: dict[str, Any], rule: str) -> None:
    report = optsched.check(*solved(**edits))
    assert rule in {violation.rule for violation in report.violations}, report.violations


def test_only_this_method_places_jobs_otherwise_than_heavy_edge() -> None:
    """Replicas in the file of a policy are not read: a job has Heavy-Edge's alpha."""
    instance, solution = solved(replicas={"0": [1], "1": [2]})
    report = optsched.check(instance, solution.model_copy(update={"policy": "fifo"}))
    assert "replicas" not in {violation.rule for violation in report.violations}


def test_start_is_used_or_refused() -> None:
    instance, _ = solved()
    start = optsched.solve(instance, "easy", options={"slot": 1, "unseen": "zero"}).solution
    assert optsched.solve(instance, OFFLINE, options={"slot": 1}, start=start).objective == 5.5
    document = start.to_dict()
    document["jobs"][1] |= {"start": 2.25, "end": 3.75}
    moved = type(start).from_dict(document)
    with pytest.raises(InputError, match="start: not a feasible solution: slot"):
        optsched.solve(instance, OFFLINE, options={"slot": 1}, start=moved)


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (ROWS, {}, "slot 0"),
        (((0, 3, 1e7), (0, 2, 1e7)), {"slot": 1}, "nonzeros"),
        (((0, 60, 1),), {"slot": 1}, "ways to spread"),
    ],
)
def test_what_is_too_large_is_refused(rows: Any, options: dict[str, Any], message: str) -> None:
    instance = instance_of(*rows, servers=2 if rows[0][1] < 60 else 60, per_server=6)
    with pytest.raises(NotApplicableError, match=message):
        optsched.solve(instance, OFFLINE, options=options)


@pytest.mark.parametrize("solver", ["scip", "cbc"])
def test_other_solvers_find_the_same(solver: str) -> None:
    instance, _ = solved()
    try:
        result = optsched.solve(instance, OFFLINE, options={"slot": 1}, solver=solver)
    except (InputError, MissingExtraError):
        pytest.skip(f"{solver} is not installed")
    assert (result.proved, result.objective, result.solver) == (True, 5.5, solver)


def test_without_time_the_best_policy_is_returned() -> None:
    instance, _ = solved()
    result = optsched.solve(instance, OFFLINE, options={"slot": 1}, time_limit=0)
    assert (str(result.termination), result.check.feasible) == ("time-limit", True)
