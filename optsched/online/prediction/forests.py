"""Random forests on (user, group): the paper's predictor, and one on the logarithm.

100 trees, squared error, as a-srpt states; codes are ordinal, groups not met in training get 0.
Needs the extra `online` (scikit-learn). O(trees n log n).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.extras import require_extras
from optsched.online.prediction.training import Examples

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
TREES = 100


def fit_forest(examples: Examples, seed: int) -> Callable[[Codes, Codes], Floats]:
    """Fit on the iterations themselves."""
    return _fit(examples, seed, _same, _same)


def fit_log_forest(examples: Examples, seed: int) -> Callable[[Codes, Codes], Floats]:
    """Fit on their logarithm: less moved by the longest jobs, and low on average."""
    return _fit(examples, seed, np.log, np.exp)


def _fit(
    examples: Examples, seed: int, forward: Callable[[Floats], Floats], back: Any
) -> Callable[[Codes, Codes], Floats]:
    require_extras(["sklearn.ensemble"])
    from sklearn.ensemble import RandomForestRegressor

    seen = np.zeros(examples.groups, dtype=bool)
    seen[examples.group] = True
    forest = None
    if len(examples):
        forest = RandomForestRegressor(n_estimators=TREES, random_state=seed, n_jobs=1)
        features = np.column_stack((examples.user, examples.group)).astype(np.float32)
        forest.fit(features, forward(examples.iterations))

    def model(user: Codes, group: Codes) -> Floats:
        values = np.zeros(len(user))
        known = seen[group]
        if forest is not None and known.any():
            pairs = np.column_stack((user[known], group[known])).astype(np.float32)
            distinct, which = np.unique(pairs, axis=0, return_inverse=True)
            values[known] = back(forest.predict(distinct))[which.reshape(-1)]
        return values

    return model


def _same(values: Floats) -> Floats:
    return values
