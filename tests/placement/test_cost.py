"""The cost tables worked out by hand: every entry, both readings, capped and rounded down."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from placement import by_hand

from optsched.placement.cost import (
    CostTables,
    iteration_time,
    placement_time,
    tables_of,
    time_matrix,
    worst_iteration_time,
)
from optsched.placement.heuristics.repartition import improve
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import STANDARD, PlacementOptions
from optsched.result import Settings

INF = np.inf
INSTANCE = by_hand.instance()


def same(found: Any, expected: Any) -> bool:
    return np.asarray(found) == pytest.approx(np.asarray(expected, dtype=float), rel=1e-12, abs=0)


def tables(**options: Any) -> CostTables:
    return tables_of(INSTANCE, PlacementOptions.from_dict(options))


def test_every_table() -> None:
    """A byte costs 2 s over the NIC's share and 1/8 s inside, so that 15/8 s can be saved.

    Bytes sent, both ways: 12 | 8, 4 | 12; by the neighbours' replicas 2, 3, 1.
    """
    made = tables()
    assert made.replicas.tolist() == [2, 3, 1]
    assert same(made.remote_time, [1.5 + 24, 2.25 + 24, 7 + 24])
    assert same(made.colocated_time, [1.5 + 1.5, 2.25 + 1.5, 7 + 1.5])
    assert same(made.all_reduce, [[0, 6, 3 / 8, INF], [0, 16, 8, 1], [0, 0, INF, INF]])
    assert same(made.saving_previous, [0, 8 * 1.875 / 2, 12 * 1.875 / 3])
    assert same(made.saving_next, [12 * 1.875 / 3, 4 * 1.875, 0])
    assert made.savings_are_positive
    assert same(made.base, made.remote_time[:, None] + made.all_reduce)
    near, before, after, replicas, gpus = made.costs
    assert gpus.tolist() == [1, 1, 1]
    assert same(near, [[3, 9, 3.375, INF], [3.75, 19.75, 11.75, 4.75], [8.5, 8.5, INF, INF]])
    assert before is made.saving_previous
    assert after is made.saving_next
    assert replicas is made.replicas


def test_overlaps_scale_backward_and_all_reduce() -> None:
    made = tables(**by_hand.OVERLAPPED)
    assert same(made.remote_time, [1.25 + 24, 2.125 + 24, 5 + 24])
    assert same(made.colocated_time, [1.25 + 1.5, 2.125 + 1.5, 5 + 1.5])
    assert same(made.all_reduce, [[0, 1.5, 3 / 32, INF], [0, 4, 2, 0.25], [0, 0, INF, INF]])


def test_savings_are_not_positive_where_the_inside_is_slower() -> None:
    """With 1/4 B/s inside a byte costs 4 s there, 2 s more than over the NIC's share."""
    document = by_hand.document()
    document["cluster"]["intra_bandwidth"] = 0.25
    made = tables_of(PlacementInstance.from_dict(document))
    assert same(made.saving_previous, [0, -8, -8])
    assert same(made.saving_next, [-8, -8, 0])
    assert not made.savings_are_positive
    assert made.capped(1.0) is made
    for one in ({"saving_previous": -made.saving_previous}, {"saving_next": -made.saving_next}):
        assert not replace(made, **one).savings_are_positive
    some, none = np.array([0.0, -1.0, 1.0]), np.zeros(3)
    for before, after in ((some, none), (none, some), (none, none)):
        mixed = replace(made, saving_previous=before, saving_next=after)
        assert mixed.savings_are_positive == (before is after)


@pytest.mark.parametrize(("counts", "options", "times"), by_hand.TIMES)
def test_times_of_stages_on_servers(
    counts: Any, options: dict[str, Any], times: list[list[float]]
) -> None:
    chosen = PlacementOptions.from_dict(options)
    placed = np.array(counts)
    assert same(time_matrix(tables(**options), placed, chosen), times)
    idle = time_matrix(tables(**options), np.pad(placed, ((0, 0), (0, 1))), chosen)
    assert same(idle, np.pad(times, ((0, 0), (0, 1))))  # beside a server that holds nothing
    assert iteration_time(INSTANCE, placed, chosen) == pytest.approx(max(map(max, times)))


