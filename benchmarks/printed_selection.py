"""(P1) of sts with one equation at a time as the paper prints it, on the linearised model."""

import pyomo.environ as pyo

import optsched
from optsched.backends.models import solve_model
from optsched.result import Settings
from optsched.selection.cost import tables_of
from optsched.selection.models.formulation import formulation_data
from optsched.selection.models.milp import _epoch_seconds, build
from optsched.selection.options import SelectionOptions

ERRATA = ("none", "(8)", "(12)", "(13)", "(16)", "(16) with (13)", "(19)", "(20)")


def printed_optimum(path: str, erratum: str) -> float | None:
    """Dollars of the optimum with that equation as printed; None when infeasible."""
    options = SelectionOptions(node_opening="printed" if "(16)" in erratum else "free")
    data = formulation_data(tables_of(optsched.load(path), options), "milp")
    model = build(data)
    if erratum == "(8)":
        model.one_fraction.deactivate()
        model.printed = pyo.Constraint(
            model.JOBS, rule=lambda m, j: sum(m.fraction[j, f] for f in m.FRACTIONS) <= 1
        )
    elif erratum == "(12)":
        model.printed = pyo.Constraint(
            model.JOBS,
            model.NODES,
            model.GPUS,
            rule=lambda m, j, n, own, g: m.assigned[j, own, g] <= m.on_node[j, n] * int(own == n),
        )
    elif "(13)" in erratum:
        model.usage_counted.deactivate()
        model.printed = pyo.Constraint(
            model.USAGES,
            rule=lambda m, n, k: (
                sum(m.assigned[j, n, g] for j in m.JOBS for g in range(data.size(n)))
                == k * m.usage[n, k]
            ),
        )
    elif erratum == "(19)":
        model.tardiness_defined.deactivate()
        works = data.tables.works
        model.printed = pyo.Constraint(
            model.JOBS,
            rule=lambda m, j: (
                works[j].mean * sum(_epoch_seconds(m, data, j, n) for n in m.NODES)
                <= float(data.tables.due[j]) / data.seconds_unit
                + sum(p * m.tardiness[j, s] for s, p in enumerate(works[j].probabilities))
            ),
        )
    elif erratum == "(20)":
        model.worst_tardiness_defined.deactivate()
        worst = [float(w[w < float("inf")].max()) for w in data.tables.worst_case_seconds]
        wait = data.tables.instance.interval
        model.printed = pyo.Constraint(
            model.JOBS,
            rule=lambda m, j: (
                (wait + worst[j]) / data.seconds_unit * (1 - sum(m.on_node[j, n] for n in m.NODES))
                <= float(data.tables.due[j]) / data.seconds_unit + m.worst_tardiness[j]
            ),
        )
    answer = solve_model(model, Settings())
    return None if answer.objective is None else answer.objective * data.dollars_unit
