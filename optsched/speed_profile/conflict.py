"""Why a deadline cannot be met: the most work against the greatest speed."""

from __future__ import annotations

from optsched.conflict import Conflict, Member
from optsched.display import counted, number
from optsched.speed_profile.instance import SpeedProfileInstance
from optsched.speed_profile.options import SpeedProfileOptions
from optsched.speed_profile.profile import curve_of


def find_conflict(
    instance: SpeedProfileInstance, options: SpeedProfileOptions, thorough: bool
) -> Conflict | None:
    """Return why the greatest speed misses the deadline at w^max; None where it meets it."""
    work = instance.most_work - instance.completed
    fastest, deadline = instance.speeds[-1], instance.deadline
    least = work / fastest
    if instance.can_be_in_time:
        return None
    short = least - deadline
    needed = work / deadline if deadline else None
    late = curve_of(instance).survival(instance.completed + fastest * deadline)
    speed = "no speed is enough" if needed is None else f"{number(needed)} epochs/s would be needed"
    reason = (
        f"{work:g} epochs in {deadline:.6g} s: at the greatest speed, {number(fastest)} epochs/s, "
        f"they take {number(least)} s, {number(short)} s too long"
    )
    asked = f"{work:g} epochs left, with probability {late:.3g} more than can be done in time"
    gives = f"{number(fastest)} epochs/s: {number(fastest * deadline)} epochs in {deadline:.6g} s"
    return Conflict(
        instance.name,
        reason,
        short,
        "s",
        f"{speed}, or a deadline of {number(least)} s",
        (
            Member("work", f"w^max = {instance.most_work:g}", asked),
            Member("speed", counted(len(instance.speeds), "GPU"), gives),
        ),
        measures={
            "deadline": deadline,
            "least_seconds": least,
            "needed_speed": needed,
            "late_probability": late,
            "energy": None,
            "rows": [],
        },
    )
