"""Figures 4 to 7: the claims are tests on runs, and a smoke run writes its files."""

import json
from pathlib import Path

import pandas as pd
import pytest

from optsched.experiments import reproduce
from optsched.experiments.papers import sjf_bco
from optsched.experiments.papers.artefact import Finding, Scale
from optsched.experiments.papers.sjf_bco import Claim, Draw, draw, draw_of, judge

Series = dict[str, list[float | None]]
FALLS = Claim("w", sjf_bco.never_rises, "m", sjf_bco.last_to_first, "Why.")
COLUMNS = ("contention", "seed", "x", "policy", "makespan", "mean_completion", "bound")


def points(values: Series, contention: str = "mild", seed: int = 0) -> pd.DataFrame:
    rows = [
        (contention, seed, x, policy, value, value, 1.0)
        for policy, series in values.items()
        for x, value in enumerate(series)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def one(values: Series) -> Draw:
    """One draw of these makespans and mean completion times."""
    return draw_of(points(values))


def test_claims_can_hold_and_fail() -> None:
    assert sjf_bco.turns_twice(one({"SJF-BCO": [5, 4, 6, 3]}))
    assert not sjf_bco.turns_twice(one({"SJF-BCO": [5, 4, 3, 3]}))
    assert not sjf_bco.turns_twice(one({"SJF-BCO": [5, 6, 3]}))
    assert sjf_bco.never_rises(one({"SJF-BCO": [5, 5, 3]}))
    assert not sjf_bco.never_rises(one({"SJF-BCO": [5, 3, 4]}))
    best: Series = {"SJF-BCO": [3.0], "FF": [4.0], "LS": [None], "RAND": [9.0]}
    for column in ("makespan", "mean_completion"):
        assert sjf_bco.ratio_to_best_baseline(column, one(best)) == 3 / 4
        assert sjf_bco.ratio_to_best_baseline(column, one({**best, "LS": [2.0]})) == 3 / 2
    falls: Series = {"SJF-BCO": [9, 5], "FF": [9, 4], "LS": [8, 7], "RAND": [None, 1]}
    assert sjf_bco.drops(one(falls)).min() == 1  # of 4, 5 and LS's 1
    assert sjf_bco.first_fit_lead(one(falls)) == 1  # 5 of FF against 4 of SJF-BCO


@pytest.mark.parametrize(
    ("mild", "strong", "finding"),
    [
        ([5, 4], [5, 4], Finding.HOLDS),
        ([5, 4], [4, 5], Finding.PARTLY),
        ([4, 5], [4, 5], Finding.FAILS),
    ],
)
def test_a_verdict_follows_its_tallies(mild: list, strong: list, finding: Finding) -> None:
    made = pd.concat(
        points({"SJF-BCO": series}, contention, seed)
        for seed in range(4)
        for contention, series in (("mild", mild), ("strong", strong))
    )
    verdict = judge("p", [FALLS], made, Scale())
    assert verdict.finding is finding
    assert bool(verdict.paragraph) is (finding is not Finding.HOLDS)
    assert "of 4" in verdict.ours


def test_a_verdict_by_hand() -> None:
    """Last over first: 4/8 and 6/8, so the median is 0.625; a draw that rises does not hold."""
    draws = [points({"SJF-BCO": [8, 4]}), points({"SJF-BCO": [8, 9, 6]}, seed=1)]
    draws += [points({"SJF-BCO": [8, 8]}, "strong", seed) for seed in range(2)]
    verdict = judge("p", [FALLS], pd.concat(draws), Scale())
    assert verdict.spread == "m: mild 0.62 [0.50 to 0.75], strong 1.00 [1.00 to 1.00]"
    assert verdict.finding is Finding.PARTLY
    assert verdict.ours == (
        "w: holds where there is strong contention (2 of 2 draws); "
        "fails where there is mild contention (1 of 2 draws)"
    )


def test_a_figure_shows_mild_and_strong_contention() -> None:
    pytest.importorskip("matplotlib")
    every = [
        points({"SJF-BCO": series}, world, seed)
        for world, series in (("mild", [5, 4]), ("strong", [4, 5]), ("mild, lambda 8", [5, 5]))
        for seed in range(3)
    ]
    figure = draw("axis in words", pd.concat(every))
    text = " ".join(ax.get_title() + ax.get_title("left") + ax.get_xlabel() for ax in figure.axes)
    for words in ("mild", "strong", "axis in words"):
        assert words in text
    assert "lambda" not in text


@pytest.mark.full
@pytest.mark.parametrize("name", ["fig4", "fig5", "fig6", "fig7"])
def test_a_smoke_run_writes_its_files(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    text = reproduce(f"sjf-bco-{name}", tmp_path, quick=True)
    assert text.startswith("# sjf-bco, Fig. ")
    assert "3 draws" in text
    assert "smoke" in text
    suffixes = ("csv", "md", "png", "pdf", "verdict.json")
    files = {suffix: tmp_path / f"sjf-bco-{name}.{suffix}" for suffix in suffixes}
    assert min(file.stat().st_size for file in files.values()) > 100
    assert files["csv"].read_text("utf-8").startswith("contention,seed,x,policy,makespan")
    verdict = json.loads(files["verdict.json"].read_text("utf-8"))
    assert verdict["smoke"]
    assert "of 3 draws" in verdict["ours"]
    assert "strong" in verdict["spread"]
