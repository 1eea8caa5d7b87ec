"""Means and medians by group: predictors that cost next to nothing, fitted once or at every row."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from optsched.online.prediction.training import Examples

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Rows = NDArray[np.int64]
_AT_ONCE = 2**16
"""Rows that are Python's own numbers at a time, for the sake of memory."""


def fit_constant(examples: Examples, seed: int) -> Callable[[Codes, Codes], Floats]:
    """The mean of all; 0 without examples."""
    value = float(examples.iterations.mean()) if len(examples) else 0.0
    return lambda user, group: np.full(len(group), value)


def fit_group_mean(examples: Examples, seed: int) -> Callable[[Codes, Codes], Floats]:
    """The mean of the group; unseen 0."""
    total = np.bincount(examples.group, examples.iterations, minlength=examples.groups)
    count = np.bincount(examples.group, minlength=examples.groups)
    mean = total / np.maximum(count, 1)
    return lambda user, group: mean[group]


def fit_group_median(examples: Examples, seed: int) -> Callable[[Codes, Codes], Floats]:
    """The median of the group, else of the user, else of all; 0 without examples."""
    everyone = float(np.median(examples.iterations)) if len(examples) else 0.0
    by_user = _medians(examples.user, examples.iterations, examples.users)
    by_group = _medians(examples.group, examples.iterations, examples.groups)

    def model(user: Codes, group: Codes) -> Floats:
        value = by_group[group]
        value = np.where(np.isnan(value), by_user[user], value)
        return np.where(np.isnan(value), everyone, value)

    return model


def running_group_mean(examples: Examples, order: Rows, known: Rows) -> Floats:
    """Row i from the first known[i] rows of `order`; O(n)."""
    total, count = [0.0] * examples.groups, [0] * examples.groups
    values, seen = np.empty(len(examples)), 0
    for begin in range(0, len(examples), _AT_ONCE):
        block = slice(begin, begin + _AT_ONCE)
        bounds, made = known[block].tolist(), []
        past = order[seen : bounds[-1]]
        behind = zip(examples.group[past].tolist(), examples.iterations[past].tolist(), strict=True)
        for code, bound in zip(examples.group[block].tolist(), bounds, strict=True):
            while seen < bound:
                ended, iterations = next(behind)
                total[ended] += iterations
                count[ended] += 1
                seen += 1
            made.append(total[code] / count[code] if count[code] else 0.0)
        values[block] = made
    return values


def running_group_median(examples: Examples, order: Rows, known: Rows) -> Floats:
    """As `running_group_mean`, with the fallbacks; O(n log n)."""
    by_group: dict[int, _Median] = {}
    by_user: dict[int, _Median] = {}
    everyone = _Median()
    values, seen = np.zeros(len(examples)), 0
    user, group = examples.user.tolist(), examples.group.tolist()
    for row, bound in enumerate(known.tolist()):
        while seen < bound:
            past = order[seen]
            value = float(examples.iterations[past])
            by_group.setdefault(group[past], _Median()).add(value)
            by_user.setdefault(user[past], _Median()).add(value)
            everyone.add(value)
            seen += 1
        best = by_group.get(group[row]) or by_user.get(user[row]) or everyone
        values[row] = best.value
    return values


def running_medians(values: Floats, known: Rows) -> Floats:
    """Row i: the median of the first known[i] values, known never falling; 0 of none."""
    median, made, seen = _Median(), np.zeros(len(known)), 0
    for row, bound in enumerate(known.tolist()):
        while seen < bound:
            median.add(float(values[seen]))
            seen += 1
        made[row] = median.value
    return made


class _Median:
    """A running median: the smaller half in one heap, the larger in another."""

    def __init__(self) -> None:
        self._low: list[float] = []
        self._high: list[float] = []

    def add(self, value: float) -> None:
        heapq.heappush(self._low, -heapq.heappushpop(self._high, value))
        if len(self._low) > len(self._high):
            heapq.heappush(self._high, -heapq.heappop(self._low))

    @property
    def value(self) -> float:
        if not self._high:
            return 0.0
        if len(self._high) > len(self._low):
            return self._high[0]
        return (self._high[0] - self._low[0]) / 2


def _medians(codes: Codes, values: Floats, kinds: int) -> Floats:
    """Median by code; NaN where a code has none. O(n log n)."""
    medians = np.full(kinds, np.nan)
    order = np.lexsort((values, codes))
    sorted_values = values[order]
    count = np.bincount(codes, minlength=kinds)
    begin = np.concatenate(([0], np.cumsum(count)[:-1]))
    some = count > 0
    low = sorted_values[(begin + (count - 1) // 2)[some]]
    high = sorted_values[(begin + count // 2)[some]]
    medians[some] = (low + high) / 2
    return medians
