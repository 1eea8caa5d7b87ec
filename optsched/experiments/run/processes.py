"""Processes on this machine that run units; one that dies takes its unit with it, and no other.

Each process has a pipe of its own and a thread that watches over it, starts it again when it has
died and ends it at its limit of time. Nothing is shared between processes: a lock or a queue would
be left held, or half written, by one that is killed.
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
from optsched.progress import compiling_told, tell_compiling

ATTEMPTS = 5
"""Times in a row a process may die before it is ready, until its unit is given up."""


class Lost(Exception):  # noqa: N818 - a status on its way to a row, not an error of ours
    """A unit that brought no row, and how it ended."""

    def __init__(self, status: Status, message: str, seconds: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.seconds = seconds

    def __reduce__(self) -> Any:
        return Lost, (self.status, str(self), self.seconds)


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
        self._keepers: list[_Keeper] = []
        atexit.register(self.stop)
        one_at_a_time = threading.Lock()
        for _ in range(workers):
            self._keepers.append(_Keeper(problems, self._tasks, one_at_a_time))

    def submit(self, unit: Unit, document: str, limits: Limits) -> Future[Row]:
        """Start a unit; the future gives its row or raises `Lost`."""
        task = _Task((run_unit, (unit, document, limits.unit_memory)), limits.unit_time)
        self._tasks.put(task)
        return task.future

    def stop(self) -> None:
        """End every worker, whatever it is doing."""
        atexit.unregister(self.stop)
        for keeper in self._keepers:
            keeper.stop()
        for _ in self._keepers:
            self._tasks.put(None)
        for keeper in self._keepers:
            keeper.join()


class ThisProcess:
    """No other process: for sweeps that are shorter than starting one, whose units keep to time."""

    name, workers = "this process", 1

    def __init__(self, problems: tuple[str, ...]) -> None:
        import_code(problems)

    def submit(self, unit: Unit, document: str, limits: Limits) -> Future[Row]:
        """Run a unit; the future has its row."""
        future: Future[Row] = Future()
        future.set_result(run_unit(unit, document, limits.unit_memory))
        return future

    def stop(self) -> None:
        """Nothing is left running."""


class _Keeper(threading.Thread):
    """Watches over one process: hands it units, starts it again, ends it."""

    def __init__(
        self, problems: tuple[str, ...], tasks: SimpleQueue[_Task | None], lock: threading.Lock
    ) -> None:
        super().__init__(daemon=True, name="keeper")
        self._problems = problems
        self._tasks = tasks
        self._lock = lock  # of the pool: starting a process also collects others that ended
        self._is_stopped = False
        self._is_ready = False
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self.start()

    def stop(self) -> None:
        """End the process, and start no other."""
        with self._lock:
            self._is_stopped = True
            if self._process is not None:
                self._process.kill()

    def run(self) -> None:
        """Run units until there is None."""
        if hasattr(signal, "pthread_sigmask"):  # our children leave it to us what it means
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        with suppress(Exception):  # the first unit will say so
            self._restart()
        while (task := self._tasks.get()) is not None:
            try:
                task.future.set_result(self._run(task))
            except Lost as lost:
                task.future.set_exception(lost)
            except Exception as error:  # such as a row that cannot be sent
                message = f"{type(error).__name__}: {error}"[:300]
                task.future.set_exception(Lost(Status.ERROR, message))
                self._end()
        self._end()

    def _run(self, task: _Task) -> Row:
        process, pipe = self._ready()
        pipe.send(task.call)
        left, is_compiling = task.seconds, False
        while True:
            began = time.monotonic()
            if not wait([pipe, process.sentinel], None if is_compiling else left):
                self._end()
                message = f"ended after its {task.seconds:g} s"
                raise Lost(Status.TIMED_OUT, message, task.seconds)
            try:
                if not pipe.poll():  # also a dead one may have sent its row before
                    break
                answer: Row | str | None = pipe.recv()
            except (EOFError, OSError):
                break
            if not isinstance(answer, str | None):
                return answer
            if left is not None and not is_compiling:
                left = max(left - (time.monotonic() - began), 0.0)
            is_compiling = answer is not None  # by name, and is no work of the unit's
            tell_compiling(answer)
        raise Lost(Status.CRASHED, f"the worker died (exit code {self._end()})")

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
        raise Lost(Status.CRASHED, "no worker process comes up")

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
        theirs.close()  # or the end of theirs would not be seen

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
    """What a worker process does: units from its pipe, until that ends."""
    prepare(problems)
    with suppress(EOFError, OSError), compiling_told(pipe.send):
        pipe.send(None)
        while True:
            run, arguments = pipe.recv()
            pipe.send(run(*arguments))
