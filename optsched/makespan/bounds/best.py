"""Lower bounds on the makespan, each named by its source.

*Longest job*: its minimum duration. *Area*: total minimum GPU-slots / GPUs. *Wide jobs*: pairwise
incompatible jobs run sequentially. *Column bound*: see `column_bound`. These hold under contention,
which only slows jobs. *Contention bound*: see `contention_bound`; it includes the cost of link
sharing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from optsched.deadline import Deadline
from optsched.files import instance_sha256
from optsched.makespan.bounds.certificate import Certificate
from optsched.makespan.bounds.column import column_bound
from optsched.makespan.bounds.contention import SECONDS_PER_JOB, contention_bound
from optsched.makespan.bounds.durations import Durations, durations_of
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import MakespanOptions

CACHE_SIZE = 64
SUM_ROUNDING = 1 - 1e-12
"""Factor on a bound that is a sum of floats."""
ROUNDING = 1e-9
"""Relative difference up to which two bounds are equal."""
INFEASIBILITY_MARGIN = 1e-3
"""Relative margin above the horizon up to which the column bound searches, to prove
infeasibility."""
_cache: dict[tuple[str, bool], Bound] = {}
"""By the instance's hash and whether contention counts. In a comparison, all heuristics use the
same bound."""


@dataclass(frozen=True)
class Bound:
    """A proven lower bound in slots, the argument behind it, and its certificate if it has one."""

    value: float
    source: str
    certificate: Certificate | None = None


def longest_job(durations: Durations) -> Bound:
    """The largest minimum duration."""
    return Bound(float(durations.minimum.max()), "longest job")


def area(durations: Durations) -> Bound:
    """Minimum GPU-slots of all jobs / GPUs of the cluster, rounded up with integral progress."""
    work = math.fsum((durations.minimum * durations.gpus).tolist())
    gpus = durations.instance.gpus
    if durations.instance.slotted:
        return Bound(float(-(-int(work) // gpus)), "area")
    return Bound(work / gpus * SUM_ROUNDING, "area")


def wide_jobs(durations: Durations) -> Bound:
    """Jobs too wide for the cluster to run in parallel: they must run one after another.

    For each size g of at most half the N GPUs: a job of more than N - g GPUs cannot run in parallel
    with a job of g or more. So the durations of the former add up, plus max(area, longest) of the
    jobs of g to N - g GPUs.
    """
    gpus, minimum, total = durations.gpus, durations.minimum, durations.instance.gpus
    best = 0.0
    for g in sorted({*gpus[2 * gpus <= total].tolist(), total // 2}):
        wide = gpus > total - g
        others = (gpus >= g) & ~wide
        work = math.fsum((minimum * gpus)[others].tolist()) / total
        if wide.any():
            after = max(work, float(minimum[others].max(initial=0.0)))
            best = max(best, math.fsum(minimum[wide].tolist()) + after)
    best *= SUM_ROUNDING
    return Bound(float(math.ceil(best)) if durations.instance.slotted else best, "wide jobs")


def simple_bound(durations: Durations) -> Bound:
    return max(longest_job(durations), area(durations), key=lambda bound: bound.value)


def with_contention_bound(
    durations: Durations, known: Bound, deadline: Deadline | None = None
) -> Bound:
    certificate = contention_bound(durations, known.value, deadline=deadline)
    if certificate is None:
        return known
    value = certificate.bound(durations.instance.slotted)
    return Bound(value, "contention bound", certificate)


def best_bound(
    instance: MakespanInstance, *, deadline: Deadline | None = None, contention: bool = True
) -> Bound:
    """The best combinatorial bound: longest job, area, contention, column bound, wide jobs.

    A bound that the deadline has cut is not cached, so equal calls give equal bounds, whatever was
    solved before in the process.
    """
    deadline = deadline or Deadline()
    key = instance_sha256(instance.to_dict()), contention
    if key in _cache:
        return _cache[key]
    durations = durations_of(instance)
    bound = simple_bound(durations)
    complete = deadline.has(SECONDS_PER_JOB * len(instance.jobs))
    if contention:
        bound = with_contention_bound(durations, bound, deadline)
    margin = 1.0 if instance.slotted else INFEASIBILITY_MARGIN * instance.horizon
    upper = instance.horizon + margin
    if 0 < bound.value < upper:
        certificate = column_bound(durations, bound.value, upper, deadline=deadline)
        if certificate is not None:
            bound = Bound(certificate.bound(instance.slotted), "column bound", certificate)
    wide = wide_jobs(durations)
    if wide.value > bound.value * (1 + ROUNDING):  # prefer a certified bound at equal value
        bound = wide
    if complete and not deadline.is_over:
        while len(_cache) >= CACHE_SIZE:
            _cache.pop(next(iter(_cache)))
        _cache[key] = bound
    return bound


def clear_cache() -> None:
    _cache.clear()


def quick_bound(
    instance: MakespanInstance, options: MakespanOptions, deadline: Deadline | None = None
) -> tuple[float, str, Certificate | None]:
    """The bound that certifies every heuristic's row, its source and its certificate."""
    bound = best_bound(instance, deadline=deadline)
    return bound.value, bound.source, bound.certificate
