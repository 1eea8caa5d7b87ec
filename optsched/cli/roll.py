"""Commands of the rolling problem: roll, and its part of generate."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer

from optsched.cli.settings import (
    Iterations,
    Json,
    Options,
    Seed,
    TimeLimit,
    print_json,
    read_options,
    require_folder,
)
from optsched.errors import InputError, shown

if TYPE_CHECKING:
    from optsched.rolling.instance import RollingInstance
    from optsched.rolling.policies.by_name import RollingSettings
    from optsched.rolling.simulator.runs import Rolled
    from optsched.rolling.simulator.simulator import StalledError
    from optsched.selection.options import SelectionOptions

DONE, BROKEN, INTERRUPTED = 0, 1, 130
EVERY = 10.0
"""Seconds between two lines of progress where there is no terminal."""


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(roll)


def roll(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file or a shipped name.")],
    policy: Annotated[
        str, typer.Option("--policy", metavar="P[,P...]", help="Such as sts,edf,price.")
    ] = "sts",
    seed: Seed = 0,
    time_limit: TimeLimit = None,
    iterations: Iterations = None,
    option: Options = None,
    bound: Annotated[
        int, typer.Option("--bound", metavar="N", help="Iterations of the bound; 0: none.")
    ] = 200,
    records: Annotated[
        str | None,
        typer.Option(
            "--records",
            metavar="DIR|FILE.json",
            help="Write each run for `optsched check`: into a folder, or one policy's to a file.",
        ),
    ] = None,
    as_json: Json = False,
) -> int:
    """Run policies over time on one draw of the true epochs, audit them and bound their cost."""
    from optsched.cli import show
    from optsched.files import instance_sha256, write_document
    from optsched.library import files_behind, load
    from optsched.outputs import require_outputs
    from optsched.rolling.instance import RollingInstance
    from optsched.rolling.policies.by_name import RollingSettings
    from optsched.rolling.policies.price import constants_of
    from optsched.rolling.solution import RollingSolution
    from optsched.selection.options import SelectionOptions

    if not _is_file(records):
        require_folder(records)
    instance = load(file)
    if not isinstance(instance, RollingInstance):
        raise InputError(file, "schema", shown(instance.schema_), "optsched/rolling")
    if not 0 <= bound <= 100_000:
        raise InputError("roll", "--bound", shown(bound), "0 to 100000")
    constants, given = constants_of(read_options(option))
    options = SelectionOptions.from_dict({"postprocessing": "off", **given})
    settings = RollingSettings(
        seed=seed,
        iterations=iterations,
        time_limit=time_limit,
        postprocessing=options.postprocessing == "on",
        constants=constants,
    )
    names = [name.strip() for name in policy.split(",")]
    if _is_file(records) and len(names) > 1:
        raise InputError("roll", "--records", shown(records), "a folder, for several policies")
    paths = {name: _record(records, instance.name, name, seed) for name in names}
    require_outputs(dict.fromkeys(paths.values()), files_behind(file))
    done, ended = _rolled(instance, names, options, settings, bound)
    digest = instance_sha256(instance.to_dict())
    for each in done if records is not None else ():
        path = _record(records, instance.name, each.run.policy, seed)
        said = RollingSolution.of(each.run, each.metrics.total_cost, digest)
        write_document(str(path), said.to_dict())
        show.note(f"wrote {path}")
    if as_json:
        print_json([each.to_dict() for each in done])
    elif done:
        _table(done)
    if isinstance(ended, KeyboardInterrupt):
        return INTERRUPTED
    if ended is not None:
        raise ended
    return DONE if all(each.audit.feasible for each in done) else BROKEN


def _is_file(records: str | None) -> bool:
    """Whether --records names one policy's file, and no folder."""
    return records is not None and records.endswith((".json", ".json.gz"))


def _record(records: str | None, instance: str, policy: str, seed: int) -> Path | None:
    if records is None or _is_file(records):
        return None if records is None else Path(records)
    return Path(records) / f"{instance}-{policy}-s{seed}.json"


