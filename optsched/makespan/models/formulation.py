"""The exact MILP of the makespan problem, stated in Pyomo.

The mathematics, with the symbol table, is models/makespan/README.md; each component's ``doc``
carries the number of its equation there. Time is slots 0..H-1, so progress is integral. Jobs inside
one server have a fixed duration; only runs that span servers need contention levels.
"""

from itertools import pairwise

import pyomo.environ as pyo

from optsched.backends.relations import stated
from optsched.makespan.contention import Schedule
from optsched.makespan.models.data import MakespanModelData, grouped


def build(data: MakespanModelData) -> pyo.ConcreteModel:
    model = pyo.ConcreteModel(name="makespan")
    _add_sets(model, data)
    _add_runs(model, data)
    _add_placements(model, data)
    model.makespan = pyo.Objective(expr=model.last_end, doc="min C_max, in slots")
    families = [
        _add_one_run_per_job,
        _add_makespan,
        _add_gpu_demand,
        _add_held_gpus,
        _add_capacity,
        _add_levels,
        _add_link_use,
        _add_contention,
        _add_iterations,
    ]
    if data.pruned:
        families += [_add_server_order, _add_job_order]
    for add_family in families:
        data.deadline.check()
        add_family(model, data)
    return model


def read_schedule(model: pyo.ConcreteModel, data: MakespanModelData) -> Schedule:
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


