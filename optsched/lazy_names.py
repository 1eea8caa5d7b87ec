"""Public names of a package that are imported when first used.

A lazy name must not equal a submodule's name, because importing the submodule would shadow it.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def importer_of(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a ``__getattr__`` that imports each name from its submodule."""

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    return find
