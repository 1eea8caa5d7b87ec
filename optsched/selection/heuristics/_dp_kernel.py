"""The compiled dynamic programme over jobs x GPUs of one type."""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit


@njit(cache=True)
def allocate(run: Any, leave: Any, gpus: Any, chosen: Any) -> Any:
    """Least total proxy in dollars of giving each job 0..K of so many GPUs: O(J G K)."""
    jobs, most = run.shape
    value = np.zeros(gpus + 1)
    pick = np.zeros((jobs, gpus + 1), np.int32)
    for j in range(jobs):
        after = np.empty(gpus + 1)
        for g in range(gpus + 1):
            best, choice = value[g] + leave[j], 0
            for k in range(1, min(most, g) + 1):
                cost = value[g - k] + run[j, k - 1]
                if cost < best:
                    best, choice = cost, k
            after[g], pick[j, g] = best, choice
        value = after
    g = gpus
    for j in range(jobs - 1, -1, -1):
        chosen[j] = pick[j, g]
        g -= chosen[j]
    return value[gpus]
