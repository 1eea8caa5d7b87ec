"""Gavel's .trace: tab-separated job type, command, steps argument, data flag (left out by some),
total steps, arrival time (s), scale factor, and more fields in later versions.

It states steps and no duration, so the steps are the iterations. It has no user; the group is
(job type, GPUs).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from optsched.online.traces.reading import lines_of, number_of
from optsched.online.traces.trace import Rejected, TraceRow

TYPE, STEPS, ARRIVAL, SCALE = 0, 4, 5, 6


def read_gavel(path: str | Path) -> Iterator[TraceRow | Rejected]:
    """Stream the rows of a Gavel trace."""
    for line, text in lines_of(path):
        if not text.strip():
            continue
        fields = text.split("\t")
        if len(fields) <= SCALE:
            yield Rejected(line, "fewer than 7 fields")
            continue
        steps = number_of(fields[STEPS])
        yield TraceRow(
            line,
            f"g{line}",
            number_of(fields[ARRIVAL]),
            None,
            number_of(fields[SCALE]),
            "",
            f"{fields[TYPE]}/{fields[SCALE]}",
            iterations=0.0 if steps is None else steps,
        )
