"""Means, medians and random forests by group, and defaults for unseen groups.

A group is unseen if none of its jobs has ended. The length of its jobs in seconds, n alpha~, is
then the mean or the median of all ended jobs (for a predictor fitted once: of its training jobs),
an hour if there is none; the iterations are that over the job's own alpha~. a-srpt predicts 0
instead: such a job leaves the virtual machine at once, and has no window in which to wait.

Forests on (user, group): 100 trees, squared error, as a-srpt states: each is fully grown on a
sample of the jobs, drawn with replacement; codes are ordinal, unseen groups get 0. Since (user,
group) are the only features, trees are grown on weighted means per pair, which is equivalent.
O(trees (jobs + pairs x depth)).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from optsched.arrays import Floats, Ints
from optsched.kernels import kernel
from optsched.online.data.jobs import Jobs
from optsched.online.data.workload import Codes

ZERO, MEAN, MEDIAN = "zero", "mean", "median"
UNSEEN = (ZERO, MEAN, MEDIAN)
"""Values of `--unseen`."""
HOUR = 3600.0
Transform = Callable[[Floats], Floats]
TREES = 100


@dataclass(frozen=True)
class Examples:
    """Users, groups (as codes) and iterations of past jobs."""

    user: Codes
    group: Codes
    iterations: Floats
    users: int
    groups: int

    def __len__(self) -> int:
        return len(self.iterations)

    @classmethod
    def of(cls, jobs: Jobs) -> Examples:
        table = jobs.workload
        return cls(
            table.user.codes,
            table.group.codes,
            table.iterations,
            len(table.user.values),
            len(table.group.values),
        )

    def rows(self, chosen: Ints) -> Examples:
        return Examples(
            self.user[chosen], self.group[chosen], self.iterations[chosen], self.users, self.groups
        )


Model = Callable[[Codes, Codes], Floats]
"""Fitted model: predicts iterations of (user, group) codes."""


def fit_constant(examples: Examples, seed: int) -> Model:
    value = float(examples.iterations.mean()) if len(examples) else 0.0
    return lambda user, group: np.full(len(group), value)


def fit_group_mean(examples: Examples, seed: int) -> Model:
    """The mean of the group; unseen 0."""
    total = np.bincount(examples.group, examples.iterations, minlength=examples.groups)
    count = np.bincount(examples.group, minlength=examples.groups)
    mean = total / np.maximum(count, 1)
    return lambda user, group: mean[group]


def fit_group_median(examples: Examples, seed: int) -> Model:
    """The median of the group, else of the user, else of all; 0 without examples."""
    overall = float(np.median(examples.iterations)) if len(examples) else 0.0
    by_user = _medians(examples.user, examples.iterations, examples.users)
    by_group = _medians(examples.group, examples.iterations, examples.groups)

    def model(user: Codes, group: Codes) -> Floats:
        value = by_group[group]
        value = np.where(np.isnan(value), by_user[user], value)
        return np.where(np.isnan(value), overall, value)

    return model


def running_group_mean(examples: Examples, order: Ints, num_observed: Ints) -> Floats:
    """Row i: mean of its group in the first num_observed[i] rows of `order`; O(n)."""
    total, count = [0.0] * examples.groups, [0] * examples.groups
    values, seen = np.zeros(len(examples)), 0
    group, past = examples.group.tolist(), order.tolist()
    iterations = examples.iterations.tolist()
    for row, bound in enumerate(num_observed.tolist()):
        while seen < bound:
            ended = past[seen]
            total[group[ended]] += iterations[ended]
            count[group[ended]] += 1
            seen += 1
        if count[group[row]]:
            values[row] = total[group[row]] / count[group[row]]
    return values


def running_group_median(examples: Examples, order: Ints, num_observed: Ints) -> Floats:
    """As `running_group_mean`, with the fallbacks of `fit_group_median`; O(n log n)."""
    by_group: dict[int, _Median] = {}
    by_user: dict[int, _Median] = {}
    overall = _Median()
    values, seen = np.zeros(len(examples)), 0
    user, group = examples.user.tolist(), examples.group.tolist()
    for row, bound in enumerate(num_observed.tolist()):
        while seen < bound:
            past = order[seen]
            value = float(examples.iterations[past])
            by_group.setdefault(group[past], _Median()).add(value)
            by_user.setdefault(user[past], _Median()).add(value)
            overall.add(value)
            seen += 1
        values[row] = (by_group.get(group[row]) or by_user.get(user[row]) or overall).value
    return values


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
    present = count > 0
    low = sorted_values[(begin + (count - 1) // 2)[present]]
    high = sorted_values[(begin + count // 2)[present]]
    medians[present] = (low + high) / 2
    return medians


def default_lengths(lengths: Floats, order: Ints, num_observed: Ints, unseen: str) -> Floats:
    """Row i: mean or median of the first num_observed[i] lengths in `order`; an hour of none.

    num_observed is non-decreasing.
    """
    past = lengths[order]
    if unseen == MEAN:
        total = np.concatenate(([0.0], np.cumsum(past)))
        values = total[num_observed] / np.maximum(num_observed, 1)
    else:
        median, values, seen = _Median(), np.zeros(len(num_observed)), 0
        for row, bound in enumerate(num_observed.tolist()):
            for length in past[seen:bound].tolist():
                median.add(length)
            seen, values[row] = max(seen, bound), median.value
    return np.where(num_observed > 0, values, HOUR)


def fit_forest(
    examples: Examples, seed: int, forward: Transform = np.asarray, back: Transform = np.asarray
) -> Model:
    """Fit on the iterations, or on another scale of them."""
    seen = np.zeros(examples.groups, dtype=bool)
    seen[examples.group] = True

    def model(user: Codes, group: Codes) -> Floats:
        values, is_seen = np.zeros(len(user)), seen[group]
        if is_seen.any():
            target = forward(examples.iterations)
            mean = _predict_pairs(examples, user[is_seen], group[is_seen], target, seed)
            values[is_seen] = back(mean)
        return values

    return model


def fit_log_forest(examples: Examples, seed: int) -> Model:
    """Fit on the logarithm of the iterations: less sensitive to long jobs; biased low."""
    return fit_forest(examples, seed, np.log, np.exp)


def _predict_pairs(
    examples: Examples, user: Codes, group: Codes, target: Floats, seed: int
) -> Floats:
    """Return the trees' mean prediction; query pairs pass down the trees with weight 0."""
    count = len(examples)
    key = np.concatenate((examples.user, user)).astype(np.int64) * examples.groups
    key += np.concatenate((examples.group, group))
    pairs, which = np.unique(key, return_inverse=True)
    which = which.reshape(-1)
    users, groups = np.divmod(pairs, examples.groups)
    orders = np.argsort(users, kind="stable"), np.argsort(groups, kind="stable")
    rng, total = np.random.default_rng(seed), np.zeros(len(pairs))
    grow = tree_values.for_size(TREES * 20 * len(pairs))
    for _ in range(TREES):
        sample = rng.integers(count, size=count)
        weight = np.bincount(which[sample], minlength=len(pairs)).astype(np.float64)
        sums = np.bincount(which[sample], target[sample], minlength=len(pairs))
        mean = sums / np.maximum(weight, 1)
        total += grow(users, groups, *orders, weight, mean)
    return (total / TREES)[which[count:]]


