"""The rolling format, the generator and the command line."""

import gzip
import os
from pathlib import Path
from typing import Any

import pytest
from commands import json_of, printed, refusal, stderr_of
from rolling.small import three_jobs

import optsched
from optsched.errors import InputError
from optsched.files import write_document
from optsched.generators.rolling import (
    generate_from_trace,
    generate_rolling,
    read_trace,
    rolling_settings,
)
from optsched.rolling.instance import RollingInstance
from optsched.rolling.options import RollingOptions
from optsched.rolling.runs import run_policies

KEYS = {
    "policy", "total_cost", "energy_cost", "tardiness_cost", "late_jobs", "cost_bound", "audit",
    "decision_time",
}  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A file of the three jobs worked by hand."""
    write_document(tmp_path / "f.json", three_jobs().to_dict())
    return str(tmp_path / "f.json")


@pytest.mark.parametrize(
    ("change", "at"),
    [
        ({"submit_time": -1.0}, "submit_time"),
        ({"submit_time": float("nan")}, "submit_time"),
        ({"true_epochs": 11}, "true_epochs"),
        ({"true_epochs": 0}, "true_epochs"),
        ({"true_epochs": 3, "completed_epochs": 3}, "true_epochs"),
        ({"arrival": 3}, "arrival"),
    ],
)
def test_hostile_jobs_are_refused_in_a_line(change: dict[str, Any], at: str) -> None:
    document = three_jobs().to_dict()
    document["jobs"][0] |= change
    with pytest.raises(InputError) as caught:
        RollingInstance.from_dict(document, "f")
    assert str(caught.value).startswith(f"f: jobs[0].{at}")
    assert "\n" not in str(caught.value)


def test_hostile_files_are_refused() -> None:
    for key, value in (("interval", 0.0), ("reconfiguration_delay", -1.0), ("schema", "x")):
        with pytest.raises(InputError, match=key):
            RollingInstance.from_dict(three_jobs().to_dict() | {key: value}, "f")


def test_arrivals_follow_the_paper() -> None:
    """Exponential gaps of mean 50,000 / nodes; the high rate is four times the low one."""

    def last(arrivals: str) -> float:
        settings = rolling_settings(10, jobs=800, arrivals=arrivals)
        return max(job.submit_time for job in generate_rolling(settings, seed=1).jobs)

    assert len(generate_rolling(rolling_settings(3, arrivals="poisson-low")).jobs) == 30
    assert last("exponential") / 800 == pytest.approx(5000, rel=0.1)
    assert last("poisson-low") == pytest.approx(4 * last("poisson-high"), rel=1e-6)


def test_settings_out_of_range_are_refused() -> None:
    for change in ({"load": 0.0}, {"arrivals": "weekly"}, {"a100_speed": 100.0}, {"nodes": 0}):
        with pytest.raises(InputError):
            rolling_settings(**change)


def test_a_trace_gives_arrivals_and_durations(tmp_path: Path) -> None:
    """A job's expected time on one GPU of its slowest type is the trace's duration."""
    path = tmp_path / "trace.csv"
    path.write_text("job_id,submit_time,duration\na,50,3600\nb,20,1800\nc,90,0\nd,80,60\n")
    rows = read_trace(path)
    assert [(row.submit_time, row.duration) for row in rows] == [(0, 1800), (30, 3600), (60, 60)]
    made = generate_from_trace(rolling_settings(3, jobs=3), rows, seed=1)
    for row, one in zip(rows, made.jobs, strict=True):
        assert expected_seconds(one, 1) == pytest.approx(row.duration)
        assert one.submit_time == row.submit_time


def expected_seconds(job: Any, gpus: int) -> float:
    mean = sum(w * p for w, p in zip(job.epochs.values, job.epochs.probabilities, strict=True))
    return mean * max(times[gpus - 1] for times in job.epoch_time.values())


DUE = {
    None: """submit_time,duration,gpus,due_date
