"""Method ``exact``: bounds against heuristics first, then a search over states or `ilp`.

A handful of jobs on a handful of GPUs are searched, others modelled.
Under continuous progress, which no model takes, the heuristics go on: optimal where they meet the
bound, otherwise the best schedule and the bound stand.
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

MOST_JOBS, MOST_SERVERS, MOST_GPUS, MOST_SLOTS = 5, 4, 16, 60
"""Of instances whose states are searched: seconds there, where `ilp` may take minutes."""


def exact(instance: MakespanInstance, options: MakespanOptions, settings: Settings) -> Outcome:
    """Schedule optimally; under continuous progress as well as heuristics can."""
    incumbent = Incumbent(instance, settings)
    with incumbent.working():
        take_starting_schedules(incumbent, settings)
        incumbent.bounded(settings.deadline.share(SEARCH_SHARE))
    if incumbent.met or incumbent.impossible or incumbent.cut:
        return incumbent.outcome(proves=True, chosen=incumbent.name or None)
    if not instance.slotted:
        return replace(Pipeline(incumbent).search_alone(), chosen=incumbent.name or None)
    if _is_tiny(incumbent):
        return replace(search_states(incumbent), chosen="state-search")
    return replace(Pipeline(incumbent).run(), chosen="ilp")


def _is_tiny(incumbent: Incumbent) -> bool:
    """Whether few enough jobs run on few enough GPUs for the search over states."""
    instance = incumbent.instance
    return (
        len(instance.jobs) <= MOST_JOBS
        and len(instance.servers) <= MOST_SERVERS
        and instance.gpus <= MOST_GPUS
        and min(incumbent.value, instance.horizon) <= MOST_SLOTS
    )
