"""What every checker reports, and the tolerances that all of them share.

A checker re-derives each rule and the objective from raw decisions. It shares no code with the
methods: the `check` modules import their slice's data and this file, nothing else. Tolerances are
relative to the quantity checked: in other units of time, bytes or money the verdict is the same.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from optsched.display import Displayed, number

CLAIM_TOLERANCE = 1e-6
"""Largest relative difference between a claimed objective and the recomputed one."""

BOUND_TOLERANCE = 1e-9
"""How far (relative) a lower bound may lie above a feasible objective: rounding only."""

TIME_TOLERANCE = 1e-9
"""Relative rounding allowed in a stretch of time, or of work, that was added up."""

ULPS = 64
"""Units in the last place of a clock's reading that its rounding may leave in a stretch."""

CANCELLATION = ULPS * sys.float_info.epsilon
"""Relative to the terms of a difference: what their rounding may leave where they cancel."""


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


def slack(length: float, *readings: float) -> float:
    """What rounding may change of a stretch that is read off a clock."""
    finest = max((math.ulp(reading) for reading in readings), default=0.0)
    return max(TIME_TOLERANCE * abs(length), ULPS * finest)


@dataclass(frozen=True)
class Violation:
    """One broken rule.

    Attributes
    ----------
    rule, equation : str
        The rule's name, and the equation of the paper or of the formulation that states it.
    where : str
        The stage, server or job that breaks it.
    amount, tolerance : float
        By how much, and by how much it may.
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
        """The violation as a JSON object."""
        return asdict(self)


@dataclass(frozen=True, repr=False)
class CheckReport(Displayed):
    """A checker's verdict.

    Attributes
    ----------
    objective : float or None
        As recomputed; None where the decisions have no value.
    violations : tuple of Violation
        The rules found broken.
    rounding : float
        Rounding error of the objective, in its unit; relevant where the objective is a difference
        of larger terms, such as a tardiness.
    """

    objective: float | None
    violations: tuple[Violation, ...] = ()
    rounding: float = 0.0

    @property
    def feasible(self) -> bool:
        """True when no rule is broken."""
        return not self.violations

    def facts(self) -> dict[str, str]:
        """The verdict, for a prompt or a page."""
        broken = {f"broken {at}": str(v) for at, v in enumerate(self.violations, start=1)}
        verdict = f"{len(self.violations)} violations" if broken else "feasible"
        return {"check": verdict, "objective": number(self.objective), **broken}

    def verdict(self) -> dict[str, Any]:
        """The verdict alone as a JSON object."""
        violations = [violation.to_dict() for violation in self.violations]
        return {"feasible": self.feasible, "violations": violations}

    def to_dict(self) -> dict[str, Any]:
        """The verdict and the objective as a JSON object."""
        return {"feasible": self.feasible, "objective": self.objective, **self.verdict()}


def instance_violations(found: str, name: str) -> list[Violation]:
    """Return the violation of a solution that names another instance, if it does."""
    if found == name:
        return []
    return [Violation("instance", "file", f"the solution is for {found!r}, not for {name!r}", 1)]


def another_instance(solution: Any, name: str, sha256: Callable[[], str]) -> CheckReport | None:
    """Return the verdict on a run's file for another instance; None if it is for this one."""
    found = instance_violations(solution.instance, name)
    if not found and solution.instance_sha256 not in (None, sha256()):
        where = f"the solution is for another {name!r}, by its instance_sha256"
        found = [Violation("instance", "file", where, 1)]
    return CheckReport(None, tuple(found)) if found else None


def claim_violation(claimed: float, recomputed: float, rounding: float = 0.0) -> Violation | None:
    """The violation of a claimed objective that differs from the recomputed one, or None."""
    off = abs(claimed - recomputed)
    if off <= max(CLAIM_TOLERANCE * abs(recomputed), rounding):
        return None
    amount = share_of(off, claimed, recomputed)
    return Violation("claimed objective", "objective", "objective", amount, CLAIM_TOLERANCE)


def bound_violation(bound: float, objective: float, rounding: float = 0.0) -> Violation | None:
    """The violation of a lower bound above a feasible objective, or None."""
    above = bound - objective
    if above <= max(BOUND_TOLERANCE * abs(objective), rounding):
        return None
    amount = share_of(above, bound, objective)
    return Violation("bound", "bound <= objective", "bound", amount, BOUND_TOLERANCE)


def share_of(difference: float, one: float, other: float) -> float:
    """Return a difference relative to the larger of two values; 1 where that is not finite."""
    share = difference / max(abs(one), abs(other))
    return share if math.isfinite(share) else 1.0
