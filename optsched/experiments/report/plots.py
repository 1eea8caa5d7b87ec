"""The plots of a report, as inline SVG: no script, sharp at every width."""

from __future__ import annotations

import io
from html import escape

from optsched.experiments.report.table import FamilyTable
from optsched.plotting.axes import house_style
from optsched.plotting.strips import plot_strips

DROPPED = dict.fromkeys(("Creator", "Date", "Format", "Type"))


def excess_plot(table: FamilyTable) -> str:
    """A strip a method: a dot a run, a tick at the mean."""
    excess = {line.method: list[float]() for line in table.lines if line.mean is not None}
    for run in table.runs:
        if run.excess is not None:
            excess[run.method].append(100 * run.excess)
    stream, name = io.StringIO(), escape(f"Excess by method, {table.family}")
    with house_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7.0, 0.9 + 0.3 * len(excess)), layout="constrained")
        plot_strips(excess, "excess over the bound, %; black tick: mean", figure.add_subplot())
        figure.savefig(stream, format="svg", transparent=True, metadata=DROPPED)
    drawn = stream.getvalue().partition("<svg ")[2]
    inner = drawn.partition(">")[2]
    box = f"0 0 {72 * figure.get_figwidth():g} {72 * figure.get_figheight():g}"
    return (
        f'<svg viewBox="{box}" role="img" aria-label="{name}"><title>{name}</title>{inner.strip()}'
    )
