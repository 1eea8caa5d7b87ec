"""The runs behind figures 4 to 7 of sjf-bco: one draw of its section 7, every policy or parameter.

The horizon is 4 x the paper's, so that a bad policy gets a makespan rather than none; a search for
theta starts there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from optsched.generators.makespan import generate_makespan
from optsched.makespan.bounds.best import simple_bound
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.heuristics.baselines import first_fit, list_scheduling, random_placement
from optsched.makespan.heuristics.sjf_bco import sjf_bco
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import MakespanOptions
from optsched.result import Outcome, Settings

STRENGTHS = ("mild", "strong")
SERVERS, SERVER_COUNTS = 20, (10, 12, 14, 16, 18, 20)
HORIZON = 4800
KAPPAS = tuple(range(1, 33))
LAMBDAS = (1, 2, 4, 8)
POLICIES: dict[str, Callable[..., Outcome]] = {
    "SJF-BCO": sjf_bco,
    "FF": first_fit,
    "LS": list_scheduling,
    "RAND": random_placement,
}


@dataclass(frozen=True)
class Point:
    """One run: a policy at one value of the figure's axis, on one draw."""

    contention: str
    seed: int
    x: int
    policy: str
    makespan: float | None
    mean_completion: float | None
    bound: float


def policies(contention: str, seed: int, counts: Sequence[int]) -> Iterator[Point]:
    for servers in counts:
        instance = _instance(contention, seed, servers)
        for policy, run in POLICIES.items():
            outcome = run(instance, MakespanOptions(), Settings(seed=seed))
            yield _point(contention, seed, servers, policy, instance, outcome)


def kappas(contention: str, seed: int) -> Iterator[Point]:
    instance = _instance(contention, seed)
    sizes = sorted({job.gpus for job in instance.jobs})
    found: dict[int, Outcome] = {}
    for kappa in KAPPAS:  # only the sizes of jobs change anything
        effective = max((size for size in sizes if size <= kappa), default=0)
        if effective not in found:
            found[effective] = sjf_bco(instance, MakespanOptions(kappa=kappa), Settings())
        yield _point(contention, seed, kappa, "SJF-BCO", instance, found[effective])


def lambdas(contention: str, seed: int) -> Iterator[Point]:
    instance = _instance(contention, seed)
    for spread in LAMBDAS:
        outcome = sjf_bco(instance, MakespanOptions(1, float(spread)), Settings())
        yield _point(contention, seed, spread, "SJF-BCO", instance, outcome)


def _instance(contention: str, seed: int, servers: int = SERVERS) -> MakespanInstance:
    return generate_makespan(servers=servers, contention=contention, horizon=HORIZON, seed=seed)


def _point(
    contention: str, seed: int, x: int, policy: str, instance: MakespanInstance, outcome: Outcome
) -> Point:
    bound = simple_bound(durations_of(instance)).value
    mean = outcome.details.get("mean_completion_time")
    return Point(contention, seed, x, policy, outcome.claimed, mean, bound)
