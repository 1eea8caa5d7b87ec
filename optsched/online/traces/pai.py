"""Alibaba PAI 2020: the job CSV of the cluster-trace-gpu-v2020 simulator.

Columns used: job_id, user, num_gpu (a pod's, fractional, 0 on CPU rows), num_pod or num_inst,
duration, submit_time, group. GPUs = num_gpu x pods, rounded up. The columns *_dur and wait_time can
leak the future and are never read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from optsched.online.traces.reading import moment_of, number_of, table_of
from optsched.online.traces.trace import Rejected, TraceRow


def read_pai(path: str | Path) -> Iterator[TraceRow | Rejected]:
    """Stream the rows of a PAI job CSV."""
    for line, row in table_of(path, ("job_id", "num_gpu", "duration", "submit_time")):
        if isinstance(row, Rejected):
            yield row
            continue
        gpus = number_of(row["num_gpu"])
        pods = number_of(row.get("num_pod") or row.get("num_inst")) or 1.0
        yield TraceRow(
            line,
            row["job_id"],
            moment_of(row["submit_time"]),
            number_of(row["duration"]),
            None if gpus is None else round(gpus * max(pods, 1.0), 9),
            row.get("user", ""),
            row.get("group", "") or f"job {row['job_id']}",
        )
