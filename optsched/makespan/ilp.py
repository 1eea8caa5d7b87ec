"""Method ``ilp``: heuristics, bounds, the relaxation and the full MILP, until they meet.

1. The heuristics give an upper bound UB; 2. area, longest job and columns a lower bound LB; 3.
local searches from other seeds, which stop at LB, may lower UB; 4. the contention-free relaxation
raises LB, and its schedule, run under contention, may lower UB; 5. the full model asks for a
schedule of at most UB - 1 slots. The details say where it stopped.

Guarantee: optimal when it ends as "optimal"; at a time limit the incumbent and the bound stand.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import pyomo.environ as pyo

from optsched.backends import Answer, require_solver
from optsched.errors import NotApplicableError
from optsched.makespan.bounds import Bound, best_bound
from optsched.makespan.contention import Schedule, evaluate
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.known import known_schedule, search_moves
from optsched.makespan.local_search import search
from optsched.makespan.model_data import require_slots
from optsched.makespan.nested import nested
from optsched.makespan.options import MakespanOptions
from optsched.makespan.outcome import outcome_of
from optsched.makespan.relaxation import model_of, solve_slotted
from optsched.result import Outcome, Settings, Termination

RELAXATION_SHARE = 0.4
"""Share of the time left that the relaxation may take."""
SEARCHES = 8
"""Local searches before any model is built: each is far cheaper than closing a gap of one slot."""


def ilp(instance: MakespanInstance, options: MakespanOptions, settings: Settings) -> Outcome:
    """Solve by the pipeline.

    Raises
    ------
    NotApplicableError
        Under continuous progress.
    """
    require_solver(settings.solver)
    require_slots("ilp", instance)
    return Pipeline(instance, settings).run()


def model(instance: MakespanInstance, options: MakespanOptions) -> pyo.ConcreteModel:
    """Build the full model, with the best heuristic's makespan as its horizon."""
    return model_of(instance, contention=True)


@dataclass
class Pipeline:
    """What is known while the stages run."""

    instance: MakespanInstance
    settings: Settings
    schedule: Schedule | None = None
    value: int = 0
    bound: Bound = field(default_factory=lambda: Bound(0.0, ""))
    answer: Answer | None = None
    build_time: float = 0.0

    def run(self) -> Outcome:
        """Run the stages until upper and lower bound meet."""
        self.began = time.perf_counter()
        stage = "bounds"
        self._heuristics()
        for stage, work in (
            ("bounds", self._bounds),
            ("search", self._search),
            ("relaxation", self._relaxation),
            ("full model", self._full_model),
        ):
            try:
                work()
            except NotApplicableError as refusal:  # too large: what is known stands
                return self._outcome(f"{stage}: {refusal.found}", self._search_on())
            if self._met() or self._time_left() == 0:
                break
        return self._outcome(stage, False)

    def _heuristics(self) -> None:
        self.schedule = known_schedule(self.instance, self.settings)
        self.value = self.instance.horizon + 1
        if self.schedule is not None:
            self.value = int(evaluate(self.instance, self.schedule).makespan)

    def _bounds(self) -> None:
        self.bound = best_bound(self.instance, high=self.value)

    def _search(self) -> None:
        """Cut by moves, so that it repeats; the clock is looked at between searches."""
        moves = search_moves(self.instance)
        for seed in range(self.settings.seed + 1, self.settings.seed + 1 + SEARCHES):
            if self._met() or self._time_left() == 0:
                return
            short = replace(self.settings, seed=seed, iterations=moves, time_limit=None)
            self._offer(search(self.instance, short, self.bound.value).schedule)

    def _relaxation(self) -> None:
        left = self._time_left()
        limit = None if left is None else RELAXATION_SHARE * left
        self._solve("relaxation", False, replace(self.settings, time_limit=limit))

    def _full_model(self) -> None:
        self._solve("full model", True, replace(self.settings, time_limit=self._time_left()))

    def _solve(self, source: str, contention: bool, settings: Settings) -> None:
        low = int(self.bound.value)
        solved = solve_slotted(self.instance, self.value - 1, low, settings, contention=contention)
        self.answer = solved.answer
        self.build_time += solved.answer.build_time
        if solved.bound > low:
            self.bound = Bound(float(solved.bound), source)
        self._offer(solved.schedule)

    def _offer(self, schedule: Schedule | None) -> None:
        """Take a schedule if it is better, and still fits, under contention."""
        if schedule is None:
            return
        found = evaluate(self.instance, schedule)
        if found.makespan < self.value and found.fits:
            self.schedule, self.value = schedule, int(found.makespan)

    def _search_on(self) -> bool:
        """Spend the rest of the time on the heuristics; the model could not be built."""
        left = self._time_left()
        if left:
            outcome = nested(
                self.instance, MakespanOptions(), replace(self.settings, time_limit=left)
            )
            if outcome.claimed is not None and outcome.claimed < self.value:
                from optsched.makespan.contention import schedule_of

                self._offer(schedule_of(self.instance, outcome.solution))
        return True

    def _met(self) -> bool:
        return self.bound.value >= self.value

    def _time_left(self) -> float | None:
        if self.settings.time_limit is None:
            return None
        return max(0.0, self.settings.time_limit - (time.perf_counter() - self.began))

    def _outcome(self, stage: str, too_large: bool) -> Outcome:
        if self._met():
            infeasible = self.schedule is None
            termination = Termination.INFEASIBLE if infeasible else Termination.OPTIMAL
        else:
            termination = Termination.TIME_LIMIT
        bound = self.bound
        if self.schedule is not None and bound.value > self.value:
            bound = Bound(float(self.value), bound.source)
        answer = self.answer
        return outcome_of(
            self.instance,
            self.schedule,
            termination,
            details={"stopped_at": stage},
            bound=bound.value,
            bound_source=bound.source,
            certificate=bound.certificate,
            build_time=self.build_time,
            solve_time=time.perf_counter() - self.began - self.build_time,
            solver=None if answer is None else answer.solver,
            trace=() if answer is None else answer.trace,
        )
