"""Every problem answers every verb: solve, compare, check, explain, plot, export, and alike."""

import json
from pathlib import Path

import pytest

import optsched
from optsched.cli import _code
from optsched.errors import InputError
from optsched.problems import PROBLEMS
from optsched.result import ONLY_A_BOUND

SMALL = {
    "placement": "placement/fig2",
    "makespan": "makespan/fig2",
    "selection": "selection/3x6",
    "speed-profile": "speed-profile/one-atom",
    "rolling": "rolling/three-by-hand",
    "online": "online/small-400x40",
    "packing": "packing/two-nodes",
}
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


def test_there_are_seven() -> None:
    assert set(SMALL) == set(PROBLEMS)


@pytest.mark.parametrize("problem", SMALL)
def test_one_path_from_solve_to_plot(
    problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, solution = SMALL[problem], tmp_path / "s.json"
    assert _code(["solve", name, "-o", str(solution), "--json"]) == 0
    solved = json.loads(capsys.readouterr().out)
    assert solved["problem"] == problem
    assert _code(["check", name, str(solution), "--json"]) == 0
    checked = json.loads(capsys.readouterr().out)
    assert checked["objective"] == pytest.approx(solved["objective"], rel=1e-9)
    assert _code(["explain", name, str(solution)]) == 0
    assert _code(["explain", name]) == 0
    first, again = tmp_path / "p.svg", tmp_path / "again.svg"
    assert _code(["plot", name, str(solution), "-o", str(first)]) == 0
    assert _code(["plot", name, str(solution), "-o", str(again)]) == 0
    assert first.read_bytes() == again.read_bytes()
    assert first.read_bytes().startswith(b"<?xml")
    capsys.readouterr()
    assert _code(["plot", name, str(solution), "-o", str(first), "--picture", "no"]) == 2
    listed = capsys.readouterr().err
    assert all(picture in listed for picture in PROBLEMS[problem].pictures)
    assert _code(["plot", name, str(solution), "-o", str(tmp_path / "p.jpeg")]) == 2


@pytest.mark.parametrize("problem", SMALL)
def test_export_writes_a_model_or_says_that_there_is_none(
    problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "m.lp"
    method = MODELS.get(problem, (PROBLEMS[problem].standard,))
    name = TINY_ONLINE if problem == "online" else SMALL[problem]
    arguments = ["export", name, "--method", *method, "--format", "lp", "-o", str(file)]
    if problem in MODELS:
        assert _code(arguments) == 0
        assert "\nend" in file.read_text()
        return
    assert not any(method.build for method in PROBLEMS[problem].methods)
    assert _code(arguments) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert f"no method of {problem} has a Pyomo model" in line
    assert not file.exists()


def test_the_model_of_a_rolling_policy_is_that_of_its_first_decision() -> None:
    """Two of three jobs are there at once: (P1) for them, as a selection instance states it."""
    document = optsched.load("rolling/three-by-hand").to_dict()
    document["jobs"][1]["submit_time"] = document["jobs"][0]["submit_time"] = document["now"]
    document["jobs"][2]["submit_time"] = document["now"] + 1
    rolling = type(optsched.load("rolling/three-by-hand")).from_dict(document)
    model = optsched.build_model(rolling, "milp")
    assert len(model.JOBS) == 2


@pytest.mark.parametrize(("problem", "method"), BOUNDS)
def test_a_row_that_is_only_a_bound_says_so_everywhere(
    problem: str, method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = SMALL[problem]
    result = optsched.solve(name, method)
    assert result.only_bound
    assert result.status == ONLY_A_BOUND
    assert ONLY_A_BOUND in str(result)
    assert result.to_dict()["only_bound"]
    assert _code(["solve", name, "--method", method]) == 0
    assert ONLY_A_BOUND in capsys.readouterr().out
    assert _code(["compare", name, "--methods", method]) == 0
    assert ONLY_A_BOUND in capsys.readouterr().out
    frame = optsched.compare(name, [method])
    assert list(frame["status"]) == [ONLY_A_BOUND]
    plan, store, page = tmp_path / "p.toml", tmp_path / "s.sqlite", tmp_path / "r.html"
    plan.write_text(f'[[families]]\nname = "f"\ninstances = ["{name}"]\nmethods = ["{method}"]\n')
    assert _code(["sweep", str(plan), "--store", str(store), "--workers", "0"]) == 0
    assert _code(["report", str(store), "-o", str(page)]) == 0
    assert ONLY_A_BOUND in page.read_text()
    capsys.readouterr()
    assert _code(["table", str(store)]) == 0
    assert "1 bounds" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command",
    ["roll rolling/three-by-hand", "simulate online/small-400x40 --policy spjf --bound"],
)
def test_the_commands_over_time_show_the_bound_as_a_row(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _code(command.split()) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if ONLY_A_BOUND in line]
    assert len(lines) == 1
    assert any(name in lines[0] for name in ("clairvoyant-bound", "flow-bound"))


@pytest.mark.full
@pytest.mark.parametrize("problem", ["rolling", "online"])
def test_the_defaults_of_compare_hold(problem: str) -> None:
    """A bound among them is no failure."""
    assert _code(["compare", SMALL[problem]]) == 0


def test_a_store_is_drawn_by_instance(tmp_path: Path) -> None:
    plan, store = tmp_path / "p.toml", tmp_path / "s.sqlite"
    plan.write_text('[[families]]\nname = "f"\ninstances = ["placement/fig2"]\n')
    assert _code(["sweep", str(plan), "--store", str(store), "--workers", "0"]) == 0
    for arguments in ([str(store)], ["placement/fig2", str(store)]):
        picture = tmp_path / f"{len(arguments)}.png"
        assert _code(["plot", *arguments, "-o", str(picture)]) == 0
        assert picture.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InputError, match="no run of 'vgg19-16'"):
        optsched.plot("placement/vgg19-16", store)
