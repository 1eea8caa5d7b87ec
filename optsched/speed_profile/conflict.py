"""Why a deadline cannot be met: the most work against the greatest speed."""

from optsched.conflict import Conflict, Member
from optsched.display import counted, number
from optsched.speed_profile.instance import SpeedProfileInstance
from optsched.speed_profile.options import SpeedProfileOptions
from optsched.speed_profile.profile import curve_of


def find_conflict(
    instance: SpeedProfileInstance, options: SpeedProfileOptions, thorough: bool
) -> Conflict | None:
    """Return why the greatest speed misses the deadline at w^max; None where it meets it."""
    work = instance.max_work - instance.completed
    fastest, deadline = instance.speeds[-1], instance.deadline
    min_seconds = work / fastest
    if instance.is_feasible:
        return None
    lateness = min_seconds - deadline
    needed = work / deadline if deadline else None
    late = curve_of(instance).survival(instance.completed + fastest * deadline)
    speed = "no speed is enough" if needed is None else f"{number(needed)} epochs/s would be needed"
    reason = (
        f"{work:g} epochs in {deadline:.6g} s: at the greatest speed, {number(fastest)} epochs/s, "
        f"they take {number(min_seconds)} s, {number(lateness)} s too long"
    )
    requirement = f"{work:g} epochs left, with probability {late:.3g} more than can be done in time"
    capability = (
        f"{number(fastest)} epochs/s: {number(fastest * deadline)} epochs in {deadline:.6g} s"
    )
    return Conflict(
        instance.name,
        reason,
        lateness,
        "s",
        f"{speed}, or a deadline of {number(min_seconds)} s",
        (
            Member("work", f"w^max = {instance.max_work:g}", requirement),
            Member("speed", counted(len(instance.speeds), "GPU"), capability),
        ),
        measures={
            "deadline": deadline,
            "least_seconds": min_seconds,
            "needed_speed": needed,
            "late_probability": late,
            "energy": None,
            "rows": [],
        },
    )
