"""docs/architecture.md names files that exist, and walks that runs really take."""

import re
from pathlib import Path

import optsched

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path(optsched.__file__).resolve().parent
PAGE = ROOT / "docs" / "architecture.md"
FILE = re.compile(r"`([\w/]+/[\w.]+\.py|[\w]+\.py|[\w/]+/)`")


def walks() -> dict[str, list[str]]:
    text = PAGE.read_text(encoding="utf-8").split("## Three walks")[1].split("\n## ")[0]
    found = {}
    for section in text.split("\n### ")[1:]:
        title, _, body = section.partition("\n")
        steps = [line for line in body.splitlines() if re.match(r"^\d+\. ", line)]
        named = [line.split(": ")[0] for line in steps]
        found[title] = [name for part in named for name in FILE.findall(part)]
    return found


def test_there_are_three_walks() -> None:
    assert [len(files) > 8 for files in walks().values()] == [True] * 3


def test_every_file_named_exists() -> None:
    names = FILE.findall(PAGE.read_text(encoding="utf-8"))
    assert len(names) > 50
    for name in names:
        at_home = (ROOT if name.startswith("tests/") else PACKAGE) / name
        assert at_home.exists() or any(PACKAGE.rglob(name)), name  # the latter: in some slice
    for files in walks().values():
        assert all((PACKAGE / name).is_file() for name in files)


def test_no_module_has_above_600_lines() -> None:
    lengths = {path: path.read_text(encoding="utf-8").count("\n") for path in PACKAGE.rglob("*.py")}
    assert [path.name for path, lines in lengths.items() if lines > 600] == []
