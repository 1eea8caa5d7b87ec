"""Method ``ilp-relaxed``: identical servers are aggregated into pools, contention is ignored.

Symmetry between equal servers slows the time-indexed model; pools remove it. A configuration of a
job is its GPUs by server capacity: in one server, or over no fewer servers than hold them, alone on
its links. Every schedule satisfies (P1) to (P4) of models/makespan/README.md, so the optimum is a
lower bound on the makespan. With (P5) no two jobs share a link: that is no bound, but a plan for
the full model (`formulation`), which then only assigns servers and schedules the 1-GPU jobs.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import pyomo.environ as pyo

from optsched.backends import sizes as limits
from optsched.backends.pyomo_solvers import require_solver
from optsched.backends.relations import stated
from optsched.backends.sizes import refuse_many_nonzeros, require_time
from optsched.deadline import clock
from optsched.makespan.bounds.best import Bound, best_bound
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.exact.starting_schedules import take_starting_schedules
from optsched.makespan.incumbent import SEARCH_TIME_SHARE, Incumbent
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.models.data import (
    FixedDecision,
    MakespanModelData,
    Plan,
    SlottedResult,
    solve_slots,
)
from optsched.makespan.options import MakespanOptions
from optsched.result import Outcome, Settings, Termination


class Configuration(NamedTuple):
    """GPUs of a job by server capacity, its slots, and whether it runs inside one server."""

    gpus: tuple[int, ...]
    slots: int
    inside: bool


class Pools:
    """Servers by capacity and configurations by job; refuses what is too large or too slow."""

    def __init__(self, data: MakespanModelData, *, no_link_sharing: bool = False) -> None:
        self.data, self.no_link_sharing = data, no_link_sharing
        self.servers = dict(sorted(Counter(data.instance.servers).items(), reverse=True))
        self.configurations: list[list[Configuration]] = []
        nonzeros = 0
        for j in data.jobs:
            best: dict[tuple[int, ...], Configuration] = {}
            for candidate in self._configurations(j):
                gpus, slots, _ = candidate
                if gpus not in best or slots < best[gpus].slots:
                    pools = sum(count > 0 for count in gpus)
                    nonzeros += len(self.starts(candidate)) * (4 + pools * slots)
                    best[gpus] = candidate
                if nonzeros > limits.MAX_NONZEROS:
                    break
            require_time(data.deadline, nonzeros)
            refuse_many_nonzeros("ilp-relaxed", nonzeros, "fewer jobs or longer slots")
            self.configurations.append(list(best.values()))

    def starts(self, configuration: Configuration) -> range:
        """a: slots at which a run may start to end by the horizon."""
        return range(self.data.horizon - configuration.slots + 1)

    def _configurations(self, j: int) -> Iterator[Configuration]:
        gpus, inside = self.data.gpus(j), self.data.inside(j)
        if inside is not None and inside <= self.data.horizon:
            for size in self.servers:
                if gpus <= size:
                    by_size = tuple(gpus if other == size else 0 for other in self.servers)
                    yield Configuration(by_size, inside, True)
        shortest = {
            k: lengths[0]
            for k in self.data.widths(j)
            if len(lengths := self.data.spanning_durations(j, k))
        }
        for split in _pool_splits(gpus, list(self.servers.items())) if shortest else ():
            fewest = sum(-(-part // size) for part, size in zip(split, self.servers, strict=True))
            if max(2, fewest) in shortest:
                yield Configuration(split, shortest[max(2, fewest)], False)


def _pool_splits(gpus: int, servers: list[tuple[int, int]]) -> Iterator[tuple[int, ...]]:
    """Every split of a number of GPUs over pools of (capacity, servers)."""
    (size, count), *others = servers
    if not others:
        if gpus <= size * count:
            yield (gpus,)
        return
    for taken in range(min(gpus, size * count) + 1):
        for rest in _pool_splits(gpus - taken, others):
            yield (taken, *rest)


def ilp_relaxed(
    instance: MakespanInstance, options: MakespanOptions, settings: Settings
) -> Outcome:
    """Minimise the makespan of the relaxation; the outcome has a bound and no schedule."""
    require_solver(settings.solver)
    incumbent, status = Incumbent(instance, settings), Termination.OPTIMAL
    with incumbent.until_deadline():
        take_starting_schedules(incumbent, settings)
        incumbent.compute_bound(settings.deadline.share(SEARCH_TIME_SHARE), contention=False)
        top = int(min(incumbent.value, instance.horizon))
        low = int(incumbent.bound.value)
        if low < incumbent.value and not incumbent.is_infeasible:
            result = solve_pools(instance, top, low, settings)
            incumbent.record_answer(result.answer)
            status = result.answer.termination
            incumbent.update_bound(Bound(float(result.bound), "relaxation"))
    return incumbent.bound_outcome(status, "ilp-relaxed gives a lower bound only, no schedule")


def model(
    instance: MakespanInstance, options: MakespanOptions, *, pruned: bool = False
) -> pyo.ConcreteModel:
    """Build the relaxation; a pruned one orders the starts of interchangeable jobs."""
    durations = durations_of(instance)
    low = min(int(best_bound(instance, contention=False).value), instance.horizon)
    data = MakespanModelData(instance, durations, instance.horizon, low, False, pruned=pruned)
    return build(Pools(data))


def solve_pools(
    instance: MakespanInstance,
    horizon: int,
    low: int,
    settings: Settings,
    *,
    no_link_sharing: bool = False,
) -> SlottedResult:
    began = clock()
    durations, deadline = durations_of(instance), settings.deadline
    data = MakespanModelData(instance, durations, horizon, low, False, deadline)
    pools = Pools(data, no_link_sharing=no_link_sharing)
    model = build(pools)
    result = solve_slots(model, low, horizon, settings, clock() - began)
    plan = read_plan(model, pools) if result.answer.has_solution else None
    return replace(result, plan=plan)


def build(pools: Pools) -> pyo.ConcreteModel:
    data, configurations = pools.data, pools.configurations
    # Sets and variables.
    model = pyo.ConcreteModel(name="makespan-pools")
    runs = [
        (j, i, a)
        for j in data.jobs
        for i, configuration in enumerate(configurations[j])
        for a in pools.starts(configuration)
    ]
    model.JOBS = pyo.Set(initialize=data.jobs, doc="j: jobs")
    model.RUNS = pyo.Set(dimen=3, initialize=runs, doc="(j, i, a): runs in configuration i")
    model.run = pyo.Var(
        model.RUNS, domain=pyo.Binary, doc="R: job j starts at a in its configuration i"
    )
    model.last_end = pyo.Var(
        domain=pyo.Integers, bounds=(data.bound, data.horizon), doc="C_max: makespan, in slots"
    )
    model.makespan = pyo.Objective(expr=model.last_end, doc="min C_max, in slots")
    # Terms of the sums: runs by job, GPUs and links by (capacity, slot).
    of_job: list[list[tuple[int, int]]] = [[] for _ in data.jobs]
    held: dict[tuple[int, int], list] = {}
    linked: dict[tuple[int, int], list] = {}
    for j, i, a in runs:
        of_job[j].append((i, a))
        configuration = configurations[j][i]
        for size, gpus in zip(pools.servers, configuration.gpus, strict=True):
            for t in range(a, a + configuration.slots) if gpus else ():
                held.setdefault((size, t), []).append(gpus * model.run[j, i, a])
                if pools.no_link_sharing and not configuration.inside:
                    servers = -(-gpus // size)
                    linked.setdefault((size, t), []).append(servers * model.run[j, i, a])
    data.deadline.check()

    # Constraints.
    @model.Constraint(model.JOBS, doc="(P1) every job runs once, in one configuration")
    def runs_once(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        # sum_ia R_jia = 1
        return stated(model, sum(model.run[j, i, a] for i, a in of_job[j]) == 1)

    @model.Constraint(model.JOBS, doc="(P2) C_max is no earlier than any end")
    def ends(model: pyo.ConcreteModel, j: int) -> pyo.Expression:
        # C_max >= sum_ia (a + d_ji) R_jia
        end = sum((a + configurations[j][i].slots) * model.run[j, i, a] for i, a in of_job[j])
        return stated(model, model.last_end >= end)

    data.deadline.check()
    model.POOL_SLOTS = pyo.Set(dimen=2, initialize=list(held), doc="(c, t): size of server, slot")

    @model.Constraint(model.POOL_SLOTS, doc="(P3) servers of one size run at most their GPUs")
    def capacity(model: pyo.ConcreteModel, size: int, t: int) -> pyo.Expression:
        # sum_ji g_jic sum_{a <= t < a + d_ji} R_jia <= c N_c
        return sum(held[size, t]) <= size * pools.servers[size]

    data.deadline.check()
    if data.pruned:
        pairs = [pair for jobs in data.interchangeable_jobs() for pair in pairwise(jobs)]
        model.EQUAL_JOBS = pyo.Set(
            dimen=2, initialize=pairs, doc="consecutive interchangeable jobs"
        )

        @model.Constraint(model.EQUAL_JOBS, doc="(P4) interchangeable jobs in order of start")
        def job_order(model: pyo.ConcreteModel, j: int, other: int) -> pyo.Expression:
            # sum_ia a R_jia <= the same of the next interchangeable job
            first, second = (sum(a * model.run[x, i, a] for i, a in of_job[x]) for x in (j, other))
            return stated(model, first <= second)

    if pools.no_link_sharing:

        @model.Constraint(list(linked), doc="(P5) no link is shared")
        def links(model: pyo.ConcreteModel, size: int, t: int) -> pyo.Expression:
            # sum_ji ceil(g_jic / c) sum_{a <= t < a + d_ji} R_jia <= N_c, runs inside left out
            return sum(linked[size, t]) <= pools.servers[size]

    return model


def read_plan(model: pyo.ConcreteModel, pools: Pools) -> Plan:
    """Start of each job of several GPUs, and the capacity of its server if it is inside one."""
    plan: list[FixedDecision | None] = [None] * len(pools.configurations)
    for j, i, a in model.RUNS:
        if pools.data.gpus(j) > 1 and pyo.value(model.run[j, i, a]) > 0.5:
            gpus, _, inside = pools.configurations[j][i]
            largest = max(zip(gpus, pools.servers, strict=True))[1]
            plan[j] = FixedDecision(a, largest if inside else None)
    return tuple(plan)
