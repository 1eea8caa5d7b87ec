"""The README's picture, drawn from the summary rows of docs/gaps.md; `gaps.py` writes it.

A row a family: a tick at the mean excess of the paper's heuristic, a bar for its 95% interval, a
thin line to the largest. The axis is logarithmic in 1 + excess, so that 2% and 2000% both can be
read. It is written by hand: a test compares it with the table, so it must be the same everywhere.
"""

from __future__ import annotations

from html import escape
from math import log1p

COLOURS = (
    "#332288", "#cc6677", "#117733", "#ddcc77", "#88ccee", "#aa4499", "#44aa99", "#882255",
)  # fmt: skip
"""Paul Tol's muted scheme, the darkest first."""
WIDTH, ROW, LEFT, RIGHT, TOP, AXIS = 960, 26, 450, 110, 40, 48
TICKS = (0, 1, 3, 10, 30, 100, 300, 1000, 10_000, 100_000, 1_000_000)
FONT = "13px system-ui, sans-serif"


def picture(rows: list[str]) -> str:
    """SVG of the rows of a summary table."""
    cells = [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in rows]
    cells = [row for row in cells if row[4] != "-"]
    plans = list(dict.fromkeys(row[0] for row in cells))
    most = max((float(row[6]) for row in cells), default=1.0)
    last = next((tick for tick in TICKS if tick >= most), most)
    bottom = TOP + ROW * len(cells)
    parts = [_tick(tick, last, bottom) for tick in TICKS if tick <= last]
    for number, row in enumerate(cells):
        colour = COLOURS[plans.index(row[0]) % len(COLOURS)]
        parts.append(_row(row, TOP + ROW * (number + 0.5), last, colour))
    title = "How far the papers' heuristics are above the best proven bound"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + AXIS}" '
        f'role="img" aria-label="{title}"><style>text{{font:{FONT};fill:#222}}</style>'
        f'<rect width="{WIDTH}" height="{bottom + AXIS}" fill="#fff"/>'
        f'<text x="14" y="22" style="font-weight:600">{title}</text>{"".join(parts)}'
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2:g}" y="{bottom + 40}" text-anchor="middle">'
        "excess % (logarithm of 1 + excess): mean, its 95% interval, largest</text></svg>\n"
    )


def _row(row: list[str], y: float, last: float, colour: str) -> str:
    plan, family, method, _, mean, interval, largest, _ = row
    low, high = (_x(float(end), last) for end in (interval.split(" to ") * 2)[:2])
    at, most = _x(float(mean), last), _x(float(largest), last)
    return (
        f'<text x="{LEFT - 12}" y="{y + 4:g}" text-anchor="end">'
        f'{escape(f"{plan}: {family}")} <tspan font-weight="600">{escape(method)}</tspan></text>'
        f'<line x1="{at:.1f}" x2="{most:.1f}" y1="{y:g}" y2="{y:g}" stroke="{colour}"/>'
        f'<rect x="{low:.1f}" y="{y - 5:g}" width="{max(high - low, 1):.1f}" height="10" '
        f'fill="{colour}" fill-opacity=".45"/>'
        f'<rect x="{at - 1.5:.1f}" y="{y - 9:g}" width="3" height="18" fill="{colour}"/>'
        f'<text x="{most + 6:.1f}" y="{y + 4:g}">mean {float(mean):.1f}</text>'
    )


def _tick(tick: float, last: float, bottom: int) -> str:
    x = _x(tick, last)
    return (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}" stroke="#ddd"/>'
        f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{tick:g}</text>'
    )


def _x(value: float, last: float) -> float:
    return LEFT + log1p(value) / log1p(last) * (WIDTH - LEFT - RIGHT)
