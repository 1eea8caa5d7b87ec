"""The command that makes makespan instances."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optsched.cli.settings import Folder, Seed, read_offer, require_folder
from optsched.errors import InputError, shown

DONE = 0


def register(generate: typer.Typer, importing: typer.Typer) -> None:
    """Add the command to ``optsched generate``."""
    generate.command("makespan")(generate_makespans)


def generate_makespans(
    output: Folder,
    jobs: Annotated[int, typer.Option(metavar="N", help="Jobs, in the paper's shares.")] = 160,
    servers: Annotated[int, typer.Option(metavar="S", help="Servers.")] = 20,
    contention: Annotated[str, typer.Option(help="mild or strong.")] = "mild",
    server_sizes: Annotated[
        str, typer.Option(metavar="4,8", help="GPUs per server, drawn uniformly.")
    ] = "4,8,16,32",
    largest_job: Annotated[int, typer.Option(metavar="G", help="GPUs of the largest job.")] = 32,
    slot: Annotated[float, typer.Option(metavar="S", help="Seconds per slot.")] = 1.0,
    progress: Annotated[str, typer.Option(help="floor or continuous.")] = "floor",
    horizon: Annotated[
        int | None, typer.Option(metavar="H", help="Slots; by default 1200 s, strong 4800 s.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The instance's name, with --count 1.")] = None,
    count: Annotated[int, typer.Option(metavar="N", help="How many, from seeds on.")] = 1,
    seed: Seed = 0,
) -> int:
    """Makespan instances: ring-all-reduce jobs as in sjf-bco, section 7, at any size."""
    from optsched.cli.show import note
    from optsched.files import write_document
    from optsched.generators.makespan import generate_makespan

    require_folder(output)
    if not 1 <= count <= 100_000 or (name is not None and count > 1):
        raise InputError("generate makespan", "--count", shown(count), "1 to 100000; 1 with --name")
    sizes = tuple(read_offer(server_sizes, "generate makespan", "--server-sizes"))
    for each in range(seed, seed + count):
        instance = generate_makespan(
            jobs, servers, contention=contention, server_sizes=sizes, largest_job=largest_job,
            slot=slot, progress=progress, horizon=horizon, seed=each, name=name,
        )  # fmt: skip
        path = Path(output) / f"{instance.name}.json"
        write_document(path, instance.to_dict())
        note(f"wrote {path}")
    return DONE
