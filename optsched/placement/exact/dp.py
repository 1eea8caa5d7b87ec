"""Exact dynamic programme over servers; its state is the replicas left of each stage.

A server's time depends on its own count vector alone, so placement is a bottleneck assignment of
count vectors (patterns) to servers. Guarantee: optimal, under the "own" reading. Complexity: O(M
P prod_s (k_s + 1)) for P patterns a server; compiled, under a millisecond while the product is
about 10^4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from optsched.deadline import Deadline, clock
from optsched.errors import NotApplicableError
from optsched.placement.cost import CostTables, Floats, Ints, placement_time, tables_of
from optsched.placement.heuristics.repartition import improved_start
from optsched.placement.instance import PlacementInstance, require_asynchronous
from optsched.placement.options import STANDARD, PlacementOptions
from optsched.placement.solution import PlacementSolution
from optsched.result import Outcome, Settings, Termination

MOST_STATES = 2_000_000
MOST_PATTERNS = 200_000
MOST_CHOICES = 200_000_000
MOST_WORK = 20_000_000_000
ROUNDING = 1e-12


@dataclass(frozen=True)
class _Patterns:
    counts: Ints
    times: Floats


def dp(instance: PlacementInstance, options: PlacementOptions, settings: Settings) -> Outcome:
    """Place a job optimally, with patterns slower than Repartition's placement left out.

    At a time limit, looked at between servers, Repartition's placement stands.
    """
    options.require_own_bandwidth("dp")
    require_asynchronous("dp", instance)
    tables = tables_of(instance, options)
    start, _ = improved_start(instance, tables, replace(settings, iterations=None))
    return programme(instance, tables, start.counts, settings)


def programme(
    instance: PlacementInstance, tables: CostTables, start: Ints | None, settings: Settings
) -> Outcome:
    """Run the programme below the time of a known placement, if there is one."""
    _refuse_large(instance)
    began = clock()
    known = np.inf
    if start is not None:
        known = placement_time(tables, start, STANDARD)
        settings.progress.report(known)
    found = _optimal_counts(instance, tables, known, settings.deadline)
    spent = clock() - began
    counts, value = (start, known) if found is None else found
    if counts is None or not np.isfinite(value):
        ended = Termination.TIME_LIMIT if found is None else Termination.INFEASIBLE
        return Outcome(None, ended, solve_time=spent)
    return Outcome(
        PlacementSolution.of(instance.name, counts.tolist()),
        Termination.TIME_LIMIT if found is None else Termination.OPTIMAL,
        bound=None if found is None else tables.rounded_down(value),
        bound_source=None if found is None else "dynamic programme",
        claimed=value,
        solve_time=spent,
    )


def states(instance: PlacementInstance) -> float:
    """Number of states, prod_s (k_s + 1), as a float (it may be astronomical)."""
    return math.prod(stage.replicas + 1.0 for stage in instance.job.stages)


def _optimal_counts(
    instance: PlacementInstance,
    tables: CostTables,
    known: float,
    deadline: Deadline,
) -> tuple[Ints, float] | None:
    """Counts and optimal alpha, infinite if there is none; None when the deadline passed first."""
    full = instance.fills_the_offer
    servers = [m for m, free in enumerate(instance.free_gpus) if free > 0]
    by_size = {
        size: _patterns_of(tables, size if full else 0, size, known * (1 + ROUNDING))
        for size in sorted({instance.free_gpus[m] for m in servers})
    }
    digits = tables.replicas + 1
    strides = np.concatenate(([1], np.cumprod(digits)[:-1])).astype(np.int64)
    offers = [by_size[instance.free_gpus[m]] for m in servers]
    _refuse_long(int(np.prod(digits)), offers)
    found = _programme(offers, digits, strides, deadline)
    if found is None:
        return None
    counts = np.zeros(instance.shape, dtype=np.int64)
    if not np.isfinite(found[1]):
        return counts, found[1]
    for m, patterns, pattern in zip(servers, offers, found[0], strict=True):
        counts[:, m] = patterns.counts[pattern]
    return counts, found[1]


def _programme(
    offers: list[_Patterns], digits: Ints, strides: Ints, deadline: Deadline
) -> tuple[list[int], float] | None:
    """The pattern chosen for each server and alpha, server by server and back.

    Where no patterns place all replicas alpha is infinite, and none are chosen.
    """
    from optsched.placement.exact._dp_kernel import relax_server

    full = int(np.prod(digits)) - 1
    value = np.full(full + 1, np.inf)
    value[full] = 0.0
    reachable = np.array([full])
    choices = []
    for patterns in offers:
        if deadline.is_over:
            return None
        value, reachable, choice = relax_server(
            value, reachable, digits, patterns.counts, patterns.times, strides
        )
        choices.append(choice)
    chosen: list[int] = []
    state = 0
    if not np.isfinite(value[state]):
        return [], np.inf
    for patterns, choice in zip(reversed(offers), reversed(choices), strict=True):
        chosen.append(int(choice[state]))
        state += int(patterns.counts[chosen[-1]] @ strides)
    return chosen[::-1], float(value[0])


def _patterns_of(tables: CostTables, least: int, size: int, limit: float) -> _Patterns:
    from optsched.placement.exact._dp_kernel import patterns

    counts, times = patterns(tables.costs, least, size, limit, MOST_PATTERNS)
    if len(times) > MOST_PATTERNS:
        raise NotApplicableError(
            "dp", f"more than {MOST_PATTERNS} patterns of {size} GPUs", "fewer: use threshold"
        )
    return _Patterns(counts.astype(np.int64), times)


def _refuse_large(instance: PlacementInstance) -> None:
    count = states(instance)
    if count > MOST_STATES or count * len(instance.free_gpus) > MOST_CHOICES:
        raise NotApplicableError(
            "dp",
            f"{count:.3g} states x {len(instance.free_gpus)} servers",
            f"at most {MOST_STATES} states and {MOST_CHOICES} choices: use threshold",
        )


def _refuse_long(count: int, offers: list[_Patterns]) -> None:
    work = float(count) * sum(len(patterns.times) for patterns in offers)
    if work > MOST_WORK:
        raise NotApplicableError("dp", f"{work:.3g} steps", f"at most {MOST_WORK}: use threshold")
