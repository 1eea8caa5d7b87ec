"""The exact MILP of the makespan problem, and its contention-free relaxation, stated in Pyomo.

The mathematics, with the symbol table, is models/makespan/README.md; each component's ``doc``
carries the number of its equation there. Time is slots 0..H-1, so it is for "floor" only. Jobs in
one server have a fixed duration; only runs that span servers need contention levels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import pyomo.environ as pyo

from optsched.errors import NotApplicableError
from optsched.makespan.contention import Schedule
from optsched.makespan.durations import Durations, durations_of
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.progress import duration, iterations_per_slot

MOST_VARIABLES = 2_000_000


@dataclass(frozen=True)
class MakespanModelData:
    """What the model is built from.

    Attributes
    ----------
    horizon : int
        H: every job ends by then.
    bound : int
        LB on the makespan, slots.
    contention : bool
        False leaves (6)-(9) out and gives spanning runs their least duration: the relaxation.
    """

    instance: MakespanInstance
    durations: Durations
    horizon: int
    bound: int
    contention: bool

    @property
    def jobs(self) -> range:
        """j."""
        return range(len(self.instance.jobs))

    @property
    def servers(self) -> range:
        """s."""
        return range(len(self.instance.servers))

    def gpus(self, j: int) -> int:
        """G_j."""
        return self.instance.jobs[j].gpus

    def capacity(self, s: int) -> int:
        """O_s."""
        return self.instance.servers[s]

    def most(self, j: int, s: int) -> int:
        """c_js: most GPUs that a spanning job can have on a server."""
        return min(self.gpus(j) - 1, self.capacity(s))

    def inside(self, j: int) -> int | None:
        """d1_j: slots in one server, None if it makes no progress there."""
        slots = self.durations.inside[j]
        return None if math.isinf(slots) else int(slots)

    @cached_property
    def most_contending(self) -> int:
        """Q: no server is shared by more spanning jobs."""
        return min(sum(job.gpus >= 2 for job in self.instance.jobs), max(self.instance.servers))

    def widths(self, j: int) -> range:
        """k: numbers of servers a spanning run of job j can use."""
        fewest = max(2, int(self.durations.fewest[j]))
        return range(fewest, min(self.gpus(j), len(self.servers)) + 1)

    def speed(self, j: int, k: int, level: int) -> int:
        """phi_j(k, q): iterations a slot."""
        return int(iterations_per_slot(self.instance, self.instance.jobs[j], k, level))

    def spanning_durations(self, j: int, k: int) -> range:
        """d: slots a run over k servers can take, from alone to contended throughout."""
        job = self.instance.jobs[j]
        shortest = duration(self.instance, job, k, 1)
        if shortest > self.horizon:
            return range(0)
        if not self.contention:
            return range(int(shortest), int(shortest) + 1)
        longest = duration(self.instance, job, k, self.most_contending)
        return range(int(shortest), int(min(self.horizon, longest)) + 1)


def model_data(
    instance: MakespanInstance, horizon: int, bound: int, *, contention: bool = True
) -> MakespanModelData:
    """Gather the model's data.

    Raises
    ------
    NotApplicableError
        Under continuous progress, or if the model would have millions of variables.
    """
    name = "ilp" if contention else "ilp-relaxed"
    require_slots(name, instance)
    data = MakespanModelData(instance, durations_of(instance), horizon, bound, contention)
    size = model_size(data)
    if size > MOST_VARIABLES:
        raise NotApplicableError(
            name, f"about {size} variables", f"at most {MOST_VARIABLES}: fewer jobs or longer slots"
        )
    return data


def require_slots(method: str, instance: MakespanInstance) -> None:
    """Refuse continuous progress in a method's name; raises NotApplicableError."""
    if not instance.slotted:
        raise NotApplicableError(method, "progress=continuous", "floor: it works slot by slot")


