"""Where the gap of sts and price to the clairvoyant bound comes from: three parts of it.

    python benchmarks/rolling_gap.py [--nodes 6] [--jobs 60] [--seeds 5] [--loads 0.6,1]

Each policy runs twice: with the distribution of epochs, and with the true epochs. A search that
knows the arrivals too looks for the cheapest run; the cheapest of all runs stands for the optimum.
The search anneals a value in dollars of an epoch of each job: GPUs go where they gain most at these
values, and each step is a whole run. Parts of the gap, in per cent of the bound:

- information: the policy's cost less its cost with the true epochs (negative where it is worse);
- heuristic: its cost with the true epochs less the cheapest run;
- bound: the cheapest run less the bound, also as a share of the gap.

Every run is audited. Aim: the bound's part at load 1 is at most 25% on every seed.
"""

import argparse
import math
import time
from statistics import median

import numpy as np
from machine import take_one_core

from optsched.generators.rolling import generate_rolling, rolling_settings
from optsched.result import Settings
from optsched.rolling.audit import audit
from optsched.rolling.bounds.clairvoyant import BoundSettings, clairvoyant_bound
from optsched.rolling.epochs import draw_epochs
from optsched.rolling.instance import RollingInstance
from optsched.rolling.metrics import compute_metrics
from optsched.rolling.options import RollingOptions
from optsched.rolling.policies.by_name import make_policy
from optsched.rolling.policies.fewest_migrations import with_fewest_migrations
from optsched.rolling.policies.price import MIN_EPOCH_VALUE, Price, gains
from optsched.rolling.records import Records
from optsched.rolling.simulator.engine import Plan, simulate_rolling
from optsched.rolling.simulator.world import View, World

POLICIES = ("sts", "price")
OTHERS = ("rg",)
ITERATIONS = 1500
"""Of the bound's subgradient: more gain nothing in the third digit at most seeds."""
STEPS = 2_000
HEAT = (0.1, 1e-3)
"""First and last temperature of the annealing, as shares of the least cost known."""
AIM = 25.0
TRUE = "(true epochs)"
"""Suffix of runs that know the true epochs."""
PARTS = ("information", "heuristic", "bound")


def main() -> None:
    """Print every row, and the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=6)
    parser.add_argument("--jobs", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=5, help="seeds 0 to N - 1")
    parser.add_argument("--loads", default="0.6,1")
    parser.add_argument("--steps", type=int, default=STEPS, help="of the search")
    asked = parser.parse_args()
    take_one_core()
    for load in map(float, asked.loads.split(",")):
        print(f"\n== {asked.nodes} x {asked.jobs} at load {load:g}, sharing off")
        rows = [parts(asked, load, seed) for seed in range(asked.seeds)]
        for name in POLICIES:
            _summary(name, load, [row[name] for row in rows])


def with_true_epochs(given: RollingInstance, epochs: tuple[float, ...]) -> RollingInstance:
    """The instance in which each job's distribution is its true number of epochs."""
    document = given.to_dict()
    for job, work in zip(document["jobs"], epochs, strict=True):
        job["epochs"] = {"values": [work], "probabilities": [1.0]}
        job["true_epochs"] = work
    return RollingInstance.from_dict(document, "true epochs")


def parts(asked: argparse.Namespace, load: float, seed: int) -> dict[str, tuple[float, ...]]:
    """Of each policy: information, heuristic and bound in per cent of the bound."""
    settings = rolling_settings(
        asked.nodes, jobs=asked.jobs, arrivals="load", load=load, sharing=False
    )
    given, options = (
        generate_rolling(settings, seed=seed),
        RollingOptions.from_dict({"sharing": "off"}),
    )
    epochs, world = draw_epochs(given, seed), World(given, options)
    knowing = World(with_true_epochs(given, epochs), options)
    runs: dict[str, Records] = {}
    for name in (*POLICIES, *OTHERS):
        for label, its in ((name, world), (f"{name} {TRUE}", knowing)):
            policy = make_policy(name, its, Settings(seed=seed))
            runs[label] = simulate_rolling(its, policy, seed=seed, epochs=epochs)
    costs = {label: _cost(given, run, epochs) for label, run in runs.items()}
    began = time.process_time()
    found = cheapest_run(world, epochs, min(costs.values()), seed, asked.steps)
    costs["hindsight"] = _cost(given, found, epochs)
    searched = time.process_time() - began
    last = max(record.completion for record in runs["price"].jobs)
    effort = BoundSettings(iterations=ITERATIONS, patience=40)
    bound = clairvoyant_bound(world, epochs, min(costs.values()), effort, until=last).bound
    best = min(costs, key=lambda label: costs[label])
    print(
        f"seed {seed}: "
        + ", ".join(f"{label} {cost:.1f}" for label, cost in costs.items())
        + f"; cheapest {best}; bound {bound:.1f}; search {searched:.1f} s of CPU",
        flush=True,
    )
    percent = 100 / bound
    return {
        name: (
            percent * (costs[name] - costs[f"{name} {TRUE}"]),
            percent * (costs[f"{name} {TRUE}"] - costs[best]),
            percent * (costs[best] - bound),
        )
        for name in POLICIES
    }


