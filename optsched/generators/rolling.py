"""Rolling instances as in sts, VII-A3: nodes and jobs as for selection, and arrivals.

From the paper: everything that `generators.selection` takes from it, ten jobs per node, and three
kinds of arrivals. "exponential": mean inter-arrival time 50,000 s / nodes. "poisson-high": Poisson
arrivals of rate eps n m, with eps = 0.4, n = nodes x the most GPUs a job can get, and m = one over
the jobs' mean expected time in their fastest configuration (eps kappa lambda in the paper).
"poisson-low": a quarter of that rate.

With "load" the arrivals are Poisson, and the offered load equals `load`: rate x E[W x seconds per
epoch on one GPU of speed 1] / sum of GPU speeds, where the speed of a type is the jobs' mean speed
on it relative to the slowest type.

Arrivals may also come from a trace. It is a CSV file with the columns ``submit_time`` and,
optionally, ``duration``, ``gpus`` and ``due_date`` (seconds on one clock; rows without a positive
duration and GPU count are dropped), or a file that `optsched import` reads, of which Chronus's have
due dates. The jobs' networks, memory, weights and speed-ups are drawn as above. A duration becomes
the job's expected time on its GPUs of its slowest type; a job with more GPUs than a node takes that
many times longer. A job without a due date in the trace keeps its quantile in the range of (31).
For selection the trace's jobs are a queue at the last submission, and none has started.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil, isnan
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from optsched.declared import Between, Seed, flag, require_declared
from optsched.errors import InputError, shown
from optsched.generators.arguments import checked
from optsched.generators.selection import GPUS, SelectionSettings, generate_selection
from optsched.generators.selection import due_dates as due_dates
from optsched.io.numerals import parse_real
from optsched.io.reading import csv_rows
from optsched.online.traces.importing import import_trace
from optsched.online.traces.trace import MAX_ROWS
from optsched.rolling.instance import SCHEMA, RollingInstance
from optsched.rolling.metrics import offered_load
from optsched.schema import LARGEST
from optsched.selection.instance import SCHEMA as SELECTION_SCHEMA
from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions

Arrivals = Literal["exponential", "poisson-high", "poisson-low", "load"]
MEAN_GAP = 50_000.0
"""Seconds between two arrivals on one node (sts, VII-A3)."""
EPSILON = 0.4
"""eps of the Poisson arrivals (sts, VII-A3)."""
JOBS_PER_NODE = 10


@dataclass(frozen=True)
class RollingGenerator:
    """Settings of a generated workload.

    Attributes
    ----------
    cluster : SelectionSettings
        Nodes and jobs; `interval` is H.
    arrivals : str
        Arrival process of sts, or "load": Poisson arrivals at the option `load`.
    load : float
        Work that arrives over work the cluster can do; for arrivals "load".
    a100_speed : float
        Factor on the A100's speed; 1: six times the K80's.
    gpu_types : tuple of str
        GPU types of the cluster; due dates (31) follow from the times on them.
    reconfiguration_delay : float
        Seconds without progress when a job starts, moves or is resized.
    kinds : int
        Number of kinds of jobs, 0: all jobs differ. Jobs of a kind have equal memory, epoch times
        and distribution of epochs, and the file names their kind.
    """

    cluster: SelectionSettings
    arrivals: Arrivals = "exponential"
    load: Annotated[float, Between(1e-3, 100)] = 0.5
    a100_speed: Annotated[float, Between(0.05, 20)] = 1.0
    gpu_types: tuple[Literal["K80", "M60", "A100"], ...] = ("K80", "M60", "A100")
    reconfiguration_delay: Annotated[float, Between(0, 1e6)] = 0.0
    kinds: Annotated[int, Between(0, 100_000)] = 0

    def __post_init__(self) -> None:
        require_declared("generate rolling", self, flag)
        if not self.gpu_types:
            raise InputError("generate rolling", "--gpu-types", "no type", "types of GPUs")


def rolling_settings(nodes: int = 10, **changes: Any) -> RollingGenerator:
    """Settings with the paper's ten jobs per node; other names go to the matching class."""
    names = [name for name in changes if name in RollingGenerator.__dataclass_fields__]
    settings = {name: changes.pop(name) for name in names}
    cluster = SelectionSettings(nodes=nodes, jobs=JOBS_PER_NODE * nodes, sharing=False)
    return RollingGenerator(replace(cluster, **changes), **settings)


