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
from optsched.placement.options import SLOWER
from optsched.problem import Problem
from optsched.problems import PROBLEMS
from optsched.result import NOT_COMPARABLE, ONLY_A_BOUND, RELAXES, Result
from optsched.verbs.explaining import no_solution_reason

if TYPE_CHECKING:
    from optsched.experiments.report.table import FamilyTable
    from optsched.online.prediction.predictors import PredictionReport
    from optsched.online.runs import Run as OnlineRun
    from optsched.placement.instance import PlacementInstance
    from optsched.rolling.runs import Run as RollingRun


PIPE_WIDTH = 160
"""Columns of a line where the output is no terminal: about the width of the widest table."""
UNLIMITED = 10_000


def console() -> Console:
    """Return standard output, wide enough for a table when it is not a terminal."""
    out = Console(highlight=False)
    return out if out.is_terminal else Console(highlight=False, width=max(out.width, PIPE_WIDTH))


def print_in_full(out: Console, table: Table, repeated: int = 1) -> None:
    """Print a table without cutting a cell.

    A terminal that is too narrow gets several tables that all begin with the `repeated` columns; a
    file or a pipe gets one table as wide as it takes.
    """
    if not out.is_terminal:
        out.width = max(out.width, _width(out, table))
    columns = [*range(repeated, len(table.columns))]
    while columns:
        count = len(columns)
        while count > 1 and _width(out, _part(table, repeated, columns[:count])) > out.width:
            count -= 1
        out.print(_part(table, repeated, columns[:count]))
        columns = columns[count:]


def _width(out: Console, table: Table) -> int:
    return out.measure(table, options=out.options.update(max_width=UNLIMITED)).maximum


def _part(table: Table, repeated: int, columns: Sequence[int]) -> Table:
    """Return the table's first columns and some of the others."""
    part = Table(title=table.title, title_justify="left")
    chosen = [table.columns[at] for at in (*range(repeated), *columns)]
    for column in chosen:
        part.add_column(
            column.header, justify=column.justify, no_wrap=column.no_wrap, overflow="fold"
        )
    cells = zip(*(column.cells for column in chosen), strict=True)
    for row, line in zip(table.rows, cells, strict=True):
        part.add_row(*line, end_section=row.end_section)
    return part


def note(line: object) -> None:
    print(line, file=sys.stderr, flush=True)


def note_timings(excluded: float = 0.0) -> None:
    """Say whether the printed timings are of uncompiled code, and the seconds they exclude."""
    from optsched.kernels import python_runs

    texts = ["include uncompiled code (`optsched warm-up` compiles it)"] if python_runs() else []
    if excluded >= 0.05:
        texts.append(f"exclude {excluded:.1f} s of compiling and loading code")
    if texts:
        note(f"timings {' and '.join(texts)}")


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
        ("excess", _percent(result.excess)),
        ("seconds", f"{result.build_time:.3f} build + {result.solve_time:.3f} solve"),
        ("checked", _verdict(result)),
    ]
    lines += [(key, f"{value:.4g}") for key, value in result.measures.items() if value is not None]
    lines += [(key, str(value)) for key, value in result.details.items()]
    reason = no_solution_reason(result)
    lines += [] if reason is None else [("why", reason)]
    for key, value in lines:
        out.print(f"{key:15} {escape(value)}", soft_wrap=True)


def scaling_line(instance: PlacementInstance) -> str:
    """Return the speed-up of a plan over one GPU, and its memory per GPU."""
    scaling, memory = instance.provenance["scaling"], instance.provenance["memory"]
    slower = f" ({SLOWER})" if scaling["speed_up"] < 1 else ""
    return (
        f"{instance.job.gpus} GPUs, speed-up {scaling['speed_up']:.2f}{slower}, efficiency "
        f"{100 * scaling['efficiency']:.0f}%, {1e-9 * memory['bytes_per_gpu']:.1f} GB per GPU"
    )


def table(groups: Iterator[list[Result]], *, quiet: bool) -> tuple[list[Result], bool]:
    """Print the gap table of results; return them and whether they were interrupted."""
    results: list[Result] = []
    interrupted = False
    out = console()
    progress = Console(stderr=True)
    with progress.status("comparing ...") as status:
        try:
            for group in groups:
                results.extend(group)
                if group:
                    status.update(
                        f"{len(results)} results, the last of {escape(group[0].instance)}"
                    )
        except KeyboardInterrupt:
            interrupted = True
    if results and not quiet:
        print_in_full(out, _gap_table(results), repeated=2)
        _summary(out, results)
    return results, interrupted


