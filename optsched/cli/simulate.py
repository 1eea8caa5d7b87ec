"""The command that simulates policies on a workload, and those that make workloads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from optsched.cli.settings import Json, Seed, print_json, require_folder
from optsched.errors import InputError, shown
from optsched.outputs import require_file, require_outputs
from optsched.writing import STANDARD_OUTPUT

DONE, BROKEN, INTERRUPTED = 0, 1, 130
TRACE_FORMATS = (
    "pai", "philly-csv", "philly-json", "helios", "muri", "chronus", "gavel", "swf"
)  # fmt: skip
ClusterFile = Annotated[str | None, typer.Option("--cluster", metavar="FILE", help="cluster.json.")]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(simulate)


def simulate(
    workload: Annotated[
        str,
        typer.Argument(metavar="WORKLOAD", help="workload.csv or .parquet, a folder, or a name."),
    ],
    policy: Annotated[str, typer.Option("--policy", metavar="P[,P...]", help="Or all, paper.")],
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster", metavar="FILE", help="By default cluster.json beside the workload."
        ),
    ] = None,
    catalogue: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="By default catalogue.json beside the workload."),
    ] = None,
    predictor: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="forest, group-mean, group-median, log-forest, constant, perfect, or online-*. "
            "Fitted ones learn from the training share and the rest is simulated.",
        ),
    ] = "online-group-mean",
    training_share: Annotated[
        float | None,
        typer.Option(metavar="X", help="Default 0.8; 0 for perfect and online-*."),
    ] = None,
    refit_interval: Annotated[
        float | None, typer.Option(metavar="S", help="Seconds between refits of online-*.")
    ] = None,
    offer: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="most, least, first-fit, adaptive or best-fit-last, for every policy; by default "
            "each its own (a-srpt adaptive, baselines most).",
        ),
    ] = None,
    tau: Annotated[float, typer.Option(help="The delay's window is tau L.")] = 100.0,
    comm_heavy: Annotated[float, typer.Option(help="Heavy from alpha^max/alpha~ on.")] = 1.5,
    hold: Annotated[
        str | None, typer.Option(metavar="none|window|inf", help="By default the policy's own.")
    ] = None,
    slot: Annotated[float, typer.Option(metavar="S", help="Events act at its multiples.")] = 0.0,
    records: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write the records: .csv, .parquet, or one policy's as .json for "
            "`optsched check`.",
        ),
    ] = None,
    bound: Annotated[bool, typer.Option("--bound", help="Bound the total flow.")] = False,
    audit: Annotated[bool, typer.Option("--audit", help="Audit every run.")] = False,
    seed: Seed = 0,
    as_json: Json = False,
) -> int:
    """Simulate policies on a workload, and say how far from optimal they can be at most."""
    from optsched.cli import show_online
    from optsched.cli.show import note
    from optsched.extras import require_extras
    from optsched.online.data.jobs import prepare_jobs
    from optsched.online.policies.by_name import Settings
    from optsched.online.prediction.predictors import predict, predictor_extras, report
    from optsched.online.record_files import is_run_file, require_one_run, write_records, write_run

    names = _policies(policy)
    settings = Settings(tau, comm_heavy, offer, hold, slot)  # type: ignore[arg-type]
    if as_json:
        require_file(records, "standard output takes what --json prints")
    files = _files(workload, cluster, catalogue)
    require_outputs([records], files)
    require_extras([*predictor_extras(predictor), *_table_extras(records)])
    instance = _load(*files)
    require_one_run(records, names, len(instance.workload))
    jobs = prepare_jobs(instance.workload, instance.catalogue, instance.cluster)
    if jobs.replaced:
        note(f"{jobs.replaced} jobs ask for other GPUs than their configuration: one stage each")
    prediction = predict(
        jobs,
        predictor,
        training_share=training_share,
        refit_interval=refit_interval,
        seed=seed,
    )
    runs, interrupted = show_online.simulated(prediction, names, settings, bound, audit)
    if records is not None and is_run_file(records):
        said = {"predictor": predictor, "training_share": training_share}
        said |= {"refit_interval": refit_interval, **settings.to_dict()}
        for run in runs:
            write_run(records, run.records, instance, said, seed)
    elif records is not None:
        write_records(records, [run.records for run in runs])
    if as_json:
        extra = {"predictor": predictor, "training_jobs": prediction.training_jobs, "seed": seed}
        print_json([{**run.to_dict(), **extra} for run in runs])
    elif records != STANDARD_OUTPUT:
        show_online.prediction_line(report(prediction), prediction.fits)
        show_online.runs_table(runs)
    if interrupted:
        return INTERRUPTED
    return BROKEN if any(run.violations for run in runs) else DONE


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
    require_extras(_table_extras(output))
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


def _files(workload: str, cluster: str | None, catalogue: str | None) -> tuple[Path, Path, Path]:
    """The workload's table, catalogue and cluster."""
    from optsched.library import WORKLOAD, workload_folder

    named = workload_folder(workload)
    table = Path(workload) if named is None else named / WORKLOAD
    if os.path.isdir(table) or not os.path.exists(table):  # it may be a pipe
        wanted = "a workload: a file, its folder or a name of `optsched instances list`"
        raise InputError(workload, "", "no such file", wanted)
    return (
        table,
        Path(catalogue or table.parent / "catalogue.json"),
        Path(cluster or table.parent / "cluster.json"),
    )


def _load(table: Path, catalogue: Path, cluster: Path) -> Any:
    """The workload, under its file's name, with its catalogue and cluster."""
    from optsched.online.data.catalogue import read_catalogue
    from optsched.online.data.cluster import read_cluster
    from optsched.online.data.workload_files import read_workload
    from optsched.online.instance import OnlineInstance

    machine, models = read_cluster(cluster), read_catalogue(catalogue)
    return OnlineInstance(read_workload(table), models, machine)


def _table_extras(path: str | None) -> list[str]:
    """What writing a table takes, by its ending."""
    if path is not None and path.endswith((".parquet.gz", ".parquet/")):
        raise InputError(path, "", "a compressed parquet", ".parquet, .csv or .csv.gz")
    return ["pyarrow"] if path is not None and path.endswith(".parquet") else []


def _shape_like(workload: str, cluster: Any) -> Any:
    from optsched.generators.workload import shape_of
    from optsched.online.data.catalogue import read_catalogue
    from optsched.online.data.jobs import prepare_jobs
    from optsched.online.data.workload_files import read_workload

    models = read_catalogue(Path(workload).parent / "catalogue.json")
    jobs = prepare_jobs(read_workload(workload), models, cluster)
    return shape_of(jobs.workload, jobs.iterations * jobs.estimate, cluster)


def _policies(text: str) -> list[str]:
    from optsched.online.policies.by_name import PAPER, POLICIES, find_policy

    if text == "all":
        return list(POLICIES)
    if text == "paper":
        return list(PAPER)
    names = [name.strip() for name in text.split(",")]
    for name in names:
        find_policy(name)
    return names