def _add_sets(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    model.JOBS = pyo.Set(initialize=data.jobs, doc="j: jobs")
    model.SERVERS = pyo.Set(initialize=data.servers, doc="s: servers")
    model.SLOTS = pyo.Set(initialize=range(data.horizon), doc="t: slots")
    inside = [
        (j, s, a)
        for j in data.jobs
        for s in data.servers
        if data.can_run_inside(j, s)
        for a in data.starts(j, data.inside(j) or 0)
    ]
    model.INSIDE_RUNS = pyo.Set(dimen=3, initialize=inside, doc="(j, s, a): runs inside a server")
    spanning = [
        (j, k, a, d)
        for j in data.jobs
        for k in data.widths(j)
        for d in data.spanning_durations(j, k)
        for a in data.starts(j, d)
    ]
    model.SPANNING_RUNS = pyo.Set(dimen=4, initialize=spanning, doc="(j, k, a, d): spanning runs")
    model.SPANNERS = pyo.Set(
        initialize=sorted({j for j, *_ in spanning}), doc="jobs that may span servers"
    )
    widths = sorted({(j, k) for j, k, *_ in spanning})
    model.WIDTHS = pyo.Set(dimen=2, initialize=widths, doc="(j, k): servers of a spanning run")
    # By job, for the sums below.
    model.inside_runs_of = grouped((j, (s, a)) for j, s, a in inside)
    model.spanning_runs_of = grouped((j, (k, a, d)) for j, k, a, d in spanning)
    model.widths_of = grouped((j, k) for j, k in model.WIDTHS)


def _add_runs(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    model.inside_run = pyo.Var(
        model.INSIDE_RUNS, domain=pyo.Binary, doc="X: job j starts at a inside server s"
    )
    model.spanning_run = pyo.Var(
        model.SPANNING_RUNS,
        domain=pyo.Binary,
        doc="Y: job j starts at a over k servers and takes d slots",
    )
    model.last_end = pyo.Var(
        domain=pyo.Integers, bounds=(data.bound, data.horizon), doc="C_max: makespan, in slots"
    )
    running = grouped(
        ((j, k, t), (a, d)) for j, k, a, d in model.SPANNING_RUNS for t in range(a, a + d)
    )
    model.spans_over = pyo.Expression(
        model.WIDTHS,
        model.SLOTS,
        doc="A_k: whether job j runs over k servers in slot t",
        rule=lambda m, j, k, t: sum(
            m.spanning_run[j, k, a, d] for a, d in running.get((j, k, t), ())
        ),
    )
    model.spans = pyo.Expression(
        model.SPANNERS,
        model.SLOTS,
        doc="A: whether job j spans servers in slot t",
        rule=lambda m, j, t: sum(m.spans_over[j, k, t] for k in m.widths_of[j]),
    )
    model.spanning = pyo.Expression(
        model.SPANNERS,
        doc="whether job j spans servers at all",
        rule=lambda m, j: sum(m.spanning_run[j, k, a, d] for k, a, d in m.spanning_runs_of[j]),
    )
    model.servers_used = pyo.Expression(
        model.SPANNERS,
        doc="servers that a spanning job uses",
        rule=lambda m, j: sum(k * m.spanning_run[j, k, a, d] for k, a, d in m.spanning_runs_of[j]),
    )


def _add_one_run_per_job(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    @model.Constraint(model.JOBS, doc="(1) every job runs once")
    def runs_once(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        # sum_sa X_jsa + S_j = 1
        runs = sum(model.inside_run[j, s, a] for s, a in model.inside_runs_of.get(j, ()))
        return stated(model, runs + (model.spanning[j] if j in model.SPANNERS else 0) == 1)


def _add_makespan(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    @model.Constraint(model.JOBS, doc="(2) C_max is no earlier than any end")
    def ends(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        # C_max >= sum_sa (a + d1_j) X_jsa + sum_kad (a + d) Y_jkad
        alone = sum(
            (a + (data.inside(j) or 0)) * model.inside_run[j, s, a]
            for s, a in model.inside_runs_of.get(j, ())
        )
        spanning = sum(
            (a + d) * model.spanning_run[j, k, a, d]
            for k, a, d in model.spanning_runs_of.get(j, ())
        )
        return stated(model, model.last_end >= alone + spanning)


# Where they run: GPUs by server, (3)-(5).


def _add_placements(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    model.gpus = pyo.Var(
        model.SPANNERS,
        model.SERVERS,
        domain=pyo.Integers,
        bounds=lambda m, j, s: (0, data.max_gpus(j, s)),
        doc="y: GPUs of spanning job j on server s, in GPUs",
    )
    model.uses = pyo.Var(
        model.SPANNERS, model.SERVERS, domain=pyo.Binary, doc="z: spanning job j uses server s"
    )
    model.held = pyo.Var(
        model.SPANNERS,
        model.SERVERS,
        model.SLOTS,
        bounds=lambda m, j, s, t: (0, data.max_gpus(j, s)),
        doc="w: held by spanning job j on server s while slot t runs, in GPUs",
    )


def _add_gpu_demand(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    @model.Constraint(model.SPANNERS, doc="(3a) a spanning job gets G_j GPUs")
    def all_gpus(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        # sum_s y_js = G_j S_j
        placed = sum(model.gpus[j, s] for s in model.SERVERS)
        return placed == data.gpus(j) * model.spanning[j]

    @model.Constraint(model.SPANNERS, doc="(3b) number of servers of the chosen run")
    def all_servers(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        # sum_s z_js = sum_kad k Y_jkad
        return sum(model.uses[j, s] for s in model.SERVERS) == model.servers_used[j]

    @model.Constraint(
        model.SPANNERS, model.SERVERS, doc="(3c) at least one GPU on each used server"
    )
    def at_least_one(model: pyo.ConcreteModel, j: int, s: int) -> pyo.Expression:
        # z_js <= y_js
        return model.uses[j, s] <= model.gpus[j, s]

    @model.Constraint(model.SPANNERS, model.SERVERS, doc="(3d) GPUs only on used servers")
    def only_if_used(model: pyo.ConcreteModel, j: int, s: int) -> pyo.Expression:
        # y_js <= ymax_js z_js
        return model.gpus[j, s] <= data.max_gpus(j, s) * model.uses[j, s]


def _add_held_gpus(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    indices = (model.SPANNERS, model.SERVERS, model.SLOTS)

    @model.Constraint(*indices, doc="(4a) held GPUs = placed GPUs while running (lower)")
    def held_running(model: pyo.ConcreteModel, j: int, s: int, t: int) -> pyo.Expression:
        # w_jst >= y_js - ymax_js (1 - A_jt)
        return model.held[j, s, t] >= model.gpus[j, s] - data.max_gpus(j, s) * (
            1 - model.spans[j, t]
        )

    @model.Constraint(*indices, doc="(4b) held GPUs = placed GPUs while running (upper)")
    def held_no_more(model: pyo.ConcreteModel, j: int, s: int, t: int) -> pyo.Expression:
        # w_jst <= y_js
        return model.held[j, s, t] <= model.gpus[j, s]

    @model.Constraint(model.SPANNERS, model.SLOTS, doc="(4c) G_j GPUs in every slot it runs")
    def held_in_all(model: pyo.ConcreteModel, j: int, t: int) -> pyo.Expression:
        # sum_s w_jst = G_j A_jt
        held = sum(model.held[j, s, t] for s in model.SERVERS)
        return held == data.gpus(j) * model.spans[j, t]


def _add_capacity(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    running = grouped(
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


def _add_levels(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    model.LEVELS = pyo.Set(initialize=range(1, data.max_level + 1), doc="q: contending jobs")
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


def _add_link_use(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    indices = (model.SPANNERS, model.SERVERS, model.SLOTS)

    @model.Constraint(*indices, doc="(6a) a running job is on the links of its servers")
    def link_taken(model: pyo.ConcreteModel, j: int, s: int, t: int) -> pyo.Expression:
        # v_jst >= z_js + A_jt - 1
        return model.on_link[j, s, t] >= model.uses[j, s] + model.spans[j, t] - 1

    @model.Constraint(*indices, doc="(6b) only on links of its servers")
    def link_of_used(model: pyo.ConcreteModel, j: int, s: int, t: int) -> pyo.Expression:
        # v_jst <= z_js
        return model.on_link[j, s, t] <= model.uses[j, s]

    @model.Constraint(*indices, doc="(6c) a job holding GPUs uses the link")
    def link_of_holders(model: pyo.ConcreteModel, j: int, s: int, t: int) -> pyo.Expression:
        # ymax_js v_jst >= w_jst
        return data.max_gpus(j, s) * model.on_link[j, s, t] >= model.held[j, s, t]


def _add_contention(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    @model.Constraint(model.WIDTHS, model.SLOTS, doc="(7) one level while running")
    def one_level(model: pyo.ConcreteModel, j: int, k: int, t: int) -> pyo.Expression:
        # sum_q level_jktq = A_jkt
        levels = sum(model.level[j, k, t, q] for q in model.LEVELS)
        return levels == model.spans_over[j, k, t]

    @model.Constraint(
        model.SPANNERS,
        model.SERVERS,
        model.SLOTS,
        doc="(8) level >= contending jobs on each of its links",
    )
    def worst_link(model: pyo.ConcreteModel, j: int, s: int, t: int) -> pyo.Expression:
        # sum_kq q level_jktq >= sum_i v_ist - Q (1 - v_jst)
        level = sum(q * model.level[j, k, t, q] for k in model.widths_of[j] for q in model.LEVELS)
        contending = sum(model.on_link[i, s, t] for i in model.SPANNERS)
        return level >= contending - data.max_level * (1 - model.on_link[j, s, t])


def _add_iterations(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    @model.Constraint(model.SPANNERS, doc="(9) all F_j iterations are done")
    def iterations(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        # sum_ktq min(phi_j(k, q), F_j) / F_j level_jktq >= S_j
        done = sum(
            data.share_done(j, k, q) * model.level[j, k, t, q]
            for k in model.widths_of[j]
            for t in model.SLOTS
            for q in model.LEVELS
        )
        return done >= model.spanning[j]


# Symmetry breaking (10)-(11): swapping two servers of one size, or two interchangeable jobs, turns
# a schedule into another of the same makespan. Servers of one size are ordered by their GPU-slots,
# interchangeable jobs by their starts; renaming jobs changes no server's GPU-slots and renaming
# servers no start, so both can be imposed together.


def _add_server_order(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    by_server = grouped((s, (j, a)) for j, s, a in model.INSIDE_RUNS)
    sizes = grouped((data.capacity(s), s) for s in data.servers)
    model.EQUAL_SERVERS = pyo.Set(
        dimen=2,
        initialize=[pair for servers in sizes.values() for pair in pairwise(servers)],
        doc="consecutive servers of equal size",
    )

    def gpu_slots(s: int) -> pyo.Expression:
        inside = sum(
            data.gpus(j) * (data.inside(j) or 0) * model.inside_run[j, s, a]
            for j, a in by_server.get(s, ())
        )
        return inside + sum(model.held[j, s, t] for j in model.SPANNERS for t in model.SLOTS)

    @model.Constraint(model.EQUAL_SERVERS, doc="(10) equal servers in order of GPU-slots")
    def server_order(model: pyo.ConcreteModel, s: int, other: int) -> pyo.Expression:
        # sum_ja G_j d1_j X_jsa + sum_jt w_jst >= the same of the next equal server
        return stated(model, gpu_slots(s) >= gpu_slots(other))


def _add_job_order(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    model.EQUAL_JOBS = pyo.Set(
        dimen=2,
        initialize=[pair for jobs in data.interchangeable_jobs() for pair in pairwise(jobs)],
        doc="consecutive interchangeable jobs",
    )

    def start(j: int) -> pyo.Expression:
        inside, spanning = (x.get(j, ()) for x in (model.inside_runs_of, model.spanning_runs_of))
        alone = sum(a * model.inside_run[j, s, a] for s, a in inside)
        return alone + sum(a * model.spanning_run[j, k, a, d] for k, a, d in spanning)

    @model.Constraint(model.EQUAL_JOBS, doc="(11) interchangeable jobs in order of start")
    def job_order(model: pyo.ConcreteModel, j: int, other: int) -> pyo.Expression:
        # sum_sa a X_jsa + sum_kad a Y_jkad <= the same of the next interchangeable job
        return stated(model, start(j) <= start(other))
