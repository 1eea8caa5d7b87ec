"""``optsched generate KIND``: the options of each kind are its generator's arguments.

They are read when the kind's command is called: `optsched generate --help` imports no generator.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperGroup

from optsched.cli.exit_codes import DONE
from optsched.cli.settings import integer, read_strictly, real, require_folder
from optsched.cli.show import note, scaling_line
from optsched.cli.show_runs import load_line
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
KINDS = {"online": "workload"}
"""Commands whose name is not their problem's."""
ALSO = {"reconfiguration_delay": ("--delay",)}
"""Second names of options."""
SHORT = {
    "placement": "A zoo model cut into stages, on random offers of free GPUs.",
    "makespan": "Ring-all-reduce jobs as in sjf-bco, section 7, at any size.",
    "selection": "Clusters and queues as in sts, VII-A3: 3 x 6 to 100 x 400 and beyond.",
    "speed-profile": "Single jobs in the shapes of sts, Fig. 2.",
    "rolling": "Workloads as in sts, VII-A3, or with the arrivals and durations of a trace.",
    "online": "Workloads with recurring groups: workload.csv, catalogue.json, cluster.json.",
}


def lazy_group(
    summaries: Callable[[], dict[str, str]], command: Callable[[str], Any]
) -> type[TyperGroup]:
    """Return a class of command groups that make each command, by name, when it is called."""

    class Group(TyperGroup):
        def list_commands(self, ctx: Any) -> list[str]:
            return list(summaries())

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            return command(cmd_name) if cmd_name in summaries() else None

        def format_commands(self, ctx: Any, formatter: Any) -> None:
            with formatter.section("Commands"):
                formatter.write_dl(list(summaries().items()))

    return Group


def _problems() -> dict[str, str]:
    """Return problems by the commands that generate their instances."""
    return {KINDS.get(name, name): name for name in generating.generators()}


def _summaries() -> dict[str, str]:
    return {
        kind: SHORT.get(problem, f"Instances of {problem}.")
        for kind, problem in _problems().items()
    }


def _command(kind: str) -> Any:
    """Return a kind's command: a parameter for each argument of its generator, then the shared."""
    problem = _problems()[kind]
    make = generating.generator(problem, "generate", "problem")
    options = [*map(option, generating.parameters_of(make)), *_EXTRAS.get(problem, ()), *_COMMON]
    return command_of(kind, _summaries()[kind], options, partial(_generate, kind, problem))


Generators = lazy_group(_summaries, _command)


def command_of(
    name: str, summary: str, options: list[inspect.Parameter], run: Callable[..., int]
) -> Any:
    """Return a command whose options, annotated for typer, are passed to `run` by name."""

    def command(**given: Any) -> int:
        return run(**given)

    command.__doc__ = summary
    command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    command.__annotations__ = {option.name: option.annotation for option in options}
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name)(command)
    read_strictly(app)
    return typer.main.get_command(app)


def _generate(
    kind: str, problem: str, output: str, count: int, seed: int, name: str | None, **given: Any
) -> int:
    source = f"generate {kind}"
    require_folder(output)
    require(source, "--count", count, Count)
    require(source, "--seed", seed, Seed)
    if name is not None and (count != 1 or not name or set(name) & set("/\\\0")):
        raise InputError(source, "--name", shown(name), "a file name, with --count 1")
    chosen = {key: value for key, value in given.items() if value is not None}
    write = {"rolling": _write_rolling, "online": _write_workload}.get(problem, _write)
    write(source, problem, output, chosen, range(seed, seed + count), name)
    return DONE


def _write(
    source: str, problem: str, output: str, given: dict[str, Any], seeds: range, name: str | None
) -> None:
    make = generating.generator(problem, source, "")
    arguments = {**generating.arguments_of(make, given, source, ""), "name": name}
    for seed in seeds:
        instance = generating.made_by(make, arguments, seed, source, "")
        _keep(
            output,
            instance,
            message=f": {scaling_line(instance)}" if problem == "placement" else "",
        )


def _write_rolling(
    source: str, problem: str, output: str, given: dict[str, Any], seeds: range, name: str | None
) -> None:
    from optsched.generators.rolling import generate_from_trace, generate_rolling, read_trace
    from optsched.rolling.bounds.clairvoyant import clairvoyant_utilisation
    from optsched.rolling.offered_load import offered_load
    from optsched.rolling.simulator.world import World

    trace, form = given.pop("trace", None), given.pop("trace_format", None)
    if trace is None and form is not None:
        raise InputError(source, "--trace-format", shown(form), "--trace FILE")
    rows = None
    if trace is not None:
        rows = read_trace(trace, max_jobs=given.get("jobs"), file_format=form)
        given["jobs"] = len(rows)
    arguments = generating.arguments_of(generate_rolling, given, source, "")
    for seed in seeds:
        if rows is None:
            instance = generating.made_by(
                generate_rolling, {**arguments, "name": name}, seed, source, ""
            )
        else:
            instance = generate_from_trace(arguments["settings"], rows, seed=seed, name=name)
        plan = clairvoyant_utilisation(World(instance), draw_epochs(instance, 0))
        _keep(output, instance, [trace], f": {load_line(offered_load(instance), plan)}")


