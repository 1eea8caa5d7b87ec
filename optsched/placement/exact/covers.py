"""Programmes in integers over patterns: whether these cover a job, or a few stages of it.

Guarantee: where a programme over all patterns that may be used is infeasible, no placement is
within theta. Of a few stages in a row the patterns are few, however long the job: the others only
fill, and have not to be in time, so that what is refuted of a few is refuted of all. The linear
programme cannot see it, say that of eight replicas that must stand in twos or threes only 3 + 3 + 2
is left, and not 8/3 times three. Beyond the paper.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optsched.backends import MilpArrays, solve_arrays
from optsched.deadline import Deadline
from optsched.placement.bounds.patterns import PatternProgramme
from optsched.placement.bounds.pricing import Pricing
from optsched.placement.cost import Ints
from optsched.result import Settings, Termination

AROUND = 2
"""Stages on either side of one, asked together with it."""
MOST_PATTERNS = 2_000
"""Of those stages."""
SECONDS = 0.5
"""Of a programme of theirs."""
PRECISION = 1e-5
"""Relative: how near to the least theta of a few stages is come."""


def cover(
    programme: PatternProgramme,
    pricing: Pricing,
    patterns: tuple[Ints, Ints],
    settings: Settings,
) -> tuple[Termination, list[int] | None]:
    """Whether patterns cover all that is demanded, each so many times, and which of the pool do.

    Parameters
    ----------
    programme : PatternProgramme
        The pool, which gains the patterns used.
    pricing : Pricing
        Of theta, and what is to be placed.
    patterns : (P,) int and (P, S) int
        The class of each, and its replicas by stage.
    settings : Settings
        Limits and seed of the run.

    Returns
    -------
    Termination and list of int, or None
        "infeasible" where no multiples of the patterns cover it.
    """
    classes, counts = patterns
    if not len(classes):
        return Termination.INFEASIBLE, None
    demand, free = pricing.demand, pricing.free
    matrix = programme.columns_of(classes, counts, pricing).T.tocsr()
    most = np.concatenate((demand.replicas, [pricing.filling], demand.limits)).astype(float)
    least = np.where(np.concatenate((free, np.zeros(len(most) - len(free), bool))), 0.0, most)
    limits, zeros = demand.limits[classes].astype(float), np.zeros(len(classes))
    problem = MilpArrays(zeros, matrix, least, most, zeros, limits, zeros == 0)
    answer = solve_arrays(problem, replace(settings, gap=0.0))
    if answer.values is None:
        return answer.termination, None
    often = np.rint(answer.values).astype(int)
    used = np.flatnonzero(often)
    indices = programme.indices(classes[used], counts[used])
    return Termination.OPTIMAL, np.repeat(indices, often[used]).tolist()


def refuted_by(
    programme: PatternProgramme, pricing: Pricing, stage: int, high: float, settings: Settings
) -> float | None:
    """The largest theta known, `high` at most, within which a stage and those around cannot be.

    None where they can be within that of the pricing, or where it is not known.

    Parameters
    ----------
    programme : PatternProgramme
        Of the job.
    pricing : Pricing
        Of the least theta asked about, and all that is to be placed.
    stage : int
        The middle one of those asked about.
    high : float
        The largest theta asked about, seconds.
    settings : Settings
        Limits and seed of the run.
    """
    deadline = settings.deadline

    def impossible(pricing: Pricing) -> bool:
        window = pricing.window(max(stage - AROUND, 0), stage + AROUND + 1)
        patterns = window.needed(np.zeros(len(window.free)), MOST_PATTERNS)
        if patterns is None or not deadline.has(SECONDS):
            return False
        within = settings.within(Deadline(SECONDS))
        return cover(programme, window, patterns, within)[0] is Termination.INFEASIBLE

    if not pricing.fills or not impossible(pricing):
        return None
    if impossible(programme.price(high)):
        return high
    low = pricing.theta
    while high > low * (1 + PRECISION):
        middle = float(np.sqrt(low * high))
        if impossible(programme.price(middle)):
            low = middle
        else:
            high = middle
    return low
