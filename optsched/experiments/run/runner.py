"""Sweeps: every unit of a plan that the store does not have yet, on a pool of processes.

A unit whose worker dies, or runs beyond its limit of time or memory, is recorded as a failed row,
and the sweep goes on. Workers load the compiled code before their first unit, so that no unit's
time includes it.
"""

import os
import platform
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from typing import Annotated

from optsched import __version__
from optsched.backends.pyomo_solvers import require_solver
from optsched.declared import Between, require
from optsched.errors import InputError, require_extras, shown
from optsched.experiments.plans import units
from optsched.experiments.plans.plan import Limits, Plan, read_plan
from optsched.experiments.plans.units import Unit, canonical, expand
from optsched.experiments.run.dask import ClusterPool
from optsched.experiments.run.processes import LocalPool, ThisProcess
from optsched.experiments.store.store import FAILURES, Row, Status, Store, failed, remove_if_empty
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
    >>> plan = 'families = [{name = "a", instances = ["placement/fig2"], methods = ["exact"]}]'
    >>> _ = Path("one.toml").write_text(plan)
    >>> sweep("one.toml", "one.sqlite", workers=0).run
    1
    """
    require("sweep", "workers", workers, Workers | None)
    if not isinstance(plan, Plan):
        plan = read_plan(plan)
    require_extras(_modules(plan, dask))
    for family in plan.families:
        require_solver(family.limits.solver)
    is_new = not Path(store).exists()
    try:
        with Store(store) as base:
            total = base.register(plan.name, plan.sha256, plan.text, expand(plan, allow))
    except BaseException:
        if is_new:
            remove_if_empty(store)
        raise
    with Store(store) as base:
        pending = base.pending(plan.name, retry_errors=retry_errors)
        state = SweepState(total, total - len(pending))
        if progress is not None:
            progress(state)
        if not pending:
            return state
        problems = base.problems(plan.name)
        if dask is not None:
            pool: LocalPool | ThisProcess | ClusterPool = ClusterPool(dask, problems)
        elif workers == 0:
            pool = ThisProcess(problems)
        else:
            pool = LocalPool(min(workers or os.cpu_count() or 1, len(pending)), problems)
        try:
            base.record_start(plan.name, command, pool.name, environment())
            limits = {family.name: family.limits for family in plan.families}
            return _Sweep(plan, base, pool, state, progress, allow, limits).run(pending)
        finally:
            pool.stop()


def _modules(plan: Plan, dask: str | None) -> Iterator[str]:
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


@dataclass
class _Sweep:
    """The loop: submit a few units ahead, and commit a row for each finished one."""

    plan: Plan
    store: Store
    pool: LocalPool | ThisProcess | ClusterPool
    state: SweepState
    progress: Progress | None
    allow: Collection[str]
    limits: Mapping[str, Limits]
    running: dict[Future[Row], Unit] = field(default_factory=dict)
    document: tuple[str, str] = ("", "")
    """SHA-256 and text of the last instance: units of one instance follow each other."""

    def run(self, pending: list[tuple[int, str]]) -> SweepState:
        waiting, capacity = iter(pending), QUEUED_PER_WORKER * self.pool.workers
        try:
            while True:
                for number, key in islice(waiting, capacity - len(self.running)):
                    self._start(self.store.unit(self.plan.name, number, key))
                if not self.running:
                    return self.state
                self._collect(wait(self.running, return_when=FIRST_COMPLETED).done)
        except KeyboardInterrupt:
            self._collect({future for future in self.running if future.done()})
            raise

    def _start(self, unit: Unit) -> None:
        units.require_allowed(unit.method, self.allow, self.store.path, "units")
        if self.document[0] != unit.sha256:
            self.document = (unit.sha256, self.store.document(unit.sha256))
        units.require_allowed_recipe(self.document[1], self.allow, self.store.path, "instances")
        limits = self.limits.get(unit.family)
        if limits is None:
            found = f"plan {shown(self.plan.name)} was replaced during the sweep"
            raise InputError(self.store.path, "", found, "a name for each plan")
        self.running[self.pool.submit(unit, self.document[1], limits)] = unit

    def _collect(self, futures: set[Future[Row]]) -> None:
        for future in futures:
            unit = self.running.pop(future)
            try:
                row = future.result()
            except CancelledError:
                row = failed(unit, Status.CRASHED, "cancelled by the cluster")
            except Exception as error:  # such as a worker of the cluster that died
                row = failed(unit, Status.CRASHED, f"{type(error).__name__}: {error}")
            self.store.add(row)
            failures = self.state.failed + (row.status in FAILURES)
            self.state = replace(self.state, run=self.state.run + 1, failed=failures)
            if self.progress is not None:
                self.progress(self.state)
