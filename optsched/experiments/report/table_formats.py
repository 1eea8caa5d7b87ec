"""The gap table as text, Markdown, LaTeX (booktabs) and CSV."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from optsched.display import counted
from optsched.experiments.report.table import NOT_RUN, PAIR_HEADINGS, FamilyTable, Line
from optsched.io.writing import csv_text
from optsched.problems import PROBLEMS
from optsched.result import NOT_COMPARABLE, Termination

UNLIKE = f" ({NOT_COMPARABLE})"
"""Mark of an excess over a bound of its own: the runs are free of a rule of the problem."""
EXCESS = ("mean %", "95% interval", "median %", "largest %")
WITHOUT = {
    "infeasible": Termination.INFEASIBLE,
    "no_solution": Termination.NO_SOLUTION,
    "time_limit": Termination.TIME_LIMIT,
    "not_run": NOT_RUN,
}
"""CSV columns that count the runs without a solution, and the terminations they count."""
CSV_COLUMNS = (
    "plan", "family", "problem", "options", "instances", "method", "planned", "checked", "refused",
    "failed", *WITHOUT, "relaxes", "mean_excess", "mean_low", "mean_high", "median_excess",
    "largest_excess", "share_proved", "median_seconds", "time_ratio", "jobs_waiting",
    "waiting_cost", "tardiness", "interval_energy", "full_run_energy",
)  # fmt: skip
MEASURES = CSV_COLUMNS[CSV_COLUMNS.index("jobs_waiting") :]
"""What a row says of a selection; empty for other problems."""
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


def headings(table: FamilyTable) -> tuple[str, ...]:
    """Those of a family's table: the excess, or the parts that a problem has in its place."""
    parts = tuple(heading for _, heading in PROBLEMS[table.problem].parts)
    return "method", *(parts or EXCESS), "proved %", "time ratio", "checked"


def cells(table: FamilyTable, line: Line) -> tuple[str, ...]:
    """A line as the tables show it; a dash stands for what is not known."""
    parts = PROBLEMS[table.problem].parts
    return (
        line.method,
        *(_means(line, parts) if parts else _excess(line)),
        "-" if line.proved is None else f"{100 * line.proved:.0f}",
        ratio(line.time_ratio),
        checked(line),
    )


def body(table: FamilyTable) -> list[tuple[str, ...]]:
    """The lines of a family's table, under its `headings`."""
    return [cells(table, line) for line in table.lines]


def _means(line: Line, parts: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    found = (line.measures.get(name) for name, _ in parts)
    return tuple("-" if value is None else f"{value:.2f}" for value in found)


def _excess(line: Line) -> tuple[str, ...]:
    interval = line.interval
    span = "-" if interval is None else f"{100 * interval.low:.2f} to {100 * interval.high:.2f}"
    mean = percent(line.mean) + (UNLIKE if line.relaxes and line.mean is not None else "")
    return mean, span, percent(line.median), percent(line.largest)


def percent(share: float | None) -> str:
    """A share in percent."""
    return "-" if share is None else f"{100 * share:.2f}"


def ratio(value: float | None) -> str:
    """A ratio of times, without powers of ten: whole from 100 on, else with 2 or 4 decimals."""
    if value is None:
        return "-"
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.{2 if value >= 1 else 4}f}"


def checked(line: Line) -> str:
    """How many of the planned runs the checker passed, and what became of the rest."""
    rest = [
        f"{count} {word}"
        for count, word in (
            (line.bounds, "bounds"),
            (line.refused, "refused"),
            (line.failed, "failed"),
            *((count, ended) for ended, count in line.without.items()),
        )
        if count
    ]
    return f"{line.checked} of {line.planned}" + (f" ({', '.join(rest)})" if rest else "")


def title(table: FamilyTable) -> str:
    """A family's heading."""
    options = ", ".join(f"{k} = {v}" for k, v in table.options.items() if not_default(table, k, v))
    count = counted(table.instances, "instance")
    return f"{table.family} ({table.problem}, {count}{'; ' + options if options else ''})"


def not_default(table: FamilyTable, name: str, value: Any) -> bool:
    """Whether an option differs from the problem's default."""
    return bool(PROBLEMS[table.problem].options_of().get(name) != value)


def as_markdown(tables: Sequence[FamilyTable]) -> str:
    """Markdown, a heading and two tables a family."""
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
    return csv_text(
        CSV_COLUMNS, (_csv_row(table, line) for table in tables for line in table.lines)
    )


def _csv_row(table: FamilyTable, line: Line) -> list[Any]:
    options = ";".join(f"{k}={v}" for k, v in table.options.items())
    low, high = (None, None) if line.interval is None else (line.interval.low, line.interval.high)
    return [
        *(table.plan, table.family, table.problem, options, table.instances, line.method),
        *(line.planned, line.checked, line.refused, line.failed),
        *(line.without.get(ended, 0) for ended in WITHOUT.values()),
        line.relaxes,
        *(line.mean, low, high, line.median, line.largest, line.proved),
        *(line.seconds, line.time_ratio),
        *(line.measures.get(name) for name in MEASURES),
    ]


def pairs_as_csv(tables: Sequence[FamilyTable]) -> str:
    """CSV of the paired counts: a line a family and pair of methods."""
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
