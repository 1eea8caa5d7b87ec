"""Placements worked out by hand, cases once found, two ways to say the same, and bad files."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import optsched
from optsched.errors import NotApplicableError
from optsched.library.verify import RefusedError, verify
from optsched.library.verify.placement import patterns_within
from optsched.result import Termination
from oracles import placement as oracle
from oracles import placement_cases as cases
from oracles import placement_edits as edits
from oracles.harness import accepts, close, loaded, proves, refused, seed_of_the_day, spoil
from oracles.placement_worked import SLICED, WORKED, Worked, job, stage
from oracles.test_placement import EXACT, HEURISTICS, SOLVER_RTOL, judge, solution_file, solved


@pytest.mark.parametrize("worked", WORKED, ids=lambda worked: worked.name)
def test_values_worked_by_hand(worked: Worked, tmp_path: Path) -> None:
    instance = loaded(tmp_path, worked.instance)
    claimed = solution_file(worked.instance, worked.counts, dict(worked.options))
    claimed["objective"] = worked.alpha
    assert accepts(tmp_path, instance, claimed) == (True, pytest.approx(worked.alpha, rel=1e-12))
    case = cases.Case("worked", worked.instance, dict(worked.options), 0.0, None)
    for method in EXACT:
        found = solved(case, instance, method, worked.optimum, Counter())
        if found is not None:
            proves(found, worked.optimum, SOLVER_RTOL)


@pytest.mark.parametrize("method", [*EXACT, *HEURISTICS])
def test_a_placement_that_costs_nothing(method: str, tmp_path: Path) -> None:
    """All times are 0 and the first servers are empty: found as case 309 of seed 20261122."""
    instance = job([0, 0, 1, 0, 0], stage(1, 0, 0))
    result = optsched.solve(loaded(tmp_path, instance), method)
    assert (result.objective, result.solution.counts) == (0.0, ((0, 0, 1, 0, 0),))


@pytest.mark.parametrize("method", ["columns", "exact"])
def test_a_bound_next_to_a_huge_all_reduce(method: str, tmp_path: Path) -> None:
    """Rounding is taken off for what the optimum uses: found as case 33 of seed 20261122."""
    first = stage(7, 0.0, 0.1, output_bytes=4e-5, parameter_bytes=5e-9)
    second = stage(4, 0.0, 1e7, input_bytes=7e-5, parameter_bytes=3e8)
    instance = job([4, 2, 1, 4], first, second, intra=3e8)
    instance["cluster"]["inter_bandwidth"] = 4e-7
    found = optsched.solve(loaded(tmp_path, instance), method)
    proves(found, oracle.optimum(instance), SOLVER_RTOL)


@pytest.mark.parametrize("method", ["ilp", "exact"])
@pytest.mark.parametrize(
    "gap", [0.0, *(pytest.param(gap, marks=pytest.mark.full) for gap in (1e-7, 1e-6))]
)
@pytest.mark.parametrize("drawn", [(107, 64), (9002, 12939), (20261126, 1317)])
def test_no_seed_ends_above_the_optimum(
    drawn: tuple[int, int], gap: float, method: str, tmp_path: Path
) -> None:
    """HiGHS did: on two at a tolerance of 1e-9, on the last by a presolve rule."""
    case = cases.draw("groups", *drawn, 200_000)._replace(gap=gap)
    best = oracle.optimum(case.instance, case.options)
    instance = loaded(tmp_path, case.instance)
    for seed in range(6):
        found = optsched.solve(instance, method, options=case.options, gap=gap, seed=seed)
        judge(case, found, best)
        assert found.termination is Termination.OPTIMAL


@pytest.mark.parametrize("method", ["columns", "exact"])
@pytest.mark.parametrize("reading", ["own", "bottleneck"])
def test_eight_that_stand_in_twos_and_threes(method: str, reading: str, tmp_path: Path) -> None:
    """By hand: four servers of 3 GPUs, eight replicas that all-reduce, four that do nothing.

    2 (7/8) 24/7 / (x/4 x 4) = 6 / x: 2 s in threes, 3 s in twos. Two threes leave two replicas, so
    3 s is the least; 8/3 servers of three would take 2 s.
    """
    instance = job([3] * 4, stage(8, 0, 0, parameter_bytes=24 / 7), stage(4, 0, 0))
    assert oracle.is_fractionally_covered(instance, 2.0, {})
    assert not oracle.is_fractionally_covered(instance, 1.9, {})
    assert oracle.optimum_by_server(instance) == pytest.approx(3.0, rel=1e-12)
    options = {"all_reduce_bandwidth": reading}
    assert oracle.optimum(instance, options) == pytest.approx(3.0, rel=1e-12)
    proves(optsched.solve(loaded(tmp_path, instance), method, options=options), 3.0, 1e-6)


@pytest.mark.parametrize("parts", [None, 1])
def test_an_all_reduce_alone_is_late(parts: int | None) -> None:
    """By hand: two replicas apart that only all-reduce, 2 (1/2) 4 / 1 = 4 s: 3 s are too few."""
    instance = job([1, 1], stage(2, 0, 0, parameter_bytes=4), micro_batches=parts)
    assert oracle.optimum(instance) == 4.0
    certificate = {"kind": "patterns", "threshold": 3.0, "prices": [1]}
    assert verify(instance, certificate) == 3.0
    with pytest.raises(RefusedError):
        verify(instance, {**certificate, "threshold": 4.0})


def test_one_micro_batch_and_nothing_within_reach() -> None:
    """Of one micro-batch none waits for the slowest stage, be it endless.

    Found as case 226 of seed 90417; the times are whole numbers in the file.
    """
    instance = job([1, 1], stage(1, 1, 2), stage(1, 2, 4), micro_batches=1)
    within = patterns_within(instance, 1e-3, 1, [])
    assert not any(held[:, 1:].any() for held in within)


@pytest.mark.parametrize("method", ["ilp", "exact", "columns"])
def test_a_start_that_presolve_shuts_out(method: str, tmp_path: Path) -> None:
    """HiGHS called a known placement infeasible and optimal: found as case 1087 of seed 20261123.

    By hand: the third stage needs the servers of 5 and 6, and the second stands together, since
    apart it all-reduces 2 (2/3) 7.06 = 9.4 s. Without a replica of the first beside it, it takes
    4.5 s, 2.8 s to all-reduce and 2 (3.74 + 1.79) / 3 = 3.7 s: so one of them is there, in the
    server of 4. The three others take 8.92 + 2 x 0.935 = 10.79 s and 2 (3/4) 0.125 / 1 = 0.1875 s.
    """
    first = stage(4, 2.23, 6.69, output_bytes=3.74 / 4, parameter_bytes=0.125)
    second = stage(3, 0, 4.5, input_bytes=3.74 / 3, output_bytes=1.79 / 3, parameter_bytes=7.06)
    third = stage(11, 1.15, 3.46, input_bytes=1.79 / 11, parameter_bytes=12.8)
    instance = job([5, 6, 3, 4], first, second, third, intra=3.31)
    instance["cluster"] |= {"gpus_per_server": 8, "inter_bandwidth": 8.0}
    options = {"all_reduce_bandwidth": "bottleneck"}
    assert oracle.optimum(instance, options) == pytest.approx(10.9775, rel=1e-12)
    found = optsched.solve(loaded(tmp_path, instance), method, options=options)
    proves(found, 10.9775, 1e-6)


@pytest.mark.parametrize("table", [[[1, 1]], [[2, 0]], [[0, 2]], [[1, 0]]])
def test_a_server_holds_replicas_whole(table: list[list[int]], tmp_path: Path) -> None:
    """Two replicas of two slices on 3 + 2 GPUs: one on each server is the only way."""
    instance = job([3, 2], SLICED)
    accepted, _ = accepts(tmp_path, loaded(tmp_path, instance), solution_file(instance, table))
    assert accepted == (table == [[1, 1]])


@pytest.mark.parametrize("table", [[[1, 1]], [[0.5, 0.5]], [[1, 0]], [[0, 1]]])
def test_slices_on_two_servers_are_refused(table: list[list[float]], tmp_path: Path) -> None:
    instance = job([1, 1], stage(1, 1, 2, tensor_parallel=2))
    assert not accepts(tmp_path, loaded(tmp_path, instance), solution_file(instance, table))[0]


def test_a_table_of_gaps_names_who_refused(tmp_path: Path) -> None:
    worked = next(one for one in WORKED if one.name == "all, synchronous, apart")
    instance = loaded(tmp_path, worked.instance)
    with pytest.raises(NotApplicableError, match=r"^method columns: .*micro.?batch"):
        optsched.solve(instance, "columns")
    rows = optsched.compare(instance, ["heavy-edge", "columns", "ilp-vertex", "exact"])
    rows = rows.set_index("method")
    assert rows.loc["exact", "objective"] == pytest.approx(worked.optimum, rel=1e-9)
    assert rows.loc["ilp-vertex", "objective"] == pytest.approx(worked.optimum, rel=1e-9)
    assert rows.loc["heavy-edge", "objective"] >= worked.optimum * (1 - 1e-9)
    assert rows.loc["columns"].isna()["objective"]
    assert not rows["status"].isna().any()


# --- what is the same, said in two ways -----------------------------------------------------------


@pytest.mark.parametrize("number", range(0, 560, 56))
def test_fields_at_their_defaults_change_no_digit(number: int, tmp_path: Path) -> None:
    drawn = edits.asynchronous_only(cases.draw("extended", seed_of_the_day(), number).instance)
    plain = loaded(tmp_path, drawn)
    full = loaded(tmp_path, edits.written_out(drawn))
    for method in ("ilp", "columns", "exact", *HEURISTICS):
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
    drawn = cases.draw("extended", seed_of_the_day(), number).instance
    one = optsched.solve(loaded(tmp_path, edits.with_parts(drawn, 1)))
    none = optsched.solve(loaded(tmp_path, edits.with_parts(drawn, None)))
    assert one.termination == none.termination
    if none.objective is not None:
        assert close(one.objective, none.objective, SOLVER_RTOL)


@pytest.mark.parametrize("number", range(0, 48, 3))
def test_many_micro_batches_tend_to_the_bottleneck(number: int, tmp_path: Path) -> None:
    """To the longest work of a stage, and the longest all-reduce after it."""
    drawn = cases.draw("extended", seed_of_the_day(), number).instance
    never = edits.with_parts(drawn, None)
    work = edits.altered(never, {"parameter_bytes": 0.0})
    reduce = edits.altered(never, dict.fromkeys(edits.WORK, 0.0))
    for table in oracle.tables(drawn)[:3].tolist():
        limit = oracle.alpha(work, table) + oracle.alpha(reduce, table)
        many = loaded(tmp_path, edits.with_parts(drawn, 2**20))
        accepted, objective = accepts(tmp_path, many, solution_file(drawn, table))
        assert accepted
        assert close(objective, limit, len(drawn["job"]["stages"]) / 2**20)


# --- bad files ------------------------------------------------------------------------------------


SLICED_SPOILS = (("free_gpus", [3, 2]), ("job.stages.0.tensor_parallel", 1))
"""Refused of a job with slices: an offer too small, and one too large without slices."""


@pytest.mark.parametrize(
    ("slices", "path", "value"),
    [
        *((1, path, value) for path, *values in cases.SPOILS for value in values),
        *((2, path, value) for path, value in SLICED_SPOILS),
    ],
)
def test_bad_fields_are_refused(slices: int, path: str, value: Any, tmp_path: Path) -> None:
    split = stage(7, 1, 2) if slices == 1 else stage(3, 1, 2, tensor_parallel=2)
    instance = job([4, 3], split, micro_batches=2)
    loaded(tmp_path, instance)
    spoil(np.random.default_rng(0), instance, [(path, value)])
    assert refused(tmp_path, instance)
