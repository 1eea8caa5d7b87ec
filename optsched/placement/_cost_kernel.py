"""The compiled part of the cost tables: the terms that `optsched.placement.cost` sets out."""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit, njit_borrowing

FORWARD, BACKWARD, RECEIVED, SENT, SLICES, EXPERTS, PARAMETERS = range(7)
"""Columns of stages: p^f and c_b p^b in seconds; d^in, d^out, c, e and h in bytes."""


@njit_borrowing
def slices_time(q: int, sent: float, intra_bandwidth: float) -> float:
    """Seconds that the q slices of a replica all-reduce bytes among themselves, in a ring."""
    return 2.0 * (q - 1) / q * sent / intra_bandwidth


@njit(cache=True)
def stage_terms(stages: Any, k: Any, q: Any, hardware: Any) -> Any:
    """Seconds of each stage with no neighbour and every one on its server, and a_s and b_s."""
    gpus_per_server, inter_bandwidth, intra_bandwidth = hardware
    count = len(k)
    fixed, inside = np.empty(count), np.empty(count)
    before, after = np.empty(count), np.empty(count)
    near = 1.0 / intra_bandwidth
    for s in range(count):
        away = gpus_per_server / inter_bandwidth / q[s]
        received, sent = 2.0 * stages[s, RECEIVED], 2.0 * stages[s, SENT]
        beyond = 0.0  # what goes to no stage is never inside
        if s == 0:
            beyond += received * away
            received = 0.0
        if s == count - 1:
            beyond += sent * away
            sent = 0.0
        own = stages[s, FORWARD] + stages[s, BACKWARD]
        own = own + slices_time(q[s], stages[s, SLICES], intra_bandwidth) + beyond
        fixed[s] = own + (received + sent) * away
        inside[s] = own + (received + sent) * near
        before[s] = received * (away - near) / k[s - 1]
        after[s] = sent * (away - near) / k[(s + 1) % count]
    return fixed, inside, before, after


@njit(cache=True)
def count_terms(stages: Any, k: Any, q: Any, hardware: Any, most: int, overlap: float) -> Any:
    """Seconds of experts and of all-reduce of v replicas on a server, each (S, most + 1)."""
    gpus_per_server, inter_bandwidth, intra_bandwidth = hardware
    experts = np.zeros((len(k), most + 1))
    all_reduce = np.zeros((len(k), most + 1))
    near = 1.0 / intra_bandwidth
    for s in range(len(k)):
        away = gpus_per_server / inter_bandwidth / q[s]
        each = stages[s, EXPERTS] / k[s]
        volume = overlap * 2.0 * (k[s] - 1) / k[s] * stages[s, PARAMETERS]
        for v in range(1, most + 1):
            if v > k[s]:
                all_reduce[s, v] = np.inf
                continue
            experts[s, v] = each * away * (k[s] - v) + each * near * (v - 1)
            bandwidth = v * q[s] * inter_bandwidth / gpus_per_server
            if v == k[s]:
                bandwidth = q[s] * intra_bandwidth
            all_reduce[s, v] = volume / bandwidth
    return experts, all_reduce
