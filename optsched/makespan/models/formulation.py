"""The exact MILP of the makespan problem, stated in Pyomo.

The mathematics, with the symbol table, is models/makespan/README.md; each component's ``doc``
carries the number of its equation there. Time is slots 0..H-1, so it is for "floor" only. Jobs in
one server have a fixed duration; only runs that span servers need contention levels.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pyomo.environ as pyo

from optsched.backends.relations import stated
from optsched.makespan.contention import Schedule
from optsched.makespan.models.data import MakespanModelData


def build(data: MakespanModelData) -> pyo.ConcreteModel:
    """State the model; see `models/makespan/README.md`. Raises OutOfTimeError at a deadline."""
    model = pyo.ConcreteModel(name="makespan")
    _declare_sets(model, data)
    _declare_runs(model, data)
    _declare_placements(model, data)
    model.makespan = pyo.Objective(expr=model.last_end, doc="min C")
    families = [
        _every_job_runs_once,
        _the_last_end_counts,
        _a_spanning_job_gets_its_gpus,
        _a_placement_is_held_while_running,
        _servers_hold_their_gpus,
        _declare_levels,
        _links_are_in_use,
        _levels_count_contending_jobs,
        _iterations_are_done,
    ]
    if data.pruned:
        families += [_equal_servers_are_ordered, _equal_jobs_are_ordered]
    for state_family in families:
        data.deadline.check()
        state_family(model, data)
    return model


def read_schedule(model: pyo.ConcreteModel, data: MakespanModelData) -> Schedule:
    """Starts and placements of the values in the model."""
    starts = [0.0] * len(data.jobs)
    placed: list[dict[int, int]] = [{} for _ in data.jobs]
    for j, s, a in model.INSIDE_RUNS:
        if pyo.value(model.inside_run[j, s, a]) > 0.5:
            starts[j], placed[j] = float(a), {s: data.gpus(j)}
    for j, k, a, d in model.SPANNING_RUNS:
        if pyo.value(model.spanning_run[j, k, a, d]) > 0.5:
            starts[j] = float(a)
            counts = {s: round(pyo.value(model.gpus[j, s])) for s in data.servers}
            placed[j] = {s: count for s, count in counts.items() if count}
    return Schedule(tuple(starts), tuple(placed))


# When jobs run: (1)-(2).


def _declare_sets(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    slots = range(data.horizon)
    model.JOBS = pyo.Set(initialize=data.jobs, doc="j")
    model.SERVERS = pyo.Set(initialize=data.servers, doc="s")
    model.SLOTS = pyo.Set(initialize=slots, doc="t")
    inside = [
        (j, s, a)
        for j in data.jobs
        for s in data.servers
        if data.holds(j, s)
        for a in data.starts(j, data.inside(j) or 0)
    ]
    model.INSIDE_RUNS = pyo.Set(dimen=3, initialize=inside, doc="(j, s, a)")
    spanning = [
        (j, k, a, d)
        for j in data.jobs
        for k in data.widths(j)
        for d in data.spanning_durations(j, k)
        for a in data.starts(j, d)
    ]
    model.SPANNING_RUNS = pyo.Set(dimen=4, initialize=spanning, doc="(j, k, a, d)")
    model.SPANNERS = pyo.Set(
        initialize=sorted({j for j, *_ in spanning}), doc="jobs that may span servers"
    )
    model.WIDTHS = pyo.Set(
        dimen=2, initialize=sorted({(j, k) for j, k, *_ in spanning}), doc="(j, k)"
    )
    model.spread = _grouped(((j, k), (a, d)) for j, k, a, d in spanning)


def _declare_runs(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
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
    running = _grouped(
        ((j, k, t), (a, d)) for j, k, a, d in model.SPANNING_RUNS for t in range(a, a + d)
    )
    model.spans_wide = pyo.Expression(
        model.WIDTHS,
        model.SLOTS,
        doc="A_k: whether job j runs over k servers in slot t",
        rule=lambda m, j, k, t: sum(
            m.spanning_run[j, k, a, d] for a, d in running.get((j, k, t), ())
        ),
    )
    widths = _grouped((j, k) for j, k in model.WIDTHS)
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


def _every_job_runs_once(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    inside = _grouped((j, (s, a)) for j, s, a in model.INSIDE_RUNS)

    @model.Constraint(model.JOBS, doc="(1) every job runs once")
    def runs_once(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        # sum_sa X_jsa + S_j = 1
        runs = sum(model.inside_run[j, s, a] for s, a in inside.get(j, ()))
        return stated(model, runs + (model.spanning[j] if j in model.SPANNERS else 0) == 1)


def _the_last_end_counts(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    inside = _grouped((j, (s, a)) for j, s, a in model.INSIDE_RUNS)
    spanning = _grouped((j, (k, a, d)) for j, k, a, d in model.SPANNING_RUNS)

    @model.Constraint(model.JOBS, doc="(2) C is no earlier than any end")
    def ends(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        # C >= sum_sa (a + d1_j) X_jsa + sum_kad (a + d) B_jkad
        alone = sum(
            (a + (data.inside(j) or 0)) * model.inside_run[j, s, a] for s, a in inside.get(j, ())
        )
        spread = sum((a + d) * model.spanning_run[j, k, a, d] for k, a, d in spanning.get(j, ()))
        return stated(model, model.last_end >= alone + spread)


# Where they run: GPUs by server, (3)-(5).


def _declare_placements(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
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


def _a_spanning_job_gets_its_gpus(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    @model.Constraint(model.SPANNERS, doc="(3a) a spanning job gets G_j GPUs")
    def all_gpus(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        # sum_s y_js = G_j S_j
        placed = sum(model.gpus[j, s] for s in model.SERVERS)
        return placed == data.gpus(j) * model.spanning[j]

    @model.Constraint(model.SPANNERS, doc="(3b) on as many servers as its run says")
    def all_servers(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        # sum_s z_js = sum_kad k B_jkad
        return sum(model.uses[j, s] for s in model.SERVERS) == model.servers_used[j]

    @model.Constraint(model.SPANNERS, model.SERVERS, doc="(3c) a server it uses gives a GPU")
    def at_least_one(model: pyo.ConcreteModel, j: int, s: int) -> pyo.Expression:
        # z_js <= y_js
        return model.uses[j, s] <= model.gpus[j, s]

    @model.Constraint(model.SPANNERS, model.SERVERS, doc="(3d) only a server in use gives GPUs")
    def only_if_used(model: pyo.ConcreteModel, j: int, s: int) -> pyo.Expression:
        # y_js <= c_js z_js
        return model.gpus[j, s] <= data.most(j, s) * model.uses[j, s]


def _a_placement_is_held_while_running(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    indices = (model.SPANNERS, model.SERVERS, model.SLOTS)

    @model.Constraint(*indices, doc="(4a) a running job holds what it was given")
    def held_running(model: pyo.ConcreteModel, j: int, s: int, t: int) -> pyo.Expression:
        # w_jst >= y_js - c_js (1 - A_jt)
        return model.held[j, s, t] >= model.gpus[j, s] - data.most(j, s) * (1 - model.spans[j, t])

    @model.Constraint(*indices, doc="(4b) and no more")
    def held_no_more(model: pyo.ConcreteModel, j: int, s: int, t: int) -> pyo.Expression:
        # w_jst <= y_js
        return model.held[j, s, t] <= model.gpus[j, s]

    @model.Constraint(model.SPANNERS, model.SLOTS, doc="(4c) G_j GPUs in every slot it runs")
    def held_in_all(model: pyo.ConcreteModel, j: int, t: int) -> pyo.Expression:
        # sum_s w_jst = G_j A_jt
        held = sum(model.held[j, s, t] for s in model.SERVERS)
        return held == data.gpus(j) * model.spans[j, t]


def _servers_hold_their_gpus(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    running = _grouped(
        ((s, t), (j, a))
        for j, s, a in model.INSIDE_RUNS
        for t in range(a, a + (data.inside(j) or 0))
    )

    @model.Constraint(model.SERVERS, model.SLOTS, doc="(5) a server runs at most O_s GPUs")
    def capacity(model: pyo.ConcreteModel, s: int, t: int) -> pyo.Expression:
        # sum_j (G_j sum_{a <= t < a + d1_j} X_jsa + w_jst) <= O_s
        inside = sum(data.gpus(j) * model.inside_run[j, s, a] for j, a in running.get((s, t), ()))
        spread = sum(model.held[j, s, t] for j in model.SPANNERS)
        return stated(model, inside + spread <= data.capacity(s))


# How fast those run that span servers: (6)-(9).


def _declare_levels(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
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


def _links_are_in_use(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    indices = (model.SPANNERS, model.SERVERS, model.SLOTS)

    @model.Constraint(*indices, doc="(6a) a running job is on the links of its servers")
    def link_taken(model: pyo.ConcreteModel, j: int, s: int, t: int) -> pyo.Expression:
        # v_jst >= z_js + A_jt - 1
        return model.on_link[j, s, t] >= model.uses[j, s] + model.spans[j, t] - 1

    @model.Constraint(*indices, doc="(6b) on no others")
    def link_of_used(model: pyo.ConcreteModel, j: int, s: int, t: int) -> pyo.Expression:
        # v_jst <= z_js
        return model.on_link[j, s, t] <= model.uses[j, s]

    @model.Constraint(*indices, doc="(6c) whoever holds GPUs is on the link")
    def link_of_holders(model: pyo.ConcreteModel, j: int, s: int, t: int) -> pyo.Expression:
        # c_js v_jst >= w_jst
        return data.most(j, s) * model.on_link[j, s, t] >= model.held[j, s, t]


def _levels_count_contending_jobs(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    widths = _grouped((j, k) for j, k in model.WIDTHS)

    @model.Constraint(model.WIDTHS, model.SLOTS, doc="(7) one level while running")
    def one_level(model: pyo.ConcreteModel, j: int, k: int, t: int) -> pyo.Expression:
        # sum_q level_jktq = A_jkt
        levels = sum(model.level[j, k, t, q] for q in model.LEVELS)
        return levels == model.spans_wide[j, k, t]

    @model.Constraint(
        model.SPANNERS, model.SERVERS, model.SLOTS, doc="(8) as high as on its worst link"
    )
    def worst_link(model: pyo.ConcreteModel, j: int, s: int, t: int) -> pyo.Expression:
        # sum_kq q level_jktq >= sum_i v_ist - Q (1 - v_jst)
        level = sum(q * model.level[j, k, t, q] for k in widths[j] for q in model.LEVELS)
        contending = sum(model.on_link[i, s, t] for i in model.SPANNERS)
        return level >= contending - data.most_contending * (1 - model.on_link[j, s, t])


def _iterations_are_done(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    widths = _grouped((j, k) for j, k in model.WIDTHS)

    @model.Constraint(model.SPANNERS, doc="(9) all F_j iterations are done")
    def iterations(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        # sum_ktq min(phi_j(k, q), F_j) / F_j level_jktq >= S_j
        needed = data.instance.jobs[j].iterations
        done = sum(
            min(data.speed(j, k, q), needed) / needed * model.level[j, k, t, q]
            for k in widths[j]
            for t in model.SLOTS
            for q in model.LEVELS
        )
        return done >= model.spanning[j]


# Which of many equal schedules to look at: (10)-(11). Swapping two servers of one size, or two
# jobs that are alike, turns a schedule into another of the same makespan. Servers of one size are
# ordered by the GPU-slots they give, jobs that are alike by their starts; the first order does not
# depend on which of two jobs is which, nor the second on servers, so both can be asked for at once.


def _equal_servers_are_ordered(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    """(10), between neighbours among the servers of one size."""
    by_server = _grouped((s, (j, a)) for j, s, a in model.INSIDE_RUNS)
    sizes = _grouped((data.capacity(s), s) for s in data.servers)
    model.EQUAL_SERVERS = pyo.Set(
        dimen=2,
        initialize=[pair for servers in sizes.values() for pair in pairwise(servers)],
        doc="neighbours among servers of one size",
    )

    def given(s: int) -> pyo.Expression:
        inside = sum(
            data.gpus(j) * (data.inside(j) or 0) * model.inside_run[j, s, a]
            for j, a in by_server.get(s, ())
        )
        return inside + sum(model.held[j, s, t] for j in model.SPANNERS for t in model.SLOTS)

    @model.Constraint(model.EQUAL_SERVERS, doc="(10) of equal servers the first gives more")
    def server_order(model: pyo.ConcreteModel, s: int, other: int) -> pyo.Expression:
        # sum_ja G_j d1_j X_jsa + sum_jt w_jst >= the same of the next equal server
        return stated(model, given(s) >= given(other))


def _equal_jobs_are_ordered(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    """(11), between neighbours among the jobs that are alike."""
    inside = _grouped((j, (s, a)) for j, s, a in model.INSIDE_RUNS)
    spanning = _grouped((j, (k, a, d)) for j, k, a, d in model.SPANNING_RUNS)
    alike = _grouped((data.likeness(j), j) for j in data.jobs)
    model.EQUAL_JOBS = pyo.Set(
        dimen=2,
        initialize=[pair for jobs in alike.values() for pair in pairwise(jobs)],
        doc="neighbours among jobs that are alike",
    )

    def start(j: int) -> pyo.Expression:
        alone = sum(a * model.inside_run[j, s, a] for s, a in inside.get(j, ()))
        return alone + sum(a * model.spanning_run[j, k, a, d] for k, a, d in spanning.get(j, ()))

    @model.Constraint(model.EQUAL_JOBS, doc="(11) of jobs alike the first starts first")
    def job_order(model: pyo.ConcreteModel, j: int, other: int) -> pyo.Expression:
        # sum_sa a X_jsa + sum_kad a B_jkad <= the same of the next job alike
        return stated(model, start(j) <= start(other))


def _grouped(pairs: Iterable[tuple]) -> dict:
    """Second parts by first ones, in order."""
    groups: dict = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups
