"""models/packing stays in step with the code: symbols, files and optima."""

import json

import pytest
from models_room import stored, symbols_in
from oracles.packing import least_idle

import optsched

ROOM, README, OPTIMUM = stored("packing")
TINY = ROOM / "tiny.json"


def test_symbol_table_is_the_model() -> None:
    components = optsched.build_model(TINY, "milp").component_objects()
    built = [(c.name, c.ctype.__name__, c.doc) for c in components]
    assert symbols_in(README, "milp") == built


def test_optimum_by_brute_force_and_what_the_page_says_of_it() -> None:
    document = json.loads(TINY.read_text(encoding="utf-8"))
    assert least_idle(document) == OPTIMUM["milp"]["idle_gpus"] == 0.3
    assert optsched.solve(TINY, "columns").bound == pytest.approx(0.15)
    assert optsched.solve(TINY, "fgd").objective == pytest.approx(0.8)
