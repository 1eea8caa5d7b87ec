"""What stands when a method stops: the best schedule within the horizon and the best bound.

Every method starts one and lets all it tries pass through it, so that no schedule counts that ends
after the horizon, a deadline loses none, and the status follows from what is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

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
    """What a search found, and whether its deadline cut it."""

    schedule: Schedule | None
    cut: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)


class Incumbent:
    """The best schedule and the best bound so far."""

    def __init__(self, instance: MakespanInstance, settings: Settings) -> None:
        self.instance, self.settings = instance, settings
        self.began = clock()
        self.bound = simple_bound(durations_of(instance))
        self.best: Evaluation | None = None
        self.name = ""
        self.least = np.inf
        self.cut = False
        self.tried: list[str] = []
        self._report()

    @property
    def value(self) -> float:
        """The best makespan within the horizon; infinite without one."""
        return np.inf if self.best is None else self.best.makespan

    @property
    def known(self) -> float | None:
        """The best makespan within the horizon, if there is one."""
        return None if self.best is None else self.best.makespan

    @property
    def met(self) -> bool:
        """Whether the bound proves the best makespan at the gap asked."""
        return self.best is not None and is_proved(self.value, self.bound.value, self.settings.gap)

    @property
    def impossible(self) -> bool:
        """Whether the bound shows that no schedule ends within the horizon."""
        return self.bound.value > self.instance.latest_end

    @property
    def beyond(self) -> float:
        """Where a search for better may stop: the best makespan, or a slot after the horizon."""
        return min(self.value, self.instance.horizon + 1.0)

    def offer(self, schedule: Schedule | None, name: str = "") -> bool:
        """Take a schedule that ends within the horizon if it is better."""
        if schedule is None:
            return False
        found = evaluate(self.instance, schedule)
        self.least = min(self.least, found.makespan)
        if found.makespan > self.instance.latest_end or found.makespan >= self.value:
            return False
        self.best, self.name = found, name
        self._report()
        return True

    def take(self, found: SearchResult, name: str = "") -> None:
        """Take what a search found, and whether it was cut."""
        self.offer(found.schedule, name)
        self.cut = self.cut or found.cut
        if name and name not in self.tried:
            self.tried.append(name)

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
        found = SearchResult(None)
        with self.working():
            found = search(self.settings.deadline.share(SEARCH_SHARE))
            self.take(found)
            self.bounded(self.settings.deadline)
        return self.outcome(found.details)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Let the deadline end the work in the block: what was found stands."""
        try:
            yield
        except OutOfTimeError:
            self.cut = True

    def outcome(
        self,
        details: Mapping[str, Any] | None = None,
        build_time: float = 0.0,
        *,
        proves: bool = False,
        **known: Any,
    ) -> Outcome:
        """The outcome of what is known, of a method that proves optimality or does not."""
        about: dict[str, Any]
        ran_out = self.cut or (proves and self.settings.deadline.is_over)
        limited = self.settings.time_limit is not None and ran_out
        if self.best is None:
            unproved = Termination.TIME_LIMIT if limited else Termination.NO_SOLUTION
            status = Termination.INFEASIBLE if self.impossible else unproved
            about = {"message": self._message()}
        else:
            status = ended(proves and self.met, limited)
            about = {"mean_completion_time": self.best.mean_completion_time}
        return Outcome(
            None if self.best is None else solution_of(self.best),
            status,
            claimed=None if self.best is None else self.best.makespan,
            bound=self.bound.value,
            bound_source=self.bound.source,
            certificate=self.bound.certificate,
            build_time=build_time,
            solve_time=clock() - self.began - build_time,
            details={**about, **(details or {})},
            **known,
        )

    def bound_alone(
        self, termination: Termination, message: str, answer: Answer | None = None
    ) -> Outcome:
        """The outcome of a method that has a bound and no schedule."""
        status = Termination.TIME_LIMIT if self.cut else termination
        status = Termination.INFEASIBLE if self.impossible else status
        build_time = 0.0 if answer is None else answer.build_time
        return Outcome(
            None,
            status,
            bound=self.bound.value,
            bound_source=self.bound.source,
            certificate=self.bound.certificate,
            build_time=build_time,
            solve_time=clock() - self.began - build_time,
            solver=None if answer is None else answer.solver,
            trace=() if answer is None else answer.trace,
            details={"message": self._message() if self.impossible else message},
        )

    def _report(self) -> None:
        self.settings.progress.report(self.known, self.bound.value)

    def _message(self) -> str:
        horizon = f"the horizon of {counted(self.instance.horizon, 'slot')}"
        if self.impossible:
            return f"no schedule ends within {horizon}: none takes less than {self.bound.value:g}"
        found = "" if self.least == np.inf else f"; the best found takes {self.least:g}"
        tried = f"; tried {', '.join(self.tried)}" if self.tried else ""
        return f"no schedule found within {horizon}{found}{tried}"
