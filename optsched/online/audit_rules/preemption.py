"""Passes of policies that stop jobs, repeated from the records.

At times spread evenly over a run the segments give the work that each job has done, and the free
servers. A pass in plain Python must stop exactly the recorded jobs, and start exactly the recorded
ones on the recorded servers; between events no job starts or stops. A pass is skipped if rounding
decides, or if a segment without length makes it one of several at its time.
Source: models/online/README.md, "Preemption" and "Limits".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from optsched.arrays import Bools, Floats, Ints
from optsched.checking import Violation
from optsched.online.audit_rules.cluster_state import INF, ClusterState, Offer, UndecidedError
from optsched.online.audit_rules.placement import MAX_LISTED, checked_times

if TYPE_CHECKING:
    from optsched.online.data.jobs import Jobs

BY_ROUNDS = ("las", "max-min")
KEY_RTOL = 1e-9
"""Relative rounding of a key that is summed in another order."""
MAX_ROUNDS = 100_000
"""Boundaries of rounds, spread evenly over the run, of which some are checked."""


def preemption_violations(
    jobs: Jobs, state: ClusterState, rows: Ints, spot_checks: int
) -> list[Violation]:
    """Check passes of a complete run."""
    replay = _Replay(jobs, state, rows)
    violations = []
    for time in replay.times(spot_checks).tolist():
        if violation := replay.violation_at(time):
            violations.append(violation)
    return violations[:MAX_LISTED]


class _Replay:
    """Segments of a run, and the work that each job has done when one begins."""

    def __init__(self, jobs: Jobs, state: ClusterState, rows: Ints) -> None:
        self.state, self.records, self.segments, self.rows = (
            state,
            state.records,
            state.segments,
            rows,
        )
        self.priority, self.gpus = np.array(state.priority), self.records.gpus
        self.resumed, self.ended = self.segments.resumed, self.segments.ended
        self.restore = self.records.options.restore
        self.compute_start = self.segments.start + np.where(self.resumed, self.restore, 0.0)
        is_by_rounds = self.records.policy in BY_ROUNDS
        self.round = (self.records.options.round or 0.0) if is_by_rounds else 0.0
        ends = [window.end - jobs.first_submission for window in jobs.cluster.maintenance]
        self.others = np.unique(np.append(self.records.submit, ends))  # events that no pass moves
        self.events = np.union1d(self.others, self.records.end)
        # of each segment's job when the segment begins: iterations, predicted ones, and seconds
        self.remaining, self.predicted, self.worked = self._progress()

    def _progress(self) -> Floats:
        records, segments, progress = self.records, self.segments, []
        columns = (segments.job, self.resumed, segments.end, self.compute_start, segments.alpha)
        remaining = predicted = worked = 0.0
        for i, resumed, end, begin, alpha in zip(*(c.tolist() for c in columns), strict=True):
            if not resumed:
                remaining, predicted, worked = records.iterations[i], records.predicted[i], 0.0
            progress.append((remaining, predicted, worked))
            ran = max(0.0, end - begin)
            remaining = max(0.0, remaining - ran / alpha)
            predicted, worked = max(0.0, predicted - ran / alpha), worked + ran
        return np.array(progress, dtype=np.float64).reshape(-1, 3).T

    # Times

    def times(self, spot_checks: int) -> Floats:
        """Times of events, starts and stops, and all times with a start or stop but no event."""
        segments = self.segments
        changes = np.concatenate((segments.start, segments.end[~self.ended]))
        wrong = np.setdiff1d(changes, self.events)
        boundaries = np.empty(0)
        if self.round:
            wrong = wrong[~self._is_boundary(wrong)]
            count = np.floor(segments.end.max() / self.round) + 1
            numbers = np.floor(np.linspace(0, count - 1, int(min(count, MAX_ROUNDS))))
            boundaries = numbers * self.round
            # of those at which a job waits
            waits = np.sort(np.append(self.records.submit, segments.end[~self.ended]))
            starts = np.sort(segments.start)
            waiting = np.searchsorted(waits, boundaries, "right") > np.searchsorted(
                starts, boundaries
            )
            boundaries = boundaries[waiting]
        times = np.unique(np.concatenate((self.events[self.events >= 0], changes, boundaries)))
        zero_length = segments.start[segments.start == segments.end]
        times = times[~np.isin(times, zero_length)]
        return checked_times(times, wrong, spot_checks, len(segments))

    def _is_boundary(self, time: Floats) -> Bools:
        return np.asarray(np.floor(time / self.round + 0.5) * self.round == time)

    def keys(
        self, active: Ints, now: float, worked: Floats, predicted: Floats
    ) -> tuple[Floats, Floats]:
        """Keys of active jobs, and their rounding."""
        records, gpus = self.records, self.gpus[active]
        if records.policy == "srpt-preemptive":
            estimate = records.estimate[active]
            total = gpus * records.predicted[active] * estimate
            return (gpus * predicted) * estimate, np.where(worked > 0, KEY_RTOL * total, 0.0)
        key = gpus * worked
        if records.policy == "max-min":
            begin = self._last_boundary(now)
            sharing = (records.submit <= begin) & (records.end > begin)
            level = max_min_level(self.gpus[sharing], records.cluster_gpus)
            share = np.minimum(1.0, level / gpus)
            age = begin - records.submit[active]
            key = np.divide(worked, share * age, out=np.zeros(len(active)), where=age > 0)
        return key, KEY_RTOL * key

    def _last_boundary(self, now: float) -> float:
        count = np.floor(now / self.round)
        while (count + 1) * self.round <= now:
            count += 1
        while count * self.round > now:
            count -= 1
        return float(count * self.round)

    def _is_event(self, now: float, nothing_runs: bool) -> bool:
        if self.events[np.searchsorted(self.events, now) % len(self.events)] == now:
            return True
        if not self.round or self._last_boundary(now) != now:
            return False
        later = self.others[np.searchsorted(self.others, now, "right") :]
        # while no job runs, only the last boundary until something else happens is an event
        return not nothing_runs or not len(later) or self._last_boundary(float(later[0])) == now

    # A pass

    def violation_at(self, now: float) -> Violation | None:
        """Repeat the pass of a time."""
        segments, state = self.segments, self.state
        runs = (segments.start < now) & (
            (segments.end > now) | ((segments.end == now) & ~self.ended)
        )
        running = dict(zip(segments.job[runs].tolist(), np.flatnonzero(runs).tolist(), strict=True))
        stopping = {i for i, k in running.items() if segments.end[k] == now}
        starting = {
            int(segments.job[k]): dict(segments[k].servers)
            for k in np.flatnonzero(segments.start == now).tolist()
        }
        state.go_to(runs)
        jobs = _ActiveJobs(self, now)
        try:
            stops, starts = self._pass(now, jobs, running)
        except UndecidedError:
            return None
        changed = (stops ^ stopping) or (starts.keys() ^ starting.keys())
        wrong = sorted(changed or (i for i in starts if starts[i] != starting[i]))
        if not wrong or jobs.rounding_decides:
            return None
        where = f"job {self.records.job_id[wrong[0]]} at {now:.6g} s"
        rule = "queue order" if changed else "offer"
        return Violation(rule, self.records.policy, where, float(len(wrong)))

    def _pass(
        self, now: float, jobs: _ActiveJobs, running: dict[int, int]
    ) -> tuple[set[int], dict[int, Offer]]:
        """The jobs that a pass stops, and those that it starts with their offers."""
        state, gpus = self.state, self.state.gpus
        if len(jobs.order) == len(running) or not self._is_event(now, not running):
            return set(), {}
        state.see_windows(now)
        stops: set[int] = set()
        if not self.round or self._last_boundary(now) == now:
            stops = running.keys() - self._chosen(now, jobs, running)
            for i in stops:
                state.hold(i, dict(self.segments[running[i]].servers), -1)
        starts: dict[int, Offer] = {}
        open_gpus = state.open_gpus(state.free)
        for i in jobs.order:
            continues = i in running and i not in stops
            if continues or gpus[i] > open_gpus or state.is_over_quota(i, state.held):
                continue
            offer, alpha = state.offer(i, now, jobs.planned_end(i), state.free)
            if alpha < INF:
                starts[i] = offer
                state.hold(i, offer)
                open_gpus -= gpus[i]
        return stops, starts

    def _chosen(self, now: float, jobs: _ActiveJobs, running: dict[int, int]) -> set[int]:
        """The jobs that a full pass chooses: the first that fit together within their quotas."""
        state, gpus, sizes = self.state, self.state.gpus, self.records.server_gpus.tolist()
        room, held, chosen = state.open_gpus(sizes), state.none_held(), set()
        windows_ahead = min(state.until) < INF
        for i in jobs.order:
            if gpus[i] > room or state.is_over_quota(i, held):
                continue
            if i not in running and windows_ahead:
                _, alpha = state.offer(i, now, jobs.planned_end(i), sizes)
                if alpha == INF:
                    continue
            chosen.add(i)
            room -= gpus[i]
            state.add_held(held, i)
        return chosen


class _ActiveJobs:
    """Submitted and incomplete jobs in the order of (priority; key; row)."""

    def __init__(self, replay: _Replay, now: float) -> None:
        records, segments = replay.records, replay.segments
        self.replay, self.now = replay, now
        active = np.flatnonzero((records.submit <= now) & (records.end > now))
        last_segment = np.full(len(records), -1)
        begun = np.flatnonzero(segments.start < now)
        last_segment[segments.job[begun]] = begun  # the last of each job
        k = last_segment[active]
        self.has_run = dict(zip(active.tolist(), (k >= 0).tolist(), strict=True))
        ran = np.maximum(0.0, np.minimum(segments.end[k], now) - replay.compute_start[k])
        done = np.where(k >= 0, ran / segments.alpha[k], 0.0)
        remaining = np.where(k >= 0, replay.remaining[k], records.iterations[active]) - done
        predicted = np.where(k >= 0, replay.predicted[k], records.predicted[active]) - done
        worked = np.where(k >= 0, replay.worked[k] + ran, 0.0)
        remaining = np.maximum(0.0, remaining)
        self.remaining = dict(zip(active.tolist(), remaining.tolist(), strict=True))
        key, tolerance = replay.keys(active, now, worked, np.maximum(0.0, predicted))
        # rounding decides whether the job has outlived its prediction
        unsure = (worked > 0) & (np.abs(predicted) <= KEY_RTOL * records.predicted[active])
        order = np.lexsort((replay.rows[active], key, -replay.priority[active]))
        self.order = active[order].tolist()
        gap, level = np.diff(key[order]), replay.priority[active][order]
        near = gap <= np.maximum(tolerance[order][:-1], tolerance[order][1:])
        near &= (gap > 0) | unsure[order][:-1] | unsure[order][1:]
        self.rounding_decides = bool((near & (np.diff(level) == 0)).any())

    def planned_end(self, i: int) -> Callable[[float], float]:
        """The end of a segment that begins now, by alpha."""
        begin = self.now + (self.replay.restore if self.has_run[i] else 0.0)
        return lambda alpha: begin + self.remaining[i] * alpha


def max_min_level(gpus: Ints, total: int) -> float:
    """The level of max-min fair shares min(g, level)."""
    if gpus.sum() <= total:
        return INF
    for width in np.unique(gpus):
        if np.minimum(gpus, width).sum() >= total:
            above = gpus >= width
            return float((total - gpus[~above].sum()) / above.sum())
    return INF
