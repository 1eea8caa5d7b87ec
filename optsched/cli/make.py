"""Commands that make files: generate and import by problem, export."""

from __future__ import annotations

from typing import Annotated

import typer

from optsched.cli import importing
from optsched.cli.generate import Generators
from optsched.cli.settings import Options, OutputFile, read_options

DONE = 0


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    kinds = typer.Typer(cls=Generators, rich_markup_mode=None, callback=_generate)
    formats = typer.Typer(rich_markup_mode=None)
    importing.register(formats)
    app.add_typer(kinds, name="generate", help="Generate instances from a seed.")
    app.add_typer(formats, name="import", help="Make an instance of somebody's data.")
    app.command()(export)


def _generate() -> None:
    """A group of no commands needs a callback."""


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
    from optsched.library import files_behind
    from optsched.outputs import require_outputs

    require_outputs([output], files_behind(file))
    run(file, method, file_format, output, options=read_options(option))
    note(f"wrote {output}")
    return DONE
