"""PAI's raw tables: joined by hand-made ones, each known by its columns, nothing counted twice."""

import gzip
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import printed, refusal

from optsched.errors import InputError
from optsched.online.data.workload_files import read_workload
from optsched.online.traces import pai_tables
from optsched.online.traces.importing import import_trace
from optsched.online.traces.pai_tables import TABLES
from optsched.online.traces.trace import Trace

NAMES = {
    "job": "pai_job_table.csv",
    "task": "pai_task_table.csv",
    "group": "pai_group_tag_table.csv",
    "instance": "pai_instance_table.csv",
}
JOBS = [
    "a,i1,u1,Terminated,100.0,400.0",
    "b,i2,u2,Terminated,90.0,300.0",
    "c,i3,u1,Failed,120.0,150.0",
]
TASKS = [
    "a,ps,2.0,Terminated,150.0,390.0,600.0,29.3,,CPU",
    "a,worker,4.0,Terminated,160.0,400.0,600.0,29.3,50.0,T4",
    "b,tensorflow,3.0,Terminated,100.0,300.0,600.0,29.3,100.0,V100",
    "c,tensorflow,1.0,Failed,130.0,150.0,600.0,29.3,200.0,MISC",
]
GROUPS = ["i1,u1,,ga,", "i2,u2,V100,gb,bert"]
INSTANCES = [
    "a,worker,n1,w1,i1,Terminated,170.0,380.0,m1",
    "a,worker,n2,w2,i1,Terminated,165.0,395.0,m2",
    "b,tensorflow,n1,w3,i2,Terminated,110.0,290.0,m1",
    "b,tensorflow,n2,w4,i2,Terminated,105.0,280.0,m1",
    "c,tensorflow,n1,w5,i3,Failed,131.0,149.0,m1",
]
WHOLE = {"job": JOBS, "task": TASKS, "group": GROUPS, "instance": INSTANCES}


def folder(tmp_path: Path, headers: bool = False, **changed: list[str] | None) -> Path:
    """The tables in a folder; None leaves one out."""
    made = tmp_path / "pai"
    made.mkdir(exist_ok=True)
    for kind, rows in {**WHOLE, **changed}.items():
        if rows is not None:
            head = [",".join(TABLES[kind])] if headers else []
            (made / NAMES[kind]).write_text("\n".join([*head, *rows, ""]))
    return made


def read(tmp_path: Path, **changed: Any) -> Trace:
    return import_trace("pai", folder(tmp_path, **changed))


@pytest.mark.parametrize("headers", [False, True])
def test_the_tables_make_one_workload(tmp_path: Path, headers: bool) -> None:
    """4 x 50% + 2 x no GPU, 3 x 100%, 1 x 200%; from the first instance's start to the last end."""
    trace = read(tmp_path, headers=headers)
    assert trace.job_id.tolist() == ["b", "a", "c"]
    assert trace.submit.tolist() == [0, 10, 30]
    assert trace.gpus.tolist() == [3, 2, 2]
    assert trace.duration.tolist() == [185, 230, 18]
    assert trace.user.text() == ["u2", "u1", "u1"]
    assert trace.group.text() == ["gb", "ga", "job c"]
    assert trace.report.dropped == {}
    assert trace.report.changed == {"submitted before the row above; sorted": 1}


def test_without_instances_it_runs_as_its_tasks_do(tmp_path: Path) -> None:
    trace = read(tmp_path, group=None, instance=None)
    assert trace.duration.tolist() == [200, 250, 20]
    assert trace.group.text() == ["job b", "job a", "job c"]


@pytest.mark.parametrize(
    ("share", "instances", "gpus"),
    [("50.0", "1.0", 1), ("50", "2", 1), ("100.0", "8", 8), ("200", "3", 6), ("25", "10", 3),
     ("10", "10", 1), ("33.3", "3", 1), ("800", "", 8)],
)  # fmt: skip
def test_shares_are_percentages(tmp_path: Path, share: str, instances: str, gpus: int) -> None:
    task = f"a,worker,{instances},Terminated,150,400,600,29,{share},T4"
    trace = read(tmp_path, job=JOBS[:1], task=[task])
    assert trace.gpus.tolist() == [gpus]


def test_rows_there_twice_count_once(tmp_path: Path) -> None:
    once = read(tmp_path)
    twice = {kind: [row for row in rows for _ in range(2)] for kind, rows in WHOLE.items()}
    trace = read(tmp_path, **twice)
    assert trace.gpus.tolist() == once.gpus.tolist()
    assert trace.duration.tolist() == once.duration.tolist()
    assert trace.report.dropped == {"job table: duplicate job": 3, "task table: duplicate task": 4}
    assert trace.report.first_line["task table: duplicate task"] == 2


