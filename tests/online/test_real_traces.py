"""The benchmark on real traces: windows and regimes are what its page says, on a trace made up."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from optsched.online.traces.trace import Trace, TraceRow, collect

ROOT = Path(__file__).parents[2]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import real_traces

    return real_traces


def made_up(jobs: int = 400) -> Trace:
    """Jobs of 1 to 8 GPUs, of five groups with typical lengths."""
    rng = np.random.default_rng(5)
    submit = np.cumsum(rng.exponential(60.0, jobs))
    rows = []
    for row in range(jobs):
        group = int(rng.integers(5))
        gpus, seconds = 2 ** (group % 4), float(rng.lognormal(5 + group / 2, 0.3))
        rows.append(
            TraceRow(row, f"j{row}", float(submit[row]), seconds, gpus, "", f"group {group}")
        )
    return collect(rows, "made up")


def test_the_regimes_are_those_of_the_page(script: Any) -> None:
    trace = made_up()
    cases = list(script.cases("made up", trace, 3))
    assert [case.window for case in cases] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    for case in cases:
        assert set(case.predictions) == set(script.KNOWN)
        learnt, exact = (case.predictions[said] for said in script.KNOWN)
        assert len(exact.jobs) == 180  # of 400 jobs 90%, the second half of them
        if case.regime.startswith("load"):
            wanted = float(case.regime.removeprefix("load "))
            assert exact.jobs.load == pytest.approx(wanted, rel=1e-9)
            assert exact.jobs.cluster.servers == 25
        assert (exact.iterations == exact.jobs.iterations).all()
        assert (learnt.iterations != learnt.jobs.iterations).mean() > 0
    waits = np.diff(trace.submit)
    as_it_is = [case.predictions[script.TRUE].jobs for case in cases if case.regime[0] == "a"]
    for jobs, first in zip(as_it_is, (180, 200, 220), strict=True):
        assert np.diff(jobs.submit) == pytest.approx(waits[first : first + 179])


def test_the_page_says_how_far_above_the_best_baseline(script: Any) -> None:
    rows = [row for case in script.cases("made up", made_up(), 2) for row in script.rows_of(case)]
    flows = {(r.regime, r.window, r.known, r.policy): r.flow for r in rows}
    chosen = script._of(rows, "made up", "load 2", script.TRUE)
    ours = script._over_best(chosen, "easy")
    for window, value in enumerate(ours):
        rivals = [flows["load 2", window, script.TRUE, name] for name in script.BASELINES]
        assert value == flows["load 2", window, script.TRUE, "easy"] / min(rivals)
    page = script.page(rows)
    middle = (ours[0] + ours[1]) / 2
    assert f"{middle:.2f} [{min(ours):.2f}-{max(ours):.2f}]" in page
    known = {label: flows["load 2", 0, script.TRUE, label] for label in script.APART}
    assert known["a-srpt"] == flows["load 2", 0, script.TRUE, "a-srpt"]
    assert len(set(known.values())) > 3  # what is taken away makes a difference


def test_without_the_data_it_says_so() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "real_traces.py")],
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "OPTSCHED_DATA: not set" in done.stderr


def test_the_three_numbers_of_philly_are_those_of_its_table() -> None:
    page = (ROOT / "docs" / "philly.md").read_text(encoding="utf-8")
    rows = {
        name: [float(cell.strip(" %").replace(",", "")) for cell in cells.split("|")[2:-1]]
        for name, cells in re.findall(r"(?m)^\| `([\w-]+)` (.+\|)$", page)
    }
    easy, held, stopped = (rows[name][0] for name in ("easy", "srpt-workload-hold", "las"))
    said = " ".join(page.partition("**Three numbers.**")[2].split())
    assert f"**{easy:.0f} hours** a job." in said
    assert f"**{held:.0f} hours**; one that stops" in said
    assert f"at 30 s a time, {stopped:.0f}." in said
    bound = float(re.findall(r"is below \*\*([\d.]+) hours\*\*", said)[0])
    assert easy / bound == pytest.approx(rows["easy"][2], rel=0.02)
    assert f"a factor of {rows['srpt-workload-hold'][2]:.1f} is left" in said
    lost = {name: row[3] for name, row in rows.items()}
    assert min(lost[name] for name in ("fifo", "easy", "spwf")) > 2.5 * lost["a-srpt"]
