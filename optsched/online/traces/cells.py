"""Cells of trace files: column names, numbers, durations, submission times and GPU counts.

Every importer reads its values here, so that all of them take the same notations:

- a number: ASCII decimals, also with commas between thousands (``10,800``);
- a duration: seconds, ``H:MM:SS`` or ``D-HH:MM:SS``;
- a submission: seconds (or milliseconds since 1970) or a date: ISO 8601, ``2026/01/05 09:00`` or
  ``05.01.2026 09:00``. A date with dots is day.month.year, the order in every country that writes
  dots; ``05/01/2026`` may be either order and is refused. Dates are UTC unless they say otherwise;
- GPUs: a number or a Slurm resource such as ``gpu:8``, ``gpu:v100:8`` and ``gres/gpu=8``, also
  among others: ``cpu=16,gres/gpu=8,gres/gpu:v100=8,mem=64G``.

Columns are separated by a comma, semicolon, tab or ``|``, whichever the header has most of.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from optsched.errors import InputError, shown
from optsched.io.numerals import parse_real
from optsched.io.reading import MAX_COLUMNS, lines_of, unescaped
from optsched.online.traces.trace import RejectedRow, TraceRow

Row = TypeVar("Row")

COLUMNS: dict[str, tuple[str, ...]] = {
    role: tuple(names.split())
    for role, names in {
        "job": "job_id id",
        "submit": "submit_time timestamp submitted_time arrival_time submit submitted created_at "
        "submitted_at submission_time queued_at",
        "start": "start_time start started started_at",
        "end": "end_time end ended_at finish_time finished_at completion_time completed_at",
        "wait": "wait_time waiting_time queue_time",
        "duration": "duration run_time runtime elapsed duration_s duration_seconds runtime_s "
        "runtime_seconds elapsed_raw execution_time",
        "gpus": "num_gpus num_gpu gpu_num gpus gpu_count n_gpus gpu requested_gpus alloc_tres",
        "instances": "num_inst",
        "walltime": "walltime time_limit requested_time wall_time max_runtime walltime_s",
        "due": "due_date due deadline",
        "user": "user user_name user_id owner",
        "cluster": "cluster vc virtual_cluster",
        "group": "group",
        "account": "account project team",
        "name": "job_name",
        "model": "model_name model",
        "batch_size": "batch_size",
        "iterations": "iterations",
        "iteration_time": "iteration_time",
        "expected_times": "expect_time_list",
        "best_effort": "best_effort",
    }.items()
}
"""Names of the column of each role; case, spaces, hyphens and underscores do not count."""
MAPPED = (
    *("submit", "gpus", "duration", "user", "group", "model", "due", "walltime"),
    *("start", "end", "wait", "job", "account"),
)
"""Roles that `optsched import csv --map` names."""
SLURM_ELAPSED = {"elapsed", "elapsedraw"}
"""Two columns of sacct for one duration."""
SEPARATORS = ",;\t|"

MISSING = ("", "-", "n/a", "na", "nan", "none", "null", "unknown", "unlimited", "partition_limit")
"""Cells without a value; the last two are Slurm's time limits of jobs that have none."""

MILLISECONDS = (1e11, 1e14)
"""Submissions in this range are milliseconds since 1970 (1973 to 5138); as seconds the first would
lie in the year 5138."""

_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?", re.ASCII)
_CLOCK = re.compile(
    r"(?:([0-9]{1,6})(?:-| days?,? ))?([0-9]{1,6}):([0-5]?[0-9]):([0-5]?[0-9](?:\.[0-9]+)?)",
    re.ASCII,
)
_RESOURCE = re.compile(
    r"(?:gres[/:])?gpu(?::[a-z][\w.-]*)?[:=]([0-9]{1,6})(?:\([^()]*\))?", re.ASCII | re.IGNORECASE
)
_RESOURCES = re.compile(r"[\w/:.-]+=[^,=]+(?:,[\w/:.-]+=[^,=]+)*", re.ASCII)
_GPU_RESOURCE = re.compile(r"(?:^|,)(?:gres/)?gpu(:[^,=]+)?=([0-9]{1,6})", re.ASCII | re.IGNORECASE)
_DOTTED = re.compile(r"^([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})", re.ASCII)
_SLASHED = re.compile(r"([0-9]{4})/([0-9]{1,2})/([0-9]{1,2})(.*)", re.ASCII)


class UnreadableError(ValueError):
    """A row that cannot be used; its arguments are the reason and the text that caused it."""


def readable_rows(
    rows: Iterable[tuple[int, Row]], parse: Callable[[int, Row], TraceRow]
) -> Iterator[TraceRow | RejectedRow]:
    """Parse numbered rows; an `UnreadableError` becomes a rejected row."""
    for line, row in rows:
        try:
            yield parse(line, row)
        except UnreadableError as error:
            yield RejectedRow(line, *error.args)


def number_of(text: str | None, name: str = "number") -> float | None:
    """Return a number, or None for a missing one."""
    text = (text or "").strip()
    if text.lower() in MISSING:
        return None
    value = parse_real(text.replace(",", "") if _THOUSANDS.fullmatch(text) else text)
    if value is None:
        raise UnreadableError(f"unreadable {name}", text)
    return value


def duration_of(text: str | None, name: str = "duration") -> float | None:
    """Return seconds, or None for a missing duration."""
    clock = _CLOCK.fullmatch((text or "").strip())
    if clock is None:
        return number_of(text, name)
    days, hours, minutes, seconds = (float(part or 0) for part in clock.groups())
    return 86400 * days + 3600 * hours + 60 * minutes + seconds


