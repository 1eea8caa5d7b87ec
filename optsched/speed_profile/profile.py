"""Speed profiles: pieces, energy and conversion to an outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optsched.result import Outcome, Termination, is_proved
from optsched.speed_profile.exact._hull_kernel import Speeds
from optsched.speed_profile.instance import SpeedProfileInstance
from optsched.speed_profile.solution import Piece, SpeedProfileSolution
from optsched.uncertainty.distribution import Distribution
from optsched.uncertainty.epochs import Epochs
from optsched.uncertainty.survival import Curve, discrete_curve

STATUSES = ("slack", "binding", "infeasible")

FLAT_RTOL = 1e-15
"""Segments of F^c that fall by less than this (relative) are treated as flat."""


@dataclass(frozen=True)
class Profile:
    """Pieces (from, to, speed index) and the status; no pieces when infeasible."""

    pieces: tuple[tuple[float, float, int], ...]
    status: str

    @classmethod
    def of_changes(
        cls, curve: Curve, speeds: Sequence[int], changes: Sequence[float], status: str
    ) -> Profile:
        """Pieces of speeds used in turn, passing to the next at each change."""
        ends = [*(float(c) for c in changes), float(curve.knots[-1])]
        pieces, before = [], float(curve.knots[0])
        for speed, end in zip(speeds, ends, strict=True):
            if end > before:
                pieces.append((before, end, int(speed)))
                before = end
        return cls(tuple(pieces), status)

    def energy(self, instance: SpeedProfileInstance, curve: Curve) -> float:
        """(P3.1): expected energy of the pieces."""
        per_epoch = np.array(instance.power) / np.array(instance.speeds)
        return float(sum(per_epoch[k] * curve.area(a, b) for a, b, k in self.pieces))

    def seconds(self, instance: SpeedProfileInstance) -> float:
        """(P3.2): time at w^max."""
        return sum((b - a) / instance.speeds[k] for a, b, k in self.pieces)


def outcome_of(
    instance: SpeedProfileInstance,
    curve: Curve,
    profile: Profile,
    seconds: float,
    *,
    bound: float | None = None,
    source: str | None = None,
    gap: float = 0.0,
) -> Outcome:
    pieces = [{"from": a, "to": b, "speed": k} for a, b, k in profile.pieces]
    solution = SpeedProfileSolution(
        schema="optsched/speed-profile-solution",
        version=1,
        instance=instance.name,
        pieces=tuple(Piece.model_validate(piece) for piece in pieces),
        status=profile.status,
    )
    if profile.status == "infeasible":
        details = {"message": "the greatest speed misses the deadline"}
        return Outcome(solution, Termination.INFEASIBLE, solve_time=seconds, details=details)
    energy = profile.energy(instance, curve)
    bound = None if bound is None else min(bound, energy)
    proved = bound is not None and is_proved(energy, bound, gap)
    return Outcome(
        solution,
        Termination.OPTIMAL if proved else Termination.FEASIBLE,
        bound=bound,
        bound_source=source,
        claimed=energy,
        solve_time=seconds,
    )


def speeds_of(instance: SpeedProfileInstance) -> Speeds:
    """1/s and Q of the instance's speeds."""
    inverse = 1.0 / np.array(instance.speeds)
    return Speeds(inverse, np.array(instance.power) * inverse)


def curve_of(instance: SpeedProfileInstance) -> Curve:
    """The curve of an instance's work, given the epochs completed."""
    if isinstance(instance.work, Epochs):
        work = Distribution.of(instance.work.values, instance.work.probabilities)
        left = work.remaining(instance.completed)
        assert left is not None  # ruled out by instance validation
        curve = discrete_curve(left)
        return Curve(curve.knots + instance.completed, curve.high, curve.low)
    points = np.array(instance.work.points, dtype=float)
    survival = np.array(instance.work.survival, dtype=float)
    done = float(instance.completed)
    first = int(np.searchsorted(points, done, side="right"))
    now = float(np.interp(done, points, survival))
    knots = np.concatenate(([done], points[first:]))
    values = np.concatenate(([now], survival[first:])) / now
    high, low = values[:-1], values[1:]
    level = high - low <= FLAT_RTOL * high
    return Curve(knots, np.where(level, low, high), low)
