"""Importing a trace by the name of its format, which format fits, and conversion to a workload."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from optsched.errors import InputError, shown, suggestion
from optsched.online.data.catalogue import Catalogue
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.configuration_draw import ConfigurationDrawer
from optsched.online.data.workload import Labels, Workload
from optsched.online.traces import FORMATS
from optsched.online.traces.cells import MAPPED, open_table
from optsched.online.traces.formats import LAYOUTS, own_columns, read_csv, read_gavel, read_swf
from optsched.online.traces.json_traces import read_kubernetes, read_philly_json
from optsched.online.traces.pai_tables import read_pai_tables, table_of_pai
from optsched.online.traces.trace import RejectedRow, Trace, TraceRow, collect


def import_trace(
    file_format: str,
    path: str | Path | Sequence[str | Path],
    *,
    throughputs: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    time_format: str | None = None,
) -> Trace:
    """Read a trace; its report counts the dropped and changed rows.

    Parameters
    ----------
    file_format : str
        A name of `FORMATS`, such as philly-csv.
    path : str, Path or sequence of them
        The trace, also .gz; of "pai" also its raw tables, several files or their folder.
    throughputs : str or Path, optional
        Gavel's JSON of steps a second, by GPU type and job type, which "gavel" needs where a row
        states steps and no duration.
    columns : mapping, optional
        For "csv": the column of some roles (`MAPPED`); others are found by the names in `COLUMNS`
        of `optsched.online.traces.cells`.
    time_format : str, optional
        For "csv": format of its dates, as of `datetime.strptime`.

    Returns
    -------
    Trace
        The jobs, and the report.

    Raises
    ------
    InputError
        For an unknown format, a file that cannot be read, or one without a usable job.

    Examples
    --------
    >>> rows = '''timestamp,duration,num_gpus,cluster
    ... 2026-01-05 09:00:00,5400,8,vision
    ... '''
    >>> _ = Path("trace.csv").write_text(rows)
    >>> import_trace("philly-csv", "trace.csv").gpus.tolist()
    [8]
    """
    paths = [path] if isinstance(path, str | Path) else list(path)
    source = ", ".join(map(str, paths))
    return collect(rows_of(file_format, paths, throughputs, columns, time_format), source)


def rows_of(
    file_format: str,
    paths: Sequence[str | Path],
    throughputs: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    time_format: str | None = None,
) -> Iterator[TraceRow | RejectedRow]:
    if file_format not in FORMATS:
        raise InputError("import", "format", shown(file_format), f"one of {', '.join(FORMATS)}")
    if throughputs is not None and file_format != "gavel":
        raise InputError("import", "throughputs", shown(str(throughputs)), "the format gavel")
    if (columns or time_format) and file_format != "csv":
        raise InputError("import", file_format, "--map or --time-format", "the format csv")
    if unknown := next((role for role in columns or () if role not in MAPPED), None):
        raise InputError("import", "--map", shown(unknown), suggestion(unknown, MAPPED))
    first = paths[0] if paths else ""
    tables = len(paths) != 1 or os.path.isdir(first)
    if file_format == "pai" and (tables or table_of_pai(first)):
        return read_pai_tables(paths, ", ".join(map(str, paths)))
    if len(paths) != 1:
        raise InputError("import", file_format, f"{len(paths)} files", "one")
    readers = {"swf": read_swf, "philly-json": read_philly_json, "kubernetes": read_kubernetes}
    if file_format in readers:
        return readers[file_format](first)
    if file_format == "gavel":
        return read_gavel(first, throughputs)
    return read_csv(file_format, first, columns, time_format)


def workload_of_trace(
    trace: Trace,
    *,
    seed: int = 0,
    reference: OnlineCluster | None = None,
    all_reduce: str = "ring",
) -> tuple[Workload, Catalogue]:
    """Assign each group of a trace a model and a configuration for its GPU count.

    Iterations are the duration over alpha~ on the reference cluster (a-srpt, V-A 1-b). The draw
    depends on (seed, group, GPUs) alone.

    Parameters
    ----------
    trace : Trace
        A trace of `import_trace`.
    seed : int, optional
        Seed of every random choice.
    reference : OnlineCluster, optional
        Cluster whose NIC turns durations into iterations; by default 250 x 8 at 10 Gbit/s.
    all_reduce : str, optional
        "ring" or "double-tree".

    Returns
    -------
    tuple[Workload, Catalogue]
        The workload and its catalogue.

    Examples
    --------
    >>> rows = '''timestamp,duration,num_gpus,cluster
    ... 2026-01-05 09:00:00,5400,8,vision
    ... '''
    >>> _ = Path("trace.csv").write_text(rows)
    >>> workload, _ = workload_of_trace(import_trace("philly-csv", "trace.csv"))
    >>> workload.gpus.tolist()
    [8]
    """
    drawer = ConfigurationDrawer(seed, reference or OnlineCluster.of(), all_reduce)
    base = int(trace.gpus.max(initial=0)) + 1
    codes = trace.group.codes.astype(np.int64)
    pairs, pair = np.unique(codes * base + trace.gpus, return_inverse=True)
    groups = [trace.group.values[code] for code in pairs // base]
    drawn, index = drawer.draw(groups, pairs % base)
    alpha = np.array([configuration.estimate for configuration in drawn])[index][pair]
    workload = Workload(
        trace.name,
        trace.job_id,
        trace.submit,
        trace.gpus,
        trace.duration / alpha,
        trace.user,
        trace.group,
        Labels.of([drawn[i].key for i in index[pair].tolist()]),
        trace.walltime,
        trace.start,
    )
    workload.check()
    report = asdict(trace.report)
    return workload, drawer.catalogue(
        {"importer": "optsched import", "seed": seed, "report": report}
    )


MAX_TRIED_ROWS = 5_000


@dataclass(frozen=True)
class Explanation:
    """Which jobs an importer finds, or why none; `rank` is None if none, larger for better fits."""

    name: str
    reason: str
    rank: int | None = None


def explain_trace(path: str | Path) -> list[Explanation]:
    """Try each importer on the first rows of a file; the best comes first."""
    rows = [_explanation(name, path) for name in FORMATS]
    return sorted(rows, key=lambda row: -1 if row.rank is None else row.rank, reverse=True)


def _explanation(name: str, path: str | Path) -> Explanation:
    try:
        report = collect(islice(rows_of(name, [path]), MAX_TRIED_ROWS), str(path)).report
        dropped = "; ".join(report.reasons(report.dropped))
        reason = f"{report.kept} of the first {report.rows} rows are jobs"
        reason += f" (not {dropped})" if dropped else ""
        if name not in LAYOUTS:
            return Explanation(name, reason, 2)
        table = open_table(path)
    except InputError as error:
        return Explanation(name, f"{error.where}: {error.message}".removeprefix(": "))
    used = ", ".join(f"{role}={table.header[at]}" for role, at in table.positions.items())
    rank = 2 * own_columns(name, table.positions) or int(name == "csv")
    return Explanation(name, f"{reason}; columns {used}", rank)
