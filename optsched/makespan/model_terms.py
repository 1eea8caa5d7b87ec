"""A habit of the models: grouping indices once."""

from __future__ import annotations

from collections.abc import Iterable


def grouped(pairs: Iterable[tuple]) -> dict:
    """Second parts by first ones, in order."""
    groups: dict = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups
