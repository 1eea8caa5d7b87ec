"""Offered load: work that arrives over the capacity of the cluster.

It ignores how speed-ups and prices spread the work over the GPU types, which
`optsched.rolling.bounds.clairvoyant.clairvoyant_utilisation` shows.
"""

from __future__ import annotations

import numpy as np

from optsched.rolling.instance import RollingInstance
from optsched.selection.cost import tables_of
from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions


def offered_load(instance: SelectionInstance, *, gap: float | None = None) -> float:
    """rho = rate x E[W x base epoch time] / sum of GPU speeds."""
    tables = tables_of(instance, SelectionOptions(sharing="off"))
    single = tables.seconds[:, :, 0]
    base = np.array([row[np.isfinite(row)][0] for row in single])
    relative = np.where(np.isfinite(single), base[:, None] / single, 0.0)
    speeds = [column[column > 0].mean() if (column > 0).any() else 0.0 for column in relative.T]
    total = sum(speeds[tables.kind_of[n]] * node.gpus for n, node in enumerate(instance.nodes))
    work = float(np.mean([w.mean * t for w, t in zip(tables.works, base, strict=True)]))
    if gap is None:
        assert isinstance(instance, RollingInstance)
        times = [job.submit_time for job in instance.jobs]
        gap = (max(times) - min(times)) / max(len(times) - 1, 1)
    return work / gap / total if gap > 0 else float("inf")
