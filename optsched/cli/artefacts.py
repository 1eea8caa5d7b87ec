"""The command that reproduces tables and figures of the papers."""

from __future__ import annotations

from typing import Annotated

import typer

DONE = 0


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(reproduce)


def reproduce(
    artifacts: Annotated[
        list[str] | None, typer.Argument(metavar="ARTIFACT...", help="Such as a-srpt-table2.")
    ] = None,
    output: Annotated[
        str | None, typer.Option("-o", metavar="DIR", help="Folder to write into.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer seeds, for a smoke test.")] = False,
    full: Annotated[bool, typer.Option("--full", help="The paper's sizes.")] = False,
    trace: Annotated[
        str | None, typer.Option("--trace", metavar="FILE", help="A PAI job CSV of yours.")
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the artefacts.")] = False,
) -> int:
    """Reproduce a table or a figure of a paper, with the paper's values beside ours."""
    from optsched.cli.show import console
    from optsched.errors import InputError
    from optsched.experiments import ARTEFACTS
    from optsched.experiments import reproduce as run

    out = console()
    if list_all:
        for artefact in ARTEFACTS.values():
            out.print(f"{artefact.name:18} {artefact.claim}", markup=False)
        return DONE
    if not artifacts or output is None:
        raise InputError("reproduce", "", "no artefact or no -o", "ARTIFACT... -o DIR, or --list")
    for name in artifacts:
        out.print(run(name, output, quick=quick, full=full, trace=trace), markup=False)
    return DONE
