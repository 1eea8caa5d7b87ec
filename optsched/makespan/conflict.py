"""Why no schedule ends within the horizon: a necessary condition that jobs violate."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from optsched.backends.irreducible import Naming
from optsched.conflict import Conflict, Member
from optsched.display import counted, listed, number
from optsched.makespan.bounds.best import best_bound
from optsched.makespan.bounds.durations import Durations, durations_of
from optsched.makespan.heuristics.list_scheduling import by_longest
from optsched.makespan.incumbent import Incumbent
from optsched.makespan.instance import LONGEST_HORIZON, MakespanInstance
from optsched.makespan.options import MakespanOptions
from optsched.result import Settings

MOST_NAMED = 8
"""Jobs that a line names; all are among the members."""


def find_conflict(
    instance: MakespanInstance, options: MakespanOptions, thorough: bool
) -> Conflict | None:
    """Jobs that violate a necessary condition; None where no bound exceeds the horizon.

    The conditions are those of the bounds: the longest job, the area, and otherwise the best bound
    on all jobs.
    """
    durations = durations_of(instance)
    bound = best_bound(instance)
    if bound.value <= instance.latest_end:
        return None
    work, room = durations.least * durations.gpus, instance.gpus * instance.horizon
    within = f"the horizon of {counted(instance.horizon, 'slot')}"
    longest = int(durations.least.argmax())
    excess = bound.value - instance.horizon
    if durations.least[longest] > instance.latest_end:
        chosen, excess = [longest], float(durations.least[longest]) - instance.horizon
        least = counted_slots(float(durations.least[longest]))
        reason = (
            f"job {instance.jobs[longest].name} takes {least} at least, wherever it runs: "
            f"{number(excess)} more than {within}"
        )
    elif math.fsum(work.tolist()) > instance.gpus * instance.latest_end:
        order = np.argsort(-work, kind="stable")
        needed = int(np.searchsorted(np.cumsum(work[order]), room, side="right")) + 1
        chosen = sorted(order[:needed].tolist())
        total = math.fsum(work[chosen].tolist())
        reason = (
            f"{_named(instance, chosen)} take {number(total)} GPU-slots at least, and the "
            f"{instance.gpus} GPUs have {number(room)} in {within}"
        )
    else:
        chosen = list(range(len(instance.jobs)))
        reason = (
            f"{_named(instance, chosen)} take {counted_slots(bound.value)} at least, "
            f"{number(excess)} more than {within} ({bound.source})"
        )
    measures = {"horizon": instance.horizon, "bound": bound.value, "bound_source": bound.source}
    return Conflict(
        instance.name,
        reason,
        excess,
        "slots",
        _remedy(instance),
        tuple(_member(durations, j) for j in chosen),
        "smallest" if len(chosen) == 1 else "sufficient",
        measures=measures,
    )


def naming(instance: MakespanInstance) -> Naming:
    """Names of the indices of the makespan's models."""

    def job(j: Any) -> str:
        return f"job {instance.jobs[j].name}"

    names: dict[str, Callable[[Any], str]] = {
        "JOBS": job,
        "SPANNERS": job,
        "SERVERS": lambda s: f"server {s}",
        "SLOTS": lambda t: f"slot {t}",
        "WIDTHS": lambda at: f"{job(at[0])} over {at[1]} servers",
        "EQUAL_SERVERS": lambda at: f"servers {at[0]} and {at[1]}",
        "EQUAL_JOBS": lambda at: f"{job(at[0])} and {job(at[1])}",
    }
    return lambda index_set, index: names.get(index_set, str)(index)


def counted_slots(value: float) -> str:
    """A number of slots in words."""
    return f"{number(value)} slot{'' if value == 1 else 's'}"


def _named(instance: MakespanInstance, jobs: list[int]) -> str:
    if len(jobs) > MOST_NAMED:
        return f"{'all' if len(jobs) == len(instance.jobs) else 'these'} {len(jobs)} jobs"
    return f"jobs {listed(instance.jobs[j].name for j in jobs)}"


def _remedy(instance: MakespanInstance) -> str:
    """A horizon that is enough, by the quickest heuristic, and the bound."""
    longer = instance.model_copy(update={"horizon": LONGEST_HORIZON})
    incumbent = Incumbent(longer, Settings())
    incumbent.take(by_longest(longer))
    if incumbent.best is None:
        return ""
    least = best_bound(instance).value
    enough = f"a horizon of {counted(math.ceil(incumbent.value), 'slot')} is enough"
    if math.ceil(incumbent.value) - 1 < least:
        return f"{enough}, and no shorter one"
    return f"{enough} (longest-first); none below {number(least)} is"


def _member(durations: Durations, j: int) -> Member:
    job, least = durations.instance.jobs[j], float(durations.least[j])
    servers = int(durations.fewest[j])
    where = "inside one server" if servers == 1 else f"over {servers} servers"
    if servers == 1 and float(durations.inside[j]) > least:
        where = "spread over servers"
    asks = f"{counted(job.gpus, 'GPU')} for {counted_slots(least)} at least, {where}"
    return Member("job", job.name, asks)
