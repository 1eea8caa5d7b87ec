"""sts's figures: their claims by hand, their plans, and cells run again."""

import gzip
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd
import pytest
from reproduced import families_of, measured_and_stated, rows_of

pytest.importorskip("matplotlib")

from optsched.experiments.papers.artefact import Scale
from optsched.experiments.papers.sts import fig7, over_time
from optsched.experiments.papers.sts.epochs_and_arrivals import JOBS, judge_3
from optsched.experiments.papers.sts.over_time import ARTEFACTS, FOUR, MEASURES, MIDDLE, READINGS
from optsched.generators.rolling import due_dates, generate_rolling, rolling_settings
from optsched.plotting.axes import house_style

FIGURES = dict(zip(MEASURES, ARTEFACTS, strict=True))


@pytest.mark.parametrize(("exponential", "mean_holds"), [(51.0, True), (40.0, False)])
@pytest.mark.parametrize(("low", "rates_hold"), [(4.0, True), (5.0, False)])
def test_figure_3_holds_only_near_the_text(
    exponential: float, mean_holds: bool, low: float, rates_hold: bool
) -> None:
    """50 s between submissions in the mean, and the high rate four times the low."""
    gaps = {"exponential": exponential, "poisson-low": low, "poisson-high": 1.0}
    ends = [(a, seed, JOBS, gap * JOBS) for a, gap in gaps.items() for seed in range(2)]
    verdict = judge_3(pd.DataFrame(ends, columns=["arrivals", "seed", "jobs", "time"]), Scale())
    assert [part.holds for part in verdict.parts] == [mean_holds, rates_hold]
    assert [part.ours.split()[-1] for part in verdict.parts] == ["s", f"{low:.2f}"]


@pytest.mark.parametrize(("slowest", "holds"), [(4.0, (2, 1)), (8.0, (1, 0))])
def test_figure_7_is_judged_on_sts_alone(slowest: float, holds: tuple[int, int]) -> None:
    """Decisions of 1 s on 10 nodes, and of 1 s and 4 or 8 s on 100: the mean is 2 or 3.3 s."""
    seconds = [("sts", 10, 1.0), ("sts", 100, 1.0), ("sts", 100, slowest), ("edf", 10, 99.0)]
    rows = pd.DataFrame(seconds, columns=["method", "nodes", "seconds"]).assign(load="2 jobs")
    verdict = fig7.judge(pd.concat([rows, rows.replace("edf", "rg")]), Scale())
    assert tuple(part.holds for part in verdict.parts) == holds
    assert "99000 ms (EDF)" in verdict.why


def rows_by_hand(
    runs: Mapping[str, Sequence[float]], late: float = 0.0, jobs: float = 4.0
) -> pd.DataFrame:
    """Total costs by run, a value a draw; energy is half of them; `late` jobs of 100 are STS's."""
    rows = [(run, seed, cost) for run, costs in runs.items() for seed, cost in enumerate(costs)]
    frame = pd.DataFrame(rows, columns=["run", "seed", "total"])
    frame["late"] = [late if run.startswith("sts") else 5.0 for run in frame["run"]]
    place: dict[str, Any] = {
        "setting": MIDDLE,
        "load": "0.5",
        "nodes": 10,
        "jobs": 100,
        "jobs_a_node": jobs,
    }
    return frame.assign(energy=frame["total"] / 2, **place)


RIVALS = {rival: [60.0, 140.0] for rival in FOUR}


@pytest.mark.parametrize(
    ("sts", "late", "values", "holds"),
    [
        ([50, 70], 0.0, (40, 40, 0, 40, 40, 5), (True, True, True, True, False, True)),
        ([72, 72], 2.0, (28, 28, 2, 28, 28, 3), (False, True, False, True, False, True)),
        ([97, 97], 5.0, (3, 3, 5, 3, 3, 0), (False, False, False, False, False, False)),
        ([105, 105], 6.0, (-5, -5, 6, -5, -5, -1), (False, False, False, False, True, False)),
    ],
)
def test_a_cell_of_figure_4_by_hand(
    sts: list[float], late: float, values: tuple[float, ...], holds: tuple[bool, ...]
) -> None:
    """Costs are averaged over draws before they are compared: each rival's is 100 $."""
    rows = rows_by_hand({"sts": sts, **RIVALS}, late)
    cells = over_time.cells(MEASURES[4], rows)
    assert set(cells["world"]) == {f"{MIDDLE}, STS"}
    assert list(cells["value"]) == pytest.approx(list(values))
    assert tuple(cells["holds"]) == holds
    assert (cells["low"] <= cells["value"]).all()
    assert cells["high"][0] == pytest.approx(100 * (1 - min(sts[0] / 60, sts[1] / 140)))
    crowded = rows_by_hand({"sts": sts, **RIVALS}, late, jobs=4.1)
    assert over_time.cells(MEASURES[4], crowded).empty


