"""What runs inside a worker process: one unit, and the guards around it."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from multiprocessing import connection, parent_process
from typing import Any

from optsched import methods
from optsched.errors import InputError, NotApplicableError, OptschedError, one_line
from optsched.experiments.plans.instances import instance_of_recipe, recipe_in
from optsched.experiments.plans.units import Unit
from optsched.experiments.store.row import Row, Status, done, failed
from optsched.problem import resolve
from optsched.problems import PROBLEMS
from optsched.result import Termination

LONGEST_MESSAGE = 300


def prepare(problems: tuple[str, ...]) -> None:
    """Make a new worker process ready: code imported, its life tied to its parent's."""
    tie_to_parent()
    leave_no_semaphore()
    import_code(problems)


def import_code(problems: tuple[str, ...]) -> None:
    """Import the problems' methods, so that no unit's time goes into that."""
    for problem in problems:
        with suppress(Exception):  # the unit that needs it will say so
            resolve(str(PROBLEMS[problem].warm_up))


def tie_to_parent() -> None:
    """End with the parent, and leave it to the parent what an interrupt means."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def leave_no_semaphore() -> None:
    """Let locks have no name that a killed process leaves behind: Pyomo makes one on import.

    Python would warn of each when the parent ends. A lock of the "fork" method, where there is
    one, loses its name as soon as it is made.
    """
    if "fork" in multiprocessing.get_all_start_methods():
        multiprocessing.set_start_method("fork", force=True)


def run_unit(unit: Unit, document: str, memory: int | None = None) -> Row:
    """Run one unit in so many bytes; whatever it raises becomes a row."""
    began = time.perf_counter()
    try:
        with memory_limit(memory):
            result = methods.solve(
                _instance(unit.problem, unit.sha256, document),
                unit.method,
                options=json.loads(unit.options),
                seed=unit.seed,
                **json.loads(unit.settings),
            )
        if result.termination is Termination.INTERRUPTED:  # where no other process shields it
            raise KeyboardInterrupt
        return done(unit, result, time.perf_counter() - began)
    except NotApplicableError as error:
        return failed(unit, Status.REFUSED, _brief(error), time.perf_counter() - began)
    except MemoryError:
        seconds = time.perf_counter() - began
        return failed(unit, Status.OUT_OF_MEMORY, "the memory limit was reached", seconds)
    except (InputError, OptschedError) as error:
        return failed(unit, Status.ERROR, _brief(error), time.perf_counter() - began)
    except Exception as error:
        text = f"{type(error).__name__}: {_brief(error)}"
        return failed(unit, Status.ERROR, text, time.perf_counter() - began)


@contextmanager
def memory_limit(memory: int | None) -> Iterator[bool]:
    """Bound what this process may take beyond what it has; yields False where it cannot."""
    limits = None if memory is None else _address_space(memory)
    if limits is None:
        yield memory is None
        return
    import resource

    (before, _), wanted = limits
    resource.setrlimit(resource.RLIMIT_AS, wanted)
    try:
        yield True
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (before, wanted[1]))


def _address_space(memory: int) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """The process's limit of address space, and the one wanted; None where there is none."""
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as stream:
            used = int(stream.read().split()[0]) * resource.getpagesize()
        before, most = resource.getrlimit(resource.RLIMIT_AS)
    except (ImportError, OSError, ValueError):
        return None
    wanted = used + memory
    return (before, most), (wanted if most < 0 else min(wanted, most), most)


@lru_cache(maxsize=4)
def _instance(problem: str, sha256: str, document: str) -> Any:
    recipe = recipe_in(document)
    if recipe is not None:
        return instance_of_recipe(recipe)
    return resolve(PROBLEMS[problem].instance).from_dict(json.loads(document), sha256[:12])


def _end_with_parent() -> None:
    """Leave no worker behind a process that was killed."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _brief(error: Exception) -> str:
    return one_line(str(error))[:LONGEST_MESSAGE]
