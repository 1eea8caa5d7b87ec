"""Theorem 1's ratio: by hand, and beside the ratio that a run shows."""

from dataclasses import replace

import numpy as np
import pytest

import optsched
from optsched.online.bounds.theorem import observed_ratio, theorem_one
from optsched.online.options import OnlineOptions
from optsched.online.prediction.predictors import Prediction, predict_instance
from optsched.online.runs import run_policies


@pytest.fixture(scope="module")
def prediction() -> Prediction:
    return predict_instance(optsched.load("online/small-400x40"), OnlineOptions(), 0)


def test_the_ratio_by_its_formula(prediction: Prediction) -> None:
    jobs, tau = prediction.jobs, 3.0
    found = theorem_one(jobs, prediction.iterations, tau)
    alpha_max = jobs.configurations.worst[jobs.configuration]
    alpha_min = jobs.configurations.estimate[jobs.configuration]
    rho = max(a / b for a, b in zip(alpha_max, alpha_min, strict=True))
    g, total = max(jobs.gpus), jobs.cluster.gpus
    share = total / (total - g)
    error = np.mean(np.abs(jobs.iterations - prediction.iterations))
    first = (2 + tau + rho * share) * rho
    second = 2 * rho * g * max(alpha_max) / min(alpha_min) * (1 + tau + (1 + rho) * share) * error
    assert found.with_perfect_predictions == pytest.approx(first)
    assert found.ratio == pytest.approx(first + second)
    perfect = theorem_one(jobs, jobs.iterations, tau)
    assert perfect.ratio == perfect.with_perfect_predictions == pytest.approx(first)


def test_what_a_run_shows_is_far_below_and_at_least_one(prediction: Prediction) -> None:
    runs = list(run_policies(prediction, ["a-srpt", "a-srpt-perfect", "spjf"]))
    assert runs[2].theorem is None
    for run in runs[:2]:
        completions = sum(record.end - prediction.jobs.submit[0] for record in run.records)
        assert 1 <= run.theorem.observed < run.theorem.ratio
        assert run.metrics.total_completion_time == pytest.approx(completions)
        part = replace(run.metrics, jobs=run.metrics.jobs - 1)
        assert observed_ratio(run.jobs, part) is None


def test_the_sentence_has_no_digits_that_mean_nothing(prediction: Prediction) -> None:
    sure, unsure = (
        run.theorem.sentence
        for run in run_policies(prediction, ["a-srpt-perfect", "a-srpt"])
        if run.theorem is not None
    )
    for sentence in (sure, unsure):
        assert "e+" not in sentence
        assert "this run is within 1.0" in sentence
    assert "about 10^" in unsure
    assert "with perfect predictions" in unsure
    assert "with perfect predictions" not in sure


def test_a_job_of_the_whole_cluster_leaves_no_ratio(prediction: Prediction) -> None:
    cluster = prediction.jobs.cluster.model_copy(
        update={"servers": 1, "gpus_per_server": int(max(prediction.jobs.gpus))}
    )
    found = theorem_one(replace(prediction.jobs, cluster=cluster), prediction.iterations, 1.0)
    assert (found.ratio, found.with_perfect_predictions) == (None, None)
    assert "one job needs the whole cluster" in found.sentence
