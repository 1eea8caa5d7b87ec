"""Oracle for the makespan of ring-all-reduce jobs under contention: plain, literal and slow.

Works on the JSON dictionary of an instance (format "optsched/makespan", progress "floor"). A
decision for a job is (start, {server: GPUs}). Nothing here comes from the package under test.
Numbers "(1)" to "(9)" are the equations of the paper on SJF-BCO.
"""

import itertools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Instance = dict[str, Any]
Placement = dict[int, int]
Decision = tuple[float, Placement]

Allowed = Callable[[int, int, Placement], bool]

NEVER = math.inf


def tau(instance: Instance, job: dict[str, Any], placement: Placement, p: int) -> float:
    """Seconds of an iteration (8), with p from (6) and k = xi1 p from (7)."""
    net = instance["network"]
    m, workers = job["gradient_bytes"], job["gpus"]
    one = len(placement) == 1
    if one:
        bandwidth = net["intra_bandwidth"]
    else:
        k = net["contention_share"] * p
        bandwidth = net["inter_bandwidth"] / max(1.0, k + net["degradation"] * (k - 1))
    gamma = net["overhead_per_server"] * len(placement)
    if one and not net["overhead_on_one_server"]:
        gamma = 0.0
    return (
        2 * m / workers * (workers - 1) / bandwidth
        + m / workers * (workers - 1) / instance["compute_rate"]
        + gamma
        + job["forward_time_per_sample"] * job["batch_size"]
        + job["backward_time"]
    )


def iterations_in_a_slot(
    instance: Instance, job: dict[str, Any], placement: Placement, p: int
) -> float:
    """phi: whole iterations, or their rate under continuous progress."""
    per_slot = instance["slot"] / tau(instance, job, placement, p)
    return math.floor(per_slot + 1e-9) if instance["progress"] == "floor" else per_slot


def contention(active: Sequence[Placement], mine: Placement) -> int:
    """p of (6): spanning jobs, this one counted, on the server that has most of them."""
    if len(mine) == 1:
        return 0
    return max(sum(1 for y in active if len(y) > 1 and s in y) for s in mine)


def slotted_ends(
    instance: Instance, decisions: Sequence[Decision], last: int, fine: int = 1
) -> list[float]:
    """Completions (9), slot by slot (in `fine` parts each); NEVER if not by `last`."""
    jobs = instance["jobs"]
    left = [float(job["iterations"]) for job in jobs]
    ends = [NEVER] * len(jobs)
    for step in range(last * fine):
        now = step / fine
        active = [j for j, (start, _) in enumerate(decisions) if start <= now and ends[j] == NEVER]
        placements = [decisions[j][1] for j in active]
        for j in active:
            p = contention(placements, decisions[j][1])
            left[j] -= iterations_in_a_slot(instance, jobs[j], decisions[j][1], p) / fine
        for j in active:
            if left[j] <= 1e-9:
                ends[j] = (step + 1) / fine
        if all(end < NEVER for end in ends):
            break
    return ends


def fits(instance: Instance, decisions: Sequence[Decision], ends: Sequence[float]) -> bool:
    """Whether no server ever gives more GPUs than it has (2)."""
    for at, _ in decisions:
        for server, size in enumerate(instance["servers"]):
            used = sum(
                y.get(server, 0)
                for (start, y), end in zip(decisions, ends, strict=True)
                if start <= at < end
            )
            if used > size:
                return False
    return True


def placements(instance: Instance, gpus: int) -> Iterator[Placement]:
    """All ways to put so many workers on the servers."""
    for counts in itertools.product(*(range(min(o, gpus) + 1) for o in instance["servers"])):
        if sum(counts) == gpus:
            yield {s: count for s, count in enumerate(counts) if count}


def brute_force(
    instance: Instance, *, contended: bool = True, allowed: Allowed = lambda *_: True
) -> tuple[int | None, list[Decision]]:
    """The least makespan by trying every start and placement for T = 1, 2, ...

    With ``contended=False`` every spanning job runs as if alone: the relaxation. `allowed` is a
    side constraint on a job's number, start and placement.
    """
    options = [
        [(y, alone(instance, job, y)) for y in placements(instance, job["gpus"])]
        for job in instance["jobs"]
    ]
    options = [[(y, slots) for y, slots in each if slots < NEVER] for each in options]
    for target in range(1, instance["horizon"] + 1):
        found = _by(instance, options, target, contended, allowed)
        if found is not None:
            return target, found
    return None, []


def alone(instance: Instance, job: dict[str, Any], placement: Placement) -> float:
    """Slots without contention."""
    speed = iterations_in_a_slot(instance, job, placement, 0 if len(placement) == 1 else 1)
    return math.ceil(job["iterations"] / speed) if speed else NEVER


def _by(
    instance: Instance,
    options: list[list[tuple[Placement, float]]],
    target: int,
    contended: bool,
    allowed: Allowed,
) -> list[Decision] | None:
    """A schedule that ends by the target, by depth-first trial of every start and placement."""
    used = [[0] * target for _ in instance["servers"]]
    decided: list[Decision] = []

    def claim(y: Placement, start: int, slots: int, sign: int) -> bool:
        ok = True
        for server, count in y.items():
            for t in range(start, start + slots):
                used[server][t] += sign * count
                ok = ok and used[server][t] <= instance["servers"][server]
        return ok

    def extend() -> bool:
        if len(decided) == len(options):
            if not contended:
                return True
            ends = slotted_ends(instance, decided, target)
            return max(ends) <= target and fits(instance, decided, ends)
        for y, slots in options[len(decided)]:
            for start in range(target - int(slots) + 1):
                if not allowed(len(decided), start, y):
                    continue
                # A job holds its GPUs for at least the slots it takes alone.
                if claim(y, start, int(slots), 1):
                    decided.append((start, y))
                    if extend():
                        return True
                    decided.pop()
                claim(y, start, int(slots), -1)
        return False

    return decided if extend() else None


def tiny_instance(seed: int) -> Instance:
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
    for index in range(rng.choice([3, 3, 4])):
        gpus = rng.choice(sizes)
        compute, exchange = rng.uniform(0.05, 0.15), rng.uniform(0.05, 0.25)
        jobs.append(
            {
                "name": f"j{index}",
                "gpus": gpus,
                "iterations": rng.randint(6, 18),
                "gradient_bytes": round(exchange * 1e9 / 2),
                "batch_size": 1,
                "forward_time_per_sample": compute / 3,
                "backward_time": 2 * compute / 3,
            }
        )
    return {
        "schema": "optsched/makespan",
        "version": 1,
        "name": f"tiny-{seed}",
        "servers": servers,
        "network": {
            "inter_bandwidth": 1e9,
            "intra_bandwidth": 1e11,
            "contention_share": rng.choice([0.6, 1.0, 1.0]),
            "degradation": rng.choice([0.0, 0.2, 0.5]),
            "overhead_per_server": rng.choice([0.0, 0.01]),
            "overhead_on_one_server": rng.random() < 0.5,
        },
        "compute_rate": 1e11,
        "slot": 1.0,
        "progress": "floor",
        "horizon": 60,
        "jobs": jobs,
    }
