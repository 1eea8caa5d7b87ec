"""Selection: seconds, proofs and excess of the exact methods and of sts.

    python benchmarks/selection.py [--part patterns,eight,six,columns,large,huge,rivals,sts]
                                   [--runs 5]

Every row is shown. Instances are `optsched generate selection`'s with 4 GPUs per node unless a row
says otherwise, Table IV's fractions, seeds from 0 on: five where proofs are long, twenty for
`sts`. Times are wall clock on one core, HiGHS on one thread, from the instance to the decoded
selection, Pyomo's build included; beside them the processor's seconds, and the wall clock with
loading and check; compiled code is loaded before. `rivals` runs milp and minlp at growing sizes for
60 s each beside patterns, and says which was the last that they proved. Peak memory is the
process's so far, so parts run alone show their own.
"""

import argparse
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

os.environ.setdefault("NUMBA_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from machine import peak_memory, take_one_core

import optsched
from optsched.errors import OptschedError
from optsched.generators.selection import SelectionSettings, generate_selection
from optsched.methods import warm_up
from optsched.result import Result, Termination
from optsched.selection.assignment import expected_cost, solution_of
from optsched.selection.check import check
from optsched.selection.cost import tables_of
from optsched.selection.heuristics.sts import sts_assignment
from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions

RIVAL_LIMIT = 60.0
SHORT = ("sts",)
RIVAL_SIZES = ((2, 3), (2, 4), (3, 6), (4, 8), (5, 10), (6, 12), (8, 16))


def main() -> None:
    """Print the machine and the rows of the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", default=",".join(PARTS), help="parts, separated by commas")
    parser.add_argument("--runs", type=int, help="seeds of each case; by default 5, short ones 20")
    arguments = parser.parse_args()
    take_one_core()
    print(f"compiled code loaded in {warm_up('selection'):.2f} s")
    for name in arguments.part.split(","):
        print(f"\n== {name}: {PARTS[name].__doc__.splitlines()[0]}")
        PARTS[name](range(arguments.runs or (20 if name in SHORT else 5)))
        print(f"peak memory so far: {peak_memory():.0f} MiB", flush=True)


def made(seed: int, nodes: int, jobs: int, gpus: int = 4, classes: int = 1) -> SelectionInstance:
    settings = SelectionSettings(
        nodes=nodes, jobs=jobs, gpus_per_node=gpus, cost_classes=classes, bin_width=5
    )
    return generate_selection(settings, seed=seed)


@dataclass(frozen=True)
class Row:
    """One run, and the processor's seconds from the instance to the checked selection."""

    result: Result
    processor: float


def row(label: str, instance: SelectionInstance, method: str, **settings: object) -> Row:
    """Run, print and return one row."""
    began, busy = time.perf_counter(), time.process_time()
    result = optsched.solve(instance, method, **settings)
    wall, busy = time.perf_counter() - began, time.process_time() - busy
    gap = "-" if result.gap is None else f"{result.gap:.1e}"
    ok = result.check is not None and result.check.feasible
    print(
        f"{label:34} {method:9} {result.build_time + result.solve_time:8.3f} s "
        f"(build {result.build_time:.3f}; with check {wall:.3f}, processor {busy:.3f})  gap {gap}  "
        f"{result.termination.value:10} checked {'yes' if ok else 'NO'}"
        f"{'' if result.chosen is None else f'  by {result.chosen}'}",
        flush=True,
    )
    return Row(result, busy)


def summary(label: str, target: float, rows: Sequence[Row], gap: float) -> None:
    """Median and range of the processor's seconds against the target."""
    times = [each.processor for each in rows]
    gaps = [1.0 if each.result.gap is None else each.result.gap for each in rows]
    verdict = "met" if max(gaps) <= gap and max(times) <= target else "MISSED"
    print(
        f"-> {label}: processor, with check: median {median(times):.2f} s [{min(times):.2f}-"
        f"{max(times):.2f}]; largest gap {max(gaps):.1e}; target {target:g} s to {gap:g}: {verdict}"
    )


def patterns(seeds: range) -> None:
    """Three node classes to 1e-6: 40 x 160 in 3 s, 100 x 400 in 15 s."""
    for nodes, jobs, target in ((40, 160, 3.0), (100, 400, 15.0)):
        found = [row(f"{nodes}x{jobs} seed {s}", made(s, nodes, jobs), "patterns") for s in seeds]
        summary(f"{nodes}x{jobs}", target, found, 1e-6)


def eight(seeds: range) -> None:
    """Eight and sixteen GPUs per node to 1e-3: patterns are left to columns before any is made."""
    for nodes, jobs, gpus in ((40, 160, 8), (100, 400, 8), (100, 400, 16)):
        label = f"{nodes}x{jobs} K={gpus}"
        instances = [made(s, nodes, jobs, gpus) for s in seeds]
        found = [
            row(f"{label} seed {s}", instance, "patterns", gap=1e-3, time_limit=RIVAL_LIMIT)
            for s, instance in zip(seeds, instances, strict=True)
        ]
        summary(label, RIVAL_LIMIT, found, 1e-3)


def six(seeds: range) -> None:
    """Six node classes, 96 x 384 to 1e-4 in 60 s."""
    found = [
        row(f"96x384 six classes seed {s}", made(s, 96, 384, classes=2), "patterns", gap=1e-4)
        for s in seeds
    ]
    summary("96x384", 60.0, found, 1e-4)


def columns(seeds: range) -> None:
    """100 distinct cost vectors x 400 jobs, and K = 16, to 1e-3 in 30 s."""
    for label, gpus, classes in (("100 distinct", 4, 0), ("K=16", 16, 1)):
        found = [
            row(f"100x400 {label} seed {s}", made(s, 100, 400, gpus, classes), "columns", gap=1e-3)
            for s in seeds
        ]
        summary(f"100x400 {label}", 30.0, found, 1e-3)


def large(seeds: range) -> None:
    """1,000 nodes, all distinct, x 4,000 jobs to 1e-3 in 8 s; sts beside it."""
    _distinct(1000, 4000, seeds, 8.0)


def huge(seeds: range) -> None:
    """10,000 nodes, all distinct, x 40,000 jobs to 1e-3 in 180 s within 8 GB; sts beside it."""
    _distinct(10_000, 40_000, seeds, 180.0)


def _distinct(nodes: int, jobs: int, seeds: range, target: float) -> None:
    found = []
    for s in seeds:
        instance, label = made(s, nodes, jobs, classes=0), f"{nodes}x{jobs} distinct seed {s}"
        found.append(row(label, instance, "columns", gap=1e-3))
        tables, ours = tables_of(instance, SelectionOptions()), found[-1].result
        if ours.objective is not None:
            theirs = sts_assignment(tables)
            ratio = expected_cost(tables, theirs) / ours.objective
            seconds = _timed(lambda i=instance: _decide(i))
            checks = [
                _spent(lambda i=instance, s=solution: check(i, s))
                for solution in (ours.solution, solution_of(tables, theirs))
            ]
            print(
                f"   sts costs {ratio:.0f} x as much, in {seconds:.2f} s; processor of a check: "
                f"{checks[0]:.2f} s with certificate, {checks[1]:.2f} s of sts's selection, which "
                f"postpones {tables.jobs - len(theirs)} jobs"
            )
    summary(f"{nodes}x{jobs}", target, found, 1e-3)


def rivals(seeds: range) -> None:
    """What milp and minlp prove in 60 s, beside patterns; the first miss ends a method's rows."""
    for method in ("milp", "minlp"):
        reached = "nothing"
        for nodes, jobs in RIVAL_SIZES:
            try:
                proved = all(_beats(method, nodes, jobs, s) for s in seeds)
            except OptschedError as error:
                print(f"{nodes}x{jobs} {method}: {error}")
                break
            if not proved:
                break
            reached = f"{nodes}x{jobs}"
        print(
            f"-> {method} proves {reached} within {RIVAL_LIMIT:g} s on every seed, no larger size"
        )


def _beats(method: str, nodes: int, jobs: int, seed: int) -> bool:
    """Whether a rival proves an instance in time; patterns is shown beside it."""
    instance, label = made(seed, nodes, jobs, gpus=2), f"{nodes}x{jobs} K=2 seed {seed}"
    rival = row(label, instance, method, time_limit=RIVAL_LIMIT)
    ours = row(label, instance, "patterns")
    print(f"   {method} / patterns: {rival.processor / ours.processor:.0f} x the time")
    return rival.result.termination is Termination.OPTIMAL


def sts(seeds: range) -> None:
    """One decision at 100 x 400, its tables included, in 10 ms of the processor."""
    for s in seeds:
        instance = made(s, 100, 400)
        times = sorted(_spent(lambda i=instance: _decide(i)) for _ in range(15))
        middle = 1e3 * median(times)
        print(
            f"100x400 seed {s}: median {middle:.2f} ms [{1e3 * times[0]:.2f}-"
            f"{1e3 * times[-1]:.2f}]; target 10 ms: {'met' if middle <= 10 else 'MISSED'}"
        )


def _decide(instance: SelectionInstance) -> object:
    return sts_assignment(tables_of(instance, SelectionOptions()))


def _spent(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def _timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


PARTS: dict[str, Callable[[range], None]] = {
    "patterns": patterns,
    "eight": eight,
    "six": six,
    "columns": columns,
    "large": large,
    "huge": huge,
    "rivals": rivals,
    "sts": sts,
}

if __name__ == "__main__":
    main()
