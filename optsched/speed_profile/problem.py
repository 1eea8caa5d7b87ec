"""The speed profile problem's methods, and where its rooms are."""

from __future__ import annotations

from optsched.problem import Method, Problem

_HERE = "optsched.speed_profile"
_PICTURES = "optsched.plotting"

SPEED_PROFILE = Problem(
    name="speed-profile",
    instance=f"{_HERE}.instance:SpeedProfileInstance",
    solution=f"{_HERE}.solution:SpeedProfileSolution",
    options=f"{_HERE}.options:SpeedProfileOptions",
    check=f"{_HERE}.check:check",
    bound=f"{_HERE}.bounds:quick_bound",
    explain=f"{_HERE}.explain:explain",
    conflict=f"{_HERE}.conflict:find_conflict",
    warm_up=f"{_HERE}.warm_up:warm_up",
    objective="expected energy",
    unit="J",
    shown_per_unit=1.0,
    defaults=("hull", "dichotomy", "convex", "exact"),
    generate="optsched.generators.speed_profile:generate_speed_profile",
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
        Method(
            "convex",
            "heuristic",
            "(P3) by scipy's general solvers",
            f"{_HERE}.exact.convex:convex",
        ),
        Method("exact", "exact", "hull", f"{_HERE}.exact.hull:exact"),
    ),
)
