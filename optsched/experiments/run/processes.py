"""Processes on this machine that run units; a crash affects only its own unit.

Each process has a pipe of its own and a thread that supervises it: starts it again when it has died
and ends it at its limit of time. Nothing is shared between processes, since killing one could leave
a shared lock or queue in an invalid state.
"""

from __future__ import annotations

import atexit
import multiprocessing
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from queue import SimpleQueue
from typing import Any

from optsched.experiments.plans.plan import Limits
from optsched.experiments.plans.units import Unit
from optsched.experiments.run.worker import import_code, prepare, run_unit
from optsched.experiments.store.row import Row, Status
from optsched.progress import compile_listener, notify_compiling

ATTEMPTS = 5
"""Start attempts of a worker before its unit is recorded as crashed."""


class RunFailed(Exception):  # noqa: N818 - carries a status; not a programming error
    """A unit without a result row, with its status."""

    def __init__(self, status: Status, message: str, seconds: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.seconds = seconds

    def __reduce__(self) -> Any:
        return RunFailed, (self.status, str(self), self.seconds)


@dataclass
class _Task:
    """A unit to run, and the future that gets its row."""

    call: tuple[Callable[..., Row], tuple[Any, ...]]
    seconds: float | None
    future: Future[Row] = field(default_factory=Future)


class LocalPool:
    """Worker processes on this machine."""

    def __init__(self, workers: int, problems: tuple[str, ...]) -> None:
        self.workers = workers
        self.name = f"{workers} processes" if workers > 1 else "1 process"
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._supervisors: list[_Supervisor] = []
        atexit.register(self.stop)
        start_lock = threading.Lock()
        for _ in range(workers):
            self._supervisors.append(_Supervisor(problems, self._tasks, start_lock))

    def submit(self, unit: Unit, document: str, limits: Limits) -> Future[Row]:
        task = _Task((run_unit, (unit, document, limits.unit_memory)), limits.unit_time)
        self._tasks.put(task)
        return task.future

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

    def __init__(
        self, problems: tuple[str, ...], tasks: SimpleQueue[_Task | None], lock: threading.Lock
    ) -> None:
        super().__init__(daemon=True, name="supervisor")
        self._problems = problems
        self._tasks = tasks
        self._lock = lock  # of the pool: starting a process also reaps ended ones
        self._is_stopped = False
        self._is_ready = False
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self.start()

    def stop(self) -> None:
        with self._lock:
            self._is_stopped = True
            if self._process is not None:
                self._process.kill()

    def run(self) -> None:
        """Run tasks until the sentinel None arrives."""
        if hasattr(signal, "pthread_sigmask"):  # the main thread handles SIGINT; children ignore it
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        with suppress(Exception):  # the first unit will say so
            self._restart()
        while (task := self._tasks.get()) is not None:
            try:
                task.future.set_result(self._run(task))
            except RunFailed as failure:
                task.future.set_exception(failure)
            except Exception as error:  # such as a row that cannot be sent
                message = f"{type(error).__name__}: {error}"[:300]
                task.future.set_exception(RunFailed(Status.ERROR, message))
                self._end()
        self._end()

    def _run(self, task: _Task) -> Row:
        process, pipe = self._ready()
        pipe.send(task.call)
        remaining, is_compiling = task.seconds, False
        while True:
            began = time.monotonic()
            if not wait([pipe, process.sentinel], None if is_compiling else remaining):
                self._end()
                text = f"ended after its {task.seconds:g} s"
                raise RunFailed(Status.TIMED_OUT, text, task.seconds)
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
        raise RunFailed(Status.CRASHED, f"the worker died (exit code {self._end()})")

    def _ready(self) -> tuple[SpawnProcess, Connection]:
        """A process that waits for a unit."""
        for _ in range(ATTEMPTS):
            with self._lock:
                is_alive = self._process is not None and self._process.is_alive()
            if not is_alive:
                self._restart()
            process, pipe = self._process, self._pipe
            if process is None or pipe is None:
                break
            try:
                if not self._is_ready:
                    pipe.recv()
                    self._is_ready = True
                return process, pipe
            except (EOFError, OSError):
                self._end()
        raise RunFailed(Status.CRASHED, "the worker process failed to start")

    def _restart(self) -> None:
        """Start a process; a fresh interpreter on every platform inherits no threads or state."""
        self._end()
        spawn = multiprocessing.get_context("spawn")
        ours, theirs = spawn.Pipe()
        with self._lock:
            if not self._is_stopped:
                process = spawn.Process(target=work, args=(theirs, self._problems), name="worker")
                process.start()
                self._process, self._pipe, self._is_ready = process, ours, False
        theirs.close()  # otherwise the end of theirs is not detected

    def _end(self) -> int | None:
        """End the process, if there is one; its exit code."""
        with self._lock:
            process, pipe = self._process, self._pipe
            self._process = self._pipe = None
            if process is None or pipe is None:
                return None
            pipe.close()
            process.kill()
            process.join()
            return process.exitcode


def work(pipe: Connection, problems: tuple[str, ...]) -> None:
    """Run units from a pipe, in a worker process, until the pipe ends."""
    prepare(problems)
    with suppress(EOFError, OSError), compile_listener(pipe.send):
        pipe.send(None)
        while True:
            run, arguments = pipe.recv()
            pipe.send(run(*arguments))
