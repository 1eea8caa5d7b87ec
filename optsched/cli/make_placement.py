"""Commands that make placement instances: generate, import."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from optsched.cli.settings import Bandwidth, Folder, OutputFile, Seed, read_offer, require_folder
from optsched.errors import InputError, shown
from optsched.placement.scaling import SLOWER

if TYPE_CHECKING:
    from optsched.placement.instance import PlacementInstance

DONE = 0

Batch = Annotated[
    str,
    typer.Option(help="per-gpu: an iteration has a mini-batch for each GPU; global: one in all."),
]
DeviceName = Annotated[
    str, typer.Option(metavar="NAME", help="The GPU: V100, A100, A100-TF32 or H100-TF32.")
]
Optimiser = Annotated[str, typer.Option(help="sgd or adam: 12 or 16 bytes a parameter.")]
Steps = Annotated[
    int | None, typer.Option(metavar="N", help="Parts in which a GPU's mini-batch passes.")
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


def register(generate: typer.Typer, importing: typer.Typer) -> None:
    """Add the commands to ``optsched generate`` and ``optsched import``."""
    generate.command("placement")(generate_placements)
    importing.command("pipedream")(import_pipedream)


def generate_placements(
    output: Folder,
    model: Annotated[str, typer.Option(metavar="NAME", help="A model of the zoo.")] = "VGG19",
    gpus: Annotated[int, typer.Option(metavar="N", help="GPUs of the job.")] = 16,
    stages: Annotated[
        int | None, typer.Option(metavar="S", help="Stages; by default the best plan's.")
    ] = None,
    all_reduce: Annotated[str, typer.Option(help="ring or double-tree.")] = "ring",
    gpus_per_server: Annotated[int, typer.Option(metavar="N")] = 8,
    inter_bandwidth: Bandwidth = 1.25e9,
    intra_bandwidth: Bandwidth = 3e11,
    batch: Batch = "per-gpu",
    device: DeviceName = "V100",
    optimiser: Optimiser = "adam",
    accumulation_steps: Steps = None,
    gpu_memory: Memory = None,
    oversized: Oversized = False,
    fewer_gpus: Fewer = False,
    count: Annotated[int, typer.Option(metavar="N", help="How many, from the seed on.")] = 1,
    name: Annotated[str | None, typer.Option(help="The instance's name; with --count 1.")] = None,
    seed: Seed = 0,
) -> int:
    """Placement instances: a zoo model cut into stages, on random offers of free GPUs."""
    from optsched.cli.show import note
    from optsched.files import write_document
    from optsched.generators.placement import Hardware, generate_placement
    from optsched.profiles import Training

    require_folder(output)
    if not 1 <= count <= 100_000:
        raise InputError("generate placement", "--count", shown(count), "1 to 100000")
    if not 0 <= seed < 2**63:
        raise InputError("generate placement", "--seed", shown(seed), "0 to 2^63 - 1")
    if name is not None and (count != 1 or not name or set(name) & set("/\\\0")):
        raise InputError("generate placement", "--name", shown(name), "a file name, --count 1")
    hardware = Hardware(gpus_per_server, inter_bandwidth, intra_bandwidth)
    training = Training(
        batch, device, fewer_gpus, optimiser, accumulation_steps, gpu_memory, oversized
    )
    for each in range(seed, seed + count):
        instance = generate_placement(
            model,
            gpus,
            stages=stages,
            all_reduce=all_reduce,
            hardware=hardware,
            training=training,
            seed=each,
            name=name,
        )
        path = Path(output) / f"{instance.name}.json"
        write_document(path, instance.to_dict())
        note(f"wrote {path}: {_said(instance)}")
    return DONE


def import_pipedream(
    file: Annotated[str, typer.Argument(metavar="FILE", help="PipeDream's graph.txt.")],
    gpus: Annotated[int, typer.Option(metavar="N", help="GPUs of the job.")],
    servers: Annotated[str, typer.Option(metavar="8,5,3", help="Free GPUs by server.")],
    output: OutputFile,
    stages: Annotated[
        int | None, typer.Option(metavar="S", help="Stages; by default the best plan's.")
    ] = None,
    all_reduce: Annotated[str, typer.Option(help="ring or double-tree.")] = "ring",
    gpus_per_server: Annotated[int, typer.Option(metavar="N")] = 8,
    inter_bandwidth: Bandwidth = 1.25e9,
    intra_bandwidth: Bandwidth = 3e11,
    batch: Batch = "per-gpu",
    device: DeviceName = "V100",
    optimiser: Optimiser = "adam",
    accumulation_steps: Steps = None,
    gpu_memory: Memory = None,
    oversized: Oversized = False,
    fewer_gpus: Fewer = False,
    name: Annotated[str | None, typer.Option(help="The instance's name.")] = None,
) -> int:
    """A placement instance of a measured layer profile."""
    from optsched.cli.show import note
    from optsched.files import write_document
    from optsched.generators.placement import Hardware, instance_from_profile
    from optsched.outputs import require_outputs
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
            batch, device, fewer_gpus, optimiser, accumulation_steps, gpu_memory, oversized
        ),
        provenance={"importer": "optsched import pipedream"},
        source=file,
    )
    write_document(output, instance.to_dict())
    plan = "-".join(str(stage.replicas) for stage in instance.job.stages)
    note(f"wrote {output}: {instance.job.model}, replicas by stage {plan}; {_said(instance)}")
    return DONE


def _said(instance: PlacementInstance) -> str:
    """What the plan gains over one GPU, and what it takes of each."""
    scaling, memory = instance.provenance["scaling"], instance.provenance["memory"]
    slower = f" ({SLOWER})" if scaling["speed_up"] < 1 else ""
    return (
        f"{instance.job.gpus} GPUs, speed-up {scaling['speed_up']:.2f}{slower}, efficiency "
        f"{100 * scaling['efficiency']:.0f}%, {1e-9 * memory['bytes_per_gpu']:.1f} GB a GPU"
    )
