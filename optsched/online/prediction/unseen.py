"""What is predicted of a job like none that is known: one of a group of which no job has ended.

Its length in seconds, n alpha~, is taken to be the mean or the median of all jobs known so far (of
a predictor fitted once: of its training jobs), an hour while there is none; its iterations are that
over its own alpha~. a-srpt predicts 0 instead: such a job leaves the virtual machine at once, and
has no window in which to wait for a good offer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from optsched.online.prediction.group_statistics import running_medians

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
ZERO, MEAN, MEDIAN = "zero", "mean", "median"
UNSEEN = (ZERO, MEAN, MEDIAN)
"""What `--unseen` takes."""
HOUR = 3600.0


def lengths_so_far(lengths: Floats, order: Rows, known: Rows, unseen: str) -> Floats:
    """Row i: the mean or median of the first known[i] lengths in `order`; an hour of none."""
    past = lengths[order]
    if unseen == MEAN:
        total = np.concatenate(([0.0], np.cumsum(past)))
        middle = total[known] / np.maximum(known, 1)
    else:
        middle = running_medians(past, known)
    return np.where(known > 0, middle, HOUR)
