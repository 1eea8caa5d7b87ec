"""Smallest conflicts by enumeration: every set of a given size, from one object on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, TypeVar

import pyomo.environ as pyo

from optsched.backends import solve_model
from optsched.backends.irreducible import Naming, _Rows
from optsched.conflict import Member
from optsched.result import Settings, Termination

Item = TypeVar("Item")


def smallest_conflicts(
    items: Sequence[Item], has_solution: Callable[[tuple[Item, ...]], bool]
) -> set[frozenset[Item]]:
    """All sets of the least size that have no solution; empty when all together have one."""
    for size in range(1, len(items) + 1):
        found = {frozenset(part) for part in combinations(items, size) if not has_solution(part)}
        if found:
            return found
    return set()


def assert_irreducible(model: Any, rows: Sequence[Member], named: Naming) -> None:
    """Some rows of a model conflict, and without any one of them the others do not: it is asked."""
    all_rows = _Rows(model, Settings())
    by_name = {all_rows.member(row, named): each for row, each in all_rows.constraints.items()}
    assert len(by_name) == all_rows.count, "names of rows are not unique"
    chosen = [by_name[member] for member in rows]
    assert chosen
    for each in by_name.values():
        each.deactivate()
    for objective in model.component_objects(pyo.Objective, active=True):
        objective.deactivate()
    model.nothing = pyo.Objective(expr=0)
    for left_out in (None, *chosen):
        for each in chosen:
            each.activate()
        if left_out is not None:
            left_out.deactivate()
        infeasible = solve_model(model, Settings()).termination is Termination.INFEASIBLE
        assert infeasible is (left_out is None), str(left_out)
