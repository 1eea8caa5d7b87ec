"""Loading the compiled loops before anything is timed."""

from __future__ import annotations

from functools import lru_cache

from optsched.generators.rolling import generate_rolling, rolling_settings
from optsched.result import Settings
from optsched.rolling.policies.by_name import make_policy
from optsched.rolling.simulator.engine import simulate_rolling
from optsched.rolling.simulator.world import World


@lru_cache
def warm_up() -> None:
    """Run the policies with compiled loops once on a tiny instance."""
    world = World(generate_rolling(rolling_settings(1, jobs=2, gpus_per_node=2)))
    for name in ("sts", "rg", "dp", "price"):
        simulate_rolling(world, make_policy(name, world, Settings()))
