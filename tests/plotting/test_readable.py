"""Every kind of picture, small, of many jobs and with long names: its words can be read."""

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from plotting.readable import faults
from sampling import first

import optsched
from optsched import plotting
from optsched.plotting import rolling
from optsched.plotting.gantt import utilisation
from optsched.problems import PROBLEMS
from optsched.result import TracePoint
from optsched.rolling.runs import run_policies

LONG = "a name as long as somebody's script would make it, with its $ and _ and "
NAMES = ("name", "model")
RUN = "rolling/three-by-hand"


def longer(value: Any, under: str = "") -> Any:
    """A document in which every name is long."""
    if isinstance(value, dict):
        return {key: longer(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [longer(each, under) for each in value]
    return LONG + value if under in NAMES and isinstance(value, str) else value


RUNS = [
    ("makespan/uniform-10x4", "sjf-bco"),
    ("speed-profile/one-atom", "hull"),
    ("placement/vgg19-16", "heavy-edge"),
    ("selection/5x10", "sts"),
    ("rolling/three-by-hand", "edf"),
    ("packing/two-nodes", "fgd"),
]


@pytest.mark.parametrize(("name", "method"), first(2, RUNS))
def test_long_names_are_wrapped_or_cut(name: str, method: str) -> None:
    given = optsched.load(name)
    named = type(given).from_dict(longer(given.to_dict()))
    result = optsched.solve(named, method, bound=False)
    for picture in PROBLEMS[name.partition("/")[0]].pictures:
        ax = optsched.plot(result, picture=picture)
        assert faults(ax.figure) == [], picture
        assert LONG[:8] in " ".join(text.get_text() for text in ax.figure.findobj(plt.Text))


@pytest.mark.full
def test_160_jobs_have_a_bar_each_and_the_widest_a_name() -> None:
    instance = optsched.generate("makespan", seed=1, jobs=160, servers=20)
    result = optsched.solve(instance, "first-fit", bound=False)
    ax = optsched.plot(result)
    assert faults(ax.figure) == []
    drawn = {str(bar.get_gid()).split("-")[1] for bar in ax.collections if bar.get_gid()}
    assert drawn == {job.name for job in instance.jobs}
    named = {text.get_text() for text in ax.texts}
    assert 20 < len(named) < 160
    assert named < drawn


@pytest.mark.full
def test_of_more_jobs_the_load_of_each_server_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Server 1 has 2 GPUs, of which one is held half of the time; server 0 is idle.

    Drawn in one row, the servers' 3 GPUs are in use for a sixth of the time.
    """
    usage = np.array([[1, 0.0, 5.0, 1]])
    shares = utilisation(usage, (1, 2), 10.0)
    assert shares.mean(axis=1).tolist() == pytest.approx([0.25, 0.0])
    with monkeypatch.context() as patch:
        patch.setattr("optsched.plotting.gantt.MAX_ROWS", 1)
        assert utilisation(usage, (1, 2), 10.0).mean() == pytest.approx(1 / 6)
    monkeypatch.setattr("optsched.plotting.makespan.MAX_BARS", 5)
    monkeypatch.setattr(rolling, "MAX_BARS", 5)
    for name, method in (("makespan/uniform-10x4", "sjf-bco"), ("rolling/light-6x60", "edf")):
        result = optsched.solve(name, method, bound=False)
        ax = optsched.plot(result)
        assert faults(ax.figure) == []
        assert len(ax.images) == 1
        shares = ax.images[0].get_array()
        assert list(shares.sum(axis=1)) == sorted(shares.sum(axis=1), reverse=True)
        assert 0 <= shares.min() < shares.max() <= 1 + 1e-9


def table(rows: int) -> pd.DataFrame:
    """Excesses from nothing to a hundred thousand per cent, of long names."""
    cells = [(f"{LONG}{i}", f"{LONG}{m}") for i in range(rows) for m in range(5)]
    frame = pd.DataFrame(cells, columns=["instance", "method"])
    objectives = [1 + 10 ** (number % 7 - 4) for number in range(len(cells))]
    return frame.assign(problem="placement", status="feasible", objective=objectives, bound=1.0)


def stored() -> pd.DataFrame:
    """The same as a store has it."""
    rows = table(6)
    return rows.assign(sha256=rows["instance"], options=None, seed=0, status="done")


def traced() -> Axes:
    trace = (TracePoint(0.01, None, -inf), TracePoint(0.1, 900.0, 1.0), TracePoint(90.0, 2.0, 1.5))
    result = optsched.solve("placement/fig2", "heavy-edge")
    return optsched.plot(replace(result, trace=trace, instance=LONG), picture="trace")


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plotting.plot_gaps(table(3)),
        lambda: plotting.plot_excess(stored()),
        lambda: plotting.plot_profile(table(8)),
        lambda: plotting.plot_cost_by_policy(list(run_policies(optsched.load(RUN)))),
        traced,
    ],
)
def test_tables_and_sweeps_can_be_read(draw: Callable[[], Axes]) -> None:
    assert faults(draw().figure) == []


def test_an_outlier_flattens_nothing() -> None:
    """One run 100,000 per cent above its bound: the others' excesses still stand apart."""
    ax = plotting.plot_excess(stored())
    assert ax.get_xscale() == "symlog"
    pixels = ax.transData.transform([[1, 0], [10, 0], [100, 0]])
    assert min(np.diff(ax.transAxes.inverted().transform(pixels)[:, 0])) > 0.1
    near = plotting.plot_excess(stored().assign(objective=[1.0 + i / 100 for i in range(30)]))
    assert near.get_xscale() == "linear"


def test_a_picture_that_cannot_be_read_is_found() -> None:
    figure, ax = plt.subplots()
    ax.text(0.5, 0.5, "one")
    assert faults(figure) == []
    ax.text(0.51, 0.5, "two")
    ax.text(1.1, 0.2, "three, which is long")
    ax.plot([0, 1], [0, 1], label="x")
    ax.legend(loc="center")
    found = "; ".join(faults(figure))
    assert "'one' lies on 'two'" in found
    assert "'three, which is long' is cut off" in found
    assert "a legend lies on the data" in found
