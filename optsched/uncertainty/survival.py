"""F^c given what is done, as segments that fall linearly: one form for discrete and linear work.

Segment i reaches from knot w_i to w_{i+1}; P(W > w | W > w_c) falls on it from ``high[i]`` to
``low[i]``. A discrete W has flat segments; between segments F^c may jump down.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optsched.schema import Epochs
from optsched.speed_profile.instance import SpeedProfileInstance
from optsched.uncertainty.distribution import Distribution

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curve:
    """Knots (n + 1, epochs, from w_c on) and F^c at both ends of each of the n segments."""

    knots: Floats
    high: Floats
    low: Floats

    def area(self, start: float, end: float) -> float:
        """The integral of F^c from one epoch to another."""
        a, b = np.maximum(self.knots[:-1], start), np.minimum(self.knots[1:], end)
        inside = b > a
        a, b = a[inside], b[inside]
        length = np.diff(self.knots)[inside]
        fall = (self.high - self.low)[inside] / length
        at_a = self.high[inside] - fall * (a - self.knots[:-1][inside])
        at_b = self.high[inside] - fall * (b - self.knots[:-1][inside])
        return float(((b - a) * (at_a + at_b) / 2).sum())


def curve_of(instance: SpeedProfileInstance) -> Curve:
    """The curve of an instance's work, given the epochs completed."""
    if isinstance(instance.work, Epochs):
        work = Distribution.of(instance.work.values, instance.work.probabilities)
        left = work.remaining(instance.completed)
        assert left is not None  # the instance refuses that
        curve = discrete_curve(left)
        return Curve(curve.knots + instance.completed, curve.high, curve.low)
    points = np.array(instance.work.points, dtype=float)
    survival = np.array(instance.work.survival, dtype=float)
    done = float(instance.completed)
    first = int(np.searchsorted(points, done, side="right"))
    now = float(np.interp(done, points, survival))
    knots = np.concatenate(([done], points[first:]))
    values = np.concatenate(([now], survival[first:])) / now
    return Curve(knots, values[:-1], values[1:])


def discrete_curve(work: Distribution) -> Curve:
    """F^c of remaining epochs, from 0 on: flat between the values."""
    above = np.concatenate((work.probabilities[::-1].cumsum()[::-1][1:], [0.0]))
    survival = above + work.probabilities
    return Curve(np.concatenate(([0.0], work.values)), survival, survival)
