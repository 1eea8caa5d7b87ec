"""SenseTime Helios and Shanghai AI Lab's Acme: cluster_log.csv.

Columns used: job_id, user, gpu_num, submit_time, duration (s; else start_time and end_time), and
jobname where there is one. Group: (user, jobname), else (user, GPUs).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from optsched.online.traces.reading import moment_of, number_of, table_of
from optsched.online.traces.trace import Rejected, TraceRow


def read_helios(path: str | Path) -> Iterator[TraceRow | Rejected]:
    """Stream the rows of a cluster_log.csv."""
    for line, row in table_of(path, ("job_id", "gpu_num", "submit_time")):
        if isinstance(row, Rejected):
            yield row
            continue
        duration = number_of(row.get("duration"))
        if duration is None:
            began, ended = moment_of(row.get("start_time")), moment_of(row.get("end_time"))
            duration = None if began is None or ended is None else ended - began
        user = row.get("user", "")
        yield TraceRow(
            line,
            row["job_id"],
            moment_of(row["submit_time"]),
            duration,
            number_of(row["gpu_num"]),
            user,
            f"{user}/{row.get('jobname') or row['gpu_num']}",
        )
