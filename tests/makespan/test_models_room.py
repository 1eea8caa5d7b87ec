"""models/makespan stays in step with the code: symbols, files and optima."""

import re

import pytest
from models_room import NO_LABEL, TOP, labelled, stored

import optsched
from optsched.makespan.options import MakespanOptions
from optsched.problem import resolve
from optsched.problems import METHODS as EVERY

ROOM, README, OPTIMUM = stored("makespan")
METHODS = ("ilp", "ilp-relaxed", "ilp-schedules", "theta")
LABEL = re.compile(r"\((?:\d+[a-d]?|[PST]\d)\)")

Row = tuple[str, str]


def documented(method: str) -> dict[str, Row]:
    rows = {}
    for line in README.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 6 and method in cells[4].split(", "):
            rows[cells[1].strip("`")] = (cells[2], cells[3])
    return rows


def built(method: str) -> dict[str, Row]:
    build = resolve(EVERY["makespan"][method].build or "")
    return labelled(build(optsched.load(ROOM / "tiny.json"), MakespanOptions(), pruned=True), LABEL)


@pytest.mark.parametrize("method", METHODS)
def test_symbol_tables_are_the_models(method: str) -> None:
    assert built(method) == documented(method)


@pytest.mark.parametrize("method", METHODS)
def test_every_constraint_stands_beside_its_formula(method: str) -> None:
    for kind, label in built(method).values():
        assert (label != NO_LABEL) == (kind == "Constraint")
        if label != NO_LABEL:
            assert README.count(rf"\tag{{{label[1:-1]}}}") == 1


def test_equations_are_numbered_without_gaps_and_say_for_what() -> None:
    tags = re.findall(r"\\tag\{(\d+[a-d]?|[PST]\d)\}", README)
    labels = {label[1:-1] for method in METHODS for _, label in built(method).values()}
    assert set(tags) - {"P5"} == labels - {NO_LABEL[1:-1]}  # (P5): a plan's, never a bound's
    numbers = [int(re.sub(r"\D", "", tag)) for tag in tags if tag[0].isdigit()]
    assert sorted(set(numbers)) == list(range(1, max(numbers) + 1))
    assert numbers == sorted(numbers)
    for series in ("P", "S", "T"):
        rest = [int(tag[1:]) for tag in tags if tag[0] == series]
        assert rest == list(range(1, len(rest) + 1))
    for number in set(numbers):
        letters = [match[1] for tag in tags if (match := re.fullmatch(rf"{number}([a-d]?)", tag))]
        assert letters in ([""], list("abcd"[: len(letters)]))
    for formula in re.findall(
        r"\$\$((?:(?!\$\$).)*?)\\tag\{(?:\d+[a-d]?|[PST]\d)\}\$\$", README, flags=re.S
    ):
        assert r"\text{for all }" in formula or r"\text{for each }" in formula


def test_every_equation_is_said_to_be_valid() -> None:
    reasons = README.split("Why each is valid", 1)[1].split("## Bounds", 1)[0]
    named = set(re.findall(r"\((\d+[a-d]?|[PST]\d)\)", reasons))
    for method in METHODS:
        assert {label[1:-1] for _, label in built(method).values() if label != NO_LABEL} <= named


def test_the_rules_named_are_the_checkers() -> None:
    source = (TOP / "optsched" / "makespan" / "check.py").read_text(encoding="utf-8")
    rules = set(re.findall(r"Violation\(\s*\"([\w ]+)\"", source)) | {"claimed objective"}
    text = README.split("## Symbols", 1)[1].split("## The worked example", 1)[0]
    in_rows = {
        rule
        for line in text.splitlines()
        if line.startswith("|")
        for bracket in re.findall(r"\((`[^)]*`)\) \|$", line)
        for rule in re.findall(r"`([\w ]+)`", bracket)
    }
    assert in_rows <= rules
    assert rules - in_rows == {"claimed end"}  # of the file, not of the model


@pytest.mark.parametrize("method", OPTIMUM)
def test_stored_optima_are_what_the_methods_find(method: str) -> None:
    result = optsched.solve(ROOM / "tiny.json", method)
    found = result.bound if result.objective is None else result.objective
    assert found == OPTIMUM[method]["objective"]
