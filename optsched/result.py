"""Outcomes of methods, the checked results made of them, and the settings of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from optsched.checking import BOUND_TOLERANCE, CheckReport, relative_excess
from optsched.deadline import Deadline
from optsched.declared import Gap, Iterations, NonNegative, Seed, Threads, require_declared
from optsched.display import Displayed, number
from optsched.files import plain
from optsched.progress import Progress

if TYPE_CHECKING:
    from optsched.typing import Instance, Solution


class Termination(StrEnum):
    """How a method ended. A status, never an exception."""

    OPTIMAL = "optimal"
    """Proved optimal within the requested gap."""
    FEASIBLE = "feasible"
    """A solution without such a proof."""
    TIME_LIMIT = "time-limit"
    """A limit was given and reached, with a solution or without one."""
    NO_SOLUTION = "no-solution"
    """Ended on its own without a solution, and without a proof that there is none."""
    INFEASIBLE = "infeasible"
    """Proved to have no solution."""
    INTERRUPTED = "interrupted"
    ERROR = "error"


ONLY_A_BOUND = "only a bound"
"""Status of a row whose method gives a bound and no solution."""

ARITHMETIC_RTOL = 1e-9
"""Relative rounding of a method's own arithmetic: smaller gaps are not meaningful."""

SOLVER_RTOL = 1e-8
"""Relative rounding of a solver: its tolerance is 1e-9 per row, and several rows make a value."""

RELAXES = "relaxes"
"""Key of a result's details: the constraint that the method relaxes. Its bound and the problem's
bounds are not comparable."""

NOT_COMPARABLE = "not comparable"
"""Key of a row's details: the reason why tables omit its excess."""


def is_proved(objective: float, bound: float, gap: float) -> bool:
    """Whether a bound proves an objective optimal at a relative gap."""
    return objective - bound <= max(gap, ARITHMETIC_RTOL) * abs(objective)


def is_solved(objective: float, bound: float, gap: float) -> bool:
    """Whether a solver's bound proves an objective at a relative gap, up to its tolerance.

    Solver tolerances are absolute in the model's unit, so near 0 the gap is absolute.
    """
    tolerance = SOLVER_RTOL * max(abs(objective), 1.0)
    return abs(objective - bound) <= max(gap * abs(objective), tolerance)


def termination_of(proved: bool, limited: bool) -> Termination:
    """Return the termination of a search with a solution; "time-limit" only if a limit ended it."""
    if proved:
        return Termination.OPTIMAL
    return Termination.TIME_LIMIT if limited else Termination.FEASIBLE


def clipped_bound(bound: float | None, objective: float | None) -> float | None:
    """Clip a bound to a feasible objective that it exceeds by rounding only.

    A bound that exceeds it by more is wrong, and is left as it is so that a check finds it.
    """
    if bound is None or objective is None:
        return bound
    rounding = BOUND_TOLERANCE * abs(objective)
    return bound if bound - objective > rounding else min(bound, objective)


@dataclass(frozen=True)
class Settings:
    """Settings of a run, for any method of any problem.

    Attributes
    ----------
    time_limit : float or None
        Seconds of wall-clock time; None for no limit.
    iterations : int or None
        Cut for methods that count iterations, so that a run can be repeated exactly.
    gap : float
        Relative gap at which a value counts as proved (absolute gap 0).
    threads : int
        Threads of the MILP solver.
    seed : int
        Seed of every random choice.
    solver : str
        Name of the MILP solver.
    bound : bool
        Whether to compute a quick bound; heuristics of makespan compute one of their own.
    deadline : Deadline
        The clock behind `time_limit`. It starts when the settings are made and is kept by
        ``replace(settings, gap=...)``; another `time_limit` starts another one.
    progress : Progress
        Where a method reports incumbents and bounds; ignored by default.
    start : solution or None
        A feasible solution to start from; ignored by methods that do not take one.
    """

    time_limit: NonNegative | None = None
    iterations: Iterations | None = None
    gap: Gap = 1e-6
    threads: Threads = 1
    seed: Seed = 0
    solver: str = "highs"
    bound: bool = True
    deadline: Deadline = field(default_factory=Deadline, compare=False, repr=False)
    progress: Progress = field(default_factory=Progress, compare=False, repr=False)
    start: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        require_declared("settings", self)
        if self.deadline.limit != self.time_limit:
            object.__setattr__(self, "deadline", Deadline(self.time_limit))

    def within(self, deadline: Deadline) -> Settings:
        return replace(self, time_limit=deadline.limit, deadline=deadline)


class Certificate(Protocol):
    """What proves a bound by itself; each problem has its own, which its checker verifies."""

    def to_dict(self) -> dict[str, Any]:
        """The certificate as the JSON object of a solution's or a result's file."""


@dataclass(frozen=True)
class TracePoint:
    """One line of a solver's progress: seconds since its start, incumbent and bound."""

    time: float
    incumbent: float | None
    bound: float | None


