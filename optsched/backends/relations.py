"""Relations of a model whose variables may all have been left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.visitor import identify_variables


def stated(model: pyo.ConcreteModel, relation: Any) -> Any:
    """What a constraint's rule returns for a relation that may have turned out constant.

    One that holds is left out. One that cannot hold makes the model infeasible, which the solver
    then says: Pyomo's own ``Constraint.Infeasible`` is an exception where the model is stated, its
    ``Feasible`` and any other row without variables one in SCIP's interface.
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
        model.impossible = pyo.Var(bounds=(0, 0), doc="0; asked to be 1 by what cannot hold")
    return model.impossible >= 1
