"""Every placement method with tensor slices, experts and micro-batches, against all tables."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from independent import placement_cases
from independent import placement_extended_cases as cases
from independent.black_box import accepts, close, loaded, proves, refused, stays_below, told
from independent.day import batches, seed_of_the_day
from independent.placement_worked import SLICED, TOO_ODD, WORKED, Worked, job, stage
from oracles import placement as oracle

import optsched
from optsched.errors import NotApplicableError

EXACT = ("columns", "ilp", "ilp-vertex", "exact")
HEURISTICS = ("heavy-edge", "repartition", "min-cut")

SOLVED = 1e-8
"""Relative; models give HiGHS floats and take back a bound within its tolerance of 1e-9."""


@pytest.mark.parametrize("numbers", batches(nightly=448, default=20, size=56))
def test_every_method_against_all_tables(numbers: range, tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    for number in numbers:
        case = cases.draw(seed_of_the_day(), number)
        with told(seed_of_the_day(), number, {**case.instance, "options": case.options}):
            _examine(case, tmp_path, counts)
    held = len(numbers) - counts["no table"]
    assert counts["no table"] <= 0.5 * len(numbers)
    assert counts["proved by ilp-vertex"] == held
    assert counts["proved by exact"] + counts["refused by exact"] >= held
    assert counts["refused by exact"] <= 0.15 * len(numbers)
    assert counts["proved by ilp"] >= 0.7 * held
    assert counts["other claims"] >= 0.3 * held
    assert counts["rejected tables"] >= 0.5 * len(numbers)
    assert counts["accepted tables"] >= 0.1 * len(numbers)
    if len(numbers) > 20:  # of a day's twenty there may be none
        assert counts["no table"] >= 0.02 * len(numbers)
        assert counts["refused by columns"] >= 0.3 * len(numbers)
        assert counts["heuristic above the optimum"] >= 0.1 * held
        assert counts["lost by heavy-edge"] <= 0.2 * held


@pytest.mark.parametrize("numbers", batches(nightly=48, default=1, size=12))
def test_exact_methods_agree_where_tables_are_too_many(numbers: range, tmp_path: Path) -> None:
    for number in numbers:
        drawn = cases.larger(seed_of_the_day(), number)
        with told(seed_of_the_day(), number, drawn):
            instance = loaded(tmp_path, drawn)
            first = optsched.solve(instance, "exact")
            for method in ("ilp", "columns", "heavy-edge", "repartition"):
                result = optsched.solve(instance, method)
                if first.objective is None:
                    said = "no-solution" if method == "heavy-edge" else "infeasible"
                    assert result.termination.value == said, method
                elif result.objective is not None:
                    stays_below(result, first.objective)
                    if method in EXACT:
                        proves(result, first.objective, 1e-6)
                else:
                    assert method in ("heavy-edge", "repartition"), f"{method}: {result}"


def _examine(case: cases.Case, folder: Path, counts: Counter[str]) -> None:
    best = oracle.optimum(case.instance, case.options)
    counts["no table"] += best is None
    instance = loaded(folder, case.instance)
    solutions = []
    for method in (*EXACT, *HEURISTICS):
        try:
            result = optsched.solve(instance, method, options=case.options, gap=case.gap)
        except NotApplicableError:
            assert _may_refuse(method, case), f"{method} refuses"
            counts[f"refused by {method}"] += 1
            continue
        assert not _must_refuse(method, case), f"{method} does not refuse"
        if result.termination.value in ("infeasible", "no-solution"):
            assert (result.objective, result.solution) == (None, None), f"{method}: {result}"
            assert (result.termination.value == "no-solution") == (method == "heavy-edge"), method
            assert best is None or method == "heavy-edge", f"{method}: the optimum is {best}"
            counts[f"lost by {method}"] += best is not None
            continue
        assert best is not None, f"{method}: {result.termination}, {result.solution}"
        _judge(case, method, result, best, counts)
        solutions.append(result.solution.to_dict())
    if solutions:
        _claim(case, solutions[0], instance, folder, counts)
    _edit(case, solutions, instance, folder, counts)


def _judge(case: cases.Case, method: str, result: Any, best: float, counts: Counter[str]) -> None:
    """One placement that a method returned."""
    stays_below(result, best, SOLVED)
    assert result.check.feasible, f"{method}: {result.check.violations}"
    table = result.solution.to_dict()["counts"]
    assert oracle.broken_rule(case.instance, table) is None, method
    value = oracle.alpha(case.instance, table, case.options)
    assert close(result.objective, value), f"{method}: {result.objective}, it takes {value}"
    if result.termination.value == "feasible" and _may_stay_open(method, case):
        assert close(result.objective, best) or method == "columns", method
        counts[f"left open by {method}"] += 1
    elif method in EXACT:
        proves(result, best, max(case.gap, SOLVED))
        counts[f"proved by {method}"] += 1
    else:
        assert result.termination.value in ("feasible", "optimal"), f"{method}: {result}"
        counts["heuristic above the optimum"] += not close(result.objective, best)


def _may_stay_open(method: str, case: cases.Case) -> bool:
    """Whether a method may end without a proof: its bound is judged all the same.

    A pattern of one server knows no other server's count.
    """
    return method == "columns" and case.options.get("all_reduce_bandwidth") == "bottleneck"


def _must_refuse(method: str, case: cases.Case) -> bool:
    return method == "columns" and "micro_batches" in case.instance["job"]


def _may_refuse(method: str, case: cases.Case) -> bool:
    """Whether models/placement lets this method refuse this instance by name."""
    bottleneck = case.options.get("all_reduce_bandwidth") == "bottleneck"
    parts = "micro_batches" in case.instance["job"]
    saves = oracle.saves_inside(case.instance)
    if method == "columns":
        return bottleneck or parts or not saves
    return (method == "repartition" and bottleneck) or (method == "ilp" and not saves)


def _claim(
    case: cases.Case, solution: dict, instance: object, folder: Path, counts: Counter[str]
) -> None:
    """The checker takes the value of a table, and no other."""
    assert accepts(folder, instance, solution)[0]
    others = [solution["objective"] * (1 + 1e-5), solution["objective"] * (1 - 1e-5)]
    for parts in (None, 1, 8):
        one = cases.with_parts(case.instance, parts)
        others.append(oracle.alpha(one, solution["counts"], case.options))
    for field, absent in cases.ABSENT.items():
        one = cases.altered(case.instance, {field: absent})
        others.append(oracle.alpha(one, solution["counts"], case.options))
    for other in others:
        if not close(other, solution["objective"], 3e-6):
            claimed = {**solution, "objective": other}
            assert not accepts(folder, instance, claimed)[0], f"the claim {other} passes"
            counts["other claims"] += 1


def _edit(
    case: cases.Case, solutions: list[dict], instance: object, folder: Path, counts: Counter[str]
) -> None:
    """The checker and the oracle judge other tables alike: one edit away, and any."""
    replicas = [one["replicas"] for one in case.instance["job"]["stages"]]
    servers = len(case.instance["free_gpus"])
    tables = [
        [case.rng.multinomial(k, [1 / servers] * servers).tolist() for k in replicas]
        for _ in range(3)
    ]
    tables += [placement_cases.corrupted(case.rng, one["counts"]) for one in solutions[:3]]
    for table in tables:
        rule = oracle.broken_rule(case.instance, table)
        accepted, objective = accepts(folder, instance, _solution(case.instance, table, case))
        assert accepted == (rule is None), f"{table}: the oracle says {rule or 'valid'}"
        if accepted:
            assert close(objective, oracle.alpha(case.instance, table, case.options))
        counts["accepted tables" if accepted else "rejected tables"] += 1


def _solution(instance: dict, table: list[list[int]], case: cases.Case | None = None) -> dict:
    """A solution file that claims no value."""
    options = dict(case.options) if case else {}
    head = {"schema": "optsched/placement-solution", "version": 1, "instance": instance["name"]}
    return {**head, "options": options, "counts": table}


@pytest.mark.parametrize("worked", WORKED, ids=lambda worked: worked.name)
def test_values_worked_by_hand(worked: Worked, tmp_path: Path) -> None:
    instance = loaded(tmp_path, worked.instance)
    claimed = {**_solution(worked.instance, worked.counts), "objective": worked.alpha}
    assert accepts(tmp_path, instance, claimed) == (True, pytest.approx(worked.alpha, rel=1e-12))
    parts = "micro_batches" in worked.instance["job"]
    slow = oracle.saves_inside(worked.instance) is False
    for method in ("ilp-vertex",) if slow else ("exact", "ilp", "ilp-vertex"):
        proves(optsched.solve(instance, method, gap=0.0), worked.optimum, SOLVED)
    if not parts:
        for method in ("exact",) if slow else ("exact", "columns"):
            proves(optsched.solve(instance, method, gap=0.0), worked.optimum, SOLVED)


@pytest.mark.parametrize("method", [*EXACT, *HEURISTICS])
@pytest.mark.parametrize("instance", TOO_ODD, ids=lambda instance: str(instance["free_gpus"]))
def test_offers_that_hold_no_placement(instance: dict, method: str, tmp_path: Path) -> None:
    result = optsched.solve(loaded(tmp_path, instance), method)
    said = "no-solution" if method == "heavy-edge" else "infeasible"
    assert (result.termination.value, result.objective) == (said, None)
    assert result.solution is None
    if method == "heavy-edge" and sum(instance["free_gpus"]) == 4:  # a bound sees it, too
        assert (result.bound, result.bound_source) == (None, None)


@pytest.mark.parametrize("table", [[[1, 1]], [[2, 0]], [[0, 2]], [[1, 0]]])
def test_a_server_holds_replicas_whole(table: list[list[int]], tmp_path: Path) -> None:
    """Two replicas of two slices on 3 + 2 GPUs: one on each server is the only way."""
    instance = job([3, 2], SLICED)
    accepted, _ = accepts(tmp_path, loaded(tmp_path, instance), _solution(instance, table))
    assert accepted == (table == [[1, 1]])


@pytest.mark.parametrize("table", [[[1, 1]], [[0.5, 0.5]], [[1, 0]], [[0, 1]]])
def test_slices_on_two_servers_are_refused(table: list[list[float]], tmp_path: Path) -> None:
    instance = job([1, 1], stage(1, 1, 2, tensor_parallel=2))
    assert not accepts(tmp_path, loaded(tmp_path, instance), _solution(instance, table))[0]


def test_columns_refuse_micro_batches(tmp_path: Path) -> None:
    synchronous = next(one for one in WORKED if one.name == "synchronous").instance
    with pytest.raises(NotApplicableError, match=r"^method columns: .*micro.?batch"):
        optsched.solve(loaded(tmp_path, synchronous), "columns")


def test_a_table_of_gaps_names_who_refused(tmp_path: Path) -> None:
    worked = next(one for one in WORKED if one.name == "all, synchronous, apart")
    instance = loaded(tmp_path, worked.instance)
    frame = optsched.compare(instance, ["heavy-edge", "columns", "ilp-vertex", "exact"])
    rows = frame.set_index("method")
    assert rows.loc["exact", "objective"] == pytest.approx(worked.optimum, rel=1e-9)
    assert rows.loc["ilp-vertex", "objective"] == pytest.approx(worked.optimum, rel=1e-9)
    assert rows.loc["heavy-edge", "objective"] >= worked.optimum * (1 - 1e-9)
    assert rows.loc["columns"].isna()["objective"]
    assert not rows["status"].isna().any()


@pytest.mark.parametrize("number", range(0, 560, 56))
def test_fields_at_their_defaults_change_no_digit(number: int, tmp_path: Path) -> None:
    drawn = cases.asynchronous_only(cases.draw(seed_of_the_day(), number).instance)
    plain = loaded(tmp_path, drawn)
    full = loaded(tmp_path, cases.written_out(drawn))
    for method in ("ilp", "columns", "exact", "heavy-edge", "repartition", "min-cut"):
        try:
            expected = optsched.solve(plain, method)
        except NotApplicableError:
            with pytest.raises(NotApplicableError):
                optsched.solve(full, method)
            continue
        found = optsched.solve(full, method)
        assert (found.objective, found.bound) == (expected.objective, expected.bound), method
        assert found.solution.counts == expected.solution.counts, method


@pytest.mark.parametrize("number", range(11, 11 + 17 * 12, 17))
def test_one_stage_and_one_micro_batch_is_asynchronous(number: int, tmp_path: Path) -> None:
    drawn = cases.draw(seed_of_the_day(), number).instance
    one = optsched.solve(loaded(tmp_path, cases.with_parts(drawn, 1)))
    none = optsched.solve(loaded(tmp_path, cases.with_parts(drawn, None)))
    assert one.termination == none.termination
    if none.objective is not None:
        assert close(one.objective, none.objective, SOLVED)


@pytest.mark.parametrize("number", range(0, 48, 3))
def test_many_micro_batches_tend_to_the_bottleneck(number: int, tmp_path: Path) -> None:
    """To the longest work of a stage, and the longest all-reduce after it."""
    drawn = cases.draw(seed_of_the_day(), number).instance
    never = cases.with_parts(drawn, None)
    work = cases.altered(never, {"parameter_bytes": 0.0})
    reduce = cases.altered(never, dict.fromkeys(cases.WORK, 0.0))
    for table in oracle.tables(drawn)[:3].tolist():
        limit = oracle.alpha(work, table, {}) + oracle.alpha(reduce, table, {})
        many = loaded(tmp_path, cases.with_parts(drawn, 2**20))
        accepted, objective = accepts(tmp_path, many, _solution(drawn, table))
        assert accepted
        assert close(objective, limit, len(drawn["job"]["stages"]) / 2**20)


SPOILS: dict[str, Callable[[dict], object]] = {
    "no slice": lambda one: one["job"]["stages"][0].update(tensor_parallel=0),
    "slices below nothing": lambda one: one["job"]["stages"][0].update(tensor_parallel=-2),
    "half a slice": lambda one: one["job"]["stages"][0].update(tensor_parallel=1.5),
    "slices in words": lambda one: one["job"]["stages"][0].update(tensor_parallel="2"),
    "tensor bytes below 0": lambda one: one["job"]["stages"][0].update(tensor_bytes=-1.0),
    "tensor bytes without end": lambda one: one["job"]["stages"][0].update(
        tensor_bytes=float("inf")
    ),
    "expert bytes below 0": lambda one: one["job"]["stages"][0].update(expert_bytes=-1e-300),
    "expert bytes that are none": lambda one: one["job"]["stages"][0].update(
        expert_bytes=float("nan")
    ),
    "no micro-batch": lambda one: one["job"].update(micro_batches=0),
    "micro-batches below nothing": lambda one: one["job"].update(micro_batches=-4),
    "half a micro-batch": lambda one: one["job"].update(micro_batches=2.5),
    "micro-batches of a stage": lambda one: one["job"]["stages"][0].update(micro_batches=2),
    "slices of the job": lambda one: one["job"].update(tensor_parallel=2),
    "an offer too small": lambda one: one.update(free_gpus=[3, 2]),
    "an offer too large without slices": lambda one: one["job"]["stages"][0].update(
        tensor_parallel=1
    ),
}


@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS.keys())
def test_bad_fields_are_refused(spoil: Callable[[dict], object], tmp_path: Path) -> None:
    instance = job([4, 3], stage(3, 1, 2, tensor_parallel=2), micro_batches=2)
    loaded(tmp_path, instance)
    instance = copy.deepcopy(instance)
    spoil(instance)
    assert refused(tmp_path, instance)
