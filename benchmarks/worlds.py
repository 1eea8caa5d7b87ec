"""What the shipped instances are worlds of: `python benchmarks/worlds.py [PROBLEM ...]`.

A row an instance, in the numbers by which a practitioner judges whether anybody would run such a
thing. Each problem says its own: `WORLDS` maps a problem to the function that gives a row's cells,
by heading. Nothing is solved beyond heuristics: where a value depends on a solution it is that of
the best known one.

Makespan: jobs, servers and GPUs; jobs larger than every server; and of the best schedule that a
short search finds: how many jobs it runs across servers, how many of these share a link at some
time, its GPU time over the least, and its makespan.

Selection: jobs and nodes; how many jobs STS, and the best found in ten seconds, leaves waiting, and
what waiting, tardiness and energy cost of it; then the families of plans/selection, by the range of
the share that waits in their instances. Rolling: load, and what STS makes of it. Online: load
and the shares of jobs of one GPU and in slices.

Placement: GPUs, NIC, speed-up over one GPU and efficiency at the best known placement, and the
bytes that a GPU holds beside what it has (-: the instance says nothing of it).

Plans: the same of large language models in tensor slices and micro-batches, made on the spot
(`PLANS`), at Heavy-Edge's placement improved by repartition; or why there is none.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

import optsched
from optsched.errors import InputError
from optsched.experiments import read_plan
from optsched.experiments.plans.instances import instances_of
from optsched.library import BEST_KNOWN, shipped_folder, shipped_names
from optsched.library.best_known import read_best_known
from optsched.makespan.instance import MakespanInstance
from optsched.online.data.jobs import prepare_jobs
from optsched.placement.instance import PlacementInstance
from optsched.placement.scaling import measures

Cells = dict[str, str]


def main() -> None:
    """Print a table a problem."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problems", nargs="*", default=[*WORLDS, "plans"], metavar="PROBLEM")
    for problem in parser.parse_args().problems:
        if problem == "plans":
            print_table([plan(model, *how) for model, how in PLANS])
            continue
        names = [name for name in shipped_names() if name.startswith(f"{problem}/")]
        rows = [{"instance": name, **WORLDS[problem](name)} for name in names]
        print_table(rows)
        if problem == "selection":
            print_table([{"family": name, **selection_family(name)} for name in WAITING])


def placement(name: str) -> Cells:
    """Whether a plan is worth its GPUs, and fits into them."""
    instance: PlacementInstance = optsched.load(name)
    folder = (shipped_folder() / name).parent
    best = read_best_known(folder / BEST_KNOWN)[instance.name]["objective"]
    return _cells(instance, best)


def plan(model: str, gpus: int, slices: int, micro_batches: int) -> Cells:
    """A plan on 80 GB A100s with NICs of 800 Gbit/s a server."""
    named = {"model": model, "slices": str(slices), "micro-batches": str(micro_batches)}
    try:
        instance = optsched.generate(
            "placement",
            seed=1,
            model=model,
            gpus=gpus,
            tensor_parallel=slices,
            micro_batches=micro_batches,
            device="A100-BF16",
            inter_bandwidth=1e11,
        )
    except InputError as error:
        empty = dict.fromkeys(("replicas", "GPUs", *_SAID), "-")
        return {**named, **empty, "GPUs": str(gpus), "": f"found {error.found}"}
    replicas = "-".join(str(stage.replicas) for stage in instance.job.stages)
    time = instance.provenance["scaling"]["iteration_time"]
    return {**named, "replicas": replicas, **_cells(instance, time)}


_SAID = ("Gbit/s", "speed-up", "efficiency", "GB a GPU", "of")
PLANS = (
    *(("GPT-13B", (64, slices, 32)) for slices in (1, 2, 4, 8)),
    *(("GPT-175B", (128, slices, 64)) for slices in (1, 4, 8)),
    *(("T5-11B", (64, slices, 16)) for slices in (1, 8)),
    *(("Mixtral-8x7B", (64, slices, 16)) for slices in (1, 2)),
)
"""Models, with GPUs, tensor slices and micro-batches."""


def _cells(instance: PlacementInstance, objective: float) -> Cells:
    found = measures(instance, objective)
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
EXACT_SECONDS = 10.0


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


def selection(name: str) -> Cells:
    """What an interval's objective is made of: what STS leaves waiting, and what the best does."""
    instance: Any = optsched.load(name)
    cells = {"jobs": str(len(instance.jobs)), "nodes": str(len(instance.nodes))}
    for method, label in (("sts", "STS"), ("exact", "best")):
        result = optsched.solve(instance, method, time_limit=EXACT_SECONDS)
        said: Any = optsched.explain(instance, result.solution)
        cells[f"{label} leaves"] = str(said.waiting)
        for part in ("postponement", "tardiness", "energy"):
            cells[f"{label}: {part} $"] = f"{getattr(said, part):.4g}"
    return cells


WAITING = {
    "nobody waits: 10 nodes, 10 jobs": ((0.0, 0.0), (0.0, 0.0)),
    "some wait: 10 nodes of 8 GPUs, 20 jobs": ((0.1, 0.3), (0.0, 0.0)),
    "many wait: 10 nodes, 40 jobs": ((0.6, 0.75), (0.0, 0.0)),
    "many wait, no sharing: 10 nodes, 40 jobs": ((0.6, 0.75), (0.0, 0.0)),
    "fewer GPUs than jobs: 10 nodes, 60 jobs, no sharing": ((0.7, 0.85), (1 / 3, 1 / 3)),
}
"""Of a family of plans/selection the least and largest share of jobs that STS leaves waiting,
and that the optimum does: what it is named for; tests/test_worlds.py holds it."""


def selection_family(name: str, solved: int | None = None) -> Cells:
    """Least and largest share of jobs left waiting; the best one's of `solved` instances."""
    plan = read_plan("plans/selection")
    family = next(each for each in plan.families if each.name == name)
    cells = {}
    for method, label, most in (("sts", "STS", None), ("exact", "best", solved)):
        shares = []
        for instance in islice(instances_of(plan, family), most):
            result = optsched.solve(instance, method, options=family.options, gap=1e-4)
            shares.append(result.measures["jobs_waiting"] / len(instance.jobs))
        cells[f"{label} leaves"] = f"{min(shares):.3f} to {max(shares):.3f}"
    return cells


def rolling(name: str) -> Cells:
    """How much work arrives for the nodes, and what STS makes of it."""
    instance: Any = optsched.load(name)
    result = optsched.solve(instance, "sts")
    return {
        "jobs": str(result.details["jobs"]),
        "load": f"{result.details['offered_load']:.2f}",
        "late": str(result.details["late_jobs"]),
        "energy $": f"{result.details['energy_cost']:.4g}",
        "tardiness $": f"{result.details['tardiness_cost']:.4g}",
    }


def online(name: str) -> Cells:
    """Load, sizes and slices of a workload."""
    instance: Any = optsched.load(name)
    jobs = prepare_jobs(instance.workload, instance.catalogue, instance.cluster)
    sliced = np.array([job.is_sliced for job in jobs.configurations.jobs])[jobs.configuration]
    return {
        "jobs": str(len(jobs)),
        "GPUs": str(jobs.cluster.gpus),
        "load": f"{jobs.load:.2f}",
        "one GPU": f"{(jobs.gpus == 1).mean():.0%}",
        "in slices": f"{sliced.mean():.0%}",
    }


WORLDS: dict[str, Callable[[str], Cells]] = {
    "placement": placement,
    "makespan": makespan,
    "selection": selection,
    "rolling": rolling,
    "online": online,
}


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
