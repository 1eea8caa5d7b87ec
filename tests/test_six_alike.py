"""Every problem answers every verb: solve, compare, check, explain, plot, export, and alike."""

from pathlib import Path

import pytest
from commands import json_of, printed, refusal, stderr_of
from small_instances import NAMES

import optsched
from optsched.problems import PROBLEMS
from optsched.result import ONLY_A_BOUND

MODELS = {
    "placement": ("ilp",),
    "makespan": ("ilp",),
    "selection": ("milp",),
    "rolling": ("milp",),
    "packing": ("milp",),
    "online": ("offline-ilp", "--option", "slot=1"),
}
"""A method with a Pyomo model of each problem that has one, and its options."""
TINY_ONLINE = str(Path(__file__).resolve().parents[1] / "models/online/tiny.json")
BOUNDS = [(problem.name, method) for problem in PROBLEMS.values() for method in problem.bounds]


@pytest.mark.parametrize("problem", NAMES)
def test_one_path_from_solve_to_plot(problem: str, tmp_path: Path) -> None:
    name, solution = NAMES[problem], tmp_path / "s.json"
    solved = json_of("solve", name, "-o", solution)
    assert solved["problem"] == problem
    checked = json_of("check", name, solution)
    assert checked["objective"] == pytest.approx(solved["objective"], rel=1e-9)
    printed("explain", name, solution)
    printed("explain", name)
    first, again = tmp_path / "p.svg", tmp_path / "again.svg"
    for picture in (first, again):
        printed("plot", name, solution, "-o", picture)
    assert first.read_bytes() == again.read_bytes()
    assert first.read_bytes().startswith(b"<?xml")
    listed = stderr_of("plot --picture no", name, solution, "-o", first, code=2)
    assert all(picture in listed for picture in PROBLEMS[problem].pictures)
    stderr_of("plot", name, solution, "-o", tmp_path / "p.jpeg", code=2)


@pytest.mark.parametrize("problem", NAMES)
def test_export_writes_a_model_or_says_that_there_is_none(problem: str, tmp_path: Path) -> None:
    file = tmp_path / "m.lp"
    method = MODELS.get(problem, (PROBLEMS[problem].standard,))
    name = TINY_ONLINE if problem == "online" else NAMES[problem]
    arguments = [name, "--method", *method, "-o", file]
    if problem in MODELS:
        printed("export --format lp", *arguments)
        assert "\nend" in file.read_text()
        return
    assert not any(method.build for method in PROBLEMS[problem].methods)
    line = refusal("export --format lp", *arguments)
    assert f"no method of {problem} has a Pyomo model" in line
    assert not file.exists()


@pytest.mark.parametrize(("problem", "method"), BOUNDS)
def test_a_row_that_is_only_a_bound_says_so_everywhere(
    problem: str, method: str, tmp_path: Path
) -> None:
    name = NAMES[problem]
    result = optsched.solve(name, method)
    assert result.only_bound
    assert result.status == ONLY_A_BOUND
    assert ONLY_A_BOUND in str(result)
    assert result.to_dict()["only_bound"]
    assert ONLY_A_BOUND in printed("solve", name, "--method", method)
    assert ONLY_A_BOUND in printed("compare", name, "--methods", method)
    frame = optsched.compare(name, [method])
    assert list(frame["status"]) == [ONLY_A_BOUND]
    plan, store, page = tmp_path / "p.toml", tmp_path / "s.sqlite", tmp_path / "r.html"
    plan.write_text(f'[[families]]\nname = "f"\ninstances = ["{name}"]\nmethods = ["{method}"]\n')
    printed("sweep --workers 0", plan, "--store", store)
    printed("report", store, "-o", page)
    assert ONLY_A_BOUND in page.read_text()
    assert "1 bounds" in printed("table", store)


@pytest.mark.parametrize(
    "command",
    ["roll rolling/three-by-hand", "simulate online/small-400x40 --policy spjf --bound"],
)
def test_the_commands_over_time_show_the_bound_as_a_row(command: str) -> None:
    lines = [line for line in printed(command).splitlines() if ONLY_A_BOUND in line]
    assert len(lines) == 1
    assert any(name in lines[0] for name in ("clairvoyant-bound", "flow-bound"))


@pytest.mark.full
@pytest.mark.parametrize("problem", ["rolling", "online"])
def test_the_defaults_of_compare_hold(problem: str) -> None:
    """A bound among them is no failure."""
    printed("compare", NAMES[problem])
