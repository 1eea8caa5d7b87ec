"""Importers: each format by hand, the stated rules counted, junk refused, real files read."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from optsched.errors import InputError
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.jobs import prepare_jobs
from optsched.online.traces import FORMATS
from optsched.online.traces.formats import read_gavel
from optsched.online.traces.importing import import_trace, workload_of_trace
from optsched.online.traces.trace import Trace

SAMPLES = {
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
    "gavel": "A (batch size 1)\tcd x\t-n\t1\t500\t10.0\t2\nB\tcd\t-n\t1\t0\t5.0\t1\nbad\n",
    "swf": "; a comment\n1 0 5 100 4 -1 -1 4 -1 -1 1 7 1 3 1 1 -1 -1\n"
    "2 9 5 -1 4 -1 -1 4 -1 -1 0 7 1 3 1 1 -1 -1\n"
    "3 3 5 60 -1 -1 -1 2 -1 -1 1 8 1 3 1 1 -1 -1\n4 x\n",
}


def sample(tmp_path: Path, name: str) -> Trace:
    path = tmp_path / f"{name}.txt"
    path.write_text(SAMPLES[name])
    return import_trace(name, path)


def test_pai(tmp_path: Path) -> None:
    trace = sample(tmp_path, "pai")
    assert trace.job_id.tolist() == ["2", "1", "8"]
    assert trace.submit.tolist() == [0, 30, 50]
    assert trace.gpus.tolist() == [2, 1, 8]
    assert trace.duration.tolist() == [10, 100, 30]
    assert trace.user.text() == ["u1", "u1", "u2"]
    assert trace.group.text() == ["ga", "ga", "gb"]
    report = trace.report
    assert (report.rows, report.kept) == (8, 3)
    assert report.dropped == {
        "0 GPUs": 1,
        "no duration": 1,
        "no positive duration": 1,
        "no submission time": 1,
        "another number of columns": 1,
    }
    assert report.changed == {
        "fractional GPUs rounded up": 1,
        "submitted before the row above; sorted": 1,
    }
    assert report.first_line["another number of columns"] == 8
    assert "dropped 1: 0 GPUs (first at line 4)" in report.lines()


def test_pai_multiplies_only_what_is_per_instance(tmp_path: Path) -> None:
    """num_gpu is a total beside num_pod, and one instance's beside num_inst."""
    path = tmp_path / "pai.csv"
    common = "duration,submit_time,group"
    path.write_text(
        f"job_id,user,num_gpu,num_cpu,num_pod,{common}\n1,u,3,72,12,60,0,g\n2,u,1,6,,60,1,g\n"
    )
    assert import_trace("pai", path).gpus.tolist() == [3, 1]
    path.write_text(
        f"job_id,user,num_gpu,num_inst,{common}\n"
        "1,u,0.5,12,60,0,g\n2,u,2,3,60,1,g\n3,u,2,,60,2,g\n4,u,2,0,60,3,g\n"
    )
    trace = import_trace("pai", path)
    assert trace.gpus.tolist() == [6, 6, 2]  # 0.5 x 12, 2 x 3, one instance
    assert trace.report.dropped == {"no number of GPUs": 1}


def test_philly_csv(tmp_path: Path) -> None:
    trace = sample(tmp_path, "philly-csv")
    assert trace.submit.tolist() == [0, 55]
    assert trace.gpus.tolist() == [8, 1]
    assert trace.user.text() == ["b", "a"]
    assert trace.report.dropped == {"no submission time": 1}


def test_philly_json(tmp_path: Path) -> None:
    trace = sample(tmp_path, "philly-json")
    assert trace.job_id.tolist() == ["j1"]
    assert trace.gpus.tolist() == [3]
    assert trace.duration.tolist() == [60]
    assert trace.report.dropped == {"0 GPUs": 1, "no list of attempts": 1}


def test_helios(tmp_path: Path) -> None:
    trace = sample(tmp_path, "helios")
    assert trace.duration.tolist() == [60, 30]
    assert trace.group.text() == ["u/train", "u/eval"]
    assert trace.report.dropped == {"0 GPUs": 1}


def test_muri_chronus_gavel_swf(tmp_path: Path) -> None:
    muri = sample(tmp_path, "muri")
    assert muri.duration.tolist() == [4.9]
    assert muri.report.dropped == {"no duration": 1}
    assert sample(tmp_path, "chronus").report.dropped == {"0 GPUs": 1}
    gavel = sample(tmp_path, "gavel")
    assert gavel.iterations.tolist() == [500]
    assert set(gavel.report.dropped) == {
        "no positive number of iterations",
        "not 7, 9, 10 or 11 fields",
    }
    swf = sample(tmp_path, "swf")
    assert swf.job_id.tolist() == ["1", "3"]
    assert swf.gpus.tolist() == [4, 2]
    assert set(swf.report.dropped) == {"no positive duration", "not 18 fields"}


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
def test_every_layout_of_gavel_says_the_same(tmp_path: Path, line: str) -> None:
    """500 steps on 2 GPUs from second 10 on; what follows the scale factor is not read."""
    path = tmp_path / "t.trace"
    path.write_text(f"{line}\n")
    [row] = read_gavel(path)
    assert (row.iterations, row.gpus, row.submit, row.group) == (500, 2, 10, "A/2")


@pytest.mark.parametrize("name", FORMATS)
def test_iterations_are_duration_over_alpha(tmp_path: Path, name: str) -> None:
    trace = sample(tmp_path, name)
    cluster = OnlineCluster.of(4)
    workload, catalogue = workload_of_trace(trace, seed=5, reference=cluster)
    jobs = prepare_jobs(workload, catalogue, cluster)
    assert jobs.replaced == 0
    if name == "gavel":
        assert jobs.iterations.tolist() == [500]
    else:
        assert np.allclose(jobs.iterations * jobs.estimate, trace.duration, rtol=1e-12)
    again, _ = workload_of_trace(trace, seed=5, reference=cluster)
    assert again.model.text() == workload.model.text()


def test_compressed(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(SAMPLES["chronus"].encode()))
    assert len(import_trace("chronus", path)) == 1
    path.write_bytes(b"no gzip")
    with pytest.raises(InputError):
        import_trace("chronus", path)


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_but_input_errors(tmp_path: Path, name: str) -> None:
    path = tmp_path / "t.txt"
    text = SAMPLES[name]

    @settings(
        max_examples=60,
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
    for bad in ("", "\n", "[", '[{"a":'):
        path.write_text(bad)
        with pytest.raises(InputError):
            import_trace(name, path)


REAL = {
    "philly_sia.csv.gz": ("philly-csv", 82_247, 82_247),
    "muri_trace1.csv.gz": ("muri", 1_494, 1_494),
    "muri_trace2.csv.gz": ("muri", 5_755, 5_755),
    "muri_trace3.csv.gz": ("muri", 992, 992),
    "muri_trace4.csv.gz": ("muri", 2_638, 2_638),
    "chronus_philly_MIX1.csv.gz": ("chronus", 30_940, 30_756),
    "gavel_msr_seed0_11cb48.trace": ("gavel", 2_000, 2_000),
}


@pytest.mark.parametrize("file", REAL)
def test_real_traces(file: str) -> None:
    if "OPTSCHED_DATA" not in os.environ:
        pytest.skip("OPTSCHED_DATA is not set")
    name, rows, kept = REAL[file]
    report = import_trace(name, Path(os.environ["OPTSCHED_DATA"]) / "traces" / file).report
    assert (report.rows, report.kept) == (rows, kept)
