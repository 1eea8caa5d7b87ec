"""Method ``convex``: (P3) handed to scipy, as sts V-B proposes.

Guarantee: none beyond the solver's own; it is here to be cross-checked. On the hull's speeds (P3)
is convex: for discrete W it is a linear programme in the epochs of each piece at each speed
(`linprog`), for piecewise linear F^c it is smooth and goes to SLSQP from two starts. Complexity:
the solvers'. Source: sts, (P3) and Proposition 1.
"""

from __future__ import annotations

import itertools

import numpy as np

from optsched.deadline import clock
from optsched.result import Outcome, Settings
from optsched.speed_profile.exact.hull import hull_speeds
from optsched.speed_profile.instance import SpeedProfileInstance
from optsched.speed_profile.options import SpeedProfileOptions
from optsched.speed_profile.profile import Profile, curve_of, outcome_of
from optsched.uncertainty.epochs import Epochs
from optsched.uncertainty.survival import Curve

STEPS = 1000


def convex(
    instance: SpeedProfileInstance, options: SpeedProfileOptions, settings: Settings
) -> Outcome:
    """Solve a speed profile by a general convex solver."""
    began = clock()
    curve = curve_of(instance)
    profile = convex_profile(instance, curve)
    seconds = clock() - began
    return outcome_of(instance, curve, profile, seconds, bound=None, source="")


def convex_profile(instance: SpeedProfileInstance, curve: Curve) -> Profile:
    """The profile that scipy finds."""
    speeds = hull_speeds(instance)
    work = float(curve.knots[-1] - curve.knots[0])
    deadline = float(instance.deadline)
    if not instance.can_be_in_time:
        return Profile.infeasible()
    if work / instance.speeds[speeds[0]] <= deadline:
        return Profile.of_changes(curve, speeds[:1], (), "slack")
    if len(speeds) == 1:  # late by a rounding
        return Profile.of_changes(curve, speeds, (), "binding")
    solve = _linear_programme if isinstance(instance.work, Epochs) else _smooth
    return Profile.of_solver(instance, curve, speeds, solve(instance, curve, speeds))


def _linear_programme(instance: SpeedProfileInstance, curve: Curve, speeds: list[int]) -> list:
    """Epochs of each speed in each piece; later pieces of a speed are put in order at the end."""
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, kron

    lengths = np.diff(curve.knots)
    inverse = np.array([1.0 / instance.speeds[k] for k in speeds])
    energy = np.array([instance.power[k] for k in speeds]) * inverse
    cost = np.outer(curve.high, energy)
    found = linprog(
        cost.ravel() / max(cost.max(), 1e-300),
        A_ub=np.tile(inverse, len(lengths))[None, :] / float(instance.deadline),
        b_ub=[1.0],
        A_eq=kron(eye_array(len(lengths)), np.ones((1, len(speeds)))),
        b_eq=lengths,
        method="highs",
    )
    epochs = found.x.reshape(len(lengths), len(speeds)).sum(axis=0)
    return list(float(curve.knots[0]) + np.cumsum(epochs)[:-1])


def _smooth(instance: SpeedProfileInstance, curve: Curve, speeds: list[int]) -> list:
    """(P3) in the shares of the work at which the speed changes."""
    from scipy.optimize import minimize

    start, work = float(curve.knots[0]), float(curve.knots[-1] - curve.knots[0])
    inverse = np.array([1.0 / instance.speeds[k] for k in speeds]) * work / float(instance.deadline)
    energy = np.array([instance.power[k] / instance.speeds[k] for k in speeds])
    edges = len(speeds) - 1
    scale = float(np.ptp(energy)) * curve.area(start, start + work)

    def objective(x: np.ndarray) -> float:
        ends = np.concatenate(([0.0], x, [1.0])) * work + start
        areas = [curve.area(a, b) for a, b in itertools.pairwise(ends)]
        return float(np.dot(energy, areas)) / scale

    def gradient(x: np.ndarray) -> np.ndarray:
        return (energy[:-1] - energy[1:]) * _survival(curve, start + x * work) * work / scale

    saved = inverse[:-1] - inverse[1:]
    limits = [
        {"type": "ineq", "fun": lambda x: 1.0 - inverse[-1] - saved @ x, "jac": lambda x: -saved}
    ]
    if edges > 1:
        order = np.eye(edges)[1:] - np.eye(edges)[:-1]
        limits.append({"type": "ineq", "fun": lambda x: order @ x, "jac": lambda x: order})
    level = (1.0 - inverse[-1]) / saved.sum()
    found = [
        minimize(
            objective,
            first,
            jac=gradient,
            bounds=[(0.0, 1.0)] * edges,
            constraints=limits,
            method="SLSQP",
            options={"maxiter": STEPS, "ftol": 1e-14},
        ).x
        for first in (np.full(edges, level), np.linspace(0.5, 1.0, edges) * level)
    ]
    return list(start + work * _repaired(min(found, key=objective), saved, 1.0 - inverse[-1]))


def _repaired(x: np.ndarray, saved: np.ndarray, room: float) -> np.ndarray:
    """In order, in [0, 1], and the deadline just met: the solver keeps to that only roughly."""
    x = np.maximum.accumulate(np.clip(x, 0.0, 1.0))
    spent, most = float(saved @ x), float(saved.sum())
    if spent > room:
        return x * (max(room, 0.0) / max(spent, 1e-300))
    return x + (1.0 - x) * ((room - spent) / (most - spent)) if most > spent < room else x


def _survival(curve: Curve, epochs: np.ndarray) -> np.ndarray:
    i = np.clip(np.searchsorted(curve.knots, epochs, side="right") - 1, 0, len(curve.high) - 1)
    fall = (curve.high - curve.low) / np.diff(curve.knots)
    return curve.high[i] - fall[i] * (epochs - curve.knots[i])
