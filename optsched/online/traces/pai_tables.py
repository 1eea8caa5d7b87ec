"""Alibaba PAI 2020 as published: tables of jobs, tasks, groups and instances, joined into jobs.

The published CSV files (cluster-trace-gpu-v2020) have no header; their headers lie beside them as
.header files. A table is recognised by its header, in the file or beside it, else by its width.

A job is submitted at its start_time. It asks for the sum over its tasks of inst_num x plan_gpu /
100; the instance table lists the same instances one by one. Its duration runs from the first to the
last moment of its instances, or of its tasks without that table, and excludes its waiting time.
Tasks and instances join on job_name, an instance's inst_id must be its job's; groups join on
inst_id, and without their table each job is a group.
"""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from optsched.errors import InputError
from optsched.io.numerals import parse_real
from optsched.io.reading import MAX_COLUMNS, lines_of
from optsched.online.traces.cells import split_cells
from optsched.online.traces.trace import MAX_ROWS, RejectedRow, TraceRow

TABLES = {
    "job": ("job_name", "inst_id", "user", "status", "start_time", "end_time"),
    "task": (
        *("job_name", "task_name", "inst_num", "status", "start_time", "end_time"),
        *("plan_cpu", "plan_mem", "plan_gpu", "gpu_type"),
    ),
    "group": ("inst_id", "user", "gpu_type_spec", "group", "workload"),
    "instance": (
        *("job_name", "task_name", "inst_name", "worker_name", "inst_id", "status"),
        *("start_time", "end_time", "machine"),
    ),
}
"""Columns by table, as published; plan_gpu is that of one instance, in percent of a GPU."""
OTHER_TABLES = ("sensor_table", "machine_spec", "machine_metric")
"""Parts of the names of published tables without jobs."""
NUMBERS = ("inst_num", "start_time", "end_time", "plan_cpu", "plan_mem", "plan_gpu")
SUMMARY = ("job_id", "num_gpu", "duration", "submit_time")
"""Columns of the simulator's job CSV, which is no raw table."""
PERCENT_PER_GPU = 100.0
"""plan_gpu of a whole GPU."""
DECIMALS = 9
"""Decimals that a sum of shares is rounded to, so that ten tenths are one."""


@dataclass(frozen=True)
class Table:
    """A file that is one of the tables; `has_header` says whether its first line names columns."""

    path: Path
    kind: str
    columns: tuple[str, ...]
    has_header: bool

    def rows(self) -> Iterator[tuple[int, dict[str, str] | None]]:
        """Line numbers and rows by column; None for a row of another width."""
        for line, text in lines_of(self.path, errors="replace"):
            if (line == 1 and self.has_header) or not text.strip():
                continue
            cells = split_cells(text)
            complete = len(cells) == len(self.columns)
            yield line, dict(zip(self.columns, cells, strict=True)) if complete else None


def table_of_pai(path: str | Path) -> Table | None:
    path = Path(path)
    text = _first_line(path)
    if "\0" in text:
        expected = "an unpacked CSV table (run `tar -xzf` first)"
        raise InputError(str(path), "line 1", "binary data (an archive?)", expected)
    cells = split_cells(text)[:MAX_COLUMNS]
    header_file = path.parent / f"{path.name.partition('.')[0]}.header"
    if kind := _kind_of(cells):
        return Table(path, kind, tuple(cells), True)
    if header_file.is_file():
        header = split_cells(_first_line(header_file))[:MAX_COLUMNS]
        kind = _kind_of(header)
        return Table(path, kind, tuple(header), False) if kind else None
    if any(part in path.name for part in OTHER_TABLES):
        return None
    for kind, columns in TABLES.items():
        if len(cells) == len(columns) and _fits(kind, cells):
            return Table(path, kind, columns, False)
    return None


def _first_line(path: Path) -> str:
    return next(iter(lines_of(path, errors="replace")), (1, ""))[1].lstrip("\ufeff")


def _kind_of(header: Sequence[str]) -> str | None:
    """Return the table whose columns are all in the header; the one with most columns."""
    kinds = [kind for kind, columns in TABLES.items() if set(columns) <= set(header)]
    return max(kinds, key=lambda kind: len(TABLES[kind])) if kinds else None


def _fits(kind: str, cells: Sequence[str]) -> bool:
    """Return whether the first line has numbers in the numeric columns of the table.

    This excludes headers, and rows of machines, whose last three cells are capacities.
    """
    if kind == "group":
        return None in map(parse_real, cells[2:]) and not set(SUMMARY) <= set(cells)
    named = zip(TABLES[kind], cells, strict=True)
    return all(not cell or parse_real(cell) is not None for name, cell in named if name in NUMBERS)