def write_csv(path: str, rows: list[dict[str, Any]]) -> None:
    """Write result rows as CSV, without traces and details."""
    skipped = {"trace", "details", "check", "options"}
    columns = [key for key in (rows[0] if rows else {}) if key not in skipped]
    checks = [None if row["check"] is None else row["check"]["feasible"] for row in rows]
    cells = ([*(row[c] for c in columns), check] for row, check in zip(rows, checks, strict=True))
    write_text(path, csv_text([*columns, "feasible"], cells))


def report(report: CheckReport, problem: Problem) -> None:
    out = console()
    out.print("feasible" if report.feasible else "NOT feasible")
    if report.objective is not None:
        out.print(f"{problem.objective} {_value(report.objective, problem)}")
    for violation in report.violations:
        out.print(escape(str(violation)))


def breakdown(breakdown: Any) -> None:
    title, headings, rows, closing = breakdown.table()
    out = console()
    print_in_full(out, titled(title, headings, rows, getattr(breakdown, "right", ())))
    out.print(escape(closing))


def gap_tables(tables: Sequence[FamilyTable]) -> None:
    """Print a table and the paired counts for each family of a store."""
    out = console()
    for table in tables:
        print_in_full(out, titled(title(table), headings(table), body(table), headings(table)[1:]))
        for pair in table.pairings:
            words = f"{pair.wins} wins, {pair.ties} ties, {pair.losses} losses"
            out.print(escape(f"{pair.first} against {pair.second}: {words}"))
        out.print()
    out.print(
        "excess: over the best proven bound, with a bootstrap interval of the mean over instances; "
        f"time ratio: median of time / time of {REFERENCE}"
    )


def methods(rows: list[dict[str, Any]]) -> None:
    keys = ("problem", "method", "kind", "model", "default", "summary")
    headings = ("problem", "method", "kind", "Pyomo model", "in compare", "summary")
    texts = {True: "yes", False: ""}
    cells = [[texts.get(row[key], row[key]) for key in keys] for row in rows]
    table = titled("", headings, cells, ())
    table.columns[-1].no_wrap = False
    console().print(table)


def titled(
    title: str,
    headings: Iterable[str],
    rows: Iterable[Iterable[str]],
    right_aligned: Collection[str],
) -> Table:
    table = Table(title=escape(title) or None, title_justify="left")
    for heading in headings:
        table.add_column(
            heading, justify="right" if heading in right_aligned else "left", no_wrap=True
        )
    for row in rows:
        table.add_row(*map(escape, row))
    return table


EXCESS = "excess %\nover best bound"
OPTIONAL = ("speed-up", "waiting", "allocated %")
"""Columns of some problems only."""
LEFT_ALIGNED = ("instance", "method", "status", "checked")


def _gap_table(results: list[Result]) -> Table:
    rows = [_cells(r) for r in results]
    headings = [h for h in rows[0] if h not in OPTIONAL or any(row[h] != "-" for row in rows)]
    units = {PROBLEMS[r.problem].unit for r in results}
    titles = {"objective": f"objective ({units.pop()})"} if len(units) == 1 else {}
    table = Table()
    for heading in headings:
        justify: Any = "left" if heading in LEFT_ALIGNED else "right"
        table.add_column(titles.get(heading, heading), justify=justify, no_wrap=True)
    previous = None
    for r, cells in zip(results, rows, strict=True):
        key = (r.instance, r.instance_sha256)
        if key == previous:
            cells["instance"] = ""
        elif previous is not None:
            table.add_section()
        table.add_row(*(cells[heading] for heading in headings))
        previous = key
    return table


