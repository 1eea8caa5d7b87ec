"""The example plan: what the README says of it, and the notebooks' promise."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from optsched.experiments import gap_table, read_plan
from optsched.experiments.store import Store
from optsched.experiments.table import FamilyTable
from optsched.experiments.table_formats import cells
from optsched.experiments.units import expand
from optsched.experiments.worker import run_unit

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
SLOW = ("min-cut",)
ROW = re.compile(
    r"^\| ([^|]+) \| (\d+) \| ([\d.]+) \| ([\d.]+ to [\d.]+) \| ([\d.]+) \| (\d+) \|$",
    re.MULTILINE,
)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[FamilyTable]:
    """The plan's tables, its slow method left out."""
    plan = read_plan("plans/small")
    path = tmp_path_factory.mktemp("small") / "results.sqlite"
    with Store(path) as base:
        assert base.register(plan.name, plan.sha256, plan.text, expand(plan)) == 225
        for planned in expand(plan):
            for unit in planned.units:
                if unit.method not in SLOW:
                    base.add(run_unit(unit, planned.document))
    return gap_table(path)


def test_the_readmes_table_is_the_commands(tables: list[FamilyTable]) -> None:
    stated = ROW.findall(README)
    expected = []
    for table in tables:
        _, mean, interval, _, largest, proved, *_ = cells(table.lines[0])
        expected.append((table.family, str(table.instances), mean, interval, largest, proved))
    assert stated == expected


def test_nothing_failed_and_everything_was_checked(tables: list[FamilyTable]) -> None:
    for table in tables:
        for line in table.lines:
            assert (line.failed, line.refused) == (0, 0)
            assert line.method in SLOW or line.checked == line.planned


def test_it_is_cut_by_iterations_not_by_time() -> None:
    for family in read_plan("plans/small").families:
        assert family.limits.time_limit is None
        assert family.limits.iterations is not None
