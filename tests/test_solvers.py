"""docs/solvers.md: the instances its rule draws, a row for each solver, counts as its rows say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "solvers.md"


def rows_of(text: str) -> list[list[str]]:
    """Cells of a table's lines, without its head."""
    lines = re.findall(r"(?m)^\| (.*) \|$", text)
    return [line.split(" | ") for line in lines][2:]


def test_the_page_has_every_row_and_counts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import solvers

    above, below = PAGE.read_text(encoding="utf-8").split("## Every row")
    rows, summed = rows_of(below), rows_of(above)
    expected = [
        (name, solver)
        for problem in solvers.PROBLEMS
        for name in solvers.drawn(problem, 10)
        for solver in (*solvers.SOLVERS, solvers.OURS)
    ]
    assert [(row[0], row[1]) for row in rows] == expected
    assert len({name for name, _ in expected}) == 30
    assert len(summed) == len(solvers.PROBLEMS) * (len(solvers.SOLVERS) + 1)
    for problem, solver, proved, before, certified, words, *_ in summed:
        own = [r for r in rows if r[0].startswith(f"{problem}/") and r[1] == solver]
        ended = [row for row in own if row[2] == "optimal"]
        assert proved == f"{len(ended)} of 10"
        assert int(before) == sum(row[3] == "no" for row in ended)
        assert int(certified) == sum(row[-1] == "certificate" for row in ended)
        assert int(words) == sum(row[-1].startswith("word of") for row in ended)


def test_no_value_on_the_page_is_below_a_bound() -> None:
    best: dict[str, float] = {}
    rows = rows_of(PAGE.read_text(encoding="utf-8").split("## Every row")[1])
    for name, _, _, _, _, bound, *_ in rows:
        best[name] = max(best.get(name, 0.0), 0.0 if bound == "-" else float(bound))
    for name, _, _, _, value, *_ in rows:
        assert value == "-" or float(value) >= best[name] * (1 - 1e-5)  # six digits are shown
