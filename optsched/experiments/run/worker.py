"""Run one unit inside a worker process, under its limits."""

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
from optsched.experiments.plans.units import Unit, instance_of_recipe, recipe_in
from optsched.experiments.store.row import Row, Status, done, failed
from optsched.problem import resolve
from optsched.problems import PROBLEMS
from optsched.result import Termination

LONGEST_MESSAGE = 300


def prepare(problems: tuple[str, ...]) -> None:
    """Prepare a new worker process: import the code, and end with the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # Pyomo creates a named semaphore on import, which a killed worker would leak, and of which
    # Python would warn. A lock of the "fork" method loses its name as soon as it is made.
    if "fork" in multiprocessing.get_all_start_methods():
        multiprocessing.set_start_method("fork", force=True)
    import_code(problems)


def import_code(problems: tuple[str, ...]) -> None:
    """Import the problems' methods, so that no unit's time goes into that."""
    for problem in problems:
        with suppress(Exception):  # the unit that needs it will say so
            resolve(str(PROBLEMS[problem].warm_up))


def run_unit(unit: Unit, document: str, memory: int | None = None) -> Row:
    """Run one unit under a memory limit in bytes; exceptions become failed rows."""
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
        if result.termination is Termination.INTERRUPTED:  # when running in this process
            raise KeyboardInterrupt
        return done(unit, result, time.perf_counter() - began)
    except NotApplicableError as error:
        status, message = Status.REFUSED, _brief(error)
    except MemoryError:
        status, message = Status.OUT_OF_MEMORY, "the memory limit was reached"
    except (InputError, OptschedError) as error:
        status, message = Status.ERROR, _brief(error)
    except Exception as error:
        status, message = Status.ERROR, f"{type(error).__name__}: {_brief(error)}"
    return failed(unit, status, message, time.perf_counter() - began)


@contextmanager
def memory_limit(memory: int | None) -> Iterator[bool]:
    """Limit the additional memory of this process; yields False where that is not supported."""
    if memory is None:
        yield True
        return
    used = None
    with suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        with open("/proc/self/statm", encoding="ascii") as stream:
            used = int(stream.read().split()[0]) * resource.getpagesize()
    if used is None:
        yield False
        return
    wanted = used + memory
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard < 0 else min(wanted, hard), hard))
    try:
        yield True
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


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
