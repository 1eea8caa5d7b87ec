"""Plots of a report as inline SVG: no script, no library, sharp at every width."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from optsched.experiments.report.table import FamilyTable, Run

COLOURS = (
    "#332288", "#cc6677", "#117733", "#ddcc77", "#88ccee", "#aa4499", "#44aa99", "#882255",
)  # fmt: skip
"""Paul Tol's muted scheme, the darkest first."""

WIDTH, ROW, RIGHT, TOP, AXIS = 640, 26, 24, 6, 40
LETTER = 11
"""Width of a letter of a method's name where the page is narrow, and letters are large."""
MOST_DOTS = 1500
PROVED = 1e-8


@dataclass(frozen=True)
class _Scale:
    """From excess to the right: where the axis starts, and the excess at its end."""

    left: float
    most: float

    def x(self, excess: float) -> float:
        """Where an excess stands."""
        return self.left + (WIDTH - self.left - RIGHT) * excess / self.most


def excess_plot(table: FamilyTable) -> str:
    """A strip a method: a dot a run, a bar from the least to the largest, a tick at the mean."""
    methods = [line.method for line in table.lines if line.mean is not None]
    most = max((run.excess or 0.0 for run in table.runs), default=0.0)
    left = LETTER * max(map(len, methods), default=0) + 12
    step = _step(most or 0.01)
    ticks = [i * step for i in range(int(most / step + 1e-9) + 2)]
    height = TOP + ROW * len(methods) + AXIS
    scale = _Scale(left, ticks[-1])
    parts = [_axis(ticks, TOP + ROW * len(methods), scale)]
    for number, method in enumerate(methods):
        runs = [r for r in table.runs if r.method == method and r.excess is not None]
        colour = COLOURS[number % len(COLOURS)]
        parts.append(_strip(method, runs, TOP + ROW * (number + 0.5), colour, scale))
    name = escape(f"Excess by method, {table.family}")
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{name}">'
        f"<title>{name}</title>{''.join(parts)}</svg>"
    )


def _strip(method: str, runs: list[Run], y: float, colour: str, scale: _Scale) -> str:
    values = sorted(run.excess or 0.0 for run in runs)
    mean = sum(values) / len(values)
    shown = values[:: max(1, -(-len(values) // MOST_DOTS))]
    dots = "".join(f'<circle cx="{scale.x(v):.1f}" cy="{y:g}" r="4"/>' for v in shown)
    at = scale.x(mean)
    return (
        f'<text x="{scale.left - 10}" y="{y + 4:g}" text-anchor="end">{escape(method)}</text>'
        f'<line x1="{scale.x(values[0]):.1f}" x2="{scale.x(values[-1]):.1f}" '
        f'y1="{y:g}" y2="{y:g}" stroke="{colour}" stroke-opacity=".4"/>'
        f'<g fill="{colour}" fill-opacity=".45">{dots}</g>'
        f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{y - 9:g}" y2="{y + 9:g}" stroke="#000" '
        f'stroke-width="2"><title>mean {100 * mean:.2f}%</title></line>'
    )


def _axis(ticks: list[float], y: float, scale: _Scale) -> str:
    parts = []
    for tick in ticks:
        x = scale.x(tick)
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{y}" stroke="#ddd"/>'
            f'<text x="{x:.1f}" y="{y + 16}" text-anchor="middle">{100 * tick:g}</text>'
        )
    middle = (scale.left + WIDTH - RIGHT) / 2
    words = "excess over the bound, %; black tick: mean"
    return "".join(parts) + (
        f'<text x="{middle:g}" y="{y + 34}" text-anchor="middle">{words}</text>'
    )


def _step(most: float) -> float:
    """A round step that gives at most seven ticks."""
    power = 1e-9
    while True:
        for factor in (1, 2, 5):
            if most / (factor * power) <= 6:
                return factor * power
        power *= 10
