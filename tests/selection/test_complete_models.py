"""`build_model` holds for every feasible selection: a user's constraint finds its own optimum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from oracles.random_selection import tiny
from oracles.selection import Allowed, optimum

import optsched
from optsched.backends import solve_model
from optsched.result import Settings

NO_NODE = "node off"
NO_TYPE = "job not on a GPU type"
FIXED = "job on a node"
APART = "two jobs on different nodes"
MUST_RUN = "job not postponed"
POSTPONED = "job postponed"


def constrained(model: Any, instance: Any, rng: np.random.Generator, what: str) -> Allowed:
    """Add a random constraint to the model; the same one for the oracle's choices."""
    jobs, nodes = len(instance.jobs), len(instance.nodes)
    j, n = int(rng.integers(jobs)), int(rng.integers(nodes))
    other = (j + 1) % jobs
    placed = pyo.quicksum(model.on_node[j, m] for m in model.NODES)
    if what == NO_NODE:
        model.own = pyo.Constraint(expr=model.opened[n] == 0)
        return lambda chosen: all(c is None or c[0] != n for c in chosen)
    if what == NO_TYPE:
        kind = instance.nodes[n].gpu_type
        alike = [m for m in range(nodes) if instance.nodes[m].gpu_type == kind]
        model.own = pyo.Constraint(expr=pyo.quicksum(model.on_node[j, m] for m in alike) == 0)
        return lambda chosen: chosen[j] is None or chosen[j][0] not in alike
    if what == FIXED:
        model.own = pyo.Constraint(expr=model.on_node[j, n] == 1)
        return lambda chosen: chosen[j] is not None and chosen[j][0] == n
    if what == APART:
        model.own = pyo.Constraint(
            model.NODES, rule=lambda m, k: m.on_node[j, k] + m.on_node[other, k] <= 1
        )
        return lambda chosen: (
            None in (chosen[j], chosen[other]) or (chosen[j][0] != chosen[other][0])
        )
    model.own = pyo.Constraint(expr=placed == int(what == MUST_RUN))
    return lambda chosen: (chosen[j] is not None) == (what == MUST_RUN)


@pytest.mark.parametrize("what", [NO_NODE, NO_TYPE, FIXED, APART, MUST_RUN, POSTPONED])
@pytest.mark.parametrize("method", ["milp", "minlp"])
@pytest.mark.parametrize("seed", [1, 2, 4])
def test_optimum_under_a_constraint_of_the_user(seed: int, method: str, what: str) -> None:
    rng = np.random.default_rng(seed)
    instance = tiny(seed + 60, jobs=3 if method == "milp" else 2, nodes=2, most=2)
    model = optsched.build_model(instance, method)
    allowed = constrained(model, instance, rng, what)
    best = optimum(instance.to_dict(), allowed=allowed)
    solver = "scip" if method == "minlp" else "highs"
    answer = solve_model(model, Settings(solver=solver), build_time=0.0)
    unit = float(model.cost.doc.split(" in ")[1].split()[0])
    if best is None:
        assert answer.termination == "infeasible"
    else:
        assert answer.objective * unit == pytest.approx(best, rel=1e-6)
