"""What the slotted models are built from: the letters of models/makespan/README.md as numbers."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property

import pyomo.environ as pyo

from optsched.backends import Answer, sizes, solve_model
from optsched.backends.sizes import refuse_many_nonzeros, require_time
from optsched.deadline import Deadline
from optsched.makespan.bounds.durations import Durations, durations_of
from optsched.makespan.contention import Schedule
from optsched.makespan.instance import MakespanInstance, duration, iterations_per_slot
from optsched.result import Settings, Termination


@dataclass(frozen=True)
class Planned:
    """When a job starts, None if that is open, and in a server of which size, None if it spans."""

    start: int | None
    size: int | None


ROUNDING = 1e-6
"""A solver's tolerance on a bound that is a whole number of slots."""
Plan = tuple[Planned | None, ...]
"""By job: what is no longer to be chosen, if anything."""


def without_starts(plan: Plan) -> Plan:
    """The same plan, but jobs inside one server may start when they like."""
    return tuple(
        each if each is None or each.size is None else Planned(None, each.size) for each in plan
    )


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
        False gives spanning runs their least duration only: the relaxation by pools.
    deadline : Deadline
        Building stops there.
    plan : Plan or None
        By job: what is no longer to be chosen.
    pruned : bool
        Whether of equal servers and equal jobs one order is enough: (10) and (11). A model for the
        package's own solve has them; a user's constraint may name one of two equal servers.
    """

    instance: MakespanInstance
    durations: Durations
    horizon: int
    bound: int
    contention: bool
    deadline: Deadline = field(default_factory=Deadline)
    plan: Plan | None = None
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
        planned = self._planned(j)
        if planned is not None and planned.size is not None:
            return range(0)
        fewest = max(2, int(self.durations.fewest[j]))
        return range(fewest, min(self.gpus(j), len(self.servers)) + 1)

    def holds(self, j: int, s: int) -> bool:
        """Whether job j can run inside server s."""
        planned = self._planned(j)
        may = planned is None or planned.size == self.capacity(s)
        return may and self.gpus(j) <= self.capacity(s) and self.inside(j) is not None

    def starts(self, j: int, slots: int) -> range:
        """a: slots at which a run of job j may start to end by the horizon."""
        last, planned = self.horizon - slots, self._planned(j)
        start = None if planned is None else planned.start
        return range(last + 1) if start is None else range(start, min(start, last) + 1)

    def speed(self, j: int, k: int, level: int) -> int:
        """phi_j(k, q): iterations per slot."""
        return int(iterations_per_slot(self.instance, self.instance.jobs[j], k, level))

    def likeness(self, j: int) -> Hashable:
        """Equal for jobs that the model cannot tell apart: GPUs, durations and shares done."""
        done: tuple[float, ...] = ()
        if self.contention:
            needed = self.instance.jobs[j].iterations
            done = tuple(
                min(self.speed(j, k, level), needed) / needed
                for k in self.widths(j)
                for level in range(1, self.most_contending + 1)
            )
        spread = tuple(self.spanning_durations(j, k) for k in self.widths(j))
        return self.gpus(j), self.inside(j), spread, done

    def _planned(self, j: int) -> Planned | None:
        return None if self.plan is None else self.plan[j]

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
    instance: MakespanInstance,
    horizon: int,
    bound: int,
    *,
    deadline: Deadline | None = None,
    plan: Plan | None = None,
    pruned: bool = True,
) -> MakespanModelData:
    """Gather the model's data."""
    clock = deadline or Deadline()
    durations = durations_of(instance)
    data = MakespanModelData(instance, durations, horizon, bound, True, clock, plan, pruned)
    nonzeros = model_nonzeros(data)
    require_time(clock, nonzeros)
    refuse_many_nonzeros("ilp", nonzeros, "fewer jobs, longer slots, a shorter horizon")
    return data


@dataclass(frozen=True)
class Solved:
    """Bound that a solved slotted model proves, and what was read off its solution.

    Every schedule that ends by the model's horizon takes at least `bound` slots; where there is
    none, it is the horizon plus one.
    """

    bound: int
    answer: Answer
    schedule: Schedule | None = None
    plan: Plan | None = None


def solve_slots(
    model: pyo.ConcreteModel, low: int, horizon: int, settings: Settings, build_time: float
) -> Solved:
    """Solve a model whose makespan is a whole number of slots between two values."""

    def whole_slots(bound: float | None) -> int:
        return low if bound is None else max(low, math.ceil(bound - ROUNDING))

    answer = solve_model(
        model,
        settings,
        build_time=build_time,
        listener=lambda _, bound: settings.progress.report(None, whole_slots(bound)),
    )
    infeasible = answer.termination is Termination.INFEASIBLE
    return Solved(horizon + 1 if infeasible else whole_slots(answer.bound), answer)


def model_nonzeros(data: MakespanModelData) -> int:
    """Roughly the nonzeros of the model, without building it; counted as far as there may be."""
    horizon, servers = data.horizon, len(data.servers)
    spanners = sum(data.gpus(j) > 1 for j in data.jobs)
    total = 0
    for j in data.jobs:
        inside = data.inside(j)
        if inside is not None and inside <= horizon:
            held = sum(data.holds(j, s) for s in data.servers)
            total += held * len(data.starts(j, inside)) * (inside + 6)  # (5) for each slot of a run
        for k in data.widths(j):
            lengths = data.spanning_durations(j, k)
            if len(lengths) == 0:
                continue
            runs = sum(len(data.starts(j, d)) for d in lengths)
            covered = sum(d * len(data.starts(j, d)) for d in lengths)
            total += 5 * runs + covered * (2 * servers + 2)
            total += horizon * data.most_contending * (servers + 2)
        if data.gpus(j) > 1:
            total += horizon * servers * (15 + spanners)
        if total > sizes.MOST_NONZEROS:
            break
    return total
