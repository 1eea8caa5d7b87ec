"""docs/errata.md is what its command writes, and each slip on it changes an answer."""

from types import ModuleType

import pytest
from scripts import ROOT, script

PAGE = ROOT / "docs" / "errata.md"


@pytest.fixture
def errata(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")  # the script's own folder, as when it is run
    return script("errata")


def test_the_page_is_what_the_command_writes(errata: ModuleType) -> None:
    """Otherwise: python benchmarks/errata.py --page docs/errata.md."""
    assert PAGE.read_text(encoding="utf-8") == errata.page_text()


def test_each_slip_changes_an_answer() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and line.count(" | ") == 5 and "result as printed" not in line
    ]
    assert len(rows) >= 20
    for row in rows:
        assert row[4] != row[5], row[0]
