"""Policies ``patterns``, ``milp``, ``minlp``, ``columns``, ``exact``: rolling optima of intervals.

Guarantee: each decision is optimal for (P1), to a relative gap of 1e-4, if its solve ends within
`MAX_DECISION_SECONDS` and the run's limit; the run is not optimal: (19) assumes a fixed
configuration, while later decisions may change it. A decision cut by the limit uses the best
incumbent, or the selection of STS if there is none; `unproved` and `fallbacks` count them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from optsched.display import counted
from optsched.errors import NotApplicableError
from optsched.modelling import ModelOrigin
from optsched.problem import resolve
from optsched.result import Outcome, Settings, Termination
from optsched.rolling.instance import RollingInstance
from optsched.rolling.options import RollingOptions
from optsched.rolling.policies.fewest_migrations import placed_of, with_fewest_migrations
from optsched.rolling.simulator.engine import Plan
from optsched.rolling.simulator.estimates import Knowledge
from optsched.rolling.simulator.world import EPOCH_RTOL, View, World
from optsched.selection.assignment import assignment_from
from optsched.selection.heuristics.sts import sts_assignment
from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions
from optsched.selection.problem import SELECTION

if TYPE_CHECKING:
    import pyomo.environ as pyo

GAP = 1e-4
MAX_DECISION_SECONDS = 5.0
"""Time limit per decision, even if the run has more time left."""

Solve = Callable[[SelectionInstance, SelectionOptions, Settings], Outcome]


class IntervalOptimum:
    """An exact method of the selection problem at every event."""

    wake = math.inf

    def __init__(self, world: World, name: str, settings: Settings) -> None:
        self.world, self.name = world, name
        self.seed, self.deadline = settings.seed, settings.deadline
        self.decided, self.unproved, self.fallbacks = 0, 0, 0
        self._solve: Solve = resolve(SELECTION.method(name).run)

    def decide(self, view: View) -> Plan:
        left = self.deadline.left
        limit = MAX_DECISION_SECONDS if left is None else min(MAX_DECISION_SECONDS, left)
        settings = Settings(time_limit=limit, gap=GAP, seed=self.seed)
        self.decided += 1
        try:
            outcome = self._solve(selection_at(view), self.world.selection_options, settings)
        except NotApplicableError:  # e.g. too many patterns
            outcome = Outcome(None, Termination.ERROR)
        self.unproved += outcome.termination is not Termination.OPTIMAL
        if outcome.solution is None:
            self.fallbacks += 1
            placements = sts_assignment(view.tables)
        else:
            placements = assignment_from(view.tables, outcome.solution)
        return Plan(with_fewest_migrations(view.tables, placed_of(placements), view.running))

    @property
    def message(self) -> str | None:
        """How many decisions were not proved optimal; None if all were."""
        if self.unproved == 0:
            return None
        return f"{self.unproved} of {counted(self.decided, 'decision')} not proved optimal"


def first_model(
    name: str, instance: RollingInstance, options: RollingOptions, *, pruned: bool = False
) -> pyo.ConcreteModel:
    """The Pyomo model of a policy's first decision: (P1) for the jobs that arrive first."""
    world = Knowledge(World(instance, options)).world
    first = min(job.submit_time for job in instance.jobs)
    jobs = tuple(j for j, job in enumerate(instance.jobs) if job.submit_time == first)
    done = tuple(float(instance.jobs[j].completed_epochs) for j in jobs)
    selection = selection_at(View(world, float(first), jobs, done, {}, frozenset()))
    model = SELECTION.method(name).model(selection, options.selection, pruned=pruned)
    model.origin = ModelOrigin(SELECTION, name, selection, options.selection, model.reader)
    return model


def selection_at(view: View) -> SelectionInstance:
    """Selection instance of a decision: jobs present with their completed epochs."""
    jobs = []
    for index, done in zip(view.jobs, view.done, strict=True):
        job = view.world.instance.jobs[index]
        # rounding may leave a finished job present
        limit = max(job.epochs.values) * (1 - EPOCH_RTOL)
        jobs.append(job.model_copy(update={"completed_epochs": min(done, limit)}))
    return view.world.selection_instance(view.time, tuple(jobs))
