"""What the shipped instances are worlds of: `python benchmarks/worlds.py [PROBLEM ...]`.

A row an instance, in the numbers by which a practitioner judges whether anybody would run such a
thing. Each problem says its own: `WORLDS` maps a problem to the function that gives a row's cells,
by heading. Nothing is solved beyond heuristics: where a value depends on a solution it is that of
the best known one.

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


WORLDS: dict[str, Callable[[str], Cells]] = {"placement": placement}


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
