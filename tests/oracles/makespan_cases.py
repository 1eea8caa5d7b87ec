"""Drawn makespans: contention, jobs that must span, horizons at the edge, extreme units.

`draw` covers every family of inputs, bad files too; the crowded cases leave bounds and optimum
apart; `tiny_instance` is for the oracle without a limit.
"""

import copy
import random
from math import nan
from typing import Any, NamedTuple

import numpy as np

from oracles import makespan as oracle
from oracles.harness import NO_NUMBERS, Edit, spoil


class Case(NamedTuple):
    """One drawn case; ``optimum`` is known where progress is by whole iterations."""

    family: str
    instance: dict
    optimum: int | None
    rng: np.random.Generator


FAMILIES = (
    "plain",
    "contended",
    "equal everything",
    "powers of two",
    "must span",
    "one GPU each",
    "one server",
    "single workers",
    "zeros",
    "units",
    "stalling contention",
    "many short jobs",
    "continuous",
    "continuous contended",
    "refused",
)
HORIZONS = (
    "wide",
    "wide",
    "exact",
    "exact",
    "short by one",
    "short by one",
    "short by one",
    "far too short",
    "far too short",
    "one job is too long",
)
LONGEST = 60
"""Slots; the oracle does not look further."""
TABLED = 7
"""Of so many cases one has a table of degradation; coprime with the numbers of families."""


def document(name: str, servers: list[int], network: dict, jobs: list[dict], **more: Any) -> dict:
    """An instance of slots of a second, unless said otherwise."""
    usual = {"compute_rate": 1e9, "slot": 1.0, "progress": "floor", "horizon": 60}
    return {
        "schema": "optsched/makespan",
        "version": 1,
        "name": name,
        "servers": servers,
        "network": network,
        **usual,
        **more,
        "jobs": [{"name": f"j{j}", **job} for j, job in enumerate(jobs)],
    }


