"""models/online stays in step with the code: symbols, files and the optimum."""

import json
import re
from pathlib import Path

import pytest
from models_room import optimum_in, pyomo_solve

import optsched
from optsched.methods import export

TOP = Path(__file__).resolve().parents[2]
ROOM = TOP / "models" / "online"
README = (ROOM / "README.md").read_text(encoding="utf-8")
TINY, FILE, OPTIONS = ROOM / "tiny.json", "tiny-offline-ilp.lp", {"slot": 1.0}
OPTIMUM = json.loads((ROOM / "optimum.json").read_text("utf-8"))["offline-ilp"]
NONE = "–"


def documented(*, pruned: bool) -> dict[str, tuple[str, str]]:
    lines = [line for line in README.splitlines() if re.search(r"\| `\w+` \| [A-Z]", line)]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    kept = [row for row in rows if pruned or "pruned only" not in row[4]]
    return {row[1].strip("`"): (row[2], row[3]) for row in kept}


@pytest.mark.parametrize("pruned", [False, True])
def test_the_symbol_table_is_the_models(pruned: bool) -> None:
    model = optsched.build_model(TINY, "offline-ilp", OPTIONS, pruned=pruned)
    built = {}
    for component in model.component_objects():
        if component.doc:
            label = re.match(r"\(8[a-g]?\)", component.doc)
            built[component.name] = (component.ctype.__name__, label[0] if label else NONE)
    assert built == documented(pruned=pruned)
    for kind, label in built.values():
        assert (label != NONE) == (kind in ("Constraint", "Objective"))
        assert label == NONE or README.count(rf"\tag{{{label[1:-1]}}}") == 1


def test_the_rules_named_are_the_audits() -> None:
    table = README.split("(rule of the audit)")[1].split("**The worked example")[0]
    named = {rule for part in re.findall(r"\((`[^)]*`)\) \|", table) for rule in part.split(", ")}
    files = (TOP / "optsched" / "online" / name for name in ("audit.py", "audit_rules/limits.py"))
    source = "".join(path.read_text(encoding="utf-8") for path in files)
    assert named
    assert [rule for rule in named if rule.replace("`", '"') not in source] == []


def test_exported_file_is_todays_with_the_stored_optimum(tmp_path: Path) -> None:
    export(TINY, "offline-ilp", "lp", tmp_path / FILE, options=OPTIONS)
    assert (tmp_path / FILE).read_text("utf-8") == (ROOM / FILE).read_text("utf-8")
    assert optimum_in(ROOM / FILE) == pytest.approx(OPTIMUM["objective"])
    result = optsched.solve(TINY, "offline-ilp", options=OPTIONS)
    assert (result.objective, result.bound) == pytest.approx((OPTIMUM["objective"],) * 2)
    starts = {job.job_id: job.start for job in result.solution.jobs}
    assert starts == {"a": 0, "b": 0, "c": 2, "d": 2}  # as the page says


@pytest.mark.full
def test_pyomo_solve_as_the_readme_states_it(tmp_path: Path) -> None:
    assert pyomo_solve(README, 0, tmp_path) == pytest.approx(OPTIMUM["objective"])
