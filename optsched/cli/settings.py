"""Options that several commands share."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer import Argument, Option

from optsched.errors import InputError, shown
from optsched.files import json_text
from optsched.io.numerals import parse_integer, parse_real
from optsched.io.outputs import require_file, require_outputs
from optsched.library import shipped_names
from optsched.problems import PROBLEMS

TimeLimit = Annotated[float | None, Option("--time-limit", metavar="S", help="Limit in seconds.")]
Iterations = Annotated[int | None, Option("--iterations", metavar="N", help="Limit of iterations.")]
Gap = Annotated[float, Option("--gap", metavar="G", help="Relative gap at which to stop.")]
Threads = Annotated[int, Option("--threads", metavar="N", help="Number of solver threads.")]
Seed = Annotated[int, Option("--seed", metavar="N", help="Seed of all random choices.")]
Solver = Annotated[
    str,
    Option(
        "--solver", metavar="NAME", help="highs, scip, or a Pyomo solver such as cbc or gurobi."
    ),
]
Options = Annotated[
    list[str] | None,
    Option("--option", metavar="K=V", help="Problem option, e.g. sharing=off; may be repeated."),
]


def complete_instance(incomplete: str) -> list[str]:
    return [name for name in shipped_names() if name.startswith(incomplete)]


def complete_method(incomplete: str) -> list[str]:
    names = {method.name for problem in PROBLEMS.values() for method in problem.methods}
    return sorted(name for name in names if name.startswith(incomplete))


InstanceFile = Annotated[
    str,
    Argument(metavar="FILE", help="Instance file or name.", autocompletion=complete_instance),
]
Json = Annotated[bool, Option("--json", help="Print JSON instead of text.")]
OutputFile = Annotated[str, Option("-o", metavar="FILE", help="Output file.")]
InstanceName = Annotated[str | None, Option(help="Name of a single instance.")]


def read_options(pairs: list[str] | None, name: str = "--option") -> dict[str, str]:
    """Read ``K=V`` pairs; raises InputError."""
    options: dict[str, str] = {}
    for pair in pairs or []:
        key, separator, value = pair.partition("=")
        if not separator or not key or key in options:
            raise InputError(name, "", shown(pair), "K=V, each K once")
        options[key] = value
    return options


def read_offer(text: str) -> list[int]:
    """Read free GPUs by server, such as "8,5,3"; raises InputError."""
    read = [parse_integer(part) for part in text.split(",")]
    offer = [free for free in read if free is not None and 0 <= free <= 2**15]
    if len(offer) < len(read):
        expected = "GPUs by server such as 8,5,3"
        raise InputError("import pipedream", "--servers", shown(text), expected)
    return offer


def table_extras(path: str | None) -> list[str]:
    """Return the modules required to write a table file."""
    if path is not None and path.endswith((".parquet.gz", ".parquet/")):
        raise InputError(path, "", "a compressed parquet", ".parquet, .csv or .csv.gz")
    return ["pyarrow"] if path is not None and path.endswith(".parquet") else []


def print_json(value: Any) -> None:
    print(json_text(value))


def require_folder(path: str | None, inputs: Iterable[str | Path | None] = ()) -> None:
    """Raise InputError if a path cannot be a folder to write into."""
    if path is not None:
        require_file(path, "this command writes into a folder")
        if os.path.exists(path) and not os.path.isdir(path):
            raise InputError(path, "", "a file", "a folder")
        require_outputs([Path(path) / "any file"], inputs)


def use_strict_numbers(app: typer.Typer) -> None:
    """Make numeric options and arguments take the numbers of `optsched.io.numerals` only."""
    for command in app.registered_commands:
        if command.callback is not None:
            _use_strict_numbers(command.callback)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            use_strict_numbers(group.typer_instance)


def _use_strict_numbers(command: Callable[..., Any]) -> None:
    hints = get_type_hints(command, include_extras=True)
    for hint in hints.values():
        kind, *extra = get_args(hint) if hasattr(hint, "__metadata__") else (hint,)
        for info in extra:
            for number, parser in ((int, integer), (float, real)):
                if number in (kind, *get_args(kind)):
                    info.parser = parser
    command.__annotations__ = hints


def integer(text: Any) -> Any:
    """Read an option of integers; a default is returned as it is."""
    value = parse_integer(text) if isinstance(text, str) else text
    if isinstance(text, str) and value is None:
        raise typer.BadParameter(f"{shown(text)} is not a valid integer.")
    return value


def real(text: Any) -> Any:
    """Read an option of numbers; a default is returned as it is."""
    value = parse_real(text) if isinstance(text, str) else text
    if isinstance(text, str) and value is None:
        raise typer.BadParameter(f"{shown(text)} is not a valid number.")
    return value
