"""From a solved model's variables to counts, the same for every formulation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray


def counts_from(
    model: pyo.ConcreteModel, terms: Iterable[tuple[int, int, int, Any]]
) -> NDArray[np.int64]:
    """Counts, stages x servers."""
    counts = np.zeros((len(model.STAGES), len(model.SERVERS)), dtype=np.int64)
    for s, m, replicas, binary in terms:
        counts[s, m] += replicas * round(pyo.value(binary))
    return counts
