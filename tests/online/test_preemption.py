"""Policies that stop jobs: by hand, against a policy in plain Python, audited, bounded, on file."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from online.small import jobs_of
from online.test_protocol import Remaining
from oracles.random_online import random_case
from scipy.optimize import linprog

import optsched
from optsched.errors import InputError
from optsched.online.audit import audit
from optsched.online.audit_rules.preemption import max_min_level
from optsched.online.bounds.flow import flow_bounds
from optsched.online.data.catalogue import Catalogue
from optsched.online.data.jobs import Jobs
from optsched.online.instance import OnlineInstance
from optsched.online.metrics import compute_metrics
from optsched.online.policies.by_name import POLICIES, PolicyOptions
from optsched.online.prediction.predictors import predict
from optsched.online.records import Records, Segments
from optsched.online.runs import mark_comparable, run_policies
from optsched.online.simulator.engine import simulate_online
from optsched.online.simulator.own_policy import View, simulate_policy
from optsched.online.solution import write_records

PREEMPTIVE = [name for name, policy in POLICIES.items() if policy.preempts != "never"]
ROUNDS = PolicyOptions(checkpoint=0.25, round=4.0)


LONG_FIRST = [(0, 2, 1000), *((10.0 * i, 2, 5) for i in range(1, 90))]
"""A long job with short ones after it."""


def stretches(records: Records) -> list[list[tuple[float, float]]]:
    parts = records.segments
    return [
        [(float(parts.start[at]), float(parts.end[at])) for at in np.flatnonzero(parts.job == row)]
        for row in range(len(records))
    ]


# by hand


@pytest.mark.parametrize(
    ("policy", "rows", "options", "expected"),
    [
        # two equal jobs take turns of 4 s; a resumed one loses the first second
        ("las", [(0, 2, 10), (1, 2, 10)], {"checkpoint": 1, "round": 4},
         [[(0, 4), (8, 12), (16, 20)], [(4, 8), (12, 16), (20, 24)]]),
        # rounds of 4 s begin at 5, 10 and 15 s; the second job comes at 1 and is seen at 5
        ("las", [(0, 2, 9), (1, 2, 4)], {"checkpoint": 0, "round": 4, "slot": 5},
         [[(0, 5), (10, 14)], [(5, 9)]]),
        ("srpt-preemptive", [(0, 2, 9), (1, 2, 4)], {"checkpoint": 1, "slot": 5},
         [[(0, 9)], [(10, 14)]]),
        # between rounds jobs start where they fit and none is stopped
        ("las", [(0, 1, 10), (1, 1, 2), (1.5, 1, 1)], {"checkpoint": 0, "round": 4},
         [[(0, 10)], [(1, 3)], [(3, 4)]]),
        # the long job resumes at 5 s for 3 s of restoring and is stopped again at 6 s
        ("srpt-preemptive", [(0, 2, 10), (4, 2, 1), (6, 2, 1)], {"checkpoint": 3},
         [[(0, 4), (5, 6), (7, 16)], [(4, 5)], [(6, 7)]]),
    ],
)  # fmt: skip
def test_stretches_by_hand(
    policy: str, rows: list[tuple[float, ...]], options: dict[str, float], expected: list[Any]
) -> None:
    jobs = jobs_of(*rows)
    records = simulate_online(jobs, policy, None, PolicyOptions(**options))
    assert stretches(records) == expected
    assert audit(jobs, records).violations == ()


def test_srpt_stops_the_longer_job_and_pays_the_checkpoint() -> None:
    """The second job of 3 s comes at 4 s: the first has 6 s left, resumes at 7 and restores 1 s."""
    jobs = jobs_of((0, 2, 10), (4, 1, 3))
    perfect = predict(jobs, "perfect")
    (run,) = run_policies(perfect, ["srpt-preemptive"], PolicyOptions(checkpoint=1))
    records = run.records
    assert stretches(records) == [[(0, 4), (7, 14)], [(4, 7)]]
    assert records.preemptions == 1
    assert (run.to_dict()["preemptions"], run.to_dict()["restoring"]) == (1, 2.0)
    assert records.alpha.tolist() == [1.0, 1.0]
    assert compute_metrics(records).utilisation == (2 * 4 + 3 + 2 * 7) / (2 * 14)


@pytest.mark.parametrize("slot", [0.1, 1.3])
def test_no_round_is_lost_where_its_begin_is_rounded(slot: float) -> None:
    """7 x 1.3 / 1.3 and 30 x 360.1 / 360.1 are less than 7 and 30: both begin a round."""
    jobs = jobs_of((0, 2, 6.5), (0, 2, 6.5))
    settings = PolicyOptions(checkpoint=0, round=1.3)
    turns = simulate_online(jobs, "las", None, settings).segments
    same = simulate_online(jobs, "las", None, replace(settings, slot=slot)).segments
    assert same.job.tolist() == turns.job.tolist()
    assert same.start == pytest.approx(turns.start)
    assert np.isclose(turns.start[turns.job == 0], 9.1).any()
    jobs = jobs_of((0, 2, 6000), (0, 2, 6000))
    settings = PolicyOptions(checkpoint=0, round=360.1, slot=1)
    later = [start for start, _ in stretches(simulate_online(jobs, "las", None, settings))[1]]
    assert {10083, 10803, 11762} >= set(later[-2:]) == {10803, 11762}


def test_max_min_shares_are_in_proportion_to_what_each_is_due() -> None:
    """On 2 GPUs jobs of 2, 1 and 1 are due 2/3 GPU each: a third of the time, and two thirds."""
    jobs = jobs_of((0, 2, 2000), (0, 1, 4000), (0, 1, 4000))
    records = simulate_online(jobs, "max-min", None, PolicyOptions(checkpoint=0, round=1))
    parts, until = records.segments, 3000.0
    worked = np.bincount(parts.job, np.clip(np.minimum(parts.end, until) - parts.start, 0, None))
    assert worked == pytest.approx([1000, 2000, 2000], rel=0.01)


@pytest.mark.parametrize("seed", range(6))
def test_max_min_level_solves_the_linear_programmes(seed: int) -> None:
    """The least share is made as large as can be, then the least of those that can be larger."""
    rng = np.random.default_rng(seed)
    gpus, total = rng.choice([1, 1, 2, 4, 8], int(rng.integers(1, 8))), int(rng.integers(2, 20))
    every, fixed = np.arange(len(gpus)), np.full(len(gpus), np.nan)

    def most(wanted: np.ndarray, at_least: float) -> float:
        """The most of a weighted sum of shares; the last weight is that of the least share."""
        free = np.isnan(fixed)
        low, high = np.where(free, at_least, fixed), np.where(free, gpus, fixed)
        above = np.column_stack((-np.eye(len(gpus)), np.ones(len(gpus))))[free]
        found = linprog(
            -wanted,
            A_ub=np.vstack((above, np.append(np.ones(len(gpus)), 0))),
            b_ub=np.append(np.zeros(len(above)), total),
            bounds=[*zip(low, high, strict=True), (0, None)],
        )
        return -float(found.fun)

    while np.isnan(fixed).any():
        least = most(np.append(np.zeros(len(gpus)), 1.0), 0.0)
        stuck = [
            i
            for i in every[np.isnan(fixed)]
            if most(np.append(every == i, 0.0), least - 1e-9) <= least + 1e-6
        ]
        fixed[stuck] = least
    assert np.minimum(gpus, max_min_level(gpus, total)) == pytest.approx(fixed, abs=1e-5)


# a user's own policy; test_protocol holds such policies to the compiled ones


def test_the_view_expects_the_ends_of_what_runs() -> None:
    """With true lengths a job that is not stopped ends when it was expected to."""
    jobs, _ = random_case(4)
    expected: dict[tuple[str, float], float] = {}

    class Watching(Remaining):
        def schedule(self, view: View) -> None:
            super().schedule(view)
            for each in view.running:
                expected[each.job.job_id, each.start] = each.expected_end
                assert each.expected_end > view.now
            held = sum(sum(each.servers.values()) for each in view.running)
            assert held == view.gpus - view.free_gpus

    records = simulate_policy(jobs, Watching(), None, ROUNDS)
    assert records.preemptions > 10
    parts = records.segments
    for at in np.flatnonzero(parts.ended):
        shown = expected[str(records.job_id[parts.job[at]]), float(parts.start[at])]
        assert shown == pytest.approx(float(parts.end[at]), rel=1e-12)


# the audit


@pytest.fixture(scope="module")
def stopped() -> tuple[Jobs, np.ndarray, Records]:
    jobs, predicted = random_case(4)
    return jobs, predicted, simulate_online(jobs, "las", predicted, ROUNDS)


def first_resumed(parts: Segments) -> int:
    """A segment that continues a stopped job and is stopped again."""
    return int(np.flatnonzero(parts.resumed & ~parts.ended)[0])


@pytest.mark.parametrize(
    ("column", "change", "rule"),
    [
        ("end", lambda parts, at: parts.end[at] - 0.5, "duration"),
        ("start", lambda parts, at: parts.end[at - 1] - 1.0, "segments"),
        ("taken", lambda parts, at: parts.taken[parts.first[at]] + 1, "gang"),
        ("alpha", lambda parts, at: parts.alpha[at] * 1.01, "alpha"),
    ],
)
def test_corrupted_segments_are_found(
    stopped: tuple[Jobs, np.ndarray, Records],
    column: str,
    change: Callable[[Segments, int], float],
    rule: str,
) -> None:
    jobs, _predicted, records = stopped
    parts = records.segments
    at = first_resumed(parts)
    values = getattr(parts, column).copy()
    values[parts.first[at] if column == "taken" else at] = change(parts, at)
    changed = replace(records, parts=replace(parts, **{column: values}))
    assert rule in {v.rule for v in audit(jobs, changed).violations}


def test_a_cheaper_checkpoint_is_found(stopped: tuple[Jobs, np.ndarray, Records]) -> None:
    jobs, _predicted, records = stopped
    dearer = replace(records, options=replace(records.options, checkpoint=1.0))
    assert {v.rule for v in audit(jobs, dearer).violations} == {"duration"}


@pytest.mark.parametrize(("ran", "said"), list(permutations(PREEMPTIVE, 2)))
def test_another_policy_s_turns_are_found(ran: str, said: str) -> None:
    jobs, predicted = random_case(4)
    records = simulate_online(jobs, ran, predicted, ROUNDS)
    changed = replace(records, policy=said, options=replace(records.options, round=4.0))
    assert "queue order" in {v.rule for v in audit(jobs, changed, predicted=predicted).violations}


# bounds


def test_the_capacity_dual_does_not_bound_runs_that_stop_jobs() -> None:
    """A long job with short ones after it: stopping it costs less than any schedule without."""
    jobs = jobs_of(*LONG_FIRST)
    records = simulate_online(jobs, "srpt-preemptive", None, PolicyOptions(checkpoint=0))
    flow = float(records.flow.sum())
    bounds = flow_bounds(jobs, known_flow=flow)
    assert bounds.best_preemptive <= flow * (1 + 1e-9)
    assert bounds.capacity_dual > flow


def instance_of(jobs: Jobs) -> OnlineInstance:
    made = (jobs.configurations.jobs[each] for each in jobs.configuration)
    models = dict(zip(jobs.workload.model.text(), made, strict=True))
    return OnlineInstance(jobs.workload, Catalogue.of(models), jobs.cluster)


def test_a_preemptive_run_is_compared_with_its_own_bound_alone() -> None:
    """It can beat the bound of the runs without preemption, and has no excess beside them."""
    jobs = jobs_of(*LONG_FIRST)
    options = {"predictor": "perfect", "checkpoint": 0}
    methods = ["flow-bound", "fifo", "srpt-preemptive"]
    beside = optsched.compare(instance_of(jobs), methods, options=options)
    table = beside.set_index("method")
    assert table.loc["flow-bound", "bound"] == table.loc["fifo", "bound"]
    stops = table.loc["srpt-preemptive"]
    assert stops["bound"] <= stops["objective"] < table.loc["fifo", "bound"]
    assert stops["checked"]
    assert np.isnan(stops["excess"])
    assert table.loc["fifo", "excess"] >= 0
    assert beside.attrs["not comparable"] == "srpt-preemptive"
    alone = optsched.compare(instance_of(jobs), ["las", "srpt-preemptive"], options=options)
    assert (alone["excess"] >= 0).all()
    assert alone.attrs["not comparable"] == ""
    settings, prediction = PolicyOptions(checkpoint=0), predict(jobs, "perfect")
    runs = [*run_policies(prediction, ["fifo", "srpt-preemptive"], settings, with_bounds=True)]
    first, second = (run.to_dict() for run in mark_comparable(runs))
    assert first["excess"] is not None
    assert second["excess"] is None
    assert "not comparable" in second


# files and settings


def test_a_run_with_segments_is_checked_from_its_file() -> None:
    jobs, _ = random_case(4)
    instance = instance_of(jobs)
    result = optsched.solve(instance, "las", options={"checkpoint": 0.25, "round": 4.0})
    assert result.check.feasible
    document = json.loads(json.dumps(result.solution.to_dict()))
    stopped = [job for job in document["jobs"] if "segments" in job]
    assert stopped
    assert len(stopped) < len(document["jobs"])
    again = type(result.solution).from_dict(document)
    assert again.to_dict() == document
    assert optsched.check(instance, again).feasible
    explained = optsched.explain(instance, again)
    assert explained.total_flow_time == pytest.approx(result.objective)
    lines = [
        optsched.plot(instance, run, picture="utilisation").lines[0].get_ydata()
        for run in (again, simulate_online(jobs, "las", None, ROUNDS))
    ]
    assert np.array_equal(*lines)
    stopped[0]["segments"][0]["end"] -= 0.125
    report = optsched.check(instance, type(result.solution).from_dict(document))
    assert "duration" in {v.rule for v in report.violations}
    stopped[0]["segments"].pop()
    with pytest.raises(InputError, match="segments that do not match"):
        type(result.solution).from_dict(document)


def test_files_of_runs_that_stop_nothing_are_as_ever(tmp_path: Path) -> None:
    jobs, _ = random_case(4)
    runs = list(run_policies(predict(jobs, "perfect"), ["fifo", "las"], ROUNDS))
    fifo, las = (run.to_dict() for run in runs)
    assert set(las) - set(fifo) == {"preemptions", "restoring"}
    assert not {"checkpoint", "round"} & set(fifo["settings"])
    assert las["settings"]["round"] == 4.0
    for run, columns in zip(runs, (11, 12), strict=True):
        write_records(tmp_path / "run.csv", [run.records])
        assert (tmp_path / "run.csv").read_text().partition("\n")[0].count(",") == columns - 1
