"""Time of whole runs at 100 nodes x 1,000 jobs, of one decision, and where it goes.

    python benchmarks/rolling.py [--nodes 100] [--jobs 1000] [--seeds 5] [--profile]
                                 [--policies sts,price] [--arrivals poisson-high,...]
                                 [--sharing off,on]

Every row is shown: a run a seed, and the figures over them with their spread; the rivals are sts
and price, on the same arrivals. The audit is not in the times. Aims, of the processor's time: 1,000
jobs on 100 nodes with sts and with price in at most 3 s; a decision of sts at 100 nodes and 400
queued jobs in at most 10 ms.
"""

import argparse
import cProfile
import pstats
import time
from collections.abc import Sequence
from statistics import median

from optsched.generators.rolling import RollingGenerator, generate_rolling, rolling_settings
from optsched.methods import warm_up
from optsched.result import Settings
from optsched.rolling.audit import audit
from optsched.rolling.metrics import compute_metrics, offered_load
from optsched.rolling.options import RollingOptions
from optsched.rolling.policies.by_name import make_policy
from optsched.rolling.simulator.engine import simulate_rolling
from optsched.rolling.simulator.world import View, World

POLICIES = ("sts", "price")
ARRIVALS = ("exponential", "poisson-low", "poisson-high")
QUEUED = 400
REPEATS = 15
AIMS = {"sts": 3.0, "price": 3.0}
"""The processor's seconds of a run."""


def main() -> None:
    """Print the runs' and the decisions' times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=5, help="seeds 0 to N - 1")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--policies", default=",".join(POLICIES))
    parser.add_argument("--arrivals", default=",".join(ARRIVALS))
    parser.add_argument("--sharing", default="off,on")
    asked = parser.parse_args()
    policies = asked.policies.split(",")
    print(f"compiled code loaded in {warm_up('rolling'):.1f} s, not counted below")
    for sharing in asked.sharing.split(","):
        for seed in range(asked.seeds):
            one_decision(policies, asked.nodes, sharing, seed)
    for sharing in asked.sharing.split(","):
        for arrivals in asked.arrivals.split(","):
            case = f"{asked.nodes} x {asked.jobs} {arrivals}, sharing {sharing}"
            settings = rolling_settings(
                asked.nodes, jobs=asked.jobs, arrivals=arrivals, sharing=sharing == "on"
            )
            print(f"\n{case}")
            seeds = range(asked.seeds)
            summary([whole_runs(policies, settings, sharing, seed) for seed in seeds])
    if asked.profile:
        profile(policies, asked.nodes, asked.jobs)


def whole_runs(
    policies: Sequence[str], settings: RollingGenerator, sharing: str, seed: int
) -> dict[str, float]:
    """Simulate each policy to the end; the processor's seconds."""
    instance = generate_rolling(settings, seed=seed)
    took = {}
    for name in policies:
        began, used = time.perf_counter(), time.process_time()
        world = World(instance, RollingOptions.from_dict({"sharing": sharing}))
        run = simulate_rolling(world, make_policy(name, world, Settings()), seed=seed)
        wall, used = time.perf_counter() - began, time.process_time() - used
        took[name] = used
        metrics = compute_metrics(instance, run)
        present = max(decision.present for decision in run.decisions)
        print(
            f"seed {seed} load {offered_load(instance):.2f} {name:6} {wall:6.1f} s "
            f"({used:.2f} s of CPU), {metrics.decisions} decisions, "
            f"{metrics.decision_time:.1f} s in them, "
            f"longest {1e3 * metrics.longest_decision:.0f} ms, "
            f"at most {present} jobs present, audit {audit(instance, run).feasible}",
            flush=True,
        )
    return took


def summary(rows: list[dict[str, float]]) -> None:
    """Median and range over the seeds against the aim, and the ratio of the rivals."""
    for name in rows[0]:
        seconds = [row[name] for row in rows]
        verdict = "met" if max(seconds) <= AIMS[name] else "MISSED"
        print(
            f"-> {name}: CPU median {median(seconds):.2f} s [{min(seconds):.2f}-"
            f"{max(seconds):.2f}] over {len(rows)} seeds; aim {AIMS[name]:g} s: {verdict}"
        )
    if not {"price", "sts"} <= set(rows[0]):
        return
    ratios = [row["price"] / row["sts"] for row in rows]
    print(f"-> price / sts: median {median(ratios):.2f} [{min(ratios):.2f}-{max(ratios):.2f}]")


def one_decision(policies: Sequence[str], nodes: int, sharing: str, seed: int) -> None:
    """The first decision on an empty cluster with 400 jobs waiting."""
    settings = rolling_settings(nodes, jobs=QUEUED, sharing=sharing == "on")
    instance = generate_rolling(settings, seed=seed)
    world = World(instance, RollingOptions.from_dict({"sharing": sharing}))
    jobs = tuple(range(QUEUED))
    for name in policies:
        times, spent = [], []
        for _ in range(REPEATS):
            view = View(world, 0.0, jobs, (0.0,) * QUEUED, {}, frozenset())
            each = make_policy(name, world, Settings())
            began, used = time.perf_counter(), time.process_time()
            each.decide(view)
            times.append(1e3 * (time.perf_counter() - began))
            spent.append(1e3 * (time.process_time() - used))
        print(
            f"one decision, {nodes} nodes x {QUEUED} queued jobs, sharing {sharing:3} seed {seed} "
            f"{name:6} median {median(times):.1f} ms [{min(times):.1f}-{max(times):.1f}]; "
            f"CPU median {median(spent):.1f}",
            flush=True,
        )


def profile(policies: Sequence[str], nodes: int, jobs: int) -> None:
    """Where the time of a run goes, by function."""
    instance = generate_rolling(rolling_settings(nodes, jobs=jobs, arrivals="poisson-high"), seed=0)
    for name in policies:
        profiler = cProfile.Profile()
        profiler.enable()
        world = World(instance, RollingOptions.from_dict({"sharing": "off"}))
        simulate_rolling(world, make_policy(name, world, Settings()), seed=0)
        profiler.disable()
        print(f"\nprofile of {name}, own time:")
        pstats.Stats(profiler).strip_dirs().sort_stats("tottime").print_stats(14)


if __name__ == "__main__":
    main()
