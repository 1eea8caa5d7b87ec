"""The command that makes rolling instances."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optsched.cli.settings import Seed, require_folder
from optsched.errors import InputError, shown

DONE = 0


def register(generate: typer.Typer, importing: typer.Typer) -> None:
    """Add the command to ``optsched generate``."""
    generate.command("rolling")(generate_rollings)


def generate_rollings(
    output: Annotated[str, typer.Option("-o", metavar="DIR", help="Folder to write into.")],
    nodes: Annotated[int, typer.Option(metavar="N", help="Nodes: K80, M60, A100 in turn.")] = 10,
    jobs: Annotated[
        int | None, typer.Option(metavar="J", help="Jobs; by default 10 a node, of a trace all.")
    ] = None,
    gpus_per_node: Annotated[int, typer.Option(metavar="K")] = 4,
    arrivals: Annotated[
        str, typer.Option(metavar="A", help="exponential, poisson-high, poisson-low or load.")
    ] = "exponential",
    load: Annotated[float, typer.Option(metavar="RHO", help="For arrivals load.")] = 0.5,
    trace: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="CSV with submit_time and, if at hand, duration."),
    ] = None,
    trace_format: Annotated[
        str | None,
        typer.Option(metavar="F", help="The trace is of this format of `optsched import`."),
    ] = None,
    sharing: Annotated[bool, typer.Option(help="Due dates (31) with 20% more.")] = False,
    speedup: Annotated[float, typer.Option(metavar="X", help="Speed k^X on k GPUs.")] = 0.8,
    gpu_types: Annotated[
        str, typer.Option(metavar="T[,T...]", help="Types on the cluster.")
    ] = "K80,M60,A100",
    a100_speed: Annotated[float, typer.Option(metavar="X", help="Factor on the A100's.")] = 1.0,
    interval: Annotated[float, typer.Option(metavar="S", help="H.")] = 3600.0,
    delay: Annotated[float, typer.Option(metavar="S", help="Reconfiguration delay.")] = 0.0,
    name: Annotated[str | None, typer.Option(help="The instance's name, of one only.")] = None,
    count: Annotated[int, typer.Option(metavar="N", help="How many, from seeds on.")] = 1,
    seed: Seed = 0,
) -> int:
    """Workloads as in sts, VII-A3, or with the arrivals and durations of a trace."""
    from optsched.cli.show import note
    from optsched.cli.show_runs import load_line
    from optsched.files import write_document
    from optsched.generators.rolling import generate_rolling, rolling_settings
    from optsched.generators.rolling_trace import generate_from_trace, read_trace
    from optsched.outputs import require_outputs
    from optsched.rolling.bounds.clairvoyant import clairvoyant_utilisation
    from optsched.rolling.offered_load import offered_load
    from optsched.rolling.simulator.true_epochs import true_epochs
    from optsched.rolling.simulator.world import World

    require_folder(output)
    if not 1 <= count <= 100_000:
        raise InputError("generate rolling", "--count", shown(count), "1 to 100000")
    if name is not None and count != 1:
        raise InputError("generate rolling", "--name", shown(name), "--count 1")
    if trace is None and trace_format is not None:
        raise InputError("generate rolling", "--trace-format", shown(trace_format), "--trace FILE")
    rows = None if trace is None else read_trace(trace, most=jobs, file_format=trace_format)
    size = len(rows) if rows is not None else jobs
    settings = rolling_settings(
        nodes,
        gpus_per_node=gpus_per_node,
        arrivals=arrivals,
        load=load,
        sharing=sharing,
        speedup=speedup,
        a100_speed=a100_speed,
        gpu_types=tuple(name.strip() for name in gpu_types.split(",")),
        interval=interval,
        reconfiguration_delay=delay,
        **({} if size is None else {"jobs": size}),
    )
    for each in range(seed, seed + count):
        if rows is None:
            instance = generate_rolling(settings, seed=each, name=name)
        else:
            instance = generate_from_trace(settings, rows, seed=each, name=name)
        path = Path(output) / f"{instance.name}.json"
        require_outputs([path], [trace])
        write_document(path, instance.to_dict())
        world = World(instance)
        plan = clairvoyant_utilisation(world, true_epochs(instance, 0))
        note(f"wrote {path}: {load_line(offered_load(instance), plan)}")
    return DONE
