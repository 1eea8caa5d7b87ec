"""Makespan: seconds and certified excess of every method, on the generator's seeds 0-19.

    python benchmarks/makespan.py [--part NAME]... [--seeds 20] [--runs 5] [--seconds S]

Parts are sjf-bco, local-search, nested, large, huge, ilp, model, models and spanning; without
--part all are run (over an hour). Each part prints every row, then its figures with their
spread; ratios are to list-scheduling and first-fit of the same run. Excess is over the bound that
the row's own run proved, within its time limit. One core, compiled code loaded. --seconds
shortens the searches: the printed limit says so.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

os.environ.setdefault("NUMBA_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from machine import peak_memory, take_one_core

import optsched
from optsched.deadline import Deadline, OutOfTimeError
from optsched.generators.makespan import generate_makespan
from optsched.makespan.bounds import best as bounds
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.contention import evaluate, solution_from_evaluation
from optsched.makespan.exact.starting_schedules import take_starting_schedules
from optsched.makespan.heuristics.sjf_bco import schedule_by_name
from optsched.makespan.incumbent import Incumbent
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.models.ilp import Pipeline, solve_slotted
from optsched.makespan.options import MakespanOptions
from optsched.methods import warm_up
from optsched.result import Outcome, Result, Settings, Termination
from optsched.typing import MethodLike

STRENGTHS = ("mild", "strong")
FEWER = 5
"""Seeds of the long parts: ten times the paper's size, and proofs."""
PARTS = ("sjf-bco", "local-search", "nested", "large", "huge", "ilp", "model", "models", "spanning")
LIMITS = {
    "local-search": 10.0,
    "nested": 60.0,
    "large": 60.0,
    "huge": 120.0,
    "ilp": 120.0,
    "model": 30.0,
    "models": 120.0,
    "spanning": 20.0,
}
TARGETS = {
    "sjf-bco": "target: 50 ms at 160 x 20, 5 s at 1,600 x 200",
    "local-search": "target: excess 6% median, 13% max after 10 s",
    "nested": "target: excess 0.2% median, 1% worst after 60 s",
    "large": "target: excess 2.5% after 60 s",
    "huge": "target: excess 1.5% after 120 s",
    "ilp": "target: proved within 120 s",
    "model": "the full model alone, from the area bound to the heuristics' best makespan",
    "models": (
        "pools, relaxation and full model alone, given the instance and its area or longest job: "
        "no heuristic, no schedule, no other bound"
    ),
    "spanning": "target: excess 10% at 40 x 8, 20% at 160 x 20, 30% at 1,600 x 200 after 60 s",
}

MOST_EXCESS = {"nested": (0.2, 1.0), "large": (2.5, 2.5), "huge": (1.5, 1.5)}
"""Per cent of the targets: median and worst."""


@dataclass(frozen=True)
class Row:
    """One method on one instance."""

    label: str
    seed: int
    seconds: tuple[float, ...]
    result: Result
    to_list: float | None
    to_first_fit: float | None

    @property
    def excess(self) -> float | None:
        """Per cent above the bound."""
        return None if self.result.excess is None else 100 * max(self.result.excess, 0.0)


