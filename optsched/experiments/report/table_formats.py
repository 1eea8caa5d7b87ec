"""The gap table as text, Markdown, LaTeX (booktabs) and CSV."""

from collections.abc import Iterable, Sequence
from typing import Any

from optsched.display import counted
from optsched.experiments.report.table import NOT_RUN, PAIR_HEADINGS, FamilyTable, Line
from optsched.io.writing import csv_text
from optsched.problems import PROBLEMS
from optsched.result import NOT_COMPARABLE, Termination

EXCESS = ("mean %", "95% interval", "median %", "largest %")
UNSOLVED_COLUMNS = {
    "infeasible": Termination.INFEASIBLE,
    "no_solution": Termination.NO_SOLUTION,
    "time_limit": Termination.TIME_LIMIT,
    "not_run": NOT_RUN,
}
"""CSV columns that count the runs without a solution, and the terminations they count."""
CSV_COLUMNS = (
    "plan", "family", "problem", "options", "draws", "instances", "method", "planned", "checked",
    "refused", "failed", *UNSOLVED_COLUMNS, "relaxes", "mean_excess", "mean_low", "mean_high",
    "median_excess", "largest_excess", "share_proved", "median_seconds", "time_ratio",
    "jobs_waiting", "waiting_cost", "tardiness", "interval_energy", "full_run_energy",
)  # fmt: skip
MEASURES = CSV_COLUMNS[CSV_COLUMNS.index("jobs_waiting") :]
"""Columns of selections; empty for other problems."""
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


def headings(table: FamilyTable) -> tuple[str, ...]:
    """Headings of a family's table: excess columns, or the problem's cost parts."""
    parts = tuple(heading for _, heading in PROBLEMS[table.problem].parts)
    return "method", *(parts or EXCESS), "proved %", "time ratio", "checked"


def body(table: FamilyTable) -> list[tuple[str, ...]]:
    """The lines of a family's table, under its `headings`."""
    return [cells(table, line) for line in table.lines]


def cells(table: FamilyTable, line: Line) -> tuple[str, ...]:
    """A line as the tables show it, with how the unchecked runs ended; a dash is unknown."""
    parts, interval = PROBLEMS[table.problem].parts, line.interval
    if parts:
        means = (line.measures.get(name) for name, _ in parts)
        cost = ["-" if value is None else f"{value:.2f}" for value in means]
    else:
        span = "-" if interval is None else f"{100 * interval.low:.2f} to {100 * interval.high:.2f}"
        # Not comparable: over the runs' own bound, as they are free of a rule of the problem.
        mark = f" ({NOT_COMPARABLE})" if line.relaxes and line.mean is not None else ""
        cost = [percent(line.mean) + mark, span, percent(line.median), percent(line.largest)]
    proved = "-" if line.proved is None else f"{100 * line.proved:.0f}"
    others = {"bounds": line.bounds, "refused": line.refused, "failed": line.failed}
    counts = [f"{count} {end}" for end, count in {**others, **line.unsolved}.items() if count]
    checked = f"{line.checked} of {line.planned}" + (f" ({', '.join(counts)})" if counts else "")
    return line.method, *cost, proved, ratio(line.time_ratio), checked


def percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f}"


def ratio(value: float | None) -> str:
    if value is None:
        return "-"
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.{2 if value >= 1 else 4}f}"


def title(table: FamilyTable) -> str:
    defaults = PROBLEMS[table.problem].options_of()
    changed = ", ".join(f"{k} = {v}" for k, v in table.options.items() if defaults.get(k) != v)
    count = counted(table.instances, "instance")
    if table.draws > table.instances:
        count = f"{table.draws} draws, {table.instances} distinct"
    return f"{table.family} ({table.problem}, {count}{'; ' + changed if changed else ''})"


def as_markdown(tables: Sequence[FamilyTable]) -> str:
    """Markdown: per family a heading and two tables."""
    text: list[str] = []
    for table in tables:
        text += [f"### {_plain(title(table))}", ""]
        text += [*_rows_of_markdown(headings(table), body(table)), ""]
        text += [*_rows_of_markdown(PAIR_HEADINGS, (pair.cells for pair in table.pairings)), ""]
    return "\n".join(text)


def _rows_of_markdown(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(headings)} |",
        f"|---|{'---:|' * (len(headings) - 1)}",
        *(f"| {' | '.join(map(_plain, row))} |" for row in rows),
    ]


def as_latex(tables: Sequence[FamilyTable]) -> str:
    """LaTeX tables for ``\\usepackage{booktabs}``."""
    text = ["% Needs \\usepackage{booktabs}. Excess in percent over the best proven bound."]
    for table in tables:
        pairs = [pair.cells for pair in table.pairings]
        text += [r"\begin{table}", rf"\caption{{{_tex(title(table))}}}"]
        text += _tabular(headings(table), body(table))
        text += [r"\par\medskip", *_tabular(PAIR_HEADINGS, pairs)] if pairs else []
        text += [r"\end{table}", ""]
    return "\n".join(text)


def _tabular(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    heading, *others = (" & ".join(map(_tex, row)) + r" \\" for row in (headings, *rows))
    return [
        rf"\begin{{tabular}}{{l{'r' * (len(headings) - 1)}}}",
        r"\toprule",
        heading,
        r"\midrule",
        *others,
        r"\bottomrule",
        r"\end{tabular}",
    ]


def as_csv(tables: Sequence[FamilyTable]) -> str:
    """CSV with every digit; excesses as shares, not percent."""
    rows: list[list[Any]] = []
    for table in tables:
        options = ";".join(f"{k}={v}" for k, v in table.options.items())
        family = (table.plan, table.family, table.problem, options, table.draws, table.instances)
        for line in table.lines:
            unsolved = (line.unsolved.get(ended, 0) for ended in UNSOLVED_COLUMNS.values())
            ends = (line.interval.low, line.interval.high) if line.interval else (None, None)
            excess = (line.mean, *ends, line.median, line.largest)
            row = [*family, line.method, line.planned, line.checked, line.refused, line.failed]
            row += [*unsolved, line.relaxes, *excess, line.proved, line.seconds, line.time_ratio]
            rows.append([*row, *(line.measures.get(name) for name in MEASURES)])
    return csv_text(CSV_COLUMNS, rows)


def pairs_as_csv(tables: Sequence[FamilyTable]) -> str:
    """CSV of the paired counts: one line per family and pair of methods."""
    header = ("plan", "family", "first", "second", "wins", "ties", "losses")
    rows = (
        (table.plan, table.family, p.first, p.second, p.wins, p.ties, p.losses)
        for table in tables
        for p in table.pairings
    )
    return csv_text(header, rows)


def _plain(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", r"\|").replace("<", "&lt;")


def _tex(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in text)
