"""The command that makes selection instances."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optsched.cli.settings import Folder, Seed, require_folder
from optsched.errors import InputError, shown

DONE = 0


def register(generate: typer.Typer, importing: typer.Typer) -> None:
    """Add the command to ``optsched generate``."""
    generate.command("selection")(generate_selections)


def generate_selections(
    output: Folder,
    nodes: Annotated[int, typer.Option(metavar="N", help="Nodes: K80, M60, A100 in turn.")] = 10,
    jobs: Annotated[
        int | None, typer.Option(metavar="J", help="Jobs; by default 4 a node.")
    ] = None,
    gpus_per_node: Annotated[int, typer.Option(metavar="K")] = 4,
    cost_classes: Annotated[
        int, typer.Option(metavar="N", help="Cost vectors a type; 0: every node its own.")
    ] = 1,
    cost_spread: Annotated[float, typer.Option(metavar="X", help="Around Table III.")] = 0.2,
    sharing: Annotated[bool, typer.Option(help="Due dates (31) with 20% more.")] = True,
    speedup: Annotated[float, typer.Option(metavar="X", help="Speed k^X on k GPUs.")] = 0.8,
    overdue: Annotated[float, typer.Option(metavar="X", help="Share of overdue jobs.")] = 0.0,
    interval: Annotated[float, typer.Option(metavar="S", help="H.")] = 3600.0,
    penalty: Annotated[float, typer.Option(metavar="X", help="rho.")] = 10.0,
    bin_width: Annotated[int, typer.Option(metavar="E", help="Epochs a bin of W.")] = 5,
    name: Annotated[str | None, typer.Option(help="The instance's name, with --count 1.")] = None,
    count: Annotated[int, typer.Option(metavar="N", help="How many, from seeds on.")] = 1,
    seed: Seed = 0,
) -> int:
    """Selection instances as in sts, VII-A3: 3 x 6 to 100 x 400 and beyond."""
    from optsched.cli.show import note
    from optsched.files import write_document
    from optsched.generators.selection import SelectionSettings, generate_selection

    require_folder(output)
    if not 1 <= count <= 100_000 or (name is not None and count > 1):
        expected = "1 to 100000; 1 with --name"
        raise InputError("generate selection", "--count", shown(count), expected)
    settings = SelectionSettings(
        nodes=nodes,
        jobs=4 * nodes if jobs is None else jobs,
        gpus_per_node=gpus_per_node,
        cost_classes=cost_classes,
        cost_spread=cost_spread,
        sharing=sharing,
        speedup=speedup,
        overdue=overdue,
        interval=interval,
        penalty=penalty,
        bin_width=bin_width,
    )
    for each in range(seed, seed + count):
        instance = generate_selection(settings, seed=each, name=name)
        path = Path(output) / f"{instance.name}.json"
        write_document(path, instance.to_dict())
        note(f"wrote {path}")
    return DONE