def _cells(r: Result) -> dict[str, str]:
    """Return a row's cells by heading, in the order of the columns."""
    problem = PROBLEMS[r.problem]
    speed_up, waiting = r.measures.get("speed_up"), r.measures.get("jobs_waiting")
    allocated = r.measures.get("allocated")
    return {
        "instance": escape(r.instance),
        "method": escape(_method(r)),
        "objective": _number(r.objective, problem),
        "best bound": _number(r.bound, problem),
        EXCESS: _excess(r),
        "speed-up": "-" if speed_up is None else f"{speed_up:.2f}{' < 1' if speed_up < 1 else ''}",
        "waiting": "-" if waiting is None else f"{waiting:.0f}",
        "allocated %": "-" if allocated is None else f"{100 * allocated:.1f}",
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
    return f"{max(100 * r.excess, 0.0):.2f}" + (f" ({NOT_COMPARABLE})" if r.relaxed else "")


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
            bound = f"its own bound (relaxes: {relaxed[method]}; not comparable)"
        out.print(
            f"{method}: excess over {bound} {mean:.2f}% mean, "
            f"{max(values):.2f}% largest, over {counted(len(values), 'instance')}"
        )
    for line in _without_solution(results):
        out.print(line)
    slow = [r for r in results if (r.measures.get("speed_up") or 1.0) < 1]
    idle = [r for r in results if _mostly_waiting(r)]
    for flagged, message in ((slow, SLOWER), (idle, WAITING)):
        methods: dict[str, list[str]] = {}
        for r in flagged:
            methods.setdefault(r.instance, []).append(r.method)
        named = "; ".join(f"{name} ({', '.join(by)})" for name, by in methods.items())
        if flagged:
            out.print(escape(f"{message}: {named}"))


def _without_solution(results: list[Result]) -> list[str]:
    """Return a line for each method with runs that ended without a solution."""
    ended: dict[str, Counter[str]] = {}
    for r in results:
        if r.solution is None and not r.only_bound and "refused" not in r.details:
            ended.setdefault(r.method, Counter())[r.termination.value] += 1
    return [
        f"{method}: without a solution on {counted(counts.total(), 'instance')} "
        f"({', '.join(f'{number} {status}' for status, number in sorted(counts.items()))})"
        for method, counts in ended.items()
    ]


WAITING = "most of the excess is the waiting cost of equation (20), not tardiness or energy"


def _mostly_waiting(r: Result) -> bool:
    """Whether the waiting cost exceeds half of (objective - bound)."""
    waiting = r.measures.get("waiting_cost") or 0.0
    return (
        r.objective is not None and r.bound is not None and 2 * waiting > r.objective - r.bound > 0
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


def prediction_line(report: PredictionReport, fits: int) -> None:
    console().print(
        f"predictor {report.name}: mean absolute error {report.mean_absolute_error:.4g} "
        f"iterations, {100 * report.within_tenth:.1f}% within 10%, "
        f"{100 * report.exact:.1f}% exact, {100 * report.unseen:.1f}% unseen; "
        f"{report.training_jobs} training jobs, {fits} fits in "
        f"{report.fit_time:.2f} s",
        markup=False,
    )


def workload_runs(runs: Sequence[OnlineRun]) -> None:
    """Print the runs of `simulate` side by side, then a summary."""
    if not runs:
        return
    table = _policy_table(
        "offer", "hold", "mean flow s", "p95 s", "slowdown", "inflation", "fragm. %", "util. %",
        "makespan s", "excess %", "audit", "engine s",
    )  # fmt: skip
    for run in runs:
        m, options = run.metrics, run.records.options
        table.add_row(
            run.records.policy if run.records.complete else f"{run.records.policy} (interrupted)",
            options.offer or "",
            options.hold or "",
            f"{m.mean_flow_time:.1f}",
            f"{m.flow_percentiles.get('95', 0.0):.1f}",
            f"{m.mean_slowdown:.3f}",
            f"{m.inflation:.3f}",
            f"{100 * m.fragmentation:.1f}",
            f"{100 * m.utilisation:.1f}",
            f"{m.makespan:.0f}",
            _run_excess(run.excess) if run.comparable else NOT_COMPARABLE,
            _audit_verdict(run.check),
            f"{run.seconds:.3f}",
        )
    bounds = {}
    for run in runs:
        if run.bound is not None:
            suffix = ", preemptive" if run.records.preemptions else ""
            bounds[f"flow-bound{suffix}"] = run.bound / max(len(run.jobs), 1)
    for name, mean in sorted(bounds.items()):
        table.add_row(name, "", "", f"{mean:.1f}", *[""] * 7, ONLY_A_BOUND, "")
    out = console()
    print_in_full(out, table)
    _footer(out, runs)


def rolling_runs(runs: Sequence[RollingRun]) -> None:
    """Print the runs of `roll` side by side, then the load."""
    table = _policy_table(
        "total $", "energy $", "tardiness $", "late", "excess %", "busy %", "decision s",
        "longest ms", "audit",
    )  # fmt: skip
    for run in runs:
        m = run.metrics
        table.add_row(
            run.records.policy,
            f"{m.total_cost:.2f}",
            f"{m.energy_cost:.2f}",
            f"{m.tardiness_cost:.2f}",
            f"{m.late_jobs} of {len(run.records.jobs)}",
            _run_excess(run.excess),
            " ".join(f"{kind} {100 * share:.0f}" for kind, share in m.utilisation.items()),
            f"{m.decision_time:.2f}",
            f"{1e3 * m.longest_decision:.1f}",
            _audit_verdict(run.check),
        )
    if runs[0].bound is not None:
        table.add_row("clairvoyant-bound", f"{runs[0].bound:.2f}", *[""] * 7, ONLY_A_BOUND)
    out = console()
    print_in_full(out, table)
    out.print(load_line(runs[0].load, runs[0].clairvoyant_utilisation), markup=False)
    for run in runs:
        if run.message is not None:
            out.print(f"{run.records.policy}: {run.message}", markup=False)
    _violations(out, runs)


def load_line(load: float, plan: dict[str, float]) -> str:
    """Return both measures of a rolling instance's load."""
    shares = ", ".join(f"{kind} {100 * share:.3g}%" for kind, share in plan.items())
    return f"load {load:.3g}; utilisation of the clairvoyant plan: {shares}"


def _policy_table(*headings: str) -> Table:
    return titled("", ["policy", *headings], (), headings)


def _run_excess(excess: float | None) -> str:
    return "-" if excess is None else f"{100 * excess:.2f}"


def _audit_verdict(check: CheckReport | None) -> str:
    if check is None:
        return "-"
    return "passed" if check.feasible else f"{len(check.violations)} violations"


def _violations(out: Console, runs: Sequence[OnlineRun | RollingRun]) -> None:
    for run in runs:
        for violation in () if run.check is None else run.check.violations[:5]:
            out.print(f"{run.records.policy}: {violation}", markup=False)


def _footer(out: Console, runs: Sequence[OnlineRun]) -> None:
    from optsched.online.runs import preemption_details

    first = runs[0]
    load = "-" if first.jobs.load is None else f"{first.jobs.load:.3f}"
    options = first.records.options
    out.print(
        f"{first.metrics.jobs} jobs on {first.jobs.cluster.describe(' x ')}, load {load}; "
        f"tau {options.tau:g}, comm_heavy {options.comm_heavy:g}, slot {options.slot:g} s "
        f"(timings exclude {first.compile_time:.2f} s of compiling and loading code)",
        markup=False,
    )
    for run in runs:
        if counts := preemption_details(run.records):
            options = run.records.options
            rounds = "" if options.round is None else f", rounds of {options.round:g} s"
            stops = counted(int(counts["preemptions"]), "preemption")
            out.print(
                f"{run.records.policy}: {stops}{rounds}; {options.restore:g} s per resume, "
                f"{counts['restoring'] / 3600:.1f} GPU-hours in total",
                markup=False,
            )
    bounds = next((run.bounds for run in runs if run.bounds is not None), None)
    if bounds is not None:
        jobs = max(len(first.jobs), 1)
        out.print(
            f"bounds on the mean flow (s): durations {bounds.durations / jobs:.1f}, fast machine "
            f"{bounds.fast_machine / jobs:.1f}, mean busy time {bounds.mean_busy_time / jobs:.1f}, "
            f"capacity dual {bounds.capacity_dual / jobs:.1f}; excess: over the best valid bound",
            markup=False,
        )
    theorem = next((run.theorem for run in runs if run.theorem is not None), None)
    if theorem is not None:
        out.print(theorem.sentence, markup=False, soft_wrap=True)
        for at, (left, right) in enumerate(theorem.lemmas, 1):
            out.print(f"Lemma {at}: {left:.4g} <= {right:.4g} s", markup=False)
    _violations(out, runs)