@checked("generate rolling")
def generate_rolling(
    settings: RollingGenerator,
    *,
    seed: Seed = 0,
    name: str | None = None,
    submit_times: Sequence[float] | None = None,
) -> RollingInstance:
    """Generate one workload; equal arguments give equal instances.

    Parameters
    ----------
    settings : RollingGenerator
        Nodes, jobs and arrivals.
    seed : int
        Seed of every random choice.
    name : str, optional
        Name of the instance; by default one that states its arguments.
    submit_times : sequence of float, optional
        Submission times, seconds, one per job, instead of drawn arrivals.

    Returns
    -------
    RollingInstance
        The instance.

    Examples
    --------
    >>> instance = generate_rolling(rolling_settings(4, jobs=8), seed=1)
    >>> len(instance.nodes), len(instance.jobs)
    (4, 8)
    """
    cluster = settings.cluster
    if submit_times is not None and len(submit_times) != cluster.jobs:
        found, expected = f"{len(submit_times)} times", f"{cluster.jobs}, one per job"
        raise InputError("generate rolling", "submit_times", found, expected)
    all_types = set(settings.gpu_types) == {gpu.name for gpu in GPUS}
    nodes = cluster.nodes if all_types else len(GPUS) * cluster.nodes
    document = generate_selection(replace(cluster, nodes=nodes), seed=seed).to_dict()
    if settings.kinds:
        _repeat_kinds(document, settings, np.random.default_rng([seed, 2]))
    if not all_types:
        _keep_types(document, settings)
    _scale_a100(document, settings.a100_speed)
    kind: str = settings.arrivals if submit_times is None else "trace"
    if kind == "load":
        kind = f"load{settings.load:g}"
    times = submit_times
    if times is None:
        base = SelectionInstance.from_dict(document, "generate rolling")
        gaps = np.random.default_rng([seed, 1]).exponential(size=len(base.jobs))
        times = np.cumsum(gaps * _mean_gap(settings, base)).tolist()
    for job, submit in zip(document["jobs"], times, strict=True):
        job["submit_time"] = round(float(submit), 3)
        job["due_date"] = round(job["due_date"] + job["submit_time"], 3)
    document |= {
        "schema": SCHEMA,
        "provenance": {
            "generator": "optsched generate rolling",
            "seed": seed,
            **{k: v for k, v in asdict(cluster).items() if v is not None},
            **{k: v for k, v in vars(settings).items() if k not in ("cluster", "kinds")},
            **({"kinds": settings.kinds} if settings.kinds else {}),
            "arrivals": settings.arrivals if submit_times is None else "a trace",
            "gpu_types": list(settings.gpu_types),
        },
        "name": name or f"{cluster.nodes}x{cluster.jobs}-{kind}-s{seed}",
        "reconfiguration_delay": settings.reconfiguration_delay,
    }
    return RollingInstance.from_dict(document, "generate rolling")


def _keep_types(document: dict[str, Any], settings: RollingGenerator) -> None:
    """Keep only some GPU types; due dates are rescaled to the range (31) of the remaining types."""
    cluster = settings.cluster
    nodes = [node for node in document["nodes"] if node["gpu_type"] in settings.gpu_types]
    document["nodes"] = nodes[: cluster.nodes]
    present = {node["gpu_type"] for node in document["nodes"]}
    for job in document["jobs"]:
        before = due_dates(job, cluster.sharing)
        job["epoch_time"] = {name: t for name, t in job["epoch_time"].items() if name in present}
        _move_due_date(job, before, cluster.sharing)


def _repeat_kinds(
    document: dict[str, Any], settings: RollingGenerator, rng: np.random.Generator
) -> None:
    """Make each job one of the first jobs again; its weight and its place in (31) are its own."""
    names = ("memory_bytes", "epochs", "epoch_time")
    kinds = [{key: job[key] for key in names} for job in document["jobs"][: settings.kinds]]
    for job in document["jobs"]:
        kind, before = int(rng.integers(len(kinds))), due_dates(job, settings.cluster.sharing)
        job |= {**kinds[kind], "epoch_time": dict(kinds[kind]["epoch_time"]), "kind": f"k{kind}"}
        _move_due_date(job, before, settings.cluster.sharing)


def _move_due_date(job: dict[str, Any], before: tuple[float, float], sharing: bool) -> None:
    """Keep the due date's place in (31) when the job's times have changed."""
    earliest, latest = due_dates(job, sharing)
    share = (job["due_date"] - before[0]) / (before[1] - before[0] or 1.0)
    job["due_date"] = earliest + share * (latest - earliest)


def _scale_a100(document: dict[str, Any], factor: float) -> None:
    """Change the A100's speed; due dates are not changed."""
    for job in document["jobs"] if factor != 1 else ():
        times = job["epoch_time"].get("A100")
        if times is not None:
            job["epoch_time"]["A100"] = [round(t / factor, 6) for t in times]


def _mean_gap(settings: RollingGenerator, base: SelectionInstance) -> float:
    if settings.arrivals == "exponential":
        return MEAN_GAP / settings.cluster.nodes
    if settings.arrivals == "load":
        return offered_load(base, mean_interarrival=1.0) / settings.load
    from optsched.selection.cost import tables_of

    tables = tables_of(base, SelectionOptions(sharing="off"))
    fastest = tables.expected.reshape(tables.jobs, -1).min(axis=1).mean()
    high = EPSILON * settings.cluster.nodes * settings.cluster.gpus_per_node / fastest
    return float(1 / (high if settings.arrivals == "poisson-high" else high / 4))


