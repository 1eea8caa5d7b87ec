"""Offered load: work that arrives over the capacity of the cluster.

It assumes a uniform spread over GPU types; see
`optsched.rolling.bounds.clairvoyant.clairvoyant_utilisation` for the optimal spread.
"""

from __future__ import annotations

import numpy as np

from optsched.rolling.instance import RollingInstance
from optsched.selection.cost import tables_of
from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions


def offered_load(instance: SelectionInstance, *, mean_interarrival: float | None = None) -> float:
    """rho = rate x E[W x base epoch time] / sum of GPU speeds."""
    tables = tables_of(instance, SelectionOptions(sharing="off"))
    single = tables.seconds[:, :, 0]
    base = np.array([row[np.isfinite(row)][0] for row in single])
    relative = np.where(np.isfinite(single), base[:, None] / single, 0.0)
    speeds = [column[column > 0].mean() if (column > 0).any() else 0.0 for column in relative.T]
    total = sum(speeds[tables.kind_of[n]] * node.gpus for n, node in enumerate(instance.nodes))
    work = float(np.mean([w.mean * t for w, t in zip(tables.works, base, strict=True)]))
    if mean_interarrival is None:
        assert isinstance(instance, RollingInstance)
        times = [job.submit_time for job in instance.jobs]
        mean_interarrival = (max(times) - min(times)) / max(len(times) - 1, 1)
    return work / mean_interarrival / total if mean_interarrival > 0 else float("inf")
