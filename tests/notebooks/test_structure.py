"""Notebooks share a form: goal, prerequisites, exercises with folded answers at the end."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
ANSWER = re.compile(r"<details><summary>Answer</summary>\n\n.+?</details>", re.DOTALL)


def cells(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def text(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def test_there_is_one_a_number() -> None:
    assert [path.name[:2] for path in NOTEBOOKS] == [f"{i:02}" for i in range(11)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_goal_and_prerequisites_come_first(path: Path) -> None:
    opening = text(cells(path)[0])
    assert opening.startswith("# ")
    assert 0 < opening.index("**Goal.**") < opening.index("**Prerequisites.**")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_exercises_come_last_with_their_answers_folded(path: Path) -> None:
    every = [text(c) if c["cell_type"] == "markdown" else "" for c in cells(path)]
    (start,) = [i for i, each in enumerate(every) if re.search(r"^## .*Exercises$", each, re.M)]
    ending = "\n\n".join(every[start:])
    asked = re.findall(r"^\*\*(?:\d+\.)?\d+\.?\*\*", ending, re.M)
    assert len(asked) >= 2
    hints = ending.count("<details><summary>Hint</summary>")
    assert len(ANSWER.findall(ending)) == len(asked) == ending.count("<details>") - hints
    assert not any("<details>" in each for each in every[:start])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_imports_what_the_reference_lists(path: Path) -> None:
    pages = (FOLDER.parent / "docs" / "reference").glob("*.md")
    listed = re.findall(r"optsched[.\w]+", " ".join(page.read_text("utf-8") for page in pages))
    code = "\n".join(text(cell) for cell in cells(path) if cell["cell_type"] == "code")
    nodes = [n for n in ast.walk(ast.parse(code)) if isinstance(n, ast.ImportFrom | ast.Import)]
    names = {
        f"{node.module}.{each.name}" if isinstance(node, ast.ImportFrom) else each.name
        for node in nodes
        for each in node.names
    }
    ours = {name for name in names if name.startswith("optsched.")}
    assert ours <= {*listed}, ours - {*listed}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_reads_without_being_run(path: Path) -> None:
    """GitHub shows what is stored: outputs in order, no error, no machine's paths."""
    code = [cell for cell in cells(path) if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    for cell in code:
        assert all(output["output_type"] != "error" for output in cell["outputs"])
        for output in cell["outputs"]:
            assert not re.search(r"/tmp/|/root/|/home/", json.dumps(output.get("text", "")))


@pytest.mark.parametrize("number", ["01", "02", "03", "04", "05"])
def test_a_slider_has_a_picture_in_its_place(number: str) -> None:
    """What it draws is drawn before it, too, and that is stored; the slider is not."""
    (path,) = FOLDER.glob(f"{number}_*.ipynb")
    code = [cell for cell in cells(path) if cell["cell_type"] == "code"]
    (at,) = [i for i, cell in enumerate(code) if "interact(" in text(cell).splitlines()[-1]]
    draw = re.search(r"draw_\w+", text(code[at]).splitlines()[-1])
    assert draw is not None
    assert code[at]["outputs"] == []
    before = [c for c in code[:at] if re.search(rf"^ *{draw[0]}\(", text(c), re.M)]
    kinds = {kind for cell in before for each in cell["outputs"] for kind in each.get("data", {})}
    assert "image/png" in kinds


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_code_cell_is_longer_than_a_screen(path: Path) -> None:
    code = [text(cell) for cell in cells(path) if cell["cell_type"] == "code"]
    assert max(len(each.splitlines()) for each in code) <= 25


@pytest.mark.full
def test_a_cell_that_fails_is_named(tmp_path: Path) -> None:
    pytest.importorskip("nbclient")
    cell = {"cell_type": "code", "metadata": {}, "outputs": []}
    stored = {"name": "stdout", "output_type": "stream", "text": "1"}
    given = [
        {**cell, "id": "good", "execution_count": 1, "source": "print(1)", "outputs": [stored]},
        {**cell, "id": "bad", "execution_count": 2, "source": "1 / 0"},
    ]
    path = tmp_path / "failing.ipynb"
    notebook = {"cells": given, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(notebook), encoding="utf-8")
    script = [sys.executable, str(Path(__file__).with_name("run_notebooks.py")), str(path)]
    ran = subprocess.run(script, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 1
    assert "code cell 2 (bad) failed" in ran.stdout


def test_the_measured_errors_are_those_of_their_page() -> None:
    """Notebook 08 has them typed in, as the data do not travel with the package."""
    page = (FOLDER.parent / "docs" / "measured.md").read_text(encoding="utf-8")
    (code,) = [
        text(c) for c in cells(FOLDER / "08_parallelism.ipynb") if "BY_SLICES = {" in text(c)
    ]
    typed: dict[str, Any] = {}
    exec(code[: code.index("_, panels")], typed)
    for name, errors in typed["ERRORS"].items():
        section = page.partition(f"## {name}: {errors['rows']} rows")[2].partition("\n## ")[0]
        for which in ("mean", "median"):
            assert f"| {which} | {errors[f'{which} %']}% |" in section
        found = re.findall(
            r"\| tensor parallelism (\d+) \| \d+ \| ([\d.]+)% \| [\d.]+% \| ([+-][\d.]+)% \|",
            section,
        )
        by_slices = {int(q): (float(mean), float(signed)) for q, mean, signed in found}
        assert typed["BY_SLICES"][name] == by_slices