class ByValue(Price):
    """GPUs go to the jobs that they gain most, at a given value of an epoch of each job."""

    def __init__(self, world: World, values: np.ndarray) -> None:
        super().__init__(world, "hindsight")
        self.values, self.wake = values, math.inf

    def decide(self, view: View) -> Plan:
        """Assign all jobs present anew."""
        speed, values = self.configurations.speed, self.values[view.index]
        gain = gains(view.index, speed, self.types, values)
        free, urgency = np.zeros(len(self.types.rates)), values * self.fastest[view.index]
        placed = self.assign(view, gain, free, urgency)
        return Plan(with_fewest_migrations(view.tables, placed, view.running))


def cheapest_run(
    world: World, epochs: tuple[float, ...], known: float, seed: int, steps: int
) -> Records:
    """Anneal the jobs' values of an epoch; return the cheapest run."""
    rng, policy = np.random.default_rng(seed), Price(world)
    cheapest = (policy.types.rates[:, None] * policy.types.sizes).ravel()
    speed = policy.configurations.speed
    floor = np.where(speed > 0, cheapest / np.where(speed > 0, speed, 1.0), np.inf).min(axis=1)
    floor = np.maximum(1.001 * floor, MIN_EPOCH_VALUE)
    values = floor + world.weights / policy.fastest
    best = run = simulate_rolling(world, ByValue(world, values), epochs=epochs)
    least = cost = compute_metrics(world.instance, run).total_cost
    for step in range(steps):
        heat = known * HEAT[0] * (HEAT[1] / HEAT[0]) ** (step / steps)
        tried, j = values.copy(), rng.integers(len(values))
        tried[j] = max(tried[j] * np.exp(0.7 * rng.normal()), floor[j])
        run = simulate_rolling(world, ByValue(world, tried), epochs=epochs)
        new = compute_metrics(world.instance, run).total_cost
        if new < cost - heat * math.log(1 - rng.random()):
            values, cost = tried, new
        if new < least:
            best, least = run, new
    return best


def _cost(given: RollingInstance, run: Records, epochs: tuple[float, ...]) -> float:
    metrics = compute_metrics(given, run)
    claimed = {name: getattr(metrics, name) for name in ("energy_cost", "tardiness_cost")}
    report = audit(given, run, claimed, epochs, shares=False)
    if not report.feasible:
        raise SystemExit(f"{run.policy}: {report.verdict()}")
    return metrics.total_cost


def _summary(name: str, load: float, rows: list[tuple[float, ...]]) -> None:
    said = ", ".join(
        f"{part} {median(values):+.1f} [{min(values):+.1f} to {max(values):+.1f}]"
        for part, values in zip(
            ("information", "heuristic", "bound"), zip(*rows, strict=True), strict=True
        )
    )
    shares = [100 * row[2] / sum(row) for row in rows]
    gaps = [sum(row) for row in rows]
    worst = max(row[2] for row in rows)
    aim = "met" if worst <= AIM else "MISSED"
    verdict = "" if load != 1 else f"; aim {AIM:g}% at load 1: {aim}"
    print(
        f"-> {name}: gap {median(gaps):.1f}% of the bound = {said}; the bound's part is "
        f"{median(shares):.0f}% of the gap [{min(shares):.0f}-{max(shares):.0f}]{verdict}"
    )


if __name__ == "__main__":
    main()
