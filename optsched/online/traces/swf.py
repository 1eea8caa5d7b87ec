"""Standard Workload Format: 18 numbers a line, comments after ';', -1 for unknown.

Fields used (from 1): 1 job, 2 submission (s), 4 run time (s), 5 processors allocated, else 8
requested; 12 user, 14 executable. Processors are taken for GPUs. Group: (user, executable, GPUs).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from optsched.online.traces.reading import lines_of, number_of
from optsched.online.traces.trace import Rejected, TraceRow

FIELDS = 18


def read_swf(path: str | Path) -> Iterator[TraceRow | Rejected]:
    """Stream the rows of an SWF file."""
    for line, text in lines_of(path):
        content = text.split(";", 1)[0].split()
        if not content:
            continue
        if len(content) != FIELDS:
            yield Rejected(line, "not 18 fields")
            continue
        values = [number_of(field) for field in content]
        allocated, requested = values[4], values[7]
        gpus = allocated if allocated is not None and allocated > 0 else requested
        yield TraceRow(
            line,
            content[0],
            values[1],
            values[3],
            None if gpus is not None and gpus < 0 else gpus,
            content[11],
            f"{content[11]}/{content[13]}/{content[4]}",
        )
