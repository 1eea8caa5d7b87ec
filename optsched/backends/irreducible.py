"""Which rows of an infeasible Pyomo model cannot hold together, with none to spare.

Bounds of variables and integrality stand; rows are left out for as long as the rest stays
infeasible (deletion by halves: QuickXplain, U. Junker, AAAI 2004). Where already the linear
relaxation is infeasible HiGHS's own irreducible set is what is begun with: it counts the bounds of
variables in, so rows of it may still be left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from optsched.backends.arrays import MilpArrays, solve_arrays
from optsched.backends.highs import set_options
from optsched.backends.running import call_highs, run_highs
from optsched.conflict import Member, Proof
from optsched.display import counted
from optsched.result import Settings, Termination

if TYPE_CHECKING:
    import pyomo.environ as pyo

MOST_NONZEROS = 500_000
"""Of a model whose rows are looked at: it is solved over and over."""


Units = list[list[int]]
"""Rows that are kept or left out together."""


class Naming(Protocol):
    """What an index of a model's set is called in the instance: ("JOBS", 3) is "job j3".

    The set of a family that is indexed by a bare list goes by "<family>_index".
    """

    def __call__(self, index_set: str, index: Any) -> str:
        """The object's name."""


def irreducible_rows(
    model: pyo.ConcreteModel, named: Naming, settings: Settings
) -> tuple[tuple[Member, ...], Proof]:
    """Rows that cannot hold together, and whether each was shown to be needed by the deadline.

    First whole families are left out, then rows. Where the time ends among the rows it is the
    families, of kind "equation", that are returned.
    """
    none: tuple[tuple[Member, ...], Proof] = ((), "sufficient")
    if not _is_linear(model):
        return none
    rows = _Rows(model, settings)
    if rows.arrays.matrix.nnz > MOST_NONZEROS:
        return none
    kept = rows.of_relaxation()
    if kept is None:
        kept = list(range(rows.count))
        if not rows.conflict(kept):
            return none
    families = _needed(rows, [], [], rows.by_family(kept))
    sure: Proof = "sufficient" if rows.unknown else "irreducible"
    least = (
        [] if rows.unknown else _needed(rows, [], [], [[row] for each in families for row in each])
    )
    if rows.unknown:
        return tuple(rows.family(each) for each in families), sure
    return tuple(rows.member(row, named) for (row,) in sorted(least)), sure


def _is_linear(model: pyo.ConcreteModel) -> bool:
    import pyomo.environ as pyo

    rows = model.component_data_objects(pyo.Constraint, active=True)
    return all(row.body.polynomial_degree() in (0, 1) for row in rows)


