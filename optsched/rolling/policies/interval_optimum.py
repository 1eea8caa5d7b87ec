"""Policies ``patterns``, ``milp``, ``minlp``, ``columns``, ``exact``: rolling optima of intervals.

Guarantee: each decision is optimal for (P1), to a relative gap of 1e-4, when its solve ends within
`MAX_DECISION_SECONDS` and the run's limit; the run as a whole is not, since (19) freezes the
configuration while STS plans to speed up. A decision that is cut takes the best selection known, or
that of STS if there is none; `cut` and `fallen_back` count both.
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
from optsched.rolling.simulator.world import NEGLIGIBLE, View, World
from optsched.selection.assignment import Placement
from optsched.selection.cost import Tables
from optsched.selection.heuristics.sts import sts_assignment
from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions
from optsched.selection.problem import SELECTION
from optsched.selection.solution import SelectionSolution

if TYPE_CHECKING:
    import pyomo.environ as pyo

GAP = 1e-4
MAX_DECISION_SECONDS = 5.0
"""Whatever the run's limit."""

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
        limit = MAX_DECISION_SECONDS if left is None else min(MAX_DECISION_SECONDS, left)
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
    def message(self) -> str | None:
        """How many decisions were not proved optimal; None if all were."""
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
    """The selection problem of a decision: the jobs present, and the epochs that they have made."""
    jobs = []
    for index, done in zip(view.jobs, view.done, strict=True):
        job = view.world.instance.jobs[index]
        most = max(job.epochs.values) * (1 - NEGLIGIBLE)  # rounding may end a job a little late
        jobs.append(job.model_copy(update={"completed_epochs": min(done, most)}))
    return view.world.selection_instance(view.time, tuple(jobs))


def seats_of(tables: Tables, solution: SelectionSolution) -> dict[int, Placement]:
    """A solution file's placements as seats."""
    node_of = {node.name: n for n, node in enumerate(tables.instance.nodes)}
    seats = {}
    for j, placed in enumerate(solution.jobs):
        if placed.node is not None:
            node = node_of[placed.node]
            configurations = tables.kinds[tables.kind_of[node]].configurations
            sizes = [(each.gpus, float(each.fraction)) for each in configurations]
            index = sizes.index((len(placed.gpus), placed.fraction))
            seats[j] = Placement(node, tuple(placed.gpus), index)
    return seats
