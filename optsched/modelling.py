"""Pyomo models in the hands of users: what a model was built from, its solution, its summary.

A builder of models sets ``model.reader``, a function from the solved model to a solution;
`optsched.build_model` adds ``model.origin``. Both are plain attributes, which clones keep.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from optsched.display import Explanation, counted
from optsched.errors import InputError, NotApplicableError, SolverError, shown
from optsched.problem import Problem, resolve

if TYPE_CHECKING:
    import pyomo.environ as pyo

    from optsched.typing import Solution

INTEGRALITY_TOL = 1e-5
"""Largest distance of an integer variable from an integer: the default of MIP solvers, 1e-6, with
room for a solver that scales."""


@dataclass(frozen=True)
class ModelOrigin:
    """What a model was built from; `read` returns its solution, None where it has only a bound."""

    problem: Problem
    method: str
    instance: Any
    options: Any
    read: Callable[[pyo.ConcreteModel], Any] | None


def is_model(given: object) -> bool:
    """Whether an object is a Pyomo model; Pyomo need not be imported for it."""
    return hasattr(given, "component_data_objects")


def origin_of(model: Any) -> ModelOrigin:
    """Return what `optsched.build_model` built a model from; raises InputError for others."""
    origin = getattr(model, "origin", None)
    if not isinstance(origin, ModelOrigin):
        raise InputError("model", "", shown(model), "a model made by optsched.build_model")
    return origin


def solution_of(model: pyo.ConcreteModel) -> Solution:
    """Return the solution that a solved model holds.

    It is read from the values of the deciding variables, which any solver may have set, and passes
    the problem's checker. Constraints that you added are not checked; auxiliary variables and the
    objective are ignored.

    Parameters
    ----------
    model : pyomo.environ.ConcreteModel
        A model made by `optsched.build_model`, or a clone of one, with the values of a solution.

    Returns
    -------
    PlacementSolution, MakespanSolution or SelectionSolution
        The decisions.

    Raises
    ------
    InputError
        If an integer variable has no value or a fractional one, if the values violate a rule of the
        problem (the first is named), or if the model was made elsewhere; `NotApplicableError` for
        a model of a bound, which has no solution.

    Examples
    --------
    >>> import optsched
    >>> import pyomo.environ as pyo
    >>> model = optsched.build_model("placement/fig2", "ilp")
    >>> model.apart = pyo.Constraint(model.SERVERS, rule=lambda m, s: m.count[0, s] <= 2)
    >>> _ = pyo.SolverFactory("appsi_highs").solve(model)
    >>> solution = optsched.solution_of(model)
    >>> max(solution.counts[0]), optsched.check("placement/fig2", solution).feasible
    (2, True)
    """
    import pyomo.environ as pyo

    origin = origin_of(model)
    if origin.read is None:
        raise NotApplicableError(origin.method, "a model of a bound", "a model with a solution")
    source, options = f"model {model.name}", origin.options.to_dict()
    for variable in model.component_data_objects(pyo.Var, active=True):
        value = variable.value
        if variable.is_integer() and value is None:
            raise InputError(source, variable.name, "no value", "a model solved to a solution")
        if variable.is_integer() and abs(value - round(value)) > INTEGRALITY_TOL:
            raise InputError(source, variable.name, f"{value:g}", "an integer")
    try:
        solution: Solution = origin.read(model).model_copy(update={"options": options})
    except (SolverError, LookupError):
        raise InputError(source, "", "inconsistent values", "those of a solution") from None
    resolve(origin.problem.check)(origin.instance, solution, options).require_feasible(source)
    return solution


@dataclass(frozen=True, repr=False)
class ModelSummary(Explanation):
    """The parts of a Pyomo model; ``print`` shows them as a table, `rows` are its lines.

    A row has the kind ("set", "variables", "expression", "objective", "constraints"), the name, the
    index sets, the number of members, the meaning with the equation's number, and the unit.
    """

    right = ("count",)
    max_rows = 60

    title: str
    rows: tuple[tuple[str, str, str, str, str, str], ...]
    size: str

    def table(self) -> tuple[str, list[str], list[list[str]], str]:
        headings = ["kind", "name", "indexed by", "count", "meaning", "unit"]
        return self.title, headings, [list(row) for row in self.rows], self.size


def summary_of(model: pyo.ConcreteModel) -> ModelSummary:
    """Summarise a model by its active components, in the order of their declaration."""
    import pyomo.environ as pyo

    kinds = {
        pyo.Set: "set",
        pyo.RangeSet: "set",
        pyo.Var: "variables",
        pyo.Expression: "expression",
        pyo.Objective: "objective",
        pyo.Constraint: "constraints",
    }
    rows = []
    for kind, name in kinds.items():
        for component in model.component_objects(kind, active=True, descend_into=True):
            if name == "set" and not component.doc:  # Pyomo's own, of an index
                continue
            meaning, _, unit = (component.doc or "").partition(", in ")
            cells = (component.name, _index_names(component), str(len(component)))
            rows.append((name, *cells, meaning, unit))
    variables = list(model.component_data_objects(pyo.Var, active=True))
    integers = sum(variable.is_integer() for variable in variables)
    constraints = sum(1 for _ in model.component_data_objects(pyo.Constraint, active=True))
    size = f"{counted(len(variables), 'variable')}, {integers} of them integer; "
    size += counted(constraints, "constraint")
    origin = getattr(model, "origin", None)
    built = f", built by {origin.method} for {origin.instance.name}" if origin else ""
    return ModelSummary(f"{model.name}{built}", tuple(rows), size)


def _index_names(component: Any) -> str:
    """The sets that index a component; the number of indices where a set has no name."""
    if not component.is_indexed():
        return ""
    sets = component.index_set().subsets()
    return " x ".join(
        each.name if each.doc else counted(each.dimen, "index", "indices") for each in sets
    )
