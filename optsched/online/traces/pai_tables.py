"""Alibaba PAI 2020 as published: tables of jobs, tasks, groups and instances, joined into jobs.

The published CSV files (cluster-trace-gpu-v2020) have no header; their headers lie beside them as
.header files. A table is known by its header, in the file or beside it, else by its width:

- job: job_name, inst_id, user, status, start_time (its submission), end_time;
- task: job_name, task_name, inst_num, status, start_time, end_time, plan_cpu, plan_mem, plan_gpu
  (of one instance, in percent of a GPU), gpu_type;
- group tag: inst_id, user, gpu_type_spec, group, workload; may be left out: each job is a group;
- instance: job_name, task_name, inst_name, worker_name, inst_id, status, start_time, end_time,
  machine; may be left out.

A job asks for the sum over its tasks of inst_num x plan_gpu / 100; the instance table lists the
same instances one by one and multiplies nothing. It runs from the first to the last moment of its
instances, without that table of its tasks; what it waited before is no part of it. Tasks and
instances join on job_name, an instance's inst_id must be its job's; groups join on inst_id.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from optsched.errors import InputError
from optsched.io.numerals import real_of
from optsched.io.reading import lines_of
from optsched.online.traces.cells import split_cells
from optsched.online.traces.trace import MOST_ROWS, RejectedRow, TraceRow

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
"""Columns by table, as published."""
OTHER_TABLES = ("sensor_table", "machine_spec", "machine_metric")
"""Parts of names of published tables that say nothing of jobs."""
ENDINGS = (".csv", ".csv.gz")
NUMBERS = ("inst_num", "start_time", "end_time", "plan_cpu", "plan_mem", "plan_gpu")
SUMMARY = ("job_id", "num_gpu", "duration", "submit_time")
"""Columns of the job CSV that is no raw table."""
FULL = 100.0
"""plan_gpu of a whole GPU."""
PLACES = 9
"""Decimals that a sum of shares is rounded to, so that ten tenths are one."""


@dataclass(frozen=True)
class Table:
    """A file that is one of the tables: its columns, and whether its first line names them."""

    path: Path
    kind: str
    columns: tuple[str, ...]
    named: bool

    def rows(self) -> Iterator[tuple[int, dict[str, str] | None]]:
        """Line numbers and rows by column; None for one of another width."""
        for line, text in lines_of(self.path, errors="replace"):
            if (line == 1 and self.named) or not text.strip():
                continue
            values = split_cells(text)
            wide = len(values) == len(self.columns)
            yield line, dict(zip(self.columns, values, strict=True)) if wide else None


def table_of_pai(path: str | Path) -> Table | None:
    """The table that a file is, or None if it is none of them."""
    path = Path(path)
    text = next(iter(lines_of(path, errors="replace")), (1, ""))[1].lstrip("\ufeff")
    if "\0" in text:
        expected = "the table itself, as `tar -xzf` unpacks it"
        raise InputError(str(path), "line 1", "an archive, or no text", expected)
    first = split_cells(text)
    beside = path.parent / f"{path.name.partition('.')[0]}.header"
    named = _kind_of(first)
    if named:
        return Table(path, named, tuple(first), True)
    if beside.is_file():
        header = split_cells(next(iter(lines_of(beside, errors="replace")), (1, ""))[1])
        named = _kind_of(header)
        return Table(path, named, tuple(header), False) if named else None
    if any(part in path.name for part in OTHER_TABLES):
        return None
    for kind, columns in TABLES.items():
        if len(first) == len(columns) and _may_be(kind, first):
            return Table(path, kind, columns, False)
    return None


def tables_in(paths: Sequence[str | Path]) -> list[Path]:
    """Files, in place of a folder those in it that may be tables."""
    found: list[Path] = []
    for path in map(Path, paths):
        if not os.path.isdir(path):  # a name too long is no folder
            found.append(path)
            continue
        try:
            inside = sorted(os.listdir(path))
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(str(path), "", reason, "a readable folder") from None
        found += [path / name for name in inside if name.endswith(ENDINGS)]
    return found


def read_pai_tables(paths: Sequence[str | Path], source: str) -> Iterator[TraceRow | RejectedRow]:
    """Join the tables, whichever file holds which; rows of no use are rejected by reason."""
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
            there = ", ".join(tables) or "none of PAI's tables"
            columns = ", ".join(TABLES[kind])
            raise InputError(source, "", there, f"a {kind} table, too: {columns}")
    yield from _Join().rows(tables)


@dataclass
class _Asked:
    """What is known of a job."""

    line: int
    inst_id: str
    user: str
    submit: float | None
    group: str
    gpus: float | None = None
    faulty: bool = False
    tasks: set[str] = field(default_factory=set)
    spans: dict[str, tuple[float, float]] = field(default_factory=dict)
    """First and last moment of its tasks, and of its instances; infinite while one goes on."""

    def lasts(self, kind: str, row: dict[str, str]) -> None:
        """Widen a span by a row's start_time and end_time."""
        start, end = real_of(row["start_time"]), real_of(row["end_time"])
        if start is None:
            return  # it never ran
        began, ended = self.spans.get(kind, (start, start))
        if end is None or end < start:
            end = float("inf")
        self.spans[kind] = min(began, start), max(ended, end)

    def duration(self) -> float | None:
        """Seconds; None if it never started or something of it did not end."""
        span = self.spans.get("instance", self.spans.get("task"))
        return None if span is None or span[1] == float("inf") else span[1] - span[0]


