"""Lower bounds on the makespan, each named by its source.

*Longest job*: its least duration. *Area*: the least GPU-slots of all jobs over all GPUs. *Wide
jobs*: those too wide to run beside others. *Column bound*: see `column_bound`. These hold under
contention, which only slows jobs. *Contention bound*: see `contention_bound`; it knows what sharing
links costs.
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

MOST_KEPT = 64
ROUNDING = 1e-9
"""Relative difference up to which two bounds are equal."""


@dataclass(frozen=True)
class Bound:
    """A proven lower bound in slots, the argument behind it, and its certificate if it has one."""

    value: float
    source: str
    certificate: Certificate | None = None


def longest_job(durations: Durations) -> Bound:
    """The least duration of the longest job."""
    return Bound(float(durations.least.max()), "longest job")


def area(durations: Durations) -> Bound:
    """Least GPU-slots of all jobs over the GPUs of the cluster, rounded up under "floor"."""
    work = math.fsum((durations.least * durations.gpus).tolist())
    value = work / durations.instance.gpus
    if durations.instance.slotted:
        return Bound(float(-(-int(work) // durations.instance.gpus)), "area")
    return Bound(value * (1 - 1e-12), "area")


def wide_jobs(durations: Durations) -> Bound:
    """Jobs too wide for the cluster to run beside others: these wait for one another.

    For each size g of at most half the N GPUs: jobs of more than N - g GPUs run beside no job of g
    or more, so their durations add up, and to the area or the longest of the jobs of g to N - g.
    """
    gpus, least, total = durations.gpus, durations.least, durations.instance.gpus
    best = 0.0
    for g in sorted({*gpus[2 * gpus <= total].tolist(), total // 2}):
        wide = gpus > total - g
        beside = (gpus >= g) & ~wide
        work = math.fsum((least * gpus)[beside].tolist()) / total
        others = max(work, float(least[beside].max(initial=0.0)))
        if wide.any():
            best = max(best, math.fsum(least[wide].tolist()) + others)
    best *= 1 - 1e-12
    return Bound(float(math.ceil(best)) if durations.instance.slotted else best, "wide jobs")


def simple_bound(durations: Durations) -> Bound:
    """The better of area and longest job."""
    return max(longest_job(durations), area(durations), key=lambda bound: bound.value)


def shared_links(durations: Durations, known: Bound, deadline: Deadline | None = None) -> Bound:
    """The contention bound where it is better than one known."""
    found = contention_bound(durations, known.value, deadline=deadline)
    if found is None:
        return known
    return Bound(found.bound(durations.instance.slotted), "contention bound", found)


BEYOND = 1e-3
"""How far beyond the horizon (relative) a bound is looked for that shows it to be impossible."""
_known: dict[tuple[str, bool], Bound] = {}
"""Bounds of the last instances by all that they depend on: the instance's hash, and whether
contention counts. Every heuristic of a comparison asks for the same one."""


def best_bound(
    instance: MakespanInstance, *, deadline: Deadline | None = None, contention: bool = True
) -> Bound:
    """The best combinatorial bound: longest job, area, contention, column bound, wide jobs.

    A bound that the deadline has cut is not kept, so equal calls give equal bounds, whatever was
    solved before in the process.
    """
    deadline = deadline or Deadline()
    key = instance_sha256(instance.to_dict()), contention
    if key in _known:
        return _known[key]
    durations = durations_of(instance)
    bound = simple_bound(durations)
    complete = deadline.has(SECONDS_PER_JOB * len(instance.jobs))
    if contention:
        bound = shared_links(durations, bound, deadline)
    beyond = instance.horizon + (1.0 if instance.slotted else BEYOND * instance.horizon)
    if 0 < bound.value < beyond:
        found = column_bound(durations, bound.value, beyond, deadline=deadline)
        if found is not None:
            bound = Bound(found.bound(instance.slotted), "column bound", found)
    wide = wide_jobs(durations)
    if wide.value > bound.value * (1 + ROUNDING):  # a certificate stands before rounding
        bound = wide
    if complete and not deadline.is_over:
        while len(_known) >= MOST_KEPT:
            _known.pop(next(iter(_known)))
        _known[key] = bound
    return bound


def forget() -> None:
    """Drop the bounds kept, so that the next one is proved anew (and timed)."""
    _known.clear()


def quick_bound(
    instance: MakespanInstance, options: MakespanOptions, deadline: Deadline | None = None
) -> tuple[float, str, Certificate | None]:
    """The bound that certifies every heuristic's row, its source and its certificate."""
    bound = best_bound(instance, deadline=deadline or Deadline())
    return bound.value, bound.source, bound.certificate
