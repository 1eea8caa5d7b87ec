"""Node openings as printed that no selection can match, and jobs that no node can hold."""

import random
from itertools import combinations, permutations
from typing import Any

import pytest
from oracles.conflicts import assert_irreducible, irreducible_conflicts
from oracles.harness import seed_of_the_day
from oracles.selection import Oracle
from oracles.selection_cases import document

import optsched
from optsched.errors import InputError
from optsched.result import Termination
from optsched.selection.conflict import find_conflict, naming
from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions

PRINTED = {"node_opening": "printed"}
MEMORY = {"A": 8.0, "B": 16.0, "C": 4.0}


def made(nodes: str, jobs: list[tuple[str, float]]) -> dict[str, Any]:
    """A node of one GPU for each letter, its type; jobs by the types they run on, and memory."""
    gpu_types = {t: {"memory_bytes": m, "slowdown": {}} for t, m in MEMORY.items()}
    given = [
        {"name": f"n{n}", "gpu_type": t, "gpus": 1, "cost_rate": [1.0]} for n, t in enumerate(nodes)
    ]
    asked = [
        {
            "name": f"j{j}",
            "due_date": 50.0,
            "tardiness_weight": 1.0,
            "memory_bytes": memory,
            "epochs": {"values": [3], "probabilities": [1.0]},
            "epoch_time": {t: [2.0] for t in types},
        }
        for j, (types, memory) in enumerate(jobs)
    ]
    return document("case", gpu_types, given, asked, interval=10.0, postponement_penalty=1.0)


EITHER, LARGE = ("AB", 4.0), ("AB", 12.0)
"""A job that runs on A and B, and one that only B has the memory for."""
CASES = {
    "two jobs of one type, one node": (made("AB", [("A", 1.0), ("A", 1.0)]), "j0, j1 can run on"),
    "memory": (made("ABA", [LARGE, LARGE]), "A has 8 of the 12 bytes it needs"),
    "memory and type": (made("ABC", [LARGE, ("B", 1.0), EITHER]), "C is not in its epoch_time"),
    "three jobs on two nodes": (made("AABBB", [("A", 1.0)] * 3 + [EITHER]), "nodes n0, n1 (A)"),
    "jobs of two types squeezed": (
        made("ACBB", [("AC", 1.0), ("AC", 1.0), ("A", 1.0), ("C", 1.0)]),
        "alone",
    ),
    "a node that nobody can use": (made("AC", [("A", 1.0)] * 3), "no job can run"),
    "two nodes, one job for them": (made("ABB", [("A", 1.0)] * 3 + [LARGE]), "only job j3 can run"),
    "nodes of two types": (
        made("AABC", [("A", 1.0)] * 4 + [("BC", 1.0)]),
        "on nodes n2, n3 (B, C) only job j4 can run",
    ),
    "as many jobs as nodes": (made("ABC", [EITHER, EITHER, EITHER]), "j0, j1, j2 can run on"),
    "the smaller of two conflicts": (
        made("ABBCC", [("C", 1.0), ("C", 1.0), ("C", 1.0), ("A", 1.0), ("A", 1.0)]),
        "jobs j3, j4 can run on node n0 (A) alone",
    ),
}


def runs_on(job: dict[str, Any], node: dict[str, Any]) -> bool:
    kind = node["gpu_type"]
    return kind in job["epoch_time"] and job["memory_bytes"] <= MEMORY[kind]


def each_has_its_own(case: dict[str, Any], names: tuple[str, ...]) -> bool:
    """Whether these jobs can have a node each, or these nodes a job each: every assignment."""
    jobs, nodes = case["jobs"], case["nodes"]
    wanted = [each for each in (*jobs, *nodes) if each["name"] in names]
    of_jobs = names[0].startswith("j")
    return any(
        all(
            runs_on(*((each, other) if of_jobs else (other, each)))
            for each, other in zip(wanted, taken, strict=True)
        )
        for taken in permutations(nodes if of_jobs else jobs, len(wanted))
    )


