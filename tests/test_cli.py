"""The contract of the command line: exit codes, JSON keys, one line for what is refused."""

import csv
import json
import math
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commands import json_of, printed, quiet, refusal, run, stderr_of, transcript
from placement.jobs import document
from processes import ROOT, python

from optsched.errors import SolverError
from optsched.experiments import ARTEFACTS
from optsched.experiments.run.runner import SweepState
from optsched.io.schemas import SCHEMAS
from optsched.problems import PROBLEMS
from optsched.result import Outcome, Termination

RESULT_KEYS = {
    *("problem", "instance", "instance_sha256", "method", "solver", "solver_version", "options"),
    *("seed", "termination", "objective", "bound", "bound_source", "gap", "excess"),
    *("build_time", "solve_time", "check", "solution"),
}
CHECK_KEYS = {"feasible", "objective", "violations"}
VIOLATION_KEYS = {"rule", "equation", "where", "amount", "tolerance"}
METHODS = tuple(method.name for method in PROBLEMS["placement"].methods)
COLUMNS = "optsched.placement.exact.columns.columns"
STAGE = {"forward_time": 0.01, "backward_time": 0.02, "parameter_bytes": 1e8}
STAGES = [
    {"name": "a", "replicas": 4, "output_bytes": 1e7, **STAGE},
    {"name": "b", "replicas": 1, "input_bytes": 4e7, **STAGE},
]
INSTANCE = document([3, 2], STAGES, gpus=4, inter=1.25e9, intra=3e11, name="small")
GRAPH = "".join(
    f"node{n} -- Layer{n} -- forward_compute_time={n}.0, backward_compute_time={2 * n}.0, "
    f"activation_size=1000000.0, parameter_size=4000000.000\n"
    for n in range(1, 7)
) + "".join(f"\tnode{n} -- node{n + 1}\n" for n in range(1, 6))


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a folder that holds small.json, all compiled, without the user's debug setting."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("optsched.kernels.python_runs", lambda: 0)
    monkeypatch.delenv("OPTSCHED_DEBUG", raising=False)
    Path("small.json").write_text(json.dumps(INSTANCE), encoding="utf-8")


