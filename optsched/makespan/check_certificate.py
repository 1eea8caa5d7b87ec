"""The checker of bounds: whether a certificate really shows that no schedule meets its deadline.

Trusts no solver: durations and speeds come from (6)-(9) again, the knapsacks are solved anew in
integers. Shares no code with the methods.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from optsched.checking import Violation
from optsched.makespan.bounds.certificate import (
    GRAINS,
    MOST_PRICE,
    MOST_RESOLUTION,
    MOST_SLOTS,
    PARTS,
    Certificate,
    ColumnCertificate,
    ContentionCertificate,
)
from optsched.makespan.check import fewest_to_span, iterations_per_slot, slots_alone
from optsched.makespan.instance import MakespanInstance, RingJob

ROUNDING = 1 - 1e-12
"""Durations count for a hair less under continuous progress, so that rounding proves nothing."""


def check_certificate(
    instance: MakespanInstance,
    certificate: Certificate,
    options: Mapping[str, Any] | None = None,
) -> list[Violation]:
    """Violations of the rule "certificate": none when it proves that every makespan exceeds T.

    It holds whatever the options, which are readings of SJF-BCO.
    """
    if isinstance(certificate, ContentionCertificate):
        return _contention(instance, certificate)
    return _columns(instance, certificate)


def _columns(instance: MakespanInstance, certificate: ColumnCertificate) -> list[Violation]:
    """Whether there is no way to give every job its GPUs within T.

    On a GPU of a server of capacity c, job j takes at least d_jc slots. With prices y and z_c, the
    most that jobs of sum d_jc <= T are worth, sum G_j y_j > sum N_c z_c shows it.
    """
    fault = _malformed(instance, certificate)
    if fault:
        return [Violation("certificate", "bounds", fault, 1)]
    prices = certificate.prices
    wanted = sum(job.gpus * price for job, price in zip(instance.jobs, prices, strict=True))
    offered = sum(
        capacity * servers * _most_worth(instance, certificate, capacity)
        for capacity, servers in Counter(instance.servers).items()
    )
    if wanted > offered:
        return []
    return [Violation("certificate", "sum G y > sum N z", "prices", offered - wanted)]


def _malformed(instance: MakespanInstance, certificate: ColumnCertificate) -> str:
    if len(certificate.prices) != len(instance.jobs):
        return f"{len(certificate.prices)} prices for {len(instance.jobs)} jobs"
    if not 0 < certificate.resolution <= MOST_RESOLUTION or not certificate.deadline > 0:
        return "the deadline or the resolution"
    if not all(isinstance(y, int) and 0 <= y <= MOST_PRICE for y in certificate.prices):
        return "prices that are no integers in range"
    if instance.progress == "floor" and certificate.deadline != int(certificate.deadline):
        return "a deadline between slots"
    return ""


def _most_worth(instance: MakespanInstance, certificate: ColumnCertificate, capacity: int) -> int:
    """z_c: the most valuable set of jobs one GPU of such a server can run by the deadline."""
    deadline, resolution = certificate.deadline, certificate.resolution
    worth = np.zeros(resolution + 1, dtype=np.int64)
    for job, price in zip(instance.jobs, certificate.prices, strict=True):
        slots = slots_alone(instance, job, capacity)
        if price == 0 or slots * ROUNDING > deadline:
            continue
        size = math.floor(slots * resolution / deadline * ROUNDING)
        if resolution == deadline:
            size = int(slots)
        if size == 0:
            worth += price
        else:
            worth[size:] = np.maximum(worth[size:], worth[:-size] + price)
    return int(worth[-1])


def _contention(instance: MakespanInstance, certificate: ContentionCertificate) -> list[Violation]:
    """Whether the cluster takes in less within T than all jobs pay.

    What a server can hold at once pays mu at most. A job at level q pays for each of two pieces or
    more what they cost where n <= q, on the fewest servers at best, or for all its GPUs inside one
    server; and sigma for each slot, of which there are at most T. So no schedule ends by T if
    sum D_j > T (sum mu + sum sigma).
    """
    fault = _malformed_prices(instance, certificate)
    if fault:
        return [Violation("certificate", "bounds", fault, 1)]
    most = _most_pieces(instance)
    dearest = [_dearest(instance, certificate, n, most) for n in range(len(certificate.pieces))]
    inside = _dearest_inside(instance, certificate)
    running = [certificate.running.get(j, 0) for j in range(len(instance.jobs))]
    taken = sum(running)
    for size, servers in Counter(instance.servers).items():
        held = (pieces[y] + inside[size - y] for pieces in dearest for y in range(size + 1))
        taken += servers * max(held, default=inside[size])
    spread = _spread(certificate, max(job.gpus for job in instance.jobs))
    paid = [
        _paid(instance, job, certificate, [row[job.gpus] for row in spread], sigma)
        for job, sigma in zip(instance.jobs, running, strict=True)
    ]
    if instance.progress == "floor":
        short = int(certificate.deadline) * taken * PARTS - sum(paid)
    else:
        short = certificate.deadline * taken * PARTS - math.fsum(paid) * ROUNDING
    if short < 0:
        return []
    return [Violation("certificate", "sum D > T (sum mu + sum sigma)", "prices", short)]


def _malformed_prices(instance: MakespanInstance, certificate: ContentionCertificate) -> str:
    rows = [*certificate.pieces, certificate.inside]
    if any(len(row) != max(instance.servers) for row in rows):
        return f"prices for other than {max(instance.servers)} GPUs"
    if not certificate.pieces and _most_pieces(instance) > 0:
        return "no prices of pieces"
    if not all(j in range(len(instance.jobs)) for j in certificate.running):
        return "prices of other jobs"
    prices = [price for row in (*rows, certificate.running.values()) for price in row]
    if not all(isinstance(price, int) and 0 <= price <= MOST_PRICE for price in prices):
        return "prices that are no integers in range"
    if not 0 < certificate.deadline < math.inf:
        return "the deadline"
    if instance.progress == "floor" and certificate.deadline != int(certificate.deadline):
        return "a deadline between slots"
    return ""


def _most_pieces(instance: MakespanInstance) -> int:
    """No server holds more: every piece has a GPU there, and its job another elsewhere."""
    if len(instance.servers) == 1:
        return 0
    return min(sum(job.gpus > 1 for job in instance.jobs), max(instance.servers))


def _dearest(
    instance: MakespanInstance, certificate: ContentionCertificate, row: int, most: int
) -> list[int]:
    """The most that pieces on so many GPUs pay, row + 1 of them at most; any number if the last."""
    prices, capacity = certificate.pieces[row], max(instance.servers)
    pieces = row + 1 if row + 1 < len(certificate.pieces) else most
    best = [0] * (capacity + 1)
    for _ in range(pieces):
        best = [
            max([best[gpus], *(best[gpus - y] + prices[y - 1] for y in range(1, gpus + 1))])
            for gpus in range(capacity + 1)
        ]
    return best


def _dearest_inside(instance: MakespanInstance, certificate: ContentionCertificate) -> list[int]:
    """The most that jobs inside so many GPUs pay, each once."""
    capacity = max(instance.servers)
    best = [0] * (capacity + 1)
    for size, jobs in Counter(job.gpus for job in instance.jobs).items():
        for _ in range(min(jobs, capacity // size)):
            for gpus in range(capacity, size - 1, -1):
                best[gpus] = max(best[gpus], best[gpus - size] + certificate.inside[size - 1])
    return best


def _spread(certificate: ContentionCertificate, widest: int) -> list[list[int]]:
    """By level and GPUs: the least that a job pays a slot in two pieces or more."""
    found = []
    cheapest = [MOST_PRICE] * len(certificate.inside)
    for row in certificate.pieces:
        cheapest = [min(pair) for pair in zip(cheapest, row, strict=True)]
        least = [0]
        for gpus in range(1, widest + 1):
            firsts = enumerate(cheapest[:gpus], start=1)
            least.append(min(price + least[gpus - y] for y, price in firsts))
        several = [0, 0]
        for gpus in range(2, widest + 1):
            firsts = enumerate(cheapest[: gpus - 1], start=1)
            several.append(min(price + least[gpus - y] for y, price in firsts))
        found.append(several)
    return found


def _paid(
    instance: MakespanInstance,
    job: RingJob,
    certificate: ContentionCertificate,
    spread: list[int],
    sigma: int,
) -> float:
    """D_j, in parts of a price."""
    found = []
    fits = job.gpus <= max(instance.servers)  # what does not may take no time inside
    alone = iterations_per_slot(instance, job, 1) if fits else 0.0
    if alone > 0:
        price = certificate.inside[job.gpus - 1] + sigma
        found.append(price * _parts(instance, job, alone, int(alone)))
    servers = fewest_to_span(instance, job)
    speeds = [iterations_per_slot(instance, job, servers, q + 1) for q in range(len(spread))]
    prices = {speed: price + sigma for speed, price in zip(speeds, spread, strict=True) if speed}
    if job.gpus > 1 and prices:
        by_grain = [
            min(prices[speed] * _parts(instance, job, speed, grain) for speed in prices)
            for grain in _grains(instance, job, list(prices))
        ]
        found.append(max(by_grain))
    return min(found)


def _grains(instance: MakespanInstance, job: RingJob, speeds: list[float]) -> set[int]:
    """Iterations that count as one, rounded up, of a slot and of the job: any number will do.

    The slots t_q at speed phi_q are whole, so sum ceil(phi_q / g) t_q >= ceil(F / g).
    """
    if instance.progress == "continuous" or job.iterations > MOST_SLOTS * max(speeds):
        return {1}
    return {1} | {-(-int(speed) // m) for speed in speeds for m in range(1, GRAINS + 1)}


def _parts(instance: MakespanInstance, job: RingJob, speed: float, grain: int) -> float:
    """How long a job runs at a speed, in parts of a slot, counted in grains under "floor"."""
    if instance.progress == "continuous":
        return job.iterations / speed * PARTS
    return -(-job.iterations // grain) * PARTS // -(-int(speed) // grain)
