"""Optional dependencies, checked before work starts."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from optsched.errors import MissingExtraError

EXTRAS = {
    "distributed": ("distributed", "cluster"),
    "matplotlib": ("matplotlib", "plot"),
    "pulp.solverdir": ("pulp below version 4", "cbc"),
    "pyarrow": ("pyarrow", "online"),
    "pyscipopt": ("pyscipopt", "scip"),
}
"""By module: its package, and the extra with it."""


def require_extras(modules: Iterable[str]) -> None:
    """Raise MissingExtraError if one of some modules of `EXTRAS` is not installed."""
    for module in modules:
        try:
            import_module(module)
        except ImportError:
            raise MissingExtraError(*EXTRAS[module]) from None
