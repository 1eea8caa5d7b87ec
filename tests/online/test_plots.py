"""Plots draw what the records say; artefacts of the figures run and state their conditions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from oracles.random_online import random_case
from plotting.readable import faults

from optsched.cli import _code
from optsched.errors import InputError
from optsched.experiments import ARTEFACTS, reproduce
from optsched.experiments.papers.a_srpt import break_even, testbed
from optsched.experiments.papers.a_srpt.findings import Claim, ranged
from optsched.experiments.papers.a_srpt.jobs import Machine, Source, generate_case
from optsched.experiments.papers.a_srpt.runs import BASELINES, COLUMNS, KNOWN
from optsched.experiments.papers.a_srpt.sizes import simulated
from optsched.experiments.papers.artefact import Scale
from optsched.experiments.papers.verdict import Finding, read_verdict
from optsched.online.data.jobs import prepare_jobs
from optsched.online.policies.by_name import PAPER
from optsched.online.simulator.engine import simulate_online
from optsched.plotting.axes import house_style


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
    assert simulated(Scale()).full
    assert not simulated(Scale(quick=True)).full
    assert not simulated(Scale(trace="pai.csv")).full
    assert simulated(Scale(trace="pai.csv", full=True)).full


def test_figure_5_states_its_conditions(tmp_path: Path) -> None:
    text = reproduce("a-srpt-fig5", tmp_path, quick=True)
    assert "synthetic" in text
    assert "tau = 0" in text
    assert "Verdict: " in text
    assert "3 seeds" in text
    assert "smoke" in text
    assert (tmp_path / "a-srpt-fig5.md").read_text().strip() == text.strip()
    rows = (tmp_path / "a-srpt-fig5.csv").read_text().splitlines()
    assert len(rows) == 1 + 3 * 7 * 3 * (3 + 3)  # seeds, policies, what is known, worlds
    for suffix in ("png", "pdf"):
        assert (tmp_path / f"a-srpt-fig5.{suffix}").stat().st_size > 1000
    with house_style():
        assert faults(testbed.draw(pd.read_csv(tmp_path / "a-srpt-fig5.csv"))) == []
    verdict = read_verdict(tmp_path, "a-srpt-fig5")
    assert verdict is not None
    assert verdict.smoke
    assert "tau 0" in verdict.setting
    assert "baselines by most-available" in verdict.setting


def test_figure_5_says_where_each_part_holds() -> None:
    """With lengths known a-srpt takes 50 s, or 90 at load 2; spjf takes 100 and the others 95."""
    rows = [
        (f"{lengths} {load}", lengths, "70% single-GPU jobs", load, seed, label, 75, took, took, 9)
        for lengths, load, own in (
            *(("forest", 0.5, 500.0), ("60% exact", 0.5, 52.0), ("60% exact", 2.0, 99.0)),
            *(("known", 0.5, 50.0), ("known", 2.0, 90.0)),
        )
        for seed in range(3)
        for label in PAPER
        for took in (
            {"a-srpt": own, "a-srpt-perfect": 50 if load < 1 else 90, "spjf": 100}.get(label, 95),
        )
    ]
    columns = ["case", "lengths", "mix", "load", *COLUMNS[1:]]
    verdict = testbed.judge(pd.DataFrame(rows, columns=columns), Scale())
    assert verdict.finding is Finding.PARTLY
    assert verdict.ours == (
        "within 7% of perfect prediction: holds in 1 of 2 worlds; "
        "below every baseline: holds in 3 of 4 worlds; "
        "up to 44% below the baselines: holds in 2 of 4 worlds; "
        "a work-conserving baseline has the shorter makespan: holds in 0 of 4 worlds"
    )
    near, below, *_ = (x for x in verdict.paragraph.splitlines() if x.startswith("- "))
    assert "holds where 60% of lengths exact: 70% single-GPU jobs at load 0.5 (4%). It" in near
    assert "60% of lengths exact: 70% single-GPU jobs at load 2 (10%)" in near
    assert "every length known: 70% single-GPU jobs at all loads (5 to 47%). It fails" in below
    assert "is reached in 6 of 12" in verdict.paragraph


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
    ("own", "last", "longer", "found"),
    [
        (50.0, 40.0, 50.0, Finding.HOLDS),
        (50.0, 60.0, 50.0, Finding.PARTLY),
        (95.0, 101.0, 50.0, Finding.PARTLY),  # with another tau, which the paper does not state
        (95.0, 101.0, 95.0, Finding.FAILS),
    ],
)
def test_findings_by_hand(own: float, last: float, longer: float, found: Finding) -> None:
    """Baselines take 100 s: a-srpt at 50 is 50% below; claimed 30-60%, growing to the last case."""
    labels = {"a-srpt tau=1": 100.0, "a-srpt hold=inf": 50.0, "srpt-workload-hold": 40.0}
    labels |= {
        "a-srpt-perfect": 30.0 if longer < 90 else 90.0,
        "a-srpt tau=1000": longer,
        "a-srpt unseen=mean": 90.0,
    }
    rows = [
        (case, seed, label, 10, value, value, value, 0.5, 0.1)
        for seed in range(3)
        for case, mine in (("1 jobs", own), ("2 jobs", last))
        for label, value in {**labels, "a-srpt": mine, **dict.fromkeys(BASELINES, 100.0)}.items()
    ]
    claim = Claim("a-srpt-fig6", "30-60%", 0.3, 0.6, rising=True)
    verdict = ranged(claim, pd.DataFrame(rows, columns=[*COLUMNS, *KNOWN]), Scale())
    assert verdict.finding is found
    assert (verdict.paragraph == "") == (found is Finding.HOLDS)
    if found is Finding.FAILS:
        assert "spjf in 3 of 6 runs" in verdict.paragraph
        holds, _, fails = verdict.paragraph.partition("Fails")
        assert "tau 100: at 1 jobs (5% by flow); tau 1000: everywhere" in holds
        assert "every length known: everywhere (10% by flow)" in holds
        assert "tau 100: at 2 jobs (-1% by flow); tau 1: everywhere" in fails
        assert "50% of jobs predicted within 10%, 10% of groups not met" in holds


def test_a_users_trace_is_taken(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = ["job_id,user,num_gpu,num_pod,duration,submit_time,group"]
    rows += [
        f"{i},u{i % 3},{rng.choice([0.5, 1, 2, 4])},1,{rng.integers(10, 500)},{20 * i},g{i % 7}"
        for i in range(400)
    ]
    trace = tmp_path / "pai.csv"
    trace.write_text("\n".join(rows) + "\n")
    text = reproduce("a-srpt-fig5", tmp_path, quick=True, trace=str(trace))
    assert "trace pai.csv" in text
    assert "synthetic" not in text


def _pai(path: Path, singles: int, others: int, groups: int = 7) -> str:
    rng = np.random.default_rng(0)
    gpus = rng.permutation([1] * singles + [2, 4] * (others // 2))
    rows = ["job_id,user,num_gpu,duration,submit_time,group"]
    rows += [f"{i},u{i % 3},{g},{10 + i % 90},{20 * i},g{i % groups}" for i, g in enumerate(gpus)]
    path.write_text("\n".join(rows) + "\n")
    return str(path)


def test_a_traces_groups_are_set_to_a_cases_single_gpu_share(tmp_path: Path) -> None:
    """Fig. 7's cases differ on a trace as they do on synthetic jobs, and Fig. 8 has no such job."""
    trace = _pai(tmp_path / "pai.csv", 300, 200, groups=100)
    for share in (0.8, 0.6, 0.4, 0.2, 0.0):
        source = Source(trace, trace_share=share)
        jobs = generate_case(100, Machine(4), source=source, seed=3).workload
        assert len(jobs.gpus) == 100
        assert (jobs.gpus == 1).mean() == pytest.approx(share, abs=0.05)
        assert set(jobs.gpus.tolist()) <= {1, 2, 4}
        assert np.ptp(jobs.submit_time) == pytest.approx(99 * 20)  # consecutive rows, 20 s apart


