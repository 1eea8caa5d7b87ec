"""Problem (8) of a-srpt with everything known, stated in Pyomo.

The mathematics, with the symbol table, is models/online/README.md; each component's ``doc`` carries
the number of its equation there. Time is slots of S seconds; lengths are not rounded, but a job's
GPUs serve the next start only from the slot after its end.
"""

from itertools import pairwise

import pyomo.environ as pyo

from optsched.backends.relations import stated
from optsched.deadline import Deadline
from optsched.makespan.models.data import grouped
from optsched.online.models.data import OfflineData, Run

Part = tuple[int, int]
"""Server and GPUs."""


def build(data: OfflineData, deadline: Deadline | None = None) -> pyo.ConcreteModel:
    """State the model; see `models/online/README.md`. Raises OutOfTimeError at a deadline."""
    model = pyo.ConcreteModel(name="online-offline")
    families = [
        _add_sets,
        _add_runs,
        _add_objective,
        _add_one_run_per_job,
        _add_parts,
        _add_held_gpus,
        _add_capacity,
    ]
    if data.windows:
        families.append(_add_windows)
    if data.quotas:
        families.append(_add_quotas)
    if data.pruned:
        families.append(_add_server_order)
    for add_family in families:
        if deadline is not None:
            deadline.check()
        add_family(model, data)
    return model


def set_start(
    model: pyo.ConcreteModel, data: OfflineData, plan: list[tuple[Run, list[Part]]]
) -> None:
    """Give the variables the values of a schedule; servers of a class are put in their order."""
    for variable in model.component_data_objects(pyo.Var):
        variable.set_value(0)
    total = dict.fromkeys(model.SERVERS, 0)
    for _, parts in plan:
        for m, gpus in parts:
            total[m] += gpus
    position: dict[int, int] = {}
    for servers in data.server_classes:
        by_use = sorted(servers, key=lambda m: (-total[m], m))
        position |= zip(by_use, servers, strict=True)
    for run, parts in plan:
        model.starts[run].set_value(1)
        for m, gpus in parts:
            model.part[run.job, position[m], gpus].set_value(1)
            for t in range(run.start, run.start + data.slots(run.job, run.occupancy)):
                model.held[run.job, position[m], t].set_value(gpus)


def read_plan(model: pyo.ConcreteModel) -> list[tuple[Run, list[Part]]]:
    """Each job's run and parts by the values in the model."""
    parts: dict[int, list[Part]] = {i: [] for i in model.JOBS}
    for i, m, gpus in model.part:
        if pyo.value(model.part[i, m, gpus]) > 0.5:
            parts[i].append((m, gpus))
    runs = (Run(*index) for index in model.RUNS if pyo.value(model.starts[index]) > 0.5)
    return [(run, parts[run.job]) for run in runs]


def _add_sets(model: pyo.ConcreteModel, data: OfflineData) -> None:
    runs, servers = data.runs, range(data.jobs.cluster.num_servers)
    active = [
        ((i, t), (name, start))
        for i, name, start in runs
        for t in range(start, start + data.slots(i, name))
    ]
    parts = {(i, int(q)) for i, name in data.choices for q in name.split("+")}
    model.JOBS = pyo.Set(initialize=range(len(data.jobs)), doc="i: jobs")
    model.SERVERS = pyo.Set(initialize=servers, doc="m: servers")
    model.RUNS = pyo.Set(dimen=3, initialize=runs, doc="(i, o, t): runs of occupancy o from slot t")
    model.PARTS = pyo.Set(dimen=2, initialize=sorted(parts), doc="(i, q): GPUs on a server")
    model.ACTIVE = pyo.Set(
        dimen=2, initialize=sorted({at for at, _ in active}), doc="(i, t): slots a job may run in"
    )
    model.SLOTS = pyo.Set(initialize=sorted({t for _, t in model.ACTIVE}), doc="t: slots")
    # By job, and by job and slot, for the sums below.
    model.runs_of = grouped((i, (name, t)) for i, name, t in runs)
    model.runs_over = grouped(active)
    model.parts_of = grouped(sorted(parts))


def _add_runs(model: pyo.ConcreteModel, data: OfflineData) -> None:
    model.starts = pyo.Var(
        model.RUNS, domain=pyo.Binary, doc="y: job i starts in slot t with occupancy o"
    )
    gpus = data.jobs.cluster.server_gpus.tolist()
    model.part = pyo.Var(
        [(i, m, q) for i, q in model.PARTS for m in model.SERVERS],
        domain=pyo.Binary,
        bounds=lambda model, i, m, q: (0, int(q <= gpus[m])),
        doc="p: job i has q GPUs on server m",
    )
    model.held = pyo.Var(
        [(i, m, t) for i, t in model.ACTIVE for m in model.SERVERS],
        bounds=lambda model, i, m, t: (0, max(model.parts_of[i])),
        doc="u: held by job i on server m in slot t, in GPUs",
    )
    model.running = pyo.Expression(
        model.ACTIVE,
        doc="A: whether job i runs in slot t",
        rule=lambda model, i, t: sum(model.starts[i, o, s] for o, s in model.runs_over[i, t]),
    )


def _add_objective(model: pyo.ConcreteModel, data: OfflineData) -> None:
    # min sum_iot (t + (d_io - r_i) / S) y_iot
    flow = sum(data.flow(Run(*run)) * model.starts[run] for run in model.RUNS)
    model.total_flow = pyo.Objective(expr=flow, doc="(8) min total flow, in slots")


