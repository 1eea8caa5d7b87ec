"""Method ``ilp``: heuristics, bounds, a relaxation and the full MILP, until they meet.

1. The heuristics give an upper bound UB; 2. area, longest job and columns a lower bound LB; 3.
local searches from other seeds, which stop at LB, may lower UB; 4. the relaxation by pools raises
LB, makespan by makespan, and the full model with its starts may lower UB; 5. the full model asks
for a schedule of at most UB - 1 slots. The details say where it stopped.

Guarantee: optimal when it ends as "optimal"; at a time limit the incumbent and the bound stand.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import pyomo.environ as pyo

from optsched.backends import require_solver
from optsched.deadline import Deadline, OutOfTimeError, clock
from optsched.errors import NotApplicableError
from optsched.makespan.bounds.best import Bound
from optsched.makespan.contention import evaluate, schedule_of
from optsched.makespan.exact.starting_schedules import (
    NESTED_MOVES,
    search_moves,
    take_starting_schedules,
)
from optsched.makespan.heuristics.local_search import local_search, search
from optsched.makespan.heuristics.nested import Annealing, applies
from optsched.makespan.incumbent import SEARCH_SHARE, Incumbent
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.models import formulation
from optsched.makespan.models.data import (
    Plan,
    Solved,
    model_data,
    solve_slots,
    without_starts,
)
from optsched.makespan.models.pools import solve_pools
from optsched.makespan.options import MakespanOptions
from optsched.result import Outcome, Settings

POOLS_SHARE, TARGET_SHARE = 0.6, 0.5
"""Share of the time left that the pools may take, and of that any one question to them."""
SEARCHES = 8
"""Local searches before any model is built: each is far cheaper than closing a gap of one slot."""
NESTED_SHARE, MOVES_A_PAIR, MOST_MOVES = 0.1, 2_000, 100_000_000
"""Share of the time left for the start's annealing to go on after them; its moves by square of
jobs, since models grow like that, and at most without a limit: some seconds for 160 jobs."""


def ilp(instance: MakespanInstance, options: MakespanOptions, settings: Settings) -> Outcome:
    """Solve by the pipeline."""
    require_solver(settings.solver)
    found = Incumbent(instance, settings)
    with found.working():
        take_starting_schedules(found, settings)
        found.bounded(settings.deadline.share(SEARCH_SHARE))
    return Pipeline(found).run()


def model(
    instance: MakespanInstance, options: MakespanOptions, *, pruned: bool = False
) -> pyo.ConcreteModel:
    """Build the full model: every schedule within the horizon is a solution of it.

    A pruned one has only schedules that may beat the best heuristic's, and orders what is equal.
    """
    settings = Settings()
    found = Incumbent(instance, settings)
    if pruned:
        take_starting_schedules(found, settings)
    found.bounded(settings.deadline, contention=False)
    top = int(min(found.value, instance.horizon))
    low = min(int(found.bound.value), top)
    return formulation.build(model_data(instance, top, low, pruned=pruned))


@dataclass
class Pipeline:
    """The stages after heuristics and bounds, whose results the incumbent already has.

    Attributes
    ----------
    searching : bool
        Whether heuristics go on beside the models; otherwise these are alone.
    """

    found: Incumbent
    searching: bool = True

    def __post_init__(self) -> None:
        self.settings = self.found.settings
        self.deadline = self.settings.deadline

    def run(self) -> Outcome:
        """Run the stages until upper and lower bound meet."""
        stage = "bounds"
        with self.found.working():
            for following, work in (
                ("search", self._search),
                ("pools", self._pools),
                ("full model", self._full_model),
            ):
                if self._met() or self.deadline.is_over:
                    break
                stage = following
                try:
                    work()
                except (NotApplicableError, OutOfTimeError) as refusal:  # what is known stands
                    stage += f": {getattr(refusal, 'found', 'not built in the time left')}"
                    self._search_on()
                    break
        details = {"stopped_at": stage}
        return self.found.outcome(details, proves=True)

    def search_alone(self) -> Outcome:
        """Only let the heuristics go on: under continuous progress, which no model knows."""
        with self.found.working():
            self._search()
            if not self._met():
                self._search_on()
        details = {"stopped_at": "search: the models work slot by slot"}
        return self.found.outcome(details, proves=True)

    def _search(self) -> None:
        """Cut by moves, so that it repeats, or by the deadline."""
        if not self.searching:
            return
        instance, moves = self.found.instance, search_moves(self.found.instance)
        for seed in range(self.settings.seed + 1, self.settings.seed + 1 + SEARCHES):
            if self._met() or self.deadline.is_over:
                return
            short = replace(self.settings, seed=seed, iterations=moves, time_limit=None)
            target, stop = self.found.bound.value, self.deadline.share(SEARCH_SHARE)
            self.found.take(search(instance, short, target, stop), "local-search")
        moves = MOVES_A_PAIR * len(instance.jobs) ** 2
        if applies(instance) and moves > NESTED_MOVES and not self._met():
            most = min(moves, MOST_MOVES) if self.deadline.limit is None else moves
            self._anneal(most, self.deadline.share(NESTED_SHARE), self.settings.seed)
        self.found.cut = False  # a share of the time was up

    def _anneal(self, moves: int | None, deadline: Deadline, seed: int) -> None:
        found, progress = self.found, self.settings.progress
        annealing = Annealing(found.instance, found.bound.value, seed, progress)
        found.take(annealing.result(moves, deadline, self.settings.gap), "nested")

    def _pools(self) -> None:
        """Servers of one size as one, for one makespan after the other, from the bound up.

        Of each it is asked first whether it can be had where no link is shared: the full model then
        tells on which servers. Where no links at all are too few, the bound rises.
        """
        found, stop = self.found, self.deadline.share(POOLS_SHARE)
        target = int(found.bound.value)
        with suppress(NotApplicableError, OutOfTimeError):  # the other models may be smaller
            while target < found.beyond and not self._met() and not stop.is_over:
                self._planned(target, stop.share(TARGET_SHARE))
                if target == found.bound.value and not self._met():
                    settings = self.settings.within(stop.share(TARGET_SHARE))
                    solved = solve_pools(found.instance, target, target, settings, apart=False)
                    found.note(solved.answer)
                    found.prove(Bound(float(solved.bound), "pools"))
                target += 1

    def _planned(self, target: int, deadline: Deadline) -> None:
        """Look for a schedule of so many slots in which no link is shared.

        Servers that are whole for what runs on them together may be too small for it one by one;
        then the jobs inside servers may start when they like.
        """
        found, settings = self.found, self.settings.within(deadline)
        solved = solve_pools(found.instance, target, target, settings, apart=True)
        found.note(solved.answer)
        for plan in () if solved.plan is None else (solved.plan, without_starts(solved.plan)):
            if found.value > target:
                with suppress(NotApplicableError, OutOfTimeError):
                    self._solve("pools", target, deadline, plan)

    def _full_model(self) -> None:
        self._solve("full model", int(self.found.beyond) - 1, self.deadline)

    def _solve(
        self,
        source: str,
        horizon: int,
        deadline: Deadline,
        plan: Plan | None = None,
    ) -> None:
        """Let the incumbent have what a slotted model finds; what it proves, unless to a plan."""
        found, settings = self.found, self.settings.within(deadline)
        low = int(found.bound.value) if plan is None else horizon
        solved = solve_slotted(found.instance, horizon, low, settings, plan)
        found.note(solved.answer)
        if plan is None:
            found.prove(Bound(float(solved.bound), source))
        if solved.schedule is not None and evaluate(found.instance, solved.schedule).fits:
            found.offer(solved.schedule, source)

    def _search_on(self) -> None:
        """Spend the rest of the time on the heuristics, or what they take unlimited.

        The model could not be built.
        """
        if self.deadline.is_over or not self.searching:
            return
        found = self.found
        if applies(found.instance):
            most = MOST_MOVES if self.deadline.limit is None else None
            self._anneal(most, self.deadline, self.settings.seed + 1)
            return
        outcome = local_search(found.instance, MakespanOptions(), self.settings)
        if outcome.solution is not None:
            found.offer(schedule_of(found.instance, outcome.solution), "local-search")

    def _met(self) -> bool:
        return self.found.met or self.found.impossible


def solve_slotted(
    instance: MakespanInstance, horizon: int, low: int, settings: Settings, plan: Plan | None = None
) -> Solved:
    """Build and solve the slotted model between two makespans."""
    began = clock()
    data = model_data(instance, horizon, low, deadline=settings.deadline, plan=plan)
    built = formulation.build(data)
    solved = solve_slots(built, low, horizon, settings, clock() - began)
    schedule = formulation.read_schedule(built, data) if solved.answer.has_solution else None
    return replace(solved, schedule=schedule)
