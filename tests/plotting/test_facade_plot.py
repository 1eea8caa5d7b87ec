"""`optsched.plot`: one function for everything that has a picture."""

import sys
from pathlib import Path

import pytest
from commands import printed
from matplotlib.axes import Axes
from plotting.readable import faults
from small_instances import SMALL

import optsched
from optsched.errors import InputError, MissingExtraError
from optsched.experiments import sweep
from optsched.experiments.plans.plan import Family, Plan
from optsched.online import runs as online
from optsched.online.options import OnlineOptions
from optsched.online.prediction.predictors import predict_instance
from optsched.problems import PROBLEMS
from optsched.rolling import runs as rolling

PICTURES = [(problem, picture) for problem in SMALL for picture in PROBLEMS[problem].pictures]


def test_every_problem_has_a_picture() -> None:
    assert {problem for problem, _ in PICTURES} == set(PROBLEMS)


def outlines(ax: Axes) -> list[list[list[float]]]:
    """Every bar's and every line's points."""
    paths = [patch.get_path().transformed(patch.get_patch_transform()) for patch in ax.patches]
    paths += [path for drawn in ax.collections for path in drawn.get_paths()]
    return [path.vertices.tolist() for path in (*paths, *(line.get_path() for line in ax.lines))]


@pytest.mark.parametrize(("problem", "picture"), PICTURES)
def test_a_result_is_drawn_as_its_instance_and_solution_are(problem: str, picture: str) -> None:
    name, method = SMALL[problem]
    result = optsched.solve(name, method)
    ax = optsched.plot(result, picture=picture)
    assert any(each.get_xlabel() for each in ax.figure.axes)
    assert faults(ax.figure) == []
    same = optsched.plot(name, result.solution, picture=picture)
    assert same.get_title(loc="left") == ax.get_title(loc="left")
    assert outlines(same) == outlines(ax)
    assert len(outlines(ax)) > 0


def test_a_solution_of_a_shipped_instance_finds_it(tmp_path: Path) -> None:
    solution = optsched.solve("placement/fig2", "heavy-edge").solution
    assert optsched.plot(solution).get_title(loc="left").startswith("fig2")
    foreign = solution.model_copy(update={"instance": "../placement/fig2"})
    with pytest.raises(InputError, match=r"expected its instance too: plot\(instance, solution\)"):
        optsched.plot(foreign)


@pytest.mark.parametrize(
    ("name", "policies", "picture"),
    [
        ("rolling/three-by-hand", ["sts", "edf"], "nodes-in-use"),
        ("online/small-400x40", ["spjf", "spwf"], "queue"),
    ],
)
def test_results_runs_records_look_alike(name: str, policies: list[str], picture: str) -> None:
    instance = optsched.load(name)
    results = [optsched.solve(instance, policy) for policy in policies]
    if name.startswith("online"):
        predicted = predict_instance(instance, OnlineOptions.from_dict({}), seed=0)
        runs = list(online.run_policies(predicted, policies))
    else:
        runs = list(rolling.run_policies(instance, policies))
    expected = outlines(optsched.plot(instance, results, picture=picture))
    for given in (results, runs, [run.records for run in runs]):
        ax = optsched.plot(instance, given, picture=picture)
        assert [line.get_label() for line in ax.lines] == policies
        assert outlines(ax) == expected


def test_another_problems_solution_is_refused() -> None:
    solution = optsched.solve("makespan/fig2", "sjf-bco").solution
    for problem, (name, _) in SMALL.items():
        if problem != "makespan":
            with pytest.raises(InputError):
                optsched.plot(name, solution)


def test_tables_and_stores_are_drawn(tmp_path: Path) -> None:
    ax = optsched.plot(optsched.compare("placement/fig2", ["heavy-edge", "exact"]))
    assert [container.get_label() for container in ax.containers] == ["heavy-edge", "exact"]
    instances, methods = ("placement/fig2", "placement/vgg19-16"), ("heavy-edge", "exact")
    store = tmp_path / "s.sqlite"
    family = Family(name="a", instances=instances, methods=methods)
    sweep(Plan("p", (family,), "", ""), store, workers=0)
    for each in (store, optsched.read_store(store)):
        ax = optsched.plot(each)
        dots = {each.get_label(): each.get_offsets()[:, 0] for each in ax.collections[::2]}
        assert set(dots) == {"heavy-edge (2)", "exact (2)"}
        assert list(dots["exact (2)"]) == pytest.approx([0, 0], abs=1e-4)
        worst = optsched.solve("placement/vgg19-16", "heavy-edge")
        least = optsched.solve("placement/vgg19-16").objective
        assert max(dots["heavy-edge (2)"]) == pytest.approx(100 * (worst.objective / least - 1))


def test_files_of_solutions_and_tables_are_drawn(tmp_path: Path) -> None:
    solved, table = tmp_path / "s.json", tmp_path / "t.csv"
    printed("solve placement/fig2 -o", solved)
    names = ["placement/fig2", "placement/vgg19-16"]
    printed("compare --methods heavy-edge,exact --csv", table, *names)
    assert "fig2" in optsched.plot(solved).get_title(loc="left")
    frame = optsched.compare(names, ["heavy-edge", "exact"])
    assert outlines(optsched.plot(table)) == outlines(optsched.plot(frame))
    lines = {line.get_gid(): line for line in optsched.plot(table, picture="profile").lines}
    excess = optsched.solve("placement/vgg19-16", "heavy-edge").objective / frame["bound"].max()
    assert list(lines["exact"].get_ydata())[:3] == [0, 50, 100]
    assert list(lines["heavy-edge"].get_xdata())[1:3] == pytest.approx([1, excess], rel=1e-6)
    for text, found in (
        ("a,b\n1,2\n", "no instance, method"),
        ("instance,objective\nx\n", "line 2: found 1 cells, expected 2"),
        ("instance,objective\nx,wide\n", "line 2: objective: found 'wide', expected a number"),
    ):
        table.write_text(text)
        with pytest.raises(InputError, match=found):
            optsched.plot(table)
    with pytest.raises(InputError, match="a solution beside a table or a store"):
        optsched.plot(frame, solved)


def test_faults_are_one_line() -> None:
    result = optsched.solve("placement/fig2", "heavy-edge")
    broken = result.solution.model_copy(update={"counts": ((1,),)})
    bound = optsched.solve("rolling/three-by-hand", "clairvoyant-bound", iterations=5)
    for given, picture, fault in (
        (["makespan/fig2"], "pie", "picture: found 'pie', expected gantt or contention"),
        ([result], "trace", "trace: found no points"),
        (["placement/fig2", {"not": "a result"}], "trace", "expected a trace"),
        (["placement/fig2", broken], None, "expected a feasible solution"),
        ([bound], None, "expected a result with a solution"),
    ):
        with pytest.raises(InputError, match=fault):
            optsched.plot(*given, picture=picture)


def test_a_missing_extra_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"optsched\[plot\]"):
        optsched.plot("placement/fig2")
