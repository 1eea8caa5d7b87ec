"""Importers: every format by hand, rules counted, wrong units and junk refused, real files read."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import refusal, stderr_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from optsched.errors import InputError
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.jobs import prepare_jobs
from optsched.online.data.workload_files import read_workload, write_workload
from optsched.online.traces import FORMATS
from optsched.online.traces.importing import explain_trace, import_trace, workload_of_trace
from optsched.online.traces.trace import Trace

CASES = Path(__file__).parents[1] / "cases"
SAMPLES = {
    "csv": "Submitted At;GPU Count;Runtime;Owner;Job Name;Start\n"
    "2026-01-05 09:00;8;1:30:00;ann;train;2026-01-05 09:10\n"
    "2026-01-05 09:05;1;600;bo;eval;\n2026-01-05 09:06;0;5;bo;eval;\n",
    "sacct": "JobID|User|Account|JobName|Submit|Start|End|Elapsed|Timelimit|ReqTRES|AllocTRES|\n"
    "7|ann|vision|bert|2026-01-05T09:00:00|2026-01-05T09:10:00|2026-01-06T11:10:00|1-02:00:00|"
    "2-00:00:00|cpu=8,gres/gpu=8|billing=9,cpu=8,gres/gpu:v100=8,gres/gpu=8,mem=64G|\n"
    "7.batch||vision|batch|2026-01-05T09:10:00|2026-01-05T09:10:00|2026-01-06T11:10:00|"
    "1-02:00:00|||cpu=8,gres/gpu=8|\n"
    "8|bo|speech|asr|2026-01-05T09:05:00|2026-01-05T09:05:00|2026-01-05T09:15:00|00:10:00|"
    "UNLIMITED|cpu=1,gres/gpu:v100=1|cpu=1,gres/gpu:v100=1,gres/gpu:a100=1|\n"
    "9|bo|speech|asr|2026-01-05T09:06:00|Unknown|Unknown|00:00:00|UNLIMITED|gres/gpu=1||\n"
    "10|bo|speech|cpu|2026-01-05T09:07:00|2026-01-05T09:07:00|2026-01-05T09:08:00|00:01:00||"
    "cpu=2|cpu=2|\n",
    "kubernetes": '{"apiVersion": "v1",\n"items": [{"kind": "Job", "metadata": {"name": '
    '"train-bert-17", "namespace": "vision", "uid": "a", "labels": {"user": "ann"}, '
    '"creationTimestamp": "2026-01-05T09:00:00Z"}, "spec": {"parallelism": 2, '
    '"activeDeadlineSeconds": 7200, "template": {"spec": {"containers": [{"resources": '
    '{"limits": {"nvidia.com/gpu": "4"}}}]}}}, "status": {"startTime": "2026-01-05T09:00:00Z", '
    '"completionTime": "2026-01-05T10:00:00Z"}},\n{"kind": "Service"}], "kind": "List"}',
    "pai": "job_id,user,num_gpu,num_cpu,num_pod,duration,job_name,submit_time,group,gpu_type,"
    "wait_time,user_dur\n"
    "1,u1,0.5,6,1,100,n,50,ga,T4,1,9\n"  # half a GPU: rounded up
    "2,u1,2,6,4,10,n,20,ga,T4,1,9\n"  # 2 GPUs over 4 pods: 2, not 8; before the row above
    "3,u2,0,6,1,10,n,60,gb,T4,1,9\n"  # CPU
    "4,u2,1,6,1,,n,60,gb,T4,1,9\n"  # no duration
    "5,u2,1,6,1,0,n,60,gb,T4,1,9\n"  # zero duration
    "6,u2,1,6,1,7,n,,gb,T4,1,9\n"  # no submission
    "7,u2,1\n"  # short
    "8,u2,8,6,1,30,n,70,gb,V100,1,9\n",
    "philly-csv": "timestamp,duration,num_gpus,gpu_time,cluster\n"
    "2017-10-09 07:01:55,66.0,1,66.0,a\n2017-10-09 07:01:00,10,8,80,b\n,5,1,5,a\n",
    "philly-json": '[{"status": "Pass", "vc": "v", "jobid": "j1", "user": "u", '
    '"submitted_time": "2017-10-09 07:01:55", "attempts": [{"start_time": "2017-10-09 07:02:00",'
    ' "end_time": "2017-10-09 07:03:00", "detail": [{"ip": "m1", "gpus": ["g0", "g1"]},'
    ' {"ip": "m2", "gpus": ["g0"]}]}, {"start_time": "2017-10-09 07:04:00", "end_time": null,'
    ' "detail": []}]},\n{"jobid": "j2", "vc": "v", "user": "u", "submitted_time": '
    '"2017-10-09 07:00:55", "attempts": []},\n{"jobid": "j3"}]\n',
    "helios": "job_id,user,vc,jobname,gpu_num,cpu_num,state,submit_time,start_time,end_time,"
    "duration,queue\n"
    "1,u,v,train,4,8,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:01:00,2020-04-01 00:02:00,60,60\n"
    "2,u,v,train,0,8,COMPLETED,2020-04-01 00:00:01,,,5,0\n"
    "3,u,v,eval,1,8,FAILED,2020-04-01 00:00:09,2020-04-01 00:01:00,2020-04-01 00:01:30,,1\n",
    "muri": "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,"
    "iteration_time\n0,1,1000,10,dqn,128,4900,1,490\n1,8,3000,10,vgg,16,x,1,490\n",
    "chronus": "job_id,user,num_gpu,submit_time,iterations,model_name,duration\n"
    "0,vc,1,8555,5049,vgg16,747\n1,vc,0,1,1,vgg16,9\n",
    "gavel": "A (batch size 1)\tcd\tx\t-n\t1\t500\t2\tgns\t1\t-1\t250\t10.0\n"
    "B\tcd\tx\t-n\t1\t500\t1\tgns\t1\t-1\t0\t5.0\nbad\n",
    "swf": "; a comment\n1 0 5 100 4 -1 -1 4 -1 -1 1 7 1 3 1 1 -1 -1\n"
    "2 9 5 -1 4 -1 -1 4 -1 -1 0 7 1 3 1 1 -1 -1\n"
    "3 3 5 60 -1 -1 -1 2 -1 -1 1 8 1 3 1 1 -1 -1\n4 x\n",
}


def imported(tmp_path: Path, name: str, text: str | None = None, **options: Any) -> Trace:
    path = tmp_path / f"{name}.txt"
    path.write_text(SAMPLES[name] if text is None else text)
    return import_trace(name, path, **options)


NO_TIME = "missing or negative submission time"
DROPPED = {  # once each
    "csv": ["0 GPUs"],
    "sacct": ["job step", "not ended", "0 GPUs"],
    "kubernetes": ["neither a job nor a pod"],
    "pai": ["0 GPUs", "no duration", "no positive duration", NO_TIME, "wrong number of columns"],
    "philly-csv": [NO_TIME],
    "philly-json": ["0 GPUs", "no list of attempts"],
    "helios": ["0 GPUs"],
    "muri": ["unreadable duration"],
    "chronus": ["0 GPUs"],
    "gavel": ["no positive duration", "not 7, 9, 10, 11 or 12 fields"],
    "swf": ["no positive duration", "not 18 fields"],
}
JOBS = {  # job, submission, duration, GPUs, user, group
    "csv": [("p2", 0, 5400, 8, "ann", "ann/train/8"), ("p3", 300, 600, 1, "bo", "bo/eval/1")],
    "sacct": [("7", 0, 93600, 8, "ann", "vision"), ("8", 300, 600, 2, "bo", "speech")],
    "kubernetes": [("vision/train-bert-17", 0, 3600, 8, "ann", "vision/train-bert/8")],
    "pai": [
        ("2", 0, 10, 2, "u1", "ga"),
        ("1", 30, 100, 1, "u1", "ga"),
        ("8", 50, 30, 8, "u2", "gb"),
    ],
    "philly-csv": [("p3", 0, 10, 8, "b", "b/8"), ("p2", 55, 66, 1, "a", "a/1")],
    "philly-json": [("j1", 0, 60, 3, "u", "v/u/3")],
    "helios": [("1", 0, 60, 4, "u", "u/train"), ("3", 9, 30, 1, "u", "u/eval")],
    "muri": [("0", 0, 4.9, 1, "", "dqn/128/1")],
    "chronus": [("0", 0, 747, 1, "vc", "vc/vgg16/1")],
    "gavel": [("g1", 0, 250, 2, "", "A (batch size 1)/2")],
    "swf": [("1", 0, 100, 4, "7", "7/3/4"), ("3", 3, 60, 2, "8", "8/3/-1")],
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_formats(tmp_path: Path, name: str) -> None:
    trace = imported(tmp_path, name)
    columns = (trace.job_id, trace.submit, trace.duration, trace.gpus)
    jobs = zip(*(c.tolist() for c in columns), trace.user.text(), trace.group.text(), strict=True)
    assert list(jobs) == JOBS[name]
    assert trace.report.dropped == dict.fromkeys(DROPPED[name], 1)
    assert trace.report.kept == len(trace)
    assert trace.report.rows == len(trace) + len(DROPPED[name])


def test_pai_multiplies_only_what_is_per_instance(tmp_path: Path) -> None:
    """num_gpu is a total beside num_pod, and that of one instance beside num_inst."""
    common = "duration,submit_time,group"
    text = f"job_id,user,num_gpu,num_cpu,num_pod,{common}\n1,u,3,72,12,60,0,g\n2,u,1,6,,60,1,g\n"
    assert imported(tmp_path, "pai", text).gpus.tolist() == [3, 1]
    text = (
        f"job_id,user,num_gpu,num_inst,{common}\n"
        "1,u,0.5,12,60,0,g\n2,u,2,3,60,1,g\n3,u,2,,60,2,g\n4,u,2,0,60,3,g\n"
    )
    trace = imported(tmp_path, "pai", text)
    assert trace.gpus.tolist() == [6, 6, 2]  # 0.5 x 12, 2 x 3, one instance
    assert trace.report.dropped == {"num_inst below 1": 1}


# --- durations of Gavel's and Shockwave's files


@pytest.mark.parametrize(
    "line",
    [
        "A\tcd x\t-n\t1\t500\t10.0\t2",
        "A\tcd x\t-n\t1\t500\t2\t1\t-1.0\t10.0",
        "A\tcd x\tfolder\t-n\t1\t500\t2\t1\t-1.0\t10.0",
        "A\tcd x\tfolder\t-n\t1\t500\t2\tstatic\t1\t-1.0\t10.0",
    ],
    ids=["7", "9", "10", "11"],
)
def test_steps_take_a_throughput(tmp_path: Path, line: str) -> None:
    """500 steps on 2 GPUs at 4 steps a second."""
    with pytest.raises(InputError, match="steps but no duration, expected"):
        imported(tmp_path, "gavel", f"{line}\n")
    speeds = tmp_path / "speeds.json"
    speeds.write_text(json.dumps({"v100": {"('A', 2)": {"null": 4.0, "('A', 1)": [1, 2]}}}))
    trace = imported(tmp_path, "gavel", f"{line}\nB{line[1:]}\n", throughputs=speeds)
    assert (trace.duration.tolist(), trace.gpus.tolist()) == ([125], [2])
    assert trace.report.lines()[1:] == [
        "dropped 1: no throughput on v100 (first at line 2: \"('B', 2)\")"
    ]


def test_a_file_of_steps(tmp_path: Path) -> None:
    """Steps = throughput x the stated seconds, rounded to whole steps."""
    right = json.loads((CASES / "gavel-steps.right.json").read_text())["seconds_of_each_line"]
    lines = (CASES / "gavel-steps.trace").read_text().splitlines()
    rows = [line.split("\t") for line in lines]
    throughputs = {
        repr((row[0], int(row[6]))): {"null": int(row[5]) / seconds}
        for row, seconds in zip(rows, right, strict=True)
    }
    path = tmp_path / "speeds.json"
    path.write_text(json.dumps({"v100": throughputs}))
    trace = import_trace("gavel", CASES / "gavel-steps.trace", throughputs=path)
    assert trace.duration == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize(
    "text", ["{}", "[]", '{"v100": 1}', '{"v100": {"a": 1}}', '{"v100": {"a": {"null": -1}}}']
)
def test_throughputs_of_another_form_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "speeds.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"speeds\.json"):
        import_trace("gavel", CASES / "gavel-steps.trace", throughputs=path)
    with pytest.raises(InputError, match="the format gavel"):
        imported(tmp_path, "swf", throughputs=path)


# --- cells


HEAD = "timestamp,duration,num_gpus,cluster\n"


@pytest.mark.parametrize(
    ("cells", "seconds", "gpus"),
    [
        ("2026-01-05 09:00:00,1-00:00:01,gpu:v100:2,v", 86401, 2),
        ("2026-01-05T09:00:00+01:00,1 day 1:00:00.5,gres/gpu=4,v", 90000.5, 4),
        ("2026/1/5 09:00,10:00:00,gpu:1(IDX:0),v", 36000, 1),
        ('5.1.2026 09:00,"1,234,567.5",8,v', 1234567.5, 8),
        ("2026-01-05 09:00:00,60,1,v,,", 60, 1),  # trailing commas
        ("0:30:00,60,1,v", 60, 1),
    ],
)
def test_notations_of_one_row(tmp_path: Path, cells: str, seconds: float, gpus: int) -> None:
    trace = imported(tmp_path, "philly-csv", f"{HEAD}{cells}\n")
    assert (trace.duration.tolist(), trace.gpus.tolist()) == ([seconds], [gpus])


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ("2026-01-05,1h30,8,v", "unreadable duration (first at line 2: '1h30')"),
        ("2026-01-05,90:00,8,v", "unreadable duration (first at line 2: '90:00')"),
        ('2026-01-05,"5,4",8,v', "unreadable duration (first at line 2: '5,4')"),
        ("05/01/2026,60,8,v", "unreadable submission time (first at line 2: '05/01/2026')"),
        ("31.02.2026,60,8,v", "unreadable submission time (first at line 2: '31.02.2026')"),
        ("1767603600000000,60,8,v", "'1767603600000000'"),
        ("2026-01-05,60,eight,v", "unreadable number of GPUs (first at line 2: 'eight')"),
        ("2026-01-05,10,800,8,v", "wrong number of columns (first at line 2: '5 of 4')"),
        ("2026-01-05,-5,8,v", "no positive duration (first at line 2: '-5')"),
    ],
)
def test_a_refusal_quotes_the_first_of_each_reason(tmp_path: Path, cells: str, reason: str) -> None:
    other = "2026-01-05,,8,v" if cells.startswith("2026-") else ",60,8,v"
    with pytest.raises(InputError) as refused:
        imported(tmp_path, "philly-csv", f"{HEAD}{cells}\n{other}\n")
    assert "no usable job in 2 rows (" in str(refused.value)
    assert reason in str(refused.value)
    assert "line 3" in str(refused.value)


# --- units, clocks and columns


def test_each_is_read_by_its_own_importer() -> None:
    assert import_trace("chronus", CASES / "like-tiresias.csv").duration.tolist() == [200, 950]
    assert import_trace("muri", CASES / "like-muri.csv").duration.tolist() == [2000, 4800]
    shockwave = import_trace("gavel", CASES / "shockwave-12-fields.trace")
    assert shockwave.duration.tolist() == [900, 4100, 1750]


def case(name: str) -> str:
    return (CASES / f"{name}.csv").read_text()


FOUR = "job_id,num_gpu,submit_time,iterations,model_name,duration"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("philly-csv", case("csv-number-among-dates"), "line 3: found '3600', expected a date"),
        ("philly-csv", case("csv-column-twice"), "a column duration and a column duration"),
        ("muri", case("like-tiresias"), "`optsched import chronus`"),
        *((format_, case("like-muri"), "`optsched import muri`")
          for format_ in ("chronus", "pai", "helios", "philly-csv")),
        # milliseconds without Muri's iteration_time: 23 and 55 days
        ("chronus", f"{FOUR}\n0,1,0,5,a,2000000\n1,1,9,5,a,4800000\n", "`optsched import muri`"),
        # seconds with an iteration_time in seconds
        ("muri", f"{FOUR},iteration_time\n0,1,0,500,a,200,0.4\n", "`optsched import chronus`"),
        # seconds with an iteration_time in milliseconds: no product agrees
        ("muri", f"{FOUR},iteration_time\n0,1,0,500,a,200,400\n", "500 x 400, not 200"),
        ("philly-csv", f"{HEAD}0,60,1,v\n1767603600,60,1,v\n", "years apart (lines 2 and 3)"),
        ("philly-csv", "time;gpus\n1;2\n", "line 1: found no column for submit"),
        ("chronus", "timestamp,duration,num_gpus\n0,60,1\n", "`optsched import philly-csv`"),
    ],
)  # fmt: skip
def test_other_and_implausible_files_are_refused(
    name: str, text: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / "trace.csv").write_text(text)
    said = refusal(f"import {name} {tmp_path / 'trace.csv'} -o {tmp_path / 'workload.csv'}")
    assert words in said


def test_jobs_too_large_are_named(tmp_path: Path) -> None:
    trace, cluster = tmp_path / "trace.csv", tmp_path / "cluster.json"
    trace.write_text(f"{HEAD}0,60,8,v\n1,60,32,v\n2,60,24,v\n")
    cluster.write_text(json.dumps(OnlineCluster.of(2, 8).to_dict()))
    said = stderr_of(f"import philly-csv {trace} -o {tmp_path / 'workload.csv'}")
    assert "2 of 3 jobs need more than the cluster's 16 GPUs" in said
    assert "(largest: p3 with 32)" in said


def test_estimates_of_users(tmp_path: Path) -> None:
    """SWF's field 9 and a column of walltimes or time limits; what cannot be read is counted."""
    job = "{} 0 5 100 4 -1 -1 4 {} -1 1 7 1 3 1 1 -1 -1\n"
    assert imported(tmp_path, "swf").walltime is None
    given = imported(tmp_path, "swf", job.format(1, 900) + job.format(2, -1)).walltime
    assert np.array_equal(given, [900, np.nan], equal_nan=True)
    text = (
        "Timestamp,Duration,num-gpus,Time Limit\n"
        "0,60,1,1-00:00:00\n1,60,1,UNLIMITED\n2,60,1,soon\n3,60,1,120\n"
    )
    trace = imported(tmp_path, "philly-csv", text)
    assert np.array_equal(trace.walltime, [86400, np.nan, np.nan, 120], equal_nan=True)
    assert trace.report.changed == {"unreadable walltime left out": 1}
    workload, _ = workload_of_trace(trace)
    write_workload(tmp_path / "workload.csv", workload)
    walltime = read_workload(tmp_path / "workload.csv").walltime
    assert np.array_equal(walltime, trace.walltime, equal_nan=True)