def test_rows_that_join_nothing_are_counted(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        job=[*JOBS, "d,i4,u1,Waiting,130.0,", ",i5,u1,Waiting,1,2", "short,row"],
        task=[*TASKS, "x,worker,1,Failed,1,2,600,29,100,T4"],
        group=[*GROUPS, "i9,u,,g,"],
        instance=[*INSTANCES, "a,worker,n3,w9,i2,Terminated,0.0,9999.0,m1"],  # b's inst_id
    )
    assert trace.job_id.tolist() == ["b", "a", "c"]
    assert trace.duration.tolist() == [185, 230, 18]
    assert trace.report.dropped == {
        "job table: no job_name": 1,
        "job table: wrong number of columns": 1,
        "task table: unknown job": 1,
        "group table: unknown job": 1,
        "instance table: unknown job": 1,
        "no number of GPUs": 1,  # d has no task
    }


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        ("a,w,1,Terminated,150,400,600,29,many,T4", "no number of GPUs"),
        ("a,w,1,Terminated,150,400,600,29,-100,T4", "no number of GPUs"),
        ("a,w,1,Terminated,150,400,600,29,nan,T4", "no number of GPUs"),
        ("a,w,0,Terminated,150,400,600,29,100,T4", "no number of GPUs"),
        ("a,w,1,Terminated,150,400,600,29,,T4", "0 GPUs"),
        ("a,w,1e9,Terminated,150,400,600,29,100,T4", "more than 32768 GPUs"),
        ("a,w,1,Running,150,,600,29,100,T4", "no duration"),
        ("a,w,1,Terminated,400,150,600,29,100,T4", "no duration"),
        ("a,w,1,Waiting,,,600,29,100,T4", "no duration"),
        ("a,w,1,Terminated,150,150,600,29,100,T4", "no positive duration"),
    ],
)
def test_tasks_of_no_use(tmp_path: Path, task: str, reason: str) -> None:
    trace = read(tmp_path, job=JOBS[:2], task=[TASKS[2], task], instance=None)
    assert trace.job_id.tolist() == ["b"]
    assert trace.report.dropped[reason] == 1


def test_an_instance_that_never_ran_does_not_keep_its_job_open(tmp_path: Path) -> None:
    rows = [*INSTANCES[:2], "a,worker,n3,w3,i1,Waiting,,,m1"]
    trace = read(tmp_path, job=JOBS[:1], instance=rows)
    assert trace.duration.tolist() == [230]
    rows[2] = "a,worker,n3,w3,i1,Running,170.0,,m1"
    with pytest.raises(InputError, match="no usable job"):
        read(tmp_path, job=JOBS[:1], instance=rows)


def test_what_is_no_workload_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = folder(tmp_path)
    alone = made / NAMES["job"]
    tasks, archive = made / NAMES["task"], tmp_path / "job.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(alone, NAMES["job"])
    for name, files, found in (
        ("pai", alone, "found job, expected also a task table with columns job_name, task"),
        ("pai", [alone, alone, tasks], "a second job table"),
        ("pai", tmp_path / "pai" / "..", "none of PAI's tables"),
        ("muri", [alone, alone], "2 files, expected one"),
        ("pai", [archive, tasks], "binary data"),
    ):
        with pytest.raises(InputError, match=found):
            import_trace(name, files)
    tasks.write_text(",".join(TABLES["task"]) + "\n")
    with pytest.raises(InputError, match="no usable job"):
        import_trace("pai", made)
    monkeypatch.setattr(pai_tables, "MAX_ROWS", 4)
    with pytest.raises(InputError, match="line 2: found more rows, expected at most 4"):
        read(tmp_path)


def test_the_command_takes_the_folder_or_the_files(tmp_path: Path) -> None:
    made = folder(tmp_path)
    packed = made / f"{NAMES['instance']}.gz"
    packed.write_bytes(gzip.compress((made / NAMES["instance"]).read_bytes()))
    (made / NAMES["instance"]).unlink()
    for number, files in enumerate(([made], sorted(made.iterdir()))):
        output = tmp_path / str(number) / "workload.csv"
        printed("import pai -o", output, *files)
        workload = read_workload(output)
        assert workload.job_id.tolist() == ["b", "a", "c"]
        assert np.array_equal(workload.gpus, [3, 2, 2])
    inside = made / NAMES["job"]
    refusal("import pai", made, "-o", inside)
    assert inside.read_text().startswith("a,i1")
