"""Plans as text, and their stores."""

from collections.abc import Callable
from pathlib import Path

import pytest

from optsched.experiments import read_plan, sweep
from optsched.experiments.plans.units import Unit, expand
from optsched.experiments.store.store import Row, Store

Swept = Callable[[str], Path]


@pytest.fixture
def plan_file(tmp_path: Path) -> Swept:

    def write(text: str) -> Path:
        path = tmp_path / "plan.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def swept(tmp_path: Path, plan_file: Swept) -> Swept:

    def run(text: str) -> Path:
        sweep(plan_file(text), tmp_path / "s.sqlite", workers=0)
        return tmp_path / "s.sqlite"

    return run


@pytest.fixture
def stored(tmp_path: Path, plan_file: Swept) -> Callable[[str, Callable[[Unit], Row | None]], Path]:
    """Store a row for each unit of a plan, without running it; None leaves a unit out."""

    def store(text: str, row_of: Callable[[Unit], Row | None]) -> Path:
        plan = read_plan(plan_file(text))
        with Store(tmp_path / "s.sqlite") as base:
            base.register(plan.name, plan.sha256, plan.text, expand(plan))
            base.record_start(plan.name, "optsched sweep <x>", "1 process", '{"optsched":"0"}')
            for number, key in base.pending(plan.name):
                row = row_of(base.unit(plan.name, number, key))
                if row is not None:
                    base.add(row)
        return tmp_path / "s.sqlite"

    return store
