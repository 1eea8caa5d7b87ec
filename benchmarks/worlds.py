"""What the shipped instances are worlds of: `python benchmarks/worlds.py [PROBLEM ...]`.

A row an instance, in the numbers by which a practitioner judges whether anybody would run such a
thing. Each problem says its own: `WORLDS` maps a problem to the function that gives a row's cells,
by heading. Nothing is solved beyond heuristics: where a value depends on a solution it is that of
the best known one.

Makespan: jobs, servers and GPUs; jobs larger than every server; and of the best schedule that a
short search finds: how many jobs it runs across servers, how many of these share a link at some
time, its GPU time over the least, and its makespan.

Placement: GPUs, NIC, speed-up over one GPU and efficiency at the best known placement, and the
bytes that a GPU holds beside what it has (-: the instance says nothing of it).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import optsched
from optsched.best_known import read_best_known
from optsched.library import BEST_KNOWN, shipped_folder, shipped_names
from optsched.makespan.instance import MakespanInstance
from optsched.placement.instance import PlacementInstance
from optsched.placement.scaling import measures

Cells = dict[str, str]


def main() -> None:
    """Print a table a problem."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problems", nargs="*", default=list(WORLDS), metavar="PROBLEM")
    for problem in parser.parse_args().problems:
        names = [name for name in shipped_names() if name.startswith(f"{problem}/")]
        rows = [{"instance": name, **WORLDS[problem](name)} for name in names]
        print_table(rows)


def placement(name: str) -> Cells:
    """Whether a plan is worth its GPUs, and fits into them."""
    instance: PlacementInstance = optsched.load(name)
    folder = (shipped_folder() / name).parent
    best = read_best_known(folder / BEST_KNOWN)[instance.name]["objective"]
    found = measures(instance, best)
    memory: dict[str, Any] = instance.provenance.get("memory", {})
    held, room = memory.get("bytes_per_gpu"), memory.get("gpu_memory")
    return {
        "GPUs": str(instance.job.gpus),
        "Gbit/s": f"{8e-9 * instance.cluster.inter_bandwidth:g}",
        "speed-up": f"{found['speed_up']:.2f}",
        "efficiency": f"{found['efficiency']:.2f}",
        "GB a GPU": "-" if held is None else f"{1e-9 * held:.1f}",
        "of": "-" if room is None else f"{1e-9 * room:g}",
        "": "slower than one GPU" if (found["speed_up"] or 0) < 1 else "",
    }


SEARCHES = ("sjf-bco", "list-scheduling", "local-search", "nested")
MOVES = 20_000


def makespan(name: str) -> Cells:
    """Whether jobs must span servers, and whether contention is seen where they do."""
    instance: MakespanInstance = optsched.load(name)
    found = [optsched.solve(instance, method, iterations=MOVES) for method in SEARCHES]
    best = min((r for r in found if r.solution is not None), key=lambda r: r.objective or 0.0)
    said: Any = optsched.explain(instance, best.solution)
    largest = max(instance.servers)
    return {
        "jobs": str(len(instance.jobs)),
        "servers": str(len(instance.servers)),
        "GPUs": str(instance.gpus),
        "must span": str(sum(job.gpus > largest for job in instance.jobs)),
        "span": str(said.spanning),
        "share a link": str(said.contended),
        "GPU time": f"{said.inflation:.3f}",
        "makespan": f"{best.objective:g}",
    }


WORLDS: dict[str, Callable[[str], Cells]] = {"placement": placement, "makespan": makespan}


def print_table(rows: list[Cells]) -> None:
    """Aligned text: names to the left, numbers to the right."""
    headings = list(rows[0])
    widths = [
        max(len(row[heading]) for row in [*rows, {h: h for h in headings}]) for heading in headings
    ]
    for row in [{h: h for h in headings}, *rows]:
        cells = [
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row.values(), widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
    print()


if __name__ == "__main__":
    main()
