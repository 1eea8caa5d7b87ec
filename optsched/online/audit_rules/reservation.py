"""The audit's spot checks of EASY backfilling: was the head's reservation kept, and all of it used?

Looked at are jobs that start alone at their instant: then what ran before is what the records say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from optsched.checking import Violation
from optsched.online.records import Records

if TYPE_CHECKING:
    from optsched.online.data.jobs import Jobs

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def reservation_violations(
    jobs: Jobs, records: Records, rows: Ints, sliced: Bools, spot_checks: int
) -> list[Violation]:
    """Check starts spread evenly over the run.

    The head is the first job in row order that waits. It is promised the first moment at which, if
    every running job ends as expected (now, once that has passed), its GPUs are free. A job is
    expected to run for its user's estimate, or for its predicted length without one. A later job
    may start if it is expected to end by then, or with GPUs that the head leaves free then; one
    that needs no more GPUs than are free at both moments may not be left waiting, unless it is
    `sliced`: its slices may not fit where they are. Nothing overtakes a head whose GPUs are free.
    """
    _, place, count = np.unique(records.start, return_inverse=True, return_counts=True)
    alone = np.flatnonzero(count[place] == 1)
    if not len(alone):
        return []
    found = []
    length = np.asarray(records.predicted * records.alpha)
    if (walltime := jobs.workload.walltime) is not None:
        length = np.where(np.isnan(walltime[rows]), length, walltime[rows])
    for i in alone[np.unique(np.linspace(0, len(alone) - 1, spot_checks).astype(np.int64))]:
        t = records.start[i]
        waits = (records.submit <= t) & (records.start > t)
        before = waits & (rows < rows[i])
        if not before.any():
            continue
        head = np.flatnonzero(before)[np.argmin(rows[before])]
        runs = (records.start < t) & (records.end > t)
        promised, spare, free = _reservation(records, length, runs, int(records.gpus[head]), t)
        if free >= records.gpus[head]:
            where = f"job {records.job_id[i]} before job {records.job_id[head]}, which fits"
            found.append(Violation("queue order", "EASY", where, 1.0))
        if t + length[i] > promised:
            spare -= int(records.gpus[i])
        if spare < 0:
            where = f"job {records.job_id[i]} delays job {records.job_id[head]}"
            found.append(Violation("reservation", "EASY", where, float(-spare)))
        room = min(free - int(records.gpus[i]), spare)
        left = waits & (rows > rows[head]) & (records.gpus <= room) & ~sliced
        if left.any():
            where = f"job {records.job_id[np.flatnonzero(left)[0]]} at {t:.6g} s"
            found.append(Violation("work conservation", "EASY", where, float(left.sum())))
    return found


def _reservation(
    records: Records, length: Floats, runs: Bools, gpus: int, now: float
) -> tuple[float, int, int]:
    """The moment promised, the GPUs free then beside those promised, and those free now."""
    due = np.maximum(records.start + length, now)
    total = records.servers * records.gpus_per_server
    free = total - int(records.gpus[runs].sum())
    for moment in (now, *np.unique(due[runs]).tolist()):
        then = free + int(records.gpus[runs & (due <= moment)].sum())
        if then >= gpus:
            return float(moment), then - gpus, free
    return float("inf"), 0, free  # larger than the cluster: another rule's business
