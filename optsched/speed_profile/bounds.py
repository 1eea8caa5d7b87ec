"""A bound on a profile's energy that needs no solver: the optimum itself."""

from __future__ import annotations

from optsched.speed_profile.curve import curve_of
from optsched.speed_profile.hull import hull_profile
from optsched.speed_profile.instance import SpeedProfileInstance
from optsched.speed_profile.options import SpeedProfileOptions


def quick_bound(
    instance: SpeedProfileInstance, options: SpeedProfileOptions
) -> tuple[float | None, str]:
    """The hull's energy, and its name; None when the deadline cannot be met."""
    curve = curve_of(instance)
    profile = hull_profile(instance, curve)
    value = None if profile.status == "infeasible" else profile.energy(instance, curve)
    return value, "hull and multiplier"
