"""Theorem 1's ratio and Lemmas 1-3: by hand, and beside what a run shows."""

from dataclasses import replace

import numpy as np
import pytest
from online.small import instance_of, prepared

import optsched
from optsched.online.bounds.theorem import theorem_of_run, theorem_one
from optsched.online.metrics import compute_metrics
from optsched.online.options import OnlineOptions
from optsched.online.prediction.predictors import Prediction, predict_instance
from optsched.online.runs import run_policies
from optsched.online.simulator.engine import simulate_online


@pytest.fixture(scope="module")
def prediction() -> Prediction:
    return predict_instance(optsched.load("online/small-400x40"), OnlineOptions(), 0)


def test_the_ratio_by_its_formula(prediction: Prediction) -> None:
    jobs, tau = prediction.jobs, 3.0
    found = theorem_one(jobs, prediction.iterations, tau)
    alpha_max = jobs.configurations.worst[jobs.configuration]
    alpha_min = jobs.configurations.alpha_lower_bound[jobs.configuration]
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
        assert [left <= right for left, right in run.theorem.lemmas] == [True] * 3
        assert run.metrics.total_completion_time == pytest.approx(completions)
        part = replace(run.metrics, jobs=run.metrics.jobs - 1)
        theorem = theorem_of_run(run.jobs, run.records.predicted, 1.0, part)
        assert (theorem.observed, theorem.lemmas) == (None, ())


def test_a_job_of_the_whole_cluster_leaves_no_ratio(prediction: Prediction) -> None:
    cluster = prediction.jobs.cluster.model_copy(
        update={"servers": 1, "gpus_per_server": int(max(prediction.jobs.gpus))}
    )
    found = theorem_one(replace(prediction.jobs, cluster=cluster), prediction.iterations, 1.0)
    assert (found.ratio, found.with_perfect_predictions) == (None, None)
    assert "one job needs the whole cluster" in found.sentence


def test_both_sides_of_the_lemmas_by_hand() -> None:
    """Jobs of 2 and 1 of 4 GPUs at times 0 and 1: 4 s and 2 s, predicted as 4 s and 3 s.

    Their lengths on the one machine are 2 and 0.5, predicted 2 and 0.75: SRPT ends the first, which
    has 1 left at time 1, at 2.5 or 2.75, the second at 1.5 or 1.75. No job waits: OPT_A = 4 + 3.
    """
    instance = instance_of((0, 2, 4.0), (1, 1, 2.0), per_server=4)
    options = {"tau": 3, "comm_heavy": 2}
    result = optsched.solve(instance, "a-srpt", options=options)
    assert result.details["rho"] == 1.0
    jobs = prepared(instance)
    metrics = compute_metrics(simulate_online(jobs, "a-srpt"))
    theorem = theorem_of_run(jobs, np.array([4.0, 3.0]), 3.0, metrics, optimal_flow=6.0)
    assert (theorem.srpt, theorem.predicted_srpt, theorem.optimum) == (4.0, 4.5, 7.0)
    charged = 2 * 2 * 1.0 * 1.0  # I g_max alpha_max times an error of one iteration
    total = metrics.total_completion_time
    assert theorem.lemmas == (
        (4.0, 7.0),
        (total, (1 + 3 + 4 / 2) * 4.5 + charged / 2 + 7.0),
        (4.5, 4.0 + charged / 4),
    )
    perfect = optsched.solve(instance, "a-srpt-perfect", options=options).details
    assert perfect["lemma_1"] == [4.0, 7.0]
    assert perfect["srpt"] == perfect["predicted_srpt"] == 4.0
