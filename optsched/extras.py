"""Optional dependencies: asked for before any work that will need them."""

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
"""By module: the package that has it, and the extra that brings that."""


def require_extras(modules: Iterable[str]) -> None:
    """Refuse to start without some modules of `EXTRAS`; raises MissingExtraError."""
    for module in modules:
        try:
            import_module(module)
        except ImportError:
            raise MissingExtraError(*EXTRAS[module]) from None
