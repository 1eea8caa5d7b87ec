"""Commands about shipped instances, schemas and compiled kernels."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument

from optsched.cli.exit_codes import DONE
from optsched.cli.settings import print_json, require_folder
from optsched.cli.show import note
from optsched.errors import InputError, shown, suggestion
from optsched.io.schemas import SCHEMAS, json_schema
from optsched.library import copy_shipped, shipped_names, shipped_plans
from optsched.problems import PROBLEMS

instances = typer.Typer(rich_markup_mode=None)


@instances.command("list")
def list_instances() -> int:
    """List the shipped instances, and the plans for sweeps."""
    for name in (*shipped_names(), *shipped_plans()):
        print(name)
    return DONE


@instances.command("copy")
def copy_instances(
    folder: Annotated[str, Argument(metavar="DIR", help="Output folder, without these files.")],
) -> int:
    """Copy the shipped instances and plans into a folder."""
    require_folder(folder)
    note(f"copied {copy_shipped(folder)} files into {folder}")
    return DONE


def schema(
    name: Annotated[str, Argument(metavar="NAME", help="Schema name, e.g. placement.")],
) -> int:
    """Print the JSON Schema of a file format."""
    if name not in SCHEMAS:
        raise InputError("schema", "", shown(name), suggestion(name, SCHEMAS))
    print_json(json_schema(name))
    return DONE


def warm_up(
    problems: Annotated[
        list[str] | None, Argument(metavar="[PROBLEM]...", help="[default: all]")
    ] = None,
) -> int:
    """Compile all kernels, once per machine. It can be interrupted and resumed."""
    from optsched.methods import warm_up

    names = problems or list(PROBLEMS)
    for name in names:
        if name not in PROBLEMS:
            raise InputError("warm-up", "", shown(name), suggestion(name, PROBLEMS))
    for i, name in enumerate(names):
        note(f"{name}, {i + 1} of {len(names)}: {warm_up(name):.1f} s")
    return DONE
