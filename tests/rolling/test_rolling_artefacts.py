"""The artefacts over time at tiny sizes: every file, the verdict, and what the rows say."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("matplotlib")

from optsched import read_store
from optsched.errors import InputError
from optsched.experiments import reproduce
from optsched.experiments.papers.artefact import Scale
from optsched.experiments.papers.sts import optimum_over_time, price_robustness
from optsched.experiments.papers.sts import over_time as sts_over_time
from optsched.experiments.papers.sts.over_time import by_size
from optsched.experiments.papers.sts.over_time_findings import finding4, reductions
from optsched.experiments.papers.sts.runs import (
    late_share,
    loads,
    of,
    outcomes,
    ratios,
    workload,
)
from optsched.experiments.papers.verdict import Finding, Verdict, read_verdict
from optsched.experiments.plans.plan import Plan
from optsched.experiments.run.runner import sweep
from optsched.rolling.options import RollingOptions

TINY = {"nodes": 3, "jobs": 8, "arrivals": "load", "load": 0.6}


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sts_over_time, "QUICK_SIZES", {2: 1})
    monkeypatch.setattr(sts_over_time, "QUICK_REPEATS", {2: 2})
    monkeypatch.setattr(price_robustness, "QUICK_JOBS", 6)
    monkeypatch.setattr(price_robustness, "QUICK_BOUND", 3)
    monkeypatch.setattr(optimum_over_time, "QUICK_JOBS", 4)


def made(name: str, folder: Path) -> tuple[list[dict[str, str]], Verdict, str]:
    text = reproduce(name, folder, quick=True)
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
    families = price_robustness.plan(Scale())
    runs = [f for f in families if f.methods != ("clairvoyant-bound",)]
    assert len(runs) == len(families) / 2 == 20 * 3 * 4
    assert all(family.methods == price_robustness.POLICIES for family in runs)
    assert {family.limits.time_limit for family in families} == {None}


def test_optimum_over_time(tmp_path: Path) -> None:
    rows, verdict, _ = made("optimum-over-time", tmp_path)
    assert {row["case"] for row in rows} == {"light", "medium", "saturated"}
    assert verdict.ours.startswith("dearer than sts in ")


def rolled(folder: Path, *policies: str, **how: int) -> pd.DataFrame:
    """Outcomes of policies on the tiny workload."""
    families = tuple(workload("c", TINY, 3, policies, iterations=2, **how))
    sweep(Plan("p", families, "", "test"), folder / "s.sqlite", workers=0)
    return outcomes(read_store(folder / "s.sqlite"))


def test_repeats_are_of_rg_only_on_the_same_epochs(tmp_path: Path) -> None:
    once = rolled(tmp_path, "sts", "rg")
    rows = rolled(tmp_path, "sts", "rg", repeats=3)
    assert list(rows["policy"]) == ["sts", "rg"]
    assert list(rows["repeats"]) == [1, 3]
    same = ["case", "nodes", "seed", "sharing", "policy", "rho", "utilisation", "plan", "jobs"]
    pd.testing.assert_frame_equal(rows[same], once[same])
    assert rows["total"][0] == once["total"][0]
    runs = read_store(tmp_path / "s.sqlite").query("method == 'rg'")
    assert [options.get("repeat", 0) for options in runs["options"]] == [0, 1, 2]
    assert rows["total"][1] == pytest.approx(runs["objective"].mean())
    assert set(runs["seed"]) == {3}


def test_a_repeat_that_cannot_be_is_refused() -> None:
    for repeat in (-1, 1.0, True, "two"):
        with pytest.raises(InputError, match=r"repeat: found .* expected an integer"):
            RollingOptions.from_dict({"repeat": repeat})
    assert "repeat" not in RollingOptions.from_dict({"repeat": 0}).to_dict()
    assert RollingOptions.from_dict({"repeat": 2}).to_dict()["repeat"] == 2


def test_reductions_and_findings_by_hand() -> None:
    """STS 50 $, EDF 100 $: PCR 50%. All rivals so, no job late: the claim holds."""

    def rows(sts: float, late: float = 0.0) -> pd.DataFrame:
        totals = {"sts": sts, **dict.fromkeys(("edf", "rg", "avg-edf", "avg-rg"), 100.0)}
        made = pd.DataFrame({"policy": list(totals), "total": list(totals.values())})
        same = {"case": "c", "nodes": 3, "seed": 0, "energy": 1.0, "rho": 0.5, "utilisation": 0.5}
        return made.assign(**same, jobs=8, late=[late, 0, 0, 0, 0])

    assert reductions(rows(50.0), "c", "edf", "total") == [50.0]
    assert finding4(rows(50.0), Scale()).finding is Finding.HOLDS
    assert finding4(rows(50.0, late=2.0), Scale()).finding is Finding.PARTLY
    assert finding4(rows(99.0, late=2.0), Scale()).finding is Finding.FAILS
    late = rows(50.0, late=2.0)
    assert late_share(of(late, policy="sts")) == pytest.approx(25.0)
    assert ratios(of(late, policy="sts"), of(late, policy="edf")) == [0.5]


def test_both_loads_stand_on_the_axis_or_in_the_legend(tmp_path: Path) -> None:
    rows = rolled(tmp_path, "sts", "edf")
    sts, edf = of(rows, policy="sts"), of(rows, policy="edf")
    assert 0 < rows["utilisation"][0] < 1
    (ax,) = by_size({"c": {"sts": (sts, edf)}}, "total", "ratio").axes
    assert [tick.get_text() for tick in ax.get_xticklabels()] == [f"3\n{loads(edf, chr(10))}"]
    assert ax.lines[0].get_ydata()[0] == pytest.approx(rows["total"][0] / rows["total"][1])
    other = edf.assign(case="d")
    (ax,) = by_size({"p": {"c": (sts, edf), "d": (sts, other)}}, "total", "ratio").axes
    assert ax.lines[0].get_label() == f"c: rho, plan {loads(edf, ', ')}"
