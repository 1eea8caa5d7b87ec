"""A large model solved over the variables that could matter, and the proof that no other does.

Guarantee: as of the model solved whole. A variable of reduced cost r in the linear relaxation, at
1 or more, costs at least the relaxation's optimum plus r. So a model is first solved over the
variables of small r; those left out are in no better solution once its incumbent lies below the
least they cost, and are let in where it does not. Every variable must have lower bound 0, and an
optimum must exist in which those in use are at least 1: in `patterns` all are then whole.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyomo.environ as pyo

from optsched.backends import Answer, relax_model, solve_model
from optsched.deadline import clock
from optsched.progress import SolverListener
from optsched.result import Settings, Termination

FEW_VARIABLES = 4_000
"""Smaller models are solved whole: it takes no longer."""
FIRST_SHARE = 2e-3
"""Reduced costs up to this share of the relaxation's optimum count as small at first."""
WIDER = 10.0
SPARE = 1.1
"""How much more than the incumbent's distance is let in the second time, to be done with it."""
SAFE = 0.95
"""Of the least cost of what is left out, how much is relied on: solvers round."""


def solve_sifted(
    model: pyo.ConcreteModel,
    settings: Settings,
    *,
    build_time: float,
    listener: SolverListener | None = None,
) -> Answer:
    """Solve a model as `solve_model` does, at first over the variables of small reduced cost."""
    began = clock()
    variables = list(model.component_data_objects(pyo.Var, active=True))
    relaxed = None
    large = len(variables) > FEW_VARIABLES and settings.solver == "highs"
    if large and settings.deadline.has(build_time):
        relaxed = relax_model(model, settings)
    if relaxed is None:
        return solve_model(model, settings, build_time=build_time, listener=listener)
    optimum, costs = relaxed
    allowed = FIRST_SHARE * max(abs(optimum), 1e-3)
    while True:
        left_out = [variables[i] for i in np.flatnonzero(costs > allowed)]
        for x in left_out:
            x.fix(0)
        try:
            answer = solve_model(
                model, settings, build_time=build_time, listener=_incumbents(listener)
            )
        finally:
            for x in left_out:
                x.unfix()
        least = optimum + SAFE * allowed if left_out else np.inf
        over = not settings.deadline.has(build_time)
        if over or not left_out or (answer.objective is not None and answer.objective <= least):
            return _with_left_out(answer, optimum, least, began - build_time)
        wider = 0.0 if answer.objective is None else (answer.objective - optimum) / SAFE
        allowed = SPARE * wider if SPARE * wider > allowed else WIDER * allowed


def _incumbents(listener: SolverListener | None) -> SolverListener | None:
    """A bound over some variables is none over all."""
    return None if listener is None else lambda incumbent, _: listener(incumbent, None)


def _with_left_out(answer: Answer, optimum: float, least: float, began: float) -> Answer:
    """The answer for the whole model: its bound covers what was left out."""
    bound, status = answer.bound, answer.termination
    if least < np.inf:
        if status is Termination.INFEASIBLE:  # over the variables let in, and out of time
            status, bound = Termination.TIME_LIMIT, None
        bound = optimum if bound is None else max(optimum, min(bound, least))
    trace = tuple(
        p if p.bound is None else replace(p, bound=max(optimum, min(p.bound, least)))
        for p in answer.trace
    )
    seconds = clock() - began - answer.build_time
    return replace(answer, termination=status, bound=bound, solve_time=seconds, trace=trace)
