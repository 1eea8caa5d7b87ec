"""Rows that importers yield, the rules that all of them share, and the resulting trace.

Rules for every format, all counted in the report: a row that cannot be read is dropped, with its
line and the text that cannot be read; a missing or negative submission is dropped; a missing, zero
or negative duration is dropped; 0 GPUs (CPU jobs) are dropped; fractional GPUs are rounded up,
since jobs here do not share a GPU; unsorted rows are sorted by (submission, row); a start before
the submission is left out. Implausible times (usually a wrong unit) raise InputError.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.arrays import Floats, Ints
from optsched.errors import InputError, shown
from optsched.online.data.workload import Labels, optional_numbers

MAX_ROWS = 20_000_000
MAX_GPUS = 2**15
MAX_TIME = 1e11
"""Latest submission and longest duration, seconds; a later one is not in seconds."""
DAY = 86400.0
MAX_SPAN = 15 * 365 * DAY
"""Longest time between first and last submission: published logs last from days to six years."""
MEDIAN_DURATION = (1.0, 30 * DAY)
"""Plausible medians of the durations: those of published traces lie between 60 s and 4 h."""


@dataclass(frozen=True)
class TraceRow:
    """One job of a trace; None where the trace has no value.

    Times are seconds, `submit`, `due` and the real `start` from the time origin of the trace; GPUs
    may be fractional. A `group` is a recurring job, `walltime` the user's estimate of the duration;
    it, `due` and `start` are NaN if they cannot be read. The report counts `remark`, if any.
    """

    line: int
    job_id: str
    submit: float | None
    duration: float | None
    gpus: float | None
    user: str = ""
    group: str = ""
    walltime: float | None = None
    due: float | None = None
    start: float | None = None
    remark: str = ""


@dataclass(frozen=True)
class RejectedRow:
    """A row that cannot be read, and the text that cannot be read in it."""

    line: int
    reason: str
    text: str = ""


@dataclass
class ImportReport:
    """Counts of dropped and changed rows by reason, with the first line and text of each."""

    rows: int = 0
    kept: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)
    first_line: dict[str, int] = field(default_factory=dict)
    first_text: dict[str, str] = field(default_factory=dict)

    def drop(self, row: RejectedRow) -> None:
        self._count(self.dropped, row)

    def change(self, reason: str, line: int) -> None:
        self._count(self.changed, RejectedRow(line, reason))

    def _count(self, counts: dict[str, int], row: RejectedRow) -> None:
        counts[row.reason] = counts.get(row.reason, 0) + 1
        if row.reason not in self.first_line:
            self.first_line[row.reason] = row.line
            if row.text:
                self.first_text[row.reason] = shown(row.text)

    def reasons(self, counts: dict[str, int]) -> list[str]:
        """Count, reason, first line and first text of each kind."""
        lines = []
        for reason, count in sorted(counts.items()):
            text = f": {self.first_text[reason]}" if reason in self.first_text else ""
            lines.append(f"{count}: {reason} (first at line {self.first_line[reason]}{text})")
        return lines

    def lines(self) -> list[str]:
        dropped = [f"dropped {reason}" for reason in self.reasons(self.dropped)]
        changed = [f"changed {reason}" for reason in self.reasons(self.changed)]
        return [f"{self.rows} rows, {self.kept} kept", *dropped, *changed]


@dataclass(frozen=True)
class Trace:
    """The jobs of a trace, sorted by (submission, row); the first is submitted at 0.

    `walltime`, `due` and `start`, seconds, are NaN for a job without one, and None if no job has
    one. `start` is when a job really started.
    """

    name: str
    job_id: NDArray[np.object_]
    submit: Floats
    duration: Floats
    gpus: Ints
    user: Labels
    group: Labels
    report: ImportReport
    walltime: Floats | None = None
    due: Floats | None = None
    start: Floats | None = None

    def __len__(self) -> int:
        return len(self.submit)

    def take(self, rows: Ints) -> Trace:
        """Return some jobs, given in time order; the first of them is submitted at 0."""
        names = [field.name for field in fields(self) if field.name not in ("name", "report")]
        columns = {name: c[rows] for name in names if (c := getattr(self, name)) is not None}
        first = columns["submit"][0]
        times = ("submit", "due", "start")
        columns |= {name: columns[name] - first for name in times if name in columns}
        return replace(self, **columns)


def collect(rows: Iterable[TraceRow | RejectedRow], source: str) -> Trace:
    """Apply the rules to streamed rows. O(n log n) time, about 200 bytes per row."""
    report, last = ImportReport(), -math.inf
    jobs: list[TraceRow] = []
    for row in rows:
        report.rows += 1
        if report.rows > MAX_ROWS:
            raise InputError(source, "", "more rows", f"at most {MAX_ROWS}")
        rejected = row if isinstance(row, RejectedRow) else _rejection(row)
        if rejected is not None:
            report.drop(rejected)
            continue
        assert isinstance(row, TraceRow)
        assert row.submit is not None
        assert row.gpus is not None
        if row.gpus != math.floor(row.gpus):
            report.change("fractional GPUs rounded up", row.line)
        if row.submit < last:
            report.change("submitted before the row above; sorted", row.line)
        times = (("walltime", row.walltime), ("due date", row.due), ("start", row.start))
        for name, value in times:
            if value is not None and not value <= MAX_TIME:
                report.change(f"unreadable {name} left out", row.line)
        if row.start is not None and row.start < row.submit:
            report.change("start before the submission left out", row.line)
        if row.remark:
            report.change(row.remark, row.line)
        last = row.submit
        jobs.append(row)
    if not jobs:
        reasons = "; ".join(report.reasons(report.dropped))
        found = f"no usable job in {report.rows} rows" + (f" ({reasons})" if reasons else "")
        raise InputError(source, "", found, "at least one job")
    report.kept = len(jobs)
    return _trace(jobs, source, report)


def _rejection(row: TraceRow) -> RejectedRow | None:
    """Return why a row is dropped, or None."""
    submit, gpus, duration = row.submit, row.gpus, row.duration
    if submit is None or not 0 <= submit <= MAX_TIME:
        reason, value = "missing or negative submission time", submit
    elif gpus is None or not 0 <= gpus < math.inf:
        reason, value = "no number of GPUs", gpus
    elif gpus == 0:
        reason, value = "0 GPUs", None
    elif gpus > MAX_GPUS:
        reason, value = f"more than {MAX_GPUS} GPUs", gpus
    elif duration is None or not math.isfinite(duration):
        reason, value = "no duration", None
    elif not 0 < duration <= MAX_TIME:
        reason, value = "no positive duration", duration
    else:
        return None
    return RejectedRow(row.line, reason, "" if value is None else f"{value:g}")


def _require_plausible_times(jobs: list[TraceRow], submit: Any, duration: Any, source: str) -> None:
    """Raise InputError if times are in another unit or from different time origins."""
    span = submit[-1] - submit[0]
    if span > MAX_SPAN:
        lines = f"lines {jobs[0].line} and {jobs[-1].line}"
        found = f"submissions {span / DAY / 365:.0f} years apart ({lines})"
        raise InputError(source, "", found, "submissions from one time origin, in seconds")
    median = float(np.median(duration))
    if not MEDIAN_DURATION[0] <= median <= MEDIAN_DURATION[1]:
        unit, format_name = ("seconds", "chronus") if median < 1 else ("milliseconds", "muri")
        found = f"a median duration of {median:.3g} s"
        expected = f"a duration of jobs; `optsched import {format_name}` reads {unit}"
        raise InputError(source, "", found, expected)


def _trace(jobs: list[TraceRow], source: str, report: ImportReport) -> Trace:
    def column(name: str) -> Floats:
        return np.array([getattr(row, name) for row in jobs], dtype=np.float64)  # None: NaN

    jobs.sort(key=lambda row: row.submit or 0.0)  # stable: ties stay in row order
    submit, duration, start = column("submit"), column("duration"), column("start")
    start[start < submit] = np.nan
    _require_plausible_times(jobs, submit, duration, source)
    counts: dict[str, int] = {}
    names = []
    for row in jobs:
        count = counts[row.job_id] = counts.get(row.job_id, 0) + 1
        if count > 1:
            report.change("duplicate job id; number appended", row.line)
        names.append(row.job_id if count == 1 else f"{row.job_id}#{count}")
    walltime, due, start = (
        np.where(times <= MAX_TIME, times, np.nan)
        for times in (column("walltime"), column("due"), start)
    )
    return Trace(
        source,
        np.array([_clean(name) for name in names], dtype=object),
        submit - submit[0],
        duration,
        np.ceil(column("gpus")).astype(np.int64),
        Labels.of([_clean(row.user) for row in jobs]),
        Labels.of([_clean(row.group) for row in jobs]),
        report,
        optional_numbers(walltime),
        optional_numbers(due - submit[0]),
        optional_numbers(start - submit[0]),
    )


def _clean(text: str) -> str:
    return "".join(c for c in text if c.isprintable())[:200]
