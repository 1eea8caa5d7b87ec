"""Certificates of makespans by hand: what they prove, and that they prove no more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import optsched
from optsched.library.verify import RefusedError, verify
from oracles import makespan as oracle
from oracles.harness import loaded, proves

ALONE = {"inter_bandwidth": 1.0, "intra_bandwidth": 64.0, "overhead_per_server": 0.0}
ALONE |= {"contention_share": 1.0, "degradation": 1.0, "overhead_on_one_server": True}
"""Two jobs on a link: f = max(1, 2 + 1) = 3."""


def spanning(servers: list[int], progress: str, **jobs: tuple[int, int]) -> dict:
    """Jobs of so many GPUs and iterations, two of them a slot on a link of their own.

    2 m (G - 1) / G = 1/2 s; with another job on the link 3/2 s, longer than the slot.
    """
    drawn: list[dict[str, Any]] = []
    for name, (gpus, iterations) in jobs.items():
        drawn.append({"name": name, "gpus": gpus, "iterations": iterations, "batch_size": 1.0})
        drawn[-1] |= {"forward_time_per_sample": 0.0, "backward_time": 0.0}
        drawn[-1]["gradient_bytes"] = gpus / (gpus - 1) / 4
    return {
        "schema": "optsched/makespan",
        "version": 1,
        "name": "alone",
        "servers": servers,
        "network": ALONE,
        "compute_rate": 1e18,
        "slot": 1.0,
        "progress": progress,
        "horizon": 99,
        "jobs": drawn,
    }


def test_half_a_slot_is_paid_whole(tmp_path: Path) -> None:
    """A job of 5 GPUs has a piece on each of 3 servers for 6 slots, one of 3 GPUs two for 2.

    A price of 1 for a piece that has its server alone, of 0 beside another: then neither job ever
    gets on. Servers take in 3 a slot; 6 x 3 + 2 x 2 = 22 is more than by the end of slot 7, though
    6 x 3 + 1.5 x 2 = 21 would not be. The optimum is 6 + 2 = 8.
    """
    instance = spanning([2, 2, 2], "floor", a=(5, 12), b=(3, 3))
    assert oracle.least_makespan(instance, 20) == 8
    certificate = {"kind": "contention", "pieces": [[1, 1], [0, 0]], "inside": [0, 0]}
    assert verify(instance, {**certificate, "running": {}, "deadline": 7}) == 8
    with pytest.raises(RefusedError):
        verify(instance, {**certificate, "running": {}, "deadline": 8})
    found = optsched.solve(loaded(tmp_path, instance), "longest-first")
    assert found.bound == 8
    assert verify(instance, found.certificate.to_dict()) == 8


def test_a_bound_that_is_met_proves_at_no_gap(tmp_path: Path) -> None:
    """Two jobs of 3 of 4 GPUs, one after the other, 3 iterations of half a slot each: 3 slots."""
    instance = spanning([2, 2], "continuous", a=(3, 3), b=(3, 3))
    result = optsched.solve(loaded(tmp_path, instance), gap=0.0)
    proves(result, 3.0, 0.0)
    assert 3 * (1 - 1e-11) < verify(instance, result.certificate.to_dict()) <= 3
