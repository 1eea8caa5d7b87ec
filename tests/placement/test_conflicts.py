"""Offers too scattered for sliced replicas: the conflict named is the smallest, by enumeration."""

from __future__ import annotations

import itertools
import random
from functools import cache
from typing import Any

import pytest
from oracles.conflicts import assert_irreducible, smallest_conflicts

import optsched
from optsched.conflict import Conflict
from optsched.errors import InputError
from optsched.placement.conflict import find_conflict, naming
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.result import Termination
from optsched.verbs.explaining import conflict_of, why_none

Stages = list[tuple[int, int]]
"""Replicas and GPUs of a replica."""


def made(free: list[int], stages: Stages, gpus_per_server: int = 8) -> dict[str, Any]:
    last = len(stages) - 1
    total = 840.0
    return {
        "schema": "optsched/placement",
        "version": 1,
        "name": "case",
        "provenance": {},
        "cluster": {
            "gpus_per_server": gpus_per_server,
            "inter_bandwidth": 1e9,
            "intra_bandwidth": 1e11,
        },
        "free_gpus": free,
        "job": {
            "model": "m",
            "all_reduce": "ring",
            "stages": [
                {
                    "name": f"s{s}",
                    "replicas": k,
                    "forward_time": 1e-3,
                    "backward_time": 2e-3,
                    "input_bytes": total / k if s else 0,
                    "output_bytes": total / k if s < last else 0,
                    "parameter_bytes": 1e6,
                    "tensor_parallel": q,
                }
                for s, (k, q) in enumerate(stages)
            ],
        },
    }


CASES = {
    "an odd offer": (made([5, 3], [(2, 4)]), "2 replicas of 4 GPUs each of stage 0 (s0)"),
    "GPUs enough, two to a server": (made([3, 3, 3], [(4, 2)]), "3 servers of 3 free GPUs"),
    "only the large replicas": (
        made([6, 6, 3, 3], [(3, 4), (4, 1)]),
        "3 replicas of 4 GPUs each of stage 0 (s0) do not fit on 2 servers of 6 free GPUs and 2",
    ),
    "one replica larger than any offer": (
        made([4, 4, 4], [(1, 8), (4, 1)]),
        "1 replica of 8 GPUs of stage 0 (s0) does not fit on 3 servers of 4 free GPUs: no server",
    ),
    "larger than a server": (made([4, 4, 4], [(1, 8)], 4), "no server is large enough"),
    "two stages of one size": (
        made([5, 5, 6], [(2, 4), (2, 4)]),
        "2 replicas of 4 GPUs each of stage 0 (s0) and 2 replicas of 4 GPUs each of stage 1 (s1)",
    ),
    "two sizes in each other's way": (made([5, 5], [(1, 4), (3, 2)]), None),
    "sizes that do not divide": (made([4, 4], [(2, 3), (1, 2)]), "and 1 replica of 2 GPUs"),
    "three and two": (made([7, 7, 4], [(5, 3), (1, 2)]), "5 replicas of 3 GPUs each"),
    "a small conflict in a large job": (made([3, 3, 8, 8], [(3, 4), (2, 4), (2, 1)]), None),
}


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


def least_conflict(case: dict[str, Any]) -> set[frozenset[tuple[int, int]]]:
    """Smallest sets of (stage, replica) that no placement holds."""
    stages = case["job"]["stages"]
    replicas = [(s, r) for s, stage in enumerate(stages) for r in range(stage["replicas"])]
    free = tuple(case["free_gpus"])

    def holds(part: tuple[tuple[int, int], ...]) -> bool:
        return packs(tuple(sorted((stages[s]["tensor_parallel"] for s, _ in part))[::-1]), free)

    return smallest_conflicts(replicas, holds)


def named(conflict: Conflict) -> frozenset[tuple[int, int]]:
    """The (stage, replica) of a conflict: of each stage the first ones."""
    return frozenset(
        (int(member.name.split()[1]), r)
        for member in conflict.members
        if member.kind == "replica"
        for r in range(int(member.asks.split()[0]))
    )


def found(case: dict[str, Any]) -> Conflict | None:
    return find_conflict(PlacementInstance.from_dict(case), PlacementOptions(), True)


@pytest.mark.parametrize("name", CASES)
def test_the_conflict_is_the_smallest_by_enumeration(name: str) -> None:
    case, told = CASES[name]
    conflict = found(case)
    assert conflict is not None
    assert conflict.proof == "smallest"
    assert named(conflict) in least_conflict(case)
    assert told is None or told in conflict.reason
    assert {m.kind for m in conflict.members} == {"replica", "server"}


