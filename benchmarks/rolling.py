"""Time of whole runs at 100 nodes x 1,000 jobs, of one decision, and where it goes.

    python benchmarks/rolling.py [--nodes 100] [--jobs 1000] [--profile]

Aims: 1,000 jobs on 100 nodes with sts and with price in at most 60 s each;
a decision at 100 nodes and 400 queued jobs in at most 50 ms.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import time
from statistics import median

from optsched.generate.rolling import generate_rolling, rolling_settings
from optsched.rolling.audit import audit
from optsched.rolling.load import offered_load
from optsched.rolling.metrics import metrics_of
from optsched.rolling.policies import RollingSettings, policy
from optsched.rolling.run import warm_up
from optsched.rolling.simulator import simulate
from optsched.rolling.world import View, World
from optsched.selection.options import SelectionOptions

POLICIES = ("sts", "price")
QUEUED = 400
REPEATS = 15


def main() -> None:
    """Print the runs' and the decisions' times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--profile", action="store_true")
    asked = parser.parse_args()
    began = time.perf_counter()
    warm_up()
    print(f"compiled code loaded in {time.perf_counter() - began:.1f} s, not counted below")
    for sharing in ("off", "on"):
        one_decision(asked.nodes, sharing)
    for sharing in ("off", "on"):
        for arrivals in ("exponential", "poisson-low", "poisson-high"):
            whole_runs(asked.nodes, asked.jobs, arrivals, sharing)
    if asked.profile:
        profile(asked.nodes, asked.jobs)


def whole_runs(nodes: int, jobs: int, arrivals: str, sharing: str) -> None:
    """Simulate to the end; the audit is not in the time."""
    settings = rolling_settings(nodes, jobs=jobs, arrivals=arrivals, sharing=sharing == "on")
    instance = generate_rolling(settings, seed=0)
    for name in POLICIES:
        began, used = time.perf_counter(), time.process_time()
        world = World(instance, SelectionOptions(sharing=sharing))
        run = simulate(world, policy(name, world, RollingSettings()), seed=0)
        seconds, used = time.perf_counter() - began, time.process_time() - used
        metrics = metrics_of(instance, run)
        present = max(decision.present for decision in run.decisions)
        print(
            f"{nodes} x {jobs} {arrivals:12} rho {offered_load(instance):.2f} sharing {sharing:3} "
            f"{name:6} {seconds:6.1f} s ({used:.1f} s of CPU), {metrics.decisions} decisions, "
            f"{metrics.decision_time:.1f} s in them, "
            f"longest {1e3 * metrics.longest_decision:.0f} ms, "
            f"at most {present} jobs present, audit {audit(instance, run).feasible}",
            flush=True,
        )


def one_decision(nodes: int, sharing: str) -> None:
    """The first decision on an empty cluster with 400 jobs waiting."""
    settings = rolling_settings(nodes, jobs=QUEUED, sharing=sharing == "on")
    instance = generate_rolling(settings, seed=0)
    world = World(instance, SelectionOptions(sharing=sharing))
    jobs = tuple(range(QUEUED))
    for name in POLICIES:
        times, spent = [], []
        for _ in range(REPEATS):
            view = View(world, 0.0, jobs, (0.0,) * QUEUED, {}, frozenset())
            each = policy(name, world, RollingSettings())
            began, used = time.perf_counter(), time.process_time()
            each.decide(view)
            times.append(1e3 * (time.perf_counter() - began))
            spent.append(1e3 * (time.process_time() - used))
        print(
            f"one decision, {nodes} nodes x {QUEUED} queued jobs, sharing {sharing:3} {name:6} "
            f"median {median(times):.1f} ms, least {min(times):.1f}, most {max(times):.1f}; "
            f"CPU median {median(spent):.1f}",
            flush=True,
        )


def profile(nodes: int, jobs: int) -> None:
    """Where the time of a run goes, by function."""
    instance = generate_rolling(rolling_settings(nodes, jobs=jobs, arrivals="poisson-high"), seed=0)
    for name in POLICIES:
        profiler = cProfile.Profile()
        profiler.enable()
        world = World(instance, SelectionOptions(sharing="off"))
        simulate(world, policy(name, world, RollingSettings()), seed=0)
        profiler.disable()
        print(f"\nprofile of {name}, own time:")
        pstats.Stats(profiler).sort_stats("tottime").print_stats(14)


if __name__ == "__main__":
    main()
