"""Random forests on (user, group): the paper's predictor, and one on the logarithm.

100 trees, squared error, as a-srpt states: each is fully grown on a sample of the jobs, drawn with
replacement; codes are ordinal, unseen groups get 0. Since (user, group) are the only features,
trees are grown on weighted means per pair, which is equivalent. O(trees (jobs + pairs x depth)).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from optsched.arrays import Floats
from optsched.kernels import kernel
from optsched.online.data.workload import Codes
from optsched.online.prediction.statistics import Examples, Model

Transform = Callable[[Floats], Floats]
TREES = 100


def fit_forest(examples: Examples, seed: int) -> Model:
    """Fit on the iterations themselves."""
    return _fit(examples, seed, np.asarray, np.asarray)


def fit_log_forest(examples: Examples, seed: int) -> Model:
    """Fit on their logarithm: less sensitive to long jobs; biased low."""
    return _fit(examples, seed, np.log, np.exp)


def _fit(examples: Examples, seed: int, forward: Transform, back: Transform) -> Model:
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
