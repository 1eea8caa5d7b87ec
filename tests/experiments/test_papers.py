"""Shared parts of the papers' figures: tables and pictures of rows."""

import pandas as pd
import pytest

pytest.importorskip("matplotlib")

from optsched.experiments.papers.pictures import curves, strips, summary
from optsched.plotting.axes import house_style


def test_medians_and_ranges_are_drawn_and_tabulated() -> None:
    rows = pd.DataFrame(
        [(x, m, x * y) for x in (1, 2) for m in ("a", "b") for y in (1.0, 2.0, 6.0)],
        columns=["x", "method", "y"],
    )
    head, _, first, *_ = summary(rows, ("x", "method"), ("y",))
    assert (head, first) == ("| x | method | y |", "| 1 | a | 2 [1 to 6] |")
    with house_style():
        (ax,) = curves(rows, "x", {"y": "label"}, line="method").axes
        left, right = strips({"A": {"m": [1.0, 2.0], "n": []}, "B": {"m": [0.0]}}, "x").axes
    assert [list(line[0].get_ydata()) for line in ax.containers] == [[2.0, 4.0]] * 2
    dots, mean, *_ = left.collections
    assert dots.get_offsets().tolist() == [[1.0, 0.0], [2.0, 0.0]]
    assert mean.get_segments()[0][0][0] == 1.5
    assert not right.spines["top"].get_visible()