def build(data: MakespanModelData) -> pyo.ConcreteModel:
    """State the model; see `models/makespan/README.md`."""
    model = pyo.ConcreteModel(name="makespan" if data.contention else "makespan-relaxed")
    _declare_sets(model, data)
    _declare_runs(model, data)
    _declare_placements(model, data)
    model.makespan = pyo.Objective(expr=model.last_end, doc="min C")
    _every_job_runs_once(model)
    _the_last_end_counts(model, data)
    _a_spanning_job_gets_its_gpus(model, data)
    _a_placement_is_held_while_running(model, data)
    _servers_hold_their_gpus(model, data)
    if data.contention:
        _declare_levels(model, data)
        _links_are_in_use(model, data)
        _levels_count_contending_jobs(model, data)
        _iterations_are_done(model, data)
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


def model_size(data: MakespanModelData) -> int:
    """Roughly the variables of the model, without building it."""
    size = 0
    for j in data.jobs:
        size += len(data.servers) * data.horizon
        for k in data.widths(j):
            size += data.horizon * len(data.spanning_durations(j, k))
            if data.contention:
                size += data.horizon * data.most_contending
        size += 2 * len(data.servers) * data.horizon if data.gpus(j) > 1 else 0
        if size > MOST_VARIABLES:
            break
    return size


