"""Data of the time-indexed models, by the symbols of models/makespan/README.md."""

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import pyomo.environ as pyo

from optsched.backends import sizes
from optsched.backends.models import solve_model
from optsched.backends.sizes import refuse_many_nonzeros, require_time
from optsched.backends.solver_result import SolverResult
from optsched.deadline import Deadline
from optsched.makespan.bounds.durations import Durations, durations_of
from optsched.makespan.contention import Schedule
from optsched.makespan.instance import MakespanInstance, duration, iterations_per_slot
from optsched.result import Settings, Termination

ROUNDING = 1e-6
"""A solver's tolerance on a bound that is an integral number of slots."""


class FixedDecision(NamedTuple):
    """Fixed decisions of a job: start (None: free) and server capacity (None: spans)."""

    start: int | None
    capacity: int | None


Plan = tuple[FixedDecision | None, ...]
"""Fixed decisions by job (None: free)."""


def without_starts(plan: Plan) -> Plan:
    """The same plan, with free starts of the jobs inside one server."""
    return tuple(
        fixed if fixed is None or fixed.capacity is None else fixed._replace(start=None)
        for fixed in plan
    )


@dataclass(frozen=True)
class MakespanModelData:
    instance: MakespanInstance
    durations: Durations
    horizon: int  # H: every job ends by then
    bound: int  # lower bound on the makespan, slots
    contention: bool  # if False, spanning runs take their minimum duration (pool relaxation)
    deadline: Deadline = field(default_factory=Deadline)  # of building
    plan: Plan | None = None
    # Whether to add symmetry breaking (10), (11); off for models given to users, whose constraints
    # may refer to a particular server.
    pruned: bool = True

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

    def max_gpus(self, j: int, s: int) -> int:
        """ymax_js: maximum GPUs that a spanning job can have on a server."""
        return min(self.gpus(j) - 1, self.capacity(s))

    def inside(self, j: int) -> int | None:
        """d1_j: slots in one server, None if it makes no progress there."""
        slots = self.durations.inside[j]
        return None if math.isinf(slots) else int(slots)

    @cached_property
    def max_level(self) -> int:
        """Q: upper bound on the spanning jobs on one server."""
        return self.instance.max_level

    def widths(self, j: int) -> range:
        """k: numbers of servers a spanning run of job j can use."""
        fixed = self._fixed(j)
        if fixed is not None and fixed.capacity is not None:
            return range(0)
        fewest = max(2, int(self.durations.min_servers[j]))
        return range(fewest, min(self.gpus(j), len(self.servers)) + 1)

    def can_run_inside(self, j: int, s: int) -> bool:
        fixed = self._fixed(j)
        allowed = fixed is None or fixed.capacity == self.capacity(s)
        return allowed and self.gpus(j) <= self.capacity(s) and self.inside(j) is not None

    def starts(self, j: int, slots: int) -> range:
        """a: slots at which a run of job j may start to end by the horizon."""
        last, fixed = self.horizon - slots, self._fixed(j)
        if fixed is None or fixed.start is None:
            return range(last + 1)
        return range(fixed.start, min(fixed.start, last) + 1)

    def speed(self, j: int, k: int, level: int) -> int:
        """phi_j(k, q): iterations per slot."""
        return int(iterations_per_slot(self.instance, self.instance.jobs[j], k, level))

    def share_done(self, j: int, k: int, level: int) -> float:
        """min(phi_j(k, q), F_j) / F_j."""
        needed = self.instance.jobs[j].iterations
        return min(self.speed(j, k, level), needed) / needed

    def spanning_durations(self, j: int, k: int) -> range:
        """d: slots a run over k servers can take, from alone to contended throughout."""
        job = self.instance.jobs[j]
        shortest = duration(self.instance, job, k, 1)
        if shortest > self.horizon:
            return range(0)
        if not self.contention:
            return range(int(shortest), int(shortest) + 1)
        longest = duration(self.instance, job, k, self.max_level)
        return range(int(shortest), int(min(self.horizon, longest)) + 1)

    def interchangeable_jobs(self) -> list[list[int]]:
        """Jobs that the model cannot distinguish: equal GPUs, durations and shares done."""
        return list(grouped((self._symmetry_key(j), j) for j in self.jobs).values())

    def _symmetry_key(self, j: int) -> Hashable:
        shares: tuple[float, ...] = ()
        if self.contention:
            levels = range(1, self.max_level + 1)
            shares = tuple(self.share_done(j, k, q) for k in self.widths(j) for q in levels)
        spanning = tuple(self.spanning_durations(j, k) for k in self.widths(j))
        return self.gpus(j), self.inside(j), spanning, shares

    def _fixed(self, j: int) -> FixedDecision | None:
        return None if self.plan is None else self.plan[j]


def grouped(pairs: Iterable[tuple]) -> dict:
    """Group values by key, keeping order."""
    groups: dict = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def model_data(
    instance: MakespanInstance,
    horizon: int,
    bound: int,
    *,
    deadline: Deadline | None = None,
    plan: Plan | None = None,
    pruned: bool = True,
) -> MakespanModelData:
    """Data of the full model; refuses what is too large or takes too long to build."""
    deadline, durations = deadline or Deadline(), durations_of(instance)
    data = MakespanModelData(instance, durations, horizon, bound, True, deadline, plan, pruned)
    nonzeros = model_nonzeros(data)
    require_time(deadline, nonzeros)
    refuse_many_nonzeros("ilp", nonzeros, "fewer jobs, longer slots, a shorter horizon")
    return data


@dataclass(frozen=True)
class SlottedResult:
    """A schedule or plan, and a bound in slots: the horizon plus one where there is neither."""

    bound: int
    answer: SolverResult
    schedule: Schedule | None = None
    plan: Plan | None = None


def solve_slots(
    model: pyo.ConcreteModel, low: int, horizon: int, settings: Settings, build_time: float
) -> SlottedResult:
    """Solve a model whose makespan is an integral number of slots between two values."""

    def rounded_up(bound: float | None) -> int:
        return low if bound is None else max(low, math.ceil(bound - ROUNDING))

    answer = solve_model(
        model,
        settings,
        build_time=build_time,
        listener=lambda _, bound: settings.progress.report(None, rounded_up(bound)),
    )
    infeasible = answer.termination is Termination.INFEASIBLE
    return SlottedResult(horizon + 1 if infeasible else rounded_up(answer.bound), answer)


def model_nonzeros(data: MakespanModelData) -> int:
    """Estimated nonzeros of the model; stops counting above the limit."""
    horizon, servers = data.horizon, len(data.servers)
    spanners = sum(data.gpus(j) > 1 for j in data.jobs)
    total = 0
    for j in data.jobs:
        inside = data.inside(j)
        if inside is not None and inside <= horizon:
            fitting = sum(data.can_run_inside(j, s) for s in data.servers)
            total += fitting * len(data.starts(j, inside)) * (inside + 6)  # (5) in each slot
        for k in data.widths(j):
            lengths = data.spanning_durations(j, k)
            if len(lengths) == 0:
                continue
            runs = sum(len(data.starts(j, d)) for d in lengths)
            covered = sum(d * len(data.starts(j, d)) for d in lengths)
            total += 5 * runs + covered * (2 * servers + 2)
            total += horizon * data.max_level * (servers + 2)
        if data.gpus(j) > 1:
            total += horizon * servers * (15 + spanners)
        if total > sizes.MAX_NONZEROS:
            break
    return total