@pytest.mark.parametrize("name", FORMATS)
def test_iterations_are_duration_over_alpha(tmp_path: Path, name: str) -> None:
    trace = imported(tmp_path, name)
    cluster = OnlineCluster.of(4)
    workload, catalogue = workload_of_trace(trace, seed=5, reference=cluster)
    jobs = prepare_jobs(workload, catalogue, cluster)
    assert jobs.replaced == 0
    assert np.allclose(jobs.iterations * jobs.estimate, trace.duration, rtol=1e-12)
    again, _ = workload_of_trace(trace, seed=5, reference=cluster)
    assert again.model.text() == workload.model.text()


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("examples", [25, pytest.param(60, marks=pytest.mark.full)])
def test_nothing_but_input_errors(tmp_path: Path, name: str, examples: int) -> None:
    path = tmp_path / "t.txt"
    text = SAMPLES[name]

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(st.integers(0, len(text)), st.binary(max_size=20), st.integers(0, 30))
    def fuzz(at: int, junk: bytes, cut: int) -> None:
        path.write_bytes(text[:at].encode() + junk + text[at + cut :].encode())
        try:
            workload_of_trace(import_trace(name, path))
        except InputError as error:
            assert "\n" not in str(error)

    fuzz()
    for bad in ("", "\n", "[", '[{"a":', "[" * 100_000, '{"a":' * 100_000, '[{"a":' + "9" * 9999):
        path.write_text(bad)
        with pytest.raises(InputError):
            import_trace(name, path)


