"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from optsched.errors import InputError, shown

TimeLimit = Annotated[float | None, typer.Option("--time-limit", metavar="S", help="Seconds.")]
Iterations = Annotated[
    int | None, typer.Option("--iterations", metavar="N", help="Cut by iterations, not by time.")
]
Gap = Annotated[float, typer.Option("--gap", metavar="G", help="Relative gap that is a proof.")]
Threads = Annotated[int, typer.Option("--threads", metavar="N", help="Threads of the solver.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of every random choice.")]
Solver = Annotated[str, typer.Option("--solver", metavar="NAME", help="highs or scip.")]
Options = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="K=V", help="An option of the problem; may be repeated."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Folder = Annotated[str, typer.Option("-o", metavar="DIR", help="Folder to write into.")]
OutputFile = Annotated[str, typer.Option("-o", metavar="FILE", help="File to write.")]
Bandwidth = Annotated[float, typer.Option(metavar="B", help="Bytes per second.")]


def read_options(pairs: list[str] | None) -> dict[str, str]:
    """Read ``K=V`` pairs; raises InputError."""
    options: dict[str, str] = {}
    for pair in pairs or []:
        key, separator, value = pair.partition("=")
        if not separator or not key or key in options:
            raise InputError("--option", "", shown(pair), "K=V, each K once")
        options[key] = value
    return options


def read_offer(
    text: str, command: str = "import pipedream", option: str = "--servers"
) -> list[int]:
    try:
        offer = [int(part) for part in text.split(",")]
    except ValueError:
        offer = []
    if not offer or any(not 0 <= free <= 2**15 for free in offer):
        raise InputError(command, option, shown(text), "GPUs by server such as 8,5,3")
    return offer
