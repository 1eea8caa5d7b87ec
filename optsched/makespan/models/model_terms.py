"""Habits of the models: rules that watch the clock, and indices grouped once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyomo.environ as pyo

from optsched.makespan.models.data import MakespanModelData

CLOCK_EVERY = 64


def family(
    model: pyo.ConcreteModel, data: MakespanModelData, *indices: Any, doc: str
) -> Callable[[Callable], Any]:
    """Declare a constraint family by its rule, as ``model.Constraint`` does, until the deadline.

    The declaring function raises OutOfTimeError there. A rule that did would leave Pyomo a chance
    to log it as an error.
    """

    def declare(rule: Callable) -> Any:
        rows = pyo.Constraint(*indices, doc=doc)
        model.add_component(rule.__name__, rows)
        for index in in_time(rows.index_set(), data):
            rows[index] = rule(model, *(index if isinstance(index, tuple) else (index,)))
        return rows

    return declare


def in_time(indices: Iterable, data: MakespanModelData) -> Iterator:
    """The indices, until the deadline."""
    for count, index in enumerate(indices):
        if count % CLOCK_EVERY == 0:
            data.deadline.check()
        yield index


def grouped(pairs: Iterable[tuple]) -> dict:
    """Second parts by first ones, in order."""
    groups: dict = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups
