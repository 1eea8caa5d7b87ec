"""Commands that make workloads: generate, and import by trace format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from optsched.cli.settings import ClusterFile, Seed, require_folder, table_extras
from optsched.errors import InputError, shown
from optsched.outputs import require_file, require_outputs

DONE = 0
TRACE_FORMATS = (
    "pai", "philly-csv", "philly-json", "helios", "muri", "chronus", "gavel", "swf"
)  # fmt: skip


def register(generate: typer.Typer, importing: typer.Typer) -> None:
    """Add the commands to ``optsched generate`` and ``optsched import``."""
    generate.command("workload")(generate_workloads)
    for name in TRACE_FORMATS:
        importing.command(name)(importer(name))


def generate_workloads(
    output: Annotated[str, typer.Option("-o", metavar="DIR", help="Folder to write into.")],
    jobs: Annotated[int, typer.Option(metavar="N")] = 1000,
    servers: Annotated[int, typer.Option(metavar="M")] = 250,
    gpus_per_server: Annotated[int, typer.Option(metavar="N")] = 8,
    load: Annotated[float | None, typer.Option(help="Default 0.8, or the trace's.")] = None,
    single_gpu_share: Annotated[float | None, typer.Option(help="Default 0.7.")] = None,
    recurring_share: Annotated[float | None, typer.Option(help="Default 0.65.")] = None,
    jobs_per_group: Annotated[float | None, typer.Option(help="Default 25.")] = None,
    zipf: Annotated[float | None, typer.Option(help="Exponent of group sizes; 1.1.")] = None,
    group_spread: Annotated[float | None, typer.Option(help="Default 0.3.")] = None,
    exact_share: Annotated[float | None, typer.Option(help="Default 0.3.")] = None,
    inter_bandwidth: Annotated[float, typer.Option(metavar="B", help="Bytes/s.")] = 1.25e9,
    intra_bandwidth: Annotated[float, typer.Option(metavar="B", help="Bytes/s.")] = 3e11,
    all_reduce: Annotated[str, typer.Option(help="ring or double-tree.")] = "ring",
    like: Annotated[
        str | None, typer.Option(metavar="WORKLOAD", help="Match this workload's statistics.")
    ] = None,
    count: Annotated[int, typer.Option(metavar="N", help="How many, from the seed on.")] = 1,
    seed: Seed = 0,
) -> int:
    """Workloads with recurring groups: workload.csv, catalogue.json and cluster.json."""
    from dataclasses import replace

    from optsched.cli.show import note
    from optsched.files import write_document
    from optsched.generators.workload import WorkloadShape, generate_workload
    from optsched.online.data.catalogue import write_catalogue
    from optsched.online.data.cluster import OnlineCluster
    from optsched.online.data.workload_files import write_workload

    if not 1 <= count <= 10_000:
        raise InputError("generate workload", "--count", shown(count), "1 to 10000")
    folders = {
        each: Path(output) if count == 1 else Path(output) / f"seed-{each}"
        for each in range(seed, seed + count)
    }
    require_folder(output)
    read = () if like is None else (like, Path(like).parent / "catalogue.json")
    names = ("workload.csv", "catalogue.json", "cluster.json")
    require_outputs((folder / name for folder in folders.values() for name in names), read)
    cluster = OnlineCluster.of(servers, gpus_per_server, inter_bandwidth, intra_bandwidth)
    shape = WorkloadShape() if like is None else _shape_like(like, cluster)
    chosen = {
        "load": load,
        "single_gpu_share": single_gpu_share,
        "recurring_share": recurring_share,
        "jobs_per_group": jobs_per_group,
        "zipf": zipf,
        "group_spread": group_spread,
        "exact_share": exact_share,
    }
    given: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    shape = replace(shape, **given)
    for each, folder in folders.items():
        made, catalogue = generate_workload(jobs, cluster, shape, seed=each, all_reduce=all_reduce)
        write_workload(folder / "workload.csv", made)
        write_catalogue(folder / "catalogue.json", catalogue)
        write_document(folder / "cluster.json", cluster.to_dict())
        note(f"wrote {folder}: {len(made)} jobs, {len(catalogue.models)} configurations")
    return DONE


def importer(file_format: str) -> Any:
    """The command that imports one trace format."""

    def command(
        file: Annotated[str, typer.Argument(metavar="FILE", help="The trace; .gz is read too.")],
        output: Annotated[
            str, typer.Option("-o", metavar="FILE", help="workload.csv or .parquet to write.")
        ],
        cluster: ClusterFile = None,
        all_reduce: Annotated[str, typer.Option(help="ring or double-tree.")] = "ring",
        jobs: Annotated[
            int | None, typer.Option(metavar="N", help="Only the first N in time order.")
        ] = None,
        seed: Seed = 0,
    ) -> int:
        return _import(file_format, file, output, cluster, all_reduce, jobs, seed)

    command.__doc__ = f"A workload of a {file_format} trace, and the catalogue beside it."
    return command


def _import(
    file_format: str,
    file: str,
    output: str,
    cluster: str | None,
    all_reduce: str,
    jobs: int | None,
    seed: int,
) -> int:
    import numpy as np

    from optsched.cli.show import note
    from optsched.extras import require_extras
    from optsched.online.data.catalogue import write_catalogue
    from optsched.online.data.cluster import read_cluster
    from optsched.online.data.workload_files import write_workload
    from optsched.online.traces.importing import import_trace, workload_of_trace

    if all_reduce not in ("ring", "double-tree"):
        raise InputError("import", "--all-reduce", shown(all_reduce), "ring or double-tree")
    if jobs is not None and jobs < 1:
        raise InputError("import", "--jobs", shown(jobs), "a number from 1 up")
    beside = Path(output).parent / "catalogue.json"
    require_file(output, "the catalogue is written beside it")
    require_outputs([output, beside], [file, cluster])
    require_extras(table_extras(output))
    reference = None if cluster is None else read_cluster(cluster)
    trace = import_trace(file_format, file)
    for line in trace.report.lines():
        note(f"{file}: {line}")
    workload, catalogue = workload_of_trace(
        trace, seed=seed, reference=reference, all_reduce=all_reduce
    )
    if jobs is not None:
        workload = workload.rows(np.arange(min(jobs, len(workload)), dtype=np.int64))
    write_workload(output, workload)
    write_catalogue(beside, catalogue)
    note(f"wrote {output}: {len(workload)} jobs; {beside}: {len(catalogue.models)} configurations")
    return DONE


def _shape_like(workload: str, cluster: Any) -> Any:
    from optsched.generators.workload import shape_of
    from optsched.online.data.catalogue import read_catalogue
    from optsched.online.data.jobs import prepare_jobs
    from optsched.online.data.workload_files import read_workload

    models = read_catalogue(Path(workload).parent / "catalogue.json")
    jobs = prepare_jobs(read_workload(workload), models, cluster)
    return shape_of(jobs.workload, jobs.iterations * jobs.estimate, cluster)
