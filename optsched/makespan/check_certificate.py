"""The checker of bounds: whether a certificate really shows that no schedule meets its deadline.

Trusts no solver: durations come from (6)-(9) again, the knapsacks are solved anew in int64. Shares
no code with the methods.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from optsched.checking import Violation
from optsched.makespan.bounds.certificate import MOST_PRICE, MOST_RESOLUTION, ColumnCertificate
from optsched.makespan.check import slots_alone
from optsched.makespan.instance import MakespanInstance

ROUNDING = 1 - 1e-12
"""Durations count for a hair less under continuous progress, so that rounding proves nothing."""


def check_certificate(
    instance: MakespanInstance,
    certificate: ColumnCertificate,
    options: Mapping[str, Any] | None = None,
) -> list[Violation]:
    """Violations of the rule "certificate": none when it proves that every makespan exceeds T.

    It holds whatever the options, which are readings of SJF-BCO.

    On a GPU of a server of capacity c, job j takes at least d_jc slots. With prices y and z_c, the
    most that jobs of sum d_jc <= T are worth, sum G_j y_j > sum N_c z_c shows there is no way to
    give every job its G_j GPUs within T.
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
