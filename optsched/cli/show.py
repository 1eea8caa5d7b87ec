"""Tables and lines that the commands print."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from optsched.checking import CheckReport
from optsched.display import counted
from optsched.experiments.report.table import REFERENCE
from optsched.experiments.report.table_formats import body, headings, title
from optsched.io.writing import csv_text, write_text
from optsched.placement.scaling import SLOWER
from optsched.problem import Problem
from optsched.problems import PROBLEMS
from optsched.result import NOT_COMPARABLE, RELAXES, Result
from optsched.verbs.explaining import why_none

if TYPE_CHECKING:
    from optsched.experiments.report.table import FamilyTable
    from optsched.placement.instance import PlacementInstance


def console() -> Console:
    """Return standard output, wide enough for a table when it is not a terminal."""
    out = Console(highlight=False)
    return out if out.is_terminal else Console(highlight=False, width=max(out.width, 160))


def print_in_full(out: Console, table: Table) -> None:
    """Print a table without cutting a cell.

    A terminal that is too narrow gets several tables that share the first column; a file or a pipe
    gets one table as wide as it takes.
    """
    endless = out.options.update(max_width=10_000)
    if not out.is_terminal:
        out.width = max(out.width, out.measure(table, options=endless).maximum)
    columns = [*range(1, len(table.columns))]
    while columns:
        count = len(columns)
        while count > 1 and _width(out, table, columns[:count]) > out.width:
            count -= 1
        out.print(_with_columns(table, columns[:count]))
        columns = columns[count:]


def _width(out: Console, table: Table, columns: Sequence[int]) -> int:
    endless = out.options.update(max_width=10_000)
    return out.measure(_with_columns(table, columns), options=endless).maximum


def _with_columns(table: Table, columns: Sequence[int]) -> Table:
    """The table's first column and some of the others."""
    part = Table(title=table.title, title_justify="left")
    chosen = [table.columns[at] for at in (0, *columns)]
    for column in chosen:
        part.add_column(
            column.header, justify=column.justify, no_wrap=column.no_wrap, overflow="fold"
        )
    cells = zip(*(column.cells for column in chosen), strict=True)
    for row, line in zip(table.rows, cells, strict=True):
        part.add_row(*line, end_section=row.end_section)
    return part


def note(line: object) -> None:
    """Print a line on standard error."""
    print(line, file=sys.stderr, flush=True)


def note_uncompiled() -> None:
    """Print a note if Python ran any kernel."""
    from optsched.kernels import python_runs

    if python_runs():
        note("timings are uncompiled; run `optsched warm-up` for compiled ones")


def result(result: Result) -> None:
    """Print one result, one fact per line."""
    problem = PROBLEMS[result.problem]
    out = console()
    source = "" if result.bound is None else f" ({result.bound_source})"
    lines = [
        ("instance", f"{result.instance} ({result.problem}, sha256 {result.instance_sha256[:12]})"),
        ("method", _method(result)),
        ("status", result.status),
        (problem.objective, _value(result.objective, problem)),
        ("bound", _value(result.bound, problem) + source),
        (
            "excess",
            _percent(result.excess)
            + (f" over {result.bound_source}" if result.excess is not None else ""),
        ),
        ("seconds", f"{result.build_time:.3f} build + {result.solve_time:.3f} solve"),
        ("checked", _verdict(result)),
    ]
    lines += [(key, f"{value:.4g}") for key, value in result.measures.items() if value is not None]
    lines += [(key, str(value)) for key, value in result.details.items()]
    why = why_none(result)
    lines += [] if why is None else [("why", why)]
    for key, value in lines:
        out.print(f"{key:15} {escape(value)}", soft_wrap=True)


def scaling_line(instance: PlacementInstance) -> str:
    """Return the speed-up of a plan over one GPU, and its memory per GPU."""
    scaling, memory = instance.provenance["scaling"], instance.provenance["memory"]
    slower = f" ({SLOWER})" if scaling["speed_up"] < 1 else ""
    return (
        f"{instance.job.gpus} GPUs, speed-up {scaling['speed_up']:.2f}{slower}, efficiency "
        f"{100 * scaling['efficiency']:.0f}%, {1e-9 * memory['bytes_per_gpu']:.1f} GB a GPU"
    )


