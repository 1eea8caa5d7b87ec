"""Candidate certificates for the bounds of methods; `verify` alone decides what they prove.

They are a method's own certificate, simple prices that could prove its bound, and the duals of
programmes solved for the purpose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from optsched.deadline import Deadline
from optsched.library.verify import RefusedError, verify
from optsched.result import Result

Certificate = dict[str, Any]
STRICTLY_BELOW = 1e-10
"""Relative distance below a value at which it is proved by a strict inequality."""
BISECTIONS = 24
DIGITS = 9
"""Significant digits of a price; rounding weakens the bound by about as much."""


def best_certificate(
    instance: Any, result: Result, seconds: float | None = None
) -> tuple[float, Certificate] | None:
    """The best bound that a candidate certifies, and that candidate; None if none verifies."""
    document = instance.to_dict()
    target = result.bound if result.objective is None else result.objective
    best: tuple[float, Certificate] | None = None
    for candidate in CANDIDATES[result.problem](instance, result, Deadline(seconds)):
        try:
            proved = verify(document, candidate)
        except RefusedError:
            continue
        if best is None or proved > best[0]:
            best = proved, candidate
        if target is not None and best[0] >= target * (1 - 1e-8):
            break
    return best


def _placement(instance: Any, result: Result, deadline: Deadline) -> Iterator[Certificate]:
    from optsched.placement.bounds.certificate import PatternCertificate
    from optsched.placement.bounds.patterns import PatternProgramme
    from optsched.placement.cost import tables_of
    from optsched.placement.options import PlacementOptions

    if result.certificate is not None:
        yield result.certificate.to_dict()
    if result.bound is None or not result.bound > 0:
        return
    stages = len(instance.job.stages)
    theta = result.bound * (1 - STRICTLY_BELOW)
    ones = [[int(at == s) for at in range(stages)] for s in range(stages)]
    for prices in ([0] * stages, [1] * stages, *ones):
        yield {"kind": "patterns", "threshold": theta, "prices": prices}
    counts = getattr(result.solution, "counts", None)
    if counts is None:
        return
    programme = PatternProgramme(instance, tables_of(instance, PlacementOptions()), deadline)
    programme.add_placement(np.array(counts))
    low, high = theta / 2, theta
    for step in range(BISECTIONS):
        at = high if step == 0 else math.sqrt(low * high)
        certificate = programme.relax(programme.price(at))
        if isinstance(certificate, PatternCertificate):
            yield certificate.to_dict()
            low = at
            if step == 0:
                return
        elif certificate is None:
            return
        else:
            high = at


def _makespan(instance: Any, result: Result, deadline: Deadline) -> Iterator[Certificate]:
    from optsched.makespan.bounds.best import best_bound
    from optsched.makespan.bounds.certificate import MAX_RESOLUTION
    from optsched.makespan.bounds.durations import durations_of

    if result.certificate is not None:
        yield result.certificate.to_dict()
    durations = durations_of(instance)
    known = best_bound(instance, deadline=deadline)
    if known.certificate is not None:
        yield known.certificate.to_dict()
    longest = int(durations.minimum.argmax())
    one = [int(j == longest) for j in range(len(instance.jobs))]
    for bound in sorted({known.value, result.bound or known.value}, reverse=True):
        end = bound - 1 if instance.slotted else bound * (1 - STRICTLY_BELOW)
        if end <= 0:
            continue
        grid = int(min(end, MAX_RESOLUTION)) if instance.slotted else MAX_RESOLUTION
        scale = 1 if instance.slotted else grid / end
        area = [max(math.floor(d * scale), 0) for d in durations.minimum.tolist()]
        for prices in (one, area):
            yield {"kind": "columns", "deadline": end, "resolution": grid, "prices": prices}


def _selection(instance: Any, result: Result, deadline: Deadline) -> Iterator[Certificate]:
    certificate = getattr(result.solution, "certificate", None)
    if certificate is not None:
        document = certificate.model_dump(mode="json")
        slots = {name: _shortened(prices) for name, prices in document["slots"].items()}
        yield {"kind": "prices", "jobs": document["jobs"], "slots": slots}


def _speed_profile(instance: Any, result: Result, deadline: Deadline) -> Iterator[Certificate]:
    from optsched.speed_profile.exact.hull import hull_profile
    from optsched.speed_profile.profile import curve_of

    _, multiplier = hull_profile(instance, curve_of(instance))
    yield {"kind": "multiplier", "multiplier": float(multiplier)}


def _rolling(instance: Any, result: Result, deadline: Deadline) -> Iterator[Certificate]:
    from optsched.result import Settings
    from optsched.rolling.options import RollingOptions
    from optsched.rolling.runs import clairvoyant_duals

    bound, kinds = clairvoyant_duals(instance, RollingOptions(), Settings(seed=result.seed))
    prices = {k: _shortened(row.tolist()) for k, row in zip(kinds, bound.duals, strict=True)}
    edges = bound.slot_edges.tolist()
    yield {"kind": "prices", "seed": result.seed, "edges": edges, "prices": prices}


def _online(instance: Any, result: Result, deadline: Deadline) -> Iterator[Certificate]:
    from optsched.online.bounds.flow import CELLS, ITERATIONS, capacity_duals
    from optsched.online.bounds.gang import gang_bound
    from optsched.online.data.jobs import prepare_jobs

    jobs = prepare_jobs(instance.workload, instance.catalogue, instance.cluster)
    length = jobs.min_length
    gangs = gang_bound(jobs, result.objective, deadline=deadline)
    if gangs.value > float(length.sum()) * (1 + STRICTLY_BELOW):
        document = gangs.to_dict()
        yield document | {k: _shortened(document[k]) for k in ("prices", "early") if k in document}
    value, edges, prices = capacity_duals(jobs, length, result.objective, CELLS, ITERATIONS)
    end = float(jobs.submit[-1]) + 1.0
    if value > float(length.sum()) * (1 + STRICTLY_BELOW):
        yield {"kind": "prices", "edges": edges.tolist(), "prices": _shortened(prices.tolist())}
    yield {"kind": "prices", "edges": [0.0, end], "prices": [0.0]}


def _shortened(prices: list[float]) -> list[float]:
    return [float(f"{price:.{DIGITS}g}") for price in prices]


Candidates = Callable[[Any, Result, Deadline], Iterator[Certificate]]
CANDIDATES: dict[str, Candidates] = {
    "placement": _placement,
    "makespan": _makespan,
    "selection": _selection,
    "speed-profile": _speed_profile,
    "rolling": _rolling,
    "online": _online,
}
