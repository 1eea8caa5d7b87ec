"""The page of what-to-win: its parts by hand, bounds, calibration, warnings, hostile names."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import refusal, stderr_of

from optsched.experiments.what_to_win.page import FILES, page
from optsched.experiments.what_to_win.study import (
    SCHEDULERS,
    Study,
    classes_by_owner,
    classes_by_size,
    placement_neutral,
    study_jobs,
    warnings_of,
)
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.workload import Workload
from optsched.online.instance import OnlineInstance
from optsched.online.policies.by_name import POLICIES

HOUR = 3600.0


def instance_of(
    submit: Any, gpus: Any, hours: Any, servers: int = 1, **more: Any
) -> OnlineInstance:
    times, seconds = HOUR * np.asarray(submit), HOUR * np.asarray(hours)
    columns: Any = {"submit_time": times, "gpus": gpus, "iterations": seconds}
    workload = Workload.of(**columns, model=["x"] * len(gpus), name="jobs", **more)
    workload, catalogue = placement_neutral(workload, seconds)
    cluster = OnlineCluster.of(servers, 2)
    return OnlineInstance(workload, catalogue, cluster, {"lengths": "trace", "left_out": 0})


def random_study(seed: int, jobs: int = 60) -> Study:
    rng = np.random.default_rng(seed)
    hours = np.exp(rng.normal(0, 1, jobs))
    submit = np.sort(rng.uniform(0, jobs / 2, jobs))
    users = [f"u{i}" for i in rng.integers(0, 15, jobs)]
    gpus = rng.choice([1, 1, 2, 3, 8], jobs)
    limits = HOUR * hours * rng.uniform(1, 3, jobs)
    return study_jobs(instance_of(submit, gpus, hours, 4, user=users, walltime=limits))


def test_the_parts_by_hand() -> None:
    """On 2 GPUs: 10 h on 1, then 10 h on 2, then 1 h on 1, the last at 2 h, all others at 0.

    EASY starts the third beside the first, fifo after the second. Without stopping a job 10 hours
    of waiting are the least.
    """
    limits = [10 * HOUR, 10 * HOUR, HOUR]
    study = study_jobs(instance_of([0, 0, 2], [1, 2, 1], [10, 10, 1], walltime=limits))
    assert study.waits["easy"] == pytest.approx([0, 10, 0])
    assert study.waits["fifo"] == pytest.approx([0, 10, 18])
    assert study.today == "easy"
    assert study.best(stops_jobs=False) in ("easy", "wcs-subtime", "spwf", "wcs-workload")
    assert 0 <= study.min_wait <= study.min_wait_without_stops <= 10 / 3 + 1e-9
    text = page(study, classes_by_owner(study))
    assert "a job waits <b>3.33 hours</b> on average" in text


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(s, marks=pytest.mark.full) for s in range(4, 60))]
)
def test_limits_hold_and_classes_are_a_partition(seed: int) -> None:
    study = random_study(seed)
    assert [*study.runs] == [*SCHEDULERS]
    for name, waits in study.waits.items():
        stops = POLICIES[name].preempts != "never"
        assert waits.min() >= -1e-9
        assert waits.mean() >= (study.min_wait if stops else study.min_wait_without_stops) - 1e-9
    for classes in (classes_by_size(study), classes_by_owner(study)):
        assert np.array_equal(sum(c.jobs.astype(int) for c in classes), np.ones(len(study.jobs)))
    assert classes_by_owner(study)[-1].name == "all others"


def test_every_scheduler_runs_on_a_cluster_with_limits() -> None:
    """Each user may have 2 GPUs of 8; the window, in Unix time, closes no server during the run."""
    instance = instance_of([0, 0, 0], [2, 2, 2], [9, 9, 9], 4, user=["a", "a", "b"])
    limits = {"quotas": {"users": {"a": 2, "b": 2}}, "maintenance": [{"start": 1e9, "end": 2e9}]}
    study = study_jobs(instance.with_(cluster=instance.cluster.with_(**limits)))
    assert [*study.runs] == [*SCHEDULERS]
    for scheduler in ("fair-share", "srpt-preemptive"):
        assert study.waits[scheduler] == pytest.approx([0, 9, 0])
    text = page(study, [])
    assert "The cluster has maintenance and quotas: what no scheduler can save is" in text
    outside = "1 of 1 maintenance windows lie outside the run, which is from 0 to "
    assert outside in text


def test_a_job_takes_its_length_wherever_it_runs() -> None:
    study = random_study(7)
    for run in study.runs.values():
        assert set(run.records.segments.alpha.tolist()) == {1.0}
    assert max(len(record.servers) for record in study.runs["fifo"].records) > 3


def test_replaying_a_policy_of_its_own_is_exact() -> None:
    """Starts that fifo made are found again; starts of another world are called far off."""
    jobs, starts = ([0, 0, 2], [1, 2, 1], [10, 10, 1]), [0.0, 10 * HOUR, 20 * HOUR]
    study = study_jobs(instance_of(*jobs, start_time=starts))
    assert study.today == "fifo"
    assert study.real_waits == pytest.approx(study.waits["fifo"])
    assert "(1.00 times as long). The replay is close" in page(study, [])
    study = study_jobs(instance_of(*jobs, start_time=[0.0, None, 500 * HOUR]))
    text = page(study, [])
    assert "2 of 3 jobs have a real start" in text
    assert "<b>far off</b>" in text


def test_warnings() -> None:
    def first(submit: list[float], hours: float) -> str:
        gpus, lengths = [2] * len(submit), [hours] * len(submit)
        return warnings_of(study_jobs(instance_of(submit, gpus, lengths)))[0]

    assert "ask for 200% of the cluster, so the queue grows" in first([0, 1, 2], 4 / 3)
    assert "2 servers of 2 GPUs would be about 80% busy" in first([0, 1, 2], 4 / 3)
    assert "ask for 2% of the cluster, so hardly any job waits" in first([0, 100], 1)
    assert "submitted at once" in first([0, 0], 1)
    assert "100% of the jobs have no time limit" in first([0, 1, 2], 0.5)
    half = instance_of([0, 1, 2], [2] * 3, [0.5] * 3, walltime=[9e9, None, None], user=["a"] * 3)
    said = " ".join(warnings_of(study_jobs(half)))
    for words in ("67% of the jobs have no time limit", "names no users", "no start times"):
        assert words in said


# --- the command


EVIL = "<script>alert(1)</script>"
ROWS = f"0,2,7200,{EVIL}\n60,1,600,=cmd\n120,2,3600,ann\n180,64,60,ann\n"
TRACE = f"submit,gpus,duration,user\n{ROWS}"


def test_from_a_trace_to_a_page(tmp_path: Path) -> None:
    """Names of strangers are text on the page and in the CSV; jobs too large are counted."""
    folder, to = tmp_path / "a&b", f"-o {tmp_path / 'page'}"
    (tmp_path / "trace.csv").write_text(TRACE)
    stderr_of(f"import csv {tmp_path / 'trace.csv'} -o {folder / 'workload.csv'}")
    for lengths, words in (("cost-model", "by the cost model of"), ("trace", "wherever it runs")):
        line = f"what-to-win {folder} {to} --servers 1 --gpus-per-server 2 --lengths {lengths}"
        assert "hours on average under easy" in stderr_of(line)
        text = (tmp_path / "page" / "index.html").read_text()
        assert words in text
    assert {path.name for path in (tmp_path / "page").iterdir()} == set(FILES)
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "a&amp;b" in text
    assert "1 jobs that need more than 2 GPUs are left out" in text
    table = pd.read_csv(tmp_path / "page" / "waits.csv").set_index(["scheduler", "class"])
    assert "'=cmd" in set(table["value"])  # no formula for a spreadsheet
    waits = [0, 2 * HOUR - 60, 2 * HOUR + 600 - 120]  # fifo: 0 to 2 h, then 600 s, then the last
    mean = table.loc[("fifo", "all"), "wait_mean_hours"].item()
    assert mean == pytest.approx(sum(waits) / 3 / HOUR, rel=1e-9)


def test_refusals(tmp_path: Path) -> None:
    trace, to = tmp_path / "w" / "workload.csv", f"-o {tmp_path / 'page'}"
    trace.parent.mkdir()
    (tmp_path / "trace.csv").write_text(TRACE)
    assert "no catalogue.json beside it" in refusal(f"what-to-win {tmp_path / 'trace.csv'} {to}")
    stderr_of(f"import csv {tmp_path / 'trace.csv'} -o {trace}")
    both = f"what-to-win {trace} {to} --servers 1 --cluster {tmp_path / 'c.json'}"
    assert "--cluster and --servers, expected one" in refusal(both)
    assert "--servers" in refusal(f"what-to-win {trace} {to} --servers 0")
    assert "no such file" in refusal(f"what-to-win {tmp_path / 'no'} {to} --servers 1")
    (trace.parent / "cluster.json").unlink()
    assert "no cluster.json beside it" in refusal(f"what-to-win {trace} {to}")
    trace.write_text("".join(trace.read_text().splitlines(keepends=True)[i] for i in (0, 4)))
    said = refusal(f"what-to-win {trace} {to} --servers 1")
    assert "1 jobs, all larger, expected a job of at most 8 GPUs" in said
