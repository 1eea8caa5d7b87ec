"""Irreducible infeasible subsystems (IIS) of Pyomo models.

Variable bounds and integrality are kept. Rows are removed by QuickXplain (U. Junker, AAAI 2004),
first by families, then one by one.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import highspy
import numpy as np
import pyomo.environ as pyo

from optsched.backends.highs import QuietHighs, run_with_retries, set_options
from optsched.backends.models import pyomo_highs
from optsched.conflict import Member, Proof
from optsched.display import counted
from optsched.result import Settings, Termination

MAX_NONZEROS = 500_000
"""Largest model that is searched: it is solved repeatedly."""

Groups = list[list[int]]
"""Rows that are kept or removed together."""
Naming = Callable[[str, Any], str]
"""Map an index set and an index to a name of the instance: ("JOBS", 3) to "job j3".

A family that is indexed by a bare list has the index set "<family>_index".
"""


def irreducible_rows(
    model: pyo.ConcreteModel, name_index: Naming, settings: Settings
) -> tuple[tuple[Member, ...], Proof]:
    """Return conflicting rows, and whether each of them is proved to be needed.

    At the deadline, return families of constraints (of kind "equation") instead of rows; return
    none for a model that is nonlinear, too large, or not proved infeasible.
    """
    nothing: tuple[tuple[Member, ...], Proof] = ((), "sufficient")
    constraints = list(model.component_data_objects(pyo.Constraint, active=True))
    if any(row.body.polynomial_degree() not in (0, 1) for row in constraints):
        return nothing
    search = _Search(model, settings)
    if len(search.lp.a_matrix_.value_) > MAX_NONZEROS:
        return nothing
    rows = list(range(search.lp.num_row_))
    if not search.is_infeasible(rows):
        return nothing
    families: dict[str, list[int]] = {}
    for row in rows:
        families.setdefault(search.constraints[row].parent_component().name, []).append(row)
    chosen = search.quickxplain([], [], list(families.values()))
    if not search.undecided:
        proved: Proof = "irreducible"
        single = search.quickxplain([], [], [[row] for family in chosen for row in family])
        if not search.undecided:
            needed = sorted(row for (row,) in single)
            return tuple(row_member(search.constraints[row], name_index) for row in needed), proved
    else:
        proved = "sufficient"
    members = []
    for family in chosen:
        which, text = _equation_and_text(search.constraints[family[0]].parent_component())
        requirement = f"{text}: {counted(len(family), 'row')}".removeprefix(": ")
        members.append(Member("equation", which, requirement))
    return tuple(members), proved


class _Search:
    """Copy of a model in HiGHS for tests of subsets; `undecided` once a test hit the deadline."""

    def __init__(self, model: pyo.ConcreteModel, settings: Settings) -> None:
        solver = pyomo_highs(model)
        self.lp = solver._solver_model.getLp()  # private: as in `models`
        self.lp.col_cost_ = np.zeros(self.lp.num_col_)
        self.lower, self.upper = np.array(self.lp.row_lower_), np.array(self.lp.row_upper_)
        self.settings = replace(settings, gap=0.0)
        places = solver._pyomo_con_to_solver_con_map
        self.constraints = {row: constraint for constraint, row in places.items()}
        self.undecided = False

    def is_infeasible(self, rows: Sequence[int]) -> bool:
        """Whether these rows alone cannot hold; False where the deadline passes first."""
        if self.settings.deadline.is_over:
            self.undecided = True
            return False
        ended = run_with_retries(self._highs(rows), self.settings).termination
        self.undecided = self.undecided or ended is Termination.TIME_LIMIT
        return ended is Termination.INFEASIBLE

    def quickxplain(self, background: Groups, delta: Groups, candidates: Groups) -> Groups:
        """Return the candidates needed in addition to `background`, which `delta` has extended."""
        if delta and self.is_infeasible([row for group in background for row in group]):
            return []
        if len(candidates) == 1:
            return candidates
        first, second = candidates[: len(candidates) // 2], candidates[len(candidates) // 2 :]
        later = self.quickxplain(background + first, first, second)
        return self.quickxplain(background + later, later, first) + later

    def _highs(self, active_rows: Sequence[int]) -> Any:
        free = np.ones(len(self.lower), dtype=bool)
        free[np.asarray(active_rows, dtype=np.int64)] = False
        self.lp.row_lower_ = np.where(free, -highspy.kHighsInf, self.lower)
        self.lp.row_upper_ = np.where(free, highspy.kHighsInf, self.upper)
        highs = QuietHighs()
        set_options(highs, self.settings)
        highs.passModel(self.lp)
        return highs


def row_member(constraint: Any, name_index: Naming) -> Member:
    """Return a row by its equation, its index and the text of its ``doc``."""
    family = constraint.parent_component()
    which, text = _equation_and_text(family)
    objects = ", ".join(_index_names(family, constraint.index(), name_index))
    return Member("constraint", which, ": ".join(part for part in (text, objects) if part))


def _equation_and_text(family: Any) -> tuple[str, str]:
    """Return a family's equation and name, and the rest of its ``doc``."""
    label, _, text = str(family.doc or "").partition(" ")
    if not label.startswith("("):
        label, text = "", str(family.doc or "")
    return f"{label.rstrip(':,')} {family.name}".strip(), text


def _index_names(family: Any, index: Any, name_index: Naming) -> list[str]:
    """Return the names of an index's parts; an unnamed set is named after its family."""
    if index is None:
        return []
    parts = index if isinstance(index, tuple) else (index,)
    names, at = [], 0
    for subset in family.index_set().subsets():
        width = subset.dimen or 1
        given = parts[at : at + width]
        known = family.model().component(subset.name) is subset
        name = subset.name if known else f"{family.name}_index"
        names.append(name_index(name, given[0] if width == 1 else given))
        at += width
    return names
