"""Least counts under the "bottleneck" reading, against every placement of small jobs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from placement.test_columns import counts_of, drawn

import optsched
from optsched.deadline import Deadline
from optsched.placement.bounds.certificate import PatternCertificate
from optsched.placement.bounds.patterns import PatternProgramme
from optsched.placement.cost import iteration_time, tables_of, time_matrix
from optsched.placement.exact.least_counts import LeastCounts, needed_counts, needs_of
from optsched.placement.exact.repair import Repair
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.result import Settings

BOTTLENECK = PlacementOptions(all_reduce_bandwidth="bottleneck")
TINY = Path(__file__).parents[2] / "models" / "placement" / "tiny.json"


def least_counts(instance: PlacementInstance, theta: float) -> LeastCounts:
    """A choice within theta, of an empty pool."""
    tables = tables_of(instance)
    return LeastCounts(PatternProgramme(instance, tables, Deadline()), tables, theta)


def test_only_what_no_placement_reaches_is_refuted() -> None:
    """Below the optimum by brute force, and often where the other reading has a placement."""
    beyond = 0
    for seed in range(30):
        instance = drawn(seed, 3 + seed % 3, ((4, 3, 3), (5, 4, 2), (3, 3, 3, 2))[seed % 3])
        tables = tables_of(instance)
        every = [np.array(each) for each in counts_of(instance)]
        least = min(iteration_time(instance, each, BOTTLENECK) for each in every)
        own = min(float(time_matrix(tables, each, PlacementOptions()).max()) for each in every)
        for theta in (0.7 * least, 0.99 * least, np.sqrt(own * least), least * (1 - 1e-9)):
            choice = least_counts(instance, float(theta))
            chosen = choice.choose()
            assert chosen is None or not choice.refuted
            beyond += choice.refuted and theta > own
        for theta in (least, 1.001 * least, 1.3 * least):
            choice = least_counts(instance, theta)
            assert choice.choose() is not None
            assert not choice.refuted
    assert beyond >= 5


def test_of_the_worked_example_132_ms_are_the_least() -> None:
    """114 ms under "own", 132 under "bottleneck": the example of the formulation."""
    instance = optsched.load(TINY)
    assert least_counts(instance, 0.1321).choose() is not None
    choice = least_counts(instance, 0.1319)
    assert choice.choose() is None
    assert choice.refuted
    tables = tables_of(instance)
    programme = PatternProgramme(instance, tables, Deadline())
    assert not isinstance(programme.relax(programme.price(0.1319)), PatternCertificate)


@pytest.mark.parametrize("seed", range(6))
def test_what_a_pattern_needs_is_the_least_count_that_keeps_it_in_time(seed: int) -> None:
    instance = drawn(seed, 4, (5, 4, 4))
    tables = tables_of(instance)
    programme = PatternProgramme(instance, tables, Deadline())
    patterns = np.array([each for each in np.ndindex(4, 4, 4, 4) if 0 < sum(each) <= 5])
    patterns = patterns[(patterns <= tables.replicas).all(axis=1)]
    middle = float(np.median(programme.times_of(patterns))) * (1 + 1e-7)  # beside any rounding
    for theta in (0.5 * middle, middle, 2 * middle):
        pricing = programme.price(theta)
        needs = needs_of(needed_counts(tables, pricing), patterns)
        for pattern, need in zip(patterns, needs, strict=True):
            times = time_matrix(tables, pattern[:, None], PlacementOptions())[:, 0]
            for s, v in enumerate(pattern.tolist()):
                if v == 0 or pricing.free[s]:
                    assert need[s] == (0 if v == 0 else 1)
                    continue
                if v == tables.replicas[s]:  # alone on its server: it has itself
                    assert (need[s] > v) == (times[s] > theta)
                    continue
                work = times[s] - tables.all_reduce[s, v]
                in_time = [c for c in range(1, v + 1) if work + tables.all_reduce[s, c] <= theta]
                assert need[s] == min(in_time, default=v + 1)


@pytest.mark.parametrize("seed", range(8))
def test_repairs_end_in_a_placement_within_theta_under_this_reading(seed: int) -> None:
    instance = drawn(seed, 12, (8, 7, 6, 5, 4, 3, 2, 1) * 2)
    options = {"all_reduce_bandwidth": "bottleneck"}
    best = optsched.solve(instance, "columns", options=options).objective
    choice = least_counts(instance, 1.02 * best)
    whole = choice.choose()
    assert whole is not None
    random, stages = np.random.default_rng(seed), len(choice.tables.replicas)
    repair = Repair(choice.programme, whole, np.ones(stages), Settings(), random, choice)
    assert repair.dive()
    assert any(repair.mend() for _ in range(100))
    counts = choice.programme.counts[repair.fixed]
    told = ~choice.free
    assert (counts.sum(axis=0)[told] == choice.tables.replicas[told]).all()
    needs = needs_of(choice.needed, counts).max(axis=0)
    fewest = np.where(counts > 0, counts, 99).min(axis=0)
    assert (needs <= fewest)[told].all()
