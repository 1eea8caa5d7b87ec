"""Command lines in this process: what they print, and how they end."""

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from optsched.cli import _code


def run(line: str, *more: object) -> tuple[int, str, str]:
    """Exit code, output and errors; the line is split at spaces, `more` is taken as it is."""
    out, error = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        code = _code([*line.split(), *map(str, more)])
    lines = error.getvalue().splitlines(keepends=True)
    return code, out.getvalue(), "".join(x for x in lines if not x.startswith("compiling "))


def printed(line: str, *more: object, code: int = 0) -> str:
    """The output of a command that ends with this code."""
    found, out, error = run(line, *more)
    assert found == code, error
    return out


def json_of(line: str, *more: object, code: int = 0) -> Any:
    return json.loads(printed(line, *more, "--json", code=code))


def stderr_of(line: str, *more: object, code: int = 0) -> str:
    """The errors of a command that ends with this code."""
    found, _, error = run(line, *more)
    assert found == code, error
    return error


def refusal(line: str, *more: object) -> str:
    """The one line, without the program's name, of a command refused with code 2."""
    code, out, error = run(line, *more)
    assert (code, out) == (2, ""), error
    assert error.startswith("optsched: ")
    assert error.endswith("\n")
    assert len(error.splitlines()) == 1
    return error.removeprefix("optsched: ").rstrip("\n")


def transcript(text: str) -> list[tuple[str, str]]:
    """Commands, each after "$ ", and what stands below it, on one line."""
    parts = [part.splitlines() for part in text.split("$ ")[1:]]
    return [(command, " ".join(map(str.strip, lines)).strip()) for command, *lines in parts]


def quiet(line: str, *more: object, code: int = 0) -> str:
    """The output of a command that ends with this code and says nothing beside it."""
    found, out, error = run(line, *more)
    assert (found, error) == (code, "")
    return out