def draw(seed: int, number: int) -> Case:
    rng = np.random.default_rng([seed, number])
    family = FAMILIES[number % len(FAMILIES)]
    while True:
        instance = _instance(rng, family, number)
        if None in [oracle.min_slots(instance, job) for job in instance["jobs"]]:
            continue
        if family == "refused":
            spoil(rng, instance, SPOILS)
            return Case(family, instance, None, rng)
        if family.startswith("continuous"):
            return Case(family, instance, None, rng)
        try:
            optimum = oracle.optimal_makespan(instance, LONGEST, most_states=3000)
        except OverflowError:
            continue
        if optimum is None:
            continue
        least = max(oracle.min_slots(instance, job) or 0 for job in instance["jobs"])
        match str(rng.choice(HORIZONS)):
            case "exact":
                instance["horizon"] = optimum
            case "short by one":
                instance["horizon"] = max(least, optimum - 1)
            case "far too short":
                instance["horizon"] = max(least, optimum // 2)
            case "one job is too long":
                instance["horizon"] = max(1, least - 1)
        return Case(family, instance, optimum, rng)


def corrupted(rng: np.random.Generator, instance: dict, solution: dict) -> dict:
    """A schedule one careless edit away; it may still be a valid one."""
    solution = {**copy.deepcopy(solution), "objective": None}
    runs = solution["jobs"]
    i = int(rng.integers(len(runs)))
    run, servers = runs[i], len(instance["servers"])
    floor = instance["progress"] == "floor"
    edit = int(rng.integers(10))
    if edit != 9:
        for other in runs:
            other["end"] = None
    match edit:
        case 0:
            step = float(rng.choice([1, -1, 2, 3]))
            run["start"] += step if floor else step * 0.3
        case 1:
            run["start"] = 0
        case 2:
            server = str(rng.integers(servers + 1))
            run["gpus"][server] = run["gpus"].get(server, 0) + 1
        case 3:
            server = str(rng.choice(list(run["gpus"])))
            run["gpus"][server] -= 1
            other = str(rng.integers(servers))
            run["gpus"][other] = run["gpus"].get(other, 0) + 1
            run["gpus"] = {s: count for s, count in run["gpus"].items() if count}
        case 4:
            del runs[i]
        case 5:
            runs.append(copy.deepcopy(run))
        case 6:
            run["start"] += 0.5
        case 7:
            order = [int(s) for s in rng.permutation(servers)]
            run["gpus"] = {str(order[int(s)]): count for s, count in run["gpus"].items()}
        case 8:
            run["gpus"] = {str(rng.integers(servers)): sum(run["gpus"].values())}
        case _:
            run["end"] = (run["end"] or 0) + (1 if floor else 0.1 * (run["end"] or 1))
    return solution


def _instance(rng: np.random.Generator, family: str, number: int) -> dict:
    servers = [int(o) for o in rng.integers(1, 5, rng.integers(1, 4))]
    jobs = int(rng.integers(1, 4))
    network: dict[str, Any] = {
        "inter_bandwidth": 1.0,
        "intra_bandwidth": 64.0,
        "contention_share": float(rng.choice([0.3, 0.5, 1.0])),
        "degradation": float(rng.choice([0.0, 0.2, 1.0])),
        "overhead_per_server": float(rng.choice([0.0, 0.01, 0.1])),
        "overhead_on_one_server": bool(rng.random() < 0.5),
    }
    if family in ("equal everything", "must span", "contended", "stalling contention"):
        servers = [int(rng.integers(1, 4))] * int(rng.integers(2, 4))
    if family == "continuous contended":
        servers = [2] * int(rng.integers(2, 4))
    if family == "powers of two":
        servers = [int(2 ** rng.integers(0, 3)) for _ in servers]
    if family == "one GPU each":
        servers = [1] * int(rng.integers(2, 5))
    if family == "one server":
        servers = [int(rng.integers(1, 6))]
    total = sum(servers)
    if family == "many short jobs":
        jobs = int(rng.integers(3, 6))
    if family in ("contended", "stalling contention"):
        network |= {"contention_share": 1.0, "degradation": float(rng.choice([0.0, 0.5, 3.0]))}
    drawn = []
    for _ in range(jobs):
        gpus = int(rng.integers(1, min(total, 5) + 1))
        if family == "powers of two":
            gpus = int(2 ** rng.integers(0, int(np.log2(max(servers))) + 1))
        elif family in ("must span", "contended", "stalling contention", "continuous contended"):
            gpus = min(total, max(servers) + int(rng.integers(1, 3)))
        elif family == "single workers":
            gpus = 1
        drawn.append(
            {
                "gpus": gpus,
                "iterations": int(rng.integers(1, 30 if jobs < 4 else 12)),
                "gradient_bytes": float(rng.choice([0.02, 0.05, 0.1, 0.2])),
                "batch_size": float(rng.choice([1.0, 2.0])),
                "forward_time_per_sample": float(rng.choice([0.02, 0.05, 0.1])),
                "backward_time": float(rng.choice([0.0, 0.05, 0.1])),
            }
        )
    if family == "equal everything":
        drawn = [dict(drawn[0]) for _ in drawn]
    if family == "zeros":
        for job in drawn:
            keys = ["gradient_bytes", "batch_size", "backward_time", "forward_time_per_sample"]
            for key in keys:
                job[key] *= float(rng.random() < 0.5)
        network["overhead_per_server"] = float(rng.choice([0.0, 0.05]))
        network["contention_share"] = float(rng.choice([0.0, 1.0]))
    if family == "stalling contention":
        # one job at a time: with a second one on its link an iteration outlasts the slot
        for job in drawn:
            job |= {"gradient_bytes": 0.35, "forward_time_per_sample": 0.01, "backward_time": 0.0}
            job["iterations"] = int(rng.integers(1, 5))
    if number % TABLED == 2:
        network["degradation"] = drawn_table(rng)
    continuous = family.startswith("continuous")
    instance = document(
        f"case-{number}",
        servers,
        network,
        drawn,
        compute_rate=float(rng.choice([8.0, 1e3])),
        slot=float(rng.choice([1.0, 1.0, 0.5, 2.0])),
        progress="continuous" if continuous else "floor",
        horizon=1000 if continuous else LONGEST,
    )
    if family == "units" or (continuous and rng.random() < 0.3):
        time, byte = 10.0 ** rng.integers(-8, 9), 10.0 ** rng.integers(-8, 9)
        rescale(instance, time, float(np.clip(byte, time * 1e-8, time * 1e14)))
    if continuous and rng.random() < 0.3:
        instance["slot"] *= 10.0 ** rng.integers(0, 8)
    return instance


def rescale(instance: dict, time: float, byte: float) -> None:
    """Seconds and bytes in other units."""
    instance["slot"] *= time
    instance["compute_rate"] *= byte / time
    network = instance["network"]
    network["inter_bandwidth"] *= byte / time
    network["intra_bandwidth"] *= byte / time
    network["overhead_per_server"] *= time
    for job in instance["jobs"]:
        job["gradient_bytes"] *= byte
        job["forward_time_per_sample"] *= time
        job["backward_time"] *= time


def _without_work(jobs: list[dict], instance: dict) -> list[dict]:
    """Jobs whose iterations take no time."""
    instance["network"]["overhead_per_server"] = 0.0
    nothing = {"gradient_bytes": 0.0, "batch_size": 0.0, "backward_time": 0.0}
    return [{**job, **nothing} for job in jobs]


SPOILS: tuple[Edit, ...] = (
    ("jobs.*.gpus", lambda _, file: sum(file["servers"]) + 1, 0, -1),
    ("slot", lambda slot, _: slot * 1e-6),
    ("jobs.*.gradient_bytes", *NO_NUMBERS),
    ("jobs.*.backward_time", *NO_NUMBERS),
    ("jobs.*.batch_size", *NO_NUMBERS),
    ("jobs.*.iterations", 0, 1.5, -3),
    ("jobs", lambda jobs, _: [*jobs, jobs[0]], _without_work, []),
    ("servers", lambda servers, _: [*servers, 0], []),
    ("network.contention_share", -0.1, 1.1, nan),
    ("network.inter_bandwidth", 0.0),
    ("network.intra_bandwidth", 0.0),
    ("network.degradation", *NO_NUMBERS),
    ("network.degradation", [], [1.0, nan], [0.5], [1.0, 3.0, 2.0], [1.0, "2"], [True], {}),
    ("horizon", 0, -1, 10.5),
    ("progress", "fluid"),
    ("compute_rate", 0.0, *NO_NUMBERS),
)
"""Edits of one place, each of which breaks the contract of the file."""


CROWDED = (
    "pools",
    "two pools",
    "must span",
    "inside is slow",
    "whole steps",
    "many iterations",
    "alike",
    "exact fill",
    "wide",
    "no share",
    "levels",
    "crowd",
)
LONGEST_CROWDED = 30
"""Slots of an optimum."""


def draw_crowded(seed: int, number: int, most_states: int = 2000) -> Case:
    """Case ``number`` of a seed; in 19 of 20 neither area nor the longest job is the optimum."""
    rng = np.random.default_rng([seed, number, 7])
    family = CROWDED[number % len(CROWDED)]
    while True:
        instance = _crowded_instance(rng, family, number)
        if any(_is_a_toss_up(instance, job) for job in instance["jobs"]):
            continue
        least = [oracle.min_slots(instance, job) for job in instance["jobs"]]
        slots = [each for each in least if each is not None]
        if len(slots) < len(least) or max(slots) > 20:
            continue
        try:
            optimum = oracle.optimal_makespan(instance, LONGEST_CROWDED, most_states)
        except OverflowError:
            continue
        if optimum is None:
            continue
        held = sum(d * job["gpus"] for d, job in zip(slots, instance["jobs"], strict=True))
        area = -(-held // sum(instance["servers"]))
        if optimum > max(area, *slots) or rng.random() < 0.05:
            return Case(family, instance, optimum, rng)


def _is_a_toss_up(instance: dict, job: dict) -> bool:
    """Whether how many iterations fit a slot hangs on the order of a sum of floats.

    The model counts what misses a whole number by 1e-9 as whole; here it misses it by just that.
    """
    levels, servers = len(instance["jobs"]), len(instance["servers"])
    for spread in range(1, servers + 1):
        for level in range(levels + 1):
            tau = oracle.iteration_seconds(instance, job, spread, level)
            fit = instance["slot"] / tau + 1e-9
            if abs(fit - round(fit)) <= 1e-12 * max(fit, 1.0):
                return True
    return False


def forged(rng: np.random.Generator, instance: dict, deadline: int) -> dict[str, Any]:
    """A certificate with any prices: simple ones, equal ones, or far apart."""
    jobs, widest = len(instance["jobs"]), max(instance["servers"])
    most = int(rng.choice([1, 2, 5, 1000, 10**9]))

    def prices(count: int) -> list[int]:
        return [int(price) for price in rng.integers(0, most + 1, count)]

    if rng.random() < 0.5:
        grid = int(rng.choice([deadline, 3 * deadline + 1, 97, 1000]))
        return {"kind": "columns", "deadline": deadline, "resolution": grid, "prices": prices(jobs)}
    rows = [prices(widest) for _ in range(int(rng.integers(1, 5)))]
    running = {str(j): price for j, price in enumerate(prices(jobs)) if rng.random() < 0.5}
    return {
        "kind": "contention",
        "deadline": deadline,
        "pieces": rows,
        "inside": prices(widest),
        "running": running,
    }


def _servers(rng: np.random.Generator, family: str) -> list[int]:
    if family == "pools":
        return [int(rng.integers(1, 3))] * int(rng.integers(3, 5))
    if family == "two pools":
        few, many = rng.choice([1, 2, 3, 4], 2, replace=False)
        pools = [few] * int(rng.integers(1, 3)) + [many] * int(rng.integers(1, 3))
        return [int(gpus) for gpus in rng.permutation(pools)]
    if family in ("must span", "levels"):
        return [int(rng.integers(2, 5))] * int(rng.integers(2, 4))
    if family == "crowd":
        return [int(rng.integers(4, 7))] * 2
    if family == "wide":
        return [int(gpus) for gpus in rng.integers(1, 5, rng.integers(2, 4))]
    return [int(gpus) for gpus in rng.integers(1, 4, rng.integers(2, 5 if "fill" in family else 4))]


def _sizes(rng: np.random.Generator, family: str, servers: list[int]) -> list[int]:
    """GPUs of the jobs."""
    total, largest, jobs = sum(servers), max(servers), int(rng.integers(3, 6))
    if family == "exact fill":
        sizes: list[int] = []
        while len(sizes) < 2 or sum(sizes) % total:
            sizes = [] if len(sizes) == 4 else [*sizes, int(rng.integers(1, total + 1))]
        return sizes
    low, high = {
        "must span": (largest + 1, largest + 2),
        "wide": (largest + 1, largest + 2),
        "levels": (2, 4),
        "crowd": (2, 3),
    }.get(family, (1, largest + 2))
    jobs += family == "crowd"
    jobs = 3 if family == "wide" else jobs
    return [min(total, int(gpus)) for gpus in rng.integers(low, high + 1, jobs)]


def _network(rng: np.random.Generator, family: str) -> dict[str, Any]:
    network: dict[str, Any] = {
        "inter_bandwidth": 1.0,
        "intra_bandwidth": 64.0,
        "contention_share": 1.0,
        "degradation": float(rng.choice([0.0, 0.3, 1.0])),
        "overhead_per_server": float(rng.choice([0.0, 0.0, 0.02])),
        "overhead_on_one_server": bool(rng.random() < 0.5),
    }
    if family in ("inside is slow", "crowd"):  # then to span is faster, while links are free
        network["intra_bandwidth"] = float(rng.choice([0.05, 0.1, 0.3, 1.0]))
        network["contention_share"] = float(rng.choice([0.2, 0.5, 1.0]))
    if family == "no share":
        network["contention_share"] = float(rng.choice([0.0, 0.34, 0.5]))
    if family in ("whole steps", "many iterations"):
        network["overhead_per_server"] = 0.0
    if family == "whole steps":
        network["degradation"] = 0.0
        network["intra_bandwidth"] = float(rng.choice([1.0, 2.0, 10.0]))
    return network


def drawn_table(rng: np.random.Generator) -> list[float]:
    """Slowdowns by the number of jobs on a link: concave, convex or in steps; often too few."""
    steps = rng.choice([0.0, 0.25, 1.0, 3.0], int(rng.integers(0, 5)))
    return np.cumsum([rng.choice([1.0, 1.0, 1.5]), *steps]).tolist()


def _job(rng: np.random.Generator, family: str, gpus: int) -> dict[str, Any]:
    job: dict[str, Any] = {
        "gpus": gpus,
        "iterations": int(rng.integers(1, 8 if family == "crowd" else 20)),
        "gradient_bytes": float(rng.choice([0.05, 0.1, 0.2, 0.3])),
        "batch_size": 1.0,
        "forward_time_per_sample": float(rng.choice([0.0, 0.01, 0.1])),
        "backward_time": float(rng.choice([0.0, 0.05])),
    }
    if family == "whole steps":  # tau is 0.1 or so times a level, slot over tau nearly whole
        volume = float(rng.choice([0.05, 0.1, 0.15]))
        job["gradient_bytes"] = volume * gpus / max(gpus - 1, 1) / 2
        job["forward_time_per_sample"] = float(rng.choice([0.0, 0.1, 0.1]))
        job["backward_time"] = 0.0
    if gpus == 1 and not job["forward_time_per_sample"] + job["backward_time"]:
        job["backward_time"] = 0.05
    if family == "many iterations":  # up to 1e9: one too few is within a solver's tolerance
        scale = 10.0 ** int(rng.integers(3, 9))
        whole = int(int(rng.integers(1, 12)) * scale / int(rng.integers(1, 5)))
        job["iterations"] = max(1, whole + int(rng.integers(-1, 2)))
        for key in ("gradient_bytes", "forward_time_per_sample", "backward_time"):
            job[key] /= scale
    return job


def _crowded_instance(rng: np.random.Generator, family: str, number: int) -> dict:
    servers = _servers(rng, family)
    jobs = [_job(rng, family, gpus) for gpus in _sizes(rng, family, servers)]
    if family == "alike":
        kinds = int(rng.integers(1, 3))
        jobs = [jobs[j % kinds] for j in range(len(jobs))]
    slot = float(rng.choice([0.3, 0.7, 0.9, 1.1])) if family == "whole steps" else 1.0
    network = _network(rng, family)
    if number % TABLED == 2:
        network["degradation"] = drawn_table(rng)
    return document(f"crowded-{number}", servers, network, jobs, slot=slot)


def tiny_instance(seed: int) -> dict:
    """3-4 jobs on 2-3 servers, short, with exchange times that make contention matter."""
    rng = random.Random(seed)
    servers, sizes = rng.choice(
        [
            ([2, 2, 2], [3, 3, 3, 1]),
            ([2, 2, 2], [3, 3, 2, 1]),
            ([3, 3, 2], [4, 4, 2, 1]),
            ([1, 2, 2], [2, 3, 2, 1]),
            ([2, 3], [1, 2, 3, 4]),
        ]
    )
    jobs = []
    for _ in range(rng.choice([3, 3, 4])):
        gpus = rng.choice(sizes)
        compute, exchange = rng.uniform(0.05, 0.15), rng.uniform(0.05, 0.25)
        jobs.append(
            {
                "gpus": gpus,
                "iterations": rng.randint(6, 18),
                "gradient_bytes": round(exchange * 1e9 / 2),
                "batch_size": 1,
                "forward_time_per_sample": compute / 3,
                "backward_time": 2 * compute / 3,
            }
        )
    network = {
        "inter_bandwidth": 1e9,
        "intra_bandwidth": 1e11,
        "contention_share": rng.choice([0.6, 1.0, 1.0]),
        "degradation": rng.choice([0.0, 0.2, 0.5]),
        "overhead_per_server": rng.choice([0.0, 0.01]),
        "overhead_on_one_server": rng.random() < 0.5,
    }
    return document(f"tiny-{seed}", servers, network, jobs, compute_rate=1e11)
