"""The relaxation by pools, and method ``ilp-relaxed``: equal servers count as one, links are free.

Which of many equal servers a job stands in is what makes the slot-by-slot models slow to prove;
here nothing distinguishes them. A way to run a job is how many GPUs it has of each size of server:
in one server, or over no fewer servers than hold them, alone on its links. Every schedule satisfies
(P1) to (P4) of models/makespan/README.md, so the optimum is a lower bound on the makespan. With
(P5) no two jobs share a link: that is no bound, but a plan for the full model (`formulation`),
which then has to choose only servers, and the starts of jobs of one GPU, that fit in anywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import pyomo.environ as pyo

from optsched.backends import require_solver
from optsched.backends import sizes as limits
from optsched.backends.relations import stated
from optsched.backends.sizes import refuse_many_nonzeros, require_time
from optsched.deadline import clock
from optsched.makespan.bounds.best import Bound, best_bound
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.exact.starting_schedules import take_starting_schedules
from optsched.makespan.incumbent import SEARCH_SHARE, Incumbent
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.models.data import (
    MakespanModelData,
    Plan,
    Planned,
    Solved,
    solve_slots,
)
from optsched.makespan.options import MakespanOptions
from optsched.result import Outcome, Settings, Termination


@dataclass(frozen=True)
class Way:
    """A way to run a job: its GPUs by size of server, its slots, and whether in one server."""

    gpus: tuple[int, ...]
    slots: int
    inside: bool


@dataclass(frozen=True)
class Pools:
    """What the model is built from: the slotted models' data, by size of server.

    Attributes
    ----------
    apart : bool
        Whether no two jobs may share a link: (P5).
    """

    data: MakespanModelData
    apart: bool

    @cached_property
    def servers(self) -> dict[int, int]:
        """Servers by size, the largest first."""
        return dict(sorted(Counter(self.data.instance.servers).items(), reverse=True))

    @cached_property
    def ways(self) -> list[list[Way]]:
        """By job: its ways that end by the horizon, of equal GPUs the shortest."""
        found, total = [], 0
        for j in self.data.jobs:
            best: dict[tuple[int, ...], Way] = {}
            for way in self._ways(j):
                if way.gpus not in best or way.slots < best[way.gpus].slots:
                    total += self._nonzeros(way)
                    best[way.gpus] = way
                if total > limits.MOST_NONZEROS:
                    break
            require_time(self.data.deadline, total)
            refuse_many_nonzeros("ilp-relaxed", total, "fewer jobs or longer slots")
            found.append(list(best.values()))
        return found

    @property
    def nonzeros(self) -> int:
        """Roughly those of the model."""
        return sum(self._nonzeros(way) for ways in self.ways for way in ways)

    def starts(self, way: Way) -> range:
        """a: slots at which a run may start to end by the horizon."""
        return range(self.data.horizon - way.slots + 1)

    def _nonzeros(self, way: Way) -> int:
        pools = sum(gpus > 0 for gpus in way.gpus)
        return len(self.starts(way)) * (4 + pools * way.slots)

    def _ways(self, j: int) -> Iterator[Way]:
        gpus, inside = self.data.gpus(j), self.data.inside(j)
        if inside is not None and inside <= self.data.horizon:
            for size in self.servers:
                if gpus <= size:
                    own = tuple(gpus if other == size else 0 for other in self.servers)
                    yield Way(own, inside, True)
        shortest = {
            k: lengths[0]
            for k in self.data.widths(j)
            if len(lengths := self.data.spanning_durations(j, k))
        }
        for share in _shares(gpus, list(self.servers.items())) if shortest else ():
            fewest = sum(-(-part // size) for part, size in zip(share, self.servers, strict=True))
            if max(2, fewest) in shortest:
                yield Way(share, shortest[max(2, fewest)], False)


def ilp_relaxed(
    instance: MakespanInstance, options: MakespanOptions, settings: Settings
) -> Outcome:
    """Minimise the makespan of the relaxation; the outcome has a bound and no schedule."""
    require_solver(settings.solver)
    incumbent, status = Incumbent(instance, settings), Termination.OPTIMAL
    with incumbent.working():
        take_starting_schedules(incumbent, settings)
        incumbent.bounded(settings.deadline.share(SEARCH_SHARE), contention=False)
        top = int(min(incumbent.value, instance.horizon))
        low = int(incumbent.bound.value)
        if low < incumbent.value and not incumbent.impossible:
            solved = solve_pools(instance, top, low, settings, apart=False)
            incumbent.note(solved.answer)
            status = solved.answer.termination
            incumbent.prove(Bound(float(solved.bound), "relaxation"))
    return incumbent.bound_alone(status, "a bound: the relaxation has no schedule")


def model(
    instance: MakespanInstance, options: MakespanOptions, *, pruned: bool = False
) -> pyo.ConcreteModel:
    """Build the relaxation; a pruned one orders the starts of equal jobs."""
    durations = durations_of(instance)
    low = min(int(best_bound(instance, contention=False).value), instance.horizon)
    data = MakespanModelData(instance, durations, instance.horizon, low, False, pruned=pruned)
    pools = Pools(data, False)
    refuse_many_nonzeros("ilp-relaxed", pools.nonzeros, "fewer jobs, longer slots")
    return build(pools)


def solve_pools(
    instance: MakespanInstance, horizon: int, low: int, settings: Settings, *, apart: bool
) -> Solved:
    """Build and solve the relaxation by pools."""
    began = clock()
    durations, deadline = durations_of(instance), settings.deadline
    pools = Pools(MakespanModelData(instance, durations, horizon, low, False, deadline), apart)
    require_time(settings.deadline, pools.nonzeros)
    model = build(pools)
    solved = solve_slots(model, low, horizon, settings, clock() - began)
    plan = read_plan(model, pools) if solved.answer.has_solution else None
    return replace(solved, plan=plan)


def build(pools: Pools) -> pyo.ConcreteModel:
    """State the model; see `models/makespan/README.md`. Raises OutOfTimeError at a deadline."""
    data = pools.data
    model = pyo.ConcreteModel(name="makespan-pools")
    runs = [
        (j, i, a)
        for j, ways in enumerate(pools.ways)
        for i, way in enumerate(ways)
        for a in pools.starts(way)
    ]
    model.JOBS = pyo.Set(initialize=data.jobs, doc="j")
    model.RUNS = pyo.Set(dimen=3, initialize=runs, doc="(j, i, a)")
    model.run = pyo.Var(model.RUNS, domain=pyo.Binary, doc="R: job j starts at a in its way i")
    model.last_end = pyo.Var(
        domain=pyo.Integers, bounds=(data.bound, data.horizon), doc="C: the makespan, slots"
    )
    model.makespan = pyo.Objective(expr=model.last_end, doc="min C")
    of_job: list[list[tuple[int, int]]] = [[] for _ in data.jobs]
    held: dict[tuple[int, int], list] = {}
    linked: dict[tuple[int, int], list] = {}
    for j, i, a in runs:
        of_job[j].append((i, a))
        way = pools.ways[j][i]
        for size, gpus in zip(pools.servers, way.gpus, strict=True):
            for t in range(a, a + way.slots) if gpus else ():
                held.setdefault((size, t), []).append(gpus * model.run[j, i, a])
                if pools.apart and not way.inside:
                    servers = -(-gpus // size)
                    linked.setdefault((size, t), []).append(servers * model.run[j, i, a])
    data.deadline.check()

    @model.Constraint(model.JOBS, doc="(P1) every job runs once, in one way")
    def runs_once(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        # sum_ia R_jia = 1
        return stated(model, sum(model.run[j, i, a] for i, a in of_job[j]) == 1)

    @model.Constraint(model.JOBS, doc="(P2) C is no earlier than any end")
    def ends(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        # C >= sum_ia (a + d_ji) R_jia
        ways = pools.ways[j]
        return stated(
            model,
            model.last_end >= sum((a + ways[i].slots) * model.run[j, i, a] for i, a in of_job[j]),
        )

    data.deadline.check()

    model.POOL_SLOTS = pyo.Set(dimen=2, initialize=list(held), doc="(c, t)")

    @model.Constraint(model.POOL_SLOTS, doc="(P3) servers of one size run at most their GPUs")
    def capacity(model: pyo.ConcreteModel, size: int, t: int) -> pyo.Expression:
        # sum_ji g_jic sum_{a <= t < a + d_ji} R_jia <= c N_c
        return sum(held[size, t]) <= size * pools.servers[size]

    data.deadline.check()
    if data.pruned:
        alike: dict = {}
        for j in data.jobs:
            alike.setdefault(data.likeness(j), []).append(j)
        neighbours = [pair for jobs in alike.values() for pair in pairwise(jobs)]
        model.EQUAL_JOBS = pyo.Set(
            dimen=2, initialize=neighbours, doc="neighbours among jobs that are alike"
        )

        @model.Constraint(model.EQUAL_JOBS, doc="(P4) of jobs alike the first starts first")
        def job_order(model: pyo.ConcreteModel, j: int, other: int) -> pyo.Expression:
            # sum_ia a R_jia <= the same of the next job alike
            first, second = (sum(a * model.run[x, i, a] for i, a in of_job[x]) for x in (j, other))
            return stated(model, first <= second)

    if pools.apart:

        @model.Constraint(list(linked), doc="(P5) no link is shared")
        def links(model: pyo.ConcreteModel, size: int, t: int) -> pyo.Expression:
            # sum_ji ceil(g_jic / c) sum_{a <= t < a + d_ji} R_jia <= N_c, runs inside left out
            return sum(linked[size, t]) <= pools.servers[size]

    return model


def read_plan(model: pyo.ConcreteModel, pools: Pools) -> Plan:
    """Of each job of several GPUs its start, and the size of its server if it is in one."""
    plan: list[Planned | None] = [None] * len(pools.ways)
    for j, i, a in model.RUNS:
        if pools.data.gpus(j) > 1 and pyo.value(model.run[j, i, a]) > 0.5:
            way = pools.ways[j][i]
            largest = max(zip(way.gpus, pools.servers, strict=True))[1]
            plan[j] = Planned(a, largest if way.inside else None)
    return tuple(plan)


def _shares(gpus: int, servers: list[tuple[int, int]]) -> Iterator[tuple[int, ...]]:
    """Every way to take so many GPUs of servers by (size, how many)."""
    (size, many), *others = servers
    if not others:
        if gpus <= size * many:
            yield (gpus,)
        return
    for taken in range(min(gpus, size * many) + 1):
        for rest in _shares(gpus - taken, others):
            yield (taken, *rest)
