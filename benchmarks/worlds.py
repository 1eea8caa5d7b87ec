"""What the shipped instances are worlds of: `python benchmarks/worlds.py [PROBLEM ...]`.

A row an instance, in the numbers by which a practitioner judges whether anybody would run such a
thing. Each problem says its own: `WORLDS` maps a problem to the function that gives a row's cells,
by heading. Nothing is solved beyond heuristics: where a value depends on a solution it is that of
the best known one.

Makespan: jobs, servers and GPUs; jobs larger than every server; and of the best schedule that a
short search finds: how many jobs it runs across servers, how many of these share a link at some
time, its GPU time over the least, and its makespan; then the generated families of plans/makespan,
by the range of the share of jobs that share a link and of the GPU time.

Selection: jobs and nodes; how many jobs STS, and the best found in ten seconds, leaves waiting, and
what waiting, tardiness and energy cost of it; then the families of plans/selection, by the range of
the share that waits in their instances. Rolling: load, and what STS makes of it. Online: load
and the shares of jobs of one GPU and in slices. Speed profile: the deadline, and load, what share
of it the longest run takes at the greatest speed. Packing: GPUs and tasks, what they ask of the
GPUs, and the share that FGD leaves idle.

Placement: GPUs, NIC, speed-up over one GPU and efficiency at the best known placement, and the
bytes that a GPU holds beside what it has (-: the instance says nothing of it).

Plans: the same of large language models in tensor slices and micro-batches, made on the spot
(`PLANS`), at Heavy-Edge's placement improved by repartition; or why there is none.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

import optsched
from optsched.errors import InputError
from optsched.experiments import read_plan
from optsched.experiments.plans.units import instances_of
from optsched.library import BEST_KNOWN, shipped_files, shipped_names
from optsched.library.best_known import read_best_known
from optsched.makespan.instance import MakespanInstance
from optsched.online.data.jobs import prepare_jobs
from optsched.packing.instance import PackingInstance
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import measures

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
        if problem in FAMILIES:
            of_family, known = FAMILIES[problem]
            print_table([{"family": name, **of_family(name)} for name in known])


def placement(name: str) -> Cells:
    """Whether a plan is worth its GPUs, and fits into them."""
    instance: PlacementInstance = optsched.load(name)
    best = read_best_known(shipped_files()[name].with_name(BEST_KNOWN))[instance.name]["objective"]
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
    said = _best_schedule(instance)
    largest = max(instance.servers)
    return {
        "jobs": str(len(instance.jobs)),
        "servers": str(len(instance.servers)),
        "GPUs": str(instance.gpus),
        "must span": str(sum(job.gpus > largest for job in instance.jobs)),
        "span": str(said.spanning),
        "share a link": str(said.contended),
        "GPU time": f"{said.inflation:.3f}",
        "makespan": f"{said.makespan:g}",
    }


def _best_schedule(instance: MakespanInstance) -> Any:
    """The best schedule that a short search finds, explained."""
    found = [optsched.solve(instance, method, iterations=MOVES) for method in SEARCHES]
    best = min((r for r in found if r.solution is not None), key=lambda r: r.objective or 0.0)
    return optsched.explain(instance, best.solution)


CONTENTION = {
    "160 x 20, mild": (0.0, 0.1),
    "160 x 20, strong": (0.0, 0.05),
    "40 x 8, every job larger than a server": (0.2, 0.7),
    "20 x 4, jobs of 3 GPUs on servers of 4": (0.0, 0.1),
    "24 x 8, to span is prohibitive": (0.0, 0.0),
}
"""Of a family of plans/makespan the least and largest share of jobs that share a link in the best
schedule: where it is near 0 the family tests packing, whatever its contention is called."""


def makespan_family(name: str, most: int | None = None) -> Cells:
    """Least and largest share of jobs that share a link, and of GPU time over the least."""
    best = [_best_schedule(instance) for instance in islice(_instances("makespan", name), most)]
    shared = [said.contended / len(said.rows) for said in best]
    held = [said.inflation for said in best]
    return {
        "share a link": f"{min(shared):.3f} to {max(shared):.3f}",
        "GPU time": f"{min(held):.3f} to {max(held):.3f}",
    }


def _instances(problem: str, name: str) -> Iterator[Any]:
    """A family's instances, of the problem's plan."""
    plan = read_plan(f"plans/{problem}")
    return instances_of(plan, next(each for each in plan.families if each.name == name))


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
    options = {"sharing": "off" if "no sharing" in name else "on"}
    cells = {}
    for method, label, most in (("sts", "STS", None), ("exact", "best", solved)):
        shares = []
        for instance in islice(_instances("selection", name), most):
            result = optsched.solve(instance, method, options=options, gap=1e-4)
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
    has_slices = [job.has_tensor_slices for job in jobs.configurations.jobs]
    sliced = np.array(has_slices)[jobs.configuration]
    return {
        "jobs": str(len(jobs)),
        "GPUs": str(jobs.cluster.gpus),
        "load": f"{jobs.load:.2f}",
        "one GPU": f"{(jobs.gpus == 1).mean():.0%}",
        "in slices": f"{sliced.mean():.0%}",
    }


def speed_profile(name: str) -> Cells:
    """What share of the deadline the longest run takes at the greatest speed, and what binds."""
    result = optsched.solve(optsched.load(name), "hull")
    said = optsched.explain(name, result.solution).to_dict()
    return {
        "deadline s": f"{said['deadline']:g}",
        "load": f"{said['least_seconds'] / said['deadline']:.2f}",
        "status": said["status"],
    }


def packing(name: str) -> Cells:
    """GPUs and tasks, what they ask of the GPUs, and what FGD leaves idle of them."""
    instance: PackingInstance = optsched.load(name)
    idle = optsched.solve(instance, "fgd").objective
    return {
        "GPUs": str(instance.gpus),
        "tasks": str(len(instance.arrivals)),
        "requested": f"{instance.requested_milli / (1000 * instance.gpus):.2f}",
        "idle share": f"{idle / instance.gpus:.3f}",
    }


WORLDS: dict[str, Callable[[str], Cells]] = {
    "placement": placement,
    "makespan": makespan,
    "selection": selection,
    "rolling": rolling,
    "online": online,
    "speed-profile": speed_profile,
    "packing": packing,
}
FAMILIES: dict[str, tuple[Callable[[str], Cells], Iterable[str]]] = {
    "makespan": (makespan_family, CONTENTION),
    "selection": (selection_family, WAITING),
}
STATED: dict[str, tuple[str, dict[str, tuple[float, float]]]] = {
    "makespan": (
        "share a link",
        {
            "contended-3x3": (3, 3),
            "contended-4x3": (3, 4),
            "must-span-40x8": (14, 40),
            "must-span-8x6": (3, 8),
            "uniform-10x4": (0, 4),
            "large-1600x200": (0, 50),
            "paper-160x20": (0, 8),
            "paper-160x20-strong": (0, 3),
        },
    ),
    "selection": (
        "STS leaves",
        {
            "3x6": (0, 0),
            "3x6-overdue": (2, 4),
            "5x10": (2, 4),
            "10x20": (2, 6),
            "10x40": (24, 30),
            "12x48-distinct": (29, 36),
            "12x6-light": (0, 0),
            "24x96-six-classes": (58, 72),
            "40x160": (90, 120),
            "100x400": (240, 300),
            "100x400-distinct": (240, 300),
        },
    ),
    "rolling": (
        "load",
        {
            "delay-3x30": (0.4, 0.6),
            "light-6x60": (0.15, 0.25),
            "medium-6x60": (0.5, 0.7),
            "paper-20x200": (0.6, 0.7),
            "saturated-6x60": (1.0, 1.2),
            "sharing-6x60": (0.7, 0.85),
            "three-by-hand": (1.0, 1.1),
        },
    ),
    "online": (
        "load",
        dict.fromkeys(
            ("paper-37500x250", "sliced-400x40", "small-400x40", "testbed-75x14"), (0.795, 0.805)
        ),
    ),
    "speed-profile": (
        "load",
        {
            "alexnet-8": (0.3, 0.5),
            "resnet-8": (0.3, 0.5),
            "vgg16-8": (0.3, 0.5),
            "mobilenetv2-8": (0.3, 0.5),
            "idle-power-8": (0.4, 0.6),
            "idle-power-slack": (0.1, 0.2),
            "infeasible": (1.5, 2.5),
        },
    ),
    "packing": (
        "idle share",
        {
            "two-nodes": (0.2, 0.3),
            "mixed-8": (0.2, 0.3),
            "shared-20": (0.4, 0.5),
            "models-20": (0.15, 0.25),
            "several-40": (0.1, 0.15),
        },
    ),
}
"""By problem what its table is read for, and the range of it that an instance is named for. Of
makespan's that are not listed no job shares a link; a speed profile by hand has none to keep.
Placement's, efficiency and memory, stand in tests/placement/test_worlds.py."""


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
