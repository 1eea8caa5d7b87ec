"""The speed profile problem's methods, and where its rooms are."""

from optsched.problem import Method, Problem, standard_parts

_HERE = "optsched.speed_profile"
_PICTURES = "optsched.plotting"

SPEED_PROFILE = Problem(
    name="speed-profile",
    **standard_parts("speed_profile", "SpeedProfile"),
    bound=f"{_HERE}.exact.hull:quick_bound",
    conflict=f"{_HERE}.conflict:find_conflict",
    objective="expected energy",
    unit="J",
    defaults=("hull", "dichotomy", "exact"),
    pictures={
        "speed-profile": f"{_PICTURES}.speed_profile:plot_speed_profile",
    },
    methods=(
        Method(
            "hull",
            "exact",
            "lower hull of (1/s, Q) and one multiplier",
            f"{_HERE}.exact.hull:hull",
        ),
        Method(
            "dichotomy",
            "exact",
            "Algorithm 1 of sts, repaired, on the hull's speeds",
            f"{_HERE}.exact.dichotomy:dichotomy",
        ),
        Method("exact", "exact", "hull", f"{_HERE}.exact.hull:exact"),
    ),
)
