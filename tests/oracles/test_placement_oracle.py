"""The oracle of placements against values by hand, a simulation and every way to seat replicas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from oracles import placement as oracle
from oracles import placement_cases as cases
from oracles.harness import batches, case_named_on_failure, close, seed_of_the_day
from oracles.placement_worked import TOO_ODD, WORKED, Worked, job, stage

MOST_SEATINGS = 20_000
"""Ways to seat replicas, one by one, that a test goes through."""


@pytest.mark.parametrize("worked", WORKED, ids=lambda worked: worked.name)
def test_values_worked_by_hand(worked: Worked) -> None:
    assert oracle.alpha(worked.instance, worked.counts, {}) == worked.alpha
    assert oracle.optimum(worked.instance, {}) == worked.optimum


@pytest.mark.parametrize("instance", TOO_ODD, ids=lambda instance: str(instance["free_gpus"]))
def test_offers_that_hold_no_placement(instance: dict) -> None:
    assert oracle.optimum(instance, {}) is None


def test_five_gpus_hold_two_pairs() -> None:
    instance = job([3, 2], stage(2, 1, 2, tensor_parallel=2))
    assert oracle.tables(instance).tolist() == [[[1, 1]]]
    assert oracle.broken_rule(instance, [[1, 1]]) is None
    assert oracle.broken_rule(instance, [[2, 0]]) == "capacity"


@pytest.mark.parametrize("numbers", batches(nightly=1904, default=112, size=112))
def test_the_oracle_against_a_simulation(numbers: range) -> None:
    counts: Counter[str] = Counter()
    for number in numbers:
        case = cases.draw("extended", seed_of_the_day(), number)
        with case_named_on_failure(
            seed_of_the_day(), number, {**case.instance, "options": case.options}
        ):
            _compare(case, counts)
    assert counts["seated"] >= 0.5 * len(numbers)
    assert 0.05 * len(numbers) <= counts["no table"] <= 0.4 * len(numbers)


def _compare(case: cases.Case, counts: Counter[str]) -> None:
    """One case: the tables themselves, and the times of some of them."""
    instance, tables = case.instance, oracle.tables(case.instance)
    counts["no table"] += not len(tables)
    seated = _tables_seat_by_seat(instance)
    if seated is not None:
        assert seated == {tuple(map(tuple, table)) for table in tables.tolist()}
        assert len(seated) == len(tables)
        counts["seated"] += 1
    for at in case.rng.integers(0, max(len(tables), 1), min(len(tables), 3)):
        table = tables[at].tolist()
        assert oracle.broken_rule(instance, table) is None
        found = oracle.alpha(instance, table, case.options)
        expected = float(_simulated(instance, table, case.options))
        assert close(found, expected, 1e-12), f"{table}: {found}, simulated {expected}"


def _tables_seat_by_seat(instance: dict) -> set[tuple[tuple[int, ...], ...]] | None:
    """Tables found by giving every replica a server of its own choice; None if too many ways."""
    stages, free = instance["job"]["stages"], instance["free_gpus"]
    members = [s for s, one in enumerate(stages) for _ in range(one["replicas"])]
    if len(free) ** len(members) > MOST_SEATINGS:
        return None
    found = set()
    for seats in product(range(len(free)), repeat=len(members)):
        left = list(free)
        table = [[0] * len(free) for _ in stages]
        for s, m in zip(members, seats, strict=True):
            left[m] -= stages[s].get("tensor_parallel", 1)
            table[s][m] += 1
        if min(left) >= 0:
            found.add(tuple(map(tuple, table)))
    return found


def _simulated(instance: dict, table: list[list[int]], options: Mapping[str, Any]) -> Fraction:
    """alpha, replica by replica and micro-batch by micro-batch, without rounding."""
    options = {**oracle.DEFAULTS, **options}
    stages, parts = instance["job"]["stages"], instance["job"].get("micro_batches")
    seats = [[m for m, x in enumerate(row) for _ in range(x)] for row in table]
    works, reduces = [], []
    for s in range(len(stages)):
        works.append([_work(instance, seats, s, i, options) for i in range(len(seats[s]))])
        reduces.append([_reduce(instance, seats, s, i, options) for i in range(len(seats[s]))])
    if parts is None:
        return max(
            work + reduce
            for at_work, reducing in zip(works, reduces, strict=True)
            for work, reduce in zip(at_work, reducing, strict=True)
        )
    done = [Fraction(0)] * (len(stages) + 1)
    for _ in range(parts):
        for s, work in enumerate(works):
            done[s + 1] = max(done[s], done[s + 1]) + max(work) / parts
    last_backward = done[-1]
    ends = []
    for one, reduce in zip(stages, reduces, strict=True):
        ends.append(last_backward + max(reduce))
        last_backward -= (
            Fraction(options["backward_overlap"]) * Fraction(one["backward_time"]) / parts
        )
    return max(ends)


def _work(
    instance: dict, seats: list[list[int]], s: int, i: int, options: Mapping[str, Any]
) -> Fraction:
    """Time of replica ``i`` of stage ``s`` but for its all-reduce: message by message."""
    stages = instance["job"]["stages"]
    one = {key: Fraction(value) for key, value in stages[s].items() if key != "name"}
    inside = Fraction(instance["cluster"]["intra_bandwidth"])
    # a server's NIC is shared by its GPUs, and a replica has the parts of all of its slices
    slices = one.get("tensor_parallel", Fraction(1))
    nic = Fraction(instance["cluster"]["inter_bandwidth"])
    outside = nic / instance["cluster"]["gpus_per_server"] * slices
    time = one["forward_time"] + Fraction(options["backward_overlap"]) * one["backward_time"]
    ring_of_slices = sum(2 * one.get("tensor_bytes", 0) / slices for _ in range(int(slices) - 1))
    time += ring_of_slices / inside
    messages = []
    for other, key in ((s - 1, "input_bytes"), (s + 1, "output_bytes")):
        if 0 <= other < len(stages):
            messages += [(seat, 2 * one[key] / len(seats[other])) for seat in seats[other]]
    peers = seats[s][:i] + seats[s][i + 1 :]
    messages += [(seat, one.get("expert_bytes", Fraction(0)) / len(seats[s])) for seat in peers]
    return time + sum(
        size / (inside if seat == seats[s][i] else outside) for seat, size in messages
    )


def _reduce(
    instance: dict, seats: list[list[int]], s: int, i: int, options: Mapping[str, Any]
) -> Fraction:
    """Time of the all-reduce of replica ``i`` of stage ``s``, its parameters cut into slices."""
    one, k = instance["job"]["stages"][s], len(seats[s])
    cluster = instance["cluster"]
    there = Counter(seats[s])
    slice_bytes = Fraction(one["parameter_bytes"]) / one.get("tensor_parallel", 1)
    if len(there) == 1:
        bandwidth = Fraction(cluster["intra_bandwidth"])
    else:
        own = options["all_reduce_bandwidth"] == "own"
        count = there[seats[s][i]] if own else min(there.values())
        bandwidth = Fraction(cluster["inter_bandwidth"]) * count / cluster["gpus_per_server"]
    sent = slice_bytes * 2 * (k - 1) / k
    return Fraction(options["all_reduce_overlap"]) * sent / bandwidth


@pytest.mark.parametrize("number", range(len(cases.COMBINATIONS)))
def test_every_combination_is_drawn(number: int) -> None:
    job = cases.draw("extended", seed_of_the_day(), number).instance["job"]
    drawn = (
        job.get("micro_batches"),
        any(one.get("tensor_parallel", 1) > 1 for one in job["stages"]),
        any(one.get("tensor_bytes", 0) > 0 for one in job["stages"]),
        any(one.get("expert_bytes", 0) > 0 for one in job["stages"]),
    )
    assert drawn == cases.COMBINATIONS[number]