def _needed(rows: _Rows, held: Units, added: Units, of: Units) -> Units:
    """Those of `of` that are needed beside those `held`; `added` are the last of these."""
    if added and rows.conflict([row for unit in held for row in unit]):
        return []
    if len(of) == 1:
        return of
    first, second = of[: len(of) // 2], of[len(of) // 2 :]
    later = _needed(rows, held + first, first, second)
    return _needed(rows, held + later, later, first) + later


class _Rows:
    """The rows of a model as arrays, and of which it is known whether they conflict."""

    def __init__(self, model: pyo.ConcreteModel, settings: Settings) -> None:
        from optsched.backends.quiet import pyomo_highs

        solver = pyomo_highs(model)
        self.highs = solver._solver_model  # private: as in `models`
        self.settings = replace(settings, gap=0.0)
        places: Mapping[Any, int] = solver._pyomo_con_to_solver_con_map
        self.constraints = {row: constraint for constraint, row in places.items()}
        self.arrays = _arrays_of(self.highs)
        self.unknown = False

    @property
    def count(self) -> int:
        """Rows of the model."""
        return len(self.arrays.row_lower)

    def conflict(self, kept: Sequence[int]) -> bool:
        """Whether these rows alone cannot hold; False where the time does not tell."""
        if self.settings.deadline.is_over:
            self.unknown = True
            return False
        rows = np.array(sorted(kept), dtype=np.int64)
        part = replace(
            self.arrays,
            matrix=self.arrays.matrix[rows],
            row_lower=self.arrays.row_lower[rows],
            row_upper=self.arrays.row_upper[rows],
        )
        answer = solve_arrays(part, self.settings)
        self.unknown = self.unknown or answer.termination is Termination.TIME_LIMIT
        return answer.termination is Termination.INFEASIBLE

    def of_relaxation(self) -> list[int] | None:
        """The rows of HiGHS's irreducible set, of the model without integrality."""
        import highspy

        highs, columns = self.highs, self.highs.getNumCol()
        highs.silent()
        set_options(highs, self.settings)
        kinds = np.full(columns, int(highspy.HighsVarType.kContinuous), dtype=np.uint8)
        highs.changeColsIntegrality(columns, np.arange(columns, dtype=np.int32), kinds)
        run_highs(highs, self.settings.deadline)
        if highs.getModelStatus() != highspy.HighsModelStatus.kInfeasible:
            return None
        strategy = highspy.IisStrategy
        wanted = int(strategy.kIisStrategyFromLp) | int(strategy.kIisStrategyIrreducible)
        highs.setOptionValue("iis_strategy", wanted)
        status, found = call_highs(highs, highs.getIis, self.settings.deadline)
        rows = [int(row) for row in found.row_index_] if found.valid_ else []
        if status == highspy.HighsStatus.kError or not rows or not self.conflict(rows):
            return None
        return rows

    def by_family(self, kept: Sequence[int]) -> Units:
        """Rows by the family they belong to, in the order of the model."""
        families: dict[str, list[int]] = {}
        for row in sorted(kept):
            families.setdefault(self.constraints[row].parent_component().name, []).append(row)
        return list(families.values())

    def family(self, rows: Sequence[int]) -> Member:
        """A family by its equation and what it says."""
        which, text = _labelled(self.constraints[rows[0]].parent_component())
        return Member("equation", which, f"{text}: {counted(len(rows), 'row')}".removeprefix(": "))

    def member(self, row: int, named: Naming) -> Member:
        """A row by its equation, its index and what it says."""
        constraint = self.constraints[row]
        family = constraint.parent_component()
        which, text = _labelled(family)
        objects = _objects(family, constraint.index(), named)
        asks = f"{text}: {', '.join(objects)}" if text and objects else text or ", ".join(objects)
        return Member("constraint", which, asks)


def _labelled(family: Any) -> tuple[str, str]:
    """A family's equation and name, and what it says, of its ``doc``."""
    label, _, text = str(family.doc or "").partition(" ")
    if not label.startswith("("):
        label, text = "", str(family.doc or "")
    return f"{label.rstrip(':,')} {family.name}".strip(), text


def _objects(family: Any, index: Any, named: Naming) -> list[str]:
    """What an index of a family stands for, part by part; a set without a name has the family's."""
    if index is None:
        return []
    parts = index if isinstance(index, tuple) else (index,)
    sets = list(family.index_set().subsets())
    names, at = [], 0
    for each in sets:
        wide = each.dimen or 1
        given = parts[at : at + wide]
        known = family.model().component(each.name) is each
        name = each.name if known else f"{family.name}_index"
        names.append(named(name, given[0] if wide == 1 else given))
        at += wide
    return names


def _arrays_of(highs: Any) -> MilpArrays:
    """A model of HiGHS's as arrays, without its objective."""
    import highspy
    from scipy.sparse import csc_array, csr_array

    lp = highs.getLp()
    shape = (lp.num_row_, lp.num_col_)
    rowwise = lp.a_matrix_.format_ == highspy.MatrixFormat.kRowwise
    parts = (
        np.array(lp.a_matrix_.value_, dtype=float),
        np.array(lp.a_matrix_.index_, dtype=np.int32),
        np.array(lp.a_matrix_.start_, dtype=np.int32),
    )
    matrix = csr_array(parts, shape=shape) if rowwise else csr_array(csc_array(parts, shape=shape))
    return MilpArrays(
        np.zeros(shape[1]),
        matrix,
        np.array(lp.row_lower_),
        np.array(lp.row_upper_),
        np.array(lp.col_lower_),
        np.array(lp.col_upper_),
        _integer(lp, shape[1]),
    )


def _integer(lp: Any, columns: int) -> NDArray[np.bool_]:
    import highspy

    if not len(lp.integrality_):
        return np.zeros(columns, dtype=np.bool_)
    return np.array([kind == highspy.HighsVarType.kInteger for kind in lp.integrality_])
