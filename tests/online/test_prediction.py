"""Predictors: by hand, no look at the future, and a report."""

from typing import Any

import numpy as np
import pytest
from online.small import jobs_of
from sampling import one_in

from optsched.errors import InputError
from optsched.generators.online import generate_workload
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.jobs import Jobs, prepare_jobs
from optsched.online.prediction.models import Examples, fit_forest, tree_values
from optsched.online.prediction.predictors import FITTED, NAMES, predict, report


def case(seed: int = 1, count: int = 400) -> Jobs:
    cluster = OnlineCluster.of(8)
    workload, catalogue = generate_workload(count, cluster, seed=seed)
    return prepare_jobs(workload, catalogue, cluster)


def small() -> Jobs:
    _, catalogue = generate_workload(50, OnlineCluster.of(8), seed=1)
    model = next(job for job in catalogue.models.values() if job.gpus == 1)
    rows = [(1e6 * at, model, many) for at, many in enumerate((10, 30, 20, 5, 1, 1, 1))]
    return jobs_of(*rows, servers=8, per_server=8, user=[*"uuvvuvw"], group=[*"aaabacd"])


def values(name: str, **options: object) -> list[float]:
    return predict(small(), name, **options).iterations.tolist()  # type: ignore[arg-type]


def test_fitted_by_hand() -> None:
    share: dict[str, Any] = {"training_share": 4 / 7, "unseen": "zero"}
    assert values("group-mean", **share) == [20, 0, 0]
    assert values("group-median", **share) == [20, 12.5, 15]  # group, user v (20, 5), everybody
    assert values("constant", **share) == [16.25] * 3
    assert values("perfect", **share) == [1, 1, 1]


def test_online_by_hand() -> None:
    assert values("online-group-mean", unseen="zero") == [0, 10, 20, 0, 20, 0, 0]
    assert values("online-group-median", unseen="zero") == [0, 10, 20, 20, 20, 12.5, 7.5]
    # refits at multiples of 2.5e6 s only
    late = values("online-group-mean", refit_interval=2.5e6, unseen="zero")
    assert late == [0, 0, 0, 0, 20, 0, 0]


def test_a_job_like_none_known_by_hand() -> None:
    """One GPU each and one model, so that lengths are iterations times one alpha~."""
    hour = 3600 / small().estimate[0]
    online = values("online-group-mean")
    assert online == pytest.approx([hour, 10, 20, 20, 20, 13.2, 67 / 6])
    online = values("online-group-mean", unseen="median")
    assert online == pytest.approx([hour, 10, 20, 20, 20, 10, 7.5])
    share = {"training_share": 4 / 7}
    assert values("group-mean", **share) == pytest.approx([20, 16.25, 16.25])
    assert values("group-mean", **share, unseen="median") == pytest.approx([20, 15, 15])
    assert predict(small(), "group-mean", **share).unseen == pytest.approx(2 / 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["group-mean", "group-median"])
def test_running_statistics_are_refits_at_every_row(name: str) -> None:
    jobs = case(count=150)
    running = predict(jobs, f"online-{name}", unseen="zero").iterations
    finish = jobs.submit + jobs.iterations * jobs.estimate
    table = jobs.workload
    for row in range(len(jobs)):
        past = np.flatnonzero(finish <= jobs.submit[row])
        model = FITTED[name].fit(Examples.of(jobs).rows(past), 0)
        expected = model(table.user.codes[[row]], table.group.codes[[row]])[0] if len(past) else 0
        assert running[row] == pytest.approx(expected)


@pytest.mark.parametrize("name", one_in(2, NAMES))
def test_every_predictor_and_its_report(name: str) -> None:
    jobs = case()
    asked: dict[str, Any] = {"training_share": 0.8, "seed": 3, "unseen": "zero"}
    asked["refit_interval"] = 20_000.0 if name.startswith("online") else None
    first, again = (predict(jobs, name, **asked) for _ in range(2))
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


def test_bad_arguments() -> None:
    for arguments in (
        {"name": "oracle"},
        {"name": "group-mean", "training_share": 1.5},
        {"name": "group-mean", "training_share": 0.0},  # nothing to learn from
        {"name": "group-mean", "training_share": 0.1},  # of fewer than ten jobs
        {"name": "online-group-mean", "refit_interval": 0.0},
        {"name": "online-group-mean", "unseen": "none"},
    ):
        with pytest.raises(InputError):
            predict(small(), **arguments)  # type: ignore[arg-type]


def past(kinds: int, users: int, count: int = 600) -> Examples:
    """Jobs of groups with a typical length each, a fifth of them by another user."""
    rng = np.random.default_rng(7)
    group = rng.integers(0, kinds, count).astype(np.int32)
    user = np.where(rng.random(count) < 0.2, rng.integers(0, users, count), group % users)
    iterations = np.exp(rng.normal(0, 1, kinds)[group] + rng.normal(0, 0.3, count))
    return Examples(user.astype(np.int32), group, iterations, users, kinds)


def test_a_tree_is_scikit_learns() -> None:
    """With one user nothing is tied; what the sample lacks goes to the same leaf."""
    tree = pytest.importorskip("sklearn.tree").DecisionTreeRegressor(random_state=0)
    group = np.arange(80)
    rng = np.random.default_rng(3)
    mean, weight = rng.lognormal(0, 2, 80), rng.integers(0, 4, 80).astype(float)
    zero = np.zeros(80, dtype=np.int64)
    mine = tree_values(zero, group, group, group, weight, mean)
    known = weight > 0
    tree.fit(group[known, None], mean[known], sample_weight=weight[known])
    assert mine == pytest.approx(tree.predict(group[:, None]), rel=1e-9)
    assert not known.all()


def test_the_forest_is_scikit_learns_but_for_its_draws() -> None:
    """Two forests of theirs differ by their samples; ours is as near to one as the other is."""
    ensemble = pytest.importorskip("sklearn.ensemble")
    examples = past(kinds=120, users=15)
    features = np.column_stack((examples.user, examples.group))
    theirs = [
        ensemble.RandomForestRegressor(100, random_state=seed)
        .fit(features, examples.iterations)
        .predict(features)
        for seed in (1, 2)
    ]
    mine = fit_forest(examples, 1)(examples.user, examples.group)
    apart = float(np.abs(theirs[0] - theirs[1]).mean())
    for each in theirs:
        assert np.abs(mine - each).mean() < 1.4 * apart
        assert abs((mine - each).mean()) < 0.02 * examples.iterations.mean()
