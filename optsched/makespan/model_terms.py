"""Two habits of the models: grouping indices once, and relations that turn out constant."""

from __future__ import annotations

from collections.abc import Iterable

import pyomo.environ as pyo


def grouped(pairs: Iterable[tuple]) -> dict:
    """Second parts by first ones, in order."""
    groups: dict = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def unless_constant(relation: pyo.Expression) -> pyo.Expression:
    """A relation whose terms have all been left out holds or fails as it stands."""
    if isinstance(relation, bool):
        return pyo.Constraint.Feasible if relation else pyo.Constraint.Infeasible
    return relation
