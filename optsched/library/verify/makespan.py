"""Makespan: weights of the jobs (sjf-bco (6)-(9); models/makespan, "Bounds")."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from .certificate import COMPARISON_RTOL, Document, RefusedError, integers

MAX_RESOLUTION = 4000
MAX_WHOLE_SLOTS = 64
"""Slots of a job up to which the bound uses that slots are whole; longer jobs gain little."""


def columns(instance: Document, certificate: Document) -> float:
    """Prove that no schedule ends by T: all GPUs together hold less weight than the jobs have.

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
    offered = 0
    sizes: Counter[int] = Counter(instance["servers"])
    for capacity, servers in sizes.items():
        best = np.zeros(grid + 1, dtype=np.int64)
        for job, y in zip(jobs, weights, strict=True):
            slots = least_slots(instance, job, capacity)
            if y == 0 or slots * (1 - COMPARISON_RTOL) > end:
                continue
            size = (
                int(slots)
                if grid == end
                else math.floor(slots * grid / end * (1 - COMPARISON_RTOL))
            )
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
    """Prove that no schedule ends by T: in T slots the servers earn less than all jobs pay.

    In each slot a server earns U_n(y) for each piece of y GPUs of a spanning job, if it holds at
    most n pieces, and V(g) for each job of g GPUs that it holds alone; each running job j pays
    sigma_j. A server earns at most its most expensive packing. A job whose most shared link has q
    pieces runs at the speed of level q and pays its pieces at some n <= q; the last row of U
    stands for all larger n.
    """
    jobs, end, sizes = instance["jobs"], float(certificate["deadline"]), instance["servers"]
    slotted, widest = instance["progress"] == "floor", max(sizes)
    if not 0 < end < math.inf or (slotted and end != int(end)):
        raise RefusedError(f"the deadline {end}")
    inside = integers(certificate["inside"], widest, "prices inside")
    rows = [integers(row, widest, "prices of pieces") for row in certificate["pieces"]]
    running_prices = [0] * len(jobs)
    for key, price in certificate["running"].items():
        if not 0 <= int(key) < len(jobs):
            raise RefusedError(f"a price of running for job {key} of {len(jobs)}")
        (running_prices[int(key)],) = integers([price], 1, "prices of running")
    spanning = sum(job["gpus"] > 1 for job in jobs) if len(sizes) > 1 else 0
    if spanning and not rows:
        raise RefusedError("no prices of pieces")
    whole = [(size, inside[size - 1]) for size in (job["gpus"] for job in jobs) if size <= widest]
    alone = _best_packing(widest, [[item] for item in whole])
    income = sum(running_prices)
    shared = []
    for n, row in enumerate(rows, start=1):
        max_pieces = min(spanning, widest) if n == len(rows) else n
        items = list(enumerate(row, start=1))
        shared.append(_best_packing(widest, [items] * max_pieces))
    for size in sizes:
        mixed = [row[y] + alone[size - y] for row in shared for y in range(size + 1)]
        income += max([alone[size], *mixed])
    cheapest = [
        [min(column) for column in zip(*rows[: n + 1], strict=True)] for n in range(len(rows))
    ]
    needed: list[Fraction] = []
    for job, sigma in zip(jobs, running_prices, strict=True):
        gpus, iterations, ways = job["gpus"], job["iterations"], []
        if gpus <= widest and (speed := _speed(instance, job, 1, 1)) > 0:
            slots = Fraction(iterations) / Fraction(speed)
            ways.append((inside[gpus - 1] + sigma) * (math.ceil(slots) if slotted else slots))
        if gpus > 1 and len(sizes) > 1:
            fewest = max(2, _fewest(instance, job))
            runs = [
                (speed, _cheapest_pieces(gpus, row) + sigma)
                for level, row in enumerate(cheapest, start=1)
                if (speed := _speed(instance, job, fewest, level)) > 0
            ]
            ways += [_min_payment(iterations, runs, slotted)] if runs else []
        needed.append(min(ways))
    short = Fraction(end) * income - sum(needed) * (1 - Fraction(COMPARISON_RTOL) * (not slotted))
    if short >= 0:
        message = f"the jobs pay no more than the servers can earn by {end:g}"
        raise RefusedError(message, float(short))
    return end + 1 if slotted else end


def _best_packing(gpus: int, groups: Sequence[Sequence[tuple[int, int]]]) -> list[int]:
    """By GPUs, the most expensive packing of at most one item (GPUs, price) of each group."""
    best = [0] * (gpus + 1)
    for items in groups:
        best = [
            max([best[g], *(best[g - size] + price for size, price in items if size <= g)])
            for g in range(gpus + 1)
        ]
    return best


def _cheapest_pieces(gpus: int, prices: Sequence[int]) -> int:
    """The minimum price of a job's GPUs in two pieces or more."""
    least = [0]
    for g in range(1, gpus):
        least.append(min(p + least[g - y] for y, p in enumerate(prices[:g], start=1)))
    return min(p + least[gpus - y] for y, p in enumerate(prices[: gpus - 1], start=1))


def _min_payment(iterations: int, runs: Sequence[tuple[float, int]], slotted: bool) -> Fraction:
    """The minimum payment for F iterations in any mixture of speeds with prices of a slot.

    Whole slots t at speeds phi satisfy sum ceil(phi / g) t >= ceil(F / g) for any integer g; a few
    g are tried for jobs that are so short that rounding matters.
    """
    if not slotted:
        return min(price * Fraction(iterations) / Fraction(speed) for speed, price in runs)
    grains = {1}
    if iterations <= MAX_WHOLE_SLOTS * max(speed for speed, _ in runs):
        grains |= {-(-int(speed) // m) for speed, _ in runs for m in range(1, 9)}
    return max(
        min(Fraction(price * -(-iterations // g), -(-int(speed) // g)) for speed, price in runs)
        for g in grains
    )


def least_slots(instance: Document, job: Document, capacity: int) -> float:
    """Slots of a job alone on a server of a capacity, or on the fewest servers that hold it."""
    least = _slots(instance, job, 1) if job["gpus"] <= capacity else math.inf
    if len(instance["servers"]) > 1:
        least = min(least, _slots(instance, job, max(2, _fewest(instance, job))))
    return least


def _fewest(instance: Document, job: Document) -> int:
    """The fewest servers that hold a job."""
    held = fewest = 0
    for size in sorted(instance["servers"], reverse=True):
        if held < job["gpus"]:
            held, fewest = held + size, fewest + 1
    return fewest


def _slots(instance: Document, job: Document, servers: int) -> float:
    speed = _speed(instance, job, servers, 1)
    if instance["progress"] == "continuous":
        return float(job["iterations"] / speed)
    return math.ceil(job["iterations"] / speed) if speed else math.inf


def _speed(instance: Document, job: Document, servers: int, level: int) -> float:
    """Iterations a slot on so many servers, with so many jobs on the link."""
    net, size, share = instance["network"], job["gradient_bytes"], (job["gpus"] - 1) / job["gpus"]
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