def gpus_of(text: str | None) -> float | None:
    """Return a number of GPUs, or None for a missing one."""
    text = (text or "").strip()
    if _RESOURCES.fullmatch(text):  # the total, else the sum of the types
        counts = _GPU_RESOURCE.findall(text)
        return float(sum([int(n) for kind, n in counts if not kind] or [int(n) for _, n in counts]))
    resource = _RESOURCE.fullmatch(text)
    return number_of(text if resource is None else resource[1], "number of GPUs")


def date_of(text: str, time_format: str | None = None) -> float | None:
    """Return seconds since 1970, or None if the text is no date."""
    try:
        if time_format is None:
            if slashed := _SLASHED.fullmatch(_DOTTED.sub(r"\3/\2/\1", text)):
                year, month, day, rest = slashed.groups()
                text = f"{year}-{month:0>2}-{day:0>2}{rest}"
            moment = datetime.fromisoformat(text)
        else:
            moment = datetime.strptime(text, time_format)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


class SubmissionParser:
    """Parses submission times of one file: all dates, of a `strptime` format, or all numbers."""

    def __init__(self, source: str, unit: float = 1.0, time_format: str | None = None) -> None:
        self._source, self._unit, self._format = source, unit, time_format
        self._first: tuple[bool, int, str] | None = None

    def seconds(self, line: int, text: str | None) -> float | None:
        """Return a submission in seconds, or None for a missing one."""
        text = (text or "").strip()
        if text.lower() in MISSING:
            return None
        is_number = parse_real(text) is not None and self._format is None
        date = None if is_number else date_of(text, self._format)
        if date is None:
            value = (duration_of(text, "submission time") or 0.0) * self._unit
        if self._first is None:
            self._first = (date is not None, line, text)
        is_date, first_line, first_text = self._first
        if is_date != (date is not None):
            expected = f"{'a date' if is_date else 'a number'}, as {shown(first_text)}"
            raise InputError(
                self._source, f"line {line}", shown(text), f"{expected} of line {first_line}"
            )
        if date is not None:
            return date
        if value > MILLISECONDS[1]:
            raise UnreadableError("submission time neither in seconds nor in milliseconds", text)
        return value / 1000 if value >= MILLISECONDS[0] else value


@dataclass(frozen=True)
class CsvTable:
    """A CSV file with a header, with columns mapped to roles."""

    source: str
    header: Sequence[str]
    positions: Mapping[str, int]
    """Position of the column of each role that the header has."""
    rows: Iterator[tuple[int, list[str]]]
    """Line numbers from 2 and cells."""

    def by_role(self, cells: Sequence[str]) -> dict[str, str]:
        """The cell of each role of `COLUMNS`, empty without a column."""
        if len(cells) != len(self.header):
            raise UnreadableError("wrong number of columns", f"{len(cells)} of {len(self.header)}")
        held = {role: cells[position] for role, position in self.positions.items()}
        return dict.fromkeys(COLUMNS, "") | held


def open_table(path: str | Path, columns: Mapping[str, str] | None = None) -> CsvTable:
    """Read the header of a CSV file; raise InputError on duplicate columns.

    `columns` names the column of some roles; the others are found by `COLUMNS`.
    """
    source, columns = str(path), columns or {}
    lines = lines_of(path, errors="replace")
    text = next(lines, (1, ""))[1].lstrip("\ufeff")
    separator = max(SEPARATORS, key=text.count)
    header = split_cells(text, separator)
    while header and not header[-1]:
        header.pop()
    if len(header) > MAX_COLUMNS:
        raise InputError(source, "line 1", f"{len(header)} columns", f"at most {MAX_COLUMNS}")
    names = [_plain(name) for name in header]
    positions: dict[str, int] = {}
    for role in sorted(COLUMNS, key=lambda role: role not in columns):  # mapped roles first
        wanted = (columns[role],) if role in columns else COLUMNS[role]
        taken = [] if role in columns else [positions[other] for other in columns]
        fitting = {_plain(name) for name in wanted}
        present = [i for i, name in enumerate(names) if name in fitting and i not in taken]
        if len(present) > 1 and {names[i] for i in present} != SLURM_ELAPSED:
            found = " and ".join(f"a column {header[index]}" for index in present[:2])
            raise InputError(source, "line 1", found, f"one column of {', '.join(wanted)}")
        if role in columns and not present:
            found = f"columns {shown(', '.join(header), 120)}"
            raise InputError(source, "line 1", found, f"a column {columns[role]} for {role}")
        if present:
            positions[role] = present[0]
    return CsvTable(source, header, positions, _rows(lines, len(header), separator))


def _plain(name: str) -> str:
    """Return a column's name without what does not count in it."""
    return re.sub("[ _-]+", "", name.lower())


def _rows(
    lines: Iterable[tuple[int, str]], width: int, separator: str
) -> Iterator[tuple[int, list[str]]]:
    for line, text in lines:
        if text.strip():
            cells = split_cells(text, separator)
            while len(cells) > width and not cells[-1]:  # trailing commas
                cells.pop()
            yield line, cells


def split_cells(line: str, separator: str = ",") -> list[str]:
    """Split one line of a CSV file into cells without surrounding spaces."""
    try:
        return [unescaped(cell.strip()) for cell in next(csv.reader([line], delimiter=separator))]
    except (csv.Error, StopIteration):
        return []
