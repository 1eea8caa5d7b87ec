"""Self-contained HTML report of a result store."""

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import chain
from pathlib import Path
from typing import Any

from optsched import __version__
from optsched.errors import require_extras
from optsched.experiments.report.table import PAIR_HEADINGS, FamilyTable, Run, gap_table
from optsched.experiments.report.table_formats import body, headings, percent, title
from optsched.experiments.store.store import FAILURES, Status, StoreReader, files_of_store
from optsched.io.outputs import require_outputs
from optsched.io.writing import write_text
from optsched.plotting.axes import WIDTH, house_style, robust_scale
from optsched.plotting.results import LINEAR_UP_TO_PERCENT, plot_strips
from optsched.problems import PROBLEMS
from optsched.result import ONLY_A_BOUND

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
figure { margin: 1rem 0; } svg, img { width: 100%; max-width: 44rem; height: auto; }
summary { cursor: pointer; padding: .15rem 0; overflow-wrap: anywhere; }
code, pre { font-size: .85rem; overflow-wrap: anywhere; } pre { overflow-x: auto; }
nav li { margin: .2rem 0; }
@media (max-width: 40rem) { body { padding: .7rem; }
  th, td { padding-right: .45rem; font-size: .8rem; } nav ul { padding-left: 1.1rem; } }
"""
NOTES = (
    "Excess is objective / best proven bound - 1; where the bound is the optimum it is the "
    "distance to optimal. The interval is of the mean, by 2000 bootstrap resamples of the "
    "instances; one that a generator drew repeatedly counts once. Proved: share of the instances "
    "whose value some bound proves optimal. Time ratio: median of a method's seconds over those of "
    "exact on the same instance. Only runs that the independent checker passed count. A "
    "selection's table shows the parts of its cost: its excess, in the CSV and the pictures, is "
    "mostly the postponement cost (20) of waiting jobs."
)
MAX_INSTANCES = 300
"""Largest number of instances listed per family: those with the largest excess."""

RUN_HEADINGS = ("method", "seed", "objective", "bound", "excess %", "status", "seconds", "checked")


def write_report(store: str | Path, target: str | Path) -> None:
    """Write the page of a store.

    Parameters
    ----------
    store : str or Path
        A store that `sweep` made.
    target : str or Path
        The page, .html.

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
    >>> plan = 'families = [{name = "a", instances = ["placement/fig2"], methods = ["exact"]}]'
    >>> _ = Path("three.toml").write_text(plan)
    >>> _ = sweep("three.toml", "three.sqlite", workers=0)
    >>> write_report("three.sqlite", "report.html")
    >>> Path("report.html").exists()
    True
    """
    require_extras(["matplotlib"])
    require_outputs([target], files_of_store(store))
    write_text(target, page(store))


def page(store: str | Path) -> str:
    tables = gap_table(store)
    with StoreReader(store) as base:
        runs = base.rows("SELECT * FROM runs ORDER BY number")
        plans = base.rows("SELECT name, sha256, text FROM plans ORDER BY name")
    name = escape(", ".join(dict.fromkeys(table.plan for table in tables)))
    sections = [_family(table, f"family-{i}") for i, table in enumerate(tables)]
    return "\n".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>Gap report: {name}</title><style>{STYLE}</style></head><body>",
            f"<h1>How far from optimal? Gap report: {name}</h1>",
            f"<p>{escape(NOTES)}</p>",
            _contents(tables),
            *sections,
            "<section><h2>How it was made</h2>",
            f"<p>Page written by optsched {escape(__version__)}.</p>",
            *map(_run_of_sweep, runs),
            "<h3>Plans</h3>",
            *(
                f"<details><summary>{escape(plan['name'])} (sha256 {escape(plan['sha256'][:12])})"
                f"</summary><pre>{escape(plan['text'])}</pre></details>"
                for plan in plans
            ),
            "</section></body></html>\n",
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


def _family(table: FamilyTable, anchor: str) -> str:
    has_excess = any(run.excess is not None for run in table.runs)
    pairs = [pair.cells for pair in table.pairings]
    return (
        f'<section id="{anchor}"><h2>{escape(title(table))}</h2>'
        + html_table(headings(table), body(table))
        + (f"<figure>{_excess_plot(table)}</figure>" if has_excess else "")
        + (html_table(PAIR_HEADINGS, pairs) if pairs else "")
        + _failures(table.runs)
        + _instances(table)
        + "</section>"
    )


def html_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table that scrolls on narrow pages; texts are escaped here."""
    head = "".join(f"<th>{escape(h)}</th>" for h in headings)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _run_of_sweep(run: Mapping[str, Any]) -> str:
    versions = json.loads(run["environment"])
    words = ", ".join(f"{name} {value}" for name, value in versions.items())
    return (
        f"<p><code>{escape(run['command'] or '(called from Python)')}</code><br>"
        f"{escape(run['started'])}, {escape(run['workers'])}: {escape(words)}</p>"
    )


