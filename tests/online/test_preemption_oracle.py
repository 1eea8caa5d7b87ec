"""Runs that preempt against a naive loop written from their page alone."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from online.test_oracle import OFFERS, Case, _in_row_order, with_slices_or_refused
from oracles.harness import batches, pick
from oracles.preemption import POLICIES, PreemptiveSimulation

from optsched import online
from optsched.online.audit import audit
from optsched.online.metrics import timeline


def _settings(case: Case, policy: str) -> dict[str, Any]:
    """Rounds of about a job's length: powers of two, so that ends and arrivals fall on them.

    Others, too: what rounds begin at, and multiples of slots, are then rounded.
    """
    probe = case.simulation("spjf", {row["job_id"]: row["iterations"] for row in case.rows})
    length = float(np.median([row.iterations * row.estimate for row in probe.rows]))
    unit = 2.0 ** round(math.log2(length)) * pick(case.rng, (0.125, 0.25, 0.5, 1.0, 4.0))
    slot = unit
    if case.rng.random() < 0.3:
        unit, slot = unit * pick(case.rng, (1.0, 1.3, 0.7)), slot * pick(case.rng, (0.7, 1.3, 2.1))
    settings = {
        "offer": pick(case.rng, OFFERS),
        "checkpoint": unit * pick(case.rng, (0.0, 0.0, 0.25, 0.5)),
        "slot": slot * pick(case.rng, (0.0, 0.0, 0.0, 0.25, 0.75, 2.0)),
    }
    return settings if policy == "srpt-preemptive" else {**settings, "round": unit}


def same_segments(
    record: Any, segments: Sequence[tuple[float, float, dict[int, int]]], scale: float
) -> bool:
    """Whether a job's record has the oracle's segments, with times up to rounding."""
    recorded = [(s.start, s.end, dict(s.servers)) for s in record.segments] or [
        (record.start, record.end, dict(record.servers))
    ]
    return len(recorded) == len(segments) and all(
        abs(a[0] - b[0]) + abs(a[1] - b[1]) <= 1e-9 * scale and a[2] == b[2]
        for a, b in zip(recorded, segments, strict=True)
    )


def _compare(case: Case, policy: str, seen: Counter[str]) -> int:
    """Every segment of every job; the audit accepts the run, and three bounds lie below it.

    Returns how many run at once at most.
    """
    guess = case.guesses()
    given = np.array([guess[name] for name in _in_row_order(case)])
    bounds = online.flow_bounds(case.jobs)
    settings = _settings(case, policy)
    records = online.simulate_online(case.jobs, policy, given, online.PolicyOptions(**settings))
    simulation = PreemptiveSimulation(
        case.rows, case.drawn["catalogue"], case.drawn["cluster"], policy, guess, **settings
    )
    rows = simulation.run()
    where = f"{policy} {settings} {guess} {case.where}"
    scale = max(row.end for row in rows)
    for at, (row, segments) in enumerate(zip(rows, simulation.segments(), strict=True)):
        record = records[at]
        assert record.job_id == row.name, where
        assert math.isclose(record.alpha, row.alpha, rel_tol=1e-9), f"{record} {row} {where}"
        assert same_segments(record, segments, scale), f"{record} {segments} {where}"
        seen["stops"] += len(segments) - 1
    assert not audit(case.jobs, records).violations, where
    flow = sum(row.end - row.submit for row in rows)
    for name in ("durations", "fast_machine", "mean_busy_time"):
        assert getattr(bounds, name) <= flow * (1 + 1e-9), f"{name} {flow} {where}"
    _, queue, used = timeline(records)
    assert (queue >= 0).all()
    assert 0 <= used.min() <= used.max() <= case.jobs.cluster.gpus
    assert queue[-1] == used[-1] == 0
    metrics = online.compute_metrics(records)
    assert math.isclose(metrics.total_flow_time, flow, rel_tol=1e-9), where
    spans = [
        (row.gpus, start, end)
        for row, segments in zip(rows, simulation.segments(), strict=True)
        for start, end, _ in segments
    ]
    held = sum(gpus * (end - start) for gpus, start, end in spans)
    assert math.isclose(metrics.utilisation, held / (simulation.total * scale), rel_tol=1e-8)
    seen[policy] += 1
    changes = sorted(change for _, start, end in spans for change in ((start, 1), (end, -1)))
    return int(np.cumsum([change for _, change in changes]).max())


@pytest.mark.parametrize("numbers", batches(2000, default=18, size=30))
def test_records_are_the_oracles(numbers: range, tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for number in numbers:
        policy = POLICIES[number % len(POLICIES)]
        _compare(Case(number, tmp_path), policy, seen)
        sliced = with_slices_or_refused(number, tmp_path, 30)
        if sliced is not None:
            _compare(sliced, policy, seen)
            seen["sliced"] += 1
    assert seen["sliced"] >= len(numbers) // 4, seen
    assert min(seen[policy] for policy in POLICIES) >= len(numbers) // len(POLICIES), seen
    assert seen["stops"] >= 10 * len(numbers), seen


@pytest.mark.full
@pytest.mark.parametrize("numbers", batches(600, default=3, size=18))
def test_records_of_crowds_are_the_oracles(numbers: range, tmp_path: Path) -> None:
    """Where more wait of a size than are kept in order."""
    seen: Counter[str] = Counter()
    for number in numbers:
        case = Case(10_000 + number, tmp_path, jobs=500)
        _compare(case, POLICIES[number % len(POLICIES)], seen)
        seen["crowds"] += len(case.rows) > 128
    assert seen["stops"], seen
    if len(numbers) >= 18:  # shares mean little in fewer
        assert 2 * seen["crowds"] >= len(numbers), seen
        assert seen["stops"] >= 10 * len(numbers), seen


@pytest.mark.parametrize("numbers", batches(400, default=3, size=9))
def test_records_of_many_that_run_are_the_oracles(numbers: range, tmp_path: Path) -> None:
    """Where more run than are kept in order by their keys, or by when they end."""
    seen: Counter[str] = Counter()
    for number in numbers:
        case = Case(20_000 + number, tmp_path, jobs=1200, most_gpus=160)
        seen["many"] += _compare(case, POLICIES[number % len(POLICIES)], seen) > 64
    if len(numbers) >= 9:  # shares mean little in fewer
        assert seen["many"], seen
        assert seen["stops"] >= len(numbers), seen


@pytest.mark.parametrize("numbers", batches(200, default=10, size=10))
def test_audit_refuses_what_breaks_a_rule(numbers: range, tmp_path: Path) -> None:
    """A segment moved, lengthened, cut, or on other servers: never a clean bill."""
    refused = 0
    for number in numbers:
        case = Case(number, tmp_path)
        policy = POLICIES[number % len(POLICIES)]
        settings = _settings(case, policy)
        asked = online.PolicyOptions(**settings)
        records = online.simulate_online(case.jobs, policy, options=asked)
        segments = records.parts
        if segments is None:
            continue
        at = int(case.rng.integers(len(segments)))
        length = float(segments.end[at] - segments.start[at])
        for what in range(3):
            start, end, server = segments.start.copy(), segments.end.copy(), segments.server.copy()
            if what == 0:
                start[at] -= max(length, 1e-3 * float(records.end.max()))
            elif what == 1:
                end[at] += length * pick(case.rng, (1e-3, -1e-3, -0.5, 1.0))
            else:
                server[segments.first[at]] = case.drawn["cluster"]["servers"]
            broken = replace(records, parts=replace(segments, start=start, end=end, server=server))
            if length > 1e-6 * float(records.end.max()):
                assert audit(case.jobs, broken).violations, f"{policy} {at=} {what=} {case.where}"
                refused += 1
    assert refused >= len(numbers)
