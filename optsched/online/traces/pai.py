"""Alibaba PAI 2020: the job CSV of the cluster-trace-gpu-v2020 simulator, in its two layouts.

Columns used: job_id, user, num_gpu (fractional, 0 on CPU rows), num_inst, duration, submit_time,
group. Where a file has a column num_inst, num_gpu is one instance's and a job takes num_gpu x
num_inst; in the layout with num_pod, num_gpu already is the job's total (3 GPUs and 72 CPUs of 12
pods, say) and is taken as it is. GPUs are rounded up. The columns *_dur and wait_time can leak the
future and are never read.
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
        yield TraceRow(
            line,
            row["job_id"],
            moment_of(row["submit_time"]),
            number_of(row["duration"]),
            _gpus(row),
            row.get("user", ""),
            row.get("group", "") or f"job {row['job_id']}",
        )


def _gpus(row: dict[str, str]) -> float | None:
    """The job's GPUs in all; an empty num_inst is one instance."""
    gpus, instances = number_of(row["num_gpu"]), row.get("num_inst")
    if gpus is None or not instances:
        return gpus
    count = number_of(instances)
    return None if count is None or count < 1 else round(gpus * count, 9)
