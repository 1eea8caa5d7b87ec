"""The message of a conflict, and the enumeration that the problems' conflicts are held to."""

import json

from oracles.conflicts import irreducible_conflicts

import optsched
from optsched.conflict import Conflict, Member
from optsched.verbs.explaining import conflict_of, no_solution_reason


def test_enumeration_by_hand() -> None:
    assert irreducible_conflicts("abc", lambda part: True) == set()
    either = irreducible_conflicts("abc", lambda part: set(part) not in ({"a"}, {"b", "c"}))
    assert either == {frozenset("a"), frozenset("bc")}


def test_a_conflict_is_told_in_one_line_a_table_and_json() -> None:
    members = (Member("job", "a", "2 GPUs for 3 slots"), Member("job", "b", "1 GPU for 9 slots"))
    conflict = Conflict("x", "too much", 2.0, "slots", "12 slots would do", members)
    assert conflict.line == "too much; 12 slots would do"
    title, headings, rows, closing = conflict.table()
    assert title == "x: infeasible"
    assert [dict(zip(headings, row, strict=True))["name"] for row in rows] == ["a", "b"]
    assert closing.splitlines()[:2] == ["too much", "12 slots would do"]
    assert "smallest set of jobs" in closing
    rows_too = conflict.with_rows([Member("constraint", "(1) once", "job a")], "irreducible")
    assert "irreducible set of constraints" in str(rows_too)
    document = json.loads(json.dumps(rows_too.to_dict()))
    assert [row["name"] for row in document["constraints"]] == ["(1) once"]
    assert document["status"] == "infeasible"


def test_what_is_feasible_has_no_conflict() -> None:
    result = optsched.solve("placement/vgg19-16", "heavy-edge")
    assert conflict_of(result) is None
    assert no_solution_reason(result) is None
