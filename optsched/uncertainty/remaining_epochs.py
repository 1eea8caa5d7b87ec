"""Distributions of the remaining epochs of many jobs, stored in flat arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from optsched.kernels import kernel
from optsched.uncertainty.distribution import Distribution, merge_equal_values
from optsched.uncertainty.survival import Curves

Floats = NDArray[np.float64]


class RemainingEpochs:
    """Distributions of W - w given W > w; job j owns entries start[j]:start[j + 1]."""

    def __init__(self, values: Floats, probabilities: Floats, start: NDArray[np.int64]) -> None:
        self.values, self.probabilities, self.start = values, probabilities, start

    @classmethod
    def from_lists(
        cls, epochs: Sequence[tuple[Sequence[float], Sequence[float]]]
    ) -> RemainingEpochs:
        """Like `Distribution.of` for each job: values and probabilities in any order."""
        sizes = [len(values) for values, _ in epochs]
        start = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        values = np.fromiter(chain.from_iterable(v for v, _ in epochs), float, start[-1])
        descents = np.flatnonzero(np.diff(values) <= 0) + 1
        unordered = np.unique(
            np.searchsorted(start, descents[~np.isin(descents, start)], "right") - 1
        )
        if len(unordered):
            epochs = list(epochs)
            for j in unordered:
                values, weights = merge_equal_values(*epochs[j])
                epochs[j] = (values.tolist(), weights.tolist())
            return cls.from_lists(epochs)
        weights = np.fromiter(chain.from_iterable(p for _, p in epochs), float, start[-1])
        normalise_each.for_size(len(weights))(weights, start)
        return cls(values, weights, start)

    @cached_property
    def max_epochs(self) -> Floats:
        return self.values[self.start[1:] - 1]

    @cached_property
    def means(self) -> Floats:
        """E[W - w | W > w] by job."""
        bounds = pairwise(self.start.tolist())
        means = [self.values[a:b].dot(self.probabilities[a:b]) for a, b in bounds]
        return np.array(means, dtype=float)

    @cached_property
    def curves(self) -> Curves:
        """F^c of every job's remaining epochs."""
        knots, high = np.empty(len(self.values) + len(self)), np.empty_like(self.values)
        fill_survival.for_size(len(self.values))(
            self.values, self.probabilities, self.start, knots, high
        )
        return Curves(knots, high, high, self.start)

    def conditioned_on(
        self, jobs: NDArray[np.int64], completed: Floats, rtol: float = 0.0
    ) -> RemainingEpochs:
        """Like `Distribution.remaining` for some jobs.

        Values within `rtol` of the completed epochs count as completed; a job past its last value
        has `rtol` epochs left.
        """
        first, start = np.empty(len(jobs), np.int64), np.zeros(len(jobs) + 1, np.int64)
        first_remaining.for_size(len(self.values))(
            self.values, self.start, jobs, completed, rtol, first, start
        )
        values, probabilities_left = np.empty(start[-1]), np.empty(start[-1])
        fill_remaining.for_size(len(values))(
            self.values, self.probabilities, first, completed, start, values, probabilities_left
        )
        for i in np.flatnonzero(first < 0):
            values[start[i]], probabilities_left[start[i]] = rtol, 1.0
        return RemainingEpochs(values, probabilities_left, start)

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, j: int) -> Distribution:
        a, b = self.start[j], self.start[j + 1]
        return Distribution(self.values[a:b], self.probabilities[a:b])

    def __iter__(self) -> Iterator[Distribution]:
        return map(self.__getitem__, range(len(self)))


@kernel
def normalise_each(weights: Any, start: Any) -> None:
    for j in range(len(start) - 1):
        _normalise(weights[start[j] : start[j + 1]])


@kernel
def first_remaining(
    values: Any,
    start: Any,
    jobs: Any,
    completed: Any,
    rtol: float,
    first: Any,
    sizes: Any,
) -> None:
    """Index of each job's first value above its completed epochs, and offsets of the result."""
    for i in range(len(jobs)):
        a, b = start[jobs[i]], start[jobs[i] + 1]
        while a < b and values[a] * (1 - rtol) <= completed[i]:
            a += 1
        first[i] = a if a < b else -1
        sizes[i + 1] = sizes[i] + max(b - a, 1)


@kernel
def fill_remaining(
    values: Any,
    weights: Any,
    first: Any,
    completed: Any,
    start: Any,
    left: Any,
    probabilities_left: Any,
) -> None:
    for i in range(len(first)):
        a, b = start[i], start[i + 1]
        for k in range(b - a if first[i] >= 0 else 0):
            left[a + k] = values[first[i] + k] - completed[i]
            probabilities_left[a + k] = weights[first[i] + k]
        if first[i] >= 0:
            _normalise(probabilities_left[a:b])


@kernel
def fill_survival(values: Any, probabilities: Any, start: Any, knots: Any, high: Any) -> None:
    """F^c up to each value, as `discrete_curve` has it, and the knots."""
    for j in range(len(start) - 1):
        knots[start[j] + j], above = 0.0, 0.0
        for i in range(start[j + 1] - 1, start[j] - 1, -1):
            above += probabilities[i]
            knots[i + j + 1], high[i] = values[i], above


@register_jitable
def _normalise(weights: Any) -> None:
    """Make the sum exactly 1."""
    total = 0.0
    for weight in weights:
        total += weight
    for i in range(len(weights)):
        weights[i] /= total