@kernel
def tree_values(user: Any, group: Any, by_user: Any, by_group: Any, weight: Any, mean: Any) -> Any:
    """Predictions of a fully grown regression tree for each pair (n,).

    A pair of ``weight`` 0 has no effect on splits; it only receives its leaf's value.
    """
    n = len(user)
    values = np.zeros(n)
    orders = (by_user.copy(), by_group.copy())
    buffer = np.empty(n, dtype=np.int64)
    stack = [(0, n)]  # nodes: positions in both orders
    while len(stack) > 0:
        low, high = stack.pop()
        total, total_sum = 0.0, 0.0
        for place in range(low, high):
            pair = orders[0][place]
            total += weight[pair]
            total_sum += weight[pair] * mean[pair]
        # the split with the largest reduction of the squared error
        best, feature, threshold = -1.0, -1, 0.0
        for which in range(2):
            codes = user if which == 0 else group
            left, sum_left, last = 0.0, 0.0, -1.0
            for place in range(low, high):
                pair = orders[which][place]
                if weight[pair] == 0:
                    continue
                if left > 0 and codes[pair] > last:
                    sum_right = total_sum - sum_left
                    gain = sum_left * sum_left / left + sum_right * sum_right / (total - left)
                    if gain > best:
                        best, feature, threshold = gain, which, (last + codes[pair]) / 2
                left += weight[pair]
                sum_left += weight[pair] * mean[pair]
                last = float(codes[pair])
        if feature < 0:  # a leaf
            for place in range(low, high):
                values[orders[0][place]] = total_sum / total
            continue
        # partition both orders, each stable
        codes = user if feature == 0 else group
        middle = low
        for order in orders:
            middle, num_right = low, 0
            for place in range(low, high):
                pair = order[place]
                if codes[pair] <= threshold:
                    order[middle] = pair
                    middle += 1
                else:
                    buffer[num_right] = pair
                    num_right += 1
            order[middle:high] = buffer[:num_right]
        stack.append((low, middle))
        stack.append((middle, high))
    return values