def tables_in(paths: Sequence[str | Path]) -> list[Path]:
    """Expand folders to their CSV files."""
    files: list[Path] = []
    for path in map(Path, paths):
        if not os.path.isdir(path):
            files.append(path)
            continue
        try:
            names = sorted(os.listdir(path))
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(str(path), "", reason, "a readable folder") from None
        files += [path / name for name in names if name.endswith((".csv", ".csv.gz"))]
    return files


def read_pai_tables(paths: Sequence[str | Path], source: str) -> Iterator[TraceRow | RejectedRow]:
    """Join the tables, in any order of files, and yield the jobs and the rejected rows."""
    tables: dict[str, Table] = {}
    for path in tables_in(paths):
        table = table_of_pai(path)
        if table is None:
            continue
        if table.kind in tables:
            expected = f"one: {tables[table.kind].path} is another"
            raise InputError(str(path), "", f"a second {table.kind} table", expected)
        tables[table.kind] = table
    for kind in ("job", "task"):
        if kind not in tables:
            present = ", ".join(tables) or "none of PAI's tables"
            columns = ", ".join(TABLES[kind])
            raise InputError(source, "", present, f"also a {kind} table with columns {columns}")
    yield from _joined(tables)


@dataclass
class _Job:
    line: int
    inst_id: str
    user: str
    submit: float | None
    group: str = ""
    gpus: float = 0.0
    """Of its tasks; NaN if a task's are unreadable."""
    tasks: set[str] = field(default_factory=set)
    spans: dict[str, tuple[float, float]] = field(default_factory=dict)
    """First and last moment of its tasks, and of its instances; infinite while one runs on."""

    def widen(self, table: str, row: Mapping[str, str]) -> None:
        start, end = parse_real(row["start_time"]), parse_real(row["end_time"])
        if start is None:
            return  # it never ran
        first, last = self.spans.get(table, (start, start))
        if end is None or end < start:
            end = math.inf
        self.spans[table] = min(first, start), max(last, end)

    def span(self) -> tuple[float | None, float | None]:
        """Start and duration; None if the job never started or a part of it did not end."""
        span = self.spans.get("instance", self.spans.get("task"))
        if span is None or span[1] == math.inf:
            return None, None
        return span[0], span[1] - span[0]


def _joined(tables: Mapping[str, Table]) -> Iterator[TraceRow | RejectedRow]:
    """Yield the rows that cannot be joined, then the jobs in the order of their table."""
    jobs: dict[str, _Job] = {}
    by_inst_id: dict[str, list[_Job]] = {}

    def add_job(line: int, row: Mapping[str, str]) -> str:
        name = row["job_name"]
        if not name:
            return "no job_name"
        if name in jobs:
            return "duplicate job"
        job = jobs[name] = _Job(line, row["inst_id"], row["user"], parse_real(row["start_time"]))
        by_inst_id.setdefault(job.inst_id, []).append(job)
        return ""

    def add_task(line: int, row: Mapping[str, str]) -> str:
        job = jobs.get(row["job_name"])
        if job is None:
            return "unknown job"
        if row["task_name"] in job.tasks:
            return "duplicate task"
        job.tasks.add(row["task_name"])
        share = parse_real(row["plan_gpu"]) if row["plan_gpu"] else 0.0
        instances = parse_real(row["inst_num"]) if row["inst_num"] else 1.0
        job.widen("task", row)
        if share is None or share < 0 or instances is None or instances < 1:
            job.gpus = math.nan
            return "no number of GPUs"
        job.gpus += instances * share / PERCENT_PER_GPU
        return ""

    def add_group(line: int, row: Mapping[str, str]) -> str:
        for job in by_inst_id.get(row["inst_id"], []):
            job.group = job.group or row["group"]
        return "" if row["inst_id"] in by_inst_id else "unknown job"

    def add_instance(line: int, row: Mapping[str, str]) -> str:
        job = jobs.get(row["job_name"])
        if job is None or row["inst_id"] != job.inst_id:
            return "unknown job"
        job.widen("instance", row)
        return ""

    add = {"job": add_job, "task": add_task, "group": add_group, "instance": add_instance}
    count = 0
    for kind in (kind for kind in add if kind in tables):
        for line, row in tables[kind].rows():
            count += 1
            if count > MAX_ROWS:
                source = str(tables[kind].path)
                raise InputError(source, f"line {line}", "more rows", f"at most {MAX_ROWS}")
            reason = "wrong number of columns" if row is None else add[kind](line, row)
            if reason:
                yield RejectedRow(line, f"{kind} table: {reason}")
    for name, job in jobs.items():
        is_known = job.tasks and not math.isnan(job.gpus)
        gpus = round(job.gpus, DECIMALS) if is_known else None
        group = job.group or f"job {name}"
        start, duration = job.span()
        yield TraceRow(job.line, name, job.submit, duration, gpus, job.user, group, start=start)
