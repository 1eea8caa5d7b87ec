"""Microsoft Philly as a CSV: timestamp, duration (s), num_gpus, cluster (the virtual cluster).

It has no user and no group: the virtual cluster stands for the user, and (virtual cluster, GPUs)
for the group, which is coarse.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from optsched.online.traces.reading import moment_of, number_of, table_of
from optsched.online.traces.trace import Rejected, TraceRow


def read_philly_csv(path: str | Path) -> Iterator[TraceRow | Rejected]:
    """Stream the rows of a Philly CSV."""
    for line, row in table_of(path, ("timestamp", "duration", "num_gpus")):
        if isinstance(row, Rejected):
            yield row
            continue
        cluster = row.get("cluster", "")
        yield TraceRow(
            line,
            f"p{line}",
            moment_of(row["timestamp"]),
            number_of(row["duration"]),
            number_of(row["num_gpus"]),
            cluster,
            f"{cluster}/{row['num_gpus']}",
        )
