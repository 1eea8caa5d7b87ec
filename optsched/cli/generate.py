"""``optsched generate KIND``: options are derived lazily from the generators' signatures.

They are read when the kind's command is called: `optsched generate --help` imports no generator.
"""

import inspect
import typing
from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice
from math import ceil
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperGroup

from optsched.cli.exit_codes import DONE
from optsched.cli.settings import InstanceName, integer, real, require_folder, use_strict_numbers
from optsched.cli.show import load_line, note, scaling_line
from optsched.declared import Between, Seed, choices_of, require
from optsched.errors import InputError, shown
from optsched.files import write_document
from optsched.io.outputs import require_outputs
from optsched.online.data.catalogue import read_catalogue, write_catalogue
from optsched.online.data.cluster import OnlineCluster
from optsched.online.data.workload_files import read_workload, write_workload
from optsched.online.instance import FILES
from optsched.rolling.epochs import draw_epochs
from optsched.verbs import generating
from optsched.verbs.generating import Parameter

Count = Annotated[int, Between(1, 100_000)]
COMMAND_NAMES = {"online": "workload"}
"""Commands whose name differs from their problem's."""
OPTION_ALIASES = {"reconfiguration_delay": ("--delay",)}
SUMMARIES = {
    "placement": "Generate pipelines of a zoo model on random offers of free GPUs.",
    "makespan": "Generate ring-all-reduce jobs as in sjf-bco, section 7, or those of a trace.",
    "selection": "Generate clusters and queued jobs as in sts, VII-A3, or those of a trace.",
    "speed-profile": "Generate single jobs as in sts, Fig. 2.",
    "rolling": "Generate jobs that arrive over time as in sts, VII-A3, or those of a trace.",
    "packing": "Generate nodes with shared GPUs, and tasks that request more than the cluster has.",
    "online": "Generate a workload with recurring groups of jobs, its cluster and its catalogue.",
}


def lazy_app(summaries: Callable[[], dict[str, str]], command: Callable[[str], Any]) -> typer.Typer:
    """Return a group that builds its commands, by name, when they are called."""

    class Group(TyperGroup):
        def list_commands(self, ctx: Any) -> list[str]:
            return list(summaries())

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            return command(cmd_name) if cmd_name in summaries() else None

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            with formatter.section("Commands"):
                formatter.write_dl(list(summaries().items()))

    app = typer.Typer(cls=Group, rich_markup_mode=None)
    app.callback()(lambda: None)  # typer needs one for a group without commands
    return app


def _problems() -> dict[str, str]:
    """Return problems by the commands that generate their instances."""
    return {COMMAND_NAMES.get(name, name): name for name in generating.generators()}


def _summaries() -> dict[str, str]:
    return {
        kind: SUMMARIES.get(problem, f"Generate instances of {problem}.")
        for kind, problem in _problems().items()
    }


def _command(kind: str) -> Any:
    """Return a kind's command: its generator's arguments, then the shared options."""
    problem = _problems()[kind]
    make = generating.generator(problem, "generate", "problem")
    options = [
        *map(option, generating.parameters_of(make)),
        *annotated_options(_writer(problem)),
        *annotated_options(_generate),
    ]
    return command_of(kind, _summaries()[kind], options, partial(_generate, kind, problem))


kinds = lazy_app(_summaries, _command)


