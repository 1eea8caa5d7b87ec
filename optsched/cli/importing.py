"""``optsched import FORMAT``: layer profiles and job traces of others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from optsched.cli.exit_codes import DONE
from optsched.cli.settings import (
    Bandwidth,
    ClusterFile,
    OutputFile,
    Seed,
    read_offer,
    table_extras,
)
from optsched.declared import Between, require
from optsched.errors import InputError
from optsched.io.outputs import require_file, require_outputs
from optsched.placement.scaling import SLOWER

if TYPE_CHECKING:
    from optsched.placement.instance import PlacementInstance

AllReduce = Literal["ring", "double-tree"]
AllReduceOption = Annotated[AllReduce, typer.Option(help="ring or double-tree.")]
TRACE_FORMATS = (
    "pai", "philly-csv", "philly-json", "helios", "muri", "chronus", "gavel", "swf"
)  # fmt: skip


Batch = Annotated[
    Literal["per-gpu", "global"],
    typer.Option(help="per-gpu: an iteration has a mini-batch for each GPU; global: one in all."),
]
DeviceName = Annotated[
    str,
    typer.Option(metavar="NAME", help="The GPU: V100, A100, A100-TF32, A100-BF16 or H100-TF32."),
]
Optimiser = Annotated[
    Literal["sgd", "adam"], typer.Option(help="sgd or adam: 12 or 16 bytes a parameter.")
]
Steps = Annotated[
    int | None, typer.Option(metavar="N", help="Parts in which a GPU's mini-batch passes.")
]
MicroBatches = Annotated[
    int | None,
    typer.Option(metavar="M", help="Micro-batches (1F1B, with a flush); else asynchronous."),
]
Memory = Annotated[
    float | None, typer.Option(metavar="B", help="Bytes of a GPU; by default the device's.")
]
Oversized = Annotated[
    bool, typer.Option("--oversized", help="Accept a plan that a GPU's memory cannot hold.")
]
Fewer = Annotated[
    bool,
    typer.Option("--fewer-gpus", help="Use fewer GPUs than offered where that trains faster."),
]


def import_pipedream(
    file: Annotated[str, typer.Argument(metavar="FILE", help="PipeDream's graph.txt.")],
    gpus: Annotated[int, typer.Option(metavar="N", help="GPUs of the job.")],
    servers: Annotated[str, typer.Option(metavar="8,5,3", help="Free GPUs by server.")],
    output: OutputFile,
    stages: Annotated[
        int | None, typer.Option(metavar="S", help="Stages; by default the best plan's.")
    ] = None,
    all_reduce: AllReduceOption = "ring",
    gpus_per_server: Annotated[int, typer.Option(metavar="N", help="Of every server.")] = 8,
    inter_bandwidth: Bandwidth = 1.25e9,
    intra_bandwidth: Bandwidth = 3e11,
    batch: Batch = "per-gpu",
    device: DeviceName = "V100",
    optimiser: Optimiser = "adam",
    accumulation_steps: Steps = None,
    gpu_memory: Memory = None,
    oversized: Oversized = False,
    fewer_gpus: Fewer = False,
    micro_batches: MicroBatches = None,
    name: Annotated[str | None, typer.Option(help="The instance's name.")] = None,
) -> int:
    """A placement instance of a measured layer profile."""
    from optsched.cli.show import note
    from optsched.files import write_document
    from optsched.generators.placement import Hardware, instance_from_profile
    from optsched.io.outputs import require_outputs
    from optsched.profiles import Training, read_pipedream

    require_outputs([output], [file])
    offer = read_offer(servers)
    if sum(offer) != gpus:
        raise InputError(
            "import pipedream", "--servers", f"a sum of {sum(offer)}", f"--gpus {gpus}"
        )
    instance = instance_from_profile(
        read_pipedream(file),
        gpus,
        offer,
        stages=stages,
        all_reduce=all_reduce,
        name=name,
        hardware=Hardware(gpus_per_server, inter_bandwidth, intra_bandwidth),
        training=Training(
            batch,
            None,
            device,
            fewer_gpus,
            optimiser,
            accumulation_steps,
            gpu_memory,
            oversized,
            micro_batches=micro_batches,
        ),
        provenance={"importer": "optsched import pipedream"},
        source=file,
    )
    write_document(output, instance.to_dict())
    plan = "-".join(str(stage.replicas) for stage in instance.job.stages)
    note(
        f"wrote {output}: {instance.job.model}, replicas by stage {plan}; {scaling_line(instance)}"
    )
    return DONE


def scaling_line(instance: PlacementInstance) -> str:
    """What the plan gains over one GPU, and what it takes of each."""
    scaling, memory = instance.provenance["scaling"], instance.provenance["memory"]
    slower = f" ({SLOWER})" if scaling["speed_up"] < 1 else ""
    return (
        f"{instance.job.gpus} GPUs, speed-up {scaling['speed_up']:.2f}{slower}, efficiency "
        f"{100 * scaling['efficiency']:.0f}%, {1e-9 * memory['bytes_per_gpu']:.1f} GB a GPU"
    )


def importer(file_format: str) -> Any:
    """The command that imports one trace format."""

    def command(
        files: Annotated[
            list[str],
            typer.Argument(
                metavar="FILE",
                help="The trace; .gz is read too. Of pai a job CSV, or the raw job, task, group "
                "and instance tables: several files or their folder.",
            ),
        ],
        output: Annotated[
            str, typer.Option("-o", metavar="FILE", help="workload.csv or .parquet to write.")
        ],
        cluster: ClusterFile = None,
        all_reduce: AllReduceOption = "ring",
        jobs: Annotated[
            int | None, typer.Option(metavar="N", help="Only the first N in time order.")
        ] = None,
        seed: Seed = 0,
    ) -> int:
        return _import(file_format, files, output, cluster, all_reduce, jobs, seed)

    command.__doc__ = f"A workload of a {file_format} trace, and the catalogue beside it."
    return command


def _import(
    file_format: str,
    files: list[str],
    output: str,
    cluster: str | None,
    all_reduce: AllReduce,
    jobs: int | None,
    seed: int,
) -> int:
    import numpy as np

    from optsched.cli.show import note
    from optsched.extras import require_extras
    from optsched.files import write_document
    from optsched.online.data.catalogue import write_catalogue
    from optsched.online.data.cluster import OnlineCluster, read_cluster
    from optsched.online.data.workload_files import write_workload
    from optsched.online.traces.importing import import_trace, workload_of_trace
    from optsched.online.traces.pai_tables import tables_in

    require("import", "--jobs", jobs, Annotated[int, Between(1, 2**53)] | None)
    beside, machine = (Path(output).parent / f"{name}.json" for name in ("catalogue", "cluster"))
    require_file(output, "the catalogue and the cluster are written beside it")
    require_outputs([output, beside], [*tables_in(files), cluster])
    require_extras(table_extras(output))
    stands = machine.exists()
    given = cluster or (machine if stands else None)
    reference = OnlineCluster.of() if given is None else read_cluster(given)
    trace = import_trace(file_format, files[0] if len(files) == 1 else files)
    for line in trace.report.lines():
        note(f"{trace.name}: {line}")
    workload, catalogue = workload_of_trace(
        trace, seed=seed, reference=reference, all_reduce=all_reduce
    )
    if jobs is not None:
        workload = workload.rows(np.arange(min(jobs, len(workload)), dtype=np.int64))
    write_workload(output, workload)
    write_catalogue(beside, catalogue)
    note(f"wrote {output}: {len(workload)} jobs; {beside}: {len(catalogue.models)} configurations")
    size = f"{reference.servers} servers of {reference.gpus_per_server} GPUs"
    if not stands:
        write_document(machine, reference.to_dict())
    note(f"{'left' if stands else 'wrote'} {machine}: {size}")
    return DONE