@dataclass
class _Join:
    jobs: dict[str, _Asked] = field(default_factory=dict)
    named: dict[str, list[_Asked]] = field(default_factory=dict)
    count: int = 0

    def rows(self, tables: dict[str, Table]) -> Iterator[TraceRow | RejectedRow]:
        """What cannot be joined, then the jobs in the order of their table."""
        take = {
            "job": self._job,
            "task": self._task,
            "group": self._group,
            "instance": self._instance,
        }
        for kind in (kind for kind in take if kind in tables):
            for line, row in tables[kind].rows():
                self.count += 1
                if self.count > MOST_ROWS:
                    source = str(tables[kind].path)
                    raise InputError(source, f"line {line}", "more rows", f"at most {MOST_ROWS}")
                reason = "another number of columns" if row is None else take[kind](line, row)
                if reason:
                    yield RejectedRow(line, f"{kind} table: {reason}")
        for name, job in self.jobs.items():
            gpus = None if job.faulty or job.gpus is None else round(job.gpus, PLACES)
            group = job.group or f"job {name}"
            yield TraceRow(job.line, name, job.submit, job.duration(), gpus, job.user, group)

    def _job(self, line: int, row: dict[str, str]) -> str:
        name = row["job_name"]
        if not name:
            return "no job_name"
        if name in self.jobs:
            return "a job again"
        submit = real_of(row["start_time"])
        job = _Asked(line, row["inst_id"], row["user"], submit, "")
        self.jobs[name] = job
        self.named.setdefault(job.inst_id, []).append(job)
        return ""

    def _task(self, line: int, row: dict[str, str]) -> str:
        job = self.jobs.get(row["job_name"])
        if job is None:
            return "of no job"
        if row["task_name"] in job.tasks:
            return "a task again"
        job.tasks.add(row["task_name"])
        share = real_of(row["plan_gpu"]) if row["plan_gpu"] else 0.0
        instances = real_of(row["inst_num"]) if row["inst_num"] else 1.0
        job.lasts("task", row)
        if share is None or share < 0 or instances is None or instances < 1:
            job.faulty = True
            return "no number of GPUs"
        job.gpus = (job.gpus or 0.0) + instances * share / FULL
        return ""

    def _group(self, line: int, row: dict[str, str]) -> str:
        for job in self.named.get(row["inst_id"], []):
            job.group = job.group or row["group"]
        return "" if row["inst_id"] in self.named else "of no job"

    def _instance(self, line: int, row: dict[str, str]) -> str:
        job = self.jobs.get(row["job_name"])
        if job is None or row["inst_id"] != job.inst_id:
            return "of no job"
        job.lasts("instance", row)
        return ""


def _kind_of(header: Sequence[str]) -> str | None:
    """The table whose columns are all there; the most telling one."""
    kinds = [kind for kind, columns in TABLES.items() if set(columns) <= set(header)]
    return max(kinds, key=lambda kind: len(TABLES[kind])) if kinds else None


def _may_be(kind: str, first: Sequence[str]) -> bool:
    """Whether a first line of the right width has numbers where the table has them.

    Neither a header of other columns has, nor a line of machines, whose last three are capacities.
    """
    if kind == "group":
        return None in map(real_of, first[2:]) and not set(SUMMARY) <= set(first)
    cells = zip(TABLES[kind], first, strict=True)
    return all(not cell or real_of(cell) is not None for name, cell in cells if name in NUMBERS)