def program(*argv: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    return python("-m", "optsched", *argv, code=None, **settings)


def write(name: str, document: Any) -> str:
    Path(name).write_text(json.dumps(document), encoding="utf-8")
    return name


def read(name: str) -> Any:
    return json.loads(Path(name).read_text(encoding="utf-8"))


# --- solve, check, explain


@pytest.mark.parametrize("method", METHODS)
def test_solve_prints_the_keys_of_the_contract(method: str) -> None:
    result = json.loads(quiet("solve small.json --json --seed 5 --method", method))
    assert set(result) >= RESULT_KEYS
    assert (result["problem"], result["instance"]) == ("placement", "small")
    assert (result["method"], result["seed"]) == (method, 5)
    assert set(result["check"]) == CHECK_KEYS
    assert result["check"] == {"feasible": True, "objective": result["objective"], "violations": []}
    assert result["gap"] == pytest.approx(1 - result["bound"] / result["objective"], abs=1e-12)
    assert result["excess"] == pytest.approx(result["objective"] / result["bound"] - 1, abs=1e-12)
    assert (result["solver"] is None) == (result["solver_version"] is None)
    assert result["solver"] is None or result["solver_version"].count(".") == 2
    is_heuristic = method in ("heavy-edge", "first-fit", "repartition", "min-cut")
    assert result["termination"] == ("feasible" if is_heuristic else "optimal")
    assert result["solution"]["schema"] == "optsched/placement-solution"


def test_what_solve_writes_check_accepts() -> None:
    result = json_of("solve small.json -o made/solution.json")
    assert read("made/solution.json") == result["solution"]
    assert result["solution"]["objective"] == result["objective"]
    assert result["solution"]["options"] == result["options"]
    assert json.loads(quiet("check small.json made/solution.json --json")) == result["check"]
    assert printed("check small.json made/solution.json").startswith("feasible\n")


@pytest.mark.parametrize(("factor", "code"), [(1 + 1e-5, 1), (1 - 1e-5, 1), (1 + 1e-7, 0)])
def test_a_tampered_objective(factor: float, code: int) -> None:
    solution = json_of("solve small.json")["solution"]
    solution["objective"] *= factor
    write("solution.json", solution)
    report = json.loads(quiet("check small.json solution.json --json", code=code))
    assert [v["rule"] for v in report["violations"]] == ["claimed objective"] * code
    for violation in report["violations"]:
        assert set(violation) == VIOLATION_KEYS
        assert violation["amount"] == pytest.approx(1e-5, rel=1e-3)


def test_a_broken_rule_is_an_answer_not_an_error() -> None:
    solution = json_of("solve small.json")["solution"]
    write("solution.json", solution | {"counts": [[4, 0], [1, 0]]})
    out = quiet("check small.json solution.json", code=1)
    assert out.startswith("NOT feasible\n")
    assert "capacity, (3), violated at server 0 by 2" in out
    assert printed("explain small.json solution.json", code=1) == out


def test_explain_says_what_an_impossible_deadline_would_need() -> None:
    out = quiet("explain speed-profile/infeasible")
    assert "90 epochs in 1000 s" in out
    assert "a deadline of 2046.22 s" in out  # 90 epochs at 0.043983597 a second
    said = json_of("explain speed-profile/infeasible")
    assert (said["needed_speed"], said["rows"], said["energy"]) == (0.09, [], None)
    assert said["least_seconds"] == pytest.approx(90 / 0.043983597)


def test_explain_without_a_solution_is_one_line() -> None:
    shipped = read(str(ROOT / "instances/makespan/theorem5-2x1.json"))
    write("tight.json", {**shipped, "horizon": 2})  # SJF-BCO needs 3 slots
    assert "found no solution by sjf-bco" in refusal("explain tight.json --method sjf-bco")


def test_an_option_changes_the_objective_and_travels_with_the_solution() -> None:
    command = "solve small.json --method heavy-edge"
    option = "--option all_reduce_bandwidth=bottleneck -o bottleneck.json"
    results = [json_of(command), json_of(f"{command} {option}")]
    assert [r["options"]["all_reduce_bandwidth"] for r in results] == ["own", "bottleneck"]
    solution = read("bottleneck.json")
    assert solution["options"]["all_reduce_bandwidth"] == "bottleneck"
    printed("check small.json bottleneck.json")
    assert solution["counts"] == [[3, 1], [0, 1]]
    # By hand: compute 0.03 s, all-reduce 2 (3/4) 1e8 bytes over one share of the NIC, 1.25e9 / 4,
    # 0.48 s. Server 1 sends to its own b inside the server; only under the bottleneck reading has
    # server 0, which sends 2e7 bytes across in 0.064 s, that all-reduce too.
    assert results[0]["objective"] == pytest.approx(0.03 + 0.48 + 2e7 / 3e11, rel=1e-12)
    assert results[1]["objective"] == pytest.approx(0.03 + 0.48 + 0.064, rel=1e-12)
    solution["options"]["all_reduce_bandwidth"] = "own"
    printed("check small.json", write("bottleneck.json", solution), code=1)


def test_methods_refuse_the_other_reading_by_name() -> None:
    option = "--option all_reduce_bandwidth=bottleneck"
    line = refusal(f"solve small.json --method repartition {option}")
    assert line.startswith("method repartition: found all_reduce_bandwidth=bottleneck, ")
    rows = json_of(f"compare small.json --methods heavy-edge,repartition {option}", code=1)
    assert [row["termination"] for row in rows] == ["feasible", "error"]
    assert rows[1]["check"] is None


@pytest.mark.parametrize(
    ("command", "word"),
    [
        *(("", "compare"), ("help", "compare"), ("help solve", "--time-limit")),
        *((f"{of}--help", "Usage: optsched") for of in ("", "solve ", "compare ")),
        ("generate placement --help", "Usage: optsched"),
        ("import pipedream --help", "Usage: optsched"),
        ("list", "placement/fig2"),
    ],
)
def test_nothing_help_and_list_say_what_there_is(command: str, word: str) -> None:
    assert word in quiet(command)


def test_a_failing_method_is_named_and_costs_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> Outcome:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("optsched.placement.heuristics.heavy_edge.heavy_edge", failing)
    code, out, error = run("compare small.json --methods heavy-edge,exact --json")
    assert code == 1
    assert [row["termination"] for row in json.loads(out)] == ["error", "optimal"]
    assert "optsched: heavy-edge failed on " in error
    assert "ZeroDivisionError: division by zero" in error


def test_an_interrupted_sweep_says_what_it_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, progress: Any, **__: object) -> None:
        progress(SweepState(5, 1))
        progress(SweepState(5, 1, 2))
        raise KeyboardInterrupt

    monkeypatch.setattr("optsched.cli.sweeping.run_sweep", interrupted)
    error = stderr_of("sweep plans/small --store rows.sqlite", code=130)
    assert "3 of 5 units are stored in rows.sqlite; resume with: optsched" in error


