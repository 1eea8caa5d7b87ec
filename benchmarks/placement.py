"""Placement: seconds and excess of every method, on communication-bound plans and seeds 0-19.

    python benchmarks/placement.py [--part plans] [--runs 5] [--vertex-limit 10] [--summary]
    python benchmarks/placement.py --part ring

Each case draws an availability vector a seed. A row shows the median time of the runs and their
spread, the excess over the best proven bound, and whether the optimum was proved; every row is
shown (with --summary, only the tables at the end). Times are those of the methods, from instance
to placement, on one core, compiled code loaded; compiling is timed apart. With OPTSCHED_DATA
set, measured layer profiles (PipeDream's VGG16, ResNet50, GNMT) are run too.

The part `ring` draws jobs of 128 to 1,024 GPUs that no zoo holds: so many stages of so many
replicas each, a ring all-reduce, servers met with 1 to 8 free GPUs, NICs of 10 Gbit/s. "spread"
draws bytes log-uniformly over two and a half decades, so that a few cuts decide; "even" uniformly
within one decade, so that most stages do. Seconds are the processor's, from the instance to the
checked placement.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

os.environ.setdefault("NUMBA_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from machine import peak_memory, take_one_core

import optsched
from optsched.generators.placement import generate_placement, instance_from_profile, random_offer
from optsched.methods import warm_up
from optsched.placement.instance import PlacementInstance
from optsched.profiles import Training, read_pipedream
from optsched.result import Result, Termination

SEEDS = range(20)
LONG_SEEDS = range(5)
ANY = Training("global", oversized=True)
"""The communication-bound plans: one mini-batch shared by all GPUs, whatever fits."""
FAST = ("heavy-edge", "repartition", "exact")
PROFILES = {
    "VGG16": "image_classification__vgg16",
    "ResNet50": "image_classification__resnet50",
    "GNMT": "translation__gnmt",
}


RING_SEEDS = range(5)
RING = (
    # stages, replicas of each, seconds, largest gap, whether the rival runs
    (16, 8, 5.0, 0.0, True),
    (16, 16, 30.0, 0.0, True),
    (4, 256, 30.0, 0.0, False),
    (64, 8, 60.0, 0.005, False),
    (128, 8, 60.0, 0.005, False),
)
RIVAL = "ilp"


@dataclass(frozen=True)
class Case:
    """A family of instances: one model and plan, an availability vector a seed."""

    label: str
    model: str
    gpus: int
    stages: int | None
    vertex_seeds: range

    def instances(self) -> Iterator[tuple[int, PlacementInstance]]:
        for seed in SEEDS:
            yield (
                seed,
                generate_placement(
                    self.model, self.gpus, stages=self.stages, training=ANY, seed=seed
                ),
            )


CASES = (
    Case("VGG19/16", "VGG19", 16, None, SEEDS),
    Case("VGG19/32", "VGG19", 32, None, SEEDS),
    Case("GPT-175B 32x1", "GPT-175B", 32, 32, SEEDS),
    Case("GPT-175B 64x1", "GPT-175B", 64, 64, LONG_SEEDS),
    Case("VGG19/128, 4 stages", "VGG19", 128, 4, LONG_SEEDS),
)


@dataclass(frozen=True)
class Row:
    """One method on one instance: milliseconds of each run, and the last run's result."""

    case: str
    seed: int
    servers: int
    method: str
    times: tuple[float, ...]
    result: Result
    bound: float

    @property
    def excess(self) -> float | None:
        if self.result.objective is None:
            return None
        return 100 * max(self.result.objective / self.bound - 1, 0.0)

    @property
    def proved(self) -> bool:
        return self.result.termination is Termination.OPTIMAL


def main() -> None:
    """Print the machine, every row, and the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=("plans", "ring"), default="plans")
    parser.add_argument("--runs", type=int, default=5, help="runs of the fast methods")
    parser.add_argument("--vertex-limit", type=float, default=10.0, help="seconds of ilp-vertex")
    parser.add_argument("--summary", action="store_true", help="leave the single rows out")
    arguments = parser.parse_args()
    take_one_core()
    print(f"compiled code loaded in {warm_up('placement'):.2f} s (cached between processes; "
          "the first run on a machine compiles)")  # fmt: skip
    if arguments.part == "ring":
        ring()
        return
    rows: list[Row] = []
    for case in CASES:
        for seed, instance in case.instances():
            vertex = arguments.vertex_limit if seed in case.vertex_seeds else None
            rows += measure(case.label, seed, instance, arguments.runs, vertex, arguments.summary)
    for label, seed, instance in measured_profiles():
        rows += measure(label, seed, instance, arguments.runs, None, arguments.summary)
    print_tables(rows)
    print(f"\npeak memory of this process: {peak_memory():.0f} MiB")


def ring() -> None:
    """Rows of random ring jobs, and of each size whether the target is met."""
    for family in ("spread", "even"):
        for stages, replicas, limit, gap, with_rival in RING:
            label = f"{family} {stages}x{replicas}"
            print(f"\n== {label}: {stages * replicas} GPUs, limit {limit:g} s")
            exact = [
                ring_rows(label, ring_job(family, stages, replicas, seed), limit, with_rival)
                for seed in RING_SEEDS
            ]
            summarise(label, exact, limit, gap)
    for family in ("spread", "even"):
        for stages, replicas, *_ in RING:
            read_by_the_bottleneck(family, stages, replicas)
    for family in ("spread", "even"):
        print(f"\n== {family} 16x8 with replicas of several GPUs, limit 30 s")
        for label, every in (("replicas of 2 GPUs", 1), ("replicas of 1 and 2 GPUs", 2)):
            ring_row(label, ring_job(family, 16, 8, 0, 2, every), "columns", 30.0, {})


def read_by_the_bottleneck(family: str, stages: int, replicas: int) -> None:
    """Rows of one size where a stage's slowest server sets its all-reduce everywhere."""
    label, limit = f"{family} {stages}x{replicas}", 60.0
    print(f'\n== {label} under "bottleneck", limit {limit:g} s')
    options, exact = {"all_reduce_bandwidth": "bottleneck"}, []
    for seed in RING_SEEDS:
        instance = ring_job(family, stages, replicas, seed)
        ring_row(instance.name, instance, "heavy-edge", limit, options)
        exact.append(ring_row(instance.name, instance, "exact", limit, options))
    summarise(f'{label} under "bottleneck"', exact, limit, 0.005)


