"""Sweeps: every unit of a plan that the store does not have yet, on a pool of processes.

The pool survives a dead worker. A unit whose worker dies, or runs beyond its limit of time or
memory, becomes a row that says so, and the sweep goes on. Workers load the compiled code before
their first unit, so that no unit pays for it.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Protocol

from optsched import __version__
from optsched.backends import require_solver
from optsched.declared import Between, require
from optsched.errors import InputError, shown
from optsched.experiments.plans.plan import MOST_UNITS, Limits, Plan, read_plan
from optsched.experiments.plans.units import (
    PlannedInstance,
    Unit,
    canonical,
    expand,
    require_allowed,
    require_allowed_recipe,
)
from optsched.experiments.run.processes import LocalPool, Lost, ThisProcess
from optsched.experiments.store.row import FAILURES, Row, failed
from optsched.experiments.store.store import Store, StoreReader
from optsched.extras import require_extras
from optsched.problems import PROBLEMS

AHEAD = 2
"""Units handed to the pool for each worker: enough that none waits, few enough to forget."""

PACKAGES = ("highspy", "numba", "numpy", "pyomo", "pyscipopt", "scipy")

Workers = Annotated[int, Between(0, 1024)]
Progress = Callable[["Standing"], None]


@dataclass(frozen=True)
class Standing:
    """How far a sweep is: units of the plan, of them not to be run, run now, failed now."""

    total: int
    done: int
    run: int = 0
    failed: int = 0


class Pool(Protocol):
    """Where units run: this machine, or a cluster."""

    name: str
    workers: int

    def submit(self, unit: Unit, document: str, limits: Limits) -> Future[Row]:
        """Start a unit; the future gives its row or raises `Lost`."""

    def stop(self) -> None:
        """End every worker, whatever it is doing."""


def sweep(
    plan: Plan | str | Path,
    store: str | Path,
    *,
    workers: int | None = None,
    dask: str | None = None,
    retry_errors: bool = False,
    allow: Collection[str] = (),
    command: str = "",
    progress: Progress | None = None,
) -> Standing:
    """Run what is missing of a plan; start it again after any interruption.

    Parameters
    ----------
    plan : Plan, str or Path
        A plan, its file, or the name of a shipped one.
    store : str or Path
        The result store; made if it does not exist.
    workers : int, optional
        Processes on this machine; by default one a core. With 0 units run in this process, where
        nothing ends one that does not keep to its limits.
    dask : str, optional
        Instead, the address of a Dask scheduler.
    retry_errors : bool
        Also run again what ended in an error, a crash or a limit.
    allow : collection of str
        Modules that methods and generators of the plan (``module:name``) may be imported from.
    command : str
        The command line to note in the store.
    progress : callable, optional
        Called with the `Standing` at the start and after each row.

    Returns
    -------
    Standing
        The end of it.

    Raises
    ------
    InputError
        If the plan or the store cannot be used.
    MissingExtraError
        Without an extra that a method or solver needs; with `dask`, without ``cluster``.

    Examples
    --------
    >>> plan = '''
    ... name = "one"
    ... [[families]]
    ... name = "fig2"
    ... instances = ["placement/fig2"]
    ... methods = ["heavy-edge", "exact"]
    ... '''
    >>> _ = Path("one.toml").write_text(plan)
    >>> sweep("one.toml", "one.sqlite", workers=0).run
    2
    """
    require("sweep", "workers", workers, Workers | None)
    if not isinstance(plan, Plan):
        plan = read_plan(plan)
    require_extras(_modules(plan, dask))
    for family in plan.families:
        require_solver(family.limits.solver)
    problems: set[str] = set()
    with _none_left_empty(Path(store)), Store(store) as base:
        total = base.register(plan.name, plan.sha256, plan.text, _noting(plan, problems, allow))
    with Store(store) as base:
        pending = base.pending(plan.name, retry_errors=retry_errors)
        standing = Standing(total, total - len(pending))
        if progress is not None:
            progress(standing)
        if not pending:
            return standing
        pool = _pool(workers, dask, tuple(sorted(problems)), len(pending))
        try:
            base.note_run(plan.name, command, pool.name, environment())
            return _Sweep(plan, base, pool, standing, progress, allow).run(pending)
        finally:
            pool.stop()


def _modules(plan: Plan, dask: str | None) -> Iterator[str]:
    """What the sweep will take of optional dependencies, as far as the plan alone says."""
    if dask is not None:
        yield "distributed"
    for family in plan.families:
        for problem in PROBLEMS.values():
            for method in problem.methods:
                if method.name in family.methods:
                    yield from method.modules


def environment() -> str:
    """Versions that a result may depend on, as JSON."""
    versions = {"optsched": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return canonical({**versions, "platform": platform.platform(), "cores": os.cpu_count()})


@contextmanager
def _none_left_empty(store: Path) -> Iterator[None]:
    """Take away a store that was made for a plan that then could not be used."""
    is_new = not store.exists()
    try:
        yield
    except BaseException:
        if is_new and _holds_no_plan(store):
            for end in ("", "-wal", "-shm"):
                Path(f"{store}{end}").unlink(missing_ok=True)
        raise


def _holds_no_plan(store: Path) -> bool:
    try:
        with StoreReader(store) as base:
            return not base.rows("SELECT name FROM plans LIMIT 1")
    except InputError:
        return store.is_file() and store.stat().st_size == 0


def _noting(plan: Plan, problems: set[str], allow: Collection[str]) -> Iterator[PlannedInstance]:
    units = 0
    for planned in expand(plan, allow):
        problems.add(planned.problem)
        units += len(planned.units)
        if units > MOST_UNITS:
            raise InputError(plan.source, "families", "more units", f"at most {MOST_UNITS}")
        yield planned


def _pool(workers: int | None, dask: str | None, problems: tuple[str, ...], units: int) -> Pool:
    if dask is not None:
        from optsched.experiments.run.dask import ClusterPool

        return ClusterPool(dask, problems)
    if workers == 0:
        return ThisProcess(problems)
    return LocalPool(min(workers or os.cpu_count() or 1, units), problems)


class _Sweep:
    """The loop: a few units ahead of the workers, and a committed row for each that ends."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        pool: Pool,
        standing: Standing,
        progress: Progress | None,
        allow: Collection[str],
    ) -> None:
        self._plan = plan.name
        self._allow = allow
        self._limits = {family.name: family.limits for family in plan.families}
        self._store = store
        self._pool = pool
        self._standing = standing
        self._progress = progress
        self._flying: dict[Future[Row], Unit] = {}
        self._document = ("", "")

    def run(self, pending: list[tuple[int, str]]) -> Standing:
        """Run the units of these numbers and keys."""
        try:
            for number, key in pending:
                while len(self._flying) >= AHEAD * self._pool.workers:
                    self._land(wait(self._flying, return_when=FIRST_COMPLETED).done)
                self._start(self._store.unit(self._plan, number, key))
            while self._flying:
                self._land(wait(self._flying, return_when=FIRST_COMPLETED).done)
        except KeyboardInterrupt:
            self._land({future for future in self._flying if future.done()})
            raise
        return self._standing

    def _start(self, unit: Unit) -> None:
        require_allowed(unit.method, self._allow, self._store.path, "units")
        if self._document[0] != unit.sha256:
            self._document = (unit.sha256, self._store.document(unit.sha256))
        require_allowed_recipe(self._document[1], self._allow, self._store.path, "instances")
        limits = self._limits.get(unit.family)
        if limits is None:
            found = f"plan {shown(self._plan)} replaced while it was run"
            raise InputError(self._store.path, "", found, "a name for each plan")
        self._flying[self._pool.submit(unit, self._document[1], limits)] = unit

    def _land(self, futures: set[Future[Row]]) -> None:
        for future in futures:
            unit = self._flying.pop(future)
            row = _row(unit, future)
            self._store.add(row)
            now = self._standing
            self._standing = Standing(
                now.total, now.done, now.run + 1, now.failed + (row.status in FAILURES)
            )
            if self._progress is not None:
                self._progress(self._standing)


def _row(unit: Unit, future: Future[Row]) -> Row:
    try:
        return future.result()
    except Lost as lost:
        return failed(unit, lost.status, str(lost), lost.seconds)
