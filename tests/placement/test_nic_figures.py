"""Table II and the curve over network cards: the pictures carry the claim and where it holds."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

import pandas as pd
import pytest

from optsched.experiments.papers.a_srpt import nic_curve, table2
from optsched.experiments.papers.a_srpt.offers import Setting
from optsched.experiments.papers.artefact import Scale
from optsched.experiments.papers.verdict import Finding


def rows(settings: Sequence[Setting], at_ten: float) -> pd.DataFrame:
    """Two offers each; 1% above the optimum, `at_ten` at 10 Gbit/s; efficient from 25 on."""
    return pd.DataFrame(
        {
            "setting": setting.words,
            "method": method,
            "seed": seed,
            "excess": (at_ten if setting.gbits == 10 else 0.01) if method == "heavy-edge" else 0.0,
            "pitt_ms": 90.0,
            "efficiency": 0.4 if setting.gbits == 10 else 0.6,
        }
        for setting in settings
        for method in ("heavy-edge", "exact")
        for seed in range(2)
    )


def above(figure: object) -> str:
    return " ".join(figure.get_suptitle().split())


def test_table_two_says_at_which_cards_it_holds() -> None:
    pytest.importorskip("matplotlib")
    every = [s for case in table2.CASES for s in (*case.curve, *case.searched)]
    made = rows(every, 0.2)
    verdict = table2.judge(made, Scale())
    assert verdict.finding is Finding.PARTLY
    where = "VGG19 holds at 25, 50, 100, 200 and fails at 10 Gbit/s; GPT-175B fails at 10, 25,"
    assert verdict.paragraph.startswith(where)
    assert above(table2.draw(made)).startswith(
        f"Paper: VGG19 6.2%, GPT-175B 0.0%. Found: partly. {where}"
    )


def test_the_curve_counts_efficient_pairs_only() -> None:
    pytest.importorskip("matplotlib")
    made = rows(nic_curve.SETTINGS, 0.2)
    figure = nic_curve.draw(made)
    efficient = len(nic_curve.MODELS) * 4
    assert f"Found: holds. Mean excess within 6.2% at {efficient} of {efficient}" in above(figure)
    assert mean(line.get_ydata()[0] for line in figure.axes[0].get_lines()[:1]) == 20.0
