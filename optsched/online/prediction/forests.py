"""Random forests on (user, group): the paper's predictor, and one on the logarithm.

100 trees, squared error, as a-srpt states: each is grown in full on a sample of the jobs, drawn
with replacement; codes are ordinal, groups not met in training get 0. A tree tells pairs of user
and group apart and nothing else, so it is grown on their means, weighed by how often the sample has
them, which gives the tree that the jobs themselves would. O(trees (jobs + pairs x depth)).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.kernels import kernel
from optsched.online.prediction.statistics import Examples

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Transform = Callable[[Floats], Floats]
TREES = 100


def fit_forest(examples: Examples, seed: int) -> Callable[[Codes, Codes], Floats]:
    """Fit on the iterations themselves."""
    return _fit(examples, seed, _same, _same)


def fit_log_forest(examples: Examples, seed: int) -> Callable[[Codes, Codes], Floats]:
    """Fit on their logarithm: less moved by the longest jobs, and low on average."""
    return _fit(examples, seed, np.log, np.exp)


def _fit(
    examples: Examples, seed: int, forward: Transform, back: Transform
) -> Callable[[Codes, Codes], Floats]:
    seen = np.zeros(examples.groups, dtype=bool)
    seen[examples.group] = True

    def model(user: Codes, group: Codes) -> Floats:
        values, known = np.zeros(len(user)), seen[group]
        if known.any():
            asked = user[known], group[known]
            values[known] = back(_grown(examples, *asked, forward(examples.iterations), seed))
        return values

    return model


def _grown(examples: Examples, user: Codes, group: Codes, taught: Floats, seed: int) -> Floats:
    """The mean of the trees' predictions of pairs; those asked for ride along as they grow."""
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
        sums = np.bincount(which[sample], taught[sample], minlength=len(pairs))
        mean = sums / np.maximum(weight, 1)
        total += grow(users, groups, *orders, weight, mean)
    return (total / TREES)[which[count:]]


def _same(values: Floats) -> Floats:
    return values


@kernel
def tree_values(user: Any, group: Any, by_user: Any, by_group: Any, weight: Any, mean: Any) -> Any:
    """What a fully grown tree, squared error, predicts of each pair (n,).

    A pair of ``weight`` 0 is not in the tree's sample and teaches nothing: it goes with the others
    to the leaf it belongs to.
    """
    n = len(user)
    made = np.zeros(n)
    orders = (by_user.copy(), by_group.copy())
    spare = np.empty(n, dtype=np.int64)
    stack = [(0, n)]
    while len(stack) > 0:
        low, high = stack.pop()
        total, taught = 0.0, 0.0
        for place in range(low, high):
            pair = orders[0][place]
            total += weight[pair]
            taught += weight[pair] * mean[pair]
        best, feature, threshold = -1.0, -1, 0.0
        for which in range(2):
            codes = user if which == 0 else group
            left, sum_left, last = 0.0, 0.0, -1.0
            for place in range(low, high):
                pair = orders[which][place]
                if weight[pair] == 0:
                    continue
                if left > 0 and codes[pair] > last:
                    rest = taught - sum_left
                    gain = sum_left * sum_left / left + rest * rest / (total - left)
                    if gain > best:
                        best, feature, threshold = gain, which, (last + codes[pair]) / 2
                left += weight[pair]
                sum_left += weight[pair] * mean[pair]
                last = float(codes[pair])
        if feature < 0:
            for place in range(low, high):
                made[orders[0][place]] = taught / total
            continue
        codes = user if feature == 0 else group
        middle = low
        for order in orders:
            middle, kept = low, 0
            for place in range(low, high):
                pair = order[place]
                if codes[pair] <= threshold:
                    order[middle] = pair
                    middle += 1
                else:
                    spare[kept] = pair
                    kept += 1
            order[middle:high] = spare[:kept]
        stack.append((low, middle))
        stack.append((middle, high))
    return made
