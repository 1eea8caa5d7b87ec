"""Loading the compiled loops before anything is timed."""

from __future__ import annotations

from optsched.result import Settings
from optsched.speed_profile.exact.hull import hull
from optsched.speed_profile.instance import SCHEMA, SpeedProfileInstance
from optsched.speed_profile.options import SpeedProfileOptions


def warm_up() -> None:
    """Run every compiled loop once on a tiny instance."""
    hull(_TINY, SpeedProfileOptions(), Settings())


_TINY = SpeedProfileInstance.from_dict(
    {
        "schema": SCHEMA,
        "version": 1,
        "name": "tiny",
        "speeds": [1.0, 1.5],
        "power": [1.0, 2.0],
        "deadline": 8.0,
        "work": {"values": [5, 10], "probabilities": [0.5, 0.5]},
    }
)
