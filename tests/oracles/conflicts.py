"""Conflicts by enumeration of every set of objects."""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, TypeVar

import pyomo.environ as pyo

from optsched.backends.irreducible import Naming, row_member
from optsched.backends.models import solve_model
from optsched.conflict import Member
from optsched.result import Settings, Termination

Item = TypeVar("Item")


def irreducible_conflicts(
    items: Sequence[Item], has_solution: Callable[[tuple[Item, ...]], bool]
) -> set[frozenset[Item]]:
    """All sets that have no solution, while they have one without any one of their items."""
    parts = (part for size in range(1, len(items) + 1) for part in combinations(items, size))
    bad = {frozenset(part) for part in parts if not has_solution(part)}
    return {part for part in bad if not any(part - {item} in bad for item in part)}


def assert_irreducible(model: Any, rows: Sequence[Member], named: Naming) -> None:
    """Some rows of a model conflict, and without any one of them the others do not: it is asked."""
    constraints = list(model.component_data_objects(pyo.Constraint, active=True))
    by_name = {row_member(constraint, named): constraint for constraint in constraints}
    assert len(by_name) == len(constraints), "names of rows are not unique"
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
