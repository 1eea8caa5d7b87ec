"""Edge cases of the engine: empty, alone, all at once, too large."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from online.small import instance_of, jobs_of, one_stage
from oracles.random_online import random_case

from optsched.errors import InputError
from optsched.kernels import Kernel
from optsched.online.audit import audit
from optsched.online.data.catalogue import Catalogue
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.jobs import prepare_jobs
from optsched.online.data.workload import Workload
from optsched.online.metrics import compute_metrics
from optsched.online.policies.by_name import POLICIES, PolicyOptions
from optsched.online.simulator.engine import simulate_online
from optsched.online.simulator.offers import RULES


@pytest.mark.parametrize("name", POLICIES)
def test_empty(name: str) -> None:
    jobs = jobs_of(servers=2)
    records = simulate_online(jobs, name)
    assert len(records) == 0
    assert records.complete
    assert compute_metrics(records).jobs == 0
    assert audit(jobs, records).violations == ()


@pytest.mark.parametrize("name", POLICIES)
def test_one_job_starts_when_the_virtual_machine_says(name: str) -> None:
    jobs = jobs_of((100, 1, 10), servers=2)
    record = simulate_online(jobs, name)[0]
    released = 10 / 4 if POLICIES[name].virtual else 0.0
    assert (record.submit, record.start, record.end) == (0.0, released, released + 10)
    assert record.servers == ((0, 1),)
    assert record.alpha == 1.0


def test_unknown_model_is_refused_by_name() -> None:
    workload = Workload.of(submit_time=[0], gpus=[1], iterations=[1], model=["x"], job_id=["a"])
    with pytest.raises(InputError, match="job a: model: found 'x'"):
        prepare_jobs(workload, Catalogue.of({}), OnlineCluster.of(2, 2))


def test_slices_that_fit_no_empty_cluster_are_refused() -> None:
    """Three replicas of 2 GPUs get 3 + 3: each server holds one."""
    with pytest.raises(InputError, match="2 of 3 replicas fit 3, 3 GPUs, expected slices that fit"):
        jobs_of((0, one_stage(3, tensor_parallel=2), 1), servers=5, per_server=3)


@pytest.mark.parametrize("policy", [name for name in POLICIES if not POLICIES[name].perfect])
def test_slices_wait_for_a_server(policy: str) -> None:
    """Jobs a and b of one GPU stand on two servers of two: c needs both GPUs of one.

    One GPU is free on either from 0 s on, two on a's when it ends.
    """
    pair = one_stage(1, "pair", tensor_parallel=2)
    jobs = jobs_of((0, 1, 50), (0, 1, 90), (1, pair, 20), servers=2)
    settings = PolicyOptions(offer="most")
    records = simulate_online(jobs, policy, np.array([1.0, 1.0, 20.0]), settings)
    assert records[2].start == min(records.end[:2])
    assert dict(records[2].servers) == {int(np.argmin(records.end[:2])): 2}
    assert audit(jobs, records).violations == ()
    early = replace(records, start=records.start - [0, 0, 1], end=records.end - [0, 0, 1])
    assert "capacity" in {v.rule for v in audit(jobs, early).violations}
    pieces = {"server": np.array([0, 1, 0, 1]), "taken": np.ones(4, dtype=np.int64)}
    elsewhere = replace(records, **pieces, first=np.array([0, 1, 2, 4]))
    assert "slices" in {v.rule for v in audit(jobs, elsewhere).violations}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("comm_heavy", 0.9),
        ("tau", -1.0),
        ("tau", float("nan")),
        ("offer", "best"),
        ("hold", "long"),
        ("slot", float("inf")),
        ("checkpoint", -1.0),
        ("round", 0.0),
    ],
)
def test_bad_settings(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=name):
        PolicyOptions(**{name: value})


def test_a_pass_that_scans_on_has_no_head_with_a_window() -> None:
    waiting = replace(POLICIES["wcs-workload"], delays=True)
    for held, hold in ((waiting, None), (waiting, "window"), ("spwf-consolidated", "none")):
        with pytest.raises(InputError, match=f"hold: found {hold or 'none'}, expected hold=inf"):
            simulate_online(jobs_of((0, 1, 1)), held, None, PolicyOptions(hold=hold))
    held = replace(POLICIES["wcs-workload"], delays=True, hold="inf", offer="best-fit-last")
    jobs, predicted = random_case(3, delays=True)
    same = simulate_online(jobs, "spwf-consolidated", predicted)
    assert (simulate_online(jobs, held, predicted).end == same.end).all()


def test_bad_predictions_and_policies() -> None:
    jobs = jobs_of((0, 1, 1))
    for bad in ([-1.0], [float("nan")], [1.0, 2.0]):
        with pytest.raises(InputError, match="predicted"):
            simulate_online(jobs, "a-srpt", np.array(bad))
    with pytest.raises(InputError, match="policy"):
        simulate_online(jobs, "no-such-policy")


@pytest.mark.parametrize("name", POLICIES)
def test_interrupted_runs_keep_what_started(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, predicted = random_case(4)
    whole = simulate_online(jobs, name, predicted)

    def runs_until_stopped(loop: Kernel, size: float) -> Any:
        def run(*arguments: Any) -> Any:
            *data, _, stop, progress = arguments
            some = loop.py_func(*data, 30, stop, progress)
            while not stop[0]:
                time.sleep(0.001)
            return some

        return run

    def interrupt(started: int, of: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Kernel, "for_size", runs_until_stopped)
    part = simulate_online(jobs, name, predicted, progress=interrupt)
    monkeypatch.undo()
    assert not part.complete
    assert 0 < len(part) < len(whole)
    kept = {record.job_id: record for record in whole}
    until = np.inf if POLICIES[name].preempts == "never" else part.segments.start.max()
    assert all(kept[record.job_id] == record for record in part if record.end <= until)
    assert audit(jobs, part).violations == ()


def test_slots_delay_actions_and_not_completions() -> None:
    jobs = jobs_of((0, 2, 4.5), (3, 2, 1))
    records = simulate_online(jobs, "wcs-subtime", None, PolicyOptions(slot=10.0))
    assert records.start.tolist() == [0.0, 10.0]
    assert records.end.tolist() == [4.5, 11.0]


@pytest.mark.full
@pytest.mark.parametrize("name", POLICIES)
def test_a_million_jobs_at_time_zero(name: str) -> None:
    rng = np.random.default_rng(0)
    count = 1_000_000
    jobs = jobs_of(*((0, 1, length) for length in rng.integers(1, 9, count)), servers=250)
    records = simulate_online(jobs, name)
    assert len(records) == count
    busy = (jobs.iterations * records.alpha).sum() / jobs.cluster.gpus
    assert records.end.max() >= busy * (1 - 1e-9)
    policy = POLICIES[name]
    if policy.preempts == "never" and not policy.virtual:  # no GPU is free while such a job waits
        assert records.end.max() <= busy + 8.0


@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 12), marks=pytest.mark.full)])
@pytest.mark.parametrize("offer", RULES)
def test_an_empty_cluster_starts_any_job_that_waits_for_near_gpus(offer: str, seeds: range) -> None:
    """It offers alpha~ itself, whatever the rule: no job waits there for ever."""
    settings = PolicyOptions(comm_heavy=1.0, offer=offer)  # type: ignore[arg-type]
    for seed in seeds:
        jobs, _ = random_case(seed, delays=seed % 2 == 0, sliced=seed % 3 == 0)
        models = jobs.configurations.jobs  # each after the end of the one before
        alone = instance_of(*((1e6 * at, model, 2.0) for at, model in enumerate(models)))
        apart = prepare_jobs(alone.workload, alone.catalogue, jobs.cluster)
        records = simulate_online(apart, "spwf-consolidated", None, settings)
        assert (records.start == records.submit).all()
        assert records.alpha == pytest.approx(records.estimate, rel=1e-12)