def summarise(label: str, exact: list[tuple[float, Result]], limit: float, gap: float) -> None:
    """One line: seconds, how many are proved, and whether the target is met."""
    seconds = [each for each, _ in exact]
    gaps = [1.0 if found.gap is None else found.gap for _, found in exact]
    proved = sum(found.termination is Termination.OPTIMAL for _, found in exact)
    met = (proved == len(exact)) if gap == 0 else max(gaps) <= gap
    met = met and max(seconds) <= 1.1 * limit
    target = "proved" if gap == 0 else f"within {gap:.1%}"
    print(
        f"-> {label}: exact, median {median(seconds):.2f} s [{min(seconds):.2f}-"
        f"{max(seconds):.2f}]; proved {proved}/{len(exact)}, largest gap {max(gaps):.2%}; "
        f"target {target} in {limit:g} s: {'met' if met else 'MISSED'}",
        flush=True,
    )


def ring_job(
    family: str, stages: int, replicas: int, seed: int, gpus: int = 1, every: int = 1
) -> PlacementInstance:
    """A job of so many stages and replicas of each; every so-manieth stage's take several GPUs.

    Parameters
    ----------
    family : str
        "spread" or "even": how bytes are drawn.
    stages, replicas : int
        Of the job, and of each stage.
    seed : int
        Of times, bytes and the offer.
    gpus : int
        GPUs of a replica, of every `every`-th stage.
    every : int
        1 for all stages.
    """
    rng = np.random.default_rng(seed)
    each = [gpus if s % every == 0 else 1 for s in range(stages)]
    size = max(each) if every == 1 else 1
    offer = random_offer(replicas * sum(each), 8, rng, replica_gpus=size)
    if family == "spread":
        sent = 10 ** rng.uniform(7, 9.5, stages + 1)
        forward, backward = rng.uniform(0.01, 0.1, stages), rng.uniform(0.02, 0.2, stages)
        parameters = 10 ** rng.uniform(6, 8.5, stages)
    else:
        sent = rng.uniform(1e7, 1e8, stages + 1) * replicas
        forward = rng.uniform(0.03, 0.3, stages)
        backward, parameters = 2 * forward, rng.uniform(1e7, 1e8, stages)
    sent[0] = sent[-1] = 0.0
    return PlacementInstance.from_dict(
        {
            "schema": "optsched/placement",
            "version": 1,
            "name": f"ring-{family}-{stages}x{replicas}-s{seed}",
            "cluster": {
                "gpus_per_server": 8,
                "inter_bandwidth": 1.25e9,
                "intra_bandwidth": 3e11,
            },
            "free_gpus": offer,
            "job": {
                "model": "drawn",
                "all_reduce": "ring",
                "stages": [
                    {
                        "name": f"stage {s}",
                        "replicas": replicas,
                        "tensor_parallel": each[s],
                        "forward_time": forward[s],
                        "backward_time": backward[s],
                        "input_bytes": sent[s] / replicas,
                        "output_bytes": sent[s + 1] / replicas,
                        "parameter_bytes": parameters[s],
                    }
                    for s in range(stages)
                ],
            },
        }
    )


def ring_rows(
    label: str, instance: PlacementInstance, limit: float, with_rival: bool
) -> tuple[float, Result]:
    """Every method's row of one instance; exact's seconds and result."""
    for method in ("heavy-edge", "repartition"):
        ring_row(label, instance, method, limit)
    if with_rival:
        ring_row(label, instance, RIVAL, limit)
    return ring_row(label, instance, "exact", limit)


