"""Method ``exact``: bounds against heuristics first, then whichever exact method fits.

`state-search` for a handful of jobs on a handful of GPUs, `ilp` otherwise. The outcome says which
it was. Under continuous progress there is no exact method: only where bound and heuristic meet is
there an answer.
"""

from __future__ import annotations

import time
from dataclasses import replace

from optsched.errors import NotApplicableError
from optsched.makespan.bounds import best_bound
from optsched.makespan.contention import Schedule, evaluate
from optsched.makespan.ilp import ilp
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.known import candidates
from optsched.makespan.options import MakespanOptions
from optsched.makespan.outcome import outcome_of
from optsched.makespan.state_search import state_search
from optsched.result import Outcome, Settings, Termination, is_proved

FEW_JOBS, FEW_SERVERS, FEW_GPUS, FEW_SLOTS = 5, 4, 16, 60


def exact(instance: MakespanInstance, options: MakespanOptions, settings: Settings) -> Outcome:
    """Schedule optimally.

    Raises
    ------
    NotApplicableError
        Under continuous progress, unless a heuristic meets the bound.
    """
    began = time.perf_counter()
    name, schedule = _best(instance, settings)
    value = None if schedule is None else evaluate(instance, schedule).makespan
    bound = best_bound(instance, high=value)
    if value is not None and is_proved(value, bound.value, settings.gap):
        return outcome_of(
            instance,
            schedule,
            Termination.OPTIMAL,
            bound=bound.value,
            bound_source=bound.source,
            certificate=bound.certificate,
            solve_time=time.perf_counter() - began,
            chosen=name,
        )
    if not instance.slotted:
        raise NotApplicableError(
            "exact", "progress=continuous", "floor: the exact methods work slot by slot"
        )
    spent = time.perf_counter() - began
    if settings.time_limit is not None:
        settings = replace(settings, time_limit=max(0.0, settings.time_limit - spent))
    chosen, run = ("state-search", state_search) if _tiny(instance, value) else ("ilp", ilp)
    outcome = run(instance, options, settings)
    return replace(outcome, chosen=chosen, solve_time=outcome.solve_time + spent)


def _best(instance: MakespanInstance, settings: Settings) -> tuple[str, Schedule | None]:
    found = candidates(instance, settings)
    if not found:
        return "", None
    return min(found.items(), key=lambda item: evaluate(instance, item[1]).makespan)


def _tiny(instance: MakespanInstance, value: float | None) -> bool:
    return (
        len(instance.jobs) <= FEW_JOBS
        and len(instance.servers) <= FEW_SERVERS
        and instance.gpus <= FEW_GPUS
        and (instance.horizon if value is None else value) <= FEW_SLOTS
    )
