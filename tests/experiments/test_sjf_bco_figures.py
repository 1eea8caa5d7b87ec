"""Figures 4 to 7 of sjf-bco: their claims by hand, their plans, and cells run again."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from reproduced import families_of, measured_and_stated, rows_of

pytest.importorskip("matplotlib")

from optsched.experiments.papers import sjf_bco
from optsched.experiments.papers.artefact import Scale
from optsched.experiments.papers.sjf_bco import ARTEFACTS, OWN, PACKED, PLACE, SHAPES, cells
from optsched.generators.makespan import generate_makespan

FIGURES = dict(zip(SHAPES, ARTEFACTS, strict=True))
MILDEST = f"{next(iter(sjf_bco.CONTENTIONS))}|0.5|"


@pytest.mark.parametrize(
    ("number", "part", "curves", "value", "holds"),
    [
        (4, 0, {"SJF-BCO": [50], "FF": [100], "LS": [80]}, -37.5, True),
        (4, 0, {"SJF-BCO": [88], "FF": [100], "LS": [80]}, 10, False),
        (5, 0, {"SJF-BCO": [9, 8, 8, 10, 7]}, 25, True),
        (5, 0, {"SJF-BCO": [9, 8, 8, 10, 10]}, 25, False),
        (5, 0, {"SJF-BCO": [9, 8, 10, 7, 8]}, 25, False),
        (5, 0, {"SJF-BCO": [8, 10, 8, 10, 8]}, 25, False),
        (6, 0, {"SJF-BCO": [10, 8], "FF": [10, 5], "LS": [10, 9]}, 10, True),
        (6, 0, {"SJF-BCO": [10, 8], "FF": [10, 5], "LS": [10, 10]}, 0, False),
        (6, 1, {"SJF-BCO": [10, 8], "FF": [10, 5], "LS": [10, 9]}, 3, True),
        (6, 1, {"SJF-BCO": [10, 5], "FF": [10, 5], "LS": [10, 9]}, 0, False),
        (7, 0, {"SJF-BCO": [10, 8, 8, 7]}, 0, True),
        (7, 0, {"SJF-BCO": [10, 8, 9, 7]}, 12.5, False),
    ],
)
def test_shapes_by_hand(
    number: int, part: int, curves: dict[str, list[int]], value: float, holds: bool
) -> None:
    measured, shown = SHAPES[number][part].test(pd.DataFrame(curves))
    assert measured == pytest.approx(value)
    assert shown == holds


def rows_by_hand(added: float, baseline: Sequence[float]) -> pd.DataFrame:
    """Four draws: SJF-BCO takes 10 slots, FF as given, or 20 with the smallest jobs first."""
    rows = [
        (order, x, policy, seed, makespan)
        for seed, slow in enumerate(baseline)
        for order, x, policy, makespan in (
            (PACKED, 0, "SJF-BCO", 99.0),
            (OWN, 20, "SJF-BCO", 10.0),
            ("arrival", 20, "FF", slow),
            ("smallest-first", 20, "FF", 20.0),
        )
    ]
    frame = pd.DataFrame(rows, columns=["order", "x", "policy", "seed", "makespan"])
    frame[["contention", PLACE, "added"]] = f"{added}%", "0.5", added
    return frame.assign(mean_completion=frame["makespan"])


def test_a_setting_counts_within_the_papers_limit() -> None:
    """FF is faster in two of four draws in one order, and in none in the other."""
    rows = pd.concat([rows_by_hand(14.0, [5, 8, 20, 20]), rows_by_hand(16.0, [20] * 4)])
    own = cells(SHAPES[4][:1], rows)
    assert list(own["world"]) == ["14.0%, arrival"] * 2 + ["14.0%, smallest-first"] * 2
    assert list(own["value"]) == pytest.approx([100 * (10 / 14 - 1), 50, -50, 100])
    assert list(own["low"]) == pytest.approx([-50, 50, -50, 100])
    assert list(own["holds"]) == [True, False, True, True]
    verdict = FIGURES[4].judge(rows, Scale())
    assert [part.count for part in verdict.parts] == ["2 of 2", "1 of 2"] * 2
    assert "Order `arrival`: SJF-BCO has the least makespan, in the median: 1 of 1;" in verdict.why
    assert (
        "Beyond 15%, not counted: SJF-BCO has the least makespan, in the median: 2 of 2"
        in verdict.why
    )


def test_fewer_servers_keep_the_jobs() -> None:
    strong = "exchange 10% to 50%, a 0.5, overhead 1 ms"
    few, all_ = (sjf_bco.generate_cluster(n, strong, 0.7, seed=3) for n in (10, 20))
    assert few.servers == all_.servers[:10]
    assert few.jobs == all_.jobs == generate_makespan(contention="strong", seed=3).jobs
    assert (few.network.contention_share, few.network.degradation) == (0.7, 0.5)


@pytest.mark.parametrize(
    "number", [*(pytest.param(each, marks=pytest.mark.full) for each in (4, 6)), 7]
)
def test_one_cell_is_run_and_drawn(number: int, tmp_path: Path) -> None:
    """lambda is 1 but in Fig. 7; a world's name is within its column."""
    draws = families_of(FIGURES[number], MILDEST, Scale(quick=True))
    families = draws[: len(draws) // 3]
    lambdas = {family.options.get("lambda", 1.0) for family in families}
    assert lambdas == ({1.0, 2.0, 4.0, 8.0} if number == 7 else {1.0})
    rows = rows_of(FIGURES[number], families, tmp_path)
    assert 0 < rows["added"].min() < rows["added"].max() < 15
    verdict = FIGURES[number].judge(rows, Scale())
    orders = 1 if number == 7 else 2
    assert [part.settings for part in verdict.parts] == [orders] * len(verdict.parts)
    assert all(len(cell) <= 70 for row in verdict.table for cell in row)
    assert len(FIGURES[number].draw(rows).axes) >= len(verdict.parts)


@pytest.mark.full
@pytest.mark.parametrize("number", SHAPES)
def test_the_page_has_what_one_cell_says(number: int, tmp_path: Path) -> None:
    measured, stated = measured_and_stated(FIGURES[number], MILDEST, f"{PLACE} 0.5", tmp_path)
    assert measured == stated