def table(groups: Iterator[list[Result]], *, quiet: bool) -> tuple[list[Result], bool]:
    """Print the gap table while it grows; returns the results and whether it was interrupted."""
    done: list[Result] = []
    interrupted = False
    out = console()
    progress = Console(stderr=True)
    with progress.status("comparing ...") as status:
        try:
            for group in groups:
                done.extend(group)
                if group:
                    status.update(f"{len(done)} results, the last of {escape(group[0].instance)}")
        except KeyboardInterrupt:
            interrupted = True
    if done and not quiet:
        print_in_full(out, _gap_table(done, out))
        _summary(out, done)
    return done, interrupted


def write_csv(path: str, rows: list[dict[str, Any]]) -> None:
    """Write result rows as CSV, without traces and details."""
    skipped = {"trace", "details", "check", "options"}
    columns = [key for key in (rows[0] if rows else {}) if key not in skipped]
    checks = [None if row["check"] is None else row["check"]["feasible"] for row in rows]
    cells = ([*(row[c] for c in columns), check] for row, check in zip(rows, checks, strict=True))
    write_text(path, csv_text([*columns, "feasible"], cells))


def report(report: CheckReport, problem: Problem) -> None:
    """Print a checker's verdict."""
    out = console()
    out.print("feasible" if report.feasible else "NOT feasible")
    if report.objective is not None:
        out.print(f"{problem.objective} {_value(report.objective, problem)}")
    for violation in report.violations:
        out.print(escape(str(violation)))


def breakdown(breakdown: Any) -> None:
    """Print the table of an explanation."""
    title, headings, rows, closing = breakdown.table()
    out = console()
    print_in_full(out, _titled(title, headings, rows, getattr(breakdown, "right", ())))
    out.print(escape(closing))


def gap_tables(tables: Sequence[FamilyTable]) -> None:
    """Print a table and the paired counts for each family of a store."""
    out = console()
    for table in tables:
        print_in_full(out, _titled(title(table), headings(table), body(table), headings(table)[1:]))
        for pair in table.pairings:
            words = f"{pair.wins} wins, {pair.ties} ties, {pair.losses} losses"
            out.print(escape(f"{pair.first} against {pair.second}: {words}"))
        out.print()
    out.print(
        "excess over the best proven bound; interval of its mean by bootstrap over instances; "
        f"time ratio: median of seconds / seconds of {REFERENCE}"
    )


def methods(rows: list[dict[str, Any]]) -> None:
    """Print the methods of every problem."""
    table = Table()
    for heading in ("problem", "method", "kind", "Pyomo model", "in compare", "summary"):
        table.add_column(heading, no_wrap=heading != "summary")
    for row in rows:
        flags = ("yes" if row[key] else "" for key in ("model", "default"))
        table.add_row(row["problem"], row["method"], row["kind"], *flags, row["summary"])
    console().print(table)


def _titled(
    title: str, headings: Iterable[str], rows: Iterable[Iterable[str]], right: Collection[str]
) -> Table:
    """Return a table of plain texts; the columns headed `right` are right-aligned."""
    table = Table(title=escape(title), title_justify="left")
    for heading in headings:
        table.add_column(heading, justify="right" if heading in right else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(escape, row))
    return table


EXCESS = "excess %"
OF_WHAT = "over best bound"
FIRST_TO_GO = (OF_WHAT, "checked", "seconds", "best bound", "speed-up", "waiting", "objective")
"""Columns that a narrow terminal leaves out, in this order."""
LEFT = ("instance", "method", "status", "checked")


def _gap_table(results: list[Result], out: Console) -> Table:
    """Return the gap table with as many columns as can be read in full."""
    shown = [*_cells(results[0]), OF_WHAT]
    for heading, measure in (("speed-up", "speed_up"), ("waiting", "jobs_waiting")):
        if not any(measure in r.measures for r in results):
            shown.remove(heading)
    broken = any(r.check is not None and not r.check.feasible for r in results)
    table = _columns(results, shown)
    endless = out.options.update(max_width=10_000)
    for heading in FIRST_TO_GO:
        if out.measure(table, options=endless).maximum <= out.width:
            break
        if heading in shown and not (broken and heading == "checked"):
            shown.remove(heading)
            table = _columns(results, shown)
    return table


def _columns(results: list[Result], shown: list[str]) -> Table:
    units = {PROBLEMS[r.problem].unit for r in results}
    titles = {"objective": f"objective ({units.pop()})"} if len(units) == 1 else {}
    if OF_WHAT in shown:
        titles[EXCESS] = f"{EXCESS}\n{OF_WHAT}"
    table = Table()
    headings = [heading for heading in shown if heading != OF_WHAT]
    for heading in headings:
        side: Any = "left" if heading in LEFT else "right"
        table.add_column(titles.get(heading, heading), justify=side, no_wrap=True)
    last = None
    for r in results:
        this = (r.instance, r.instance_sha256)
        if last is not None and this != last:
            table.add_section()
        cells = _cells(r) | ({"instance": ""} if this == last else {})
        table.add_row(*(cells[heading] for heading in headings))
        last = this
    return table


