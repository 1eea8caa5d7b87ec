"""Optimal and heuristic scheduling of deep-learning jobs on GPU clusters.

`generate` or `load` an instance, or make one of a class such as `PlacementInstance`; `solve` it,
`compare` methods, `check` a solution, `explain` its objective, `plot` it; `build_model` in Pyomo
and take its `solution_of`; `read_store` of a sweep; `decide` what a cluster starts now. Bad input
raises `InputError`. Names are imported lazily.
"""

from typing import TYPE_CHECKING

from optsched.lazy_names import importer_of

if TYPE_CHECKING:
    from optsched.errors import InputError as InputError
    from optsched.experiments.store.store import read_store as read_store
    from optsched.library import load as load
    from optsched.makespan.instance import MakespanInstance as MakespanInstance
    from optsched.methods import build_model as build_model
    from optsched.methods import check as check
    from optsched.methods import solve as solve
    from optsched.modelling import solution_of as solution_of
    from optsched.online.decide import decide as decide
    from optsched.online.instance import OnlineInstance as OnlineInstance
    from optsched.online.state import OnlineState as OnlineState
    from optsched.packing.instance import PackingInstance as PackingInstance
    from optsched.placement.instance import PlacementInstance as PlacementInstance
    from optsched.problems import METHODS as METHODS
    from optsched.result import Result as Result
    from optsched.rolling.instance import RollingInstance as RollingInstance
    from optsched.selection.instance import SelectionInstance as SelectionInstance
    from optsched.speed_profile.instance import SpeedProfileInstance as SpeedProfileInstance
    from optsched.verbs.comparing import compare as compare
    from optsched.verbs.explaining import explain as explain
    from optsched.verbs.generating import generate as generate
    from optsched.verbs.picturing import plot as plot

__version__ = "0.2.0"

_ROOMS = ("placement", "makespan", "selection", "speed_profile", "rolling", "online", "packing")
_LAZY_NAMES = {
    **dict.fromkeys(("build_model", "check", "solve"), "methods"),
    **{f"{room.title().replace('_', '')}Instance": f"{room}.instance" for room in _ROOMS},
    "InputError": "errors",
    "METHODS": "problems",
    "OnlineState": "online.state",
    "Result": "result",
    "compare": "verbs.comparing",
    "decide": "online.decide",
    "explain": "verbs.explaining",
    "generate": "verbs.generating",
    "load": "library",
    "plot": "verbs.picturing",
    "read_store": "experiments.store.store",
    "solution_of": "modelling",
}
__all__ = [*_LAZY_NAMES]
__getattr__ = importer_of(__name__, _LAZY_NAMES)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
