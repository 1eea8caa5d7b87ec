"""Plots draw what the records say; artefacts of the figures run and state their conditions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from oracles.random_online import random_case

from optsched.errors import InputError
from optsched.experiments import ARTEFACTS, reproduce
from optsched.online.engine import simulate


@pytest.fixture(autouse=True)
def _backend() -> None:
    pytest.importorskip("matplotlib").use("Agg")


def test_plots() -> None:
    from optsched.plot.online import completion_by, flow_cdf, queue_length, utilisation

    jobs, predicted = random_case(1)
    runs = [simulate(jobs, name, predicted) for name in ("a-srpt", "spwf")]
    for plot in (queue_length, utilisation, flow_cdf):
        ax = plot(runs)
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a-srpt", "spwf"]
    line = queue_length(runs[:1]).lines[0]
    assert np.max(line.get_ydata()) <= len(jobs)
    assert line.get_ydata()[-1] == 0
    ax = completion_by([1, 10], {"a-srpt": [[1.0, 2.0], [3.0, 5.0]]}, "NIC (Gbit/s)")
    assert ax.get_xlabel() == "NIC (Gbit/s)"


def test_figure_5_states_its_conditions(tmp_path: Path) -> None:
    text = reproduce("a-srpt-fig5", tmp_path, quick=True)
    assert "synthetic" in text
    assert "tau = 0" in text
    assert "Verdict: " in text
    assert "[smoke: 2 seeds]" in text
    assert (tmp_path / "a-srpt-fig5.md").read_text().strip() == text.strip()
    rows = (tmp_path / "a-srpt-fig5.csv").read_text().splitlines()
    assert len(rows) == 1 + 2 * 7


def test_recurrence_claims_are_not_testable_without_the_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("optsched.experiments.papers.a_srpt_figures.PREDICTORS", ("group-mean",))
    assert "not testable here" in reproduce("a-srpt-fig4", tmp_path, quick=True)


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


def test_scales_are_refused_where_they_mean_nothing(tmp_path: Path) -> None:
    assert {name for name in ARTEFACTS if ARTEFACTS[name].scales} == {
        f"a-srpt-fig{number}" for number in range(4, 10)
    }
    for arguments in ({"full": True}, {"trace": "x.csv"}):
        with pytest.raises(InputError):
            reproduce("a-srpt-table2", tmp_path, **arguments)
    with pytest.raises(InputError):
        reproduce("a-srpt-fig5", tmp_path, quick=True, full=True)