def ring_row(
    label: str,
    instance: PlacementInstance,
    method: str,
    limit: float,
    options: dict[str, str] | None = None,
) -> tuple[float, Result]:
    """Run, print and return one row; `options` are the problem's, by default its own."""
    began = time.process_time()
    result = optsched.solve(instance, method, time_limit=limit, options=options or {})
    seconds = time.process_time() - began
    if result.check is not None and not result.check.feasible:
        sys.exit(f"{instance.name} {method}: the checker refuses the solution")
    gap = "-" if result.gap is None else f"{result.gap:.3%}"
    value = "-" if result.objective is None else f"{result.objective:.6g} s"
    chosen = "" if result.chosen is None else f" by {result.chosen}"
    print(
        f"{instance.name if options is None else label:24} servers "
        f"{len(instance.free_gpus):3} {method:12} {seconds:7.2f} s  {value:>12}  gap {gap:>8}  "
        f"{result.termination.value}{chosen}, {result.bound_source}",
        flush=True,
    )
    return seconds, result


def measured_profiles() -> Iterator[tuple[str, int, PlacementInstance]]:
    """Instances of measured profiles on 8, 16 and 32 GPUs, if the data are at hand."""
    folder = os.environ.get("OPTSCHED_DATA")
    if folder is None:
        print("OPTSCHED_DATA is unset: measured profiles of VGG16, ResNet50, GNMT left out")
        return
    for model, name in PROFILES.items():
        path = Path(folder) / "profiles" / "pipedream" / f"{name}.graph.txt"
        profile = read_pipedream(path)
        for gpus in (8, 16, 32):
            for seed in SEEDS:
                offer = random_offer(gpus, 8, np.random.default_rng(seed))
                yield (
                    f"{model}/{gpus} measured",
                    seed,
                    instance_from_profile(profile, gpus, offer, training=ANY),
                )


def measure(
    label: str, seed: int, instance: PlacementInstance, runs: int, vertex: float | None,
    summary: bool,
) -> list[Row]:  # fmt: skip
    """Run every method on one instance; `vertex` is ilp-vertex's limit, None leaves it out."""
    found: list[tuple[str, list[Result]]] = [
        (method, [optsched.solve(instance, method) for _ in range(runs)]) for method in FAST
    ]
    if vertex is not None:
        found.append(("ilp-vertex", [optsched.solve(instance, "ilp-vertex", time_limit=vertex)]))
    bound = max(r.bound for _, results in found for r in results if r.bound is not None)
    rows = []
    for method, results in found:
        checked = all(r.check is not None and r.check.feasible for r in results if r.solution)
        if not checked:
            sys.exit(f"{label} seed {seed} {method}: the checker refuses the solution")
        times = tuple(1e3 * (r.build_time + r.solve_time) for r in results)
        rows.append(Row(label, seed, len(instance.free_gpus), method, times, results[-1], bound))
    if not summary:
        for row in rows:
            print_row(row)
    return rows


def print_row(row: Row) -> None:
    """One line: case, seed, servers, method, ms and their spread, excess, status."""
    excess = "no solution" if row.excess is None else f"{row.excess:7.3f}%"
    chosen = f" ({row.result.chosen})" if row.result.chosen else ""
    print(
        f"{row.case:22} seed {row.seed:2} servers {row.servers:2} {row.method + chosen:22} "
        f"{median(row.times):10.3f} ms [{min(row.times):.3f}-{max(row.times):.3f}] "
        f"{excess:>11} {row.result.termination.value}",
        flush=True,
    )


def print_tables(rows: list[Row]) -> None:
    """The figures by case and method, and the ratios to ilp-vertex."""
    print("\ncase                   method       seeds   median ms      max ms   excess mean"
          "      max  proved")  # fmt: skip
    for case in dict.fromkeys(row.case for row in rows):
        for method in (*FAST, "ilp-vertex"):
            chosen = [row for row in rows if (row.case, row.method) == (case, method)]
            if chosen:
                print_figures(case, method, chosen)
    print("\nratio of ilp-vertex to exact, seed by seed, where ilp-vertex proves in its limit")
    for case in dict.fromkeys(row.case for row in rows):
        ratios = vertex_ratios([row for row in rows if row.case == case])
        if ratios:
            print(
                f"{case:22} {len(ratios):2} seeds: median {median(ratios):.0f} x "
                f"[{min(ratios):.0f}-{max(ratios):.0f}]"
            )


def print_figures(case: str, method: str, rows: list[Row]) -> None:
    """One line of the table."""
    medians = [median(row.times) for row in rows]
    excess = [row.excess for row in rows if row.excess is not None]
    shares = f"{mean(excess):11.2f}% {max(excess):7.2f}%" if excess else " no solution        -"
    proved = f"{sum(row.proved for row in rows)}/{len(rows)}"
    print(
        f"{case:22} {method:12} {len(rows):5} {median(medians):11.3f} {max(medians):11.3f} "
        f" {shares} {proved if method in ('exact', 'ilp-vertex') else '-':>7}"
    )


def vertex_ratios(rows: list[Row]) -> list[float]:
    """Time of ilp-vertex over time of exact, for the seeds where it proved the optimum."""
    exact = {row.seed: median(row.times) for row in rows if row.method == "exact"}
    return [
        median(row.times) / exact[row.seed]
        for row in rows
        if row.method == "ilp-vertex" and row.proved
    ]


if __name__ == "__main__":
    main()
