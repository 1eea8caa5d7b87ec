"""Loading the compiled loops before anything is timed."""

from optsched.generators.speed_profile import generate_speed_profile
from optsched.result import Settings
from optsched.speed_profile.exact.hull import hull
from optsched.speed_profile.options import SpeedProfileOptions


def warm_up() -> None:
    hull(generate_speed_profile(), SpeedProfileOptions(), Settings())
