"""Figures 4 to 7: the claims are tests on runs, and a smoke run writes its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from optsched.experiments import reproduce
from optsched.experiments.papers import sjf_bco_figures as figures
from optsched.experiments.papers.sjf_bco_figures import Point


def points(values: dict[str, list[float | None]]) -> list[Point]:
    return [
        Point("mild", 0, x, policy, value, value, 1.0)
        for policy, series in values.items()
        for x, value in enumerate(series)
    ]


def test_claims_can_hold_and_fail() -> None:
    assert figures._turns_twice(points({"SJF-BCO": [5, 4, 6, 3]}))
    assert not figures._turns_twice(points({"SJF-BCO": [5, 4, 3, 3]}))
    assert figures._never_rises(points({"SJF-BCO": [5, 5, 3]}))
    assert not figures._never_rises(points({"SJF-BCO": [5, 3, 4]}))
    best = {"SJF-BCO": [3.0], "FF": [4.0], "LS": [None], "RAND": [9.0]}
    assert figures._best_makespan(points(best))
    assert not figures._best_makespan(points({**best, "LS": [2.0]}))


@pytest.mark.full
@pytest.mark.parametrize("name", ["fig4", "fig5", "fig6", "fig7"])
def test_a_smoke_run_writes_its_files(name: str, tmp_path: Path) -> None:
    text = reproduce(f"sjf-bco-{name}", tmp_path, quick=True)
    assert "Claim:" in text
    assert "smoke" in text
    assert (tmp_path / f"sjf-bco-{name}.csv").read_text().startswith("contention,seed,x,")


def test_figure_7_in_smoke(tmp_path: Path) -> None:
    assert "3 draws" in reproduce("sjf-bco-fig7", tmp_path, quick=True)
