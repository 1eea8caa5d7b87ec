"""Compile or load every kernel before anything is timed."""

from optsched.generators.rolling import generate_rolling, rolling_settings
from optsched.result import Settings
from optsched.rolling.options import RollingOptions
from optsched.rolling.runs import bound_runs, run_policy


def warm_up() -> None:
    tiny = generate_rolling(rolling_settings(1, jobs=2, gpus_per_node=2))
    for run, names in ((bound_runs, ["bound"]), (run_policy, ["sts", "rg", "dp", "price"])):
        for name in names:
            run(name, tiny, RollingOptions(), Settings())
