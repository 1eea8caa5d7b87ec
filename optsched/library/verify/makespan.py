"""Makespan: weights of the jobs (sjf-bco (6)-(9); models/makespan, "Bounds")."""

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np

from .certificate import COMPARISON_RTOL, Document, RefusedError, integers

MAX_RESOLUTION = 4000
MAX_WHOLE_SLOTS = 64
"""Slots of a job up to which the bound uses the integrality of slots; longer jobs gain little."""


def columns(instance: Document, certificate: Document) -> float:
    """Prove makespan > T by weights: the jobs weigh more than all GPUs can hold.

    Job j of weight y_j counts on each of its G_j GPUs; z_c is the maximum weight of jobs that one
    GPU of a server with c GPUs can run within T, each for its minimum time there. The proof is
    sum_j G_j y_j > sum_c N_c c z_c.
    """
    jobs, end = instance["jobs"], float(certificate["deadline"])
    weights = integers(certificate["prices"], len(jobs), "prices")
    grid, slotted = certificate["resolution"], instance["progress"] == "floor"
    if type(grid) is not int or not 0 < grid <= MAX_RESOLUTION or not 0 < end < math.inf:
        raise RefusedError("the deadline or the resolution")
    if slotted and end != int(end):
        raise RefusedError(f"a deadline between slots, {end}")
    required = sum(job["gpus"] * y for job, y in zip(jobs, weights, strict=True))
    offered, sizes = 0, Counter[int](instance["servers"])
    for capacity, servers in sizes.items():
        # A knapsack over time: the largest weight of jobs on one GPU, by grid steps used.
        best = np.zeros(grid + 1, dtype=np.int64)
        for job, y in zip(jobs, weights, strict=True):
            slots = least_slots(instance, job, capacity)
            if y == 0 or slots * (1 - COMPARISON_RTOL) > end:
                continue
            size = int(slots)
            if grid != end:
                size = math.floor(slots * grid / end * (1 - COMPARISON_RTOL))
            if size == 0:
                best += y
            else:
                best[size:] = np.maximum(best[size:], best[:-size] + y)
        offered += capacity * servers * int(best[-1])
    if required <= offered:
        missing = offered - required
        raise RefusedError(f"the jobs weigh {required}, the GPUs hold {offered}", missing)
    return end + 1 if slotted else end


def contention(instance: Document, certificate: Document) -> float:
    """Prove makespan > T: in T slots the servers can earn less than all jobs must pay.

    In each slot a server earns U_n(y) for each piece of y GPUs of a spanning job, if it holds at
    most n pieces, and V(g) for each job of g GPUs that it holds alone; each running job j pays
    sigma_j. A server earns at most its most valuable packing. A job whose most shared link has q
    pieces runs at the speed of level q and pays its pieces at some n <= q; the last row of U
    stands for all larger n.
    """
    jobs, end, sizes = instance["jobs"], float(certificate["deadline"]), instance["servers"]
    slotted, max_gpus = instance["progress"] == "floor", max(sizes)
    if not 0 < end < math.inf or (slotted and end != int(end)):
        raise RefusedError(f"the deadline {end}")
    inside = integers(certificate["inside"], max_gpus, "prices inside")
    rows = [integers(row, max_gpus, "prices of pieces") for row in certificate["pieces"]]
    running_prices = [0] * len(jobs)
    for key, price in certificate["running"].items():
        if not 0 <= int(key) < len(jobs):
            raise RefusedError(f"a price of running for job {key} of {len(jobs)}")
        (running_prices[int(key)],) = integers([price], 1, "prices of running")
    spanning = sum(job["gpus"] > 1 for job in jobs) if len(sizes) > 1 else 0
    if spanning and not rows:
        raise RefusedError("no prices of pieces")
    # The most that a server can earn in a slot: jobs alone on it, and pieces at one level n.
    fitting = [(job["gpus"], inside[job["gpus"] - 1]) for job in jobs if job["gpus"] <= max_gpus]
    alone = _best_packing(max_gpus, [[item] for item in fitting])
    income = sum(running_prices)
    shared = []
    for n, row in enumerate(rows, start=1):
        max_pieces = min(spanning, max_gpus) if n == len(rows) else n
        items = list(enumerate(row, start=1))
        shared.append(_best_packing(max_gpus, [items] * max_pieces))
    for size in sizes:
        mixed = [row[y] + alone[size - y] for row in shared for y in range(size + 1)]
        income += max([alone[size], *mixed])
    # The least that a job must pay: alone on a server, or in a mixture of contention levels.
    cheapest = [
        [min(column) for column in zip(*rows[: n + 1], strict=True)] for n in range(len(rows))
    ]
    required: list[Fraction] = []
    for job, sigma in zip(jobs, running_prices, strict=True):
        gpus, iterations, payments = job["gpus"], job["iterations"], []
        if gpus <= max_gpus and (speed := _speed(instance, job, 1, 1)) > 0:
            slots = Fraction(iterations) / Fraction(speed)
            payments.append((inside[gpus - 1] + sigma) * (math.ceil(slots) if slotted else slots))
        if gpus > 1 and len(sizes) > 1:
            min_servers = max(2, _min_servers(instance, job))
            runs = [
                (speed, _cheapest_pieces(gpus, row) + sigma)
                for level, row in enumerate(cheapest, start=1)
                if (speed := _speed(instance, job, min_servers, level)) > 0
            ]
            payments += [_min_payment(iterations, runs, slotted)] if runs else []
        required.append(min(payments))
    rounding = 0 if slotted else Fraction(COMPARISON_RTOL)
    surplus = Fraction(end) * income - sum(required) * (1 - rounding)
    if surplus >= 0:
        message = f"the jobs pay no more than the servers can earn by {end:g}"
        raise RefusedError(message, float(surplus))
    return end + 1 if slotted else end


