"""CSV files of published traces, Slurm and users, Gavel's .trace and SWF.

The importers of CSV files differ in the unit of their times and in the columns that name a group,
as `LAYOUTS` states. A job's duration is checked where a file states it twice: Muri's rows have
iterations x iteration_time = duration, all in milliseconds.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from optsched.errors import InputError
from optsched.files import read_document
from optsched.io.reading import lines_of
from optsched.online.traces.cells import (
    COLUMNS,
    MISSING,
    SubmissionParser,
    UnreadableError,
    duration_of,
    gpus_of,
    number_of,
    open_table,
    readable_rows,
)
from optsched.online.traces.trace import RejectedRow, TraceRow

Cells = Mapping[str, str]
Rows = Iterator[TraceRow | RejectedRow]

MIN_MILLISECONDS = 10.0
"""An iteration_time from here on is in milliseconds, a smaller one in seconds: the iterations of
Muri's traces take 107 to 1,000 ms, and few models take 10 s or more."""
ROUNDING = 0.01
"""Relative difference that Muri's rounding leaves between duration and iterations x
iteration_time, beside one iteration."""


@dataclass(frozen=True)
class Layout:
    """A CSV format: roles it needs (of `COLUMNS`), `marks` of its own files, group, user, unit."""

    required: tuple[str, ...]
    group: Callable[[Cells], str]
    user: str = "user"
    unit: float = 1.0
    marks: tuple[str, ...] = ()


def _group_of_row(row: Cells) -> str:
    """The group or the account that a row names, else the user's jobs of one name and size."""
    recurring = f"{row['user']}/{row['name'] or row['model']}/{row['gpus']}"
    return row["group"] or row["account"] or recurring


_BASIC_ROLES = ("job", "gpus", "duration", "submit")
LAYOUTS = {
    # Slurm's accounting: `sacct --parsable2`, allocations and steps.
    "sacct": Layout(("submit", "gpus", "end"), _group_of_row, marks=("duration", "account")),
    # The job CSV of the cluster-trace-gpu-v2020 simulator; its raw tables: `pai_tables`.
    "pai": Layout(
        _BASIC_ROLES,
        lambda row: row["group"] or f"job {row['job']}",
        marks=("user", "group", "wait"),
    ),
    # The virtual cluster is used as the user: the file has neither users nor groups.
    "philly-csv": Layout(
        ("submit", "duration", "gpus"),
        lambda row: f"{row['cluster']}/{row['gpus']}",
        user="cluster",
        marks=("cluster",),
    ),
    # SenseTime's Helios and Shanghai AI Lab's Acme; a duration may be end_time - start_time.
    "helios": Layout(
        ("job", "gpus", "submit"),
        lambda row: f"{row['user']}/{row['name'] or row['gpus']}",
        marks=("user", "cluster", "name", "start", "end"),
    ),
    "muri": Layout(
        (*_BASIC_ROLES, "iterations", "iteration_time"),
        lambda row: f"{row['model']}/{row['batch_size']}/{row['gpus']}",
        user="",
        unit=1e-3,
        marks=("batch_size",),
    ),
    # Also Tiresias and ElasticFlow. The user is the virtual cluster.
    "chronus": Layout(
        _BASIC_ROLES,
        lambda row: f"{row['user']}/{row['model']}/{row['gpus']}",
        marks=("model", "iterations"),
    ),
    # Any table, with the columns that `--map` names.
    "csv": Layout(("submit", "gpus"), _group_of_row),
}


def read_csv(
    name: str,
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    time_format: str | None = None,
) -> Rows:
    """Stream the jobs of a CSV file in one of the `LAYOUTS`.

    GPUs: where a file has a column num_inst, num_gpu is that of one instance, and a job takes
    num_gpu x num_inst; PAI's layout with num_pod states the job's total. A walltime or a time
    limit is the user's estimate of the duration. A job's real start is its start or its submission
    and its wait. `columns` names the columns of some roles, `time_format` the format of dates.
    """
    layout, table = LAYOUTS[name], open_table(path, columns)
    _require_columns(name, table.source, table.positions)
    submissions = SubmissionParser(table.source, layout.unit, time_format)

    def parse(line: int, row: list[str]) -> TraceRow:
        cells = table.by_role(row)
        if name == "sacct" and "." in cells["job"]:
            raise UnreadableError("job step", cells["job"])
        if name == "sacct" and cells["end"].lower() in MISSING:
            raise UnreadableError("not ended", cells["job"])
        submit = submissions.seconds(line, cells["submit"])
        start, end = (
            _or_nan(partial(submissions.seconds, line, cells[role])) for role in ("start", "end")
        )
        duration = duration_of(cells["duration"])
        if duration is None and start is not None and end is not None:
            duration = (end - start) / layout.unit
        _check_unit(name, table.source, line, cells, duration)
        gpus, instances = gpus_of(cells["gpus"]), number_of(cells["instances"], "num_inst")
        if gpus is not None and instances is not None:
            if instances < 1:
                raise UnreadableError("num_inst below 1", cells["instances"])
            gpus = round(gpus * instances, 9)
        wait = _estimate(cells["wait"], layout.unit)
        if start is None and wait is not None and submit is not None:
            start = submit + wait
        return TraceRow(
            line,
            cells["job"] or f"p{line}",
            submit,
            None if duration is None else duration * layout.unit,
            gpus,
            cells[layout.user] if layout.user else "",
            layout.group(cells),
            _estimate(cells["walltime"], layout.unit) or None,
            _or_nan(partial(_due_date, line, cells, submit, submissions)),
            start,
        )

    yield from readable_rows(table.rows, parse)