# --- exit codes


def test_code_1_infeasible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(COLUMNS, lambda *_: Outcome(None, Termination.INFEASIBLE))
    result = json.loads(quiet("solve small.json --method columns --json -o none.json", code=1))
    assert result["termination"] == "infeasible"
    assert result["solution"] is None
    assert not Path("none.json").exists()


USAGE = f"""
$ compare exact --methods exact
compare: PATH: found none, expected files, folders or shipped names
$ generate
Missing command. (see optsched generate --help)
$ solve
Missing argument 'FILE'. (see optsched solve --help)
$ solve nowhere.json
nowhere.json: no such file or instance; `optsched instances list` shows the names
$ check small.json nowhere.json
nowhere.json: found No such file or directory, expected a readable file
$ solve .
.: found 2 instances, expected one
$ solve small.json --method magic
placement: method: found 'magic', expected one of {", ".join(METHODS)}
$ solve small.json --solver magic
settings: solver: found 'magic', expected one of highs, scip, cbc, cplex, glpk, gurobi, xpress
$ solve small.json --method heavyedge
placement: method: found 'heavyedge', expected 'heavy-edge'
$ solve placement/vgg19_16
placement/vgg19_16: no such file or instance; did you mean 'placement/vgg19-16'?
$ check small.json other.json
other.json: schema: found 'optsched/placement', expected 'optsched/placement-solution'
$ solve small.json --option colour=red
options: 'colour': found an unknown option, expected one of all_reduce_bandwidth,
    backward_overlap, all_reduce_overlap
$ solve small.json --option all_reduce_bandwidth=half
options: all_reduce_bandwidth: found 'half', expected own or bottleneck
$ solve small.json --option colour
--option: found 'colour', expected K=V, each K once
$ solve small.json --time-limit -1
settings: time_limit: found -1.0, expected a finite number in [0, 1e+18]
$ solve small.json --seed -1
settings: seed: found -1, expected an integer in [0, 2^63 - 1]
$ generate placement --gpus 0 -o made
generate placement: gpus: found 0, expected an integer in [1, 4096]
$ compare small.json --json --csv x.csv
compare: found --json and --csv, expected one of them
$ schema magic
schema: found 'magic', expected one of {", ".join(SCHEMAS)}
$ reproduce magic -o made
reproduce: artefact: found 'magic', expected one of {", ".join(ARTEFACTS)}
$ reproduce
reproduce: found no artefact or no -o, expected ARTIFACT... -o DIR, or --list
$ export small.json --method columns --format lp -o x.lp
method columns: found no Pyomo model, expected one of ilp, ilp-vertex, min-cut
$ import pipedream graph.txt --gpus 4 --servers 3,2 -o x
import pipedream: --servers: found a sum of 5, expected --gpus 4
"""
"""Commands, and the one line of each but for the program's name."""


@pytest.mark.parametrize(("command", "line"), transcript(USAGE))
def test_code_2_one_line(command: str, line: str) -> None:
    write("other.json", INSTANCE)
    before = sorted(os.listdir())
    assert run(command) == (2, "", f"optsched: {line}\n")
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    "argv",
    [
        *(["magic"], ["solve --magic"], ["import magic x"], ["solve a b"]),
        *(["solve small.json --seed x"], ["methods", "\x1b[31m\n"]),
    ],
)
def test_code_2_usage(argv: list[str]) -> None:
    line = refusal(*argv)
    assert line.isprintable()
    assert line.endswith(" --help)")


def test_code_2_unwritable() -> None:
    Path("file").write_text("", encoding="utf-8")
    for command in (
        "solve small.json -o file/solution.json",
        "generate placement -o file",
        "instances copy file",
        "export small.json --method ilp --format lp -o file/model.lp",
        "compare small.json --csv file/table.csv --methods heavy-edge",
    ):
        assert stderr_of(command, code=2).splitlines()[-1].startswith("optsched: file"), command


def test_code_3_limit_without_solution() -> None:
    """Ours have a heuristic's answer at any limit; a caller's method may have a bound alone."""
    Path("late_method.py").write_text(
        "from optsched.result import Outcome, Termination\n\n"
        "def late(instance, options, settings):\n"
        "    return Outcome(None, Termination.TIME_LIMIT, bound=1e-9)\n"
    )
    command = "solve placement/fig2 --method late_method:late --time-limit 0"
    result = json.loads(quiet(f"{command} --json -o none.json", code=3))
    assert result["termination"] == "time-limit"
    assert all(result[key] is None for key in ("objective", "gap", "excess", "check", "solution"))
    assert result["bound"] > 0
    assert not Path("none.json").exists()