def main() -> None:
    """Print the machine, every row, and the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", action="append", choices=PARTS, help="only these parts")
    parser.add_argument("--seeds", type=int, default=20, help="seeds 0 to N - 1")
    parser.add_argument("--runs", type=int, default=5, help="runs of sjf-bco")
    parser.add_argument("--seconds", type=float, help="another limit than the targets'")
    arguments = parser.parse_args()
    take_one_core()
    print(f"compiled code loaded in {warm_up('makespan'):.2f} s")
    for part in arguments.part or PARTS:
        limit = arguments.seconds or LIMITS.get(part)
        shown = "" if limit is None else f", {limit:g} s each"
        print(f"\n== {part}{shown}; {TARGETS[part]}")
        rows = list(run_part(part, arguments.seeds, arguments.runs, limit))
        for label in dict.fromkeys(row.label for row in rows):
            print_figures(label, [row for row in rows if row.label == label])
        if part in MOST_EXCESS:
            print_verdict(rows, *MOST_EXCESS[part])
    print(f"\npeak memory of this process: {peak_memory():.0f} MiB")


def run_part(part: str, seeds: int, runs: int, limit: float | None) -> Iterator[Row]:
    """Run one part, printing its rows as they come."""
    for label, seed, instance, method in cases(part, seeds):
        row = measure(label, seed, instance, method, runs if part == "sjf-bco" else 1, limit)
        print_row(row)
        yield row


def cases(part: str, seeds: int) -> Iterator[tuple[str, int, MakespanInstance, MethodLike]]:
    """Label, seed, instance and method of every row of a part."""
    if part == "spanning":
        yield from must_span(min(seeds, FEWER))
        return
    for strength in STRENGTHS:
        for seed in range(seeds):
            if part in ("sjf-bco", "local-search", "nested"):
                made = generate_makespan(contention=strength, seed=seed)
                yield f"160x20 {strength} {part}", seed, made, part
            if part in ("sjf-bco", "large") and seed < FEWER:
                made = generate_makespan(1600, 200, contention=strength, seed=seed)
                yield f"1600x200 {strength}", seed, made, "nested" if part == "large" else part
            if part == "huge" and seed < FEWER:
                made = generate_makespan(5000, 500, contention=strength, seed=seed)
                yield f"5000x500 {strength}", seed, made, "nested"
            if part in MODELS and seed < FEWER:
                method = MODELS[part]
                yield f"24x8 mixed {strength}", seed, mixed(strength, seed), method
                yield f"10x4 uniform {strength}", seed, uniform(strength, seed), method


def must_span(seeds: int) -> Iterator[tuple[str, int, MakespanInstance, str]]:
    """Every job is larger than a server and fits two; under strong contention links are short."""
    for jobs, servers in ((40, 8), (160, 20), (1600, 200)):
        for size in (4, 8):
            sizes = tuple(range(size + 1, 2 * size + 1))
            for seed in range(seeds):
                made = generate_makespan(
                    jobs, servers, contention="strong", server_sizes=(size,), sizes=sizes,
                    horizon=20_000, seed=seed,
                )  # fmt: skip
                label = f"{jobs}x{servers} of {size}, sizes {sizes[0]}-{sizes[-1]}"
                yield label, seed, made, "local-search"


def mixed(strength: str, seed: int) -> MakespanInstance:
    """24 jobs on 8 servers of 2, 4 or 8 GPUs, slots of 30 s."""
    return generate_makespan(
        24, 8, contention=strength, server_sizes=(2, 4, 8), largest_job=8, slot=30.0, seed=seed
    )


def uniform(strength: str, seed: int) -> MakespanInstance:
    """10 jobs on 4 servers of 4 GPUs, slots of 30 s; some jobs must span."""
    return generate_makespan(
        10, 4, contention=strength, server_sizes=(4,), largest_job=16, slot=30.0, seed=seed
    )


def model_alone(
    instance: MakespanInstance, options: MakespanOptions, settings: Settings
) -> Outcome:
    """The full MILP without the pipeline's bounds, searches and relaxations; no start either.

    Its horizon is the best makespan of the heuristics, its bound the area or the longest job.
    """
    began = time.perf_counter()
    found = Incumbent(instance, settings)
    take_starting_schedules(found, settings)
    low = bounds.simple_bound(durations_of(instance))
    try:
        own = settings.within(Deadline(settings.time_limit))  # all of the limit for the model
        solved = solve_slotted(instance, int(found.cutoff), int(low.value), own)
        bound, schedule = solved.bound, solved.schedule
    except OutOfTimeError:
        bound, schedule = int(low.value), None
    ends = None if schedule is None else evaluate(instance, schedule)
    proved = ends is not None and ends.makespan <= bound
    return Outcome(
        None if ends is None else solution_from_evaluation(ends),
        Termination.OPTIMAL if proved else Termination.TIME_LIMIT,
        bound=float(bound),
        bound_source=low.source if bound == low.value else "full model",
        solve_time=time.perf_counter() - began,
    )


def models_alone(
    instance: MakespanInstance, options: MakespanOptions, settings: Settings
) -> Outcome:
    """The pipeline's models without its bounds, searches and heuristics.

    They are given the instance, with its own horizon, and the area or the longest job; how short a
    schedule may be they find out themselves, from there up.
    """
    return Pipeline(Incumbent(instance, settings), searching=False).run()


MODELS: dict[str, MethodLike] = {"ilp": "ilp", "model": model_alone, "models": models_alone}
"""What the parts about the ILP run."""


def measure(
    label: str,
    seed: int,
    instance: MakespanInstance,
    method: MethodLike,
    runs: int,
    limit: float | None,
) -> Row:
    """Run a method and the two baselines; the bound is proved anew, within the run."""
    seconds, result = [], None
    for _ in range(runs):
        if method != "sjf-bco":
            bounds.clear_cache()
        began = time.perf_counter()
        result = optsched.solve(instance, method, time_limit=limit)
        spent = time.perf_counter() - began
        seconds.append(result.solve_time if method == "sjf-bco" else spent)
    assert result is not None
    if result.check is not None and not result.check.feasible:
        sys.exit(f"{label} seed {seed}: the checker refuses the solution")
    ratios = []
    for baseline in ("list-scheduling", "first-fit"):
        other = schedule_by_name(baseline, instance, MakespanOptions(), Settings()).claimed
        ratios.append(None if other is None or not result.objective else result.objective / other)
    return Row(label, seed, tuple(seconds), result, *ratios)


def print_row(row: Row) -> None:
    """One line: case, seed, seconds and spread, makespan, bound, excess, ratios, status."""
    r = row.result
    excess = "no schedule" if row.excess is None else f"{row.excess:6.2f}%"
    makespan = "none" if r.objective is None else f"{r.objective:.1f}"
    print(
        f"{row.label:24} seed {row.seed:2} {median(row.seconds):9.4f} s "
        f"[{min(row.seconds):.4f}-{max(row.seconds):.4f}] makespan {makespan:>7} "
        f"bound {r.bound or 0:7.1f} ({r.bound_source}) excess {excess} "
        f"to list-scheduling {shown(row.to_list)} to first-fit {shown(row.to_first_fit)} "
        f"{r.termination.value} {r.details.get('stopped_at', '')}",
        flush=True,
    )


def print_figures(label: str, rows: Sequence[Row]) -> None:
    """Median and range of seconds, excess and ratios; how many are proved."""
    print(
        f"-- {label}: {len(rows)} seeds; seconds {spread([median(r.seconds) for r in rows], 4)}; "
        f"excess % {spread([r.excess for r in rows if r.excess is not None])}; "
        f"to list-scheduling {spread([r.to_list for r in rows if r.to_list])}; "
        f"to first-fit {spread([r.to_first_fit for r in rows if r.to_first_fit])}; "
        f"proved {sum(r.result.termination is Termination.OPTIMAL for r in rows)}",
        flush=True,
    )


def print_verdict(rows: Sequence[Row], typical: float, most: float) -> None:
    """Whether median and worst excess of a part's rows are within its target, in per cent."""
    found = [100.0 if row.excess is None else row.excess for row in rows]
    for name, value, limit in (
        ("median", median(found), typical),
        ("worst", max(found), most),
    ):
        verdict = "met" if value <= limit else "missed"
        print(f"-- {name} excess {value:.2f}%, target {limit:g}%: {verdict}", flush=True)


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Median and range."""
    if not values:
        return "-"
    return f"{median(values):.{digits}f} [{min(values):.{digits}f}-{max(values):.{digits}f}]"


def shown(ratio: float | None) -> str:
    """A ratio, or a dash where the baseline finds no schedule."""
    return "-" if ratio is None else f"{ratio:.3f}"


if __name__ == "__main__":
    main()
