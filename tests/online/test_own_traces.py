"""Traces of users: mapped columns, real starts, pods of Kubernetes, and which importer fits."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import printed, refusal, run
from online.test_traces import SAMPLES, imported

from optsched.errors import InputError
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.workload import Workload
from optsched.online.data.workload_files import read_workload, write_workload
from optsched.online.instance import OnlineInstance
from optsched.online.traces import FORMATS
from optsched.online.traces.importing import explain_trace, workload_of_trace

NAN = np.nan
LEFT_OUT = "start before the submission left out", "unreadable start left out"
NO_PODS = "no pods in the file: the length includes the wait for GPUs"


def test_columns_that_no_synonym_names(tmp_path: Path) -> None:
    """A mapped column serves its role alone; the others are found by their names."""
    path = tmp_path / "jobs.csv"
    rows = "05/01/26 09:00,8,60,ann,1:00:00\n05/01/26 10:00,1,9,bo,\n"
    path.write_text(f"start,n,secs,who,limit\n{rows}")
    output = tmp_path / "w" / "workload.csv"
    line = "import csv --map submit=start,gpus=n,duration=Secs,user=who,walltime=limit -o"
    printed(line, output, "--time-format", "%d/%m/%y %H:%M", path)
    workload = read_workload(output)
    assert workload.submit_time.tolist() == [0, 3600]
    assert workload.user.text() == ["ann", "bo"]
    assert np.array_equal(workload.walltime, [3600, NAN], equal_nan=True)
    assert workload.start_time is None  # the column start is the submission


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        ("submit", "--map: found 'submit', expected K=V"),
        ("submit=a,submit=b", "each K once"),
        ("submt=a", "--map: found 'submt', expected 'submit'"),
        ("submit=nothing", "line 1: found columns 'Submitted At, GPU Count, Runtime, Owner, Job"),
        ("gpus=Runtime", "line 1: found no column for duration"),
    ],
)
def test_wrong_maps(tmp_path: Path, mapping: str, words: str) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(SAMPLES["csv"])
    line = f"import csv {path} -o {tmp_path / 'w.csv'} --map"
    assert words in refusal(line, mapping)
    assert "the format csv" in refusal(f"import swf {path} -o {tmp_path / 'w.csv'} --map", "gpus=n")


STARTS: dict[str, list[float]] = {
    **{"csv": [600, NAN], "sacct": [600, 300], "pai": [1, 31, 51]},
    **{"philly-json": [5], "helios": [60, 60], "swf": [5, 8]},
}


@pytest.mark.parametrize("name", FORMATS)
def test_real_starts_survive(tmp_path: Path, name: str) -> None:
    trace, expected = imported(tmp_path, name), STARTS.get(name)
    if expected is None:
        assert trace.start is None
        return
    assert np.array_equal(trace.start, expected, equal_nan=True)
    workload, _ = workload_of_trace(trace)
    for file in ("w.csv", "w.parquet"):
        write_workload(tmp_path / file, workload)
        assert np.array_equal(read_workload(tmp_path / file).start_time, expected, equal_nan=True)


def test_an_instance_keeps_starts(tmp_path: Path) -> None:
    columns: Any = {"submit_time": [0, 5], "gpus": [1, 1], "iterations": [1, 1], "model": ["a"] * 2}
    starts = Workload.of(**columns, start_time=[2.0, None]).start_time
    assert np.array_equal(starts, [2.0, NAN], equal_nan=True)
    with pytest.raises(InputError, match="row 2: start_time"):
        Workload.of(**columns, start_time=[2.0, 4.0])
    workload, catalogue = workload_of_trace(imported(tmp_path, "swf"))
    instance = OnlineInstance(workload, catalogue, OnlineCluster.of())
    document = json.loads(json.dumps(instance.to_dict()))
    assert document["workload"]["start_time"] == [5, 8]
    assert OnlineInstance.from_dict(document).to_dict() == document
    del document["provenance"]
    assert OnlineInstance.from_dict(document).provenance == {}


def test_a_start_before_the_submission_is_left_out(tmp_path: Path) -> None:
    text = "submit,start,gpus,duration\n10,20,1,60\n12,11,1,60\n13,x,1,6\n"
    trace = imported(tmp_path, "csv", text)
    assert np.array_equal(trace.start, [10, NAN, NAN], equal_nan=True)
    assert trace.report.changed == dict.fromkeys(LEFT_OUT, 1)


def test_slurm_may_state_a_duration_twice(tmp_path: Path) -> None:
    header = "JobID|Submit|Start|End|ElapsedRaw|Elapsed|AllocTRES\n"
    trace = imported(tmp_path, "sacct", header + "1|0|10|70|60|0:01:00|gpu=2\n")
    assert trace.duration.tolist() == [60]


def test_wrong_seeds_and_outputs_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("submit,gpus,duration\n0,1,5\n")
    line = f"import csv {tmp_path}/a.csv -o {tmp_path}"
    assert "--seed: found -1" in refusal(f"{line}/w.csv --seed -1")
    assert "found a folder" in refusal(f"{line}/none/")


# --- Kubernetes


def pod(name: str, gpus: Any, start: int, end: int | None, owner: str = "") -> Any:
    time = "2026-01-05T09:{:02}:00Z".format
    owners = [{"controller": True, "kind": "PyTorchJob", "name": owner, "uid": owner}]
    metadata = {"name": name, "namespace": "ml", "uid": name, "creationTimestamp": time(0)}
    requests = {"nvidia.com/gpu": gpus}, {"cpu": "4"}
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": time(start)}
    state = {"terminated": {"finishedAt": time(end)}} if end is not None else {"running": {}}
    return {
        "kind": "Pod",
        "metadata": metadata | {"ownerReferences": owners if owner else []},
        "spec": {"containers": [{"resources": {"requests": amounts}} for amounts in requests]},
        "status": {"conditions": [scheduled], "containerStatuses": [{"state": state}]},
    }


def read_objects(tmp_path: Path, *objects: Any) -> Any:
    return imported(tmp_path, "kubernetes", json.dumps(list(objects)))


def test_pods_of_one_controller_are_a_job(tmp_path: Path) -> None:
    """Two workers of 4 GPUs, one of them retried: 8 GPUs from 09:05 to 09:45."""
    trace = read_objects(
        tmp_path,
        pod("w0", 4, 5, 45, "bert-7"),
        pod("w1", 4, 5, 20, "bert-7"),
        pod("w1-retry", 4, 20, 45, "bert-7"),
        pod("alone", 1, 3, 13),
        pod("running", 1, 3, None),
        *(pod(f"of {gpus}", gpus, 3, 13) for gpus in ("1k", "2000m", "-1")),
    )
    assert trace.job_id.tolist() == ["ml/bert-7", "ml/alone"]
    assert (trace.gpus.tolist(), trace.duration.tolist()) == ([8, 1], [2400, 600])
    assert trace.start.tolist() == [300, 180]
    assert trace.report.dropped == {"not ended": 1, "unreadable number of GPUs": 3}


def test_a_job_takes_its_start_from_its_pods(tmp_path: Path) -> None:
    job = json.loads(SAMPLES["kubernetes"])["items"][0]
    trace = read_objects(tmp_path, job)
    assert trace.start is None
    assert trace.report.changed == {NO_PODS: 1}
    trace = read_objects(tmp_path, job, pod("p", 4, 30, 59, "a"))
    assert [*trace.start, *trace.duration, *trace.walltime] == [1800, 1800, 7200]
    job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "q"
    job["status"]["startTime"] = "2026-01-05T09:15:00Z"
    assert read_objects(tmp_path, job).start.tolist() == [900]
    worker = {"replicas": 3, "template": job["spec"]["template"]}
    job["spec"] = {"pytorchReplicaSpecs": {"Master": {**worker, "replicas": 1}, "Worker": worker}}
    job["kind"] = "PyTorchJob"
    assert read_objects(tmp_path, job).gpus.tolist() == [16]


# --- which importer fits


@pytest.mark.parametrize("name", FORMATS)
def test_each_sample_is_explained(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a trace.txt"
    path.write_text(SAMPLES[name])
    out = printed("import --explain", path)
    assert f"best: optsched import {name} '{path}'" in out
    assert out.count("\n") == len(FORMATS) + 1


def test_explanations_of_other_files(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear all,\nno trace\n")
    code, out, error = run("import --explain", path)
    assert (code, error.count("\n")) == (2, 1)
    assert "notes.txt: found a file that no importer reads" in error
    assert "csv does not: line 1: no column for submit" in out.replace("found ", "")
    assert "expected a format, or --explain FILE" in refusal("import")
    assert "none: found no such file" in refusal("import --explain", tmp_path / "none")
    assert explain_trace(tmp_path / "none")[0].rank is None