def test_code_0_incumbent_at_the_limit() -> None:
    run("generate placement --gpus 16 --seed 3 -o .")
    result = json_of("solve vgg19-16-s3.json --method ilp --time-limit 0")
    assert result["check"]["feasible"] is True


def test_code_4_solver_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Outcome:
        raise SolverError("HiGHS ended\nwith a bang")

    monkeypatch.setattr(COLUMNS, fail)
    line = "optsched: HiGHS ended with a bang\n"
    assert run("solve small.json --method columns") == (4, "", line)
    rows = json_of("compare small.json --methods heavy-edge,columns", code=1)
    assert [r["termination"] for r in rows] == ["feasible", "error"]


def test_code_4_a_solution_that_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    from optsched.placement.solution import PlacementSolution

    wrong = PlacementSolution.of("small", [[4, 0], [1, 0]])
    monkeypatch.setattr(COLUMNS, lambda *_: Outcome(wrong, Termination.OPTIMAL))
    result = json_of("solve small.json --method columns", code=4)
    assert result["termination"] == "error"
    assert result["check"]["feasible"] is False


def test_code_4_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Outcome:
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr(COLUMNS, fail)
    hint = "(set OPTSCHED_DEBUG=1 for the traceback)"
    line = f"optsched: internal error: ZeroDivisionError: by zero {hint}\n"
    assert run("solve", "small.json", "--method", "columns") == (4, "", line)
    monkeypatch.setenv("OPTSCHED_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run("solve", "small.json", "--method", "columns")


@pytest.mark.skipif(os.name == "nt", reason="closed pipes: POSIX only")
@pytest.mark.parametrize("argv", [("instances", "list"), ("--help",)])
def test_a_closed_pipe_is_quiet(argv: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = program(*argv, capture_output=False, stdout=writing, stderr=subprocess.PIPE)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_program_itself() -> None:
    done = program("methods", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert {row["problem"] for row in json.loads(done.stdout)} == set(PROBLEMS)
    done = program("solve", "nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


# --- compare


def test_compare_lists_rows_without_solutions_under_one_bound() -> None:
    run("generate", "placement", "--gpus", "16", "--count", "2", "-o", "made")
    methods = ["heavy-edge", "repartition", "columns"]
    rows = json_of("compare made --methods", ",".join(methods))
    assert [row["method"] for row in rows] == methods * 2
    for row in rows:
        assert set(row) >= RESULT_KEYS - {"solution"}
        assert "solution" not in row
        same = [r for r in rows if r["instance"] == row["instance"]]
        proved = next(r["objective"] for r in same if r["method"] == "columns")
        assert row["bound"] == pytest.approx(proved, rel=1e-9)
        assert row["bound"] == same[0]["bound"]
        assert row["excess"] == row["objective"] / row["bound"] - 1


def test_compare_by_default_and_for_people() -> None:
    out = printed("compare small.json")
    for word in ("heavy-edge", "repartition", "exact", "objective (ms)", "best bound", "excess %"):
        assert word in out
    assert "exact: excess over the best proven bound 0.00% mean" in out


def test_compare_csv() -> None:
    command = "compare small.json --methods heavy-edge,columns"
    rows = json_of(command)
    printed(f"{command} --csv table.csv")
    with open("table.csv", newline="", encoding="utf-8") as stream:
        table = list(csv.DictReader(stream))
    assert [line["method"] for line in table] == ["heavy-edge", "columns"]
    assert [float(line["objective"]) for line in table] == [row["objective"] for row in rows]
    assert {line["feasible"] for line in table} == {"True"}


UPDATE = "compare small.json --update-best best.json --methods columns"


def test_best_known_never_worsens() -> None:
    printed(UPDATE)
    best = read("best.json")
    assert set(best["small"]) == {"sha256", "objective", "bound", "method", "command"}
    assert best["small"]["method"] == "columns"
    assert best["small"]["command"] == "optsched solve small.json --method columns"
    printed(UPDATE.replace("columns", "heavy-edge"))
    assert read("best.json") == best

    write("best.json", {"small": best["small"] | {"method": "by hand", "bound": None}})
    printed(UPDATE)
    kept = read("best.json")["small"]
    assert (kept["objective"], kept["method"]) == (best["small"]["objective"], "by hand")
    assert kept["bound"] == best["small"]["bound"]

    worse = {"objective": best["small"]["objective"] * 2, "bound": 0.0, "method": "by hand"}
    write("best.json", {"small": best["small"] | worse})
    printed(UPDATE)
    assert read("best.json") == best


def test_best_known_never_holds_a_bound_above_its_value() -> None:
    printed(UPDATE)
    best = read("best.json")["small"]
    value = best["objective"]
    rounded = math.nextafter(value, 0.0)
    write("best.json", {"small": best | {"objective": rounded, "bound": value}})
    printed(UPDATE)
    kept = read("best.json")["small"]
    assert kept["bound"] == kept["objective"] == rounded

    impossible = {"objective": value / 2, "bound": None, "method": "by hand"}
    write("best.json", {"small": best | impossible})
    line = stderr_of(UPDATE, code=2).splitlines()[-1]
    assert "by hand, expected at least the bound proved" in line


def test_best_known_refuses_another_instance_of_the_name() -> None:
    printed(UPDATE)
    before = Path("best.json").read_bytes()
    write("small.json", {**INSTANCE, "free_gpus": [2, 3]})
    assert stderr_of(UPDATE, code=2).splitlines()[-1] == (
        "optsched: best.json: small: found the hash of another instance, expected the same instance"
    )
    assert Path("best.json").read_bytes() == before


# --- what makes files


def test_import_pipedream() -> None:
    Path("net.graph.txt").write_text(GRAPH, encoding="utf-8")
    command = "import pipedream net.graph.txt --gpus 6 --servers 3,2,1"
    code, out, error = run(f"{command} -o net.json --stages 2 --name mine")
    assert (code, out) == (0, "")
    assert len(error.splitlines()) == 1
    made = read("net.json")
    assert (made["name"], made["job"]["model"]) == ("mine", "net")
    assert made["free_gpus"] == [3, 2, 1]
    assert len(made["job"]["stages"]) == 2
    assert sum(stage["replicas"] for stage in made["job"]["stages"]) == 6
    json_of("compare net.json")


@pytest.mark.parametrize("file_format", ["mps", "lp", "nl"])
@pytest.mark.parametrize("method", ["ilp", "ilp-vertex", "min-cut"])
def test_export(method: str, file_format: str) -> None:
    name = f"made/model.{file_format}"
    code, out, error = run(f"export small.json --method {method} --format {file_format} -o {name}")
    unit = "min bytes cut / total bytes" if method == "min-cut" else r"min alpha, in [\d.e-]+ s"
    assert (code, out) == (0, "")
    assert re.fullmatch(rf"wrote {name}: (\(C0\) )?{unit}\n", error)
    marks = {"mps": "ROWS", "lp": "s.t.", "nl": "g3"}
    assert marks[file_format] in Path(name).read_text(encoding="utf-8")
    assert os.listdir("made") == [f"model.{file_format}"]


# --- what travels with the package


def test_instances_list_and_copy() -> None:
    names = printed("instances list").split()
    assert "placement/vgg19-16" in names
    printed("instances copy mine")
    files = Path("mine").rglob("*.json")
    copied = {f"{p.parts[1]}/{p.stem}" for p in files}
    assert Path("mine/placement/efficient/vgg19-64-50g.json").is_file()
    copied |= {f"online/{p.parent.name}" for p in Path("mine").glob("online/*/workload.csv")}
    copied |= {f"plans/{p.stem}" for p in Path("mine/plans").glob("*.toml")}
    assert {"plans/placement", "plans/online"} <= set(names) <= copied
    line = refusal("instances copy mine")
    assert line.endswith("found an existing file, expected an empty folder")


def test_methods() -> None:
    everything = json_of("methods")
    rows = [row for row in everything if row["problem"] == "placement"]
    assert [row["method"] for row in rows] == list(METHODS)
    assert {row["problem"] for row in everything} == set(PROBLEMS)
    defaults = [row["method"] for row in rows if row["default"]]
    assert defaults == ["heavy-edge", "first-fit", "repartition", "exact"]
    assert all(name in run("methods")[1] for name in METHODS)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ImportError("initialization failed"), 130),
        (AttributeError("partially initialized module 'numba.core.types' has no attribute"), 130),
        (AttributeError("partially initialized module 'mine' has no attribute"), 4),
    ],
)
def test_an_error_because_of_an_interrupt_is_the_interrupt(
    error: Exception, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compiled module turns an interrupt of its import into another error, or stays in halves."""

    def interrupted(*_: object, **__: object) -> None:
        raise error from KeyboardInterrupt() if isinstance(error, ImportError) else None

    monkeypatch.setattr("optsched.cli.run.solve_instance", interrupted)
    said = stderr_of("solve placement/fig2", code=code).strip()
    assert (said == "optsched: interrupted") == (code == 130)
