"""docs/architecture.md names files that exist, and walks that runs really take."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import optsched
from optsched.cli import _code

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path(optsched.__file__).resolve().parent
PAGE = ROOT / "docs" / "architecture.md"
FILE = re.compile(r"`([\w/]+/[\w.]+\.py|[\w]+\.py|[\w/]+/)`")
PLAN = """
[[families]]
name = "f"
generator = "placement"
arguments = { gpus = 4 }
methods = ["heavy-edge", "exact"]
"""
OTHER_PROCESSES = {"experiments/run/worker.py"}


def walks() -> dict[str, list[str]]:
    """Files by walk, in the page's order."""
    text = PAGE.read_text(encoding="utf-8").split("## Three walks")[1].split("\n## ")[0]
    found = {}
    for section in text.split("\n### ")[1:]:
        title, _, body = section.partition("\n")
        steps = [line for line in body.splitlines() if re.match(r"^\d+\. ", line)]
        named = [line.split(": ")[0] for line in steps]
        found[title] = [name for part in named for name in FILE.findall(part)]
    return found


def test_there_are_three_walks() -> None:
    assert [len(files) > 10 for files in walks().values()] == [True] * 3


def test_every_file_named_exists() -> None:
    names = FILE.findall(PAGE.read_text(encoding="utf-8"))
    assert len(names) > 60
    for name in names:
        at_home = (ROOT if name.startswith("tests/") else PACKAGE) / name
        assert at_home.exists() or any(PACKAGE.rglob(name)), name  # the latter: in some slice
    for files in walks().values():
        assert all((PACKAGE / name).is_file() for name in files)


def test_no_module_has_above_600_lines() -> None:
    lengths = {path: path.read_text(encoding="utf-8").count("\n") for path in PACKAGE.rglob("*.py")}
    assert [path.name for path, lines in lengths.items() if lines > 600] == []


def entered(run: Callable[[], Any]) -> list[str]:
    """The package's files, in the order in which a call enters them; imports do not count."""
    order: dict[str, None] = {}
    start = f"{PACKAGE}/"

    def note(frame: FrameType, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(start) and frame.f_code.co_name != "<module>":
            order.setdefault(file.removeprefix(start))

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return list(order)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_walks_are_taken_in_order(
    number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, store = tmp_path / "p.toml", tmp_path / "s{}.sqlite"
    plan.write_text(PLAN)
    commands = [
        ["compare placement/vgg19-16 --methods heavy-edge,exact"],
        [f"sweep {plan} --store {store} --workers 1", f"table {store}"],
        ["simulate online/small-400x40 --policy a-srpt --bound --audit"],
    ][number]

    def walk(time: int) -> None:
        for command in commands:
            assert _code(command.format(time).split()) == 0

    walk(1)  # imports, and loads compiled code
    order = entered(lambda: walk(2))
    named = [name for name in list(walks().values())[number] if name not in OTHER_PROCESSES]
    assert set(named) <= set(order), set(named) - set(order)
    assert named == [name for name in order if name in named]
