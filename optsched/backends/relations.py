"""Constraints of a model whose variables may all have been eliminated."""

from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.visitor import identify_variables


def stated(model: pyo.ConcreteModel, relation: Any) -> Any:
    """Return what a constraint's rule returns for a relation that may be constant.

    A true one is skipped. A false one makes the model infeasible for the solver to find: Pyomo's
    ``Constraint.Infeasible`` raises while the model is built, and its ``Feasible`` and other rows
    without variables raise in SCIP's interface.
    """
    if isinstance(relation, bool | np.bool_):
        holds = bool(relation)
    elif next(identify_variables(relation), None) is None:
        holds = bool(pyo.value(relation))
    else:
        return relation
    if holds:
        return pyo.Constraint.Skip
    if model.component("impossible") is None:
        model.impossible = pyo.Var(bounds=(0, 0), doc="0; required to be 1 by false constraints")
    return model.impossible >= 1
