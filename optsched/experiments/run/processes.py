"""Processes on this machine that run units; a crash affects only its own unit.

Each process has a pipe of its own and a thread that supervises it: starts it again when it has died
and ends it at its limit of time. Nothing is shared between processes, since killing one could leave
a shared lock or queue in an invalid state.
"""

import atexit
import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from queue import SimpleQueue

from optsched import methods
from optsched.errors import NotApplicableError, OptschedError
from optsched.experiments.plans.plan import Limits
from optsched.experiments.plans.units import Unit, stored_instance
from optsched.experiments.store.store import Row, Status, done, failed
from optsched.problem import resolve
from optsched.problems import PROBLEMS
from optsched.progress import compile_listener, notify_compiling
from optsched.result import Termination

ATTEMPTS = 5
"""Start attempts of a worker before its unit is recorded as crashed."""

_lock = threading.Lock()
"""Held to start, end or kill a process: each of these also reaps other ended ones."""

Task = tuple[Unit, str, Limits, Future[Row]]


class LocalPool:
    def __init__(self, workers: int, problems: tuple[str, ...]) -> None:
        self.workers = workers
        self.name = f"{workers} processes" if workers > 1 else "1 process"
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        atexit.register(self.stop)
        self._supervisors = [_Supervisor(problems, self._tasks) for _ in range(workers)]

    def submit(self, unit: Unit, document: str, limits: Limits) -> Future[Row]:
        future: Future[Row] = Future()
        self._tasks.put((unit, document, limits, future))
        return future

    def stop(self) -> None:
        atexit.unregister(self.stop)
        for supervisor in self._supervisors:
            supervisor.stop()
        for _ in self._supervisors:
            self._tasks.put(None)
        for supervisor in self._supervisors:
            supervisor.join()


class ThisProcess:
    """Run units in this process, for short sweeps; time limits are not enforced."""

    name, workers = "this process", 1

    def __init__(self, problems: tuple[str, ...]) -> None:
        import_code(problems)

    def submit(self, unit: Unit, document: str, limits: Limits) -> Future[Row]:
        future: Future[Row] = Future()
        future.set_result(run_unit(unit, document, limits.unit_memory))
        return future

    def stop(self) -> None:
        """Nothing is left running."""


class _Supervisor(threading.Thread):
    """Supervises one process: hands it units, restarts it, ends it."""

    def __init__(self, problems: tuple[str, ...], tasks: SimpleQueue[Task | None]) -> None:
        super().__init__(daemon=True, name="supervisor")
        self._problems = problems
        self._tasks = tasks
        self._is_stopped = False
        self._worker: tuple[SpawnProcess, Connection] | None = None
        self.start()

    def stop(self) -> None:
        with _lock:
            self._is_stopped = True
            if self._worker is not None:
                self._worker[0].kill()

    def run(self) -> None:
        """Run tasks until the sentinel None arrives."""
        if hasattr(signal, "pthread_sigmask"):  # the main thread handles SIGINT; children ignore it
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        with suppress(Exception):  # the first unit will say so
            self._start()
        while (task := self._tasks.get()) is not None:
            unit, document, limits, future = task
            try:
                row = self._run(unit, document, limits)
            except Exception as error:  # such as a row that cannot be sent
                self._end()
                row = failed(unit, Status.ERROR, f"{type(error).__name__}: {error}")
            future.set_result(row)
        self._end()

    def _run(self, unit: Unit, document: str, limits: Limits) -> Row:
        worker = self._ready()
        if worker is None:
            return failed(unit, Status.CRASHED, "the worker process failed to start")
        process, pipe = worker
        pipe.send((run_unit, (unit, document, limits.unit_memory)))
        remaining, is_compiling = limits.unit_time, False
        while True:
            began = time.monotonic()
            if not wait([pipe, process.sentinel], None if is_compiling else remaining):
                self._end()
                text = f"ended after its {limits.unit_time:g} s"
                return failed(unit, Status.TIMED_OUT, text, limits.unit_time)
            try:
                if not pipe.poll():  # a dead process may have sent its row first
                    break
                received: Row | str | None = pipe.recv()
            except (EOFError, OSError):
                break
            if not isinstance(received, str | None):
                return received
            # The name of a kernel that is compiled, or None after: no time of the unit's.
            if remaining is not None and not is_compiling:
                remaining = max(remaining - (time.monotonic() - began), 0.0)
            is_compiling = received is not None
            notify_compiling(received)
        return failed(unit, Status.CRASHED, f"the worker died (exit code {self._end()})")

    def _ready(self) -> tuple[SpawnProcess, Connection] | None:
        """The process that waits for a unit, or a new one; None if none starts."""
        with _lock:
            if self._worker is not None and self._worker[0].is_alive():
                return self._worker
        for _ in range(ATTEMPTS):
            with suppress(EOFError, ConnectionError):  # it died while it started
                self._start()
                return self._worker
        return None

    def _start(self) -> None:
        """Start a process; a fresh interpreter on every platform inherits no threads or state."""
        self._end()
        spawn = multiprocessing.get_context("spawn")
        ours, theirs = spawn.Pipe()
        with _lock:
            if self._is_stopped:
                return
            process = spawn.Process(target=work, args=(theirs, self._problems), name="worker")
            process.start()
            self._worker = process, ours
        theirs.close()  # otherwise the end of theirs is not detected
        try:
            ours.recv()
        except BaseException:
            self._end()
            raise

    def _end(self) -> int | None:
        """End the process, if there is one; its exit code."""
        with _lock:
            if self._worker is None:
                return None
            (process, pipe), self._worker = self._worker, None
            pipe.close()
            process.kill()
            process.join()
            return process.exitcode


def work(pipe: Connection, problems: tuple[str, ...]) -> None:
    """Run units from a pipe, in a worker process, until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # Pyomo creates a named semaphore on import, which a killed worker would leak, and of which
    # Python would warn. A lock of the "fork" method loses its name as soon as it is made.
    if "fork" in multiprocessing.get_all_start_methods():
        multiprocessing.set_start_method("fork", force=True)
    import_code(problems)
    with suppress(EOFError, OSError), compile_listener(pipe.send):
        pipe.send(None)
        while True:
            run, arguments = pipe.recv()
            pipe.send(run(*arguments))


def _end_with_parent() -> None:
    """Leave no worker behind a process that was killed."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


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
                stored_instance(unit.problem, unit.sha256, document),
                unit.method,
                options=json.loads(unit.options),
                seed=unit.seed,
                **json.loads(unit.settings),
            )
        if result.termination is Termination.INTERRUPTED:  # when running in this process
            raise KeyboardInterrupt
        return done(unit, result, time.perf_counter() - began)
    except NotApplicableError as error:
        status, message = Status.REFUSED, str(error)
    except MemoryError:
        status, message = Status.OUT_OF_MEMORY, "the memory limit was reached"
    except OptschedError as error:
        status, message = Status.ERROR, str(error)
    except Exception as error:
        status, message = Status.ERROR, f"{type(error).__name__}: {error}"
    return failed(unit, status, message, time.perf_counter() - began)


@contextmanager
def memory_limit(memory: int | None) -> Iterator[None]:
    used = None
    with suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        with open("/proc/self/statm", encoding="ascii") as stream:
            used = int(stream.read().split()[0]) * resource.getpagesize()
    if used is None or memory is None:
        yield
        return
    wanted = used + memory
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard < 0 else min(wanted, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