50,3600,2,4000
20,1800,8,
90,60,0,100
95,60,0.5,70
""",
    "chronus": """job_id,user,num_gpu,submit_time,duration,model_name,expect_time_list,best_effort
a,u,2,50,3600,vgg16,3950-5000,0
b,u,8,20,1800,vgg16,20,1
c,u,0,90,60,vgg16,70,0
d,u,1,95,60,vgg16,later,0
""",
}


@pytest.mark.parametrize("file_format", DUE)
def test_a_trace_gives_gpus_and_due_dates(tmp_path: Path, file_format: str | None) -> None:
    """Rows of no GPUs are left out; without a due date, or a readable one, (31) gives it."""
    (tmp_path / "trace.csv").write_text(DUE[file_format])
    due_dates = [None, 3980, 50 if file_format is None else None]
    rows = read_trace(tmp_path / "trace.csv", file_format=file_format)
    assert [row.submit_time for row in rows] == [0, 30, 75]
    assert [row.due_date for row in rows] == due_dates
    options = ["--trace", tmp_path / "trace.csv", "-o", tmp_path]
    options += ["--trace-format", file_format] if file_format else []
    for problem in ("rolling", "selection"):
        printed(f"generate {problem} --nodes 3 --name {problem}", *options)
    made, queue = (optsched.load(tmp_path / f"{name}.json") for name in ("rolling", "selection"))
    # 8 GPUs where a node has 4: twice as long
    for job, gpus, seconds in zip(made.jobs, (4, 2, 1), (2 * 1800, 3600, 60), strict=True):
        assert expected_seconds(job, gpus) == pytest.approx(seconds)
    for job, queued, due in zip(made.jobs, queue.jobs, due_dates, strict=True):
        assert due is None or job.due_date == queued.due_date == due
        assert due is not None or job.due_date > job.submit_time
        assert expected_seconds(queued, 1) == pytest.approx(expected_seconds(job, 1))
    assert queue.now == 75
    assert optsched.solve(queue, "sts").check.feasible


SMALL_PHILLY = """timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:01:55,66.0,1,66.0,a
2017-10-09 06:13:03,2951.0,1,2951.0,b
2017-10-09 07:13:03,120.0,2,240.0,a
"""


def test_an_imported_trace_likewise(tmp_path: Path) -> None:
    path = tmp_path / "philly.csv.gz"
    path.write_bytes(gzip.compress(SMALL_PHILLY.encode()))
    rows = read_trace(path, file_format="philly-csv")
    assert [(row.submit_time, row.duration) for row in rows] == [(0, 2951), (2932, 66), (3600, 120)]
    command = ("generate rolling --nodes 3 --jobs 2 -o", tmp_path, "--trace-format")
    printed(*command, "philly-csv", "--trace", path)
    made = optsched.load(tmp_path / "3x2-trace-s0.json")
    assert [job.submit_time for job in made.jobs] == [0, 2932]
    assert "expected one of pai" in refusal(*command, "parchment", "--trace", path)
    refusal(*command, "muri")


REAL = {
    "philly_sia.csv.gz": "philly-csv",
    "muri_trace1.csv.gz": "muri",
    "chronus_philly_MIX1.csv.gz": "chronus",
    "shockwave_120.trace": "gavel",
}


@pytest.mark.parametrize(
    "file", [pytest.param(f, marks=() if "chronus" in f else pytest.mark.full) for f in REAL]
)
def test_real_traces_roll(file: str) -> None:
    if "OPTSCHED_DATA" not in os.environ:
        pytest.skip("OPTSCHED_DATA is not set")
    path = Path(os.environ["OPTSCHED_DATA"]) / "traces" / file
    rows = read_trace(path, max_jobs=60, file_format=REAL[file])
    assert all(row.duration is not None for row in rows)
    assert any(row.due_date is not None for row in rows) == (REAL[file] == "chronus")
    made = generate_from_trace(rolling_settings(6, jobs=60), rows, seed=1)
    assert [job.submit_time for job in made.jobs] == pytest.approx([r.submit_time for r in rows])
    for each in run_policies(made, ("sts", "price")):
        assert each.check.feasible
        assert each.load > 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a,b\n1,2\n",
        "submit_time\n",
        "submit_time\nx\n",
        "submit_time,due_date\n1,soon\n",
        "submit_time,gpus\n1,\n",
    ],
)
def test_a_bad_trace_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(text)
    with pytest.raises(InputError):
        read_trace(path)


def test_roll_prints_the_contracts_json(path: str) -> None:
    folder = Path(path).parent
    rows = json_of("roll --policy sts,edf", path, "--records", folder)
    assert [row["policy"] for row in rows] == ["sts", "edf"]
    assert all(set(row) >= KEYS for row in rows)
    assert [row["total_cost"] for row in rows] == pytest.approx([123, 193])
    assert all(row["audit"] == {"feasible": True, "violations": []} for row in rows)
    assert all(0 < row["cost_bound"] <= 123 for row in rows)
    assert (folder / "small-sts-s0.json").is_file()


@pytest.mark.parametrize(
    "command",
    [
        "roll FILE --policy nobody",
        "roll FILE --option node_opening=printed",
        "roll FILE --option wake=soon",
        "roll FILE --option rounds=1.5",
        "roll FILE --option memory=nan",
        "solve FILE --method nobody",
        "roll none.json",
    ],
)
def test_commands_are_refused_in_a_line(path: str, command: str) -> None:
    refusal("", *(path if word == "FILE" else word for word in command.split()))


def test_generate_writes_files(tmp_path: Path) -> None:
    err = stderr_of("generate rolling --nodes 2 --count 2 -o", tmp_path)
    assert len(list(tmp_path.glob("*.json"))) == 2
    assert err.count(": load ") == 2
    assert err.count("clairvoyant plan: K80 ") == 2


def test_an_interrupted_roll_keeps_the_complete_runs(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("optsched.rolling.policies.queue.Queue.decide", interrupt)
    rows = json_of("roll --policy sts,edf,price", path, code=130)
    assert [row["policy"] for row in rows] == ["sts"]
    assert rows[0]["total_cost"] == pytest.approx(123)
    printed("roll --policy edf", path, code=130)


def test_due_dates_do_not_depend_on_the_speed_of_a_kept_type() -> None:
    asked = {"jobs": 12, "gpu_types": ("A100",)}
    usual, slow = (
        generate_rolling(rolling_settings(2, **asked, a100_speed=speed), seed=3)
        for speed in (1.0, 0.5)
    )
    assert [job.due_date for job in slow.jobs] == [job.due_date for job in usual.jobs]
    assert slow.jobs[0].epoch_time["A100"] != usual.jobs[0].epoch_time["A100"]


def test_a_repeat_draws_other_orders_on_the_same_epochs() -> None:
    tiny = generate_rolling(rolling_settings(3, jobs=8, arrivals="load", load=0.6), seed=3)

    def epochs_and_cost(repeat: int) -> tuple[list[float], float | None]:
        result = optsched.solve(tiny, "rg", options={"repeat": repeat}, seed=3, iterations=2)
        return [job.epochs for job in result.solution.run.jobs], result.objective

    (first, cost), (same, again), (other, changed) = map(epochs_and_cost, (0, 0, 2))
    assert first == same == other
    assert (cost == again, cost == changed) == (True, False)


@pytest.mark.parametrize("repeat", [-1, 1.0, True, "two"])
def test_a_repeat_that_cannot_be_is_refused(repeat: object) -> None:
    with pytest.raises(InputError, match=r"repeat: found .* expected an integer"):
        RollingOptions.from_dict({"repeat": repeat})
    assert "repeat" not in RollingOptions.from_dict({"repeat": 0}).to_dict()
    assert RollingOptions.from_dict({"repeat": 2}).to_dict()["repeat"] == 2
