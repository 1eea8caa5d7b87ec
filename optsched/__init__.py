"""Optimal and heuristic scheduling of deep-learning jobs on GPU clusters.

`generate` or `load` an instance, `solve` it, `compare` methods, `check` a solution, `explain` its
objective, `plot` it, `build_model` in Pyomo, `read_store` of a sweep. Names are imported lazily.
"""

from typing import TYPE_CHECKING

from optsched.lazy_names import importer_of

if TYPE_CHECKING:
    from optsched.experiments.store.store import read_store as read_store
    from optsched.library import load as load
    from optsched.methods import build_model as build_model
    from optsched.methods import check as check
    from optsched.methods import solve as solve
    from optsched.problems import METHODS as METHODS
    from optsched.result import Result as Result
    from optsched.verbs.comparing import compare as compare
    from optsched.verbs.explaining import explain as explain
    from optsched.verbs.generating import generate as generate
    from optsched.verbs.picturing import plot as plot

__version__ = "0.1.0"

_LAZY_NAMES = {
    **dict.fromkeys(("build_model", "check", "solve"), "methods"),
    "METHODS": "problems",
    "Result": "result",
    "compare": "verbs.comparing",
    "explain": "verbs.explaining",
    "generate": "verbs.generating",
    "load": "library",
    "plot": "verbs.picturing",
    "read_store": "experiments.store.store",
}
__all__ = [*_LAZY_NAMES]
__getattr__ = importer_of(__name__, _LAZY_NAMES)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
