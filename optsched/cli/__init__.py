"""The command line."""

import os
import sys
from contextlib import suppress
from functools import cache
from typing import Annotated

import typer
from typer import Option

from optsched import __version__, interrupts
from optsched.__main__ import main as main
from optsched.cli import generate, importing, library, plot, run, simulate, sweeping
from optsched.cli.exit_codes import BAD_INPUT, FAILED, INTERRUPTED
from optsched.cli.settings import use_strict_numbers
from optsched.errors import InputError, MissingExtraError, OptschedError, one_line
from optsched.progress import compile_listener

app = typer.Typer(
    name="optsched",
    help="Optimal and heuristic scheduling of deep-learning jobs on GPU clusters. "
    "`optsched methods` lists problems and methods, `optsched list` the shipped instances.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(value: bool) -> None:
    if value:
        print(f"optsched {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        Option(
            "--version", is_eager=True, callback=_print_version, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


for command in (
    *(run.solve, run.compare, run.check, run.explain, run.methods, plot.plot, plot.export),
    *(simulate.roll, library.schema, library.warm_up, simulate.simulate, simulate.decide),
    *(simulate.what_to_win, library.verify, importing.profile),
    *(library.submit, sweeping.sweep, sweeping.table, sweeping.report, sweeping.reproduce),
):
    app.command()(command)
app.add_typer(generate.kinds, name="generate", help="Generate random instances.")
app.add_typer(importing.formats, name="import", help="Import a trace or a profile.")
app.add_typer(library.instances, name="instances", help="List or copy the shipped instances.")
app.add_typer(
    library.library, name="library", help="Browse the benchmark library: best values and proofs."
)
use_strict_numbers(app)


def execute(arguments: list[str]) -> int:
    """Run a command and return its exit code; an error is one line on stderr."""
    code = _code(arguments)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
    return code


def _code(arguments: list[str]) -> int:
    if arguments[:1] in ([], ["help"]):
        arguments = [*arguments[1:], "--help"]
    elif arguments[:1] == ["list"]:
        arguments = ["instances", *arguments]
    interrupts.reset()
    try:
        # A name is printed once, though several processes compile it.
        with compile_listener(cache(_print_compiling)):
            value = app(args=arguments, prog_name="optsched", standalone_mode=False)
        if value == INTERRUPTED:  # partial results were kept
            return _print_error("interrupted", INTERRUPTED)
        return value if isinstance(value, int) else 0
    except (InputError, MissingExtraError) as error:
        return _print_error(error, BAD_INPUT)
    except OptschedError as error:
        return _print_error(error, FAILED)
    except (KeyboardInterrupt, typer.Abort):
        return _print_error("interrupted", INTERRUPTED)
    except (BrokenPipeError, SystemExit):  # the latter is raised by click
        _drop_output()
        return 0
    except MemoryError:
        return _print_error(
            "out of memory: a smaller instance or fewer --threads need less", FAILED
        )
    except Exception as error:
        if _is_interrupt(error):
            return _print_error("interrupted", INTERRUPTED)
        if hasattr(error, "format_message"):  # click's usage errors
            context = getattr(error, "ctx", None)
            path = "optsched" if context is None else context.command_path
            return _print_error(f"{error.format_message()} (see {path} --help)", BAD_INPUT)
        if os.environ.get("OPTSCHED_DEBUG"):
            raise
        kind = type(error).__name__
        return _print_error(
            f"internal error: {kind}: {error} (set OPTSCHED_DEBUG=1 for the traceback)", FAILED
        )


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether an interrupt caused an error.

    Extension modules raise other exceptions when interrupted during their import, and stay half
    imported. While pydantic builds a class, only the text of its error mentions the interrupt.
    """
    texts = KeyboardInterrupt.__name__, "partially initialized module 'numba"
    while error is not None:
        if isinstance(error, KeyboardInterrupt) or any(text in str(error) for text in texts):
            return True
        error = error.__cause__ or error.__context__
    return interrupts.received()


def _print_error(message: object, code: int) -> int:
    print(f"optsched: {one_line(' '.join(str(message).split()))}", file=sys.stderr)
    return code


def _print_compiling(name: str | None) -> None:
    if name is not None:
        print(f"compiling {name} (once per machine)", file=sys.stderr, flush=True)


def _drop_output() -> None:
    """Discard buffered output after a broken pipe."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