@pytest.mark.parametrize("name", [name for name in CASES if name != "larger than a server"])
def test_the_remedy_is_enough_and_least(name: str) -> None:
    """The GPUs more that are named are enough on that server; one less is not enough on any."""
    case, _ = CASES[name]
    conflict = found(case)
    assert conflict is not None
    words = conflict.remedy.split()
    sizes = tuple(
        sorted(
            (q for s in case["job"]["stages"] for q in [s["tensor_parallel"]] * s["replicas"]),
            reverse=True,
        )
    )
    free = case["free_gpus"]
    most = case["cluster"]["gpus_per_server"]
    assert words[:3] == [words[0], "free", "GPU" if words[0] == "1" else "GPUs"]
    more, server = int(words[0]), int(words[6])

    def with_more(m: int, extra: int) -> bool:
        offer = [room + (extra if i == m else 0) for i, room in enumerate(free)]
        return offer[m] <= most and packs(sizes, tuple(offer))

    assert with_more(server, more)
    assert not any(with_more(m, extra) for m in range(len(free)) for extra in range(more))


@pytest.mark.parametrize(
    "seed", [*range(12), *(pytest.param(s, marks=pytest.mark.full) for s in range(12, 400))]
)
def test_drawn_offers(seed: int) -> None:
    rng = random.Random(seed)
    while True:
        stages = [(rng.randint(1, 3), rng.choice([1, 2, 3, 4])) for _ in range(rng.randint(1, 3))]
        free = [rng.randint(1, 6) for _ in range(rng.randint(1, 4))]
        total = sum(k * q for k, q in stages)
        if total <= sum(free) and max(q for _, q in stages) > 1:
            break
    case = made(free, stages)
    possible, conflict = least_conflict(case), found(case)
    assert (conflict is None) == (not possible)
    if conflict is not None:
        assert conflict.proof == "smallest"
        assert named(conflict) in possible


@pytest.mark.parametrize("method", ["exact", "columns"])
def test_every_method_is_explained_by_the_same_conflict(method: str) -> None:
    case, told = CASES["an odd offer"]
    instance = PlacementInstance.from_dict(case)
    result = optsched.solve(instance, method)
    line = why_none(result)
    assert line is not None
    assert str(told) in line
    assert "1 free GPU more on server 1 would do" in line
    explained = optsched.explain(instance, method=method)
    assert isinstance(explained, Conflict)
    assert named(explained) in least_conflict(case)


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("an odd offer", "ilp"),
        ("three and two", "ilp"),
        ("an odd offer", "ilp-vertex"),
        *(pytest.param(name, "ilp", marks=pytest.mark.nightly) for name in CASES),
        *(pytest.param(name, "ilp-vertex", marks=pytest.mark.nightly) for name in CASES),
    ],
)
def test_the_rows_of_the_model_are_irreducible(name: str, method: str) -> None:
    instance = PlacementInstance.from_dict(CASES[name][0])
    conflict = optsched.explain(instance, method=method)
    assert isinstance(conflict, Conflict)
    assert conflict.rows_proof == "irreducible"
    model = optsched.build_model(instance, method)
    assert_irreducible(model, conflict.rows, naming(instance))


def test_a_heuristic_that_finds_none_proves_nothing() -> None:
    """Largest first is not what Heavy-Edge does: it may leave a replica over where all fit."""
    stages = [(2, 1), (2, 2), (1, 4)]
    for free in itertools.product(range(1, 7), repeat=3):
        if not 10 <= sum(free) <= 11 or not packs((4, 2, 2, 1, 1), free):
            continue
        instance = PlacementInstance.from_dict(made(list(free), stages))
        result = optsched.solve(instance, "heavy-edge")
        if result.solution is None:
            break
    else:
        pytest.fail("Heavy-Edge places them all: another example is needed")
    assert conflict_of(result) is None
    assert "no solution by heavy-edge" in str(why_none(result))
    with pytest.raises(InputError, match="left over"):
        optsched.explain(instance, method="heavy-edge")
    assert optsched.solve(instance).termination is Termination.OPTIMAL


def test_many_servers_are_explained_soon_and_shortly() -> None:
    """Work is by kinds of servers; were it by pairs of servers this would take an hour."""
    free = [m % 8 for m in range(2000)]
    fitting = sum(room // 4 for room in free)
    conflict = found(made(free, [(fitting + 1, 4), (3, 1)]))
    assert conflict is not None
    assert conflict.proof == "smallest"
    assert [m.asks for m in conflict.members if m.kind == "replica"] == [
        f"{fitting + 1} replicas of 4 GPUs each"
    ]
    assert "2000 servers of 0 to 7 free GPUs" in conflict.reason
    assert conflict.remedy == "1 free GPU more on server 3 would do"


def test_too_few_gpus_are_bad_input() -> None:
    with pytest.raises(InputError, match="a sum of 7, expected at least the 8 GPUs of the job"):
        PlacementInstance.from_dict(made([4, 3], [(2, 4)]))
    with pytest.raises(InputError, match="a sum of 7, expected the 8 replicas of the job"):
        PlacementInstance.from_dict(made([4, 3], [(8, 1)]))


def test_a_plan_that_no_memory_holds_names_its_stage() -> None:
    with pytest.raises(
        InputError, match=r"GB on each GPU of stage \d+ of \d+ of GPT-175B.*at most the GPU's"
    ):
        optsched.generate("placement", model="GPT-175B", gpus=8, gpu_memory=16e9)
