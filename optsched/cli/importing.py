"""``optsched import FORMAT``: placements of profiles, packings of tables, workloads of traces; and
``optsched profile``, which measures a profile."""

import shlex
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Context, Option

from optsched import declared
from optsched.cli.exit_codes import DONE
from optsched.cli.generate import annotated_options, command_of, lazy_app, option
from optsched.cli.progress import StepProgress
from optsched.cli.settings import (
    InstanceName,
    OutputFile,
    Seed,
    read_offer,
    read_options,
    table_extras,
)
from optsched.cli.show import note, scaling_line
from optsched.declared import Between, require
from optsched.errors import InputError, one_line, require_extras
from optsched.external import imported
from optsched.files import write_document
from optsched.generators.placement import generate_placement, instance_from_profile
from optsched.io.outputs import require_file, require_outputs
from optsched.online.data.catalogue import write_catalogue
from optsched.online.data.cluster import OnlineCluster, read_cluster
from optsched.online.data.workload_files import write_workload
from optsched.online.traces import FORMATS
from optsched.online.traces.pai_tables import tables_in
from optsched.profiles import read_pipedream, write_pipedream
from optsched.verbs.generating import arguments_of, parameters_of

AllReduce = Annotated[Literal["ring", "double-tree"], Option(help="All-reduce algorithm.")]

REPLACED_BY_PROFILE = ("model", "gpus", "mini_batch", "tensor_parallel", "experts")
"""Arguments of the placement generator that a profile replaces."""
SUMMARIES = {
    "pipedream": "Import a PipeDream layer profile as a placement instance.",
    "openb": "Import a cluster's tables of nodes and tasks as a packing instance.",
    **{name: f"Import a {name} trace as a workload." for name in FORMATS},
}


def _command(name: str) -> Any:
    summary = SUMMARIES[name]
    if name in FORMATS:
        run = partial(_import_trace, name)
        return command_of(name, summary, annotated_options(_import_trace), run)
    if name == "openb":
        return command_of(name, summary, annotated_options(_import_openb), _import_openb)
    parameters = parameters_of(generate_placement)
    generated = [option(p) for p in parameters if p.name not in REPLACED_BY_PROFILE]
    options = [*annotated_options(_import_pipedream), *generated]
    return command_of(name, summary, options, _import_pipedream)


formats = lazy_app(lambda: SUMMARIES, _command)


@formats.callback(invoke_without_command=True)
def _explain(
    context: Context,
    explain: Annotated[
        str | None, Option(metavar="FILE", help="Report which importer fits a trace, and why.")
    ] = None,
) -> int:
    if context.invoked_subcommand is not None:
        return DONE
    if explain is None:
        raise InputError("import", "", "no format", "a format, or --explain FILE")
    from optsched.online.traces.importing import explain_trace

    if not Path(explain).exists():
        raise InputError(explain, "", "no such file", "a trace")
    rows = explain_trace(explain)
    for row in rows:
        print(
            f"{row.name} {'does not' if row.rank is None else 'reads it'}: {one_line(row.reason)}"
        )
    if rows[0].rank is None:
        expected = "a trace; for a table: --map submit=COLUMN,gpus=COLUMN,duration=COLUMN"
        raise InputError(explain, "", "a file that no importer reads", expected)
    print(f"best: optsched import {rows[0].name} {shlex.quote(explain)} -o FOLDER/workload.csv")
    return DONE


def _import_pipedream(
    file: Annotated[str, Argument(metavar="FILE", help="A graph.txt of PipeDream.")],
    gpus: Annotated[int, Option(metavar="N", help="GPUs of the job.")],
    servers: Annotated[str, Option(metavar="8,5,3", help="Free GPUs of each server.")],
    output: OutputFile,
    name: InstanceName = None,
    **values: Any,
) -> int:
    source = "import pipedream"
    require_outputs([output], [file])
    offer = read_offer(servers)
    if sum(offer) != gpus:
        raise InputError(source, "--servers", f"a sum of {sum(offer)}", f"--gpus {gpus}")
    set_values = {key: value for key, value in values.items() if value is not None}
    instance = instance_from_profile(
        read_pipedream(file),
        gpus,
        offer,
        **arguments_of(generate_placement, set_values, source, ""),
        name=name,
        provenance={"importer": f"optsched {source}"},
        source=file,
    )
    write_document(output, instance.to_dict())
    plan = "-".join(str(stage.replicas) for stage in instance.job.stages)
    note(
        f"wrote {output}: {instance.job.model}, replicas by stage {plan}; {scaling_line(instance)}"
    )
    return DONE


def _import_openb(
    nodes: Annotated[str, Argument(metavar="NODES", help="CSV of nodes, also as .gz.")],
    tasks: Annotated[str, Argument(metavar="TASKS", help="CSV of tasks, also as .gz.")],
    output: OutputFile,
    requested: Annotated[
        float,
        Option(
            metavar="X", help="Requested GPUs over the cluster's GPUs; 0: all tasks of the file."
        ),
    ] = 1.3,
    seed: Seed = 0,
    name: InstanceName = None,
) -> int:
    from optsched.packing.openb import read_openb

    require("import", "--seed", seed, declared.Seed)
    require_outputs([output], [nodes, tasks])
    instance = read_openb(nodes, tasks, requested=requested, seed=seed, name=name)
    write_document(output, instance.to_dict())
    size = f"{len(instance.arrivals)} tasks on {len(instance.nodes)} nodes"
    note(f"wrote {output}: {size}, {instance.facts()['requested']}")
    return DONE


