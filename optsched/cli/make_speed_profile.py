"""The command that makes speed-profile instances."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optsched.cli.settings import Folder, Seed, require_folder
from optsched.errors import InputError, shown

DONE = 0


def register(generate: typer.Typer, importing: typer.Typer) -> None:
    """Add the command to ``optsched generate``."""
    generate.command("speed-profile")(generate_speed_profiles)


def generate_speed_profiles(
    output: Folder,
    network: Annotated[
        str, typer.Option(help="AlexNet, ResNet, VGG16 or MobileNetV2.")
    ] = "AlexNet",
    gpus: Annotated[int, typer.Option(metavar="K")] = 8,
    deadline: Annotated[float, typer.Option(metavar="S", help="Seconds from now.")] = 6000.0,
    epoch_time: Annotated[float, typer.Option(metavar="S", help="On one GPU.")] = 120.0,
    speedup: Annotated[float, typer.Option(metavar="X", help="Speed k^X on k GPUs.")] = 0.8,
    power: Annotated[float, typer.Option(metavar="W", help="Of a GPU at work.")] = 300.0,
    idle_power: Annotated[float, typer.Option(metavar="W", help="Of an idle GPU.")] = 0.0,
    name: Annotated[str | None, typer.Option(help="The instance's name, with --count 1.")] = None,
    count: Annotated[int, typer.Option(metavar="N", help="How many, from seeds on.")] = 1,
    seed: Seed = 0,
) -> int:
    """Speed profiles of single jobs in the shapes of sts, Fig. 2."""
    from optsched.cli.show import note
    from optsched.files import write_document
    from optsched.generators.speed_profile import ProfileSettings, generate_speed_profile

    require_folder(output)
    if not 1 <= count <= 100_000 or (name is not None and count > 1):
        place = "generate speed-profile"
        raise InputError(place, "--count", shown(count), "1 to 100000; 1 with --name")
    settings = ProfileSettings(
        network=network, gpus=gpus, deadline=deadline, epoch_time=epoch_time, speedup=speedup,
        power=power, idle_power=idle_power,
    )  # fmt: skip
    for each in range(seed, seed + count):
        instance = generate_speed_profile(settings, seed=each, name=name)
        path = Path(output) / f"{instance.name}.json"
        write_document(path, instance.to_dict())
        note(f"wrote {path}")
    return DONE
