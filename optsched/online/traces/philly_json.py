"""Microsoft Philly's own cluster_job_log: a JSON array of jobs with attempts.

GPUs: of the first attempt that lists them, summed over its servers. Duration: the time that
attempts ran, from start to end, summed. An attempt without both times is left out of the sum; a
job without any is dropped (no duration). User: the user; group: (virtual cluster, user, GPUs).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from optsched.errors import InputError, shown
from optsched.online.traces.reading import lines_of, moment_of
from optsched.online.traces.trace import Rejected, TraceRow

LONGEST_JOB = 2**22


def read_philly_json(path: str | Path) -> Iterator[TraceRow | Rejected]:
    """Stream the jobs of a cluster_job_log, one object at a time."""
    for line, text in _objects(path):
        try:
            job = json.loads(text)
        except (ValueError, RecursionError):
            yield Rejected(line, "no JSON")
            continue
        yield _row(line, job) if isinstance(job, dict) else Rejected(line, "no object")


def _row(line: int, job: dict[str, Any]) -> TraceRow | Rejected:
    attempts = job.get("attempts")
    if not isinstance(attempts, list) or not all(isinstance(a, dict) for a in attempts):
        return Rejected(line, "no list of attempts")
    gpus = next((count for a in attempts if (count := _gpus(a)) is not None), None)
    spans = [span for a in attempts if (span := _span(a)) is not None]
    submitted = job.get("submitted_time")
    user, cluster = str(job.get("user", "")), str(job.get("vc", ""))
    return TraceRow(
        line,
        str(job.get("jobid", f"line {line}")),
        moment_of(submitted) if isinstance(submitted, str) else None,
        sum(spans) if spans else None,
        0.0 if gpus is None else float(gpus),
        user,
        f"{cluster}/{user}/{gpus}",
    )


def _gpus(attempt: dict[str, Any]) -> int | None:
    detail = attempt.get("detail")
    if not isinstance(detail, list):
        return None
    held = [d.get("gpus") for d in detail if isinstance(d, dict)]
    count = sum(len(gpus) for gpus in held if isinstance(gpus, list))
    return count or None


def _span(attempt: dict[str, Any]) -> float | None:
    start, end = attempt.get("start_time"), attempt.get("end_time")
    if not isinstance(start, str) or not isinstance(end, str):
        return None
    began, ended = moment_of(start), moment_of(end)
    return ended - began if began is not None and ended is not None and ended >= began else None


def _objects(path: str | Path) -> Iterator[tuple[int, str]]:
    """The text of each object directly inside the array, and the line it begins at."""
    depth, begun, size, array = 0, 0, 0, False
    parts: list[str] = []
    in_text = escaped = False
    for number, line in lines_of(path):
        start = 0
        for at, c in enumerate(line):
            if in_text:
                if escaped:
                    escaped = False
                elif c == "\\":
                    escaped = True
                elif c == '"':
                    in_text = False
            elif c == '"':
                in_text = True
            elif c == "[" and not array and depth == 0:
                array = True
            elif c == "{":
                if depth == 0:
                    begun, start, parts, size = number, at, [], 0
                depth += 1
            elif c == "}" and depth > 0:
                depth -= 1
                if depth == 0:
                    yield begun, "\n".join([*parts, line[start : at + 1]])
                    parts = []
        if depth > 0:
            parts.append(line[start:])
            size += len(line) - start
            if size > LONGEST_JOB:
                raise InputError(
                    str(path), f"line {begun}", "an endless object", "jobs in an array"
                )
        elif not array and line.strip():
            raise InputError(str(path), f"line {number}", shown(line), "a JSON array of jobs")
    if depth > 0:
        yield begun, "\n".join(parts)
