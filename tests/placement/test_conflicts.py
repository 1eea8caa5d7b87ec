"""Offers too scattered for sliced replicas: one message, said just where no placement exists."""

import itertools
import random
from functools import cache
from typing import Any

import pytest
from oracles.conflicts import assert_irreducible
from placement.jobs import document

import optsched
from optsched.conflict import Conflict
from optsched.errors import InputError
from optsched.placement.conflict import find_conflict, naming
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.result import Termination
from optsched.verbs.explaining import conflict_of, no_solution_reason

Stages = list[tuple[int, int]]
"""Replicas and GPUs of a replica."""


def case_of(free: list[int], stages: Stages, gpus_per_server: int = 8) -> dict[str, Any]:
    several = [{"replicas": k, "tensor_parallel": q} for k, q in stages]
    return document(free, several, gpus=gpus_per_server)


CASES = {
    "an odd offer": (
        case_of([5, 3], [(2, 4)]),
        "2 replicas of 4 GPUs or more (stages 0 (s0)) do not fit on 1 server of 5 free GPUs and "
        "1 server of 3 free GPUs: they hold at most 1; room for 1 replica more of 4 GPUs is needed",
    ),
    "GPUs enough, two to a server": (case_of([3, 3, 3], [(4, 2)]), "3 servers of 3 free GPUs"),
    "only the large replicas": (
        case_of([6, 6, 3, 3], [(3, 4), (4, 1)]),
        "3 replicas of 4 GPUs or more (stages 0 (s0)) do not fit on 2 servers of 6 free GPUs",
    ),
    "larger than a server": (
        case_of([4, 4, 4], [(1, 8)], 4), "a server would need 8 GPUs, and has 4"
    ),
    "two stages of one size": (
        case_of([5, 5, 6], [(2, 4), (2, 4)]),
        "4 replicas of 4 GPUs or more (stages 0 (s0), 1 (s1))",
    ),
    "sizes that do not divide": (case_of([4, 4], [(2, 3), (1, 2)]), "all sizes together do not"),
    "two sizes": (case_of([5, 5], [(1, 4), (3, 2)]), "replicas of 4 and 2 GPUs: each size fits on"),
}  # fmt: skip


def packs(sizes: tuple[int, ...], free: tuple[int, ...]) -> bool:
    """Whether the replicas fit, by trying every server for each of them."""

    @cache
    def place(at: int, left: tuple[int, ...]) -> bool:
        if at == len(sizes):
            return True
        return any(
            place(at + 1, (*left[:m], room - sizes[at], *left[m + 1 :]))
            for m, room in enumerate(left)
            if room >= sizes[at]
        )

    return place(0, tuple(free))


def fits(case: dict[str, Any]) -> bool:
    sizes = [q for s in case["job"]["stages"] for q in [s["tensor_parallel"]] * s["replicas"]]
    return packs(tuple(sorted(sizes, reverse=True)), tuple(case["free_gpus"]))


def found(case: dict[str, Any]) -> Conflict | None:
    return find_conflict(PlacementInstance.from_dict(case), PlacementOptions(), True)


@pytest.mark.parametrize("name", CASES)
def test_the_message_names_the_violated_condition(name: str) -> None:
    case, message = CASES[name]
    conflict = found(case)
    assert not fits(case)
    assert message in conflict.line


@pytest.mark.parametrize("seed", range(40))
def test_a_conflict_just_where_nothing_fits(seed: int) -> None:
    rng = random.Random(seed)
    while True:
        stages = [(rng.randint(1, 3), rng.choice([1, 2, 3, 4])) for _ in range(rng.randint(1, 3))]
        free = [rng.randint(1, 6) for _ in range(rng.randint(1, 4))]
        total = sum(k * q for k, q in stages)
        if total <= sum(free) and max(q for _, q in stages) > 1:
            break
    case = case_of(free, stages)
    assert (found(case) is None) == fits(case)


@pytest.mark.parametrize("method", ["exact", "columns"])
def test_every_method_is_explained_by_the_same_message(method: str) -> None:
    case, message = CASES["an odd offer"]
    instance = PlacementInstance.from_dict(case)
    assert message in str(no_solution_reason(optsched.solve(instance, method)))
    explained = optsched.explain(instance, method=method)
    assert explained.line == message


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("an odd offer", "ilp"),
        ("two sizes", "ilp"),
        ("an odd offer", "ilp-vertex"),
        *(pytest.param(name, "ilp", marks=pytest.mark.nightly) for name in CASES),
        *(pytest.param(name, "ilp-vertex", marks=pytest.mark.nightly) for name in CASES),
    ],
)
def test_the_rows_of_the_model_are_irreducible(name: str, method: str) -> None:
    instance = PlacementInstance.from_dict(CASES[name][0])
    conflict = optsched.explain(instance, method=method)
    assert conflict.rows_proof == "irreducible"
    model = optsched.build_model(instance, method)
    assert_irreducible(model, conflict.rows, naming(instance))


def test_a_heuristic_that_finds_none_proves_nothing() -> None:
    """Largest first is not what Heavy-Edge does: it may leave a replica over where all fit."""
    stages = [(2, 1), (2, 2), (1, 4)]
    for free in itertools.product(range(1, 7), repeat=3):
        if not 10 <= sum(free) <= 11 or not packs((4, 2, 2, 1, 1), free):
            continue
        instance = PlacementInstance.from_dict(case_of(list(free), stages))
        result = optsched.solve(instance, "heavy-edge")
        if result.solution is None:
            break
    else:
        pytest.fail("Heavy-Edge places them all: another example is needed")
    assert conflict_of(result) is None
    assert "no solution by heavy-edge" in str(no_solution_reason(result))
    with pytest.raises(InputError, match="could not place"):
        optsched.explain(instance, method="heavy-edge")
    assert optsched.solve(instance).termination is Termination.OPTIMAL


def test_too_few_gpus_are_bad_input() -> None:
    for stages, least in (([(2, 4)], "at least the 8 GPUs"), ([(8, 1)], "the 8 replicas")):
        with pytest.raises(InputError, match=f"a sum of 7, expected {least} of the job"):
            PlacementInstance.from_dict(case_of([4, 3], stages))


def test_a_plan_that_no_memory_holds_names_its_stage() -> None:
    with pytest.raises(
        InputError, match=r"GB on each GPU of stage \d+ of \d+ of GPT-175B.*at most the GPU's"
    ):
        optsched.generate("placement", model="GPT-175B", gpus=8, gpu_memory=16e9)
