"""Commands that make placement instances: generate, import."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optsched.cli.settings import Bandwidth, Folder, OutputFile, Seed, read_offer, require_folder
from optsched.errors import InputError, shown

DONE = 0


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
    count: Annotated[int, typer.Option(metavar="N", help="How many, from the seed on.")] = 1,
    name: Annotated[str | None, typer.Option(help="The instance's name; with --count 1.")] = None,
    seed: Seed = 0,
) -> int:
    """Placement instances: a zoo model cut into stages, on random offers of free GPUs."""
    from optsched.cli.show import note
    from optsched.files import write_document
    from optsched.generators.placement import Hardware, generate_placement

    require_folder(output)
    if not 1 <= count <= 100_000:
        raise InputError("generate placement", "--count", shown(count), "1 to 100000")
    if not 0 <= seed < 2**63:
        raise InputError("generate placement", "--seed", shown(seed), "0 to 2^63 - 1")
    if name is not None and (count != 1 or not name or set(name) & set("/\\\0")):
        raise InputError("generate placement", "--name", shown(name), "a file name, --count 1")
    hardware = Hardware(gpus_per_server, inter_bandwidth, intra_bandwidth)
    for each in range(seed, seed + count):
        instance = generate_placement(
            model,
            gpus,
            stages=stages,
            all_reduce=all_reduce,
            hardware=hardware,
            seed=each,
            name=name,
        )
        path = Path(output) / f"{instance.name}.json"
        write_document(path, instance.to_dict())
        note(f"wrote {path}")
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
    name: Annotated[str | None, typer.Option(help="The instance's name.")] = None,
) -> int:
    """A placement instance of a measured layer profile."""
    from optsched.cli.show import note
    from optsched.files import write_document
    from optsched.generators.placement import Hardware, instance_from_profile
    from optsched.outputs import require_outputs
    from optsched.profiles import read_pipedream

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
        provenance={"importer": "optsched import pipedream"},
        source=file,
    )
    write_document(output, instance.to_dict())
    plan = "-".join(str(stage.replicas) for stage in instance.job.stages)
    note(f"wrote {output}: {instance.job.model}, replicas by stage {plan}")
    return DONE
