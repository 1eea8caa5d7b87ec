"""Plots draw what the records say; artefacts of the figures run and state their conditions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from oracles.random_online import random_case

from optsched.errors import InputError
from optsched.experiments import ARTEFACTS, reproduce
from optsched.experiments.papers.a_srpt import figures as a_srpt_figures
from optsched.experiments.papers.a_srpt.findings import Claim, ranged
from optsched.experiments.papers.a_srpt.jobs import Machine, generate_case
from optsched.experiments.papers.a_srpt.runs import BASELINES, COLUMNS
from optsched.experiments.papers.artefact import Scale
from optsched.experiments.papers.verdict import Finding, read_verdict
from optsched.generators.workload import WorkloadShape
from optsched.online.simulator.engine import simulate_online


@pytest.fixture(autouse=True)
def _backend() -> None:
    pytest.importorskip("matplotlib").use("Agg")


def test_plots() -> None:
    from optsched.plotting.online import completion_by, flow_cdf, queue_length, utilisation

    jobs, predicted = random_case(1)
    runs = [simulate_online(jobs, name, predicted) for name in ("a-srpt", "spwf")]
    for plot in (queue_length, utilisation, flow_cdf):
        ax = plot(runs)
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a-srpt", "spwf"]
    line = queue_length(runs[:1]).lines[0]
    assert np.max(line.get_ydata()) <= len(jobs)
    assert line.get_ydata()[-1] == 0
    ax = completion_by([1, 10], {"a-srpt": [[1.0, 2.0], [3.0, 5.0]]}, "NIC (Gbit/s)")
    assert ax.get_xlabel() == "NIC (Gbit/s)"


def test_a_trace_of_the_users_need_not_have_the_papers_size() -> None:
    assert a_srpt_figures.simulated(Scale()).full
    assert not a_srpt_figures.simulated(Scale(quick=True)).full
    assert not a_srpt_figures.simulated(Scale(trace="pai.csv")).full
    assert a_srpt_figures.simulated(Scale(trace="pai.csv", full=True)).full


def test_figure_5_states_its_conditions(tmp_path: Path) -> None:
    text = reproduce("a-srpt-fig5", tmp_path, quick=True)
    assert "synthetic" in text
    assert "tau = 0" in text
    assert "Verdict: " in text
    assert "3 seeds" in text
    assert "smoke" in text
    assert (tmp_path / "a-srpt-fig5.md").read_text().strip() == text.strip()
    rows = (tmp_path / "a-srpt-fig5.csv").read_text().splitlines()
    assert len(rows) == 1 + 3 * 7
    for suffix in ("png", "pdf"):
        assert (tmp_path / f"a-srpt-fig5.{suffix}").stat().st_size > 1000
    verdict = read_verdict(tmp_path, "a-srpt-fig5")
    assert verdict is not None
    assert verdict.smoke
    assert "tau 0" in verdict.setting
    assert "baselines by most-available" in verdict.setting


def test_recurrence_claims_are_not_testable_without_the_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "optsched.experiments.papers.a_srpt.figures.PREDICTORS", ("forest", "group-mean")
    )
    assert "not testable here" in reproduce("a-srpt-fig4", tmp_path, quick=True)
    verdict = read_verdict(tmp_path, "a-srpt-fig4")
    assert verdict is not None
    assert verdict.finding is Finding.NOT_TESTABLE
    assert "--trace" in verdict.paragraph


@pytest.mark.parametrize(
    ("own", "last", "found"),
    [(50.0, 40.0, Finding.HOLDS), (50.0, 60.0, Finding.PARTLY), (95.0, 101.0, Finding.FAILS)],
)
def test_findings_by_hand(own: float, last: float, found: Finding) -> None:
    """Baselines take 100 s: a-srpt at 50 is 50% below; claimed 30-60%, growing to the last case."""
    labels = {"a-srpt tau=1": 100.0, "a-srpt hold=inf": 50.0, "srpt-workload-hold": 40.0}
    labels["a-srpt-perfect"] = 30.0
    rows = [
        (case, seed, label, 10, value, value, value)
        for seed in range(3)
        for case, mine in (("1 jobs", own), ("2 jobs", last))
        for label, value in {**labels, "a-srpt": mine, **dict.fromkeys(BASELINES, 100.0)}.items()
    ]
    claim = Claim("a-srpt-fig6", "30-60%", 0.3, 0.6, rising=True)
    verdict = ranged(claim, pd.DataFrame(rows, columns=list(COLUMNS)), Scale())
    assert verdict.finding is found
    assert (verdict.paragraph == "") == (found is Finding.HOLDS)
    if found is Finding.FAILS:
        assert "spjf in 3 of 6 runs" in verdict.paragraph
        assert "hold=inf at 50%; srpt-workload-hold, beyond the paper, is at 60%" in (
            verdict.paragraph
        )
        assert "knows every length, is at 70%" in verdict.paragraph


def test_a_users_trace_is_taken(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = ["job_id,user,num_gpu,num_pod,duration,submit_time,group"]
    rows += [
        f"{i},u{i % 3},{rng.choice([0.5, 1, 2, 4])},1,{rng.integers(10, 500)},{20 * i},g{i % 7}"
        for i in range(100)
    ]
    trace = tmp_path / "pai.csv"
    trace.write_text("\n".join(rows) + "\n")
    text = reproduce("a-srpt-fig5", tmp_path, quick=True, trace=str(trace))
    assert "trace pai.csv" in text
    assert "synthetic" not in text


def _pai(path: Path, singles: int, others: int) -> str:
    rng = np.random.default_rng(0)
    gpus = rng.permutation([1] * singles + [2, 4] * (others // 2))
    rows = ["job_id,user,num_gpu,duration,submit_time,group"]
    rows += [f"{i},u{i % 3},{g},{10 + i % 90},{20 * i},g{i % 7}" for i, g in enumerate(gpus)]
    path.write_text("\n".join(rows) + "\n")
    return str(path)


def test_a_trace_is_thinned_to_a_cases_single_gpu_share(tmp_path: Path) -> None:
    """Fig. 7's cases differ on a trace as they do on synthetic jobs, and Fig. 8 has no such job."""
    trace = _pai(tmp_path / "pai.csv", 300, 200)
    for share in (0.8, 0.6, 0.4, 0.2, 0.0):
        shape = WorkloadShape(single_gpu_share=share)
        jobs = generate_case(
            100, Machine(4), shape=shape, trace=trace, thinned=True, seed=3
        ).workload
        assert len(jobs.gpus) == 100
        assert (jobs.gpus == 1).sum() == round(100 * share)
        assert (np.diff(jobs.submit_time) >= 0).all()
    plain = generate_case(100, Machine(4), trace=trace, seed=3).workload
    assert np.ptp(plain.submit_time) == pytest.approx(99 * 20)  # consecutive rows, 20 s apart


