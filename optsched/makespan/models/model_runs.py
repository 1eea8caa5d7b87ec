"""When jobs run: the sets, the run of each job, and (1)-(2) of models/makespan/README.md."""

from __future__ import annotations

import pyomo.environ as pyo

from optsched.backends.relations import stated
from optsched.makespan.models.data import MakespanModelData
from optsched.makespan.models.model_terms import family, grouped, in_time


def declare_sets(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    slots = range(data.horizon)
    model.JOBS = pyo.Set(initialize=data.jobs, doc="j")
    model.SERVERS = pyo.Set(initialize=data.servers, doc="s")
    model.SLOTS = pyo.Set(initialize=slots, doc="t")
    inside = [
        (j, s, a)
        for j in data.jobs
        for s in data.servers
        if data.gpus(j) <= data.capacity(s) and data.inside(j) is not None
        for a in range(data.horizon - (data.inside(j) or 0) + 1)
    ]
    model.INSIDE_RUNS = pyo.Set(dimen=3, initialize=inside, doc="(j, s, a)")
    spanning = [
        (j, k, a, d)
        for j in data.jobs
        for k in data.widths(j)
        for d in data.spanning_durations(j, k)
        for a in range(data.horizon - d + 1)
    ]
    model.SPANNING_RUNS = pyo.Set(dimen=4, initialize=spanning, doc="(j, k, a, d)")
    model.SPANNERS = pyo.Set(
        initialize=sorted({j for j, *_ in spanning}), doc="jobs that may span servers"
    )
    model.WIDTHS = pyo.Set(
        dimen=2, initialize=sorted({(j, k) for j, k, *_ in spanning}), doc="(j, k)"
    )
    model.spread = grouped(((j, k), (a, d)) for j, k, a, d in spanning)


def declare_runs(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    model.inside_run = pyo.Var(
        model.INSIDE_RUNS, domain=pyo.Binary, doc="X: job j starts at a inside server s"
    )
    model.spanning_run = pyo.Var(
        model.SPANNING_RUNS,
        domain=pyo.Binary,
        doc="B: job j starts at a over k servers and takes d slots",
    )
    model.last_end = pyo.Var(
        domain=pyo.Integers, bounds=(data.bound, data.horizon), doc="C: the makespan, slots"
    )
    running = grouped(
        ((j, k, t), (a, d))
        for j, k, a, d in in_time(model.SPANNING_RUNS, data)
        for t in range(a, a + d)
    )
    model.spans_wide = pyo.Expression(
        model.WIDTHS,
        model.SLOTS,
        doc="A_k: whether job j runs over k servers in slot t",
        rule=lambda m, j, k, t: sum(
            m.spanning_run[j, k, a, d] for a, d in running.get((j, k, t), ())
        ),
    )
    widths = grouped((j, k) for j, k in model.WIDTHS)
    model.spans = pyo.Expression(
        model.SPANNERS,
        model.SLOTS,
        doc="A: whether job j spans servers in slot t",
        rule=lambda m, j, t: sum(m.spans_wide[j, k, t] for k in widths[j]),
    )
    model.spanning = pyo.Expression(
        model.SPANNERS,
        doc="whether job j spans servers at all",
        rule=lambda m, j: sum(
            m.spanning_run[j, k, a, d] for k in widths[j] for a, d in m.spread[j, k]
        ),
    )
    model.servers_used = pyo.Expression(
        model.SPANNERS,
        doc="servers that a spanning job uses",
        rule=lambda m, j: sum(
            k * m.spanning_run[j, k, a, d] for k in widths[j] for a, d in m.spread[j, k]
        ),
    )


def every_job_runs_once(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    inside = grouped((j, (s, a)) for j, s, a in model.INSIDE_RUNS)

    @family(model, data, model.JOBS, doc="(1) every job runs once")
    def runs_once(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        runs = sum(model.inside_run[j, s, a] for s, a in inside.get(j, ()))
        return stated(model, runs + (model.spanning[j] if j in model.SPANNERS else 0) == 1)


def the_last_end_counts(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    inside = grouped((j, (s, a)) for j, s, a in model.INSIDE_RUNS)
    spanning = grouped((j, (k, a, d)) for j, k, a, d in model.SPANNING_RUNS)

    @family(model, data, model.JOBS, doc="(2) C is no earlier than any end")
    def ends(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        alone = sum(
            (a + (data.inside(j) or 0)) * model.inside_run[j, s, a] for s, a in inside.get(j, ())
        )
        spread = sum((a + d) * model.spanning_run[j, k, a, d] for k, a, d in spanning.get(j, ()))
        return stated(model, model.last_end >= alone + spread)
