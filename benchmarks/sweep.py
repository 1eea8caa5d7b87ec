"""Overhead of a sweep: `python benchmarks/sweep.py [--units 10000] [--workers 1]`.

Runs Heavy-Edge on the smallest shipped instance under so many seeds: units that cost next to
nothing. Printed: milliseconds a unit beyond what the units themselves took (all of the wall time
after the workers have started, less the time inside `run_unit`), and the resident memory of the
sweeping process after a tenth of the units and at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

from optsched.experiments import sweep
from optsched.experiments.runner import Standing
from optsched.experiments.store import StoreReader

PLAN = """
[[families]]
name = "trivial"
instances = ["placement/fig2"]
methods = ["heavy-edge"]
seeds = {units}
"""


class Watch:
    """Notes the wall time of each row, and memory on the way."""

    def __init__(self, units: int) -> None:
        self.units = units
        self.first = self.last = 0.0
        self.memory: dict[int, float] = {}

    def __call__(self, standing: Standing) -> None:
        """Take a row's time."""
        if standing.run == 1:
            self.first = time.perf_counter()
        self.last = time.perf_counter()
        if standing.run in (self.units // 10, self.units // 2, self.units):
            self.memory[standing.run] = resident_megabytes()


def resident_megabytes() -> float:
    """Resident memory of this process in MB; 0 where /proc is not there."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def measure(units: int, workers: int) -> dict[str, object]:
    """Run the sweep and sum it up."""
    with tempfile.TemporaryDirectory() as folder:
        plan, store = Path(folder) / "trivial.toml", Path(folder) / "results.sqlite"
        plan.write_text(PLAN.format(units=units), encoding="utf-8")
        watch = Watch(units)
        began = time.perf_counter()
        standing = sweep(plan, store, workers=workers, progress=watch)
        whole = time.perf_counter() - began
        with StoreReader(store) as base:
            (row,) = base.rows("SELECT count(*) AS rows, sum(unit_time) AS inside FROM results")
        size = store.stat().st_size
    running = watch.last - watch.first
    return {
        "units": standing.run,
        "failed": standing.failed,
        "workers": workers,
        "wall_s": round(whole, 2),
        "start_s": round(whole - running, 2),
        "ms_a_unit_wall": round(1e3 * running / (units - 1), 3),
        "ms_a_unit_inside": round(1e3 * row["inside"] / units, 3),
        "ms_a_unit_overhead": round(1e3 * (running - row["inside"] / workers) / (units - 1), 3),
        "resident_MB": {str(at): round(mb, 1) for at, mb in watch.memory.items()},
        "store_bytes_a_unit": round(size / units),
    }


def main() -> None:
    """Print the measurement as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments.units, arguments.workers)))


if __name__ == "__main__":
    main()
