"""Method ``ilp``: heuristics, bounds, a relaxation and the full MILP, until the gap closes.

1. The heuristics give an upper bound UB. 2. Area, longest job and columns give a lower bound LB. 3.
Local searches from other seeds, which stop at LB, may lower UB. 4. The pool relaxation is solved
for increasing makespans to raise LB; its start times, fixed in the full model, may lower UB. 5. The
full model is solved with horizon UB - 1. The details say where it stopped.

Guarantee: optimal when it ends as "optimal"; at a time limit the incumbent and the bound are
returned.
"""

from contextlib import suppress
from dataclasses import dataclass, replace

import pyomo.environ as pyo

from optsched.backends.pyomo_solvers import require_solver
from optsched.deadline import Deadline, OutOfTimeError, clock
from optsched.errors import NotApplicableError
from optsched.makespan.bounds.best import Bound
from optsched.makespan.contention import (
    evaluate,
    schedule_from_solution,
    solution_from_evaluation,
)
from optsched.makespan.exact.starting_schedules import (
    NESTED_MOVES,
    search_moves,
    take_starting_schedules,
)
from optsched.makespan.heuristics.local_search import local_search, search
from optsched.makespan.heuristics.nested import Annealing, is_applicable
from optsched.makespan.incumbent import SEARCH_TIME_SHARE, Incumbent
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.models import formulation
from optsched.makespan.models.data import (
    Plan,
    SlottedResult,
    model_data,
    solve_slots,
    without_starts,
)
from optsched.makespan.models.pools import solve_pools
from optsched.makespan.options import MakespanOptions
from optsched.result import Outcome, Settings

POOLS_TIME_SHARE = 0.6
"""Share of the time left for the pool relaxation."""
POOL_MODEL_TIME_SHARE = 0.5
"""Share of the pools' time left for any one model."""
SEARCHES = 8
"""Local searches before any model is built: each is far cheaper than closing a gap of one slot."""
# The annealing after them: share of the time left; moves by the square of the jobs, since models
# grow like that; and an upper limit without a time limit, some seconds for 160 jobs.
ANNEALING_TIME_SHARE = 0.1
ANNEALING_MOVES_PER_JOB_SQUARED = 2_000
MAX_ANNEALING_MOVES = 100_000_000


def ilp(instance: MakespanInstance, options: MakespanOptions, settings: Settings) -> Outcome:
    require_solver(settings.solver)
    incumbent = Incumbent(instance, settings)
    with incumbent.until_deadline():
        take_starting_schedules(incumbent, settings)
        incumbent.compute_bound(settings.deadline.share(SEARCH_TIME_SHARE))
    return Pipeline(incumbent).run()


def model(
    instance: MakespanInstance, options: MakespanOptions, *, pruned: bool = False
) -> pyo.ConcreteModel:
    """Build the full model: every schedule within the horizon is a solution of it.

    A pruned one has only schedules that may beat the best heuristic's, and breaks symmetries.
    """
    settings = Settings()
    incumbent = Incumbent(instance, settings)
    if pruned:
        take_starting_schedules(incumbent, settings)
    incumbent.compute_bound(settings.deadline, contention=False)
    top = int(min(incumbent.value, instance.horizon))
    low = min(int(incumbent.bound.value), top)
    data = model_data(instance, top, low, pruned=pruned)
    built = formulation.build(data)
    built.reader = lambda solved: solution_from_evaluation(
        evaluate(instance, formulation.read_schedule(solved, data))
    )
    return built


