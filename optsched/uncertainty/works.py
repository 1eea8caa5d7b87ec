"""The remaining epochs of many jobs, one distribution after another, made in one compiled call."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from optsched.compiled_loops import njit
from optsched.uncertainty.distribution import Distribution, merged
from optsched.uncertainty.survival import Curves

Floats = NDArray[np.float64]
BLOCK = 128
"""Numbers that numpy adds up at a stretch."""
FEW = 8
"""Jobs that are sooner taken one by one."""


class Works(Sequence[Distribution]):
    """Distributions of W - w given W > w; those of job j are ``start[j]`` to ``start[j + 1]``."""

    def __init__(self, values: Floats, probabilities: Floats, start: NDArray[np.int64]) -> None:
        self.values, self.probabilities, self.start = values, probabilities, start

    @classmethod
    def given(cls, epochs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Works:
        """`Distribution.of` each, to the last bit: values and probabilities in any order."""
        start = _starts([len(values) for values, _ in epochs])
        values = np.fromiter(chain.from_iterable(v for v, _ in epochs), float, start[-1])
        falls = np.flatnonzero(np.diff(values) <= 0) + 1
        unordered = np.unique(np.searchsorted(start, falls[~np.isin(falls, start)], "right") - 1)
        if len(unordered):
            epochs = list(epochs)
            for j in unordered:
                values, weights = merged(*epochs[j])
                epochs[j] = (values.tolist(), weights.tolist())
            return cls.given(epochs)
        weights = np.fromiter(chain.from_iterable(p for _, p in epochs), float, start[-1])
        normalise_each(weights, start)
        return cls(values, weights, start)

    @cached_property
    def most(self) -> Floats:
        """w^max - w by job."""
        return self.values[self.start[1:] - 1]

    @cached_property
    def means(self) -> Floats:
        """E[W - w | W > w] by job."""
        return self.means_of(np.arange(len(self)))

    def means_of(self, jobs: NDArray[np.int64]) -> Floats:
        """E[W - w | W > w] of some jobs, `dot`'s to the last bit, many of equal size at once."""
        if len(jobs) <= FEW:
            bounds = zip(self.start[jobs].tolist(), self.start[jobs + 1].tolist(), strict=True)
            each = [self.values[a:b].dot(self.probabilities[a:b]) for a, b in bounds]
            return np.array(each, dtype=float)
        size = self.start[jobs + 1] - self.start[jobs]
        order = np.argsort(size, kind="stable")
        sorted_size = size[order]
        ends = sorted_size.cumsum()  # where each job's are once they lie one behind another
        moved = np.repeat(self.start[jobs[order]] - (ends - sorted_size), sorted_size)
        at = moved + np.arange(len(moved))
        values, chances, means = self.values[at], self.probabilities[at], []
        end, counts = 0, np.bincount(size)
        for k in counts.nonzero()[0].tolist():
            begin, end = end, end + k * int(counts[k])
            rows = values[begin:end].reshape(-1, 1, k) @ chances[begin:end].reshape(-1, k, 1)
            means.append(rows.ravel())
        found = np.empty(len(jobs))
        found[order] = np.concatenate(means) if means else 0.0
        return found

    @cached_property
    def curves(self) -> Curves:
        """F^c of every job's remaining epochs."""
        knots, high = np.empty(len(self.values) + len(self)), np.empty_like(self.values)
        survival(self.values, self.probabilities, self.start, knots, high)
        return Curves(knots, high, high, self.start)

    def after(self, jobs: NDArray[np.int64], done: Floats, hair: float = 0.0) -> Works:
        """`Distribution.remaining` of some jobs, to the last bit."""
        first, start = np.empty(len(jobs), np.int64), np.zeros(len(jobs) + 1, np.int64)
        first_left(self.values, self.start, jobs, done, hair, first, start)
        values, chances = np.empty(start[-1]), np.empty(start[-1])
        cut(self.values, self.probabilities, first, done, start, values, chances)
        for i in np.flatnonzero(first < 0):
            values[start[i]], chances[start[i]] = hair, 1.0
        return Works(values, chances, start)

    def __len__(self) -> int:
        return len(self.start) - 1

    @overload
    def __getitem__(self, j: int) -> Distribution: ...
    @overload
    def __getitem__(self, j: slice) -> Sequence[Distribution]: ...
    def __getitem__(self, j: int | slice) -> Distribution | Sequence[Distribution]:
        if isinstance(j, slice):
            return [self[i] for i in range(*j.indices(len(self)))]
        a, b = self.start[range(len(self))[j]], self.start[range(len(self))[j] + 1]
        return Distribution(self.values[a:b], self.probabilities[a:b])


def _starts(sizes: Any) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


@njit(cache=True)
def normalise_each(weights: Any, start: Any) -> None:
    """Make the sum of each job's exactly 1."""
    for j in range(len(start) - 1):
        normalise(weights[start[j] : start[j + 1]])


@njit(cache=True)
def first_left(
    values: Any,
    start: Any,
    jobs: Any,
    done: Any,
    hair: float,
    first: Any,
    sizes: Any,
) -> None:
    """The first value of each job that it has not yet reached, and where what is left starts."""
    for i in range(len(jobs)):
        a, b = start[jobs[i]], start[jobs[i] + 1]
        while a < b and values[a] * (1 - hair) <= done[i]:
            a += 1
        first[i] = a if a < b else -1
        sizes[i + 1] = sizes[i] + max(b - a, 1)


@njit(cache=True)
def cut(
    values: Any,
    weights: Any,
    first: Any,
    done: Any,
    start: Any,
    left: Any,
    chances: Any,
) -> None:
    """Fill epochs left and their chances."""
    for i in range(len(first)):
        a, b = start[i], start[i + 1]
        for k in range(b - a if first[i] >= 0 else 0):
            left[a + k], chances[a + k] = values[first[i] + k] - done[i], weights[first[i] + k]
        if first[i] >= 0:
            normalise(chances[a:b])


@njit(cache=True)
def survival(values: Any, probabilities: Any, start: Any, knots: Any, high: Any) -> None:
    """F^c up to each value, as `discrete_curve` has it, and the knots."""
    for j in range(len(start) - 1):
        knots[start[j] + j], above = 0.0, 0.0
        for i in range(start[j + 1] - 1, start[j] - 1, -1):
            above += probabilities[i]
            knots[i + j + 1], high[i] = values[i], above


@njit(cache=True)
def normalise(weights: Any) -> None:
    """Make the sum exactly 1, as numpy would."""
    total = _sum(weights)
    for i in range(len(weights)):
        weights[i] /= total


@njit(cache=True)
def _sum(numbers: Any) -> float:
    """numpy's pairwise sum, in its order of additions."""
    count = len(numbers)
    if count > BLOCK:
        half = count // 2
        half -= half % 8
        return _sum(numbers[:half]) + _sum(numbers[half:])
    total, whole = 0.0, 0
    if count >= 8:
        part, whole = numbers[:8].copy(), count - count % 8
        for i in range(8, whole):
            part[i % 8] += numbers[i]
        total = ((part[0] + part[1]) + (part[2] + part[3])) + (
            (part[4] + part[5]) + (part[6] + part[7])
        )
    for i in range(whole, count):
        total += numbers[i]
    return total
