"""Rolling instances whose arrivals, and durations where known, are those of a trace.

A trace is a CSV file with the column ``submit_time`` (seconds) and, if at hand, ``duration``
(seconds; rows without a positive one are left out). The jobs' networks, memory, weights and
speed-ups are drawn as `generators.rolling` does; a duration becomes the job's expected time on one
GPU of its slowest type, and its due date keeps its place in (31).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from optsched.errors import InputError, shown
from optsched.generators.rolling import RollingGenerator, generate_rolling
from optsched.io.numerals import real_of
from optsched.io.reading import csv_rows
from optsched.online.traces.importing import import_trace
from optsched.online.traces.trace import MAX_ROWS
from optsched.rolling.instance import RollingInstance
from optsched.schema import LARGEST


@dataclass(frozen=True)
class TraceRow:
    """A job of a trace: its submit time and, if known, its duration, seconds."""

    submit_time: float
    duration: float | None = None


def read_trace(
    path: str | Path, *, most: int | None = None, file_format: str | None = None
) -> tuple[TraceRow, ...]:
    """Read the first `most` jobs of a trace, by submit time counted from the first."""
    if most is not None and most < 1:
        raise InputError("generate rolling", "--jobs", shown(most), "a number from 1 up")
    if file_format is not None:
        trace = import_trace(file_format, path)
        pairs = zip(trace.submit[:most].tolist(), trace.duration[:most].tolist(), strict=True)
        return tuple(TraceRow(submit, time if time > 0 else None) for submit, time in pairs)
    rows = sorted(_rows(path), key=lambda row: row.submit_time)[:most]
    if not rows:
        raise InputError(str(path), "", "no job", "at least one")
    begin = rows[0].submit_time
    return tuple(TraceRow(row.submit_time - begin, row.duration) for row in rows)


def _rows(path: str | Path) -> list[TraceRow]:
    """The jobs of a CSV file, without those that took no time."""
    source, lines = str(path), csv_rows(path)
    _, header = next(lines, (1, []))
    if "submit_time" not in header:
        raise InputError(source, "line 1", shown(header), "a column submit_time")
    rows = []
    for line, cells in lines:
        if len(cells) != len(header):
            expected = f"{len(header)} cells, as in line 1"
            raise InputError(source, f"line {line}", f"{len(cells)} cells", expected)
        record = dict(zip(header, cells, strict=True))
        numbers = {
            name: _number(source, line, name, record[name])
            for name in ("submit_time", "duration")
            if name in record
        }
        if numbers.get("duration", 1.0) > 0:
            rows.append(TraceRow(**numbers))
        if len(rows) > MAX_ROWS:
            raise InputError(source, f"line {line}", "more rows", f"at most {MAX_ROWS}")
    return rows


def _number(source: str, line: int, name: str, text: str | None) -> float:
    value = real_of(text)
    if value is None or not abs(value) <= LARGEST:
        raise InputError(source, f"line {line}, {name}", shown(text), "a finite number")
    return value


def generate_from_trace(
    settings: RollingGenerator, rows: Sequence[TraceRow], *, seed: int = 0, name: str | None = None
) -> RollingInstance:
    """A workload of as many jobs as rows, with their arrivals and durations."""
    times = [row.submit_time for row in rows]
    cluster = replace(settings.cluster, jobs=len(times))
    settings = replace(settings, cluster=cluster)
    name = name or f"{cluster.nodes}x{cluster.jobs}-trace-s{seed}"
    document = generate_rolling(settings, seed=seed, name=name, submit_times=times).to_dict()
    for job, row in zip(document["jobs"], rows, strict=True):
        if row.duration is not None:
            _stretch(job, row.duration)
    return RollingInstance.from_dict(document, "generate rolling")


def _stretch(job: dict[str, Any], duration: float) -> None:
    epochs = job["epochs"]
    mean = sum(w * p for w, p in zip(epochs["values"], epochs["probabilities"], strict=True))
    factor = duration / (mean * max(times[0] for times in job["epoch_time"].values()))
    for kind, times in job["epoch_time"].items():
        job["epoch_time"][kind] = [t * factor for t in times]
    due_in = job["due_date"] - job["submit_time"]
    job["due_date"] = job["submit_time"] + due_in * factor