@dataclass
class Pipeline:
    """The stages after heuristics and bounds, whose results the incumbent already has."""

    incumbent: Incumbent
    searching: bool = True  # whether heuristics run between the models

    def __post_init__(self) -> None:
        self.instance, self.settings = self.incumbent.instance, self.incumbent.settings
        self.deadline = self.settings.deadline

    def run(self) -> Outcome:
        """Run the stages until the gap is closed."""
        stage = "bounds"
        stages = {"search": self._search, "pools": self._pools, "full model": self._full_model}
        with self.incumbent.until_deadline():
            for name, work in stages.items():
                if self.incumbent.is_decided or self.deadline.is_over:
                    break
                stage = name
                try:
                    work()
                except (NotApplicableError, OutOfTimeError) as refusal:  # keep the incumbent
                    stage += f": {getattr(refusal, 'found', 'not built in the time left')}"
                    self._use_remaining_time()
                    break
        return self.incumbent.outcome({"stopped_at": stage}, proves=True)

    def run_heuristics(self) -> Outcome:
        """Run heuristics only (no model supports continuous progress)."""
        with self.incumbent.until_deadline():
            self._search()
            if not self.incumbent.is_decided:
                self._use_remaining_time()
        details = {"stopped_at": "search: the models are indexed by slots"}
        return self.incumbent.outcome(details, proves=True)

    def _search(self) -> None:
        """Search from other seeds, limited by moves (reproducible) or by the deadline."""
        if not self.searching:
            return
        incumbent, instance, first = self.incumbent, self.instance, self.settings.seed + 1
        for seed in range(first, first + SEARCHES):
            if incumbent.is_decided or self.deadline.is_over:
                return
            moves = search_moves(instance)
            short = replace(self.settings, seed=seed, iterations=moves, time_limit=None)
            stop = self.deadline.share(SEARCH_TIME_SHARE)
            result = search(instance, short, incumbent.bound.value, stop)
            incumbent.update_result(result, "local-search")
        moves = ANNEALING_MOVES_PER_JOB_SQUARED * len(instance.jobs) ** 2
        if is_applicable(instance) and moves > NESTED_MOVES and not incumbent.is_decided:
            max_moves = min(moves, MAX_ANNEALING_MOVES) if self.deadline.limit is None else moves
            share = self.deadline.share(ANNEALING_TIME_SHARE)
            self._anneal(max_moves, share, self.settings.seed)
        incumbent.timed_out = False  # only a share of the time was up

    def _anneal(self, moves: int | None, deadline: Deadline, seed: int) -> None:
        bound, progress = self.incumbent.bound.value, self.settings.progress
        annealing = Annealing(self.instance, bound, seed, progress)
        result = annealing.result(moves, deadline, self.settings.gap)
        self.incumbent.update_result(result, "nested")

    def _pools(self) -> None:
        """Solve the pool relaxation for increasing makespans, first without shared links."""
        incumbent, stop = self.incumbent, self.deadline.share(POOLS_TIME_SHARE)
        target = int(incumbent.bound.value)
        with suppress(NotApplicableError, OutOfTimeError):  # the full model may be smaller
            while target < incumbent.cutoff and not incumbent.is_decided and not stop.is_over:
                self._solve_by_plan(target, stop.share(POOL_MODEL_TIME_SHARE))
                if target == incumbent.bound.value and not incumbent.is_decided:
                    settings = self.settings.within(stop.share(POOL_MODEL_TIME_SHARE))
                    result = solve_pools(self.instance, target, target, settings)
                    incumbent.record_answer(result.answer)
                    incumbent.update_bound(Bound(float(result.bound), "pools"))
                target += 1

    def _solve_by_plan(self, target: int, deadline: Deadline) -> None:
        """Look for a schedule of `target` slots without shared links.

        A pool plan may not fit the individual servers; then single-server starts are freed.
        """
        incumbent, settings = self.incumbent, self.settings.within(deadline)
        result = solve_pools(self.instance, target, target, settings, no_link_sharing=True)
        incumbent.record_answer(result.answer)
        for plan in () if result.plan is None else (result.plan, without_starts(result.plan)):
            if incumbent.value > target:
                with suppress(NotApplicableError, OutOfTimeError):
                    self._solve("pools", target, deadline, plan)

    def _full_model(self) -> None:
        self._solve("full model", int(self.incumbent.cutoff) - 1, self.deadline)

    def _solve(
        self, source: str, horizon: int, deadline: Deadline, plan: Plan | None = None
    ) -> None:
        """Update the incumbent by the model's schedule and, without a plan, by its bound."""
        incumbent, settings = self.incumbent, self.settings.within(deadline)
        low = int(incumbent.bound.value) if plan is None else horizon
        result = solve_slotted(self.instance, horizon, low, settings, plan)
        incumbent.record_answer(result.answer)
        if plan is None:
            incumbent.update_bound(Bound(float(result.bound), source))
        if result.schedule is not None and evaluate(self.instance, result.schedule).fits:
            incumbent.update_schedule(result.schedule, source)

    def _use_remaining_time(self) -> None:
        """Spend the rest of the time on the heuristics, or what they take without a limit."""
        if self.deadline.is_over or not self.searching:
            return
        if is_applicable(self.instance):
            max_moves = MAX_ANNEALING_MOVES if self.deadline.limit is None else None
            self._anneal(max_moves, self.deadline, self.settings.seed + 1)
            return
        outcome = local_search(self.instance, MakespanOptions(), self.settings)
        if outcome.solution is not None:
            schedule = schedule_from_solution(self.instance, outcome.solution)
            self.incumbent.update_schedule(schedule, "local-search")


def solve_slotted(
    instance: MakespanInstance, horizon: int, low: int, settings: Settings, plan: Plan | None = None
) -> SlottedResult:
    began = clock()
    data = model_data(instance, horizon, low, deadline=settings.deadline, plan=plan)
    built = formulation.build(data)
    result = solve_slots(built, low, horizon, settings, clock() - began)
    schedule = formulation.read_schedule(built, data) if result.answer.has_solution else None
    return replace(result, schedule=schedule)