@pytest.mark.parametrize("name", CASES)
def test_the_conflict_is_irreducible_by_enumeration(name: str) -> None:
    case, told = CASES[name]
    assert Oracle(case).optimum("printed") is None
    key = "jobs" if len(case["jobs"]) <= len(case["nodes"]) else "nodes"
    names = [each["name"] for each in case[key]]
    possible = irreducible_conflicts(names, lambda part: each_has_its_own(case, part))
    conflict = optsched.explain(SelectionInstance.from_dict(case), options=PRINTED)
    assert conflict.proof == "irreducible"
    assert frozenset(member.name for member in conflict.members) in possible
    assert {member.kind for member in conflict.members} == {key.removesuffix("s")}
    assert told in str(conflict)
    most = max(
        size
        for size in range(len(names))
        if not size or any(each_has_its_own(case, part) for part in combinations(names, size))
    )
    asked = min(len(case["jobs"]), len(case["nodes"]))
    assert conflict.measures == {"asked": asked, "most_open": most}
    assert conflict.excess == asked - most
    assert f"at most {most} node" in conflict.remedy


@pytest.mark.parametrize("count", [6, pytest.param(100, marks=pytest.mark.nightly)])
def test_drawn_openings(count: int) -> None:
    """Random types and memories: a conflict exactly where there is one, and irreducible."""
    rng = random.Random(int(seed_of_the_day()))
    infeasible = 0
    while infeasible < count:
        nodes = "".join(rng.choices("ABC", k=rng.randint(1, 5)))
        names = sorted(set(nodes))
        jobs = []
        for _ in range(rng.randint(1, 5)):
            types = rng.sample(names, rng.randint(1, len(names)))
            most = max(MEMORY[t] for t in types)
            jobs.append(("".join(types), rng.choice([m for m in (1.0, 6.0, 12.0) if m <= most])))
        case = made(nodes, jobs)
        found = find_conflict(SelectionInstance.from_dict(case), SelectionOptions("printed"), False)
        key = "jobs" if len(jobs) <= len(nodes) else "nodes"
        possible = irreducible_conflicts(
            [each["name"] for each in case[key]],
            lambda part, case=case: each_has_its_own(case, part),
        )
        assert (found is None) == (not possible), (nodes, jobs)
        if found is not None:
            infeasible += 1
            assert frozenset(member.name for member in found.members) in possible, (nodes, jobs)


def test_other_openings_have_no_conflict() -> None:
    for case, _ in CASES.values():
        result = optsched.solve(SelectionInstance.from_dict(case))
        assert result.termination is Termination.OPTIMAL


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("milp", "two jobs of one type, one node"),
        ("patterns", "memory"),
        *(pytest.param("milp", name, marks=pytest.mark.nightly) for name in CASES),
    ],
)
def test_the_rows_of_the_model_are_irreducible(method: str, name: str) -> None:
    instance = SelectionInstance.from_dict(CASES[name][0])
    conflict = optsched.explain(instance, method=method, options=PRINTED)
    assert conflict.rows_proof == "irreducible"
    model = optsched.build_model(instance, method, PRINTED)
    assert conflict.rows
    assert any(row.name.startswith("(16) ") for row in conflict.rows)
    assert_irreducible(model, conflict.rows, naming(instance))


NOT_A = "A is not in its epoch_time"


@pytest.mark.parametrize(
    ("nodes", "job", "told"),
    [
        ("AA", ("A", 9.0), "A has 8 of the 9 bytes it needs"),
        ("AB", ("AB", 20.0), "A has 8 of the 20 bytes it needs, B has 16 of the 20 bytes it needs"),
        ("AA", ("B", 1.0), f"{NOT_A}, B has no node"),
        ("AC", ("AC", 9.0), "C has 4 of the 9 bytes it needs"),
        (
            "AC",
            ("CB", 5.0),
            f"{NOT_A}, C has 4 of the 5 bytes it needs, B has no",
        ),
    ],
)
def test_a_job_that_no_node_holds_is_refused(nodes: str, job: tuple[str, float], told: str) -> None:
    with pytest.raises(InputError, match="fits on no node") as error:
        SelectionInstance.from_dict(made(nodes, [EITHER if "B" in nodes else ("A", 1.0), job]))
    assert error.value.where == "jobs[1]"
    assert told in error.value.found
