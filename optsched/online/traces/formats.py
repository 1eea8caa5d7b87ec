"""The published traces that are tables, one function a format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path

from optsched.io.numerals import real_of
from optsched.online.traces.reading import lines_of, moment_of, table_of
from optsched.online.traces.trace import Rejected, TraceRow

Reader = Callable[[str | Path], Iterator[TraceRow | Rejected]]
MILLISECOND = 1e-3
GAVEL_LAYOUTS = {7: (4, 5, 6), 9: (4, 8, 5), 10: (5, 9, 6), 11: (5, 10, 6)}
"""By the number of fields, where steps, arrival and scale factor are; the job type comes first."""
SWF_FIELDS = 18


def table(*columns: str) -> Callable[[Callable[[int, dict[str, str]], TraceRow]], Reader]:
    """Make a reader of a CSV file with such columns of what makes one row of it a `TraceRow`."""

    def reader(row_of: Callable[[int, dict[str, str]], TraceRow]) -> Reader:
        @wraps(row_of)
        def read(path: str | Path) -> Iterator[TraceRow | Rejected]:
            for line, row in table_of(path, columns):
                yield row if isinstance(row, Rejected) else row_of(line, row)

        return read

    return reader


@table("job_id", "num_gpu", "duration", "submit_time")
def read_pai(line: int, row: dict[str, str]) -> TraceRow:
    """Alibaba PAI 2020: the job CSV of the cluster-trace-gpu-v2020 simulator, in its two layouts.

    The raw tables that it was made of: `optsched.online.traces.pai_tables`.
    Columns used: job_id, user, num_gpu (fractional, 0 on CPU rows), num_inst, duration,
    submit_time, group. Where a file has a column num_inst, num_gpu is one instance's and a job
    takes num_gpu x num_inst, an empty num_inst being one; in the layout with num_pod, num_gpu
    already is the job's total (3 GPUs and 72 CPUs of 12 pods, say) and is taken as it is. GPUs are
    rounded up. The columns *_dur and wait_time can leak the future and are never read.
    """
    gpus, instances = real_of(row["num_gpu"]), row.get("num_inst")
    if gpus is not None and instances:
        count = real_of(instances)
        gpus = None if count is None or count < 1 else round(gpus * count, 9)
    return TraceRow(
        line,
        row["job_id"],
        moment_of(row["submit_time"]),
        real_of(row["duration"]),
        gpus,
        row.get("user", ""),
        row.get("group", "") or f"job {row['job_id']}",
    )


@table("timestamp", "duration", "num_gpus")
def read_philly_csv(line: int, row: dict[str, str]) -> TraceRow:
    """Microsoft Philly as a CSV: timestamp, duration (s), num_gpus, cluster (the virtual cluster).

    It has no user and no group: the virtual cluster stands for the user, and (virtual cluster,
    GPUs) for the group, which is coarse.
    """
    cluster = row.get("cluster", "")
    return TraceRow(
        line,
        f"p{line}",
        moment_of(row["timestamp"]),
        real_of(row["duration"]),
        real_of(row["num_gpus"]),
        cluster,
        f"{cluster}/{row['num_gpus']}",
    )


@table("job_id", "gpu_num", "submit_time")
def read_helios(line: int, row: dict[str, str]) -> TraceRow:
    """SenseTime Helios and Shanghai AI Lab's Acme: cluster_log.csv.

    Columns used: job_id, user, gpu_num, submit_time, duration (s; else start_time and end_time),
    and jobname where there is one. Group: (user, jobname), else (user, GPUs).
    """
    duration = real_of(row.get("duration"))
    if duration is None:
        began, ended = moment_of(row.get("start_time")), moment_of(row.get("end_time"))
        duration = None if began is None or ended is None else ended - began
    user = row.get("user", "")
    return TraceRow(
        line,
        row["job_id"],
        moment_of(row["submit_time"]),
        duration,
        real_of(row["gpu_num"]),
        user,
        f"{user}/{row.get('jobname') or row['gpu_num']}",
    )


@table("job_id", "num_gpu", "submit_time", "duration")
def read_muri(line: int, row: dict[str, str]) -> TraceRow:
    """Muri's CSV: job_id, num_gpu, submit_time, iterations, model_name, batch_size, duration, ...

    Times are in milliseconds here, so that iterations x iteration_time (ms) = duration; the
    submission is scaled to seconds likewise. It has no user; model_name and batch_size make the
    group. Iterations are redrawn from the duration, as for every trace that states one.
    """
    submit, duration = real_of(row["submit_time"]), real_of(row["duration"])
    return TraceRow(
        line,
        row["job_id"],
        None if submit is None else submit * MILLISECOND,
        None if duration is None else duration * MILLISECOND,
        real_of(row["num_gpu"]),
        "",
        f"{row.get('model_name', '')}/{row.get('batch_size', '')}/{row['num_gpu']}",
    )


@table("job_id", "num_gpu", "submit_time", "duration")
def read_chronus(line: int, row: dict[str, str]) -> TraceRow:
    """Chronus's CSV: job_id, user, num_gpu, submit_time, iterations, model_name, duration (s), ...

    0.6% of its rows ask for 0 GPUs and are dropped; its times are compressed. The user is the
    virtual cluster; the group is (user, model_name, GPUs). Deadlines are not read.
    """
    user = row.get("user", "")
    return TraceRow(
        line,
        row["job_id"],
        real_of(row["submit_time"]),
        real_of(row["duration"]),
        real_of(row["num_gpu"]),
        user,
        f"{user}/{row.get('model_name', '')}/{row['num_gpu']}",
    )


def read_gavel(path: str | Path) -> Iterator[TraceRow | Rejected]:
    """Gavel's .trace, tab-separated, in its layouts of 7, 9, 10 and 11 fields.

    7: job type, command, steps argument, data flag, steps, arrival (s), scale factor. 9: after the
    steps scale factor, priority, SLO, arrival; 10: also a working folder after the command; 11: and
    a mode after the scale factor (Shockwave's). It states steps and no duration, so the steps are
    the iterations. It has no user; the group is (job type, GPUs).
    """
    for line, text in lines_of(path):
        if not text.strip():
            continue
        fields = text.split("\t")
        if len(fields) not in GAVEL_LAYOUTS:
            yield Rejected(line, "not 7, 9, 10 or 11 fields")
            continue
        at_steps, at_arrival, at_scale = GAVEL_LAYOUTS[len(fields)]
        steps = real_of(fields[at_steps])
        yield TraceRow(
            line,
            f"g{line}",
            real_of(fields[at_arrival]),
            None,
            real_of(fields[at_scale]),
            "",
            f"{fields[0]}/{fields[at_scale]}",
            iterations=0.0 if steps is None else steps,
        )


def read_swf(path: str | Path) -> Iterator[TraceRow | Rejected]:
    """Standard Workload Format: 18 numbers a line, comments after ';', -1 for unknown.

    Fields used (from 1): 1 job, 2 submission (s), 4 run time (s), 5 processors allocated, else 8
    requested; 12 user, 14 executable. Processors are taken for GPUs. Group: (user, executable,
    GPUs).
    """
    for line, text in lines_of(path):
        content = text.split(";", 1)[0].split()
        if not content:
            continue
        if len(content) != SWF_FIELDS:
            yield Rejected(line, "not 18 fields")
            continue
        values = [real_of(field) for field in content]
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
