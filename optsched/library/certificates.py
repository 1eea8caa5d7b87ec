"""Candidate certificates for the bounds of methods; only `verify` establishes what they prove.

Candidates: the method's own certificate, simple duals, and duals of LPs solved for this purpose.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from optsched.deadline import Deadline
from optsched.library.verify import RefusedError, verify
from optsched.result import Result

Certificate = dict[str, Any]
STRICT_RTOL = 1e-10
"""Relative distance below a bound, since only strict inequalities are proved."""
BISECTIONS = 24
"""Steps in which a threshold within a factor of 2 is known to seven digits."""
DUAL_DIGITS = 9
"""Significant digits of a dual; rounding weakens the bound by about as much."""


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
    from optsched.placement.bounds.patterns import PatternMaster
    from optsched.placement.bounds.pricing import PatternCertificate
    from optsched.placement.cost import tables_of
    from optsched.placement.options import PlacementOptions

    if result.certificate is not None:
        yield result.certificate.to_dict()
    if result.bound is None or not result.bound > 0:
        return
    stages = len(instance.job.stages)
    low = result.bound * (1 - STRICT_RTOL) / 2
    threshold = high = 2 * low
    unit_duals = np.eye(stages, dtype=int).tolist()
    for duals in ([0] * stages, [1] * stages, *unit_duals):
        yield {"kind": "patterns", "threshold": threshold, "prices": duals}
    counts = getattr(result.solution, "counts", None)
    if counts is None:
        return
    master = PatternMaster(instance, tables_of(instance, PlacementOptions()), deadline)
    master.add_placement(np.array(counts))
    for _ in range(BISECTIONS):
        certificate = master.relax(master.price(threshold))
        if certificate is None:
            return
        if isinstance(certificate, PatternCertificate):
            yield certificate.to_dict()
            if threshold == high:
                return
            low = threshold
        else:
            high = threshold
        threshold = math.sqrt(low * high)


def _makespan(instance: Any, result: Result, deadline: Deadline) -> Iterator[Certificate]:
    from optsched.makespan.bounds.best import best_bound
    from optsched.makespan.bounds.certificate import MAX_RESOLUTION
    from optsched.makespan.bounds.durations import durations_of

    if result.certificate is not None:
        yield result.certificate.to_dict()
    durations = durations_of(instance)
    best = best_bound(instance, deadline=deadline)
    if best.certificate is not None:
        yield best.certificate.to_dict()
    longest_job_duals = [0] * len(instance.jobs)
    longest_job_duals[int(durations.minimum.argmax())] = 1
    for bound in sorted({best.value, result.bound or best.value}, reverse=True):
        end = bound - 1 if instance.slotted else bound * (1 - STRICT_RTOL)
        if end <= 0:
            continue
        resolution = int(min(end, MAX_RESOLUTION)) if instance.slotted else MAX_RESOLUTION
        scale = 1 if instance.slotted else resolution / end
        duration_duals = [max(math.floor(d * scale), 0) for d in durations.minimum.tolist()]
        for duals in (longest_job_duals, duration_duals):
            yield {"kind": "columns", "deadline": end, "resolution": resolution, "prices": duals}


def _selection(instance: Any, result: Result, deadline: Deadline) -> Iterator[Certificate]:
    certificate = getattr(result.solution, "certificate", None)
    if certificate is not None:
        document = certificate.model_dump(mode="json")
        slots = {name: _rounded(duals) for name, duals in document["slots"].items()}
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
    duals = {k: _rounded(row.tolist()) for k, row in zip(kinds, bound.duals, strict=True)}
    edges = bound.slot_edges.tolist()
    yield {"kind": "prices", "seed": result.seed, "edges": edges, "prices": duals}


def _online(instance: Any, result: Result, deadline: Deadline) -> Iterator[Certificate]:
    from optsched.online.bounds.flow import CELLS, ITERATIONS, capacity_duals
    from optsched.online.bounds.gang import gang_bound
    from optsched.online.data.jobs import prepare_jobs

    jobs = prepare_jobs(instance.workload, instance.catalogue, instance.cluster)
    length = jobs.min_length
    trivial_bound = float(length.sum()) * (1 + STRICT_RTOL)
    gang = gang_bound(jobs, result.objective, deadline=deadline)
    if gang.value > trivial_bound:
        document = gang.to_dict()
        yield document | {k: _rounded(document[k]) for k in ("prices", "early") if k in document}
    value, edges, duals = capacity_duals(jobs, length, result.objective, CELLS, ITERATIONS)
    if value > trivial_bound:
        yield {"kind": "prices", "edges": edges.tolist(), "prices": _rounded(duals.tolist())}
    yield {"kind": "prices", "edges": [0.0, float(jobs.submit[-1]) + 1.0], "prices": [0.0]}


def _rounded(duals: list[float]) -> list[float]:
    return [float(f"{dual:.{DUAL_DIGITS}g}") for dual in duals]


Candidates = Callable[[Any, Result, Deadline], Iterator[Certificate]]
CANDIDATES: dict[str, Candidates] = {
    "placement": _placement,
    "makespan": _makespan,
    "selection": _selection,
    "speed-profile": _speed_profile,
    "rolling": _rolling,
    "online": _online,
}
