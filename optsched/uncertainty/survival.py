"""Piecewise linear survival function F^c, conditioned on completed epochs.

Segment i reaches from knot w_i to w_{i+1}; P(W > w | W > w_c) falls on it from ``high[i]`` to
``low[i]``. A discrete W has flat segments; between segments F^c may jump down.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from optsched.uncertainty.distribution import Distribution

Floats = NDArray[np.float64]


class Curve(NamedTuple):
    """Knots (n + 1, epochs, from w_c on) and F^c at both ends of each of the n segments."""

    knots: Floats
    high: Floats
    low: Floats

    def survival(self, epoch: float) -> float:
        """F^c at an epoch between the first and the last knot."""
        i = int(np.searchsorted(self.knots, epoch, side="right")) - 1
        i = min(max(i, 0), len(self.high) - 1)
        fall = (self.high[i] - self.low[i]) / (self.knots[i + 1] - self.knots[i])
        return float(self.high[i] - fall * (epoch - self.knots[i]))

    def area(self, start: float, end: float) -> float:
        """The integral of F^c between two epochs: expected epochs run there."""
        a, b = np.maximum(self.knots[:-1], start), np.minimum(self.knots[1:], end)
        inside = b > a
        a, b = a[inside], b[inside]
        length = np.diff(self.knots)[inside]
        fall = (self.high - self.low)[inside] / length
        at_a = self.high[inside] - fall * (a - self.knots[:-1][inside])
        at_b = self.high[inside] - fall * (b - self.knots[:-1][inside])
        return float(((b - a) * (at_a + at_b) / 2).sum())


class Curves(NamedTuple):
    """Curves of many jobs, one after another.

    Job j's segments are ``start[j] .. start[j + 1]`` of ``high`` and ``low``; its knots begin at
    ``start[j] + j``.
    """

    knots: Floats
    high: Floats
    low: Floats
    start: NDArray[np.int64]


def discrete_curve(work: Distribution) -> Curve:
    """F^c of remaining epochs, from 0 on: flat between the values."""
    above = np.concatenate((work.probabilities[::-1].cumsum()[::-1][1:], [0.0]))
    survival = above + work.probabilities
    return Curve(np.concatenate(([0.0], work.values)), survival, survival)
