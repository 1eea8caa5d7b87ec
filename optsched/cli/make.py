"""Commands that write files: generate, import, export."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

from optsched.cli import importing
from optsched.cli.exit_codes import DONE
from optsched.cli.generate import Generators
from optsched.cli.settings import InstanceFile, Options, OutputFile, read_options
from optsched.cli.show import note
from optsched.io.outputs import require_outputs
from optsched.library import files_read
from optsched.verbs.exporting import export as run

kinds = typer.Typer(cls=Generators, rich_markup_mode=None)
formats = typer.Typer(cls=importing.Formats, rich_markup_mode=None)


@kinds.callback()
@formats.callback()
def _made() -> None:
    """Typer needs a callback for a group without commands."""


def export(
    file: InstanceFile,
    method: Annotated[str, Option(metavar="M", help="A method with a Pyomo model.")],
    file_format: Annotated[
        str, Option("--format", metavar="mps|lp|nl", help="Format of the file.")
    ],
    output: OutputFile,
    option: Options = None,
    pruned: Annotated[
        bool,
        Option("--pruned", help="Write the smaller model, without what no better solution needs."),
    ] = False,
) -> int:
    """Write a method's Pyomo model for another solver."""
    require_outputs([output], files_read(file))
    chosen = read_options(option)
    objective = run(file, method, file_format, output, options=chosen, pruned=pruned)
    note(f"wrote {output}: {objective}")
    return DONE