def _or_nan(read: Callable[[], float | None]) -> float | None:
    """Return a value that a row can do without, NaN if it cannot be read."""
    try:
        return read()
    except (InputError, UnreadableError):
        return float("nan")


def _require_columns(name: str, source: str, positions: Mapping[str, int]) -> None:
    for role in _missing(name, positions):
        expected = f"a column {' or '.join(COLUMNS[role][:4])}"
        if name == "csv":
            expected += f", or --map {role}=COLUMN"
        elif fitting := [other for other in LAYOUTS if not _missing(other, positions)]:
            best = max(fitting, key=lambda other: own_columns(other, positions))
            expected += f"; `optsched import {best}` reads this header"
        raise InputError(source, "line 1", f"no column for {role}", expected)


def _missing(name: str, positions: Collection[str]) -> list[str]:
    """Required roles without a column; start and end stand in for a duration."""
    timed = name != "muri" and {"start", "end"} <= set(positions)
    required = dict.fromkeys((*LAYOUTS[name].required, "duration"))
    return [r for r in required if r not in positions and not (timed and r == "duration")]


def own_columns(name: str, roles: Collection[str]) -> int:
    """Number of columns that tell a format's own files from others; 0 if one of them is missing."""
    marks = set(LAYOUTS[name].marks)
    return len(marks | set(LAYOUTS[name].required)) if marks and marks <= set(roles) else 0


def _check_unit(name: str, source: str, line: int, cells: Cells, duration: float | None) -> None:
    """Check iterations x iteration_time = duration, and the unit that iteration_time shows."""
    if duration is None or not cells["iteration_time"]:
        return
    iterations = number_of(cells["iterations"], "iterations")
    iteration_time = number_of(cells["iteration_time"], "iteration_time")
    if iterations is None or iteration_time is None:
        return
    error = abs(iterations * iteration_time - duration)
    agrees = error <= iteration_time + ROUNDING * duration
    milliseconds = iteration_time >= MIN_MILLISECONDS
    if name == "muri" and not agrees:
        text = f"{iterations:g} x {iteration_time:g}, not {duration:g}"
        raise UnreadableError("iterations x iteration_time is not the duration", text)
    if agrees and milliseconds != (name == "muri"):
        unit, fitting = ("milliseconds", "muri") if milliseconds else ("seconds", "chronus")
        found = f"iterations x iteration_time = {duration:g}, an iteration_time of "
        found += f"{iteration_time:g} {unit}"
        expected = f"times in {'seconds' if milliseconds else 'milliseconds'}"
        expected += f"; `optsched import {fitting}` reads {unit}"
        raise InputError(source, f"line {line}", found, expected)


def _estimate(text: str | None, unit: float = 1.0) -> float | None:
    """Return a walltime or a wait in seconds, None if negative; NaN if it cannot be read."""
    estimate = _or_nan(partial(duration_of, text))
    return None if estimate is None or estimate < 0 else estimate * unit


def _due_date(
    line: int, cells: Cells, submit: float | None, submissions: SubmissionParser
) -> float | None:
    """Return a row's due date, of Chronus's its first."""
    if cells["due"]:
        return submissions.seconds(line, cells["due"])
    allowed = duration_of(cells["expected_times"].partition("-")[0])
    best_effort = number_of(cells["best_effort"])
    return None if submit is None or allowed is None or best_effort else submit + allowed


