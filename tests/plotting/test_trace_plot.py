"""The trace picture, read back from the Axes and compared with the result's trace."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isnan

import pytest

import optsched
from optsched.errors import InputError
from optsched.plotting import plot_trace
from optsched.result import Result, TracePoint

TRACE = (
    TracePoint(0.5, None, -inf),
    TracePoint(1.0, 0.3, 0.1),
    TracePoint(2.0, 0.2, 0.15),
)


@pytest.fixture(scope="module")
def result() -> Result:
    return replace(optsched.solve("placement/fig2", "heavy-edge"), trace=TRACE)


def test_lines_are_the_trace_in_milliseconds(result: Result) -> None:
    ax = plot_trace(result)
    lines = {line.get_label(): line for line in ax.lines}
    assert set(lines) == {"incumbent", "bound"}
    for line in lines.values():
        assert list(line.get_xdata()) == [0.5, 1.0, 2.0]
        assert line.get_drawstyle() == "steps-post"
        assert isnan(line.get_ydata()[0])
    assert list(lines["incumbent"].get_ydata())[1:] == pytest.approx([300, 200])
    assert list(lines["bound"].get_ydata())[1:] == pytest.approx([100, 150])


def test_axes_state_their_units(result: Result) -> None:
    ax = plot_trace(result)
    assert ax.get_xlabel().endswith(", seconds")
    assert ax.get_ylabel() == "iteration time, milliseconds"


def test_the_title_states_how_it_ended(result: Result) -> None:
    half = replace(result, objective=0.2, bound=0.1)
    assert plot_trace(half).get_title(loc="left") == "fig2 by heavy-edge: feasible, gap 50 %"
    unknown = replace(result, bound=None)
    assert plot_trace(unknown).get_title(loc="left") == "fig2 by heavy-edge: feasible"


def test_a_solver_s_own_trace_ends_at_its_objective() -> None:
    solved = optsched.solve("placement/vgg19-16", "ilp-vertex")
    lines = {line.get_label(): line for line in plot_trace(solved).lines}
    assert lines["incumbent"].get_ydata()[-1] == pytest.approx(1e3 * solved.objective)
    assert lines["bound"].get_ydata()[-1] == pytest.approx(1e3 * solved.objective, rel=1e-5)


def test_no_trace_is_refused(result: Result) -> None:
    with pytest.raises(InputError, match="no points"):
        plot_trace(replace(result, trace=()))
