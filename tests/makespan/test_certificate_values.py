"""Certificates worked out by hand: what they prove, by how much they miss, what is malformed."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from makespan.small import job
from oracles.makespan_cases import document

from optsched.library.verify import verify
from optsched.makespan.bounds.certificate import (
    Certificate,
    ColumnCertificate,
    ContentionCertificate,
)
from optsched.makespan.instance import MakespanInstance
from optsched.verbs.judging import certificate_violations


def instance(
    *durations: tuple[int, float], servers: tuple[int, ...] = (2, 1), progress: str = "floor"
) -> MakespanInstance:
    """Jobs by GPUs and slots in one server; over two servers an iteration takes a second more."""
    whole = progress == "floor"
    jobs = [job(gpus, int(slots)) if whole else job(gpus, 1, slots) for gpus, slots in durations]
    network = {"contention_share": 0.5, "overhead_per_server": 0.5}
    return made_of(servers, network, jobs, slot=2.0 if whole else 1.0, progress=progress)


def made_of(servers: Sequence[int], network: dict, jobs: list[dict], **more: Any) -> Any:
    usual = {"inter_bandwidth": 1, "intra_bandwidth": 1}
    usual |= {"degradation": 0, "overhead_on_one_server": False}
    more = {"compute_rate": 1, "horizon": 1000, **more}
    return MakespanInstance.from_dict(
        document("by hand", list(servers), {**usual, **network}, jobs, **more)
    )


def lacking(made: MakespanInstance, certificate: Certificate) -> float | None:
    """By how much the prices miss; None where they prove the deadline too short."""
    found = certificate_violations(made, certificate)
    if not found:
        return None
    (violation,) = found
    said = {
        ColumnCertificate: "the jobs weigh ",
        ContentionCertificate: "the jobs pay no more than the servers can earn",
    }
    assert violation.where.startswith(said[type(certificate)])
    return violation.amount


def missing(made: MakespanInstance, prices: Any, deadline: float, resolution: int) -> float | None:
    return lacking(made, ColumnCertificate(deadline, resolution, prices))


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
def test_durations_in_parts_of_deadlines(
    slots: tuple[float, float], resolution: int, worth: int
) -> None:
    """Prices 5 and 2 on each of four GPUs, by a deadline of 8 slots: asked 7."""
    made = instance(*((1, length) for length in slots), servers=(4,), progress="continuous")
    assert missing(made, (5, 2), 8, resolution) == 4 * worth - 7


@pytest.mark.parametrize(
    ("length", "deadline", "fits"),
    [
        (1.0, 1.0, True),
        (1 + 0.5e-12, 1.0, True),
        (1 + 1.5e-12, 1.0, False),
        (1 / (1 - 1e-12), 1.0, True),
        (2.0, 2.0 * (1 - 1e-12), True),  # just a hair
        (2.0, math.nextafter(2.0 * (1 - 1e-12), 0), False),
    ],
)
def test_a_hair_over_the_deadline_is_rounding(length: float, deadline: float, fits: bool) -> None:
    """Else a rounding would prove that the job does not end in time."""
    made = instance((1, length), servers=(1,), progress="continuous")
    assert missing(made, (3,), deadline, 10) == (0 if fits else None)


def test_the_ends_of_every_range() -> None:
    """Both jobs end within a slot, and within half of one where slots can be parted."""
    made = instance((1, 2.0), (1, 2.0), servers=(2,))
    assert missing(made, (10**6, 0), 1, 4000) == 10**6
    assert missing(made, (1, 1), 1, 1) == 0
    parted = instance((1, 0.25), (1, 0.5), servers=(1,), progress="continuous")
    assert missing(parted, (1, 1), 0.5, 1) == 0
    assert missing(parted, (1, 1), 0.5, 2) == 0
    assert missing(parted, (1, 1), 0.4, 8) is None


def sharing(
    *jobs: tuple[int, int],
    servers: tuple[int, ...] = (2, 2),
    progress: str = "floor",
    slot: float = 6.0,
    intra: float = 1e18,
) -> MakespanInstance:
    """Jobs by GPUs and iterations: one takes a second, and across servers one more for each job on
    the link. So in a slot of six seconds 6 inside, and 3, 2, 1.5 or 1.2 with 1, 2, 3 or 4 on it."""
    rows = [
        job(gpus, iterations, gradient_bytes=gpus / (2 * (gpus - 1)) if gpus > 1 else 0)
        for gpus, iterations in jobs
    ]
    network = {"contention_share": 1, "overhead_per_server": 0, "intra_bandwidth": intra}
    return made_of(servers, network, rows, slot=slot, progress=progress, compute_rate=1e18)


TWO = ((3, 6), (2, 12))
"""Servers of 2: the first spans, in 2 or 3 slots; the second takes 2 inside, 4 or 6 across."""


@pytest.mark.parametrize(
    ("pieces", "inside", "running", "deadline", "amount"),
    [
        # a server takes 2 at most: one piece, two of one GPU, or the second job inside;
        # the first pays 2 + 2 in 2 slots (or 1 + 2 in 3), the second 2 in 2 slots
        (((2, 2), (1, 2)), (0, 2), {}, 3, 0),
        (((2, 2), (1, 2)), (0, 2), {}, 2, None),
        # the first pays one more each slot, and the cluster takes it
        (((2, 2), (1, 2)), (0, 2), {0: 1}, 3, 1),
        (((2, 2), (1, 2)), (0, 2), {1: 3}, 3, 3 * 7 - 8 - 10),
        # level 2 is the cheaper for the first: 1 + 1 in 3 slots; the second 1 in 2 slots
        (((9, 9), (1, 1)), (0, 1), {}, 1, 1 * 18 - 6 - 2),
        # either level: 1 + 2 in 2 slots, or 1 + 1 in 3
        (((1, 2), (1, 1)), (0, 1), {}, 2, 2 * 4 - 6 - 2),
        # links are free, and both may span
        (((0, 0), (0, 0)), (5, 5), {}, 1, 2 * 5),
        (((0, 0), (0, 0)), (5, 5), {}, 2, 2 * 2 * 5),
        # the first in three pieces of one, the second in two
        (((1, 5), (1, 5)), (0, 9), {}, 2, 2 * 2 * 9 - 3 * 2 - 2 * 4),
        # spanning is the cheaper for the second: 2 in 4 slots
        (((1, 1), (9, 9)), (0, 7), {}, 1, 2 * 18 - 2 * 2 - 8),
        # one price for any number of pieces, two at most, all at the speed of one
        (((2, 3),), (0, 0), {}, 1, None),
        (((2, 3),), (0, 0), {}, 2, 2 * 8 - 5 * 2),
    ],
)
def test_prices_of_links(
    pieces: tuple[tuple[int, ...], ...],
    inside: tuple[int, ...],
    running: dict[int, int],
    deadline: int,
    amount: float | None,
) -> None:
    certificate = ContentionCertificate(deadline, pieces, inside, running)
    assert lacking(sharing(*TWO), certificate) == amount


@pytest.mark.parametrize(
    ("rows", "with_inside", "pieces_alone"),
    [
        # two pieces and both jobs; three pieces
        (((7, 7, 7, 7), (4, 4, 4, 4), (3, 3, 3, 3)), 8 + 6, 9),
        # the last row is for three as well
        (((7, 7, 7, 7), (4, 4, 4, 4)), 12 + 3, 12),
        # and a fourth for no more than the three there are
        (((7, 7, 7, 7), (4, 4, 4, 4), (3, 3, 3, 3), (9, 0, 0, 0)), 27 + 3, 27),
        # a piece of three and a job; one of four, or of three and of one
        (((1, 1, 1, 9), (1, 2, 8, 1), (0, 0, 0, 0)), 8 + 3, 9),
        (((1, 1, 1, 1), (1, 5, 8, 1), (0, 0, 0, 0)), 8 + 3, 5 + 5),
        # two pieces of one and both jobs
        (((1, 1, 1, 1), (3, 5, 8, 1), (0, 0, 0, 0)), 6 + 6, 8 + 3),
        (((0, 2, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0)), 2 + 6, 2),
    ],
)
def test_what_servers_of_four_take_in(
    rows: tuple[tuple[int, ...], ...], with_inside: int, pieces_alone: int
) -> None:
    """Three jobs of two GPUs pay nothing inside; two of one pay 3 each, for 2 slots, or nothing."""
    made = sharing((2, 3), (2, 3), (2, 3), (1, 12), (1, 12), servers=(4, 4))
    certificate = ContentionCertificate(10, rows, (3, 0, 0, 0), {})
    assert lacking(made, certificate) == 10 * 2 * with_inside - 2 * 2 * 3
    free = replace(certificate, inside=(0, 0, 0, 0))
    assert lacking(made, free) == 10 * 2 * pieces_alone


@pytest.mark.parametrize(
    ("slot", "iterations", "first", "second", "paid"),
    [
        (6, 7, 1, 9, 2 * 3),  # three slots, not 7 / 3
        (6, 191, 1, 9, 2 * 64),
        (6, 193, 1, 9, 2 * 193 / 3),  # so long that parts of slots will do
        (10, 320, 10, 1, 2 * 107),  # 107 slots at level 2; not longer than 64 at level 1
        (6, 7, 2, 1, 8),  # four slots at level 2, or one and two at level 1
        (6, 8, 2, 1, 8),
        (12, 6, 5, 2, 8),  # two slots at level 2
        (12, 11, 6, 4, 24),  # two at level 1, or three at level 2
        (50, 43, 7, 4, 22),  # what an eighth of a slot's iterations show, a sixth do not
        (53, 117, 8, 7, 72),  # a ninth would show more
        (33, 66, 3, 2, 24),  # and iterations one by one
    ],
)
def test_slots_across(slot: int, iterations: int, first: int, second: int, paid: float) -> None:
    """Two pieces of one GPU each, at these prices; the other job takes one slot."""
    made = sharing((2, iterations), (2, 1), slot=slot)
    rows = ((first, 9), (second, 9))
    (violation,) = certificate_violations(made, ContentionCertificate(9, rows, (0, 99), {}))
    assert violation.amount == pytest.approx(9 * 2 * 99 - 2 * min(first, second) - paid, rel=1e-12)


@pytest.mark.parametrize(
    ("made", "certificate", "amount"),
    [
        # two equal servers of two GPUs, each worth the job's price: 4 against 1
        (instance((1, 6.0), servers=(2, 2)), ColumnCertificate(4, 4, (1,)), 3),
        # jobs of one GPU, at 3 each, stand in a server as often as there are jobs, of two at 5 once
        *(
            (
                sharing((1, 6), (1, 6), (2, 6), servers=(size,)),
                ContentionCertificate(4, (), (3, 5, 0, 0, 0, 0, 0, 0)[:size], {}),
                4 * taken - 11,
            )
            for size, taken in ((4, 11), (8, 11), (2, 6), (3, 8))
        ),
        # servers of other sizes take in other sums
        (
            sharing((1, 6), (1, 6), (1, 6), (2, 6), servers=(1, 2, 2)),
            ContentionCertificate(2, ((0, 0),), (3, 8), {}),
            2 * (3 + 8 + 8) - 3 * 3,
        ),
        # a job that makes no progress inside pays across
        (
            sharing((2, 3), (2, 3), intra=0.1),
            ContentionCertificate(1, ((2, 9), (2, 9)), (0, 1), {}),
            2 * 9 - 2 * 2 * 2,
        ),
        # three jobs of two GPUs: the server of four takes in two pieces and one of them, at most
        (
            sharing((2, 6), (2, 6), (2, 6), servers=(1, 4)),
            ContentionCertificate(1, ((5, 5, 5, 5),), (0, 7, 0, 0), {}),
            5 + (5 + 5 + 7) - 3 * 7,
        ),
        # seven iterations inside take two slots, whatever a slot across costs
        (
            sharing((2, 7), (2, 1)),
            ContentionCertificate(1, ((9, 9), (9, 9)), (0, 5), {}),
            2 * 18 - 5 * 2 - 5,
        ),
    ],
)
def test_what_all_take_in(made: MakespanInstance, certificate: Certificate, amount: float) -> None:
    assert lacking(made, certificate) == amount


def test_a_job_that_would_take_no_time_inside_but_fits_nowhere() -> None:
    """Three GPUs on servers of two; an iteration costs the overhead of two servers alone."""
    document = sharing((3, 12), (3, 12)).to_dict()
    document["network"].update(overhead_per_server=1.0, inter_bandwidth=1e18)
    for each in document["jobs"]:
        each.update(gradient_bytes=0, backward_time=0)
    made = MakespanInstance.from_dict(document)
    certificate = ContentionCertificate(5, ((1, 2), (1, 2)), (0, 0), {})
    assert lacking(made, certificate) is None  # both pay 1 + 2 in four slots
    assert lacking(made, replace(certificate, deadline=6)) == 6 * 4 - 2 * 3 * 4


@pytest.mark.parametrize("deadline", [1.9, 2.0 - 1e-11, 2.0 - 1e-13, 2.0, 2.1])
def test_prices_under_continuous_progress(deadline: float) -> None:
    """Four iterations take 4 / 3 slots at 1 + 2 or 2 slots at 1 + 1; both servers take in 2."""
    made = sharing((3, 4), (3, 4), progress="continuous", servers=(2, 2))
    certificate = ContentionCertificate(deadline, ((1, 2), (1, 1)), (0, 0), {})
    assert (lacking(made, certificate) is None) == (deadline < 2.0 * (1 - 1e-12))


APART = ContentionCertificate(2, ((1,), (1,)), (0,), {})
"""Two servers of one GPU, both worth 1 a slot; a job on both pays 2 in each of its slots."""
SEVEN = sharing((2, 7), servers=(1, 1), progress="continuous")


@pytest.mark.parametrize(
    ("made", "certificate", "bound"),
    [
        (instance((1, 6.0)), ColumnCertificate(2, 2, (1,)), 3),
        (instance((1, 6.0), progress="continuous"), ColumnCertificate(5.5, 10, (1,)), 5.5),
        # seven iterations at 3 a slot: 3 whole slots, or 7 / 3
        (sharing((2, 7), servers=(1, 1)), APART, 3),
        (SEVEN, replace(APART, deadline=2.3), 2.3),
        # at 2 a slot it would pay 7; it pays the least, and 2.6 slots are worth 5.2
        (SEVEN, replace(APART, deadline=2.6), None),
    ],
)
def test_the_bound(made: MakespanInstance, certificate: Certificate, bound: float | None) -> None:
    if bound is None:
        assert lacking(made, certificate) == pytest.approx(2 * 2.6 - 2 * 7 / 3)
    else:
        assert verify(made.to_dict(), certificate.to_dict()) == bound


COLUMNS = (instance((1, 2.0), (1, 4.0)), ColumnCertificate(4, 4, (1, 1)))
LINKS = (sharing(*TWO), ContentionCertificate(1, ((1, 1), (1, 1)), (1, 1), {0: 1}))
ALONE = (sharing((3, 6), servers=(1, 2)), ContentionCertificate(1, ((1, 1),), (1, 1), {}))


@pytest.mark.parametrize(
    ("valid", "update", "fault"),
    [
        (COLUMNS, {"prices": (1,)}, "1 prices, expected 2"),
        (COLUMNS, {"prices": (1, 1, 1)}, "3 prices, expected 2"),
        (COLUMNS, {"prices": (1, -1)}, "prices out of range: -1"),
        (COLUMNS, {"prices": (1, 10**9 + 1)}, "not whole numbers up to"),
        (COLUMNS, {"prices": (1.0, 1)}, "not whole numbers up to"),
        (COLUMNS, {"resolution": 0}, "the deadline or the resolution"),
        (COLUMNS, {"resolution": -1}, "the deadline or the resolution"),
        (COLUMNS, {"resolution": 4001}, "the deadline or the resolution"),
        (COLUMNS, {"deadline": 0}, "the deadline or the resolution"),
        (COLUMNS, {"deadline": -1}, "the deadline or the resolution"),
        (COLUMNS, {"deadline": math.nan}, "the deadline or the resolution"),
        (COLUMNS, {"deadline": 4.5}, "a deadline between slots"),
        (LINKS, {"pieces": ((1,), (1, 1))}, "1 prices of pieces, expected 2"),
        (LINKS, {"inside": (1,)}, "1 prices inside, expected 2"),
        (LINKS, {"inside": (1, 1, 1)}, "3 prices inside, expected 2"),
        (LINKS, {"pieces": ()}, "no prices of pieces"),
        (LINKS, {"running": {2: 1}}, "a price of running for job 2 of 2"),
        (LINKS, {"running": {-1: 1}}, "a price of running for job -1 of 2"),
        (LINKS, {"running": {0: -1}}, "prices of running out of range: -1"),
        (LINKS, {"inside": (0, 1.0)}, "prices inside that are not whole numbers"),
        (LINKS, {"inside": (0, 10**9 + 1)}, "prices inside that are not whole numbers"),
        (LINKS, {"pieces": ((1, -1), (0, 0))}, "prices of pieces out of range: -1"),
        (LINKS, {"deadline": 0}, "the deadline"),
        (LINKS, {"deadline": math.nan}, "the deadline"),
        (LINKS, {"deadline": math.inf}, "the deadline"),
        (LINKS, {"deadline": 1.5}, "the deadline 1.5"),
        (ALONE, {"inside": (1,)}, "1 prices inside, expected 2"),
        (ALONE, {"pieces": ()}, "no prices of pieces"),
    ],
)
def test_malformed(
    valid: tuple[MakespanInstance, Certificate], update: dict[str, Any], fault: str
) -> None:
    (violation,) = certificate_violations(valid[0], replace(valid[1], **update))
    assert violation.rule == "certificate"
    assert fault in violation.where


def test_the_ends_of_the_ranges_of_prices() -> None:
    certificate = ContentionCertificate(1, ((0, 10**6), (0, 0)), (10**6, 0), {0: 10**6, 1: 0})
    assert "bounds" not in {v.equation for v in certificate_violations(sharing(*TWO), certificate)}
