"""How many jobs and servers a figure of a-srpt takes, and what a trace must have to carry it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from optsched.errors import InputError
from optsched.experiments.papers.a_srpt.jobs import (
    Source,
    fitting,
    stretch,
    trace_of,
    with_share,
)
from optsched.experiments.papers.a_srpt.runs import LARGE_SEEDS, seeds
from optsched.experiments.papers.artefact import Scale

TRAINED = 5
"""Jobs to one that runs: the other four teach the forest."""
FEWEST = 375
"""Of a trace: what Fig. 5 takes."""
RECURRENCE, GROUPED = ("a-srpt-fig4", "a-srpt-fig9"), ("pai", "helios", "swf")
"""Claims on how alike a user's and a group's jobs are, and the formats that say whose they are."""


def simulated(scale: Scale) -> Scale:
    """The paper's sizes of Figs. 6 to 8; a trace may be shorter."""
    return scale if scale.quick or scale.trace else replace(scale, full=True)


def servers_of(scale: Scale) -> int:
    return 250 if scale.full else 25


def twentieth(scale: Scale) -> int:
    """5% of the trace: the paper's 37,500 jobs."""
    if scale.trace is not None and not scale.full:
        return fitting(_source(scale), 8 * servers_of(scale)) // 20
    return 37_500 if scale.full else 500


def jobs_of(name: str, wanted: int, scale: Scale, most_gpus: int | None = None) -> int:
    """How many jobs a case takes; a trace that has too few is refused by the claim's name."""
    if scale.trace is None:
        return wanted
    if name in RECURRENCE and scale.trace_format not in GROUPED:
        found = f"format {scale.trace_format}, whose jobs have no user and group of their own"
        raise InputError(scale.trace, name, found, f"one of {', '.join(GROUPED)}")
    has = fitting(_source(scale), most_gpus or 8 * servers_of(scale))
    if has < max(wanted, FEWEST):
        expected = f"{max(wanted, FEWEST)}, four of five of them to fit the forest to"
        raise InputError(scale.trace, name, f"{has} jobs that fit the cluster", expected)
    return wanted


def require_shares(name: str, jobs: int, scale: Scale, shares: Sequence[float]) -> None:
    """Refuse a trace that cannot have shares of single-GPU jobs, before anything runs."""
    if scale.trace is None:
        return
    for seed in seeds(scale, LARGE_SEEDS):
        rng = np.random.default_rng(seed)
        chosen = stretch(trace_of(_source(scale)), jobs, 8 * servers_of(scale), rng)
        try:
            for share in shares:
                with_share(chosen, share, rng)
        except InputError as error:
            raise InputError(scale.trace, name, error.found, error.expected) from None


def _source(scale: Scale) -> Source:
    return Source(scale.trace, scale.trace_format)
