"""Spot checks of preemptive policies: recompute which jobs should run.

At times spread over the run every job's work so far is summed up from the records and the pass is
repeated with plain sorting. Keys that differ only by rounding may be in either order.
Source: models/online/README.md, "Preemption".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from optsched.arrays import Bools, Floats, Ints
from optsched.checking import Violation
from optsched.online.audit_rules.placement import evenly_spaced
from optsched.online.records import Records

if TYPE_CHECKING:
    from optsched.online.data.jobs import Jobs

PREEMPTING = ("las", "srpt-preemptive", "max-min")
BY_ROUNDS = ("las", "max-min")
KEY_RTOL = 1e-9
"""Relative rounding of a key that is summed in another order."""


def preemption_violations(
    jobs: Jobs, records: Records, rows: Ints, sliced: Bools, spot_checks: int
) -> list[Violation]:
    """Check passes spread evenly over a complete run.

    Jobs that hold GPUs after a pass are the first, in the order of the policy's key, then row, that
    fit together; between rounds, running jobs continue and waiting jobs that fit start. Times with
    a tensor-sliced job are skipped.
    """
    replay = _Replay(jobs, records, rows, sliced)
    violations = []
    for now in replay.times(spot_checks):
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
        self.segments = records.segments
        self.gpus = records.gpus.astype(np.int64)
        self.total = records.servers * records.gpus_per_server
        resumed, restore = self.segments.resumed, records.options.restore
        self.compute_start = self.segments.start + np.where(resumed, restore, 0.0)
        self.length = records.options.round if records.policy in BY_ROUNDS else None

    def times(self, spot_checks: int) -> list[float]:
        """Submissions, starts, ends and starts of rounds."""
        segments = self.segments
        times: list[Floats] = [self.records.submit, segments.start, segments.end]
        if self.length:
            last_round = int(segments.end.max() / self.length)
            rounds = np.unique(np.linspace(0, last_round, spot_checks).astype(np.int64))
            times.append(np.asarray(rounds * self.length, dtype=np.float64))
        distinct = np.unique(np.concatenate(times))
        zero_length = segments.start[segments.end == segments.start]
        distinct = distinct[~np.isin(distinct, zero_length)]  # skip: several passes at one time
        return [float(time) for time in evenly_spaced(distinct, spot_checks)]

    def wrong_at(self, now: float) -> Ints:
        """Jobs whose running state differs from the policy's."""
        segments, records = self.segments, self.records
        active = (records.submit <= now) & (records.end > now)
        if (self.sliced & active).any():
            return np.empty(0, dtype=np.int64)
        ran_before, runs_after = np.zeros((2, len(records)), dtype=bool)
        ran_before[segments.job[(segments.start < now) & (segments.end >= now)]] = True
        runs_after[segments.job[(segments.start <= now) & (segments.end > now)]] = True
        continuing, boundary = ran_before & active, self._boundary(now)
        is_full_pass = self.length is None or boundary == now
        candidates = active if is_full_pass else active & ~ran_before
        should_run = np.zeros(len(records), dtype=bool) if is_full_pass else continuing.copy()
        free = self.total - int(self.gpus[should_run].sum())
        key_time = now if is_full_pass else boundary
        for i in self._in_order(np.flatnonzero(candidates), key_time, now, runs_after):
            if self.gpus[i] <= free:
                free -= int(self.gpus[i])
                should_run[i] = True
        return np.flatnonzero(should_run != runs_after)

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

    def _in_order(
        self, candidates: Ints, key_time: float, now: float, runs_after: Bools
    ) -> list[int]:
        """Jobs by key, then row; among keys that differ only by rounding, running jobs first."""
        key = self._keys(key_time, now)
        candidates = candidates[np.lexsort((self.rows[candidates], key[candidates]))]
        tolerance = np.maximum(KEY_RTOL * np.abs(key), self._rounding())[candidates]
        is_distinct = np.diff(key[candidates]) > np.maximum(tolerance[:-1], tolerance[1:])
        tie_group = np.append(0, np.cumsum(is_distinct))[: len(candidates)]
        has_tolerance = np.bincount(tie_group, tolerance, len(candidates))[tie_group] > 0
        runs = has_tolerance & runs_after[candidates]
        return list(candidates[np.lexsort((self.rows[candidates], ~runs, tie_group))])

    def _rounding(self) -> Floats:
        """Absolute rounding of a key: of remaining work, relative to all that was predicted."""
        records = self.records
        if records.policy != "srpt-preemptive":
            return np.zeros(len(records))  # attained service is exact
        return np.asarray(KEY_RTOL * self.gpus * records.predicted * records.estimate)

    def _worked(self, now: float) -> Floats:
        """Seconds of each segment spent on iterations until `now`."""
        return np.maximum(0.0, np.minimum(self.segments.end, now) - self.compute_start)

    def _keys(self, key_time: float, now: float) -> Floats:
        """Keys of all jobs: those of max-min at the beginning of the round."""
        records, segments = self.records, self.segments
        if records.policy == "srpt-preemptive":
            done = np.bincount(segments.job, self._worked(now) / segments.alpha, len(records))
            remaining = np.maximum(0.0, records.predicted - done)
            remaining[remaining <= KEY_RTOL * records.predicted] = 0.0
            return np.asarray(self.gpus * remaining * records.estimate)
        if records.policy == "las":
            return np.asarray(
                self.gpus * np.bincount(segments.job, self._worked(now), len(records))
            )
        received = np.bincount(segments.job, self._worked(key_time), len(records))
        active = (records.submit <= key_time) & (records.end > key_time)
        share = np.minimum(1.0, max_min_level(self.gpus[active], self.total) / self.gpus)
        age = np.where(received > 0, key_time - records.submit, 1.0)
        return np.asarray(received / (share * age))


def max_min_level(gpus: Ints, total: int) -> float:
    """The level of max-min fair shares min(g, level)."""
    if gpus.sum() <= total:
        return float("inf")
    for width in np.unique(gpus):
        if np.minimum(gpus, width).sum() >= total:
            above = gpus >= width
            return float((total - gpus[~above].sum()) / above.sum())
    return float("inf")
