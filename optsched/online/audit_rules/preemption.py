"""The audit's spot checks of policies that stop jobs: was it these jobs' turn to run?

At moments spread over the run every job's work so far is summed up from the records and the pass is
made again with plain sorting. Where keys are equal but for rounding, either order will do.
Source: models/online/README.md, "Preemption".
"""

from __future__ import annotations

from dataclasses import dataclass
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
PREEMPTING = ("las", "srpt-preemptive", "max-min")
BY_ROUNDS = ("las", "max-min")
ARITHMETIC = 1e-9
"""Relative rounding of a key that was summed up another way."""


def preemption_violations(
    jobs: Jobs, records: Records, rows: Ints, sliced: Bools, spot_checks: int
) -> list[Violation]:
    """Check passes spread evenly over a complete run.

    Jobs that hold GPUs after a pass are the first, in the order of the policy's key, then row, that
    fit together; between rounds all that ran go on, and the first others that fit start. Where a
    job that is there is `sliced` nothing is said: its slices may not fit.
    """
    replay = _Replay(jobs, records, rows, sliced)
    violations = []
    for now in replay.moments(spot_checks):
        wrong = replay.wrong_at(now)
        if len(wrong):
            where = f"job {records.job_id[wrong[0]]} at {now:.6g} s"
            violations.append(Violation("queue order", records.policy, where, float(len(wrong))))
    return violations


@dataclass
class _Replay:
    jobs: Jobs
    records: Records
    rows: Ints
    sliced: Bools

    def __post_init__(self) -> None:
        records = self.records
        self.held = records.segments
        self.gpus = records.gpus.astype(np.int64)
        self.total = records.servers * records.gpus_per_server
        resumed, restore = self.held.resumed, records.options.restore
        self.work_from = np.where(resumed, self.held.start + restore, self.held.start)
        self.length = records.options.round if records.policy in BY_ROUNDS else None

    def moments(self, spot_checks: int) -> list[float]:
        """Submissions, starts, ends and starts of rounds."""
        held = self.held
        moments: list[Floats] = [self.records.submit, held.start, held.end]
        if self.length:
            last = int(held.end.max() / self.length)
            count = np.unique(np.linspace(0, last, spot_checks).astype(np.int64))
            moments.append(np.asarray(count * self.length, dtype=np.float64))
        every = np.unique(np.concatenate(moments))
        instant = held.start[held.end == held.start]
        every = every[~np.isin(every, instant)]  # passes there were several
        chosen = np.unique(np.linspace(0, len(every) - 1, spot_checks).astype(np.int64))
        return [float(every[at]) for at in chosen]

    def wrong_at(self, now: float) -> Ints:
        """Jobs that hold GPUs after the pass and should not, or the other way round."""
        held, records = self.held, self.records
        there = (records.submit <= now) & (records.end > now)
        ran = np.zeros(len(records), dtype=bool)
        ran[held.job[(held.start < now) & (held.end >= now)]] = True
        runs = np.zeros(len(records), dtype=bool)
        runs[held.job[(held.start <= now) & (held.end > now)]] = True
        waits = there & ~ran
        if (self.sliced & there).any():
            return np.empty(0, dtype=np.int64)
        kept, boundary = ran & there, self._boundary(now)
        full = self.length is None or boundary == now
        line = there if full else waits
        room = self.total - (0 if full else int(self.gpus[kept].sum()))
        due = np.zeros(len(records), dtype=bool) if full else kept.copy()
        for i in self._in_order(np.flatnonzero(line), now if full else boundary, now, runs):
            if self.gpus[i] <= room:
                room -= int(self.gpus[i])
                due[i] = True
        return np.flatnonzero(due != runs)

    def _boundary(self, now: float) -> float:
        """When the round began."""
        if not self.length:
            return now
        count = np.floor(now / self.length)
        while (count + 1) * self.length <= now:
            count += 1
        while count * self.length > now:
            count -= 1
        return float(count * self.length)

    def _in_order(self, line: Ints, ranked: float, now: float, runs: Bools) -> list[int]:
        """Jobs by key, then row; of those with one key but for rounding the running ones first."""
        key, rounding = self._keys(ranked, now), self._rounding()
        line = line[np.lexsort((self.rows[line], key[line]))]
        off = np.maximum(ARITHMETIC * np.abs(key), rounding)[line]
        apart = np.diff(key[line]) > np.maximum(off[:-1], off[1:])
        cluster = np.append(0, np.cumsum(apart))[: len(line)]
        rounded = np.bincount(cluster, off, len(line))[cluster] > 0
        return list(line[np.lexsort((self.rows[line], ~(rounded & runs[line]), cluster))])

    def _rounding(self) -> Floats:
        """By how much a key may be off: one of work left, by a share of all that was predicted."""
        records = self.records
        if records.policy != "srpt-preemptive":
            return np.zeros(len(records))  # no work done is exact
        return np.asarray(ARITHMETIC * self.gpus * records.predicted * records.estimate)

    def _keys(self, ranked: float, now: float) -> Floats:
        """Keys of all jobs: those of max-min as of the round's beginning."""
        records, held = self.records, self.held
        ran = np.maximum(0.0, np.minimum(held.end, now) - self.work_from)
        if records.policy == "srpt-preemptive":
            made = np.bincount(held.job, ran / held.alpha, len(records))
            left = np.maximum(0.0, records.predicted - made)
            left[left <= ARITHMETIC * records.predicted] = 0.0
            return np.asarray(self.gpus * left * records.estimate)
        if records.policy == "las":
            return np.asarray(self.gpus * np.bincount(held.job, ran, len(records)))
        ran = np.maximum(0.0, np.minimum(held.end, ranked) - self.work_from)
        worked = np.bincount(held.job, ran, len(records))
        there = (records.submit <= ranked) & (records.end > ranked)
        share = np.minimum(1.0, _fair_level(self.gpus[there], self.total) / self.gpus)
        age = np.where(worked > 0, ranked - records.submit, 1.0)
        return np.asarray(worked / (share * age))


def _fair_level(gpus: Ints, total: int) -> float:
    """The level of max-min fair shares min(g, level)."""
    if gpus.sum() <= total:
        return float("inf")
    for width in np.unique(gpus):
        if np.minimum(gpus, width).sum() >= total:
            above = gpus >= width
            return float((total - gpus[~above].sum()) / above.sum())
    return float("inf")
