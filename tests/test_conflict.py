"""The search for the smallest conflict, against every subset; and how conflicts are told."""

from __future__ import annotations

import itertools
import json
import random

import pytest
from oracles.conflicts import smallest_conflicts

import optsched
from optsched.conflict import Conflict, Counts, Member, smallest_conflict


def drawn(seed: int) -> tuple[list[int], list[Counts]]:
    """How many there are of each object, and what cannot be had together."""
    rng = random.Random(seed)
    most = [rng.randint(1, 3) for _ in range(rng.randint(1, 6))]
    bad = [tuple(rng.randint(0, m) for m in most) for _ in range(rng.randint(1, 5))]
    return most, [b for b in bad if any(b)] or [tuple(most)]


def holds(counts: Counts, bad: list[Counts]) -> bool:
    return not any(all(c >= b for c, b in zip(counts, each, strict=True)) for each in bad)


@pytest.mark.parametrize("seed", range(60))
def test_the_smallest_conflict_is_that_of_enumeration(seed: int) -> None:
    most, bad = drawn(seed)
    found, proof = smallest_conflict(most, lambda counts: holds(counts, bad))
    everything = itertools.product(*(range(m + 1) for m in most))
    least = min(sum(counts) for counts in everything if not holds(counts, bad))
    assert not holds(found, bad)
    assert (sum(found), proof) == (least, "smallest")


@pytest.mark.parametrize("seed", range(60))
def test_few_tries_and_unknown_answers_claim_less(seed: int) -> None:
    most, bad = drawn(seed)
    for tries in (0, 3, 12):
        found, proof = smallest_conflict(most, lambda counts: holds(counts, bad), tries=tries)
        assert not holds(found, bad)
        if proof != "sufficient":
            fewer = [
                (*found[:at], count - 1, *found[at + 1 :])
                for at, count in enumerate(found)
                if count
            ]
            assert all(holds(each, bad) for each in fewer)

    def vague(counts: Counts) -> bool | None:
        return None if holds(counts, bad) and sum(counts) > 1 else holds(counts, bad)

    found, proof = smallest_conflict(most, vague)
    assert not holds(found, bad)
    asked = [c for c in itertools.product(*(range(m + 1) for m in most)) if sum(c) < sum(found)]
    if proof == "smallest":
        assert all(holds(each, bad) for each in asked)


def test_enumeration_by_hand() -> None:
    found = smallest_conflicts("abcd", lambda part: not {"a", "b"} <= set(part))
    assert found == {frozenset("ab")}
    assert smallest_conflicts("abc", lambda part: True) == set()


def test_a_conflict_is_told_in_one_line_a_table_and_json() -> None:
    members = (Member("job", "a", "2 GPUs for 3 slots"), Member("job", "b", "1 GPU for 9 slots"))
    conflict = Conflict("x", "too much", 2.0, "slots", "12 slots would do", members)
    assert conflict.line == "too much; 12 slots would do"
    title, headings, rows, closing = conflict.table()
    assert title == "x: infeasible"
    assert [dict(zip(headings, row, strict=True))["which"] for row in rows] == ["a", "b"]
    assert closing.splitlines()[:2] == ["too much", "12 slots would do"]
    assert "smallest set of jobs" in closing
    rows_too = conflict.with_rows([Member("constraint", "(1) once", "job a")], "irreducible")
    assert "irreducible set of constraints" in str(rows_too)
    told = json.loads(json.dumps(rows_too.to_dict()))
    assert [row["name"] for row in told["constraints"]] == ["(1) once"]
    assert told["status"] == "infeasible"


def test_what_is_feasible_has_no_conflict() -> None:
    from optsched.verbs.explaining import conflict_of, why_none

    result = optsched.solve("placement/vgg19-16", "heavy-edge")
    assert conflict_of(result) is None
    assert why_none(result) is None
