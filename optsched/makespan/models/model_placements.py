"""Where jobs run: GPUs by server, and (3)-(5) of models/makespan/README.md."""

from __future__ import annotations

import pyomo.environ as pyo

from optsched.backends.relations import stated
from optsched.makespan.models.data import MakespanModelData
from optsched.makespan.models.model_terms import family, grouped, in_time


def declare_placements(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    model.gpus = pyo.Var(
        model.SPANNERS,
        model.SERVERS,
        domain=pyo.Integers,
        bounds=lambda m, j, s: (0, data.most(j, s)),
        doc="y: GPUs of spanning job j on server s",
    )
    model.uses = pyo.Var(
        model.SPANNERS, model.SERVERS, domain=pyo.Binary, doc="z: spanning job j uses server s"
    )
    model.held = pyo.Var(
        model.SPANNERS,
        model.SERVERS,
        model.SLOTS,
        bounds=lambda m, j, s, t: (0, data.most(j, s)),
        doc="w: GPUs of spanning job j on server s in slot t",
    )


def a_spanning_job_gets_its_gpus(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    @family(model, data, model.SPANNERS, doc="(3a) a spanning job gets G_j GPUs")
    def all_gpus(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        placed = sum(model.gpus[j, s] for s in model.SERVERS)
        return placed == data.gpus(j) * model.spanning[j]

    @family(model, data, model.SPANNERS, doc="(3b) on as many servers as its run says")
    def all_servers(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        return sum(model.uses[j, s] for s in model.SERVERS) == model.servers_used[j]

    @family(model, data, model.SPANNERS, model.SERVERS, doc="(3c) a server it uses gives a GPU")
    def at_least_one(model: pyo.ConcreteModel, j: int, s: int) -> pyo.Expression:
        return model.uses[j, s] <= model.gpus[j, s]

    @family(model, data, model.SPANNERS, model.SERVERS, doc="(3d) only a server it uses gives GPUs")
    def only_if_used(model: pyo.ConcreteModel, j: int, s: int) -> pyo.Expression:
        return model.gpus[j, s] <= data.most(j, s) * model.uses[j, s]


def a_placement_is_held_while_running(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    indices = (model.SPANNERS, model.SERVERS, model.SLOTS)

    @family(model, data, *indices, doc="(4a) a running job holds what it was given")
    def held_running(model: pyo.ConcreteModel, j: int, s: int, t: int) -> pyo.Expression:
        return model.held[j, s, t] >= model.gpus[j, s] - data.most(j, s) * (1 - model.spans[j, t])

    @family(model, data, *indices, doc="(4b) and no more")
    def held_no_more(model: pyo.ConcreteModel, j: int, s: int, t: int) -> pyo.Expression:
        return model.held[j, s, t] <= model.gpus[j, s]

    @family(model, data, model.SPANNERS, model.SLOTS, doc="(4c) G_j GPUs in every slot it runs")
    def held_in_all(model: pyo.ConcreteModel, j: int, t: int) -> pyo.Expression:
        held = sum(model.held[j, s, t] for s in model.SERVERS)
        return held == data.gpus(j) * model.spans[j, t]


def servers_hold_their_gpus(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    running = grouped(
        ((s, t), (j, a))
        for j, s, a in in_time(model.INSIDE_RUNS, data)
        for t in range(a, a + (data.inside(j) or 0))
    )

    @family(model, data, model.SERVERS, model.SLOTS, doc="(5) a server runs at most O_s GPUs")
    def capacity(model: pyo.ConcreteModel, s: int, t: int) -> pyo.Expression:
        inside = sum(data.gpus(j) * model.inside_run[j, s, a] for j, a in running.get((s, t), ()))
        spread = sum(model.held[j, s, t] for j in model.SPANNERS)
        return stated(model, inside + spread <= data.capacity(s))
