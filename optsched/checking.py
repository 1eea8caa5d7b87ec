"""What every checker reports, and the tolerances that all of them share.

A checker re-derives each rule and the objective from raw decisions. It shares no code with the
methods: the `check` modules import their slice's data and this file, nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

CLAIM_TOLERANCE = 1e-6
"""Largest relative difference between a claimed objective and the recomputed one."""

BOUND_TOLERANCE = 1e-9
"""How far (relative) a lower bound may lie above a feasible objective: rounding only."""


@dataclass(frozen=True)
class Violation:
    """One broken rule.

    Attributes
    ----------
    rule : str
        The rule's name.
    equation : str
        The equation of the paper or of the formulation that states it.
    where : str
        The stage, server, job... that breaks it.
    amount : float
        By how much.
    tolerance : float
        What would have been allowed.
    """

    rule: str
    equation: str
    where: str
    amount: float
    tolerance: float = 0.0

    def __str__(self) -> str:
        return f"{self.rule}, {self.equation}, broken at {self.where} by {self.amount:g}"

    def to_dict(self) -> dict[str, Any]:
        """The violation as a JSON object."""
        return {
            "rule": self.rule,
            "equation": self.equation,
            "where": self.where,
            "amount": self.amount,
            "tolerance": self.tolerance,
        }


@dataclass(frozen=True)
class CheckReport:
    """A checker's verdict: the objective it recomputed and the rules it found broken."""

    objective: float | None
    violations: tuple[Violation, ...] = ()

    @property
    def feasible(self) -> bool:
        """True when no rule is broken."""
        return not self.violations

    def to_dict(self) -> dict[str, Any]:
        """The verdict as a JSON object."""
        return {
            "feasible": self.feasible,
            "objective": self.objective,
            "violations": [v.to_dict() for v in self.violations],
        }


def claim_violation(claimed: float, recomputed: float) -> Violation | None:
    """The violation of a claimed objective that differs from the recomputed one, or None."""
    difference = abs(claimed - recomputed) / max(abs(recomputed), 1e-12)
    if difference <= CLAIM_TOLERANCE:
        return None
    return Violation("claimed objective", "objective", "objective", difference, CLAIM_TOLERANCE)


def bound_violation(bound: float, objective: float) -> Violation | None:
    """The violation of a lower bound above a feasible objective, or None."""
    excess = (bound - objective) / max(abs(objective), 1e-12)
    if excess <= BOUND_TOLERANCE:
        return None
    return Violation("bound", "bound <= objective", "bound", excess, BOUND_TOLERANCE)
