"""Why no schedule ends within the horizon: a violated necessary condition."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from optsched.backends.irreducible import Naming
from optsched.conflict import Conflict, Member
from optsched.display import counted, listed, number
from optsched.makespan.bounds.best import best_bound
from optsched.makespan.bounds.durations import Durations, durations_of
from optsched.makespan.heuristics.list_scheduling import longest_first_schedule
from optsched.makespan.incumbent import Incumbent
from optsched.makespan.instance import MAX_HORIZON, MakespanInstance
from optsched.makespan.options import MakespanOptions
from optsched.result import Settings

MAX_NAMED_JOBS = 8
"""Maximum number of job names in the message."""


def find_conflict(
    instance: MakespanInstance, options: MakespanOptions, thorough: bool
) -> Conflict | None:
    """Jobs that violate the condition of a bound; None where no bound exceeds the horizon."""
    durations = durations_of(instance)
    bound = best_bound(instance)
    if bound.value <= instance.latest_end:
        return None
    minimum, work = durations.minimum, durations.minimum * durations.gpus
    available = instance.gpus * instance.horizon
    horizon = f"the horizon of {counted(instance.horizon, 'slot')}"
    longest = int(minimum.argmax())
    excess = bound.value - instance.horizon
    if minimum[longest] > instance.latest_end:
        members, excess = [longest], float(minimum[longest]) - instance.horizon
        reason = (
            f"job {instance.jobs[longest].name} needs at least "
            f"{counted_slots(float(minimum[longest]))} on any placement, {number(excess)} more "
            f"than {horizon}"
        )
    elif math.fsum(work.tolist()) > instance.gpus * instance.latest_end:
        order = np.argsort(-work, kind="stable")
        needed = int(np.searchsorted(np.cumsum(work[order]), available, side="right")) + 1
        members = sorted(order[:needed].tolist())
        total = math.fsum(work[members].tolist())
        reason = (
            f"{_named(instance, members)} need at least {number(total)} GPU-slots; "
            f"{instance.gpus} GPUs provide {number(available)} within {horizon}"
        )
    else:
        members = list(range(len(instance.jobs)))
        reason = (
            f"{_named(instance, members)} need at least {counted_slots(bound.value)}, "
            f"{number(excess)} more than {horizon} ({bound.source})"
        )
    measures = {"horizon": instance.horizon, "bound": bound.value, "bound_source": bound.source}
    return Conflict(
        instance.name,
        reason,
        excess,
        "slots",
        _remedy(instance),
        tuple(_member(durations, j) for j in members),
        "smallest" if len(members) == 1 else "sufficient",
        measures=measures,
    )


def naming(instance: MakespanInstance) -> Naming:
    def job(j: Any) -> str:
        return f"job {instance.jobs[j].name}"

    names: dict[str, Callable[[Any], str]] = {
        "JOBS": job,
        "SPANNERS": job,
        "SERVERS": lambda s: f"server {s}",
        "SLOTS": lambda t: f"slot {t}",
        "WIDTHS": lambda index: f"{job(index[0])} over {index[1]} servers",
        "EQUAL_SERVERS": lambda index: f"servers {index[0]} and {index[1]}",
        "EQUAL_JOBS": lambda index: f"{job(index[0])} and {job(index[1])}",
    }
    return lambda index_set, index: names.get(index_set, str)(index)


def counted_slots(value: float) -> str:
    return f"{number(value)} slot{'' if value == 1 else 's'}"


def _named(instance: MakespanInstance, jobs: list[int]) -> str:
    if len(jobs) > MAX_NAMED_JOBS:
        return f"{'all' if len(jobs) == len(instance.jobs) else 'these'} {len(jobs)} jobs"
    return f"jobs {listed(instance.jobs[j].name for j in jobs)}"


def _remedy(instance: MakespanInstance) -> str:
    """Suggested horizon: sufficient by longest-first, necessary by the bound."""
    longer = instance.model_copy(update={"horizon": MAX_HORIZON})
    incumbent = Incumbent(longer, Settings())
    incumbent.update_result(longest_first_schedule(longer))
    if incumbent.best is None:
        return ""
    sufficient, bound = math.ceil(incumbent.value), best_bound(instance).value
    horizon = f"a horizon of {counted(sufficient, 'slot')} is"
    if sufficient - 1 < bound:
        return f"{horizon} necessary and sufficient"
    return f"{horizon} sufficient (longest-first); at least {number(bound)} is necessary"


def _member(durations: Durations, j: int) -> Member:
    job, slots = durations.instance.jobs[j], float(durations.minimum[j])
    servers = int(durations.min_servers[j])
    where = "on one server" if servers == 1 else f"over {servers} servers"
    if servers == 1 and float(durations.inside[j]) > slots:
        where = "over several servers"
    needs = f"{counted(job.gpus, 'GPU')} for at least {counted_slots(slots)}, {where}"
    return Member("job", job.name, needs)
