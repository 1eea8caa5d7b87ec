"""Figures 4 to 7: the claims are tests on runs, and a smoke run writes its files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from optsched.experiments import reproduce
from optsched.experiments.papers.sjf_bco import artefacts as sjf_bco
from optsched.experiments.papers.sjf_bco import claims
from optsched.experiments.papers.sjf_bco.figures import FIGURES, Tally, _verdict
from optsched.experiments.papers.sjf_bco.runs import Point
from optsched.experiments.papers.verdict import Finding

Series = dict[str, list[float | None]]


def points(values: Series, contention: str = "mild", seed: int = 0) -> list[Point]:
    return [
        Point(contention, seed, x, policy, value, value, 1.0)
        for policy, series in values.items()
        for x, value in enumerate(series)
    ]


def test_claims_can_hold_and_fail() -> None:
    assert claims.turns_twice(points({"SJF-BCO": [5, 4, 6, 3]}))
    assert not claims.turns_twice(points({"SJF-BCO": [5, 4, 3, 3]}))
    assert not claims.turns_twice(points({"SJF-BCO": [5, 6, 3]}))
    assert claims.never_rises(points({"SJF-BCO": [5, 5, 3]}))
    assert not claims.never_rises(points({"SJF-BCO": [5, 3, 4]}))
    best: Series = {"SJF-BCO": [3.0], "FF": [4.0], "LS": [None], "RAND": [9.0]}
    assert claims.to_best_makespan(points(best)) == claims.to_best_mean(points(best)) == 3 / 4
    assert claims.to_best_makespan(points({**best, "LS": [2.0]})) == 3 / 2
    assert claims.to_best_mean(points({**best, "LS": [2.0]})) == 3 / 2
    falls: Series = {"SJF-BCO": [9, 5], "FF": [9, 4], "LS": [8, 7], "RAND": [None, 1]}
    assert claims.all_fall(points(falls))
    assert claims.least_fall(points(falls)) == 1  # 8 - 7
    assert claims.first_fit_lead(points(falls)) == 1  # 5 of FF against 4 of SJF-BCO
    assert not claims.all_fall(points({**falls, "LS": [8, 8]}))


@pytest.mark.parametrize(
    ("mild", "strong", "finding"),
    [
        ([5, 4], [5, 4], Finding.HOLDS),
        ([5, 4], [4, 5], Finding.PARTLY),
        ([4, 5], [4, 5], Finding.FAILS),
    ],
)
def test_a_verdict_follows_its_tallies(mild: list, strong: list, finding: Finding) -> None:
    made = [
        point
        for seed in range(4)
        for contention, series in (("mild", mild), ("strong", strong))
        for point in points({"SJF-BCO": series}, contention, seed)
    ]
    figure = FIGURES["fig7"]
    tally = Tally.of(figure.claims[0], made, 4)
    assert tally.finding is finding
    verdict = _verdict("sjf-bco-fig7", figure, [tally], quick=False)
    assert verdict.finding is finding
    assert bool(verdict.paragraph) is (finding is not Finding.HOLDS)
    assert "of 4" in verdict.ours


def test_a_tally_by_hand() -> None:
    """Last over first: 4/8 and 6/8, so the median is 0.625; a draw that rises does not hold."""
    made = points({"SJF-BCO": [8, 4]}) + points({"SJF-BCO": [8, 9, 6]}, seed=1)
    made += points({"SJF-BCO": [8, 8]}, "strong") + points({"SJF-BCO": [8, 8]}, "strong", 1)
    tally = Tally.of(FIGURES["fig7"].claims[0], made, 2)
    assert tally.holds == {"mild": 1, "strong": 2}
    assert tally.values == {"mild": [0.5, 0.75], "strong": [1, 1]}
    assert "mild 0.62 [0.50 to 0.75]" in tally.spread()
    assert tally.finding is Finding.PARTLY


def test_every_artefact_says_where_it_is_and_what_it_takes() -> None:
    assert {a.name for a in sjf_bco.ARTEFACTS} == {f"sjf-bco-{name}" for name in FIGURES}
    for artefact in sjf_bco.ARTEFACTS:
        assert artefact.where
        assert artefact.runtime


def made_in_smoke(name: str, folder: Path) -> dict:
    pytest.importorskip("matplotlib")
    text = reproduce(f"sjf-bco-{name}", folder, quick=True)
    assert "Claim:" in text
    assert "3 draws" in text
    assert "smoke" in text
    for suffix in ("csv", "md", "png", "pdf", "verdict.json"):
        assert (folder / f"sjf-bco-{name}.{suffix}").stat().st_size > 100
    rows = (folder / f"sjf-bco-{name}.csv").read_text("utf-8").splitlines()
    assert rows[0].startswith("contention,seed,x,policy,makespan")
    verdict: dict = json.loads((folder / f"sjf-bco-{name}.verdict.json").read_text("utf-8"))
    assert verdict["smoke"]
    return verdict


@pytest.mark.full
@pytest.mark.parametrize("name", ["fig5", "fig6"])
def test_a_smoke_run_writes_its_files(name: str, tmp_path: Path) -> None:
    made_in_smoke(name, tmp_path)


@pytest.mark.parametrize("name", ["fig4", "fig7"])
def test_a_short_smoke_run_writes_its_files(name: str, tmp_path: Path) -> None:
    verdict = made_in_smoke(name, tmp_path)
    assert "of 3 draws" in verdict["ours"]
    assert "strong" in verdict["spread"]