def test_a_trace_that_cannot_carry_a_share_is_refused(tmp_path: Path) -> None:
    trace = _pai(tmp_path / "pai.csv", 300, 20)
    shape = WorkloadShape(single_gpu_share=0.2)
    with pytest.raises(InputError, match="300 jobs of one GPU and 20 of more that fit"):
        generate_case(100, Machine(4), shape=shape, trace=trace, thinned=True)
    with pytest.raises(InputError, match="single-GPU share of 80%"):
        reproduce("a-srpt-fig7", tmp_path, quick=True, trace=trace)


def test_jobs_that_do_not_fit_leave_the_count_as_it_is(tmp_path: Path) -> None:
    trace = _pai(tmp_path / "pai.csv", 100, 100)
    jobs = generate_case(80, Machine(1, 2), trace=trace, seed=1).workload
    assert len(jobs.gpus) == 80
    assert jobs.gpus.max() == 2


def test_scales_are_refused_where_they_mean_nothing(tmp_path: Path) -> None:
    assert {name for name in ARTEFACTS if ARTEFACTS[name].scales} == {
        f"a-srpt-fig{number}" for number in range(4, 10)
    }
    for arguments in ({"full": True}, {"trace": "x.csv"}):
        with pytest.raises(InputError):
            reproduce("a-srpt-table2", tmp_path, **arguments)
    with pytest.raises(InputError):
        reproduce("a-srpt-fig5", tmp_path, quick=True, full=True)
