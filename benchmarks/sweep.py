"""Overhead of a sweep: `python benchmarks/sweep.py [--units 10000] [--workers 1] [--runs 5]`.

Runs Heavy-Edge on the smallest shipped instance under so many seeds: units that cost next to
nothing. A row a run: milliseconds a unit beyond what the units themselves took (all of the wall
time after the first has landed, less the time inside `run_unit`), and the resident memory of the
sweeping process after a tenth of the units, at half and at the end. The rival, in the same run, is
a bare loop over the same units that keeps nothing: `optsched.solve` in this process.
"""

import argparse
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import optsched
from optsched.experiments import sweep
from optsched.experiments.run.runner import SweepState
from optsched.experiments.store.store import StoreReader

PLAN = """
[[families]]
name = "trivial"
instances = ["placement/fig2"]
methods = ["heavy-edge"]
seeds = {units}
"""


MOST_RIVAL = 2000
"""Units of the bare loop."""


@dataclass(frozen=True)
class Measured:
    """One sweep: seconds, milliseconds a unit, megabytes on the way, bytes a unit."""

    failed: int
    seconds: float
    start: float
    unit: float
    overhead: float
    rival: float
    memory: tuple[float, ...]
    size: float


class Watch:
    """Notes the wall time of each row, and memory on the way."""

    def __init__(self, units: int) -> None:
        self.units = units
        self.first = self.last = 0.0
        self.memory: dict[int, float] = {}

    def __call__(self, state: SweepState) -> None:
        """Take a row's time."""
        if state.run == 1:
            self.first = time.perf_counter()
        self.last = time.perf_counter()
        if state.run in (self.units // 10, self.units // 2, self.units):
            self.memory[state.run] = resident_megabytes()


def resident_megabytes() -> float:
    """Resident memory of this process in MB; 0 where /proc is not there."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def measure(units: int, workers: int) -> Measured:
    """Run the sweep and sum it up."""
    with tempfile.TemporaryDirectory() as folder:
        plan, store = Path(folder) / "trivial.toml", Path(folder) / "results.sqlite"
        plan.write_text(PLAN.format(units=units), encoding="utf-8")
        watch = Watch(units)
        began = time.perf_counter()
        state = sweep(plan, store, workers=workers, progress=watch)
        whole = time.perf_counter() - began
        with StoreReader(store) as base:
            (row,) = base.rows("SELECT count(*) AS rows, sum(unit_time) AS inside FROM results")
        size = store.stat().st_size
    running = watch.last - watch.first
    return Measured(
        failed=state.failed,
        seconds=whole,
        start=whole - running,
        unit=1e3 * running / (units - 1),
        overhead=1e3 * (running - row["inside"] / workers) / (units - 1),
        rival=bare_loop(min(units, MOST_RIVAL)),
        memory=tuple(watch.memory.values()),
        size=size / units,
    )


def bare_loop(units: int) -> float:
    """Milliseconds a unit of a loop without processes, limits, store or progress."""
    instance = optsched.load("placement/fig2")
    began = time.perf_counter()
    for seed in range(units):
        optsched.solve(instance, "heavy-edge", seed=seed)
    return 1e3 * (time.perf_counter() - began) / units


def main() -> None:
    """Print a row a run, then the spread."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    print(f"{given.units} units, {given.workers} workers; times of a unit in ms")
    print("run  failed  whole s  start s  a unit  overhead  bare loop  unit/bare  MB on the way")
    runs = []
    for number in range(given.runs):
        m = measure(given.units, given.workers)
        runs.append(m)
        memory = " ".join(f"{mb:.1f}" for mb in m.memory)
        print(
            f"{number:3} {m.failed:7} {m.seconds:8.2f} {m.start:8.2f} {m.unit:7.3f} "
            f"{m.overhead:9.3f} {m.rival:10.3f} {m.unit / m.rival:10.2f}  {memory}",
            flush=True,
        )
    print(f"-> overhead {spread([m.overhead for m in runs])} ms a unit; target 5 ms")
    print(f"-> a unit of a sweep / of the bare loop {spread([m.unit / m.rival for m in runs])}")
    grown = [m.memory[-1] - m.memory[0] for m in runs]
    print(f"-> memory from a tenth of the units to the end: +{spread(grown)} MB")
    print(f"-> the store takes {spread([m.size for m in runs])} bytes a unit")


def spread(values: list[float]) -> str:
    """Median and range."""
    return f"{median(values):.3g} [{min(values):.3g}-{max(values):.3g}]"


if __name__ == "__main__":
    main()