REAL = {  # format, rows, jobs, mean hours
    "philly_sia.csv.gz": ("philly-csv", 82_247, 82_247, 3.65),
    "muri_trace1.csv.gz": ("muri", 1_494, 1_494, 69.6),
    "muri_trace2.csv.gz": ("muri", 5_755, 5_755, 27.8),
    "muri_trace3.csv.gz": ("muri", 992, 992, 13.0),
    "muri_trace4.csv.gz": ("muri", 2_638, 2_638, 33.1),
    "chronus_philly_MIX1.csv.gz": ("chronus", 30_940, 30_756, 0.0725),
    "gavel_msr_seed0_11cb48.trace": ("gavel", 2_000, 1_819, 13.2),
    "gavel_physical_max_min_fairness.trace": ("gavel", 96, 96, 2.36),
    "shockwave_120.trace": ("gavel", 120, 120, 1.15),
}


LARGE = ("philly_sia", "muri_trace2", "muri_trace4", "chronus")
MARKED = [
    pytest.param(file, marks=pytest.mark.full if file.startswith(LARGE) else ()) for file in REAL
]


@pytest.mark.parametrize("file", MARKED)
def test_real_traces(file: str) -> None:
    if "OPTSCHED_DATA" not in os.environ:
        pytest.skip("OPTSCHED_DATA is not set")
    name, rows, kept, hours = REAL[file]
    data = Path(os.environ["OPTSCHED_DATA"])
    speeds = data / "measured" / "gavel_throughputs.json.gz"
    throughputs = speeds if file.startswith("gavel") else None
    trace = import_trace(name, data / "traces" / file, throughputs=throughputs)
    assert throughputs or explain_trace(data / "traces" / file)[0].name == name
    assert (trace.report.rows, trace.report.kept) == (rows, kept)
    assert trace.duration.mean() / 3600 == pytest.approx(hours, rel=0.005)
