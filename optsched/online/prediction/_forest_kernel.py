"""The compiled growth of one regression tree on (user, group), and what it predicts."""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit


@njit(cache=True)
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