def _excess_plot(table: FamilyTable) -> str:
    """One strip per method: a dot per run, a tick at the mean."""
    excess = {line.method: list[float]() for line in table.lines if line.mean is not None}
    for run in table.runs:
        if run.excess is not None:
            excess[run.method].append(100 * run.excess)
    with house_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH, 0.9 + 0.3 * len(excess)), layout="constrained")
        ax = figure.add_subplot()
        plot_strips(excess, "excess over the bound, %; black tick: mean", ax)
        robust_scale(ax.xaxis, [*chain(*excess.values())], LINEAR_UP_TO_PERCENT)
        stream, name = io.StringIO(), escape(f"Excess by method, {table.family}")
        no_metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))  # equal pages every time
        figure.savefig(stream, format="svg", transparent=True, metadata=no_metadata)
    inner = stream.getvalue().partition("<svg ")[2].partition(">")[2].strip()
    box = f"0 0 {72 * figure.get_figwidth():g} {72 * figure.get_figheight():g}"
    return f'<svg viewBox="{box}" role="img" aria-label="{name}"><title>{name}</title>{inner}'


def _failures(runs: Sequence[Run]) -> str:
    columns = ("instance", "method", "seed", "status", "message")
    rows = [
        (r.instance, r.method, str(r.seed), r.status or "", r.message or "")
        for r in runs
        if r.status in FAILURES
    ]
    heading = f"<h3>{len(rows)} failed runs</h3>"
    return heading + html_table(columns, rows[:MAX_INSTANCES]) if rows else ""


def _instances(table: FamilyTable) -> str:
    groups: dict[str, list[Run]] = {}
    for run in table.runs:
        groups.setdefault(run.sha256, []).append(run)
    ranked = sorted(groups.values(), key=_largest, reverse=True)
    shown = ranked[:MAX_INSTANCES]
    limit = f", the {len(shown)} with the largest excess" if len(shown) < len(ranked) else ""
    return f"<h3>Instances{limit}</h3>" + "".join(_instance(table.problem, runs) for runs in shown)


def _largest(runs: Sequence[Run]) -> float:
    return max(run.excess or 0.0 for run in runs)


def _instance(problem: str, runs: Sequence[Run]) -> str:
    first, text = runs[0], "no bound"
    bounds = sorted({run.bound for run in runs if run.bound is not None})
    if bounds:
        ends = dict.fromkeys((bounds[0], bounds[-1]))  # bounds may differ per seed
        values = " to ".join(_value(problem, value) for value in ends)
        text = f"bound {values} by {first.bound_source}"
    head = f"{first.instance}: largest excess {percent(_largest(runs))}%, {text}"
    return (
        f"<details><summary>{escape(head)}</summary>"
        + html_table(RUN_HEADINGS, (_run(problem, run) for run in runs))
        + f"<p>sha256 <code>{escape(first.sha256)}</code></p></details>"
    )


def _run(problem: str, run: Run) -> tuple[str, ...]:
    if run.only_bounds:
        status = ONLY_A_BOUND
    elif run.status == Status.DONE:
        status = f"{run.termination}"
    else:
        status = f"{run.status or 'not run yet'}: {run.message or ''}"
    return (
        run.method if run.chosen is None else f"{run.method} ({run.chosen})",
        str(run.seed),
        _value(problem, run.objective),
        _value(problem, run.bound),
        percent(run.excess),
        status,
        "-" if run.seconds is None else f"{run.seconds:.4f}",
        "yes" if run.feasible else ("-" if run.only_bounds else "no"),
    )


def _value(problem: str, value: float | None) -> str:
    unit = PROBLEMS[problem]
    return "-" if value is None else f"{value * unit.shown_per_unit:.3f} {unit.unit}"