def _rolled(
    instance: RollingInstance,
    names: list[str],
    options: SelectionOptions,
    settings: RollingSettings,
    bound: int,
) -> tuple[list[Rolled], KeyboardInterrupt | StalledError | None]:
    """The complete runs, and what kept others from being so."""
    from optsched.rolling.bounds.clairvoyant import BoundSettings
    from optsched.rolling.simulator.runs import roll as run
    from optsched.rolling.simulator.simulator import StalledError

    done: list[Rolled] = []
    effort = BoundSettings(iterations=bound) if bound else None
    with _Bars(names, len(instance.jobs)) as bars:
        try:
            for each in run(
                instance, names, options=options, settings=settings, bound=effort, progress=bars
            ):
                done.append(each)
        except (KeyboardInterrupt, StalledError) as ended:
            return done, ended
    return done, None


class _Bars:
    """A bar a policy on a terminal, else a line on standard error now and then."""

    def __init__(self, names: list[str], jobs: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:.0f} of {task.total:.0f} jobs done"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._tasks = {name: self._bar.add_task(name, total=jobs) for name in names}
        self._said = time.monotonic()

    def __enter__(self) -> Self:
        if not self._bar.disable:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if not self._bar.disable:  # or older versions of rich end with an empty line
            self._bar.stop()

    def __call__(self, name: str, over: int, jobs: int) -> None:
        """Show how many of a policy's jobs are done."""
        from optsched.cli.show import note

        self._bar.update(self._tasks[name], completed=over)
        if self._bar.disable and time.monotonic() - self._said >= EVERY:
            self._said = time.monotonic()
            note(f"{name}: {over} of {jobs} jobs done")


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
    from optsched.files import write_document
    from optsched.generators.rolling import generate_rolling, rolling_settings
    from optsched.generators.rolling_trace import generate_from_trace, read_trace
    from optsched.outputs import require_outputs
    from optsched.rolling.bounds.clairvoyant import clairvoyant_utilisation
    from optsched.rolling.offered_load import offered_load
    from optsched.rolling.simulator.true_epochs import true_epochs
    from optsched.rolling.simulator.world import World
    from optsched.selection.options import SelectionOptions

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
        world = World(instance, SelectionOptions())
        plan = clairvoyant_utilisation(world, true_epochs(instance, 0))
        note(f"wrote {path}: {_load(offered_load(instance), plan)}")
    return DONE


def _load(rho: float, plan: dict[str, float]) -> str:
    """Both statements of the load."""
    shares = ", ".join(f"{kind} {100 * share:.3g}%" for kind, share in plan.items())
    return f"rho = {rho:.3g}; utilisation of the uncapacitated clairvoyant plan: {shares}"


def _table(done: list[Rolled]) -> None:
    from rich.table import Table

    from optsched.cli import show

    table = Table(box=None)
    for heading in ("policy", "total $", "energy $", "tardiness $", "late", "bound $", "excess"):
        table.add_column(heading, justify="left" if heading == "policy" else "right")
    for heading in ("busy %", "decision s", "longest ms", "audit"):
        table.add_column(heading, justify="right")
    for each in done:
        m = each.metrics
        table.add_row(
            each.run.policy,
            f"{m.total_cost:.2f}",
            f"{m.energy_cost:.2f}",
            f"{m.tardiness_cost:.2f}",
            f"{m.late_jobs} of {len(each.run.jobs)}",
            "-" if each.bound is None else f"{each.bound:.2f}",
            "-" if each.excess is None else f"{100 * each.excess:.1f}%",
            " ".join(f"{kind} {100 * share:.0f}" for kind, share in m.utilisation.items()),
            f"{m.decision_time:.2f}",
            f"{1e3 * m.longest_decision:.1f}",
            "clean" if each.audit.feasible else str(each.audit.violations[0]),
        )
    show.console().print(table)
    show.console().print(_load(done[0].load, done[0].plan), markup=False)
