"""The shipped sets over time and of one interval stay within what their names say of them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from optsched.experiments import read_plan

ROOT = Path(__file__).parents[1]


@pytest.fixture
def worlds(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("worlds")


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("light-6x60", 0.15, 0.25),
        ("medium-6x60", 0.5, 0.7),
        ("saturated-6x60", 1.0, 1.2),
        ("sharing-6x60", 0.5, 0.8),
    ],
)
def test_rolling_loads(worlds: Any, name: str, low: float, high: float) -> None:
    cells = worlds.rolling(f"rolling/{name}")
    assert low <= float(cells["load"]) <= high
    assert (int(cells["late"]) > 0) == (float(cells["tardiness $"]) > 0)


@pytest.mark.parametrize(
    ("name", "sliced"), [("small-400x40", False), ("sliced-400x40", True), ("testbed-75x14", False)]
)
def test_online_loads(worlds: Any, name: str, sliced: bool) -> None:
    cells = worlds.online(f"online/{name}")
    assert cells["load"] == "0.80"
    assert (cells["in slices"] != "0%") == sliced


@pytest.mark.parametrize(
    ("name", "waiting"), [("5x10", True), ("10x20", True), ("12x6-light", False)]
)
def test_selections_optimum_leaves_nobody_waiting(worlds: Any, name: str, waiting: bool) -> None:
    """What STS leaves waiting is nearly all of its cost; the best leaves nobody."""
    cells = worlds.selection(f"selection/{name}")
    assert (cells["best leaves"], cells["best: postponement $"]) == ("0", "0")
    assert (int(cells["STS leaves"]) > 0) == waiting
    rest = float(cells["STS: tardiness $"]) + float(cells["STS: energy $"])
    assert (float(cells["STS: postponement $"]) > 50 * rest) == waiting


@pytest.mark.parametrize("solved", [1, pytest.param(None, marks=pytest.mark.full)])
def test_families_leave_waiting_what_they_are_named_for(worlds: Any, solved: int | None) -> None:
    """Nobody, some, many, more than there are GPUs: by STS and by the optimum."""
    named = [family.name for family in read_plan("plans/selection").families]
    assert list(worlds.WAITING) == [name for name in named if ":" in name]
    for name, ranges in worlds.WAITING.items():
        cells = worlds.selection_family(name, solved)
        for cell, (low, high) in zip(cells.values(), ranges, strict=True):
            least, most = map(float, cell.split(" to "))
            assert low - 5e-4 <= least <= most <= high + 5e-4, (name, cells)
