"""Check reports, and tolerances shared by all checkers.

A checker re-derives each rule and the objective from raw decisions. It shares no code with the
methods: the `check` modules import their slice's data and this file, nothing else. Tolerances are
relative to the quantity checked: in other units of time, bytes or money the verdict is the same.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from optsched.display import Displayed, counted, number
from optsched.errors import InputError

CLAIM_TOLERANCE = 1e-6
"""Largest relative difference between a claimed objective and the recomputed one."""

BOUND_TOLERANCE = 1e-9
"""How far (relative) a lower bound may lie above a feasible objective: rounding only."""

TIME_TOLERANCE = 1e-9
"""Relative tolerance for sums of times or of work."""

MAX_ULPS = 64
"""Tolerance for a difference of two clock times, in units in the last place of the later one."""

CANCELLATION = MAX_ULPS * sys.float_info.epsilon
"""Relative rounding error of a difference, with respect to its terms."""

NEGLIGIBLE_BOUND = 1e-9
"""Share of the objective at or below which a bound counts as 0."""


def relative_excess(objective: float | None, bound: float | None) -> float | None:
    """``objective / bound - 1``; None when either is unknown or the bound is negligible."""
    if objective is None or bound is None:
        return None
    if objective == bound:
        return 0.0
    if objective == 0 or bound <= NEGLIGIBLE_BOUND * abs(objective):
        return None
    return objective / bound - 1


def slack(length: float, *times: float) -> float:
    """Return the tolerance for a duration computed from clock times."""
    finest = max((math.ulp(time) for time in times), default=0.0)
    return max(TIME_TOLERANCE * abs(length), MAX_ULPS * finest)


@dataclass(frozen=True)
class Violation:
    """A violated constraint.

    Attributes
    ----------
    rule, equation : str
        The rule's name, and the equation of the paper or of the formulation that states it.
    where : str
        The stage, server or job that violates it.
    amount, tolerance : float
        The amount of the violation, and the tolerance.
    """

    rule: str
    equation: str
    where: str
    amount: float
    tolerance: float = 0.0

    def __str__(self) -> str:
        if self.rule == "instance":
            return self.where
        return f"{self.rule}, {self.equation}, violated at {self.where} by {self.amount:g}"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, repr=False)
class CheckReport(Displayed):
    """A checker's verdict.

    Attributes
    ----------
    objective : float or None
        As recomputed; None if it cannot be computed.
    violations : tuple of Violation
        The violated rules.
    rounding : float
        Rounding error of the objective, in its unit; relevant where the objective is a difference
        of larger terms, such as a tardiness.
    """

    objective: float | None
    violations: tuple[Violation, ...] = ()
    rounding: float = 0.0

    @property
    def feasible(self) -> bool:
        """True when no rule is violated."""
        return not self.violations

    def require_feasible(self, source: str) -> None:
        """Raise InputError with the violated rule; a wrong claimed objective is allowed."""
        violations = [v for v in self.violations if not v.rule.startswith("claimed")]
        if violations:
            found = str(violations[0])
            message = f"not a feasible solution: {found}"
            raise InputError(source, "", found, "a feasible solution", message)

    def facts(self) -> dict[str, str]:
        """The verdict, for a prompt or a page."""
        violations = {f"violation {at}": str(v) for at, v in enumerate(self.violations, start=1)}
        verdict = counted(len(violations), "violation") if violations else "feasible"
        return {"check": verdict, "objective": number(self.objective), **violations}

    def verdict(self) -> dict[str, Any]:
        """The verdict alone as a JSON object."""
        violations = [violation.to_dict() for violation in self.violations]
        return {"feasible": self.feasible, "violations": violations}

    def to_dict(self) -> dict[str, Any]:
        return {"feasible": self.feasible, "objective": self.objective, **self.verdict()}


def instance_violations(solution_instance: str, name: str) -> list[Violation]:
    """Return the violation of a solution that names another instance, if it does."""
    if solution_instance == name:
        return []
    where = f"the solution is for {solution_instance!r}, not for {name!r}"
    return [Violation("instance", "file", where, 1)]


def another_instance(solution: Any, name: str, sha256: Callable[[], str]) -> CheckReport | None:
    """Return the verdict on a run's file for another instance; None if it is for this one."""
    violations = instance_violations(solution.instance, name)
    if not violations and solution.instance_sha256 not in (None, sha256()):
        where = f"the solution is for another {name!r}, by its instance_sha256"
        violations = [Violation("instance", "file", where, 1)]
    return CheckReport(None, tuple(violations)) if violations else None


def claim_violation(claimed: float, recomputed: float, rounding: float = 0.0) -> Violation | None:
    """The violation of a claimed objective that differs from the recomputed one, or None."""
    difference = abs(claimed - recomputed)
    if difference <= max(CLAIM_TOLERANCE * abs(recomputed), rounding):
        return None
    amount = share_of(difference, claimed, recomputed)
    return Violation("claimed objective", "objective", "objective", amount, CLAIM_TOLERANCE)


def bound_violation(bound: float, objective: float, rounding: float = 0.0) -> Violation | None:
    """The violation of a lower bound above a feasible objective, or None."""
    excess = bound - objective
    if excess <= max(BOUND_TOLERANCE * abs(objective), rounding):
        return None
    amount = share_of(excess, bound, objective)
    return Violation("bound", "bound <= objective", "bound", amount, BOUND_TOLERANCE)


def share_of(difference: float, one: float, other: float) -> float:
    """Return a difference relative to the larger of two values; 1 where that is not finite."""
    share = difference / max(abs(one), abs(other))
    return share if math.isfinite(share) else 1.0
