"""Shipped instances but placements stay within what benchmarks/worlds.py states of them."""

import pytest
from sampling import first
from scripts import script

from optsched.experiments import read_plan
from optsched.library import shipped_names

worlds = script("worlds")
SLOW = (
    *("1600x200", "160x20", "40x160", "100x400", "37500x250", "20x200", "24x96", "12x48"),
    *("10x40", "10x20", "40x8", "saturated-6x60", "sharing-6x60", "12x6-light"),
)
"""Names of instances that only the full run looks at."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.full] if any(s in name for s in SLOW) else [])
        for name in shipped_names()
        if not name.startswith("placement/")
    ],
)
def test_shipped_instances_are_what_names_say(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Contention seen, jobs left waiting, load: within the range that is stated of it."""
    monkeypatch.setattr(worlds, "MOVES", 2_000)
    monkeypatch.setattr(worlds, "EXACT_SECONDS", 0.5)
    problem, _, instance = name.partition("/")
    heading, stated = worlds.STATED[problem]
    cells = worlds.WORLDS[problem](name)
    if problem == "speed-profile":
        assert (cells["status"] == "infeasible") == (float(cells["load"]) > 1)
    else:
        assert problem == "makespan" or instance in stated
    low, high = stated.get(instance, (0, 0 if problem == "makespan" else 1))
    assert low <= float(cells[heading]) <= high


def test_ranges_are_stated_of_what_ships() -> None:
    for problem, (_, stated) in worlds.STATED.items():
        assert {f"{problem}/{name}" for name in stated} <= set(shipped_names())
    assert {*worlds.STATED, "placement"} == set(worlds.WORLDS)


@pytest.mark.parametrize(("named_for", "solved"), first(1, [("fewer", 1), ("", 1), ("", None)]))
def test_families_leave_waiting_what_they_are_named_for(named_for: str, solved: int | None) -> None:
    """Nobody, some, many, more than there are GPUs: by STS and by the optimum."""
    named = [family.name for family in read_plan("plans/selection").families]
    assert list(worlds.WAITING) == [name for name in named if ":" in name]
    chosen = {n: r for n, r in worlds.WAITING.items() if n.startswith(named_for)}
    assert chosen
    for name, ranges in chosen.items():
        cells = worlds.selection_family(name, solved)
        for cell, (low, high) in zip(cells.values(), ranges, strict=True):
            least, most = map(float, cell.split(" to "))
            assert low - 5e-4 <= least <= most <= high + 5e-4, (name, cells)


@pytest.mark.parametrize("most", first(1, [1, None]))
def test_families_contend_as_is_said(monkeypatch: pytest.MonkeyPatch, most: int | None) -> None:
    """Where the best schedules avoid the links a family is no test of contention."""
    plan = {family.name: family for family in read_plan("plans/makespan").families}
    generated = {name for name, family in plan.items() if family.generator and not family.options}
    assert set(worlds.CONTENTION) == generated
    monkeypatch.setattr(worlds, "MOVES", 2_000)
    for name, (low, high) in worlds.CONTENTION.items():
        if most is not None and name.startswith("160"):
            continue
        least, largest = worlds.makespan_family(name, most)["share a link"].split(" to ")
        assert low <= float(least) <= float(largest) <= high, name