def _import_trace(
    file_format: str,
    files: Annotated[
        list[str],
        Argument(
            metavar="FILE",
            help="Trace file, also as .gz. For pai: one job CSV, or the raw tables of jobs, tasks, "
            "groups and instances (several files, or their folder).",
        ),
    ],
    output: Annotated[str, Option("-o", metavar="FILE", help="Output file: .csv or .parquet.")],
    cluster: Annotated[str | None, Option(metavar="FILE", help="Reference cluster.")] = None,
    all_reduce: AllReduce = "ring",
    jobs: Annotated[int | None, Option(metavar="N", help="Keep only the first N jobs.")] = None,
    throughputs: Annotated[
        str | None,
        Option(
            metavar="FILE",
            help="For gavel: JSON of steps per second by GPU type and job type. Durations are "
            "steps / throughput of the job alone on V100s.",
        ),
    ] = None,
    column_map: Annotated[
        list[str] | None,
        Option(
            "--map",
            metavar="ROLE=COLUMN,...",
            help="For csv: columns with unrecognised names. Roles: submit, gpus, duration, user, "
            "group, model, due, walltime, start, end, wait, job, account.",
        ),
    ] = None,
    time_format: Annotated[
        str | None,
        Option(metavar="F", help='For csv: format of the dates, e.g. "%d/%m/%Y %H:%M".'),
    ] = None,
    seed: Seed = 0,
) -> int:
    import numpy as np

    from optsched.online.traces.importing import import_trace, workload_of_trace

    require("import", "--jobs", jobs, Annotated[int, Between(1, 2**53)] | None)
    require("import", "--seed", seed, declared.Seed)
    catalogue_file, cluster_file = (
        Path(output).parent / f"{name}.json" for name in ("catalogue", "cluster")
    )
    require_file(output, "the catalogue and the cluster are written beside it")
    require_outputs([output, catalogue_file], [*tables_in(files), cluster, throughputs])
    require_extras(table_extras(output))
    has_cluster = cluster_file.exists()
    reference_file = cluster or (cluster_file if has_cluster else None)
    reference = OnlineCluster.of() if reference_file is None else read_cluster(reference_file)
    source = files[0] if len(files) == 1 else files
    pairs = [pair.strip() for text in column_map or () for pair in text.split(",")]
    columns = read_options(pairs, "--map")
    trace = import_trace(
        file_format, source, throughputs=throughputs, columns=columns, time_format=time_format
    )
    for line in trace.report.lines():
        note(f"{trace.name}: {line}")
    workload, catalogue = workload_of_trace(
        trace, seed=seed, reference=reference, all_reduce=all_reduce
    )
    if jobs is not None:
        workload = workload.rows(np.arange(min(jobs, len(workload)), dtype=np.int64))
    write_workload(output, workload)
    write_catalogue(catalogue_file, catalogue)
    count = len(catalogue.models)
    note(f"wrote {output}: {len(workload)} jobs; {catalogue_file}: {count} configurations")
    size = f"servers: {reference.describe()}"
    if not has_cluster:
        write_document(cluster_file, reference.to_dict())
    note(f"{'kept existing' if has_cluster else 'wrote'} {cluster_file}: {size}")
    largest = int(workload.gpus.argmax())
    if workload.gpus[largest] > reference.gpus:
        count = int((workload.gpus > reference.gpus).sum())
        note(
            f"{count} of {len(workload)} jobs need more than the cluster's {reference.gpus} GPUs "
            f"(largest: {workload.job_id[largest]} with {workload.gpus[largest]}) and `simulate` "
            f"will reject them; increase `servers` in {cluster_file}"
        )
    return DONE


def profile(
    function: Annotated[
        str, Argument(metavar="MODULE:FUNCTION", help="Function without arguments.")
    ],
    output: OutputFile,
    repeats: Annotated[
        int, Option(metavar="N", help="Timed runs per layer; the median is kept.")
    ] = 10,
) -> int:
    """Time a PyTorch module layer by layer, for `optsched import pipedream`.

    FUNCTION returns a module and an example input: one mini-batch as a tensor, a tuple of
    positional arguments or a mapping of named ones. A GPU is used if there is one.
    """
    from optsched.profiles.profiler import profile_module

    require("profile", "--repeats", repeats, Annotated[int, Between(1, 10_000)])
    require_outputs([output])
    require_extras(["torch"])
    make = imported(function, "profile")
    try:
        module, example = make()
    except Exception as error:
        found = one_line(f"{type(error).__name__}: {error}")[:160]
        expected = "a function without arguments that returns (module, example input)"
        raise InputError("profile", function, found, expected) from None
    with StepProgress("profile", "layers") as bar:
        measured = profile_module(module, example, repeats=repeats, progress=bar)
    write_pipedream(output, measured)
    seconds = [layer.forward_time + layer.backward_time for layer in measured.layers]
    device, count = measured.provenance["device"], len(measured.layers)
    note(
        f"wrote {output}: {measured.model}, {count} layers, {1e3 * sum(seconds):.3g} ms on {device}"
    )
    return DONE
