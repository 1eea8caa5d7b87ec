"""Why no schedule ends within the horizon: the fewest jobs that none can run in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from optsched.backends.irreducible import Naming
from optsched.conflict import Conflict, Counts, Member, Proof, smallest_conflict
from optsched.deadline import Deadline
from optsched.display import counted, listed, number
from optsched.makespan.bounds.best import Bound, best_bound, simple_bound
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.exact.exact import FEW_JOBS, exact, is_tiny
from optsched.makespan.exact.starting_schedules import take_starting_schedules
from optsched.makespan.exact.state_search import search_states
from optsched.makespan.heuristics.list_scheduling import by_longest
from optsched.makespan.heuristics.local_search import search
from optsched.makespan.incumbent import Incumbent
from optsched.makespan.instance import LONGEST_HORIZON, MakespanInstance, RingJob
from optsched.makespan.models.ilp import Pipeline
from optsched.makespan.options import MakespanOptions
from optsched.result import Settings

FEW_GROUPS = 12
"""Kinds of jobs up to which every subset is ruled in or out by an exact method."""
FEW_FOR_COLUMNS = 40
"""Jobs up to which those of a column bound are left out one by one."""
MOST_NAMED = 8
"""Jobs whose names a line takes; all are among the members."""
SEARCH_MOVES = 1_000
"""Of the local search for a horizon that would do."""
SECONDS = 10.0
"""Of each of the two exact searches when there is time: for the jobs, and for the horizon."""


def find_conflict(
    instance: MakespanInstance, options: MakespanOptions, thorough: bool
) -> Conflict | None:
    """The fewest jobs that no schedule ends within the horizon; None where none is proved to."""
    deadline = Deadline(SECONDS if thorough else None)
    found = (
        _longest_alone(instance)
        or (_by_search(instance, deadline) if thorough else None)
        or _by_bounds(instance)
        or (_by_search(instance, deadline) if len(instance.jobs) <= FEW_JOBS else None)
    )
    if found is None:
        return None
    chosen, proof = found
    if thorough and proof == "sufficient" and len(chosen) <= FEW_FOR_COLUMNS:
        chosen, proof = _cut_down(instance, chosen, deadline)
    part = _part(instance, chosen)
    bound = _least(part, deadline) if thorough else best_bound(part)
    if bound.value <= instance.latest_end:  # more than any bound of ours says
        bound = Bound(instance.horizon + float(instance.slotted), "search")
    reason, excess = _reason(part, bound, everyone=len(chosen) == len(instance.jobs))
    return Conflict(
        instance.name,
        reason,
        excess,
        "slots",
        _remedy(instance, thorough),
        tuple(_member(part, job) for job in part.jobs),
        proof,
        measures={"horizon": instance.horizon, "bound": bound.value, "bound_source": bound.source},
    )


def naming(instance: MakespanInstance) -> Naming:
    """What the indices of the makespan's models are called."""

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


def _longest_alone(instance: MakespanInstance) -> tuple[list[int], Proof] | None:
    """The longest job, where it alone takes longer than the horizon."""
    least = durations_of(instance).least
    longest = int(least.argmax())
    return ([longest], "smallest") if least[longest] > instance.latest_end else None


def _by_bounds(instance: MakespanInstance) -> tuple[list[int], Proof] | None:
    """Jobs that a bound proves to take longer, none to spare by that bound."""
    everyone = list(range(len(instance.jobs)))
    durations = durations_of(instance)
    work = durations.least * durations.gpus
    chosen = np.argsort(-work, kind="stable")
    needed = int(np.searchsorted(np.cumsum(work[chosen]), instance.gpus * instance.horizon)) + 1
    for count in (needed, needed + 1):  # the second where the sum is the room itself
        part = sorted(chosen[:count].tolist())
        if simple_bound(durations_of(_part(instance, part))).value > instance.latest_end:
            return part, _proof_of(instance, part)
    if best_bound(instance).value <= instance.latest_end:
        return None
    if len(everyone) > FEW_FOR_COLUMNS:
        return everyone, "sufficient"

    def fits(counts: Counts) -> bool:
        part = [j for j in everyone if counts[j]]
        return not part or best_bound(_part(instance, part)).value <= instance.latest_end

    counts, _ = smallest_conflict([1] * len(everyone), fits, tries=len(everyone))
    part = [j for j in everyone if counts[j]]
    return part, _proof_of(instance, part)


def _proof_of(instance: MakespanInstance, part: Sequence[int]) -> Proof:
    """Whether the quickest schedule shows that every member is needed."""
    if len(part) > FEW_FOR_COLUMNS:
        return "sufficient"
    for left_out in part:
        rest = [j for j in part if j != left_out]
        if rest and not _found_quickly(_part(instance, rest)):
            return "sufficient"
    return "smallest" if len(part) <= 2 else "irreducible"


def _by_search(instance: MakespanInstance, deadline: Deadline) -> tuple[list[int], Proof] | None:
    """The fewest jobs by exact methods, jobs that are alike counted together."""
    groups: dict[str, list[int]] = {}
    for j, job in enumerate(instance.jobs):
        groups.setdefault(job.model_copy(update={"name": ""}).model_dump_json(), []).append(j)
    if len(groups) > FEW_GROUPS:
        return None
    members = list(groups.values())

    def chosen(counts: Counts) -> list[int]:
        taken = (jobs[:count] for jobs, count in zip(members, counts, strict=True))
        return sorted(j for jobs in taken for j in jobs)

    def fits(counts: Counts) -> bool | None:
        return not any(counts) or _has_schedule(_part(instance, chosen(counts)), deadline)

    most = tuple(len(jobs) for jobs in members)
    if fits(most) is not False:
        return None
    counts, proof = smallest_conflict(most, fits)
    return chosen(counts), proof