def _write_workload(
    source: str, problem: str, output: str, given: dict[str, Any], seeds: range, name: str | None
) -> None:
    from dataclasses import replace

    from optsched.generators.online import WorkloadShape, generate_online

    like = given.pop("like", None)
    folders = {
        seed: Path(output) if len(seeds) == 1 else Path(output) / f"seed-{seed}" for seed in seeds
    }
    read = () if like is None else (like, Path(like).parent / "catalogue.json")
    require_outputs((folder / file for folder in folders.values() for file in FILES), read)
    arguments = generating.arguments_of(generate_online, given, source, "")
    if like is not None:
        names = WorkloadShape.__dataclass_fields__
        changes = {key: given[key] for key in given if key in names}
        arguments["shape"] = replace(_shape_like(like, arguments), **changes)
    for seed, folder in folders.items():
        instance = generating.made_by(
            generate_online, {**arguments, "name": name}, seed, source, ""
        )
        write_workload(folder / FILES[0], instance.workload)
        write_catalogue(folder / FILES[1], instance.catalogue)
        write_document(folder / FILES[2], instance.cluster.to_dict())
        count = len(instance.catalogue.models)
        note(f"wrote {folder}: {len(instance.workload)} jobs, {count} configurations")


def _shape_like(workload: str, arguments: Mapping[str, Any]) -> Any:
    """Return the shape of a workload's jobs on the cluster that the arguments describe."""
    from optsched.generators.online import shape_of
    from optsched.online.data.jobs import prepare_jobs

    names = ("servers", "gpus_per_server", "inter_bandwidth", "intra_bandwidth")
    cluster = OnlineCluster.of(**{key: arguments[key] for key in names if key in arguments})
    models = read_catalogue(Path(workload).parent / "catalogue.json")
    jobs = prepare_jobs(read_workload(workload), models, cluster)
    return shape_of(jobs.workload, jobs.iterations * jobs.estimate, cluster)


def _keep(folder: str, instance: Any, read: typing.Iterable[Any] = (), message: str = "") -> None:
    path = Path(folder) / f"{instance.name}.json"
    require_outputs([path], read)
    write_document(path, instance.to_dict())
    note(f"wrote {path}{message}")


def option(parameter: Parameter) -> inspect.Parameter:
    """Return an argument's option, whose default is left to the generator."""
    flag, known = f"--{parameter.name.replace('_', '-')}", parameter.default
    default = "" if known is None or known == () else f" [{known}]"
    if isinstance(known, tuple) and known:
        default = f" [{','.join(map(str, known))}]"
    shared: dict[str, Any] = {"help": f"{parameter.text}{default}"}
    kind = next(kind for kind in choices_of(parameter.hint) if kind is not type(None))
    if kind is bool:
        return keyword(parameter.name, bool, f"{flag}/--no-{flag[2:]}", **shared)
    names = (flag, *ALSO.get(parameter.name, ()))
    if typing.get_origin(kind) not in (None, typing.Literal):
        one = _READERS.get(typing.get_args(kind)[0], str)
        several = {"parser": _several(one), "metavar": "A,B"}
        return keyword(parameter.name, str, *names, **several, **shared)
    if kind in _READERS:
        metavar = {"metavar": "N" if kind is int else "X"}
        return keyword(parameter.name, kind, *names, parser=_READERS[kind], **metavar, **shared)
    return keyword(parameter.name, str, *names, **shared)


def keyword(name: str, kind: Any, *flags: str, default: Any = None, **settings: Any) -> Any:
    hint = kind if default is not None else kind | None
    annotation: Any = Annotated[hint, Option(*flags, **settings)]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def required(name: str, info: Any) -> inspect.Parameter:
    """Return a required option or argument."""
    where, annotation = inspect.Parameter.KEYWORD_ONLY, Annotated[str, info]
    return inspect.Parameter(name, where, annotation=annotation)


def _several(one: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a reader of values separated by commas; typer 0.19 needs its name."""

    def read(text: Any) -> Any:
        if isinstance(text, str):
            return tuple(one(part.strip()) for part in text.split(","))
        return text

    return read


_READERS: dict[Any, Callable[[Any], Any]] = {int: integer, float: real}
_EXTRAS = {
    "rolling": (
        keyword(
            "trace",
            str,
            "--trace",
            metavar="FILE",
            help="CSV with submit_time and, if at hand, duration.",
        ),
        keyword(
            "trace_format",
            str,
            "--trace-format",
            metavar="F",
            help="The trace is of this format of `optsched import`.",
        ),
    ),
    "online": (
        keyword(
            "like", str, "--like", metavar="WORKLOAD", help="Match this workload's statistics."
        ),
    ),
}
"""Files that a command takes beside its generator's arguments."""
_COMMON = (
    keyword("name", str, "--name", help="The instance's name, with --count 1."),
    keyword(
        "count", int, "--count", default=1, parser=integer, metavar="N", help="How many seeds."
    ),
    keyword("seed", int, "--seed", default=0, parser=integer, metavar="N", help="The first seed."),
    required("output", Option("-o", metavar="DIR", help="Folder to write into.")),
)