def _declare_sets(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
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
    model.spans_wide = pyo.Expression(
        model.WIDTHS,
        model.SLOTS,
        doc="A_k: whether job j runs over k servers in slot t",
        rule=lambda m, j, k, t: sum(
            m.spanning_run[j, k, a, d] for a, d in m.spread[j, k] if a <= t < a + d
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


def _every_job_runs_once(model: pyo.ConcreteModel) -> None:
    inside = _grouped((j, (s, a)) for j, s, a in model.INSIDE_RUNS)

    @model.Constraint(model.JOBS, doc="(1) every job runs once")
    def runs_once(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        runs = sum(model.inside_run[j, s, a] for s, a in inside.get(j, ()))
        return _unless_constant(runs + (model.spanning[j] if j in model.SPANNERS else 0) == 1)


def _the_last_end_counts(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    inside = _grouped((j, (s, a)) for j, s, a in model.INSIDE_RUNS)
    spanning = _grouped((j, (k, a, d)) for j, k, a, d in model.SPANNING_RUNS)

    @model.Constraint(model.JOBS, doc="(2) C is no earlier than any end")
    def ends(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        alone = sum(
            (a + (data.inside(j) or 0)) * model.inside_run[j, s, a] for s, a in inside.get(j, ())
        )
        spread = sum((a + d) * model.spanning_run[j, k, a, d] for k, a, d in spanning.get(j, ()))
        return _unless_constant(model.last_end >= alone + spread)


def _a_spanning_job_gets_its_gpus(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    @model.Constraint(model.SPANNERS, doc="(3a) a spanning job gets G_j GPUs")
    def all_gpus(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        placed = sum(model.gpus[j, s] for s in model.SERVERS)
        return placed == data.gpus(j) * model.spanning[j]

    @model.Constraint(model.SPANNERS, doc="(3b) on as many servers as its run says")
    def all_servers(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        return sum(model.uses[j, s] for s in model.SERVERS) == model.servers_used[j]

    @model.Constraint(model.SPANNERS, model.SERVERS, doc="(3c) a server it uses gives a GPU")
    def at_least_one(model: pyo.ConcreteModel, j: int, s: int) -> pyo.Expression:
        return model.uses[j, s] <= model.gpus[j, s]

    @model.Constraint(model.SPANNERS, model.SERVERS, doc="(3d) only a server it uses gives GPUs")
    def only_if_used(model: pyo.ConcreteModel, j: int, s: int) -> pyo.Expression:
        return model.gpus[j, s] <= data.most(j, s) * model.uses[j, s]


def _a_placement_is_held_while_running(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    indices = (model.SPANNERS, model.SERVERS, model.SLOTS)

    @model.Constraint(*indices, doc="(4a) a running job holds what it was given")
    def held_running(model: pyo.ConcreteModel, j: int, s: int, t: int) -> pyo.Expression:
        return model.held[j, s, t] >= model.gpus[j, s] - data.most(j, s) * (1 - model.spans[j, t])

    @model.Constraint(*indices, doc="(4b) and no more")
    def held_no_more(model: pyo.ConcreteModel, j: int, s: int, t: int) -> pyo.Expression:
        return model.held[j, s, t] <= model.gpus[j, s]

    @model.Constraint(model.SPANNERS, model.SLOTS, doc="(4c) G_j GPUs in every slot it runs")
    def held_in_all(model: pyo.ConcreteModel, j: int, t: int) -> pyo.Expression:
        held = sum(model.held[j, s, t] for s in model.SERVERS)
        return held == data.gpus(j) * model.spans[j, t]


def _servers_hold_their_gpus(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    by_server = _grouped((s, (j, a)) for j, s, a in model.INSIDE_RUNS)

    @model.Constraint(model.SERVERS, model.SLOTS, doc="(5) a server runs at most O_s GPUs")
    def capacity(model: pyo.ConcreteModel, s: int, t: int) -> pyo.Expression:
        inside = sum(
            data.gpus(j) * model.inside_run[j, s, a]
            for j, a in by_server.get(s, ())
            if a <= t < a + (data.inside(j) or 0)
        )
        spread = sum(model.held[j, s, t] for j in model.SPANNERS)
        return _unless_constant(inside + spread <= data.capacity(s))


def _links_are_in_use(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    indices = (model.SPANNERS, model.SERVERS, model.SLOTS)

    @model.Constraint(*indices, doc="(6a) a running job is on the links of its servers")
    def link_taken(model: pyo.ConcreteModel, j: int, s: int, t: int) -> pyo.Expression:
        return model.on_link[j, s, t] >= model.uses[j, s] + model.spans[j, t] - 1

    @model.Constraint(*indices, doc="(6b) on no others")
    def link_of_used(model: pyo.ConcreteModel, j: int, s: int, t: int) -> pyo.Expression:
        return model.on_link[j, s, t] <= model.uses[j, s]

    @model.Constraint(*indices, doc="(6c) whoever holds GPUs is on the link")
    def link_of_holders(model: pyo.ConcreteModel, j: int, s: int, t: int) -> pyo.Expression:
        return data.most(j, s) * model.on_link[j, s, t] >= model.held[j, s, t]


def _levels_count_contending_jobs(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    widths = _grouped((j, k) for j, k in model.WIDTHS)

    @model.Constraint(model.WIDTHS, model.SLOTS, doc="(7) one level while running")
    def one_level(model: pyo.ConcreteModel, j: int, k: int, t: int) -> pyo.Expression:
        levels = sum(model.level[j, k, t, q] for q in model.LEVELS)
        return levels == model.spans_wide[j, k, t]

    @model.Constraint(
        model.SPANNERS, model.SERVERS, model.SLOTS, doc="(8) as high as on its worst link"
    )
    def worst_link(model: pyo.ConcreteModel, j: int, s: int, t: int) -> pyo.Expression:
        level = sum(q * model.level[j, k, t, q] for k in widths[j] for q in model.LEVELS)
        contending = sum(model.on_link[i, s, t] for i in model.SPANNERS)
        return level >= contending - data.most_contending * (1 - model.on_link[j, s, t])


def _iterations_are_done(model: pyo.ConcreteModel, data: MakespanModelData) -> None:
    widths = _grouped((j, k) for j, k in model.WIDTHS)

    @model.Constraint(model.SPANNERS, doc="(9) all F_j iterations are done")
    def iterations(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        needed = data.instance.jobs[j].iterations
        done = sum(
            min(data.speed(j, k, q), needed) / needed * model.level[j, k, t, q]
            for k in widths[j]
            for t in model.SLOTS
            for q in model.LEVELS
        )
        return done >= model.spanning[j]


def _grouped(pairs: Iterable[tuple]) -> dict:
    """Second parts by first ones, in order."""
    groups: dict = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def _unless_constant(relation: pyo.Expression) -> pyo.Expression:
    """A relation whose terms have all been left out holds or fails as it stands."""
    if isinstance(relation, bool):
        return pyo.Constraint.Feasible if relation else pyo.Constraint.Infeasible
    return relation
