"""models/packing stays in step with the code: symbols, files and optima."""

import json
import re
from pathlib import Path

import pytest
from oracles.packing import least_idle

import optsched

ROOM = Path(__file__).resolve().parents[2] / "models" / "packing"
README = (ROOM / "README.md").read_text(encoding="utf-8")
TINY = ROOM / "tiny.json"
OPTIMUM = json.loads((ROOM / "optimum.json").read_text(encoding="utf-8"))


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
