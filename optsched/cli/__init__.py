"""The command line."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Annotated, Any

import typer

from optsched import __version__, interrupts
from optsched.__main__ import main as main
from optsched.cli import artefacts, library, make, plot, roll, run, shipped, simulate, sweeping
from optsched.cli.exit_codes import BAD_INPUT, FAILED, INTERRUPTED
from optsched.cli.settings import read_strictly
from optsched.errors import InputError, MissingExtraError, OptschedError, one_line
from optsched.progress import compiling_told

app = typer.Typer(
    name="optsched",
    help="How far from optimal is the way a GPU cluster schedules its deep-learning jobs?",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"optsched {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_print_version, help="Print it, leave."),
    ] = False,
) -> None:
    pass


for command in (
    *(run.solve, run.compare, run.check, run.explain, run.methods, plot.plot, make.export),
    *(
        roll.roll,
        shipped.schema,
        shipped.warm_up,
        simulate.simulate,
        library.verify,
        library.submit,
    ),
    *(sweeping.sweep, sweeping.table, sweeping.report, artefacts.reproduce),
):
    app.command()(command)
app.add_typer(make.kinds, name="generate", help="Generate instances from a seed.")
app.add_typer(make.formats, name="import", help="Import a trace or a profile.")
app.add_typer(shipped.instances, name="instances", help="The instances and plans that ship.")
app.add_typer(library.library, name="library", help="Frozen instances, and what is known of them.")
read_strictly(app)


def execute(arguments: list[str]) -> int:
    """Run a command; its exit code. Errors are one line on stderr."""
    code = _code(arguments)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
    return code


def _code(arguments: list[str]) -> int:
    if arguments[:1] in ([], ["help"]):
        arguments = [*arguments[1:], "--help"]
    interrupts.forget()
    try:
        with compiling_told(_Compiling().say):
            value = app(args=arguments, prog_name="optsched", standalone_mode=False)
        if value == INTERRUPTED:  # from a command that kept what it had, or from the library
            return _say("interrupted", INTERRUPTED)
        return value if isinstance(value, int) else 0
    except (InputError, MissingExtraError) as error:
        return _say(error, BAD_INPUT)
    except OptschedError as error:
        return _say(error, FAILED)
    except (KeyboardInterrupt, typer.Abort):
        return _say("interrupted", INTERRUPTED)
    except (BrokenPipeError, SystemExit):  # the latter is the command-line library's own way out
        _drop_output()
        return 0
    except MemoryError:
        return _say("out of memory", FAILED)
    except Exception as error:
        if _is_interrupt(error):
            return _say("interrupted", INTERRUPTED)
        if hasattr(error, "format_message"):  # the command-line library's own usage errors
            return _say(_with_hint(error), BAD_INPUT)
        if os.environ.get("OPTSCHED_DEBUG"):
            raise
        kind = type(error).__name__
        return _say(f"internal error: {kind}: {error} (OPTSCHED_DEBUG=1 shows where)", FAILED)


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether it was raised because of an interrupt, as compiled modules do while imported.

    Where classes of pydantic's are made, of what went wrong in the midst only the words are left.
    """
    while error is not None:
        if isinstance(error, KeyboardInterrupt) or KeyboardInterrupt.__name__ in str(error):
            return True
        error = error.__cause__ or error.__context__
    return interrupts.came()


def _with_hint(error: Any) -> str:
    context = getattr(error, "ctx", None)
    path = "optsched" if context is None else context.command_path
    if "No such command 'list'" in error.format_message() and path == "optsched":
        return (
            "no command 'list': `optsched methods` lists problems and methods, "
            "`optsched instances list` the shipped instances and plans"
        )
    return f"{error.format_message()} (see {path} --help)"


def _say(message: object, code: int) -> int:
    print(f"optsched: {one_line(' '.join(str(message).split()))}", file=sys.stderr)
    return code


class _Compiling:
    """Names what is compiled: once, also where several processes wait for it."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def say(self, name: str | None) -> None:
        if name is not None and name not in self._said:
            self._said.add(name)
            print(f"compiling {name}, once on this machine", file=sys.stderr, flush=True)


def _drop_output() -> None:
    """Nobody reads any more: let what is still buffered go nowhere, without a complaint."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
