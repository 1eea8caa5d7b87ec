"""models/selection stays in step with the code: symbols, errata, files and optima."""

import json
import re

import pyomo.environ as pyo
import pytest
from models_room import stored, symbols_in
from oracles.selection import Oracle
from scripts import script

import optsched

ROOM, README, OPTIMUM = stored("selection")
ERRATA = ("(8)", "(12)", "(13)", "(16)", "(16) with (13)", "(19)", "(20)")
TINY = ROOM / "tiny.json"


@pytest.mark.parametrize("method", ["minlp", "milp", "patterns", "columns"])
def test_symbol_table_is_the_model(method: str) -> None:
    model = optsched.build_model(TINY, method, {"node_opening": "printed"})
    unit = f" in {OPTIMUM[method]['unit']} "  # of tiny.json; the README's U
    docs = {c.name: c.doc.replace(unit, " in $U$ ") for c in model.component_objects()}
    docs = {name: re.sub(r" in [0-9.]+ s$", " in $T$ s", doc) for name, doc in docs.items()}
    built = [(c.name, c.ctype.__name__, docs[c.name]) for c in model.component_objects()]
    assert symbols_in(README, method) == built


def test_optimum_by_brute_force() -> None:
    document = json.loads(TINY.read_text(encoding="utf-8"))
    assert Oracle(document).optimum() == pytest.approx(28.0)
    assert Oracle(document).optimum("printed") == pytest.approx(95.0)
    for entry in OPTIMUM.values():
        assert entry["objective_units"] * entry["unit"] == pytest.approx(entry["dollars"])
        assert entry["dollars"] == 28.0


@pytest.mark.parametrize("erratum", ERRATA)
def test_printed_equations_do_what_the_table_says(erratum: str) -> None:
    module = script("printed_selection")
    assert set(ERRATA) == set(module.ERRATA) - {"none"}
    row = next(line for line in README.splitlines() if line.startswith(f"| {erratum} |"))
    stated = row.strip("|").split("|")[-1].strip()
    found = module.printed_optimum(str(TINY), erratum)
    if stated == "infeasible":
        assert found is None
    else:
        assert found == pytest.approx(float(stated), rel=1e-6)


def test_pyomo_solve_model() -> None:
    module = script("selection_model", "models/selection")
    model = module.pyomo_create_model(model_options={"instance": "tiny.json", "method": "milp"})
    assert isinstance(model, pyo.ConcreteModel)
    assert module.pyomo_create_model().name == "selection-patterns"