@dataclass(frozen=True)
class TraceRow:
    """A job of a trace; times in seconds, None where the trace has none."""

    submit_time: float
    duration: float | None = None
    gpus: float = 1
    due_date: float | None = None


def read_trace(
    path: str | Path, *, max_jobs: int | None = None, file_format: str | None = None
) -> tuple[TraceRow, ...]:
    """Read the first `max_jobs` jobs of a trace, by submit time counted from the first."""
    if max_jobs is not None and max_jobs < 1:
        raise InputError("generate", "--jobs", shown(max_jobs), "a number from 1 up")
    if file_format is not None:
        trace = import_trace(file_format, path)
        due = np.full(len(trace), np.nan) if trace.due is None else trace.due
        columns = (trace.submit, trace.duration, trace.gpus, due)
        imported = zip(*(column[:max_jobs].tolist() for column in columns), strict=True)
        return tuple(
            TraceRow(submit, time, gpus, None if isnan(due) else due)
            for submit, time, gpus, due in imported
        )
    rows = sorted(_rows(path), key=lambda row: row.submit_time)[:max_jobs]
    if not rows:
        raise InputError(str(path), "", "no job", "at least one")
    begin = rows[0].submit_time
    return tuple(
        replace(
            row,
            submit_time=row.submit_time - begin,
            due_date=None if row.due_date is None else row.due_date - begin,
        )
        for row in rows
    )


def _rows(path: str | Path) -> list[TraceRow]:
    """The jobs of a CSV file, without those of no duration or no GPU."""
    source, lines = str(path), csv_rows(path)
    _, header = next(lines, (1, []))
    if "submit_time" not in header:
        raise InputError(source, "line 1", shown(header), "a column submit_time")
    rows = []
    for line, cells in lines:
        if len(cells) != len(header):
            expected = f"{len(header)} cells, as in line 1"
            raise InputError(source, f"line {line}", f"{len(cells)} cells", expected)
        numbers: dict[str, float] = {}
        for name, text in zip(header, cells, strict=True):
            if name in TraceRow.__dataclass_fields__ and (text or name != "due_date"):
                value = parse_real(text)
                if value is None or not abs(value) <= LARGEST:
                    location = f"line {line}, {name}"
                    raise InputError(source, location, shown(text), "a finite number")
                numbers[name] = value
        if numbers.get("duration", 1.0) > 0 and numbers.get("gpus", 1.0) > 0:
            rows.append(TraceRow(**numbers))
        if len(rows) > MAX_ROWS:
            raise InputError(source, f"line {line}", "more rows", f"at most {MAX_ROWS}")
    return rows


def generate_from_trace(
    settings: RollingGenerator, rows: Sequence[TraceRow], *, seed: int = 0, name: str | None = None
) -> RollingInstance:
    """Generate a workload with one job per row, with its arrival, duration and due date."""
    times = [row.submit_time for row in rows]
    cluster = replace(settings.cluster, jobs=len(times))
    settings = replace(settings, cluster=cluster)
    name = name or f"{cluster.nodes}x{cluster.jobs}-trace-s{seed}"
    document = generate_rolling(settings, seed=seed, name=name, submit_times=times).to_dict()
    for job, row in zip(document["jobs"], rows, strict=True):
        if row.duration is not None:
            _scale_times(job, row.duration, row.gpus)
        if row.due_date is not None:
            job["due_date"] = row.due_date
    return RollingInstance.from_dict(document, "generate rolling")


def generate_queue_from_trace(
    settings: SelectionSettings, rows: Sequence[TraceRow], *, seed: int = 0, name: str | None = None
) -> SelectionInstance:
    """Generate the queue of a trace's jobs at the last submission, as if none had started."""
    document = generate_from_trace(RollingGenerator(settings), rows, seed=seed, name=name).to_dict()
    del document["reconfiguration_delay"]
    for job in document["jobs"]:
        document["now"] = job.pop("submit_time")
    document["schema"] = SELECTION_SCHEMA
    document["provenance"]["generator"] = "optsched generate selection"
    return SelectionInstance.from_dict(document, "generate selection")


def _scale_times(job: dict[str, Any], duration: float, gpus: float) -> None:
    """Give a job this expected time on its GPUs; its due date keeps its place in (31)."""
    epochs, times = job["epochs"], job["epoch_time"]
    mean = sum(w * p for w, p in zip(epochs["values"], epochs["probabilities"], strict=True))
    used = min(ceil(gpus), max(map(len, times.values())))
    slowest = max(seconds[used - 1] for seconds in times.values())
    factor = duration * max(gpus / used, 1.0) / (mean * slowest)
    for kind in times:
        times[kind] = [t * factor for t in times[kind]]
    due_in = job["due_date"] - job["submit_time"]
    job["due_date"] = job["submit_time"] + due_in * factor
