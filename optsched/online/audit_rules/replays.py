"""Replays: recompute the start of single jobs from the records.

The head of a-srpt's queue: jobs start in the order of their virtual completions and nothing
overtakes the head, so a job becomes the head when it is virtually complete and its predecessor has
started; from then on only ends change which GPUs are free. The records give both, and with them the
first offer, kappa, the window's end and the first better offer.

Passes of preemptive policies: at times spread over the run every job's work so far is summed up
from the records and the pass is repeated with plain sorting. Keys that differ only by rounding may
be in either order.
Source: models/online/README.md, "a-srpt" and "Preemption".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from optsched.arrays import Bools, Floats, Ints
from optsched.checking import Violation, slack
from optsched.online.audit_rules.limits import Limited
from optsched.online.audit_rules.placement import (
    MAX_LISTED,
    IterationTimes,
    evenly_spaced,
    expected_offer,
    free_gpus,
    rule_of,
)
from optsched.online.records import Records

if TYPE_CHECKING:
    from optsched.online.data.jobs import Jobs

INF = float("inf")
BY_ROUNDS = ("las", "max-min")
KEY_RTOL = 1e-9
"""Relative rounding of a key that is summed in another order."""
IMPROVEMENT_RTOL = 1e-9
ESTIMATE_RTOL = 1e-9
"""An offer with alpha up to (1 + 1e-9) alpha~ is as good as alpha~."""
ALPHA_RTOL = 1e-10
"""Relative rounding of a recomputed alpha."""
MAX_OFFERS = 5_000
"""Work limit of an audit (about 1 s)."""


def delay_violations(
    records: Records,
    configuration: Ints,
    heavy: Bools,
    times: IterationTimes,
    virtual_completion: Floats,
    rank: Ints,
    spot_checks: int,
) -> list[Violation]:
    """Replay the head of a-srpt for jobs spread evenly over the run, half of them heavy ones."""
    replay = _Head(records, configuration, heavy, times, rank, virtual_completion)
    half = spot_checks // 2 + 1
    chosen = (evenly_spaced(np.flatnonzero(mask), half) for mask in (heavy, ~heavy))
    violations = []
    for i in np.sort(np.concatenate([*chosen])).tolist():
        if replay.count > MAX_OFFERS:
            break
        expected = replay.start_of(i)
        if expected is None:
            continue
        start = float(records.start[i])
        difference, allowed = abs(start - expected), slack(start - float(records.submit[i]), start)
        if not difference <= allowed:
            if expected == INF:  # no time up to its start allows one
                difference = start - replay.head_from(i)
            where = f"job {records.job_id[i]}"
            violations.append(Violation("delay", "Algorithm 1", where, difference, allowed))
    return violations[:MAX_LISTED]


@dataclass
class _Head:
    records: Records
    configuration: Ints
    heavy: Bools
    times: IterationTimes
    rank: Ints
    virtual_completion: Floats
    count = 0
    """Offers replayed so far."""

    def __post_init__(self) -> None:
        self.owner = np.repeat(np.arange(len(self.records)), np.diff(self.records.first))
        self.order = np.argsort(self.rank)
        self.position = np.argsort(self.order)

    def head_from(self, i: int) -> float:
        """When a job becomes the head of the queue."""
        position = self.position[i]
        previous = self.records.start[self.order[position - 1]] if position else 0.0
        return max(float(self.virtual_completion[i]), float(previous))

    def start_of(self, i: int) -> float | None:
        """When a-srpt starts a job; inf if nothing up to its recorded start allows one.

        None if the decision depends on rounding.
        """
        records, options = self.records, self.records.options
        factor = max(options.comm_heavy, 1 + ESTIMATE_RTOL)
        limit = factor * self.times.estimate(int(self.configuration[i]))
        total = records.cluster_gpus
        work = records.gpus[i] / total * records.predicted[i] * records.estimate[i]
        sliced = self.times.has_slices(int(self.configuration[i]))
        alpha = kappa = window = INF
        for now, free in self._changes(i):
            if alpha < INF and window < now:
                return window
            if sum(free) < records.gpus[i]:
                continue
            if not (self.heavy[i] or sliced):
                return now  # every offer is accepted
            self.count += 1
            rule = rule_of(options.offer or "most", bool(self.heavy[i]))
            offer = expected_offer(free, rule, int(records.gpus[i]))
            alpha = self.times.of(int(self.configuration[i]), tuple(offer.values()))
            if alpha == INF:
                continue
            if not self.heavy[i] or window <= now or sum(free) == total:
                return now
            if kappa < INF and options.hold == "none":
                accepted = alpha < kappa * (1 - IMPROVEMENT_RTOL)
            elif alpha != limit and abs(alpha - limit) <= ALPHA_RTOL * limit:
                return None
            else:
                accepted = alpha <= limit
            if kappa == INF and not accepted:
                kappa = alpha
                if options.hold != "inf":
                    window = now + options.tau * float(work)
            if accepted:
                return now
        return window if alpha < INF else INF

    def _changes(self, i: int) -> list[tuple[float, list[int]]]:
        """Times at which the free GPUs change while a job is the head, and the free GPUs then."""
        records, head = self.records, self.head_from(i)
        ahead = np.zeros(len(records), dtype=bool)
        ahead[self.order[: self.position[i]]] = True
        running = ahead & (records.end > head)
        ends = np.unique(records.end[running & (records.end <= records.start[i])])
        changes = []
        for now in (head, *ends.tolist()):
            held = (running & (records.end > now))[self.owner]
            changes.append((now, free_gpus(records, records.server[held], records.taken[held])))
        return changes


def preemption_violations(
    jobs: Jobs, records: Records, rows: Ints, sliced: Bools, spot_checks: int
) -> list[Violation]:
    """Check passes spread evenly over a complete run.

    Jobs that hold GPUs after a pass are the first, in the order of (priority; the policy's key;
    row), that fit together within their quotas; between rounds, running jobs continue and waiting
    jobs that fit start. Times with a tensor-sliced job or before the end of a window are skipped.
    """
    replay = _Preemption(jobs, records, rows, sliced)
    violations = []
    for now in replay.times(spot_checks):
        wrong = replay.wrong_at(now)
        if len(wrong):
            where = f"job {records.job_id[wrong[0]]} at {now:.6g} s"
            violations.append(Violation("queue order", records.policy, where, float(len(wrong))))
    return violations


@dataclass
class _Preemption:
    jobs: Jobs
    records: Records
    rows: Ints
    sliced: Bools

    def __post_init__(self) -> None:
        records = self.records
        self.segments, self.limited = records.segments, Limited(self.jobs, records, self.rows)
        ends = [window.end - self.jobs.first_submission for window in self.jobs.cluster.maintenance]
        self.last_window_end = max(ends, default=-INF)
        self.gpus = records.gpus.astype(np.int64)
        self.total = records.cluster_gpus
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
        if (self.sliced & active).any() or now < self.last_window_end:
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
        shares = [
            (codes, np.bincount(codes, self.gpus * should_run, len(quota)), quota)
            for codes, quota in zip(self.limited.codes, self.limited.quotas, strict=True)
        ]
        for i in self._in_order(np.flatnonzero(candidates), key_time, now, runs_after):
            gpus = int(self.gpus[i])
            fits = all(held[codes[i]] + gpus <= quota[codes[i]] for codes, held, quota in shares)
            if fits and gpus <= free:
                free -= gpus
                should_run[i] = True
                for codes, held, _ in shares:
                    held[codes[i]] += gpus
        return np.flatnonzero(should_run != runs_after)

    def _boundary(self, now: float) -> float:
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
        """Jobs by priority, key and row; if keys differ only by rounding, running jobs first."""
        key, urgency = self._keys(key_time, now), -self.limited.priority
        keys = self.rows[candidates], key[candidates], urgency[candidates]
        candidates = candidates[np.lexsort(keys)]
        tolerance = np.maximum(KEY_RTOL * np.abs(key), self._rounding())[candidates]
        is_distinct = np.diff(key[candidates]) > np.maximum(tolerance[:-1], tolerance[1:])
        is_distinct |= np.diff(urgency[candidates]) > 0
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
        return INF
    for width in np.unique(gpus):
        if np.minimum(gpus, width).sum() >= total:
            above = gpus >= width
            return float((total - gpus[~above].sum()) / above.sum())
    return INF