def _cells(r: Result) -> dict[str, str]:
    """Return a row's cells by heading, in the order of the columns."""
    problem = PROBLEMS[r.problem]
    speed_up, waiting = r.measures.get("speed_up"), r.measures.get("jobs_waiting")
    return {
        "instance": escape(r.instance),
        "method": escape(_method(r)),
        "objective": _number(r.objective, problem),
        "best bound": _number(r.bound, problem),
        EXCESS: _excess(r),
        "speed-up": "-" if speed_up is None else f"{speed_up:.2f}{' < 1' if speed_up < 1 else ''}",
        "waiting": "-" if waiting is None else f"{waiting:.0f}",
        "seconds": f"{r.build_time + r.solve_time:.4f}",
        "status": _status(r),
        "checked": _verdict(r),
    }


def _excess(r: Result) -> str:
    """Return the excess in percent, marked where its bound holds for this row alone."""
    if NOT_COMPARABLE in r.details:
        return NOT_COMPARABLE
    if r.excess is None:
        return "-"
    return f"{max(100 * r.excess, 0.0):.2f}" + (OWN_BOUND if r.relaxed else "")


OWN_BOUND = f" ({NOT_COMPARABLE})"


def _summary(out: Console, results: list[Result]) -> None:
    """Print the mean and largest excess by method, and the runs without a solution."""
    by_method: dict[str, list[float]] = {}
    for r in results:
        if r.excess is not None:
            by_method.setdefault(r.method, []).append(max(100 * r.excess, 0.0))
    relaxed = {r.method: r.details[RELAXES] for r in results if r.relaxed}
    for method, values in by_method.items():
        mean = sum(values) / len(values)
        bound = "the best proven bound"
        if method in relaxed:
            bound = f"its own bound (free of: {relaxed[method]}; not comparable)"
        out.print(
            f"{method}: excess over {bound} {mean:.2f}% mean, "
            f"{max(values):.2f}% largest, over {counted(len(values), 'instance')}"
        )
    for line in _without_solution(results):
        out.print(line)
    slow = [r for r in results if (r.measures.get("speed_up") or 1.0) < 1]
    idle = [r for r in results if _mostly_waiting(r)]
    for found, words in ((slow, SLOWER), (idle, WAITING)):
        methods: dict[str, list[str]] = {}
        for r in found:
            methods.setdefault(r.instance, []).append(r.method)
        named = "; ".join(f"{name} ({', '.join(by)})" for name, by in methods.items())
        if found:
            out.print(escape(f"{words}: {named}"))


def _without_solution(results: list[Result]) -> list[str]:
    """Return a line for each method with runs that ended without a solution."""
    ended: dict[str, Counter[str]] = {}
    for r in results:
        if r.solution is None and not r.only_bound and "refused" not in r.details:
            ended.setdefault(r.method, Counter())[r.termination.value] += 1
    return [
        f"{method}: without a solution on {counted(counts.total(), 'instance')} "
        f"({', '.join(f'{number} {how}' for how, number in sorted(counts.items()))})"
        for method, counts in ended.items()
    ]


WAITING = "most of the excess is what (20) charges for jobs left waiting, not tardiness or energy"


def _mostly_waiting(r: Result) -> bool:
    """Whether waiting jobs cost more than half of what the objective exceeds the bound by."""
    charge = r.measures.get("waiting_cost") or 0.0
    return (
        r.objective is not None and r.bound is not None and 2 * charge > r.objective - r.bound > 0
    )


def _method(r: Result) -> str:
    return r.method if r.chosen is None else f"{r.method} ({r.chosen})"


def _status(r: Result) -> str:
    return r.status if r.only_bound else escape(str(r.details.get("message", r.status)))[:60]


def _verdict(r: Result) -> str:
    if r.check is None:
        return "-" if r.only_bound else "no solution"
    if r.check.feasible:
        return "yes"
    return "NO: " + "; ".join(str(v) for v in r.check.violations[:3])


def _value(value: float | None, problem: Problem) -> str:
    return "none" if value is None else f"{_number(value, problem)} {problem.unit}"


def _number(value: float | None, problem: Problem) -> str:
    return "-" if value is None else f"{value * problem.shown_per_unit:.3f}"


def _percent(value: float | None) -> str:
    return "unknown" if value is None else f"{100 * value:.4f}%"
