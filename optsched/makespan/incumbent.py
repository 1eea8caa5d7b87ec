"""What stands when a method stops: the best schedule within the horizon and the best bound.

Every method starts one and offers it each schedule, so that no schedule counts that ends after the
horizon, a deadline loses none, and the status follows from the two values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from optsched.backends.answer import Answer
from optsched.deadline import Deadline, OutOfTimeError, clock
from optsched.display import counted
from optsched.makespan.bounds.best import Bound, best_bound, simple_bound
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.contention import Evaluation, Schedule, evaluate, solution_of
from optsched.makespan.instance import MakespanInstance
from optsched.result import Outcome, Settings, Termination, ended, is_proved

SEARCH_SHARE = 0.5
"""Share of its time limit that a heuristic may take; the bound has the rest."""


@dataclass(frozen=True)
class SearchResult:
    """A search's schedule, and whether its deadline cut it."""

    schedule: Schedule | None
    cut: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)


class Incumbent:
    """The best schedule and the best bound so far; ``value`` is infinite without a schedule."""

    def __init__(self, instance: MakespanInstance, settings: Settings) -> None:
        self.instance, self.settings = instance, settings
        self._began, self._build_time = clock(), 0.0
        self._answer: Answer | None = None
        self.bound = simple_bound(durations_of(instance))
        self.best: Evaluation | None = None
        self.name = ""
        self.cut = False
        self._least = math.inf
        self._tried: list[str] = []
        self._report()

    @property
    def value(self) -> float:
        """The best makespan within the horizon; infinite without one."""
        return math.inf if self.best is None else self.best.makespan

    @property
    def met(self) -> bool:
        """Whether the bound proves the best makespan to the requested gap."""
        return self.best is not None and is_proved(self.value, self.bound.value, self.settings.gap)

    @property
    def impossible(self) -> bool:
        """Whether the bound shows that no schedule ends within the horizon."""
        return self.bound.value > self.instance.latest_end

    @property
    def beyond(self) -> float:
        """Makespan below which a search looks: the best one, or a slot after the horizon."""
        return min(self.value, self.instance.horizon + 1.0)

    def offer(self, schedule: Schedule | None, name: str = "") -> None:
        """Take a schedule that ends within the horizon if it is better."""
        if schedule is None:
            return
        evaluation = evaluate(self.instance, schedule)
        self._least = min(self._least, evaluation.makespan)
        if evaluation.makespan <= self.instance.latest_end and evaluation.makespan < self.value:
            self.best, self.name = evaluation, name
            self._report()

    def take(self, result: SearchResult, name: str = "") -> None:
        """Take a search's schedule, and whether it was cut."""
        self.offer(result.schedule, name)
        self.cut = self.cut or result.cut
        if name and name not in self._tried:
            self._tried.append(name)

    def prove(self, bound: Bound) -> None:
        """Take a bound if it is better."""
        if bound.value > self.bound.value:
            self.bound = bound
            self._report()

    def bounded(self, deadline: Deadline, *, contention: bool = True) -> None:
        """Prove the best combinatorial bound by the deadline, unless one is met; `best_bound`."""
        if not self.met:
            self.prove(best_bound(self.instance, deadline=deadline, contention=contention))

    def heuristic(self, search: Callable[[Deadline], SearchResult]) -> Outcome:
        """The outcome of one search in its share of the time, and of the bound in the rest."""
        result = SearchResult(None)
        with self.working():
            result = search(self.settings.deadline.share(SEARCH_SHARE))
            self.take(result)
            self.bounded(self.settings.deadline)
        return self.outcome(result.details)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Let the deadline end the work in the block; its results so far stand."""
        try:
            yield
        except OutOfTimeError:
            self.cut = True

    def note(self, answer: Answer) -> None:
        """Add a solver's answer to the outcome: its trace and its building time."""
        self._answer, self._build_time = answer, self._build_time + answer.build_time

    def outcome(self, details: Mapping[str, Any] | None = None, *, proves: bool = False) -> Outcome:
        """The outcome of a method that proves optimality or does not."""
        ran_out = self.cut or (proves and self.settings.deadline.is_over)
        limited = self.settings.time_limit is not None and ran_out
        own: dict[str, Any]
        if self.best is None:
            unproved = Termination.TIME_LIMIT if limited else Termination.NO_SOLUTION
            status = Termination.INFEASIBLE if self.impossible else unproved
            own = {"message": self._message()}
        else:
            status = ended(proves and self.met, limited)
            own = {"mean_completion_time": self.best.mean_completion_time}
        return self._outcome(status, {**own, **(details or {})})

    def bound_alone(self, termination: Termination, message: str) -> Outcome:
        """The outcome of a method that has a bound and no schedule."""
        self.best = None
        status = Termination.TIME_LIMIT if self.cut else termination
        if self.impossible:
            status, message = Termination.INFEASIBLE, self._message()
        return self._outcome(status, {"message": message})

    def _outcome(self, status: Termination, details: dict[str, Any]) -> Outcome:
        return Outcome(
            None if self.best is None else solution_of(self.best),
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
        if self.impossible:
            return f"no schedule ends within {horizon}: none takes less than {self.bound.value:g}"
        least = "" if self._least == math.inf else f"; the best found takes {self._least:g}"
        tried = f"; tried {', '.join(self._tried)}" if self._tried else ""
        return f"no schedule found within {horizon}{least}{tried}"
