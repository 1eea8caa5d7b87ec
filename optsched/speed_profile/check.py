"""The independent checker of speed profiles: coverage, time, status and expected energy.

Shares no code with the methods. The equations are sts's.
"""

from collections.abc import Callable
from typing import Any

from optsched.checking import (
    BOUND_TOLERANCE,
    CANCELLATION,
    TIME_TOLERANCE,
    CheckReport,
    Violation,
    claim_violation,
    instance_violations,
    slack,
)
from optsched.speed_profile.instance import Epochs, SpeedProfileInstance
from optsched.speed_profile.options import SpeedProfileOptions
from optsched.speed_profile.solution import Piece, SpeedProfileSolution

BINDING_TOLERANCE = 1e-7
"""Largest slack, relative to the deadline, of a profile with status 'binding'."""


def check(
    instance: SpeedProfileInstance,
    solution: SpeedProfileSolution,
    options: dict[str, Any] | None = None,
) -> CheckReport:
    """Check a profile and recompute its expected energy.

    Rules: "instance", "status", "pieces", "speed", "deadline" (P2.2), "claimed objective" (P2.1).
    """
    SpeedProfileOptions.from_dict(solution.options if options is None else options)
    instance_mismatch = instance_violations(solution.instance, instance.name)
    if instance_mismatch:
        return CheckReport(None, tuple(instance_mismatch))
    fastest = (instance.max_work - instance.completed) / instance.speeds[-1]
    tolerance = TIME_TOLERANCE * max(fastest, instance.deadline)
    if solution.status == "infeasible":
        violations = []
        if instance.is_feasible:
            slack_seconds = max(instance.deadline - fastest, 0.0)
            violations.append(Violation("status", "(P2.2)", "infeasible", slack_seconds))
        if solution.pieces:
            violations.append(Violation("pieces", "(P3.3)", "infeasible", len(solution.pieces)))
        return CheckReport(None, tuple(violations))
    violations = _pieces(instance, solution.pieces)
    if violations:
        return CheckReport(None, tuple(violations))
    seconds = sum((p.to - p.from_) / instance.speeds[p.speed] for p in solution.pieces)
    if seconds - instance.deadline > tolerance:
        amount = seconds - instance.deadline
        return CheckReport(None, (Violation("deadline", "(P2.2)", "time", amount, tolerance),))
    energy, rounding = _energy(instance, solution.pieces)
    violations = _status(instance, solution.status, instance.deadline - seconds, energy)
    if solution.objective is not None:
        claim = claim_violation(solution.objective, energy, rounding)
        violations += [] if claim is None else [claim]
    return CheckReport(energy, tuple(violations), rounding)


def _status(
    instance: SpeedProfileInstance, status: str, slack_seconds: float, energy: float
) -> list[Violation]:
    """ "binding" leaves no time; "slack" leaves some, or costs no more than without a deadline."""
    tolerance = BINDING_TOLERANCE * instance.deadline
    if status == "binding" and slack_seconds > tolerance:
        return [Violation("status", "(P2.2)", "binding", slack_seconds, tolerance)]
    if status == "slack" and slack_seconds <= TIME_TOLERANCE * instance.deadline:
        integral, _ = _survival(instance)
        cheapest = min(p / s for p, s in zip(instance.power, instance.speeds, strict=True))
        min_energy = cheapest * integral(instance.completed, instance.max_work)
        allowed = BOUND_TOLERANCE * energy
        if energy - min_energy > allowed:
            return [Violation("status", "(P2.2)", "slack", energy - min_energy, allowed)]
    return []


def _pieces(instance: SpeedProfileInstance, pieces: tuple[Piece, ...]) -> list[Violation]:
    """(P3.3): pieces in order, from completed to w^max, at speeds that exist."""
    if not pieces:
        return [Violation("pieces", "(P3.3)", "no piece", 1)]
    violations = []
    ends = [instance.completed, *(piece.to for piece in pieces)]
    starts = [*(piece.from_ for piece in pieces), instance.max_work]
    lengths = [piece.to - piece.from_ for piece in (pieces[0], *pieces)]
    for index, (end, start, length) in enumerate(zip(ends, starts, lengths, strict=True)):
        tolerance = slack(length, end, start)
        if abs(end - start) > tolerance:
            where = f"before piece {index}"
            violations.append(Violation("pieces", "(P3.3)", where, abs(end - start), tolerance))
    for index, piece in enumerate(pieces):
        if piece.to < piece.from_:
            where = f"piece {index}"
            violations.append(Violation("pieces", "(P3.3)", where, piece.from_ - piece.to))
        if not 0 <= piece.speed < len(instance.speeds):
            violations.append(Violation("speed", "s_k", f"piece {index}", 1))
    return violations


def _energy(instance: SpeedProfileInstance, pieces: tuple[Piece, ...]) -> tuple[float, float]:
    """(P2.1) with Q of (22), given W > completed; and its rounding.

    Integrated piece by piece: a difference of cumulative integrals would cancel for late pieces
    with small survival. An end of a piece is good to some units in its last place.
    """
    integral, alive = _survival(instance)
    total = rounding = 0.0
    for piece in pieces:
        per_epoch = instance.power[piece.speed] / instance.speeds[piece.speed]
        energy = per_epoch * integral(piece.from_, piece.to)
        total += energy
        rounding += CANCELLATION * (energy + per_epoch * alive(piece.from_) * abs(piece.to))
    return total, rounding


Survival = tuple[Callable[[float, float], float], Callable[[float], float]]
"""The integral of F^c between two epochs, and F^c; both given W > completed."""


def _survival(instance: SpeedProfileInstance) -> Survival:
    return (_discrete if isinstance(instance.work, Epochs) else _linear)(instance)


def _discrete(instance: SpeedProfileInstance) -> Survival:
    """sum_s p_s (min(end, w_s) - min(start, w_s)), and the p_s of w_s > w."""
    work, done = instance.work, instance.completed
    assert isinstance(work, Epochs)
    left = [(w, p) for w, p in zip(work.values, work.probabilities, strict=True) if w > done]
    total = sum(p for _, p in left)

    def integral(start: float, end: float) -> float:
        return sum(p * (min(end, w) - min(start, w)) for w, p in left) / total

    return integral, lambda w: sum(p for value, p in left if value > w) / total


def _linear(instance: SpeedProfileInstance) -> Survival:
    """A piecewise linear F^c, integrated by trapezia."""
    work, done = instance.work, instance.completed
    assert not isinstance(work, Epochs)
    spans = list(zip(work.points, work.points[1:], work.survival, work.survival[1:], strict=False))

    def at(w: float) -> float:
        w = min(w, spans[-1][1])  # where an end may lie by its tolerance
        a, b, high, low = next(span for span in spans if w <= span[1])
        return (high * (b - w) + low * (w - a)) / (b - a)

    def integral(start: float, end: float) -> float:
        total = 0.0
        for a, b, high, low in spans:
            left, right = max(a, start), min(b, end)
            if right > left:
                both = high * ((b - left) + (b - right)) + low * ((left - a) + (right - a))
                total += (right - left) * both / (b - a) / 2
        return total / at(done)

    return integral, lambda w: at(w) / at(done)
