"""Incumbent: best schedule within the horizon and best lower bound of a run.

Methods report schedules and bounds to it. It rejects schedules beyond the horizon, keeps results at
a deadline and derives the status.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from optsched.backends.solver_result import SolverResult
from optsched.deadline import Deadline, OutOfTimeError, clock
from optsched.display import counted
from optsched.makespan.bounds.best import Bound, best_bound, simple_bound
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.contention import Evaluation, Schedule, evaluate, solution_from_evaluation
from optsched.makespan.instance import MakespanInstance
from optsched.result import Outcome, Settings, Termination, is_proved, termination_of

SEARCH_TIME_SHARE = 0.5
"""Share of the time limit for the heuristic; the rest is for the bound."""


@dataclass(frozen=True)
class SearchResult:
    """Schedule found by a search; `timed_out`: stopped by the deadline."""

    schedule: Schedule | None
    timed_out: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)


class Incumbent:
    """Best schedule and best bound so far; ``value`` is infinite without a schedule."""

    def __init__(self, instance: MakespanInstance, settings: Settings) -> None:
        self.instance, self.settings = instance, settings
        self._began, self._build_time = clock(), 0.0
        self._answer: SolverResult | None = None
        self.bound = simple_bound(durations_of(instance))
        self.best: Evaluation | None = None
        self.name = ""
        self.timed_out = False
        self._best_makespan = math.inf  # the horizon aside
        self._methods_tried: list[str] = []
        self._report()

    @property
    def value(self) -> float:
        """The best makespan within the horizon; infinite without one."""
        return math.inf if self.best is None else self.best.makespan

    @property
    def is_optimal(self) -> bool:
        return self.best is not None and is_proved(self.value, self.bound.value, self.settings.gap)

    @property
    def is_infeasible(self) -> bool:
        """Whether the bound shows that no schedule ends within the horizon."""
        return self.bound.value > self.instance.latest_end

    @property
    def is_decided(self) -> bool:
        return self.is_optimal or self.is_infeasible

    @property
    def cutoff(self) -> float:
        """Exclusive upper bound for searches: best makespan, or horizon + 1 without a schedule."""
        return min(self.value, self.instance.horizon + 1.0)

    def update_schedule(self, schedule: Schedule | None, name: str = "") -> None:
        """Keep a schedule that ends within the horizon if it is better."""
        if schedule is None:
            return
        evaluation = evaluate(self.instance, schedule)
        self._best_makespan = min(self._best_makespan, evaluation.makespan)
        if evaluation.makespan <= self.instance.latest_end and evaluation.makespan < self.value:
            self.best, self.name = evaluation, name
            self._report()

    def update_result(self, result: SearchResult, name: str = "") -> None:
        """Keep a search's schedule if it is better, and whether the search timed out."""
        self.update_schedule(result.schedule, name)
        self.timed_out = self.timed_out or result.timed_out
        if name and name not in self._methods_tried:
            self._methods_tried.append(name)

    def update_bound(self, bound: Bound) -> None:
        if bound.value > self.bound.value:
            self.bound = bound
            self._report()

    def compute_bound(self, deadline: Deadline, *, contention: bool = True) -> None:
        if not self.is_optimal:
            self.update_bound(best_bound(self.instance, deadline=deadline, contention=contention))

    def heuristic(self, search: Callable[[Deadline], SearchResult]) -> Outcome:
        """Run a search and then the bound; return the outcome."""
        result = SearchResult(None)
        with self.until_deadline():
            result = search(self.settings.deadline.share(SEARCH_TIME_SHARE))
            self.update_result(result)
            if self.settings.bound:
                self.compute_bound(self.settings.deadline)
        return self.outcome(result.details)

    @contextmanager
    def until_deadline(self) -> Iterator[None]:
        """Stop the block at the deadline, keeping the results so far."""
        try:
            yield
        except OutOfTimeError:
            self.timed_out = True

    def record_answer(self, answer: SolverResult) -> None:
        """Add a solver's answer to the outcome: its trace and its building time."""
        self._answer, self._build_time = answer, self._build_time + answer.build_time

    def outcome(self, details: Mapping[str, Any] | None = None, *, proves: bool = False) -> Outcome:
        """Outcome; `proves`: the method may claim optimality."""
        timed_out = self.timed_out or (proves and self.settings.deadline.is_over)
        limited = self.settings.time_limit is not None and timed_out
        extra: dict[str, Any]
        if self.best is None:
            unproved = Termination.TIME_LIMIT if limited else Termination.NO_SOLUTION
            status = Termination.INFEASIBLE if self.is_infeasible else unproved
            extra = {"message": self._message()}
        else:
            status = termination_of(proves and self.is_optimal, limited)
            extra = {
                "mean_completion_time": self.best.mean_completion_time,
                "mean_run_time": self.best.mean_run_time,
            }
        return self._outcome(status, {**extra, **(details or {})})

    def bound_outcome(self, termination: Termination, message: str) -> Outcome:
        """Outcome of a method that has a bound and no schedule."""
        self.best = None
        status = Termination.TIME_LIMIT if self.timed_out else termination
        if self.is_infeasible:
            status, message = Termination.INFEASIBLE, self._message()
        return self._outcome(status, {"message": message})

    def _outcome(self, status: Termination, details: dict[str, Any]) -> Outcome:
        return Outcome(
            None if self.best is None else solution_from_evaluation(self.best),
            status,
            claimed=None if self.best is None else self.best.makespan,
            bound=self.bound.value,
            bound_source=self.bound.source,
            certificate=self.bound.certificate,
            build_time=self._build_time,
            solve_time=clock() - self._began - self._build_time,
            solver=None if self._answer is None else self._answer.solver,
            trace=() if self._answer is None else self._answer.trace,
            details=details,
        )

    def _report(self) -> None:
        value = None if self.best is None else self.best.makespan
        self.settings.progress.report(value, self.bound.value)

    def _message(self) -> str:
        horizon = f"the horizon of {counted(self.instance.horizon, 'slot')}"
        if self.is_infeasible:
            bound = f"the lower bound is {self.bound.value:g} slots"
            return f"no schedule ends within {horizon}: {bound}"
        parts = [f"no schedule found within {horizon}"]
        if self._best_makespan < math.inf:
            parts.append(f"the best schedule found takes {self._best_makespan:g} slots")
        if self._methods_tried:
            parts.append(f"tried {', '.join(self._methods_tried)}")
        return "; ".join(parts)
