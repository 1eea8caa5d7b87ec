"""Policies ``patterns``, ``milp``, ``minlp``, ``columns``, ``exact``: rolling optima of intervals.

Guarantee: each decision is optimal for (P1) when its solve ends within `A_DECISION` seconds and the
run's limit (relative gap 1e-4); the run as a whole is not, since (19) freezes the configuration
while STS plans to speed up. A decision that is cut has the best selection known, one that finds
nothing STS's; `cut` and `fallen_back` count both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from optsched.display import counted
from optsched.errors import NotApplicableError
from optsched.problem import resolve
from optsched.result import Outcome, Settings, Termination
from optsched.rolling.instance import RollingInstance
from optsched.rolling.options import RollingOptions
from optsched.rolling.policies.fewest_migrations import placed_of, with_fewest_migrations
from optsched.rolling.simulator.engine import Plan
from optsched.rolling.simulator.world import View, World
from optsched.selection.assignment import Seat
from optsched.selection.cost import Tables
from optsched.selection.heuristics.sts import sts_assignment
from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions
from optsched.selection.problem import SELECTION
from optsched.selection.solution import SelectionSolution

if TYPE_CHECKING:
    import pyomo.environ as pyo

GAP = 1e-4
A_DECISION = 5.0
"""Seconds that one may take, whatever the run's limit."""
_CLOSE = 1e-9

Solve = Callable[[SelectionInstance, SelectionOptions, Settings], Outcome]


def interval_optimum(name: str, world: World, settings: Settings) -> IntervalOptimum:
    """An exact method of the selection problem, by its name there."""
    return IntervalOptimum(world, name, settings)


class IntervalOptimum:
    """An exact method of the selection problem at every event."""

    wake = math.inf

    def __init__(self, world: World, name: str, settings: Settings) -> None:
        self.world, self.name = world, name
        self.seed, self.deadline = settings.seed, settings.deadline
        self.decided, self.cut, self.fallen_back = 0, 0, 0
        self._solve: Solve = resolve(SELECTION.method(name).run)

    def decide(self, view: View) -> Plan:
        """Solve (P1) for the jobs present."""
        left = self.deadline.left
        limit = A_DECISION if left is None else min(A_DECISION, left)
        settings = Settings(time_limit=limit, gap=GAP, seed=self.seed)
        self.decided += 1
        try:
            outcome = self._solve(moment_of(view), self.world.readings, settings)
        except NotApplicableError:  # such as more patterns than the model takes
            outcome = Outcome(None, Termination.ERROR)
        self.cut += outcome.termination is not Termination.OPTIMAL
        if outcome.solution is None:
            self.fallen_back += 1
            seats = sts_assignment(view.tables)
        else:
            seats = seats_of(view.tables, outcome.solution)
        return Plan(with_fewest_migrations(view.tables, placed_of(seats), view.running))

    @property
    def said(self) -> str | None:
        """What there is to say of a run some of whose decisions are no optima."""
        if self.cut == 0:
            return None
        return f"{self.cut} of {counted(self.decided, 'decision')} not proved optimal"


def first_model(
    name: str, instance: RollingInstance, options: RollingOptions, *, pruned: bool = False
) -> pyo.ConcreteModel:
    """The Pyomo model of a policy's first decision: (P1) for the jobs that arrive first."""
    world = World(instance, options)
    first = min(job.submit_time for job in instance.jobs)
    jobs = tuple(j for j, job in enumerate(instance.jobs) if job.submit_time == first)
    done = tuple(float(instance.jobs[j].completed_epochs) for j in jobs)
    moment = moment_of(View(world, float(first), jobs, done, {}, frozenset()))
    return SELECTION.method(name).model(moment, options.readings, pruned=pruned)


def moment_of(view: View) -> SelectionInstance:
    """The selection instance at a decision: the jobs present, and the epochs they have made."""
    jobs = []
    for index, done in zip(view.jobs, view.done, strict=True):
        job = view.world.instance.jobs[index]
        most = max(job.epochs.values) * (1 - _CLOSE)  # rounding may end a job a hair too late
        jobs.append(job.model_copy(update={"completed_epochs": min(done, most)}))
    instance = view.world.instance
    return SelectionInstance.model_construct(
        schema_="optsched/selection",
        version=1,
        name=instance.name,
        now=view.time,
        interval=instance.interval,
        postponement_penalty=instance.postponement_penalty,
        gpu_types=instance.gpu_types,
        nodes=instance.nodes,
        jobs=tuple(jobs),
    )


def seats_of(tables: Tables, solution: SelectionSolution) -> dict[int, Seat]:
    """A solution file's placements as seats."""
    node_of = {node.name: n for n, node in enumerate(tables.instance.nodes)}
    seats = {}
    for j, placed in enumerate(solution.jobs):
        if placed.node is None:
            continue
        node = node_of[placed.node]
        kind = tables.kinds[tables.kind_of[node]]
        wanted = (len(placed.gpus), placed.fraction)
        found = next(
            c
            for c, each in enumerate(kind.configurations)
            if (each.gpus, float(each.fraction)) == wanted
        )
        seats[j] = Seat(node, tuple(placed.gpus), found)
    return seats
