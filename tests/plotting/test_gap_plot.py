"""The gap picture, read back from the Axes and compared with the frame."""

import itertools
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib.axes import Axes

from optsched.errors import InputError
from optsched.plotting import plot_gaps


def _row(instance: str, method: str, objective: float | None, **more: Any) -> dict[str, Any]:
    row = {"problem": "placement", "instance": instance, "method": method, "objective": objective}
    return {**row, "termination": "feasible", "bound": 0.2, "bound_source": "stage bound", **more}


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
    bars = [(bar, str(container.get_label())) for container in ax.containers for bar in container]
    at = [round(bar.get_y() + bar.get_height() / 2) for bar, _ in bars]
    return {(names[y], method): bar.get_width() for y, (bar, method) in zip(at, bars, strict=True)}


def test_bars_are_the_excess_in_percent_and_proved_values_have_a_star() -> None:
    _, given = plt.subplots()
    ax = plot_gaps(FRAME, given)
    assert ax is given
    others = dict.fromkeys([("one", "exact"), ("two", "greedy"), ("two", "exact")], 0)
    assert _bars(ax) == {("one", "greedy"): pytest.approx(25), **others}
    stars = {text.get_gid() for text in ax.texts if "★" in text.get_text()}
    assert stars == {"proved one exact", "proved two greedy"}
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert labels == [f"{name}\nbound 200 ms, stage bound" for name in ("one", "two")]
    assert ax.get_xlabel().endswith(", %")
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["greedy", "exact", "proved optimal"]
    spans = sorted((bar.get_y(), bar.get_y() + bar.get_height()) for bar in ax.patches)
    assert all(end <= start + 1e-9 for (_, end), (start, _) in itertools.pairwise(spans))
    assert len(_bars(plot_gaps(FRAME.iloc[1:]))) == 3


def test_no_star_above_the_bound_or_without_a_value_or_bound() -> None:
    rows = [
        _row("near", "a", 0.2 * (1 + 1e-4)),
        _row("wrong", "b", 0.2, termination="error"),
        _row("unknown", "a", 0.3, bound=float("nan")),
        _row("failed", "a", None, termination="error"),
    ]
    ax = plot_gaps(pd.DataFrame(rows))
    words = [text.get_text() for text in ax.texts]
    assert sorted(words) == ["", "0.01 %", "no bound", "no value"]
    assert ax.get_yticklabels()[2].get_text() == "unknown\nno bound"


def test_other_frames_are_refused() -> None:
    for frame, reason in (
        (FRAME.drop(columns="bound"), "no bound"),
        (FRAME.iloc[:0], "no rows"),
        (pd.concat([FRAME, FRAME.iloc[:1]]), "greedy on one twice"),
    ):
        with pytest.raises(InputError, match=reason):
            plot_gaps(frame)
