"""The jobs and the cluster of a page: a workload, or a trace of any importer's format."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from optsched.arrays import Floats
from optsched.errors import InputError
from optsched.io.reading import csv_rows
from optsched.library import WORKLOAD, workload_folder
from optsched.online.data.catalogue import Catalogue, read_catalogue
from optsched.online.data.cluster import OnlineCluster, read_cluster
from optsched.online.data.jobs import prepare_jobs
from optsched.online.data.workload import COLUMNS, Labels, Workload
from optsched.online.data.workload_files import read_workload
from optsched.online.instance import OnlineInstance
from optsched.online.traces.importing import (
    explain_trace,
    import_trace,
    workload_of_trace,
)
from optsched.placement.instance import Job

Lengths = Literal["trace", "cost-model"]
"""How long a job runs: as the trace says, wherever it runs, or as the cost model of its place."""


def read_jobs(
    path: str, cluster: OnlineCluster | None = None, lengths: Lengths = "trace", seed: int = 0
) -> OnlineInstance:
    """Read a workload, by default on the cluster beside it, or a trace; raises InputError.

    Jobs larger than the cluster are left out. The provenance has the lengths and remarks.
    """
    file, imported = workload_file(path), cluster_beside(path)
    cluster = cluster or imported
    if cluster is None:
        raise InputError(path, "", "no cluster.json beside it", "--cluster FILE or --servers N")
    remarks: list[str] = []
    if _is_workload(file):
        workload = read_workload(file).in_row_order()
        catalogue = read_catalogue(file.parent / "catalogue.json")
        seconds = _lengths_of(workload, catalogue, imported or cluster)
    else:
        best = explain_trace(file)[0]
        if best.rank is None:
            expected = "a workload or a trace; see `optsched import --explain FILE`"
            found = "a file that no importer reads" if file.exists() else "no such file"
            raise InputError(path, "", found, expected)
        trace = import_trace(best.name, file)
        remarks = [f"read by `optsched import {best.name}`", *trace.report.lines()]
        workload, catalogue = workload_of_trace(trace, seed=seed, reference=cluster)
        seconds = trace.duration
    if lengths == "trace":
        workload, catalogue = placement_neutral(workload, seconds)
    fitting = np.flatnonzero(workload.gpus <= cluster.gpus)
    if not len(fitting):
        raise InputError(path, "", "no job that fits the cluster", "at least one")
    if too_large := len(workload) - len(fitting):
        remarks.append(f"left out {too_large} jobs that need more than {cluster.gpus} GPUs")
    name = file.resolve().parent.name if file.name == WORKLOAD else file.name
    provenance = {"lengths": lengths, "remarks": remarks}
    return OnlineInstance(workload.rows(fitting, name), catalogue, cluster, provenance)


def placement_neutral(workload: Workload, seconds: Floats) -> tuple[Workload, Catalogue]:
    """Return the jobs with these lengths on any servers: an iteration takes a second everywhere."""
    stage: dict[str, Any] = {"name": "any", "forward_time": 1.0, "backward_time": 0.0}
    stage |= dict.fromkeys(("input_bytes", "output_bytes", "parameter_bytes"), 0.0)
    models = {}
    for gpus in np.unique(workload.gpus).tolist():
        stages = [stage | {"replicas": gpus}]
        document = {"model": "any", "all_reduce": "ring", "stages": stages}
        models[str(gpus)] = Job.model_validate(document)
    labels = Labels.of([str(gpus) for gpus in workload.gpus.tolist()])
    return replace(workload, iterations=seconds, model=labels), Catalogue.of(models, {})


def workload_file(path: str) -> Path:
    """The table of a workload's folder or name, or the file itself."""
    folder = workload_folder(path)
    return Path(path) if folder is None else folder / WORKLOAD


def cluster_beside(path: str) -> OnlineCluster | None:
    """The cluster.json beside a workload."""
    file = workload_file(path)
    beside = file.parent / "cluster.json"
    return read_cluster(beside) if beside.exists() and _is_workload(file) else None


def _is_workload(file: Path) -> bool:
    with suppress(InputError):
        return file.suffix == ".parquet" or set(COLUMNS) <= {*next(csv_rows(file), (1, [""]))[1]}
    return False


def _lengths_of(workload: Workload, catalogue: Catalogue, reference: OnlineCluster) -> Floats:
    """Seconds of the jobs in the trace: on their best placement on the cluster of the import."""
    per_server = reference.gpus_per_server
    servers = max(reference.servers, -(-int(workload.gpus.max(initial=1)) // per_server))
    jobs = prepare_jobs(workload, catalogue, reference.model_copy(update={"servers": servers}))
    return np.asarray(jobs.iterations * jobs.estimate)
