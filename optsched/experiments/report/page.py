"""The report: one HTML page of a result store that needs no network and no other file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from optsched import __version__
from optsched.experiments.report import interactive as script_of
from optsched.experiments.report import parts
from optsched.experiments.report.table import FamilyTable, gap_table
from optsched.experiments.report.table_formats import percent, title
from optsched.experiments.store.store import StoreReader, files_of_store
from optsched.extras import require_extras
from optsched.io.outputs import require_outputs
from optsched.io.writing import write_text

STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1rem;
  color: #1a1a1a; background: #fff; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; } h3 { font-size: 1rem; }
.wide { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { padding: .25rem .7rem .25rem 0; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
thead th { border-bottom: 1.5px solid #333; } tbody td { border-bottom: 1px solid #e6e6e6; }
figure { margin: 1rem 0; } svg { width: 100%; max-width: 44rem; height: auto; }
summary { cursor: pointer; padding: .15rem 0; overflow-wrap: anywhere; }
code, pre { font-size: .85rem; overflow-wrap: anywhere; } pre { overflow-x: auto; }
nav li { margin: .2rem 0; }
@media (max-width: 40rem) { body { padding: .7rem; }
  th, td { padding-right: .45rem; font-size: .8rem; } nav ul { padding-left: 1.1rem; } }
"""
NOTES = (
    "Excess is objective / best proven bound - 1; where the bound is the optimum it is the "
    "distance to optimal. The interval is of the mean, by 2000 bootstrap resamples of the "
    "instances. Proved: share of the runs whose value some bound proves optimal. Time ratio: "
    "median of a method's seconds over those of exact on the same instance. Only runs that the "
    "independent checker passed count. A selection's table shows the parts of its cost: its "
    "excess, in the CSV and the pictures, is mostly what (20) charges for jobs left waiting."
)


def write_report(store: str | Path, target: str | Path, *, interactive: bool = False) -> None:
    """Write the page of a store.

    Parameters
    ----------
    store : str or Path
        A store that `sweep` made.
    target : str or Path
        The page, .html.
    interactive : bool, optional
        With a script, in the page, that filters and sorts its tables and zooms its pictures, and a
        schedule a family: the stored solution furthest above its bound.

    Raises
    ------
    InputError
        If the store cannot be read or the page not be written.
    MissingExtraError
        Without matplotlib, before anything is read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from optsched.experiments import sweep
    >>> plan = '''
    ... name = "three"
    ... [[families]]
    ... name = "fig2"
    ... instances = ["placement/fig2"]
    ... methods = ["heavy-edge", "exact"]
    ... '''
    >>> _ = Path("three.toml").write_text(plan)
    >>> _ = sweep("three.toml", "three.sqlite", workers=0)
    >>> write_report("three.sqlite", "report.html")
    >>> Path("report.html").exists()
    True
    """
    require_extras(["matplotlib"])
    require_outputs([target], files_of_store(store))
    write_text(target, page(store, interactive))


def page(store: str | Path, interactive: bool = False) -> str:
    """The page as text."""
    tables = gap_table(store)
    with StoreReader(store) as base:
        runs = base.rows("SELECT * FROM runs ORDER BY number")
        plans = base.rows("SELECT name, sha256, text FROM plans ORDER BY name")
    name = escape(", ".join(dict.fromkeys(table.plan for table in tables)))
    sections = [parts.family(table, f"family-{i}") for i, table in enumerate(tables)]
    style, tools, script = STYLE, "", ""
    if interactive:
        pictures = script_of.schedules(store, tables)
        sections = [each + drawn for each, drawn in zip(sections, pictures, strict=True)]
        style, tools = STYLE + script_of.STYLE, script_of.TOOLS
        script = f"<script>{script_of.SCRIPT}</script>"
    return "\n".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>Gap report: {name}</title><style>{style}</style></head><body>",
            f"<h1>How far from optimal? Gap report: {name}</h1>",
            f"<p>{escape(NOTES)}</p>{tools}",
            _contents(tables),
            *sections,
            "<section><h2>How it was made</h2>",
            f"<p>Page written by optsched {escape(__version__)}.</p>",
            parts.runs_of_sweeps(runs),
            "<h3>Plans</h3>",
            parts.plans(plans),
            f"</section>{script}</body></html>\n",
        )
    )


def _contents(tables: Sequence[FamilyTable]) -> str:
    items = []
    for i, table in enumerate(tables):
        worst = max(table.lines, key=lambda line: line.mean or 0.0)
        words = f": {worst.method} is {percent(worst.mean)}% above the bound on average"
        text = escape(words) if worst.mean else ""
        items.append(f'<li><a href="#family-{i}">{escape(title(table))}</a>{text}</li>')
    return f"<nav><ul>{''.join(items)}</ul></nav>"