def _add_one_run_per_job(model: pyo.ConcreteModel, data: OfflineData) -> None:
    @model.Constraint(model.JOBS, doc="(8a) every job runs once")
    def runs_once(model: pyo.ConcreteModel, i: int) -> pyo.Expression:
        # sum_ot y_iot = 1, t >= r_i / S
        return stated(model, sum(model.starts[i, o, t] for o, t in model.runs_of.get(i, ())) == 1)


def _add_parts(model: pyo.ConcreteModel, data: OfflineData) -> None:
    @model.Constraint(model.PARTS, doc="(8b) servers as the occupancy has parts")
    def all_parts(model: pyo.ConcreteModel, i: int, q: int) -> pyo.Expression:
        # sum_m p_imq = sum_ot mult_q(o) y_iot
        count = {name: name.split("+").count(str(q)) for name, _ in model.runs_of.get(i, ())}
        needed = sum(count[o] * model.starts[i, o, t] for o, t in model.runs_of.get(i, ()))
        return sum(model.part[i, m, q] for m in model.SERVERS) == needed

    @model.Constraint(model.JOBS, model.SERVERS, doc="(8c) one part of a job on a server at most")
    def one_part(model: pyo.ConcreteModel, i: int, m: int) -> pyo.Expression:
        # sum_q p_imq <= 1
        return sum(model.part[i, m, q] for q in model.parts_of[i]) <= 1


def _add_held_gpus(model: pyo.ConcreteModel, data: OfflineData) -> None:
    @model.Constraint(model.ACTIVE, model.SERVERS, doc="(8d) parts are held while the job runs")
    def held_running(model: pyo.ConcreteModel, i: int, t: int, m: int) -> pyo.Expression:
        # u_imt >= sum_q q p_imq - c_i (1 - A_it)
        gpus = sum(q * model.part[i, m, q] for q in model.parts_of[i])
        most = max(model.parts_of[i])
        return model.held[i, m, t] >= gpus - most * (1 - model.running[i, t])


def _add_capacity(model: pyo.ConcreteModel, data: OfflineData) -> None:
    jobs_in = grouped((t, i) for i, t in model.ACTIVE)
    gpus = data.jobs.cluster.server_gpus.tolist()

    @model.Constraint(model.SERVERS, model.SLOTS, doc="(8e) a server has g GPUs")
    def capacity(model: pyo.ConcreteModel, m: int, t: int) -> pyo.Expression:
        # sum_i u_imt <= g_m
        return sum(model.held[i, m, t] for i in jobs_in[t]) <= gpus[m]

    @model.Constraint(model.SLOTS, doc="(8f) the cluster has G GPUs")
    def total_capacity(model: pyo.ConcreteModel, t: int) -> pyo.Expression:
        # sum_i g_i A_it <= G
        used = sum(int(data.jobs.gpus[i]) * model.running[i, t] for i in jobs_in[t])
        return used <= data.jobs.cluster.gpus


def _add_windows(model: pyo.ConcreteModel, data: OfflineData) -> None:
    windows = [(w, m) for w, window in enumerate(data.windows) for m in window.servers]
    model.WINDOWS = pyo.Set(dimen=2, initialize=windows, doc="(w, m): window w closes server m")
    reaching = grouped(((run.job, w), run) for run in data.runs for w in data.reached(run))

    @model.Constraint(model.JOBS, model.WINDOWS, doc="(8h) no job reaches into a window")
    def outside_windows(model: pyo.ConcreteModel, i: int, w: int, m: int) -> pyo.Expression:
        # sum_q p_imq + sum_ot y_iot <= 1, over the runs that reach into w
        if (i, w) not in reaching:
            return pyo.Constraint.Skip
        parts = sum(model.part[i, m, q] for q in model.parts_of[i])
        return parts + sum(model.starts[run] for run in reaching[i, w]) <= 1


def _add_quotas(model: pyo.ConcreteModel, data: OfflineData) -> None:
    model.QUOTAS = pyo.Set(initialize=range(len(data.quotas)), doc="k: users and groups' quotas")

    @model.Constraint(model.QUOTAS, model.SLOTS, doc="(8i) the jobs of a quota hold no more GPUs")
    def within_quota(model: pyo.ConcreteModel, k: int, t: int) -> pyo.Expression:
        # sum_i g_i A_it <= Q_k, over the jobs of k
        quota, jobs = data.quotas[k]
        active = [i for i in jobs if (i, t) in model.ACTIVE]
        used = sum(int(data.jobs.gpus[i]) * model.running[i, t] for i in active)
        return stated(model, used <= quota)


# Symmetry breaking: renaming servers of a class turns a schedule into another of the same flow.


def _add_server_order(model: pyo.ConcreteModel, data: OfflineData) -> None:
    following = {m: other for servers in data.server_classes for m, other in pairwise(servers)}

    def gpus(m: int) -> pyo.Expression:
        return sum(q * model.part[i, m, q] for i, q in model.PARTS)

    @model.Constraint(list(following), doc="(8g) equal servers in order of their jobs' GPUs")
    def server_order(model: pyo.ConcreteModel, m: int) -> pyo.Expression:
        # sum_iq q p_imq >= the same of the next server of its class
        return gpus(m) >= gpus(following[m])
