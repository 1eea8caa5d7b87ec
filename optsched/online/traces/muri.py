"""Muri's CSV: job_id, num_gpu, submit_time, iterations, model_name, batch_size, duration, interval,
iteration_time. Times are in milliseconds here, so that iterations x iteration_time (ms) = duration.

The submission is scaled to seconds likewise. It has no user; model_name and batch_size make the
group. Iterations are redrawn from the duration, as for every trace that states one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from optsched.online.traces.reading import number_of, table_of
from optsched.online.traces.trace import Rejected, TraceRow

MILLISECOND = 1e-3


def read_muri(path: str | Path) -> Iterator[TraceRow | Rejected]:
    """Stream the rows of a Muri trace."""
    for line, row in table_of(path, ("job_id", "num_gpu", "submit_time", "duration")):
        if isinstance(row, Rejected):
            yield row
            continue
        submit, duration = number_of(row["submit_time"]), number_of(row["duration"])
        yield TraceRow(
            line,
            row["job_id"],
            None if submit is None else submit * MILLISECOND,
            None if duration is None else duration * MILLISECOND,
            number_of(row["num_gpu"]),
            "",
            f"{row.get('model_name', '')}/{row.get('batch_size', '')}/{row['num_gpu']}",
        )
