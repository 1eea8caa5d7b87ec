"""Public names of a package that are imported when first used.

The name of a submodule would be taken for one of them once that is imported: no package has both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def importer_of(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """What a package's ``__getattr__`` is, from its submodules by the names that they hold."""

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return find