def _cut_down(
    instance: MakespanInstance, jobs: Sequence[int], deadline: Deadline
) -> tuple[list[int], Proof]:
    """Those of the jobs that are needed for the conflict, by whatever finds schedules in time."""

    def chosen(counts: Counts) -> list[int]:
        return [j for j, count in zip(jobs, counts, strict=True) if count]

    def fits(counts: Counts) -> bool | None:
        return not any(counts) or _has_schedule(_part(instance, chosen(counts)), deadline)

    counts, proof = smallest_conflict([1] * len(jobs), fits, tries=len(jobs))
    return chosen(counts), proof


def _part(instance: MakespanInstance, jobs: Sequence[int]) -> MakespanInstance:
    """The same cluster and horizon with some of the jobs."""
    return instance.model_copy(update={"jobs": tuple(instance.jobs[j] for j in jobs)})


def _found_quickly(instance: MakespanInstance) -> bool:
    found = Incumbent(instance, Settings())
    found.take(by_longest(instance))
    return found.best is not None


def _has_schedule(instance: MakespanInstance, deadline: Deadline) -> bool | None:
    """Whether a schedule ends within the horizon; None where the time does not tell."""
    if deadline.is_over:
        return None
    if _found_quickly(instance):
        return True
    found = Incumbent(instance, Settings().within(deadline))
    with found.working():
        found.bounded(deadline)
        if not found.impossible:
            if instance.slotted and is_tiny(found):
                search_states(found)
            else:
                take_starting_schedules(found, found.settings)
                if instance.slotted and found.best is None:
                    Pipeline(found).run()
    if found.best is not None:
        return True
    return False if found.impossible else None


def _least(part: MakespanInstance, deadline: Deadline) -> Bound:
    """The best bound on the makespan of the jobs in conflict: their optimum where there is time."""
    bound = best_bound(part)
    if not part.slotted or deadline.is_over:
        return bound
    longer = part.model_copy(update={"horizon": LONGEST_HORIZON})
    found = exact(longer, MakespanOptions(), Settings(time_limit=SECONDS / 4))
    if found.bound is None or found.bound <= bound.value:
        return bound
    return Bound(float(found.bound), found.chosen or str(found.bound_source))


def _reason(part: MakespanInstance, bound: Bound, *, everyone: bool) -> tuple[str, float]:
    """Why the jobs take longer than the horizon, and by how many slots at least."""
    durations, horizon = durations_of(part), part.horizon
    within = f"the horizon of {counted(horizon, 'slot')}"
    excess = max(bound.value - horizon, 0.0)
    jobs = f"jobs {listed(job.name for job in part.jobs)}"
    if len(part.jobs) > MOST_NAMED:
        jobs = f"{'all' if everyone else 'these'} {len(part.jobs)} jobs"
    if len(part.jobs) == 1:
        least = float(durations.least[0])
        return (
            f"job {part.jobs[0].name} takes {_slots(least)} at least, wherever it runs: "
            f"{number(least - horizon)} more than {within}"
        ), least - horizon
    work = math.fsum((durations.least * durations.gpus).tolist())
    room = part.gpus * horizon
    if work > room:
        return (
            f"{jobs} take {number(work)} GPU-slots at least, and the {part.gpus} GPUs have "
            f"{number(room)} in {within}: {number(work - room)} too many, "
            f"a horizon {_slots(excess)} longer at least"
        ), excess
    beyond = f"{_slots(bound.value)} at least, {number(excess)} more than {within}"
    widths = sorted(job.gpus for job in part.jobs)
    if widths[0] + widths[1] > part.gpus:
        return f"no two of {jobs} fit on the {part.gpus} GPUs at once: they take {beyond}", excess
    return f"{jobs} together take {beyond} ({bound.source})", excess


def _remedy(instance: MakespanInstance, thorough: bool) -> str:
    """The horizon that would do."""
    longer = instance.model_copy(update={"horizon": LONGEST_HORIZON})
    if thorough and instance.slotted:
        settings = Settings(time_limit=SECONDS)
        found = exact(longer, MakespanOptions(), settings)
        value, least, by = found.claimed, found.bound, found.chosen
    else:
        bound = best_bound(instance)
        quick = Incumbent(longer, Settings())
        quick.take(by_longest(longer), "longest-first")
        if len(longer.jobs) <= FEW_FOR_COLUMNS:
            moves = Settings(iterations=SEARCH_MOVES)
            quick.take(search(longer, moves, bound.value, Deadline()), "local-search")
        value, least, by = quick.known, bound.value, quick.name
    if value is None:
        return ""
    enough = f"a horizon of {counted(math.ceil(value), 'slot')}"
    if least is not None and math.ceil(value) - 1 < least:
        return f"{enough} would do, and no shorter one"
    return f"{enough} would do ({by}); none below {number(least)} can"


def _slots(value: float) -> str:
    return f"{number(value)} slot{'' if value == 1 else 's'}"


def _member(part: MakespanInstance, job: RingJob) -> Member:
    durations = durations_of(part.model_copy(update={"jobs": (job,)}))
    least = float(durations.least[0])
    servers = int(durations.fewest[0])
    where = "inside one server" if servers == 1 else f"over {servers} servers"
    if float(durations.estimate[0]) > least or (servers == 1 and durations.inside[0] > least):
        where = "spread over servers"
    asks = f"{counted(job.gpus, 'GPU')} for {_slots(least)} at least, {where}"
    return Member("job", job.name, asks)
