"""The artefacts over time at tiny sizes: every file, the verdict, and what the rows say."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from optsched.experiments import ARTEFACTS
from optsched.experiments.papers.sts import optimum_over_time, price_robustness
from optsched.experiments.papers.sts import over_time as sts_over_time
from optsched.experiments.papers.sts.over_time_findings import finding4, reductions
from optsched.experiments.papers.sts.pictures import by_size
from optsched.experiments.papers.sts.runs import Task, late_share, of, ratios, rows_of
from optsched.experiments.papers.verdict import Finding, Verdict, read_verdict
from optsched.generators.rolling import rolling_settings

TINY = rolling_settings(3, jobs=8, arrivals="load", load=0.6)


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sts_over_time, "QUICK_SIZES", {2: 1})
    monkeypatch.setattr(sts_over_time, "QUICK_REPEATS", {2: 2})
    monkeypatch.setattr(price_robustness, "QUICK_JOBS", 6)
    monkeypatch.setattr(price_robustness, "QUICK_BOUND", 3)
    monkeypatch.setattr(optimum_over_time, "QUICK_JOBS", 4)


def made(name: str, folder: Path) -> tuple[list[dict[str, str]], Verdict, str]:
    module, _, function = ARTEFACTS[name].run.partition(":")
    run = getattr(__import__(module, fromlist=[function]), function)
    text = run(folder, True)
    for suffix in ("md", "png", "pdf"):
        assert (folder / f"{name}.{suffix}").stat().st_size > 100
    with (folder / f"{name}.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    verdict = read_verdict(folder, name)
    assert verdict is not None
    assert verdict.smoke
    assert verdict.finding is Finding.HOLDS or verdict.paragraph
    assert str(verdict) in text
    return rows, verdict, text


def test_fig4(tmp_path: Path) -> None:
    rows, verdict, text = made("sts-fig4", tmp_path)
    assert {row["policy"] for row in rows} == set(sts_over_time.FIG4)
    assert {row["case"] for row in rows} == set(sts_over_time.ARRIVALS)
    assert {row["repeats"] for row in rows if row["policy"] in ("rg", "avg-rg")} == {"2"}
    assert "rho" in text
    assert "rho (plan)" in verdict.setting


def test_fig5(tmp_path: Path) -> None:
    rows, _, _ = made("sts-fig5", tmp_path)
    assert {row["policy"] for row in rows} == set(sts_over_time.FIG5)


def test_fig6(tmp_path: Path) -> None:
    rows, _, _ = made("sts-fig6", tmp_path)
    assert {row["sharing"] for row in rows} == {"on", "off"}
    plans = {row["case"].split(", ")[0]: row["plan"] for row in rows}
    assert "A100" in plans["A100"]
    assert "A100" not in plans["K80 and M60"]


def test_price_robustness(tmp_path: Path) -> None:
    rows, verdict, _ = made("price-robustness", tmp_path)
    assert len({row["case"] for row in rows}) == 12
    assert {row["policy"] for row in rows} == set(price_robustness.POLICIES)
    assert all(0 < float(row["bound"]) <= float(row["total"]) * (1 + 1e-9) for row in rows)
    assert "of 12 cells" in verdict.ours


def test_twenty_seeds_three_loads_three_regimes_and_fractions() -> None:
    tasks = price_robustness._tasks(quick=False)
    assert len(tasks) == 20 * 3 * 4
    assert all(task.policies == price_robustness.POLICIES for task in tasks)
    assert {task.time_limit for task in tasks} == {None}


def test_optimum_over_time(tmp_path: Path) -> None:
    rows, verdict, _ = made("optimum-over-time", tmp_path)
    assert {row["case"] for row in rows} == {"light", "medium", "saturated"}
    assert verdict.ours.startswith("dearer than sts in ")


def test_repeats_are_of_rg_only_on_the_same_epochs() -> None:
    task = Task("c", TINY, 3, ("sts", "rg"), passes=2, repeats=3)
    once = rows_of([Task("c", TINY, 3, ("sts", "rg"), passes=2)], parallel=False)
    rows = rows_of([task], parallel=False)
    assert [row.repeats for row in rows] == [1, 3]
    assert rows[0] == once[0]
    assert rows[1].rho == once[1].rho
    assert rows[1].plan == once[1].plan


def test_reductions_and_findings_by_hand() -> None:
    """STS 50 $, EDF 100 $: PCR 50%. All rivals so, no job late: the claim holds."""
    sts, rg = rows_of([Task("c", TINY, 3, ("sts", "rg"), passes=2)], parallel=False)
    rows = [replace(sts, total=50.0, late=0.0)]
    rows += [replace(rg, policy=p, total=100.0) for p in ("edf", "rg", "avg-edf", "avg-rg")]
    assert reductions(rows, "c", "edf", "total") == [50.0]
    assert finding4(rows, "s", smoke=False).finding is Finding.HOLDS
    late = [replace(rows[0], late=2.0), *rows[1:]]
    assert finding4(late, "s", smoke=False).finding is Finding.PARTLY
    dear = [replace(late[0], total=99.0), *rows[1:]]
    assert finding4(dear, "s", smoke=False).finding is Finding.FAILS
    assert late_share(of(late, policy="sts")) == pytest.approx(25.0)
    assert ratios(of(rows, policy="sts"), of(rows, policy="edf")) == [0.5]


def test_both_loads_stand_on_the_axis_or_in_the_legend() -> None:
    rows = rows_of([Task("c", TINY, 3, ("sts", "edf"))], parallel=False)
    sts, edf = of(rows, policy="sts"), of(rows, policy="edf")
    loads = f"{sts[0].rho:.2f}", f"{sts[0].utilisation:.2f}"
    (ax,) = by_size({"c": {"sts": (sts, edf)}}, "total", "ratio").axes
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["\n".join(("3", *loads))]
    assert ax.lines[0].get_ydata()[0] == pytest.approx(sts[0].total / edf[0].total)
    other = [replace(edf[0], case="d")]
    (ax,) = by_size({"p": {"c": (sts, edf), "d": (sts, other)}}, "total", "ratio").axes
    assert ax.lines[0].get_label() == f"c: rho, plan {', '.join(loads)}"


@pytest.mark.full
def test_many_processes_give_the_rows_of_one() -> None:
    tasks = [Task("c", TINY, seed, ("sts", "rg"), bound=3, repeats=2) for seed in range(3)]
    assert rows_of(tasks) == rows_of(tasks, parallel=False)
