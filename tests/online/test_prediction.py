"""Predictors: by hand, no look at the future, and a report."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.errors import InputError, MissingExtraError
from optsched.generators.workload import generate_workload
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.jobs import Jobs, prepare_jobs
from optsched.online.data.workload import Workload
from optsched.online.prediction.predictors import FITTED, NAMES, predict, report


def case(seed: int = 1, count: int = 400) -> Jobs:
    cluster = OnlineCluster.of(8)
    workload, catalogue = generate_workload(count, cluster, seed=seed)
    return prepare_jobs(workload, catalogue, cluster)


def small() -> Jobs:
    _, catalogue = generate_workload(50, OnlineCluster.of(8), seed=1)
    model = next(key for key, job in catalogue.models.items() if job.gpus == 1)
    workload = Workload.of(
        submit_time=[0, 1e6, 2e6, 3e6, 4e6, 5e6, 6e6],
        gpus=[1] * 7,
        iterations=[10, 30, 20, 5, 1, 1, 1],
        model=[model] * 7,
        user=["u", "u", "v", "v", "u", "v", "w"],
        group=["a", "a", "a", "b", "a", "c", "d"],
    )
    return prepare_jobs(workload, catalogue, OnlineCluster.of(8))


def values(name: str, **options: object) -> list[float]:
    return predict(small(), name, **options).iterations.tolist()  # type: ignore[arg-type]


def test_fitted_by_hand() -> None:
    share = {"training_share": 4 / 7}
    assert values("group-mean", **share) == [20, 0, 0]
    assert values("group-median", **share) == [20, 12.5, 15]  # group, user v (20, 5), everybody
    assert values("constant", **share) == [16.25] * 3
    assert values("perfect", **share) == [1, 1, 1]


def test_online_by_hand() -> None:
    assert values("online-group-mean") == [0, 10, 20, 0, 20, 0, 0]
    assert values("online-group-median") == [0, 10, 20, 20, 20, 12.5, 7.5]
    # refits at multiples of 2.5e6 s only
    late = values("online-group-mean", refit_interval=2.5e6)
    assert late == [0, 0, 0, 0, 20, 0, 0]


@pytest.mark.parametrize("name", ["group-mean", "group-median"])
def test_running_statistics_are_refits_at_every_row(name: str) -> None:
    jobs = case(count=150)
    running = predict(jobs, f"online-{name}").iterations
    finish = jobs.submit + jobs.iterations * jobs.estimate
    table = jobs.workload
    from optsched.online.prediction.training import Examples

    for row in range(len(jobs)):
        past = np.flatnonzero(finish <= jobs.submit[row])
        model = FITTED[name].fit(Examples.of(jobs).rows(past), 0)
        expected = model(table.user.codes[[row]], table.group.codes[[row]])[0] if len(past) else 0
        assert running[row] == pytest.approx(expected)


@pytest.mark.parametrize("name", NAMES)
def test_every_predictor_and_its_report(name: str) -> None:
    if "forest" in name:
        pytest.importorskip("sklearn")
    jobs = case()
    interval = 20_000.0 if name.startswith("online") else None
    first = predict(jobs, name, training_share=0.8, seed=3, refit_interval=interval)
    again = predict(jobs, name, training_share=0.8, seed=3, refit_interval=interval)
    assert np.array_equal(first.iterations, again.iterations)
    assert len(first.iterations) == len(first.jobs) == 80
    assert first.jobs.submit[0] == 0
    assert (first.iterations >= 0).all()
    made = report(first)
    assert 0 <= made.exact <= made.within_tenth <= 1
    if name == "perfect":
        assert made.mean_absolute_error == 0
    if name in ("forest", "log-forest", "group-mean"):
        seen = set(jobs.workload.group.codes[:320].tolist())
        unseen = [code not in seen for code in first.jobs.workload.group.codes.tolist()]
        assert (first.iterations[unseen] == 0).all()
        assert any(unseen)


def test_groups_carry_information() -> None:
    pytest.importorskip("sklearn")
    jobs = case(count=3000)
    error = {name: report(predict(jobs, name, training_share=0.8)).mean_absolute_error
             for name in ("forest", "group-mean", "constant")}  # fmt: skip
    assert error["forest"] < error["constant"]
    assert error["group-mean"] < error["constant"]


def test_bad_arguments() -> None:
    for arguments in (
        {"name": "oracle"},
        {"name": "group-mean", "training_share": 1.5},
        {"name": "online-group-mean", "refit_interval": 0.0},
    ):
        with pytest.raises(InputError):
            predict(small(), **arguments)  # type: ignore[arg-type]


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sklearn.ensemble", None)
    with pytest.raises(MissingExtraError, match=r"optsched\[online\]"):
        predict(case(), "forest")
