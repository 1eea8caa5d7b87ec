"""The gap picture, read back from the Axes and compared with the frame."""

from __future__ import annotations

import itertools
from typing import Any

import pandas as pd
import pytest
from matplotlib.axes import Axes

import optsched
from optsched.errors import InputError
from optsched.plotting import plot_gaps


def _row(instance: str, method: str, objective: float | None, **more: Any) -> dict[str, Any]:
    return {
        "problem": "placement",
        "instance": instance,
        "method": method,
        "termination": "feasible",
        "objective": objective,
        "bound": 0.2,
        "bound_source": "stage bound",
        **more,
    }


FRAME = pd.DataFrame(
    [
        _row("one", "greedy", 0.25),
        _row("one", "exact", 0.2, termination="optimal"),
        _row("two", "greedy", 0.2),
        _row("two", "exact", None, termination="error"),
    ]
)


def _bars(ax: Axes) -> dict[tuple[str, str], float]:
    """Bar lengths by instance (the label nearest) and method."""
    names = [text.get_text().partition("\n")[0] for text in ax.get_yticklabels()]
    return {
        (names[round(bar.get_y() + bar.get_height() / 2)], str(container.get_label())): (
            bar.get_width()
        )
        for container in ax.containers
        for bar in container
    }


def _stars(ax: Axes) -> set[str]:
    starred = {text.get_gid() for text in ax.texts if "★" in text.get_text()}
    assert starred == {text.get_gid() for text in ax.texts if text.get_gid()}
    return starred


def test_bars_are_the_excess_in_percent() -> None:
    bars = _bars(plot_gaps(FRAME))
    assert bars == {
        ("one", "greedy"): pytest.approx(25),
        ("one", "exact"): 0,
        ("two", "greedy"): 0,
        ("two", "exact"): 0,
    }


def test_a_star_for_each_value_that_meets_its_bound() -> None:
    assert _stars(plot_gaps(FRAME)) == {"proved one exact", "proved two greedy"}


def test_what_is_short_of_the_bound_or_failed_gets_no_star() -> None:
    rows = [
        _row("near", "a", 0.2 * (1 + 1e-4)),
        _row("wrong", "b", 0.2, termination="error"),
        _row("unknown", "c", 0.2, bound=None),
    ]
    assert not _stars(plot_gaps(pd.DataFrame(rows)))


def test_values_missing_are_said_to_be() -> None:
    rows = [_row("one", "a", None, termination="error"), _row("two", "a", 0.3, bound=float("nan"))]
    ax = plot_gaps(pd.DataFrame(rows))
    assert [text.get_text() for text in ax.texts] == ["no value", "no bound"]
    assert ax.get_yticklabels()[1].get_text() == "two\nno bound"


def test_the_bound_and_the_unit_are_stated() -> None:
    ax = plot_gaps(FRAME)
    assert [text.get_text() for text in ax.get_yticklabels()] == [
        "one\nbound 200 ms, stage bound",
        "two\nbound 200 ms, stage bound",
    ]
    assert ax.get_xlabel().endswith(", %")


def test_the_legend_names_every_method_and_the_star() -> None:
    names = [text.get_text() for text in plot_gaps(FRAME).get_legend().get_texts()]
    assert names == ["greedy", "exact", "proved optimal"]


def test_bars_of_one_instance_do_not_overlap() -> None:
    ax = plot_gaps(FRAME)
    spans = sorted((bar.get_y(), bar.get_y() + bar.get_height()) for bar in ax.patches)
    assert all(end <= start + 1e-9 for (_, end), (start, _) in itertools.pairwise(spans))


def test_a_method_may_be_missing_on_an_instance() -> None:
    assert set(_bars(plot_gaps(FRAME.iloc[1:]))) == {
        ("one", "exact"),
        ("two", "greedy"),
        ("two", "exact"),
    }


def test_what_compare_returns_is_drawn() -> None:
    frame = optsched.compare(["placement/fig2", "placement/vgg19-16"])
    bars = _bars(plot_gaps(frame))
    for _, row in frame.iterrows():
        expected = max(100 * row["excess"], 0.0)
        assert bars[row["instance"], row["method"]] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("frame", "found"),
    [
        (FRAME.drop(columns="bound"), "no bound"),
        (FRAME.iloc[:0], "no rows"),
        (pd.concat([FRAME, FRAME.iloc[:1]]), "greedy on one twice"),
    ],
)
def test_other_frames_are_refused(frame: pd.DataFrame, found: str) -> None:
    with pytest.raises(InputError, match=found):
        plot_gaps(frame)


def test_given_axes_are_drawn_on_and_returned() -> None:
    import matplotlib.pyplot as plt

    ax = plt.figure().add_subplot()
    assert plot_gaps(FRAME, ax=ax) is ax