GAVEL_FIELDS = {7: (4, 5, 6), 9: (4, 8, 5), 10: (5, 9, 6), 11: (5, 10, 6), 12: (5, 11, 6)}
"""By the number of fields: positions of steps, arrival and scale factor; the job type is first."""
SHOCKWAVE_FIELDS, SHOCKWAVE_DURATION = 12, 10
GAVEL_GPU = "v100"
"""GPU type whose throughputs give durations: the one that Gavel's generator drew its steps for."""


def read_gavel(path: str | Path, throughputs: str | Path | None = None) -> Rows:
    """Stream the jobs of Gavel's .trace, tab-separated, or of Shockwave's, with 12 fields.

    Gavel's rows state steps and no duration: the duration is steps / throughput of the job type and
    scale factor, running alone on V100s (formulations, 6.4). Shockwave's state it in seconds. There
    is no user; the group is (job type, GPUs).
    """
    source = str(path)
    submissions = SubmissionParser(source)
    speeds = None if throughputs is None else _throughputs(throughputs)

    def parse(line: int, text: str) -> TraceRow:
        fields = text.split("\t")
        if len(fields) not in GAVEL_FIELDS:
            raise UnreadableError("not 7, 9, 10, 11 or 12 fields", f"{len(fields)} fields")
        at_steps, at_arrival, at_scale = GAVEL_FIELDS[len(fields)]
        job_type, scale = fields[0], number_of(fields[at_scale], "number of GPUs")
        if len(fields) == SHOCKWAVE_FIELDS:
            duration = duration_of(fields[SHOCKWAVE_DURATION])
        elif speeds is None:
            expected = "`optsched import gavel --throughputs FILE`, with JSON of steps per second "
            expected += "by GPU type and job type"
            raise InputError(source, f"line {line}", "steps but no duration", expected)
        else:
            steps = number_of(fields[at_steps], "number of steps")
            key = f"({job_type!r}, {scale or 0:g})"
            if not speeds.get(key):
                raise UnreadableError(f"no throughput on {GAVEL_GPU}", key)
            duration = None if steps is None else steps / speeds[key]
        return TraceRow(
            line,
            f"g{line}",
            submissions.seconds(line, fields[at_arrival]),
            duration,
            scale,
            "",
            f"{job_type}/{fields[at_scale]}",
        )

    lines = ((n, text) for n, text in lines_of(path, errors="replace") if text.strip())
    yield from readable_rows(lines, parse)


def _throughputs(path: str | Path) -> dict[str, float]:
    """Steps a second of each "('job type', scale factor)" that runs alone on a `GAVEL_GPU`."""
    table = read_document(path).get(GAVEL_GPU)
    if not isinstance(table, dict):
        raise InputError(str(path), GAVEL_GPU, "no such key", "throughputs by GPU type")
    speeds = {}
    for key, partners in table.items():
        speed = partners.get("null") if isinstance(partners, dict) else None
        if isinstance(speed, bool) or not isinstance(speed, int | float) or speed < 0:
            expected = "steps a second of the job alone, under null"
            raise InputError(str(path), f"{GAVEL_GPU}.{key}", "no such number", expected)
        speeds[key] = float(speed)
    return speeds


SWF_FIELDS = 18


def read_swf(path: str | Path) -> Rows:
    """Stream the jobs of a file in the Standard Workload Format.

    18 numbers a line, comments after ';', -1 for unknown. Fields used (from 1): 1 job, 2 submission
    (s), 3 wait before the start (s), 4 run time (s), 5 processors allocated, else 8 requested; 9
    requested time (s), the user's estimate; 12 user, 14 executable. Processors are taken for GPUs.
    The group is (user, executable, GPUs).
    """
    submissions = SubmissionParser(str(path))

    def parse(line: int, fields: list[str]) -> TraceRow:
        if len(fields) != SWF_FIELDS:
            raise UnreadableError("not 18 fields", f"{len(fields)} fields")
        submit, wait = submissions.seconds(line, fields[1]), _estimate(fields[2])
        allocated, requested = gpus_of(fields[4]), gpus_of(fields[7])
        gpus = allocated if allocated is not None and allocated > 0 else requested
        return TraceRow(
            line,
            fields[0],
            submit,
            duration_of(fields[3]),
            None if gpus is not None and gpus < 0 else gpus,
            fields[11],
            f"{fields[11]}/{fields[13]}/{fields[4]}",
            _estimate(fields[8]) or None,
            start=None if submit is None or wait is None else submit + wait,
        )

    lines = ((n, text.split(";", 1)[0].split()) for n, text in lines_of(path, errors="replace"))
    yield from readable_rows(((n, fields) for n, fields in lines if fields), parse)
