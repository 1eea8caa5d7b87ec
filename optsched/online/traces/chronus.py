"""Chronus's CSV: job_id, user, num_gpu, submit_time, iterations, model_name, duration (s), ...

0.6% of its rows ask for 0 GPUs and are dropped; its times are compressed. The user is the virtual
cluster; the group is (user, model_name, GPUs). Deadlines are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from optsched.online.traces.reading import number_of, table_of
from optsched.online.traces.trace import Rejected, TraceRow


def read_chronus(path: str | Path) -> Iterator[TraceRow | Rejected]:
    """Stream the rows of a Chronus trace."""
    for line, row in table_of(path, ("job_id", "num_gpu", "submit_time", "duration")):
        if isinstance(row, Rejected):
            yield row
            continue
        user = row.get("user", "")
        yield TraceRow(
            line,
            row["job_id"],
            number_of(row["submit_time"]),
            number_of(row["duration"]),
            number_of(row["num_gpu"]),
            user,
            f"{user}/{row.get('model_name', '')}/{row['num_gpu']}",
        )