@pytest.mark.parametrize("inside", [0.25, 8.0])
def test_the_compiled_time_is_the_largest_of_the_matrix_to_the_bit(inside: float) -> None:
    """Also where savings are negative, and the search's own of what it has edited."""
    document = by_hand.document()
    document["cluster"]["intra_bandwidth"] = inside
    made, rng = tables_of(PlacementInstance.from_dict(document)), np.random.default_rng(1)
    free, stages = np.array([1, 3, 0, 2]), np.repeat(np.arange(3), made.replicas)
    for _ in range(100):
        placed = np.zeros((3, 4), dtype=np.int64)
        np.add.at(placed, (rng.permutation(stages), np.repeat(np.arange(4), free)), 1)
        slowest = time_matrix(made, placed, STANDARD).max()
        assert placement_time(made, placed, STANDARD) == slowest
        _, seconds = improve(free, made, placed, Settings())
        assert seconds == time_matrix(made, placed, STANDARD).max() <= slowest


@pytest.mark.parametrize("reading", ["own", "bottleneck"])
def test_a_stage_that_stands_nowhere_takes_no_time(reading: str) -> None:
    """And both its neighbours are without it: a on 0 alone, 24 s more; c on 1 as ever."""
    chosen = PlacementOptions.from_dict({"all_reduce_bandwidth": reading})
    placed = np.array([[2, 0, 0], [0, 0, 0], [0, 1, 0]])
    times = [[1.5 + 24 + 3 / 8, 0, 0], [0, 0, 0], [0, 31, 0]]
    assert same(time_matrix(tables(), placed, chosen), times)


def test_without_options_the_printed_reading() -> None:
    assert iteration_time(INSTANCE, np.array(by_hand.GATHERED)) == pytest.approx(34.25)
    assert same(tables_of(INSTANCE).all_reduce, tables().all_reduce)


@pytest.mark.parametrize(("slow", "worst"), [(None, 42.25), (0, 131.5), (1, 142.25), (2, 131)])
def test_the_worst_is_every_replica_alone(slow: int | None, worst: float) -> None:
    made = by_hand.instance(slow)
    assert worst_iteration_time(made.job, made.cluster) == pytest.approx(worst)


def test_overlaps_of_the_worst() -> None:
    options = PlacementOptions.from_dict(by_hand.OVERLAPPED)
    assert worst_iteration_time(INSTANCE.job, INSTANCE.cluster, options) == pytest.approx(30.125)


def test_rounding_down_takes_8_units_of_the_terms() -> None:
    """Of the time; where savings are negative, also of the largest `fixed` and `inside`."""
    eps = 2.0**-52
    made = tables()
    assert made.lowered_by_rounding(4.0) == 4 - 32 * eps
    assert made.lowered_by_rounding(0.0) == 0.0
    slower = replace(made, saving_previous=-made.saving_previous)
    terms = 4.0 + 31 + 8.5
    assert slower.lowered_by_rounding(4.0) == pytest.approx(4 - 8 * eps * terms, abs=eps, rel=0)
    assert slower.lowered_by_rounding(1e-15) == 0.0


def test_capped_tables_by_hand() -> None:
    """At 1 s nothing above 2 s is told apart; `fixed` is what is left inside and all savings."""
    made = tables().capped(1.0)
    assert made.colocated_time.tolist() == [2, 2, 2]
    assert made.saving_previous.tolist() == [0, 2, 2]
    assert made.saving_next.tolist() == [2, 2, 0]
    assert made.remote_time.tolist() == [2 + 2 * 3, 2 + 2 * 2 + 2 * 1, 2 + 2 * 3]
    assert made.all_reduce.tolist() == [[0, 2, 0.375, INF], [0, 2, 2, 1], [0, 0, INF, INF]]
    assert made.replicas.tolist() == [2, 3, 1]
