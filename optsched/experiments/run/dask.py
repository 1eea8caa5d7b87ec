"""Sweeps on a Dask cluster.

Each Dask worker runs its units in processes of its own, under the same guards as a local sweep: a
unit that crashes or runs over its limits is recorded as a failed row. If a Dask worker dies, its
units are run again elsewhere, as often as the scheduler allows.
"""

import multiprocessing
import threading
import uuid
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from optsched import __version__
from optsched.errors import InputError, require_extras
from optsched.experiments.plans.plan import Limits
from optsched.experiments.plans.units import Unit
from optsched.experiments.run.processes import LocalPool
from optsched.experiments.store.store import Row

PATIENCE = 20
"""Seconds to wait for the scheduler."""

_running: dict[str, LocalPool] = {}
"""A Dask worker's processes, by sweep."""
_lock = threading.Lock()


class ClusterPool:
    def __init__(self, address: str, problems: tuple[str, ...]) -> None:
        require_extras(["distributed"])
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port, normalize_address

        try:
            get_address_host_port(normalize_address(address))  # fail early: a client waits 40 s
            self._client = Client(address, timeout=PATIENCE, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            found = f"no scheduler ({str(error)[:100]})"
            raise InputError("sweep", f"--dask {address}", found, "a Dask scheduler") from None
        self._problems = problems
        self._sweep = uuid.uuid4().hex
        try:
            threads = self._client.nthreads()
            if not threads:
                raise InputError("sweep", f"--dask {address}", "no workers", "at least one")
            for worker, found in self._client.run(version_here).items():
                if found != __version__:
                    found = f"optsched {found} on {worker}"
                    raise InputError("sweep", f"--dask {address}", found, __version__)
        except BaseException:
            self._client.close()
            raise
        self.workers = sum(threads.values())
        self.name = f"Dask at {address}: {len(threads)} workers, {self.workers} threads"
        self._executor = self._client.get_executor(pure=False)

    def submit(self, unit: Unit, document: str, limits: Limits) -> Future[Row]:
        arguments = self._sweep, self._problems, unit, document, limits
        future: Future[Row] = self._executor.submit(run_remotely, *arguments)
        return future

    def stop(self) -> None:
        """Leave the cluster; what is still running there is ended."""
        with suppress(Exception):  # the cluster may be gone
            self._executor.shutdown(wait=False)
            self._client.run(end_processes, self._sweep)
        self._client.close()


def version_here() -> str:
    return __version__


def run_remotely(
    sweep: str, problems: tuple[str, ...], unit: Unit, document: str, limits: Limits
) -> Row:
    """Run one unit in one of a Dask worker's processes, of which each of its threads has one."""
    from distributed import get_worker

    with _lock:
        if sweep not in _running:
            # Dask marks its workers as daemons, and multiprocessing forbids a daemon to have
            # children, which might outlive it. Ours end with their parent (`work`).
            process: Any = multiprocessing.current_process()
            process._config["daemon"] = False
            _running[sweep] = LocalPool(get_worker().state.nthreads, problems)
        pool = _running[sweep]
    return pool.submit(unit, document, limits).result()


def end_processes(sweep: str) -> None:
    """End this Dask worker's processes for one sweep."""
    with _lock:
        pool = _running.pop(sweep, None)
    if pool is not None:
        pool.stop()