def annotated_options(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a function that are annotated as options or arguments."""
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    return [p for p in parameters if typing.get_origin(p.annotation) is Annotated]


def with_options(run: Callable[..., int], options: list[inspect.Parameter]) -> Callable[..., int]:
    """Return a function with options, annotated for typer, that it passes to `run` by name."""

    def command(**values: Any) -> int:
        return run(**values)

    options = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in options]
    command.__name__ = getattr(run, "__name__", "").strip("_")
    command.__doc__ = run.__doc__
    command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    command.__annotations__ = {option.name: option.annotation for option in options}
    return command


def command_of(
    name: str, summary: str, options: list[inspect.Parameter], run: Callable[..., int]
) -> Any:
    """Return the command of a function whose options are known when it is called."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, help=summary)(with_options(run, options))
    use_strict_numbers(app)
    return typer.main.get_command(app)


def _generate(
    kind: str,
    problem: str,
    output: Annotated[str, Option("-o", metavar="DIR", help="Output folder.")],
    count: Annotated[int, Option(metavar="N", help="Number of instances, one per seed.")] = 1,
    seed: Annotated[int, Option(metavar="N", help="Seed of the first instance.")] = 0,
    name: InstanceName = None,
    **values: Any,
) -> int:
    source = f"generate {kind}"
    require_folder(output)
    require(source, "--count", count, Count)
    require(source, "--seed", seed, Seed)
    if name is not None and (count != 1 or not name or set(name) & set("/\\\0")):
        raise InputError(source, "--name", shown(name), "a file name, with --count 1")
    set_values = {key: value for key, value in values.items() if value is not None}
    write = _writer(problem)
    extras = {p.name: set_values.pop(p.name, None) for p in annotated_options(write)}
    write(source, problem, output, set_values, range(seed, seed + count), name, **extras)
    return DONE


def _writer(problem: str) -> Callable[..., None]:
    writers: dict[str, Callable[..., None]]
    writers = {"rolling": _write_jobs, "selection": _write_jobs, "online": _write_workload}
    writers |= {"makespan": _write_ring_jobs}
    return writers.get(problem, _write)


def _write(
    source: str, problem: str, output: str, values: dict[str, Any], seeds: range, name: str | None
) -> None:
    make = generating.generator(problem, source, "")
    arguments = {**generating.arguments_of(make, values, source, ""), "name": name}
    for seed in seeds:
        instance = generating.generate_with(make, arguments, seed, source, "")
        message = f": {scaling_line(instance)}" if problem == "placement" else ""
        _write_instance(output, instance, message=message)


TraceFile = Annotated[
    str | None, Option(metavar="FILE", help="CSV of jobs: submit_time [duration, gpus, due_date].")
]
TraceFormat = Annotated[
    str | None, Option(metavar="F", help="Format of --trace, as in `optsched import`.")
]


def _require_trace(source: str, trace: str | None, trace_format: str | None) -> None:
    if trace is None and trace_format is not None:
        raise InputError(source, "--trace-format", shown(trace_format), "--trace FILE")


def _write_ring_jobs(
    source: str,
    problem: str,
    output: str,
    values: dict[str, Any],
    seeds: range,
    name: str | None,
    trace: TraceFile = None,
    trace_format: TraceFormat = None,
) -> None:
    from optsched.generators.makespan import JOB_SIZES, JOBS
    from optsched.generators.rolling import read_trace

    _require_trace(source, trace, trace_format)
    if trace is not None:
        largest = values.get("largest_job", JOB_SIZES[-1])
        sizes = (ceil(row.gpus) for row in read_trace(trace, file_format=trace_format))
        few = islice((size for size in sizes if size <= largest), values.get("jobs", JOBS))
        values["job_gpus"] = tuple(few)
        if not values["job_gpus"]:
            raise InputError(trace, "", f"no job of at most {largest} GPUs", "at least one")
    _write(source, problem, output, values, seeds, name)


def _write_jobs(
    source: str,
    problem: str,
    output: str,
    values: dict[str, Any],
    seeds: range,
    name: str | None,
    trace: TraceFile = None,
    trace_format: TraceFormat = None,
) -> None:
    from optsched.generators.rolling import (
        generate_from_trace,
        generate_queue_from_trace,
        read_trace,
    )
    from optsched.rolling.bounds.clairvoyant import clairvoyant_utilisation
    from optsched.rolling.metrics import offered_load
    from optsched.rolling.simulator.world import World

    _require_trace(source, trace, trace_format)
    over_time, rows = problem == "rolling", None
    if trace is not None:
        rows = read_trace(trace, max_jobs=values.get("jobs"), file_format=trace_format)
        values["jobs"] = len(rows)
    make = generating.generator(problem, source, "")
    arguments = {**generating.arguments_of(make, values, source, ""), "name": name}
    if rows is not None:
        make = partial(generate_from_trace if over_time else generate_queue_from_trace, rows=rows)
    for seed in seeds:
        instance = generating.generate_with(make, arguments, seed, source, "")
        message = ""
        if over_time:
            plan = clairvoyant_utilisation(World(instance), draw_epochs(instance, 0))
            message = f": {load_line(offered_load(instance), plan)}"
        _write_instance(output, instance, [trace, values.get("epochs")], message)


def _write_workload(
    source: str,
    problem: str,
    output: str,
    values: dict[str, Any],
    seeds: range,
    name: str | None,
    like: Annotated[str | None, Option(metavar="WORKLOAD", help="Match its statistics.")] = None,
) -> None:
    from dataclasses import replace

    from optsched.generators.online import WorkloadShape, generate_online

    folders = {
        seed: Path(output) if len(seeds) == 1 else Path(output) / f"seed-{seed}" for seed in seeds
    }
    inputs = () if like is None else (like, Path(like).parent / "catalogue.json")
    require_outputs((folder / file for folder in folders.values() for file in FILES), inputs)
    arguments = generating.arguments_of(generate_online, values, source, "")
    if like is not None:
        names = WorkloadShape.__dataclass_fields__
        changes = {key: values[key] for key in values if key in names}
        arguments["shape"] = replace(_shape_of_workload(like, arguments), **changes)
    arguments["name"] = name
    for seed, folder in folders.items():
        instance = generating.generate_with(generate_online, arguments, seed, source, "")
        write_workload(folder / FILES[0], instance.workload)
        write_catalogue(folder / FILES[1], instance.catalogue)
        write_document(folder / FILES[2], instance.cluster.to_dict())
        count = len(instance.catalogue.models)
        note(f"wrote {folder}: {len(instance.workload)} jobs, {count} configurations")


def _shape_of_workload(workload: str, arguments: Mapping[str, Any]) -> Any:
    """Return the shape of a workload's jobs on the cluster that the arguments describe."""
    from optsched.generators.online import shape_of
    from optsched.online.data.jobs import prepare_jobs

    names = ("servers", "gpus_per_server", "inter_bandwidth", "intra_bandwidth")
    cluster = OnlineCluster.of(**{key: arguments[key] for key in names if key in arguments})
    models = read_catalogue(Path(workload).parent / "catalogue.json")
    jobs = prepare_jobs(read_workload(workload), models, cluster)
    return shape_of(jobs.workload, jobs.iterations * jobs.estimate, cluster)


def _write_instance(
    folder: str, instance: Any, inputs: typing.Iterable[Any] = (), message: str = ""
) -> None:
    path = Path(folder) / f"{instance.name}.json"
    require_outputs([path], inputs)
    write_document(path, instance.to_dict())
    note(f"wrote {path}{message}")


def option(parameter: Parameter) -> inspect.Parameter:
    """Return an argument's option, whose default is left to the generator."""
    flag, default = f"--{parameter.name.replace('_', '-')}", parameter.default
    shown_default = "" if default is None or default == () else f" [default: {default}]"
    if isinstance(default, tuple) and default:
        shown_default = f" [default: {','.join(map(str, default))}]"
    settings: dict[str, Any] = {"help": f"{parameter.text}{shown_default}"}
    flags = (flag, *OPTION_ALIASES.get(parameter.name, ()))
    kind = next(kind for kind in choices_of(parameter.hint) if kind is not type(None))
    if kind is bool:
        flags = (f"{flag}/--no-{flag[2:]}",)
    elif kind in _PARSERS:
        settings |= {"parser": _PARSERS[kind], "metavar": "N" if kind is int else "X"}
    else:
        if typing.get_origin(kind) is typing.Literal:
            settings["metavar"] = "|".join(typing.get_args(kind))
        elif typing.get_origin(kind) is not None:
            parse_item = _PARSERS.get(typing.get_args(kind)[0], str)
            settings |= {"parser": _list_parser(parse_item), "metavar": "A,B"}
        kind = str
    annotation: Any = Annotated[kind | None, Option(*flags, **settings)]
    where = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(parameter.name, where, default=None, annotation=annotation)


def _list_parser(parse_item: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a reader of values separated by commas; typer 0.19 needs its name."""

    def read(text: Any) -> Any:
        if isinstance(text, str):
            return tuple(parse_item(part.strip()) for part in text.split(","))
        return text

    return read


_PARSERS: dict[Any, Callable[[Any], Any]] = {int: integer, float: real}