def _best_packing(gpus: int, groups: Sequence[Sequence[tuple[int, int]]]) -> list[int]:
    """By GPUs, the most valuable packing of at most one item (GPUs, price) of each group."""
    best = [0] * (gpus + 1)
    for items in groups:
        best = [
            max([best[g], *(best[g - size] + price for size, price in items if size <= g)])
            for g in range(gpus + 1)
        ]
    return best


def _cheapest_pieces(gpus: int, prices: Sequence[int]) -> int:
    """The minimum price of a job's GPUs in two pieces or more."""
    cheapest = [0]
    for g in range(1, gpus):
        cheapest.append(min(p + cheapest[g - y] for y, p in enumerate(prices[:g], start=1)))
    return min(p + cheapest[gpus - y] for y, p in enumerate(prices[: gpus - 1], start=1))


def _min_payment(iterations: int, runs: Sequence[tuple[float, int]], slotted: bool) -> Fraction:
    """The minimum payment for F iterations in any mixture of speeds with prices of a slot.

    Integers t of slots at speeds phi satisfy sum ceil(phi / g) t >= ceil(F / g) for any integer g;
    a few g are tried for jobs so short that rounding matters.
    """
    if not slotted:
        return min(price * Fraction(iterations) / Fraction(speed) for speed, price in runs)
    units = {1}
    if iterations <= MAX_WHOLE_SLOTS * max(speed for speed, _ in runs):
        units |= {-(-int(speed) // m) for speed, _ in runs for m in range(1, 9)}
    return max(
        min(Fraction(price * -(-iterations // g), -(-int(speed) // g)) for speed, price in runs)
        for g in units
    )


def least_slots(instance: Document, job: Document, capacity: int) -> float:
    """Minimum slots of a job alone: on one server of the capacity, or on the fewest that fit it."""
    slots = _slots(instance, job, 1) if job["gpus"] <= capacity else math.inf
    if len(instance["servers"]) > 1:
        slots = min(slots, _slots(instance, job, max(2, _min_servers(instance, job))))
    return slots


def _min_servers(instance: Document, job: Document) -> int:
    capacities = accumulate(sorted(instance["servers"], reverse=True))
    return 1 + sum(capacity < job["gpus"] for capacity in capacities)


def _slots(instance: Document, job: Document, servers: int) -> float:
    speed = _speed(instance, job, servers, 1)
    if instance["progress"] == "continuous":
        return float(job["iterations"] / speed)
    return math.ceil(job["iterations"] / speed) if speed else math.inf


def _speed(instance: Document, job: Document, servers: int, level: int) -> float:
    """Iterations per slot on so many servers, with so many jobs on the most shared link."""
    net, size, share = instance["network"], job["gradient_bytes"], (job["gpus"] - 1) / job["gpus"]
    if isinstance(net["degradation"], list):
        slowed = net["degradation"][:level][-1]
    else:
        shared = net["contention_share"] * level
        slowed = max(1.0, shared + net["degradation"] * (shared - 1))
    link = net["intra_bandwidth"] if servers == 1 else net["inter_bandwidth"] / slowed
    tau = size * share * (2 / link + 1 / instance["compute_rate"])
    if servers > 1 or net["overhead_on_one_server"]:
        tau += net["overhead_per_server"] * servers
    tau += job["forward_time_per_sample"] * job["batch_size"] + job["backward_time"]
    speed = float(instance["slot"] / tau)
    if instance["progress"] == "continuous":
        return speed
    return math.floor(min(speed * (1 + 1e-14) + 1e-9, job["iterations"]))
