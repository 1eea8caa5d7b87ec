"""Seconds of a bound, an offline packing and each policy's run on published workloads, one core.

    python benchmarks/packing.py [--workloads default,gpushare100,multigpu50] [--runs 5]

Needs OPTSCHED_DATA, the folder with `fgd/`. A run is one seed, which draws the order of arrival and
the nodes. Seconds are the processor's, compiled code loaded before. Every row is shown; a policy's
rival is `random` on the same instance, the offline packing's the bound. Aims: a bound in 10 s, an
offline packing in 60 s, a policy's run in 2 s.
"""

import argparse
import os
import time
from pathlib import Path
from statistics import median

import optsched
from optsched.methods import warm_up
from optsched.packing.heuristics.policies import POLICIES
from optsched.packing.openb import read_openb

WORKLOADS = "default,gpushare100,multigpu50"
AIMS = {"columns": 10.0, "offline": 60.0, **dict.fromkeys(POLICIES, 2.0)}
"""The processor's seconds."""
RIVALS = {"offline": "columns", **dict.fromkeys(POLICIES, "random")}


def main() -> None:
    """Print a line a run and method, then the figures over the runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workloads", default=WORKLOADS)
    parser.add_argument("--runs", type=int, default=5, help="seeds 42 to 41 + N, as published")
    asked = parser.parse_args()
    folder = Path(os.environ["OPTSCHED_DATA"]) / "fgd"
    print(f"compiled code loaded in {warm_up('packing'):.1f} s, not counted below")
    for workload in asked.workloads.split(","):
        rows = [one_run(folder, workload, seed) for seed in range(42, 42 + asked.runs)]
        for method, aim in AIMS.items():
            took = sorted(row[method] for row in rows)
            line = f"{workload:12} {method:14} {median(took):6.2f} s"
            line += f" ({took[0]:.2f} to {took[-1]:.2f}, aim {aim:g})"
            if rival := RIVALS.get(method):
                ratio = median(row[method] / row[rival] for row in rows)
                line += f"  {ratio:.2f} times {rival}"
            print(line, flush=True)


def one_run(folder: Path, workload: str, seed: int) -> dict[str, float]:
    """The processor's seconds of each method on the instance that a seed draws."""
    tasks = folder / f"openb_pod_list_{workload}.csv.gz"
    instance = read_openb(folder / "openb_node_list_gpu_node.csv", tasks, seed=seed)
    took = {}
    for method in AIMS:
        began = time.process_time()
        result = optsched.solve(instance, method, seed=seed, bound=False)
        took[method] = time.process_time() - began
        shown = result.bound if result.objective is None else result.objective
        print(f"{workload} seed {seed} {method}: {took[method]:.2f} s, {shown:.2f} GPUs idle")
    return took


if __name__ == "__main__":
    main()
