"""Microsoft Philly's cluster_job_log: a JSON array of jobs with attempts.

GPUs: of the first attempt that lists them, summed over its servers. Duration: the time that
attempts ran, from start to end, summed. An attempt without both times is left out of the sum; a
job without any is dropped (no duration). User: the user; group: (virtual cluster, user, GPUs).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from optsched.errors import InputError, shown
from optsched.io.reading import text_blocks
from optsched.online.traces.cells import SubmissionParser, UnreadableError, date_of, readable_rows
from optsched.online.traces.trace import RejectedRow, TraceRow

MAX_JOB_LENGTH = 2**22
"""Characters of one job; the largest of Philly's have some 100,000."""


def read_philly_json(path: str | Path) -> Iterator[TraceRow | RejectedRow]:
    """Stream the jobs of a cluster_job_log, one object at a time; line breaks do not matter."""
    submissions = SubmissionParser(str(path))

    def parse(line: int, job: dict[str, Any]) -> TraceRow:
        attempts = job.get("attempts")
        if not isinstance(attempts, list) or not all(isinstance(a, dict) for a in attempts):
            raise UnreadableError("no list of attempts", str(job.get("jobid", "")))
        gpus = next((count for a in attempts if (count := _gpus(a)) is not None), None)
        spans = [span for a in attempts if (span := _span(a)) is not None]
        submitted = job.get("submitted_time")
        user, cluster = str(job.get("user", "")), str(job.get("vc", ""))
        return TraceRow(
            line,
            str(job.get("jobid", f"line {line}")),
            submissions.seconds(line, submitted if isinstance(submitted, str) else None),
            sum(spans) if spans else None,
            0.0 if gpus is None else float(gpus),
            user,
            f"{cluster}/{user}/{gpus}",
        )

    yield from readable_rows(_objects(path), parse)


def _gpus(attempt: dict[str, Any]) -> int | None:
    """Return the GPUs of an attempt, or None if it lists none."""
    detail = attempt.get("detail")
    if not isinstance(detail, list):
        return None
    lists = [server.get("gpus") for server in detail if isinstance(server, dict)]
    return sum(len(gpus) for gpus in lists if isinstance(gpus, list)) or None


def _span(attempt: dict[str, Any]) -> float | None:
    """Return the seconds of an attempt, or None if it has no start or no end."""
    start, end = (attempt.get(key) for key in ("start_time", "end_time"))
    if not isinstance(start, str) or not isinstance(end, str):
        return None
    began, ended = date_of(start.strip()), date_of(end.strip())
    return ended - began if began is not None and ended is not None and ended >= began else None


def _objects(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Parse the objects of a JSON array as they are read; yield each with its first line."""
    source, blocks = str(path), text_blocks(path)
    decoder = json.JSONDecoder()
    text, line, expected = "", 1, "["
    while True:
        rest = text.lstrip("\ufeff \t\r\n")
        line += text.count("\n", 0, len(text) - len(rest))
        text = rest
        if not text:
            block = next(blocks, None)
            if block is None:
                raise InputError(source, f"line {line}", "end of file", "a JSON array of jobs")
            text = block
            continue
        if text[0] not in expected:
            raise InputError(source, f"line {line}", shown(text[:60]), "a JSON array of jobs")
        if text[0] == "]":
            return
        if text[0] != "{":
            text, expected = text[1:], "{]" if text[0] == "[" else "{"
            continue
        while True:  # a job may go on in the next blocks
            try:
                job, end = decoder.raw_decode(text)
                break
            except json.JSONDecodeError as error:
                block = next(blocks, None) if len(text) <= MAX_JOB_LENGTH else None
                if block is None:
                    at = line + text.count("\n", 0, error.pos)
                    found = f"invalid JSON ({error.msg})"
                    raise InputError(source, f"line {at}", found, "jobs in an array") from None
                text += "".join((block, *islice(blocks, len(text) // len(block))))
            except (ValueError, RecursionError):
                found = "a number or nesting beyond the limits of the JSON parser"
                raise InputError(source, f"line {line}", found, "jobs in an array") from None
        yield line, job
        line += text.count("\n", 0, end)
        text, expected = text[end:], ",]"
