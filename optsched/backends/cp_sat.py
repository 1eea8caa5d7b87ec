"""CP-SAT of OR-Tools, in a process of its own, which is killed at the deadline or an interrupt.

Its crash or its memory is then not ours, and its shared libraries do not meet those of HiGHS: two
of one name do not go together. Only whole numbers cross: a model is named, its data are JSON, and
what comes back are the values of its decisions, the bound, and how it ended.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from optsched.deadline import Deadline, clock
from optsched.errors import one_line
from optsched.extras import require_extras
from optsched.result import Settings

LOOK = 0.1
"""Seconds between two looks at the deadline."""
PARTING = 0.2
"""Seconds before the deadline at which it is to stop by itself, and so to say what it proved."""

Heard = Callable[[list[int] | None, int | None], None]
"""Hears of the decisions' values, where they are new, and of the bound."""


@dataclass
class CpAnswer:
    """What CP-SAT said.

    Attributes
    ----------
    values : list of int or None
        Of the model's decisions, in its order; None if no solution was found.
    bound : int or None
        What no objective is below; None if nothing was said.
    infeasible : bool
        Whether it proved that there is no solution.
    ended : bool
        Whether it ended by itself; otherwise a limit, an interrupt or a crash ended it.
    message : str
        How its process died, if it did so by itself.
    seconds : float
        Since it was asked; 0 if it was not.
    """

    values: list[int] | None = None
    bound: int | None = None
    infeasible: bool = False
    ended: bool = False
    message: str = ""
    seconds: float = 0.0


def require_cp_sat() -> None:
    """Refuse to start without the extra; raises MissingExtraError."""
    require_extras(["ortools"])


def cp_sat_version() -> str:
    """The installed version."""
    return version("ortools")


def solve_cp(
    model: str, data: Mapping[str, Any], settings: Settings, heard: Heard | None = None
) -> CpAnswer:
    """Build a model and minimise it in another process."""
    began, deadline, answer = clock(), settings.deadline, CpAnswer()
    left = deadline.left
    request = {
        "model": model,
        "data": dict(data),
        "until": None if left is None else time.time() + left - PARTING,
        "threads": settings.threads,
        "seed": settings.seed,
        "gap": settings.gap,
    }
    if deadline.has(PARTING):
        told = json.dumps(request, allow_nan=False)
        with TemporaryFile() as errors, _running(told, errors) as process:
            for line in _lines(process, deadline):
                _take(answer, json.loads(line), heard)
            if process.poll():
                answer.message = _last_words(process.returncode, errors)
    answer.seconds = clock() - began
    return answer


def _take(answer: CpAnswer, said: Mapping[str, Any], heard: Heard | None) -> None:
    answer.values = said.get("values") or answer.values
    answer.bound = said.get("bound", answer.bound)
    status = said.get("status")
    answer.ended = status in ("OPTIMAL", "INFEASIBLE")  # "FEASIBLE", "UNKNOWN": its limit
    answer.infeasible = status == "INFEASIBLE"
    if heard is not None:
        heard(said.get("values"), answer.bound)


def _last_words(code: int, errors: IO[bytes]) -> str:
    """How the process died, with what it said last."""
    errors.seek(0)
    said = errors.read().decode(errors="replace").strip().splitlines()
    return f"the process of CP-SAT ended with {code}" + (f": {one_line(said[-1])}" if said else "")


@contextmanager
def _running(request: str, errors: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """The process, killed at the end of the block whatever ends it.

    In a session of its own: an interrupt from the keyboard is ours to act upon.
    """
    home = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(part for part in (home, os.environ.get("PYTHONPATH", "")) if part)
    process = subprocess.Popen(
        [sys.executable, "-m", "optsched.backends.cp_sat_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with suppress(BrokenPipeError):  # it died; that it said nothing tells so
            process.stdin.write(request.encode() + b"\n")
            process.stdin.flush()
        yield process
    finally:
        process.kill()
        process.wait()
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()


def _lines(process: subprocess.Popen[bytes], deadline: Deadline) -> Iterator[bytes]:
    """What it prints, line by line, until it ends or the deadline passes."""
    assert process.stdout is not None
    stream, rest = process.stdout.fileno(), b""
    while not deadline.is_over:
        if not select.select([stream], [], [], LOOK)[0]:
            continue
        more = os.read(stream, 1 << 16)
        if not more:
            process.wait()
            return
        *lines, rest = (rest + more).split(b"\n")
        yield from lines
