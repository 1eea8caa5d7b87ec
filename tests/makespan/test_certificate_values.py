"""Certificates worked out by hand: what they prove, by how much they miss, what is malformed."""

from __future__ import annotations

import math
from typing import Any

import pytest

from optsched.checking import Violation
from optsched.makespan.bounds.certificate import ColumnCertificate
from optsched.makespan.check_certificate import check_certificate
from optsched.makespan.instance import MakespanInstance


def instance(
    *durations: tuple[int, float], servers: tuple[int, ...] = (2, 1), progress: str = "floor"
) -> MakespanInstance:
    """Jobs by GPUs and slots in one server; over two servers an iteration takes a second more."""
    whole = progress == "floor"
    jobs = [
        {
            "name": f"{at}", "gpus": gpus, "iterations": int(slots) if whole else 1,
            "gradient_bytes": 0, "batch_size": 0, "forward_time_per_sample": 0,
            "backward_time": 1.0 if whole else slots,
        }
        for at, (gpus, slots) in enumerate(durations)
    ]  # fmt: skip
    return MakespanInstance.from_dict(
        {
            "schema": "optsched/makespan", "version": 1, "name": "by hand", "servers": servers,
            "network": {
                "inter_bandwidth": 1, "intra_bandwidth": 1, "contention_share": 0.5,
                "degradation": 0, "overhead_per_server": 0.5, "overhead_on_one_server": False,
            },
            "compute_rate": 1, "slot": 2.0 if whole else 1.0, "progress": progress,
            "horizon": 1000, "jobs": jobs,
        }
    )  # fmt: skip


def missing(
    made: MakespanInstance, prices: tuple[int, ...], deadline: float, resolution: int
) -> int | None:
    """By how much the prices miss; None where they prove the deadline too short."""
    found = check_certificate(made, ColumnCertificate(deadline, resolution, prices))
    if not found:
        return None
    (violation,) = found
    assert violation == Violation("certificate", "sum G y > sum N z", "prices", violation.amount)
    assert isinstance(violation.amount, int)
    return violation.amount


THREE = ((1, 6.0), (2, 4.0), (1, 8.0))
"""3, 2 and 4 slots inside a server, two iterations per slot; the second spans in 4 slots."""


@pytest.mark.parametrize(
    ("prices", "deadline", "amount"),
    [
        # the second, worth most, on each of the three GPUs: 3 * 5 against 3 + 2 * 5 + 4
        ((3, 5, 4), 4, None),
        ((2, 5, 3), 4, 0),
        ((1, 5, 2), 4, 2),
        # first and second fit a GPU of the larger server, not one of the other: 2 * 8 + 5
        ((3, 5, 4), 5, 4),
        # within 3 slots the third fits nowhere and the second not the smaller: 2 * 5 + 3 for 17
        ((3, 5, 4), 3, None),
        ((3, 5, 0), 3, 0),
        ((1, 0, 0), 4, 2),
    ],
)
def test_prices_in_whole_slots(prices: tuple[int, ...], deadline: int, amount: int | None) -> None:
    assert missing(instance(*THREE), prices, deadline, deadline) == amount


def test_equal_servers_offer_together() -> None:
    """Two servers of two GPUs, each worth the job's price: 4 against 1."""
    made = instance((1, 6.0), servers=(2, 2))
    assert missing(made, (1,), 4, 4) == 3


@pytest.mark.parametrize(
    ("slots", "resolution", "worth"),
    [
        ((4.0, 4.0), 4, 7),  # 8 slots: twice floor(4 * 4 / 8) less a hair, 1: both fit
        ((8.0, 4.0), 4, 7),  # 3 and 1
        ((8.0, 8.0), 4, 5),  # 3 and 3: the dearer alone
        ((1.0, 8.0), 4, 7),  # 0 is always there
        ((8.0, 6.0), 1, 7),  # nothing counts
        ((9.0, 8.0), 4, 2),  # too long for the deadline
        ((8.8, 8.0), 4, 2),
        ((6.1, 4.1), 4, 5),  # 3 and 2
        ((6.1, 1.9), 4, 7),  # 3 and 0
    ],
)
def test_durations_count_in_parts_of_the_deadline(
    slots: tuple[float, float], resolution: int, worth: int
) -> None:
    """Prices 5 and 2 on each of four GPUs, by a deadline of 8 slots: asked 7."""
    made = instance(*((1, length) for length in slots), servers=(4,), progress="continuous")
    assert missing(made, (5, 2), 8, resolution) == 4 * worth - 7


@pytest.mark.parametrize(
    ("length", "fits"),
    [
        (1.0, True),
        (1 + 0.5e-12, True),
        (1 + 1.5e-12, False),
        (1 / (1 - 1e-12), True),
    ],
)
def test_a_hair_over_the_deadline_is_rounding(length: float, fits: bool) -> None:
    """Else a rounding would prove that the job does not end in time."""
    made = instance((1, length), servers=(1,), progress="continuous")
    assert missing(made, (3,), 1.0, 10) == (0 if fits else None)


def test_exactly_a_hair_over_fits() -> None:
    made = instance((1, 2.0), servers=(1,), progress="continuous")
    assert missing(made, (3,), 2.0 * (1 - 1e-12), 10) == 0
    assert missing(made, (3,), math.nextafter(2.0 * (1 - 1e-12), 0), 10) is None


@pytest.mark.parametrize(
    ("update", "fault"),
    [
        ({"prices": (1,)}, "1 prices for 2 jobs"),
        ({"prices": (1, 1, 1)}, "3 prices for 2 jobs"),
        ({"prices": (1, -1)}, "prices that are no integers in range"),
        ({"prices": (1, 10**6 + 1)}, "prices that are no integers in range"),
        ({"prices": (1.0, 1)}, "prices that are no integers in range"),
        ({"resolution": 0}, "the deadline or the resolution"),
        ({"resolution": -1}, "the deadline or the resolution"),
        ({"resolution": 4001}, "the deadline or the resolution"),
        ({"deadline": 0}, "the deadline or the resolution"),
        ({"deadline": -1}, "the deadline or the resolution"),
        ({"deadline": math.nan}, "the deadline or the resolution"),
        ({"deadline": 4.5}, "a deadline between slots"),
    ],
)
def test_malformed(update: dict[str, Any], fault: str) -> None:
    certificate = ColumnCertificate(**{"deadline": 4, "resolution": 4, "prices": (1, 1), **update})
    found = check_certificate(instance((1, 2.0), (1, 4.0)), certificate)
    assert found == [Violation("certificate", "bounds", fault, 1)]


def test_the_ends_of_every_range() -> None:
    """Both jobs end within a slot, and within half of one where slots can be parted."""
    made = instance((1, 2.0), (1, 2.0), servers=(2,))
    assert missing(made, (10**6, 0), 1, 4000) == 10**6
    assert missing(made, (1, 1), 1, 1) == 0
    parted = instance((1, 0.25), (1, 0.5), servers=(1,), progress="continuous")
    assert missing(parted, (1, 1), 0.5, 1) == 0
    assert missing(parted, (1, 1), 0.5, 2) == 0
    assert missing(parted, (1, 1), 0.4, 8) is None
