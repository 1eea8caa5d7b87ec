"""models/packing stays in step with the code: symbols, files and optima."""

import json
import re
from pathlib import Path

import pytest
from models_room import optimum_in, pyomo_solve
from oracles.packing import least_idle

import optsched
from optsched.methods import export

ROOM = Path(__file__).resolve().parents[2] / "models" / "packing"
README = (ROOM / "README.md").read_text(encoding="utf-8")
TINY = ROOM / "tiny.json"
OPTIMUM = json.loads((ROOM / "optimum.json").read_text(encoding="utf-8"))
FILES = [(method, name) for method, entry in OPTIMUM.items() for name in entry["files"]]


def test_symbol_table_is_the_model() -> None:
    text = README.split("### Symbols: `milp`", 1)[1].split("\n#", 1)[0]
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*) \|$", text, flags=re.M)
    model = optsched.build_model(TINY, "milp")
    assert rows == [(c.name, c.ctype.__name__, c.doc) for c in model.component_objects()]


def test_optimum_by_brute_force_and_what_the_page_says_of_it() -> None:
    document = json.loads(TINY.read_text(encoding="utf-8"))
    assert least_idle(document) == OPTIMUM["milp"]["idle_gpus"] == 0.3
    assert optsched.solve(TINY, "columns").bound == pytest.approx(0.15)
    assert optsched.solve(TINY, "fgd").objective == pytest.approx(0.8)


@pytest.mark.parametrize(("method", "name"), FILES)
def test_files_are_what_export_writes_and_have_the_optimum(
    method: str, name: str, tmp_path: Path
) -> None:
    export(TINY, method, name.rpartition(".")[2], tmp_path / name)
    assert (tmp_path / name).read_bytes() == (ROOM / name).read_bytes()
    assert optimum_in(ROOM / name) == pytest.approx(OPTIMUM[method]["idle_gpus"], abs=1e-6)


@pytest.mark.parametrize("line", range(2))
def test_pyomo_solve_finds_it(line: int, tmp_path: Path) -> None:
    assert pyomo_solve(README, line, tmp_path) == pytest.approx(0.3, abs=1e-6)