@dataclass(frozen=True)
class Outcome:
    """Unchecked result of a method: a solution and, optionally, a bound.

    Attributes
    ----------
    solution : object or None
        The decisions, in the slice's own solution class.
    termination : Termination
        A heuristic says "feasible".
    bound : float or None
        Proven lower bound on the optimum; None when the method has none.
    bound_source : str or None
        Where the bound comes from.
    claimed : float or None
        The objective as the method itself computes it, for the checker to confirm.
    build_time, solve_time : float
        Seconds spent stating the model and solving it.
    chosen : str or None
        For ``exact``: the method that gave the answer.
    solver : str or None
        The solver's name when one was called.
    trace : tuple of TracePoint
        The solver's incumbent and bound over time.
    details : mapping
        Problem-specific extras (such as the cut of ``min-cut``).
    certificate : Certificate or None
        What proves the bound by itself.
    """

    solution: Any
    termination: Termination
    bound: float | None = None
    bound_source: str | None = None
    claimed: float | None = None
    build_time: float = 0.0
    solve_time: float = 0.0
    chosen: str | None = None
    solver: str | None = None
    trace: tuple[TracePoint, ...] = ()
    details: Mapping[str, object] = field(default_factory=dict)
    certificate: Certificate | None = None


@dataclass(frozen=True, repr=False)
class Result(Displayed):
    """A checked outcome with everything needed to repeat it.

    Attributes
    ----------
    problem, instance, instance_sha256 : str
        The problem, the instance and its hash.
    method, chosen : str
        The requested method, and for ``exact`` the one that gave the answer (else None).
    solver, solver_version : str or None
        If one was called.
    options : mapping
        The problem's, in full.
    seed : int
        Of every random choice.
    termination : Termination
        Termination status.
    objective : float or None
        The checker's own value, recomputed from the decisions, in the file's unit.
    bound, bound_source : float or None, str or None
        Proven lower bound and its source.
    build_time, solve_time : float
        Seconds of building a model and of solving; longer where kernels are not compiled yet
        (`optsched.methods.warm_up`).
    check : CheckReport or None
        The checker's verdict.
    solution : solution or None
        The decisions.
    trace : tuple of TracePoint
        Incumbent and bound over time, as the method's solver stated them on the way.
    details, measures : mapping
        Extra information from the method, and the problem's measures, such as a speed-up.
    certificate : Certificate or None
        What proves the bound by itself.
    only_bound : bool
        Whether the method returned only a bound, as intended.
    instance_data : instance or None
        The instance itself, for pictures.
    """

    problem: str
    instance: str
    instance_sha256: str
    method: str
    solver: str | None
    solver_version: str | None
    options: Mapping[str, object]
    seed: int
    termination: Termination
    objective: float | None
    bound: float | None
    bound_source: str | None
    build_time: float
    solve_time: float
    check: CheckReport | None
    solution: Solution | None
    chosen: str | None = None
    trace: tuple[TracePoint, ...] = ()
    details: Mapping[str, object] = field(default_factory=dict)
    certificate: Certificate | None = None
    only_bound: bool = False
    instance_data: Instance | None = field(default=None, compare=False)
    measures: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def gap(self) -> float | None:
        """``|objective - bound| / max(|objective|, 1e-12)``; None when either is unknown."""
        if self.objective is None or self.bound is None:
            return None
        return abs(self.objective - self.bound) / max(abs(self.objective), 1e-12)

    @property
    def excess(self) -> float | None:
        """``objective / bound - 1``; None when unknown, not comparable or the bound is about 0."""
        if NOT_COMPARABLE in self.details:
            return None
        return relative_excess(self.objective, self.bound)

    @property
    def status(self) -> str:
        """Termination status of tables: "only a bound" for a method that returns no solution."""
        return ONLY_A_BOUND if self.only_bound else self.termination.value

    @property
    def relaxed(self) -> bool:
        """Whether the method relaxes a constraint of the problem."""
        return RELAXES in self.details

    @property
    def proved(self) -> bool:
        """True when the method proved its objective optimal within the requested gap."""
        return self.termination is Termination.OPTIMAL

    def facts(self) -> dict[str, str]:
        """Labels and texts of its display."""
        chosen = f" ({self.chosen})" if self.chosen else ""
        checked = "-" if self.check is None else ("yes" if self.check.feasible else "violated")
        return {
            self.problem: self.instance,
            "method": f"{self.method}{chosen}",
            "status": self.status,
            "objective": number(self.objective),
            "bound": number(self.bound),
            "excess": "-" if self.excess is None else f"{self.excess:.2%} over {self.bound_source}",
            "seconds": f"{self.build_time + self.solve_time:.3g}",
            "checked": checked,
        }

    def to_dict(self, *, with_solution: bool = True) -> dict[str, Any]:
        """The result as the JSON object of the command line."""
        first = ("problem", "instance", "instance_sha256", "method", "chosen", "solver")
        values = ("objective", "bound", "bound_source", "only_bound", "gap", "excess")
        document: dict[str, Any] = {
            **{name: getattr(self, name) for name in (*first, "solver_version")},
            "options": dict(self.options),
            "seed": self.seed,
            "termination": self.termination.value,
            **{name: getattr(self, name) for name in values},
            **self.measures,
            "build_time": self.build_time,
            "solve_time": self.solve_time,
            "check": None if self.check is None else self.check.to_dict(),
            "details": dict(self.details),
            "trace": plain([[p.time, p.incumbent, p.bound] for p in self.trace]),
        }
        if self.certificate is not None:
            document["certificate"] = self.certificate.to_dict()
        if with_solution:
            document["solution"] = None if self.solution is None else self.solution.to_dict()
        return document
