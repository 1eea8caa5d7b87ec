"""Plots of online runs draw what the records say."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.random_online import random_case

from optsched.online.simulator.engine import simulate_online


@pytest.fixture(autouse=True)
def _backend() -> None:
    pytest.importorskip("matplotlib").use("Agg")


def test_plots() -> None:
    from optsched.plotting import plot_flow, plot_queue

    jobs, predicted = random_case(1)
    runs = [simulate_online(jobs, name, predicted) for name in ("a-srpt", "spwf")]
    for plot in (plot_queue, plot_flow):
        ax = plot(None, runs)
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a-srpt", "spwf"]
    line = plot_queue(None, runs[:1]).lines[0]
    assert np.max(line.get_ydata()) <= len(jobs)
    assert line.get_ydata()[-1] == 0
