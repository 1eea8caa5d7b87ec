"""Constraints of an infeasible Pyomo model that cannot hold together.

Bounds of variables and integrality always stay. Where already the linear relaxation is infeasible,
the search begins with HiGHS's own irreducible set; that counts bounds of variables as members, so
some of its rows may not be needed. Rows are left out by halves for as long as the rest stays
infeasible (QuickXplain, U. Junker, AAAI 2004), first by families, then one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import highspy
import numpy as np

from optsched.backends.highs import run_steadily, set_options
from optsched.backends.quiet import QuietHighs, drop_integrality, pyomo_highs
from optsched.backends.running import call_highs, run_highs
from optsched.conflict import Member, Proof
from optsched.display import counted
from optsched.result import Settings, Termination

if TYPE_CHECKING:
    import pyomo.environ as pyo

MAX_NONZEROS = 500_000
"""Largest model that is searched: it is solved repeatedly."""

Groups = list[list[int]]
"""Rows that are kept or left out together."""
Naming = Callable[[str, Any], str]
"""The name of a set's index in the instance: ("JOBS", 3) is "job j3".

The index set of a family that is indexed by a bare list is called "<family>_index".
"""


def irreducible_rows(
    model: pyo.ConcreteModel, named: Naming, settings: Settings
) -> tuple[tuple[Member, ...], Proof]:
    """Return rows that cannot hold together, and whether each of them is shown to be needed.

    At the deadline the families found so far, of kind "equation", take the place of rows. There are
    none where the model is nonlinear, too large, or not shown to be infeasible.
    """
    import pyomo.environ as pyo

    none: tuple[tuple[Member, ...], Proof] = ((), "sufficient")
    constraints = list(model.component_data_objects(pyo.Constraint, active=True))
    if any(row.body.polynomial_degree() not in (0, 1) for row in constraints):
        return none
    search = _Search(model, settings)
    if len(search.lp.a_matrix_.value_) > MAX_NONZEROS:
        return none
    rows = search.rows_of_relaxation() or list(range(search.lp.num_row_))
    if not search.is_infeasible(rows):
        return none
    families: dict[str, list[int]] = {}
    for row in sorted(rows):
        families.setdefault(search.constraints[row].parent_component().name, []).append(row)
    needed = search.needed([], [], list(families.values()))
    if not search.undecided:
        proved: Proof = "irreducible"
        single = search.needed([], [], [[row] for family in needed for row in family])
        if not search.undecided:
            chosen = sorted(row for (row,) in single)
            return tuple(row_member(search.constraints[row], named) for row in chosen), proved
    else:
        proved = "sufficient"
    return tuple(_family_member(search.constraints[rows[0]], len(rows)) for rows in needed), proved


class _Search:
    """A model in HiGHS, of which some rows are kept; `undecided` once the deadline interfered."""

    def __init__(self, model: pyo.ConcreteModel, settings: Settings) -> None:
        solver = pyomo_highs(model)
        self.lp = solver._solver_model.getLp()  # private: as in `models`
        self.lp.col_cost_ = np.zeros(self.lp.num_col_)
        self.lower, self.upper = np.array(self.lp.row_lower_), np.array(self.lp.row_upper_)
        self.settings = replace(settings, gap=0.0)
        places = solver._pyomo_con_to_solver_con_map
        self.constraints = {row: constraint for constraint, row in places.items()}
        self.undecided = False

    def is_infeasible(self, kept: Sequence[int]) -> bool:
        """Whether these rows alone cannot hold; False where the deadline passes first."""
        if self.settings.deadline.is_over:
            self.undecided = True
            return False
        ended = run_steadily(self._highs(kept), self.settings).termination
        self.undecided = self.undecided or ended is Termination.TIME_LIMIT
        return ended is Termination.INFEASIBLE

    def needed(self, held: Groups, added: Groups, groups: Groups) -> Groups:
        """Return the groups needed beside those `held`, of which `added` came last."""
        if added and self.is_infeasible([row for group in held for row in group]):
            return []
        if len(groups) == 1:
            return groups
        first, second = groups[: len(groups) // 2], groups[len(groups) // 2 :]
        later = self.needed(held + first, first, second)
        return self.needed(held + later, later, first) + later

    def rows_of_relaxation(self) -> list[int]:
        """Return the rows of HiGHS's irreducible set; none if the linear relaxation is feasible."""
        highs = self._highs(range(self.lp.num_row_))
        drop_integrality(highs)
        run_highs(highs, self.settings.deadline)
        if highs.getModelStatus() != highspy.HighsModelStatus.kInfeasible:
            return []
        strategy = highspy.IisStrategy
        wanted = int(strategy.kIisStrategyFromLp) | int(strategy.kIisStrategyIrreducible)
        highs.setOptionValue("iis_strategy", wanted)
        status, iis = call_highs(highs, highs.getIis, self.settings.deadline)
        failed = status == highspy.HighsStatus.kError or not iis.valid_
        rows = [] if failed else [int(row) for row in iis.row_index_]
        return rows if rows and self.is_infeasible(rows) else []

    def _highs(self, kept: Sequence[int]) -> Any:
        free = np.ones(len(self.lower), dtype=bool)
        free[np.asarray(kept, dtype=np.int64)] = False
        self.lp.row_lower_ = np.where(free, -highspy.kHighsInf, self.lower)
        self.lp.row_upper_ = np.where(free, highspy.kHighsInf, self.upper)
        highs = QuietHighs()
        set_options(highs, self.settings)
        highs.passModel(self.lp)
        return highs


def row_member(constraint: Any, named: Naming) -> Member:
    """Return a row by its equation, its index and the text of its ``doc``."""
    family = constraint.parent_component()
    which, text = _labelled(family)
    objects = ", ".join(_objects(family, constraint.index(), named))
    return Member("constraint", which, ": ".join(part for part in (text, objects) if part))


def _family_member(constraint: Any, rows: int) -> Member:
    which, text = _labelled(constraint.parent_component())
    return Member("equation", which, f"{text}: {counted(rows, 'row')}".removeprefix(": "))


def _labelled(family: Any) -> tuple[str, str]:
    """Return a family's equation and name, and the rest of its ``doc``."""
    label, _, text = str(family.doc or "").partition(" ")
    if not label.startswith("("):
        label, text = "", str(family.doc or "")
    return f"{label.rstrip(':,')} {family.name}".strip(), text


def _objects(family: Any, index: Any, named: Naming) -> list[str]:
    """Return the names of an index's parts; a set without a name goes by its family's."""
    if index is None:
        return []
    parts = index if isinstance(index, tuple) else (index,)
    names, at = [], 0
    for subset in family.index_set().subsets():
        width = subset.dimen or 1
        given = parts[at : at + width]
        known = family.model().component(subset.name) is subset
        name = subset.name if known else f"{family.name}_index"
        names.append(named(name, given[0] if width == 1 else given))
        at += width
    return names