def test_costs_on_many_nodes_energy_and_sharing_by_hand() -> None:
    """EDF 100 $; STS 80 $ on few nodes, 84 of 100 or 86 of 100 $ on many: 4 or 6 points more."""
    few = {**RIVALS, "sts": [80.0], "sts-postprocessing": [80.0], "edf": [100.0]}
    many = {"sts": [84.0], "sts-postprocessing": [86.0], "edf": [100.0]}
    many = {run + over_time.ON_MANY: costs for run, costs in many.items()}
    stable = over_time.cells(MEASURES[4][-1:], rows_by_hand(few | many))
    assert list(stable["value"]) == pytest.approx([4, 6])
    assert list(stable["holds"]) == [True, False]
    energy = {"sts": [37.0], "edf": [50.0], "dp": [100.0], "avg-dp": [50.0]}
    cells = over_time.cells(MEASURES[5], rows_by_hand(energy))
    assert list(cells["value"]) == pytest.approx([63, 26, 26])
    assert list(cells["holds"]) == [True, False, True]
    on = list(over_time.CLUSTERS)
    costs = {"sts" + on[0]: [100.0], "sts shared" + on[0]: [87.0]}
    costs |= {"sts" + on[1]: [100.0], "sts shared" + on[1]: [77.0]}
    shared = over_time.cells(MEASURES[6], rows_by_hand(costs))
    assert list(shared["value"]) == pytest.approx([13, 23])
    assert list(shared["holds"]) == [True, False]


@pytest.mark.parametrize(("ratio", "memory"), [(3.0, None), (6.0, 3.5)])
def test_due_dates_keep_their_place_on_other_a100s(ratio: float, memory: float | None) -> None:
    arguments = {"jobs": 12, "arrivals": "load", "load": 0.5}
    usual = generate_rolling(rolling_settings(3, **arguments), seed=2).to_dict()["jobs"]
    settings = rolling_settings(3, **arguments, a100_speed=ratio / over_time.USUAL_RATIO)
    other = over_time.generate_setting(settings, memory, seed=2).to_dict()["jobs"]
    for job, before in zip(other, usual, strict=True):
        earliest, latest = due_dates(job, False)
        assert earliest - 0.01 <= job["due_date"] - job["submit_time"] <= latest + 0.01
        slower = over_time.USUAL_RATIO / ratio
        assert job["epoch_time"]["A100"][0] == pytest.approx(
            slower * before["epoch_time"]["A100"][0]
        )
        assert job["memory_bytes"] == (memory * 1e9 if memory else before["memory_bytes"])


@pytest.mark.skipif("OPTSCHED_DATA" not in os.environ, reason="OPTSCHED_DATA is unset")
def test_measured_ratios_are_those_of_the_throughputs() -> None:
    path = Path(os.environ["OPTSCHED_DATA"], "measured", "gavel_throughputs.json.gz")
    tables = json.loads(gzip.decompress(path.read_bytes()))
    assert "a100" not in tables
    ratios = {
        job: tables["v100"][job]["null"] / alone["null"]
        for job, alone in tables["k80"].items()
        if job.endswith(", 1)") and alone["null"]
    }
    resnets = [ratio for job, ratio in ratios.items() if "ResNet" in job]
    assert (len(resnets), len(ratios)) == (9, 26)
    values = (median(resnets), median(ratios.values()), min(ratios.values()), max(ratios.values()))
    expected = (over_time.RESNET_RATIO, over_time.MEDIAN_RATIO, *over_time.RATIO_RANGE)
    assert values == pytest.approx(expected, abs=0.06)


@pytest.mark.parametrize("figure", [pytest.param(4, marks=pytest.mark.full), 5, 6])
def test_one_cell_is_run_and_drawn(
    figure: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(over_time, "QUICK_NODES", {over_time.NODES: 2, over_time.MANY_NODES: 3})
    setting = over_time.SHARING_MIDDLE if figure == 6 else MIDDLE
    families = families_of(FIGURES[figure], f"{setting}|0.25|", Scale(quick=True))
    rows = rows_of(FIGURES[figure], families, tmp_path)
    assert rows["offered_load"].between(0.1, 0.6).all()
    verdict = FIGURES[figure].judge(rows, Scale())
    assert [part.settings for part in verdict.parts] == [len(READINGS)] * len(MEASURES[figure])
    assert verdict.why
    with house_style():
        assert len(FIGURES[figure].draw(rows).axes) >= len(verdict.parts)


@pytest.mark.full
@pytest.mark.parametrize("figure", MEASURES)
def test_the_page_has_what_one_cell_says(figure: int, tmp_path: Path) -> None:
    load = "0.25" if figure == 4 else "0.05"  # the paragraph of Fig. 4 is about 0.25
    setting = over_time.SHARING_MIDDLE if figure == 6 else MIDDLE
    measured, stated = measured_and_stated(
        FIGURES[figure], f"{setting}|{load}|", f"load {load}", tmp_path
    )
    assert measured == stated
