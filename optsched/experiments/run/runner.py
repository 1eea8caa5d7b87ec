"""Sweeps: every unit of a plan that the store does not have yet, on a pool of processes.

A unit whose worker dies, or runs beyond its limit of time or memory, is recorded as a failed row,
and the sweep goes on. Workers load the compiled code before their first unit, so that no unit's
time includes it.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Protocol

from optsched import __version__
from optsched.backends.pyomo_solvers import require_solver
from optsched.declared import Between, require
from optsched.errors import InputError, shown
from optsched.experiments.plans.plan import MAX_UNITS, Limits, Plan, read_plan
from optsched.experiments.plans.units import (
    PlannedInstance,
    Unit,
    canonical,
    expand,
    require_allowed,
    require_allowed_recipe,
)
from optsched.experiments.run.processes import LocalPool, RunFailed, ThisProcess
from optsched.experiments.store.row import FAILURES, Row, failed
from optsched.experiments.store.store import Store, StoreReader, files_of_store
from optsched.extras import require_extras
from optsched.problems import PROBLEMS

QUEUED_PER_WORKER = 2
"""Units handed to the pool for each worker, so that none idles."""

PACKAGES = ("highspy", "numba", "numpy", "pyomo", "pyscipopt", "scipy")

Workers = Annotated[int, Between(0, 1024)]
Progress = Callable[["SweepState"], None]


@dataclass(frozen=True)
class SweepState:
    """Progress: units in all, done before, run in this call, and failed in this call."""

    total: int
    done: int
    run: int = 0
    failed: int = 0


class Pool(Protocol):
    """Where units run: this machine, or a cluster."""

    name: str
    workers: int

    def submit(self, unit: Unit, document: str, limits: Limits) -> Future[Row]:
        """Start a unit; the future gives its row or raises `RunFailed`."""

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
) -> SweepState:
    """Run the missing units of a plan; repeat the call to resume after an interruption.

    Parameters
    ----------
    plan : Plan, str or Path
        A plan, its file, or the name of a shipped one.
    store : str or Path
        The result store; made if it does not exist.
    workers : int, optional
        Processes on this machine; by default one per core. 0 runs units in this process, where
        ``unit_time`` is not enforced.
    dask : str, optional
        Instead, the address of a Dask scheduler.
    retry_errors : bool
        Run units again that ended in an error, a crash or a limit.
    allow : collection of str
        Modules that methods and generators of the plan (``module:name``) may be imported from.
    command : str
        The command line to note in the store.
    progress : callable, optional
        Called with the `SweepState` at the start and after each row.

    Returns
    -------
    SweepState
        Final progress.

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
    with _removed_if_invalid(Path(store)), Store(store) as base:
        planned = _planned(plan, problems, allow)
        total = base.register(plan.name, plan.sha256, plan.text, planned)
    with Store(store) as base:
        pending = base.pending(plan.name, retry_errors=retry_errors)
        state = SweepState(total, total - len(pending))
        if progress is not None:
            progress(state)
        if not pending:
            return state
        pool = _pool(workers, dask, tuple(sorted(problems)), len(pending))
        try:
            base.record_start(plan.name, command, pool.name, environment())
            return _Sweep(plan, base, pool, state, progress, allow).run(pending)
        finally:
            pool.stop()


def _modules(plan: Plan, dask: str | None) -> Iterator[str]:
    """Optional modules that the plan's methods need."""
    if dask is not None:
        yield "distributed"
    names = {name for family in plan.families for name in family.methods}
    for problem in PROBLEMS.values():
        for method in problem.methods:
            if method.name in names:
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
def _removed_if_invalid(store: Path) -> Iterator[None]:
    """Delete a new store if its plan turns out to be invalid."""
    is_new = not store.exists()
    try:
        yield
    except BaseException:
        if is_new and _has_no_plan(store):
            for path in files_of_store(store):
                path.unlink(missing_ok=True)
        raise


def _has_no_plan(store: Path) -> bool:
    try:
        with StoreReader(store) as base:
            return not base.rows("SELECT name FROM plans LIMIT 1")
    except InputError:
        return store.is_file() and store.stat().st_size == 0


def _planned(plan: Plan, problems: set[str], allow: Collection[str]) -> Iterator[PlannedInstance]:
    """Yield the plan's instances, and collect their problems."""
    units = 0
    for instance in expand(plan, allow):
        problems.add(instance.problem)
        units += len(instance.units)
        if units > MAX_UNITS:
            raise InputError(plan.source, "families", "more units", f"at most {MAX_UNITS}")
        yield instance


def _pool(workers: int | None, dask: str | None, problems: tuple[str, ...], units: int) -> Pool:
    if dask is not None:
        from optsched.experiments.run.dask import ClusterPool

        return ClusterPool(dask, problems)
    if workers == 0:
        return ThisProcess(problems)
    return LocalPool(min(workers or os.cpu_count() or 1, units), problems)


@dataclass
class _Sweep:
    """The loop: submit a few units ahead, and commit a row for each finished one."""

    plan: Plan
    store: Store
    pool: Pool
    state: SweepState
    progress: Progress | None
    allow: Collection[str]
    running: dict[Future[Row], Unit] = field(default_factory=dict)
    document: tuple[str, str] = ("", "")
    """SHA-256 and text of the last instance: units of one instance follow each other."""

    def run(self, pending: list[tuple[int, str]]) -> SweepState:
        try:
            for number, key in pending:
                while len(self.running) >= QUEUED_PER_WORKER * self.pool.workers:
                    self._collect(wait(self.running, return_when=FIRST_COMPLETED).done)
                self._start(self.store.unit(self.plan.name, number, key))
            while self.running:
                self._collect(wait(self.running, return_when=FIRST_COMPLETED).done)
        except KeyboardInterrupt:
            self._collect({future for future in self.running if future.done()})
            raise
        return self.state

    @cached_property
    def _limits(self) -> dict[str, Limits]:
        return {family.name: family.limits for family in self.plan.families}

    def _start(self, unit: Unit) -> None:
        require_allowed(unit.method, self.allow, self.store.path, "units")
        if self.document[0] != unit.sha256:
            self.document = (unit.sha256, self.store.document(unit.sha256))
        require_allowed_recipe(self.document[1], self.allow, self.store.path, "instances")
        limits = self._limits.get(unit.family)
        if limits is None:
            found = f"plan {shown(self.plan.name)} was replaced during the sweep"
            raise InputError(self.store.path, "", found, "a name for each plan")
        self.running[self.pool.submit(unit, self.document[1], limits)] = unit

    def _collect(self, futures: set[Future[Row]]) -> None:
        for future in futures:
            unit = self.running.pop(future)
            try:
                row = future.result()
            except RunFailed as failure:
                row = failed(unit, failure.status, str(failure), failure.seconds)
            self.store.add(row)
            failures = self.state.failed + (row.status in FAILURES)
            self.state = replace(self.state, run=self.state.run + 1, failed=failures)
            if self.progress is not None:
                self.progress(self.state)
