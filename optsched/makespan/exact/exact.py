"""Method ``exact``: bounds against heuristics first, then whichever exact method fits.

`state-search` for a handful of jobs on a handful of GPUs, `ilp` otherwise. The outcome says which
it was. Under continuous progress, which no exact method knows, the heuristics go on: optimal where
they meet the bound, otherwise the best schedule and the bound stand.
"""

from __future__ import annotations

from dataclasses import replace

from optsched.makespan.exact.starting_schedules import take_starting_schedules
from optsched.makespan.exact.state_search import search_states
from optsched.makespan.incumbent import SEARCH_SHARE, Incumbent
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.models.ilp import Pipeline
from optsched.makespan.options import MakespanOptions
from optsched.result import Outcome, Settings

FEW_JOBS, FEW_SERVERS, FEW_GPUS, FEW_SLOTS = 5, 4, 16, 60


def exact(instance: MakespanInstance, options: MakespanOptions, settings: Settings) -> Outcome:
    """Schedule optimally; under continuous progress as well as heuristics can."""
    found = Incumbent(instance, settings)
    with found.working():
        take_starting_schedules(found, settings)
        found.bounded(settings.deadline.share(SEARCH_SHARE))
    if found.met or found.impossible or found.cut:
        return found.outcome(proves=True, chosen=found.name or None)
    if not instance.slotted:
        return replace(Pipeline(found).search_alone(), chosen=found.name or None)
    if is_tiny(found):
        return replace(search_states(found), chosen="state-search")
    return replace(Pipeline(found).run(), chosen="ilp")


def is_tiny(found: Incumbent) -> bool:
    """Few enough jobs on few enough GPUs for `state-search`."""
    instance = found.instance
    return (
        len(instance.jobs) <= FEW_JOBS
        and len(instance.servers) <= FEW_SERVERS
        and instance.gpus <= FEW_GPUS
        and min(found.value, instance.horizon) <= FEW_SLOTS
    )
