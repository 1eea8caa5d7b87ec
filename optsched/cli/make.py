"""Commands that make files: generate, import, export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optsched.cli.roll import generate_rollings
from optsched.cli.settings import Options, Seed, read_options
from optsched.errors import InputError, shown

DONE = 0
Folder = Annotated[str, typer.Option("-o", metavar="DIR", help="Folder to write into.")]
OutputFile = Annotated[str, typer.Option("-o", metavar="FILE", help="File to write.")]
Bandwidth = Annotated[float, typer.Option(metavar="B", help="Bytes per second.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    generate = typer.Typer(rich_markup_mode=None)
    generate.command("placement")(generate_placements)
    generate.command("makespan")(generate_makespans)
    generate.command("selection")(generate_selections)
    generate.command("rolling")(generate_rollings)
    app.add_typer(generate, name="generate", help="Generate instances from a seed.")
    importing = typer.Typer(rich_markup_mode=None)
    importing.command("pipedream")(import_pipedream)
    app.add_typer(importing, name="import", help="Make an instance of somebody's data.")
    app.command()(export)


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
    from optsched.generate.placement import Hardware, generate_placement

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


def generate_makespans(
    output: Folder,
    jobs: Annotated[int, typer.Option(metavar="N", help="Jobs, in the paper's shares.")] = 160,
    servers: Annotated[int, typer.Option(metavar="S", help="Servers.")] = 20,
    contention: Annotated[str, typer.Option(help="mild or strong.")] = "mild",
    server_sizes: Annotated[
        str, typer.Option(metavar="4,8", help="GPUs a server, drawn uniformly.")
    ] = "4,8,16,32",
    largest_job: Annotated[int, typer.Option(metavar="G", help="GPUs of the largest job.")] = 32,
    slot: Annotated[float, typer.Option(metavar="S", help="Seconds a slot.")] = 1.0,
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
    from optsched.generate.makespan import generate_makespan

    if not 1 <= count <= 100_000 or (name is not None and count > 1):
        raise InputError("generate makespan", "--count", shown(count), "1 to 100000; 1 with --name")
    sizes = tuple(_offer(server_sizes, "generate makespan", "--server-sizes"))
    for each in range(seed, seed + count):
        instance = generate_makespan(
            jobs, servers, contention=contention, server_sizes=sizes, largest_job=largest_job,
            slot=slot, progress=progress, horizon=horizon, seed=each, name=name,
        )  # fmt: skip
        path = Path(output) / f"{instance.name}.json"
        write_document(path, instance.to_dict())
        note(f"wrote {path}")
    return DONE


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
    count: Annotated[int, typer.Option(metavar="N", help="How many, from seeds on.")] = 1,
    seed: Seed = 0,
) -> int:
    """Selection instances as in sts, VII-A3: 3 x 6 to 100 x 400 and beyond."""
    from optsched.cli.show import note
    from optsched.files import write_document
    from optsched.generate.selection import SelectionSettings, generate_selection

    if not 1 <= count <= 100_000:
        raise InputError("generate selection", "--count", shown(count), "1 to 100000")
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
    )
    for each in range(seed, seed + count):
        instance = generate_selection(settings, seed=each)
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
    from optsched.generate.placement import Hardware, instance_from_profile
    from optsched.profiles import read_pipedream

    offer = _offer(servers)
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


def export(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file or a shipped name.")],
    method: Annotated[str, typer.Option(metavar="M", help="A method with a Pyomo model.")],
    file_format: Annotated[str, typer.Option("--format", metavar="mps|lp|nl")],
    output: OutputFile,
    option: Options = None,
) -> int:
    """Write a method's Pyomo model for another solver."""
    from optsched.cli.show import note
    from optsched.exporting import export as run

    run(file, method, file_format, output, options=read_options(option))
    note(f"wrote {output}")
    return DONE


def _offer(text: str, command: str = "import pipedream", option: str = "--servers") -> list[int]:
    try:
        offer = [int(part) for part in text.split(",")]
    except ValueError:
        offer = []
    if not offer or any(not 0 <= free <= 2**15 for free in offer):
        raise InputError(command, option, shown(text), "GPUs by server such as 8,5,3")
    return offer