def test_a_traces_times_are_scaled(tmp_path: Path) -> None:
    """Load is that of the fifth that runs; lengths change with the time scale alone."""
    trace = _pai(tmp_path / "pai.csv", 300, 200)
    case = {"jobs": 200, "machine": Machine(4), "seed": 3}
    plain, short, loaded = (
        generate_case(**case, source=source)
        for source in (
            Source(trace),
            Source(trace, time_scale=0.1),
            Source(trace, trace_load=1.3, time_scale=0.1),
        )
    )
    assert short.workload.submit_time == pytest.approx(0.1 * plain.workload.submit_time)
    assert short.workload.iterations == pytest.approx(0.1 * plain.workload.iterations)
    assert loaded.workload.iterations == pytest.approx(0.1 * plain.workload.iterations)
    jobs = prepare_jobs(loaded.workload, loaded.catalogue, loaded.cluster)
    assert jobs.after(160).load == pytest.approx(1.3)


@pytest.mark.parametrize(
    ("name", "singles", "others", "groups", "changes", "says"),
    [
        ("a-srpt-fig7", 500, 0, 7, {}, "a-srpt-fig7: found no job of more GPUs than one, expected"),
        ("a-srpt-fig7", 300, 100, 1, {}, "a-srpt-fig7: found groups that allow 0% at most"),
        ("a-srpt-fig8", 500, 0, 7, {}, "a-srpt-fig8: found no job of more GPUs than one"),
        (
            "a-srpt-fig6",
            60,
            40,
            7,
            {},
            "a-srpt-fig6: found 100 jobs that fit the cluster, expected",
        ),
        ("a-srpt-fig5", 60, 40, 7, {}, "a-srpt-fig5: found 100 jobs that fit the cluster"),
        ("a-srpt-fig4", 300, 100, 7, {"trace_format": "muri"}, "a-srpt-fig4: found format muri,"),
        ("a-srpt-fig9", 300, 100, 7, {"trace_format": "muri"}, "a-srpt-fig9: found format muri,"),
        ("a-srpt-fig6", 300, 100, 7, {"trace_format": "pia"}, "format: found 'pia', expected one"),
    ],
)
def test_a_trace_that_cannot_carry_a_claim_is_refused_for_it(
    name: str,
    singles: int,
    others: int,
    groups: int,
    changes: dict[str, str],
    says: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    trace = _pai(tmp_path / "pai.csv", singles, others, groups)
    command = ["reproduce", name, "--quick", "--trace", trace, "-o", str(tmp_path / "out")]
    for key, value in changes.items():
        command += [f"--{key.replace('_', '-')}", value]
    assert _code(command) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line


def test_every_importable_format_is_taken(tmp_path: Path) -> None:
    """A trace of Muri's, squeezed to a load: the text says what it is, and at which load."""
    rows = ["job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval"]
    rows += [f"{i},{(1, 2, 4)[i % 3]},{9000 * i},9,m{i % 9},8,{10**5},1" for i in range(400)]
    trace = tmp_path / "muri.csv"
    trace.write_text("\n".join(rows) + "\n")
    how = {"trace": str(trace), "trace_format": "muri", "load": 1.5, "time_scale": 0.5}
    text = reproduce("a-srpt-fig6", tmp_path, quick=True, **how)
    assert "trace muri.csv (muri, times x 0.5)" in text
    assert "## 80 jobs" in text  # 20% of the trace, as the paper's 150,000
    verdict = read_verdict(tmp_path, "a-srpt-fig6")
    assert verdict is not None
    assert "load 1.5" in verdict.setting


@pytest.mark.parametrize(
    "option", [["--load", "1"], ["--time-scale", "2"], ["--trace-format", "muri"]]
)
def test_what_only_a_trace_has_is_refused_without_one(
    option: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _code(["reproduce", "a-srpt-fig6", "--quick", "-o", str(tmp_path), *option]) == 2
    assert f"{option[0]}: found" in capsys.readouterr().err


def test_the_map_says_where(tmp_path: Path) -> None:
    """A-SRPT takes 50 s, or 200 s at load 2; baselines 100 s: it holds below load 2 only."""
    rows = [
        (axis, value, load, seed, own, 100.0, 1 - own / 100)
        for axis in break_even.AXES
        for value in {**break_even.CELLS, **break_even.WORLDS}[axis]
        for load in break_even.LOADS
        for seed in range(3)
        for own in (200.0 if load == 2 else 50.0,)
    ]
    columns = ["varied", "value", "load", "seed", "a-srpt", "best baseline", "below"]
    frame = pd.DataFrame(rows, columns=columns)
    verdict = break_even.judge(frame, Scale())
    assert verdict.finding is Finding.PARTLY
    cells = sum(map(len, {**break_even.CELLS, **break_even.WORLDS}.values()))
    assert f"in {4 * cells} of {5 * cells} cells" in verdict.ours
    holds, _, fails = verdict.paragraph.partition("Fails")
    assert "first-fit (0.5, 0.8, 1, 1.5)" in holds
    assert "first-fit (2)" in fails
    assert "a-srpt-map.png" in holds
    break_even.draw(frame).savefig(tmp_path / "map.png")
    assert "| tau 1000 | 50% [50% to 50%] |" in "\n".join(break_even.table(frame, Scale()))


def test_jobs_that_do_not_fit_leave_the_count_as_it_is(tmp_path: Path) -> None:
    trace = _pai(tmp_path / "pai.csv", 100, 100)
    jobs = generate_case(80, Machine(1, 2), source=Source(trace), seed=1).workload
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
