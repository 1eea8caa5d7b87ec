"""How fast jobs run that span servers: (6)-(9) of models/makespan/README.md."""

from __future__ import annotations

import pyomo.environ as pyo

from optsched.makespan.models.data import MakespanModelData
from optsched.makespan.models.model_terms import family, grouped


def declare_levels(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    model.LEVELS = pyo.Set(initialize=range(1, data.most_contending + 1), doc="q")
    model.on_link = pyo.Var(
        model.SPANNERS,
        model.SERVERS,
        model.SLOTS,
        bounds=(0, 1),
        doc="v: spanning job j uses the link of server s in slot t",
    )
    model.level = pyo.Var(
        model.WIDTHS,
        model.SLOTS,
        model.LEVELS,
        domain=pyo.Binary,
        doc="level: job j over k servers meets q contending jobs in slot t",
    )


def links_are_in_use(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    indices = (model.SPANNERS, model.SERVERS, model.SLOTS)

    @family(model, data, *indices, doc="(6a) a running job is on the links of its servers")
    def link_taken(model: pyo.ConcreteModel, j: int, s: int, t: int) -> pyo.Expression:
        return model.on_link[j, s, t] >= model.uses[j, s] + model.spans[j, t] - 1

    @family(model, data, *indices, doc="(6b) on no others")
    def link_of_used(model: pyo.ConcreteModel, j: int, s: int, t: int) -> pyo.Expression:
        return model.on_link[j, s, t] <= model.uses[j, s]

    @family(model, data, *indices, doc="(6c) whoever holds GPUs is on the link")
    def link_of_holders(model: pyo.ConcreteModel, j: int, s: int, t: int) -> pyo.Expression:
        return data.most(j, s) * model.on_link[j, s, t] >= model.held[j, s, t]


def levels_count_contending_jobs(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    widths = grouped((j, k) for j, k in model.WIDTHS)

    @family(model, data, model.WIDTHS, model.SLOTS, doc="(7) one level while running")
    def one_level(model: pyo.ConcreteModel, j: int, k: int, t: int) -> pyo.Expression:
        levels = sum(model.level[j, k, t, q] for q in model.LEVELS)
        return levels == model.spans_wide[j, k, t]

    @family(
        model,
        data,
        model.SPANNERS,
        model.SERVERS,
        model.SLOTS,
        doc="(8) as high as on its worst link",
    )
    def worst_link(model: pyo.ConcreteModel, j: int, s: int, t: int) -> pyo.Expression:
        level = sum(q * model.level[j, k, t, q] for k in widths[j] for q in model.LEVELS)
        contending = sum(model.on_link[i, s, t] for i in model.SPANNERS)
        return level >= contending - data.most_contending * (1 - model.on_link[j, s, t])


def iterations_are_done(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    widths = grouped((j, k) for j, k in model.WIDTHS)

    @family(model, data, model.SPANNERS, doc="(9) all F_j iterations are done")
    def iterations(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        needed = data.instance.jobs[j].iterations
        done = sum(
            min(data.speed(j, k, q), needed) / needed * model.level[j, k, t, q]
            for k in widths[j]
            for t in model.SLOTS
            for q in model.LEVELS
        )
        return done >= model.spanning[j]
