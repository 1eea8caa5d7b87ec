"""Passes of policies that stop jobs, repeated from the records.

At times spread evenly over a run the segments give the work that each job has done and the free
servers. A pass in plain Python must stop exactly the recorded jobs, and start exactly the recorded
ones on the recorded servers; between events no job starts or stops. A pass is skipped if rounding
decides, or if a segment without length makes it one of several at its time. Keys that differ by
rounding only may be in any order.
Source: models/online/README.md, "Preemption" and "Limits".
"""

from __future__ import annotations

from itertools import chain, permutations, product
from typing import Any

import numpy as np

from optsched.arrays import Bools, Floats, Ints
from optsched.checking import Violation
from optsched.online.audit_rules.cluster_state import (
    INF,
    ClusterState,
    Offer,
    Run,
    UndecidedError,
    deviating,
)
from optsched.online.audit_rules.limits import MAX_LISTED

KEY_RTOL = 1e-9
"""Relative rounding of a key that is summed in another order."""
MAX_ROUNDS = 100_000
"""Rounds, spread evenly over the run, of which some are checked."""
MAX_ORDERS = 24
"""Orders of keys that differ by rounding only; a pass with more is skipped."""


def preemption_violations(run: Run, spot_checks: int) -> list[Violation]:
    """Check passes of a complete run."""
    replay = _Replay(run)
    found = (replay.violation_at(time) for time in replay.times(spot_checks))
    return [violation for violation in found if violation is not None][:MAX_LISTED]


class _Replay:
    """Segments of a run, and the work that each job has done when one begins."""

    def __init__(self, run: Run) -> None:
        self.run, self.state = run, ClusterState(run)
        self.records, self.segments = run.records, run.segments
        options, is_resumed = self.records.options, self.segments.resumed
        self.restore, self.round = options.restore, options.round or 0.0  # 0: every event
        self.compute_start = self.segments.start + np.where(is_resumed, self.restore, 0.0)
        self.is_stopped = ~self.segments.ended
        self.events = np.union1d(run.external_events, self.records.end)
        self.remaining, self.predicted, self.worked = self._progress()

    def _progress(self) -> Floats:
        """Iterations, predicted ones, and seconds of work of a segment's job when it begins."""
        records, segments, progress = self.records, self.segments, []
        ran = np.maximum(0.0, segments.end - self.compute_start)
        remaining = predicted = worked = 0.0
        for i, is_resumed, seconds, iterations in zip(
            segments.job, segments.resumed, ran, ran / segments.alpha, strict=True
        ):
            if not is_resumed:
                remaining, predicted, worked = records.iterations[i], records.predicted[i], 0.0
            progress.append((remaining, predicted, worked))
            remaining, worked = max(0.0, remaining - iterations), worked + seconds
            predicted = max(0.0, predicted - iterations)
        return np.array(progress, dtype=np.float64).T

    def times(self, spot_checks: int) -> list[float]:
        """Times of events, starts and stops, spread evenly, and some that are not of events."""
        stops = self.segments.end[self.is_stopped]
        changes, rounds = np.append(self.segments.start, stops), np.empty(0)
        wrong = np.setdiff1d(changes, self.events)
        if self.round:
            wrong = wrong[self.boundary(wrong) != wrong]
            last = np.floor(self.segments.end.max() / self.round)
            rounds = self.round * np.floor(np.linspace(0, last, int(min(last + 1, MAX_ROUNDS))))
            # of those at which a job waits
            waits, starts = np.sort(np.append(self.records.submit, stops)), self.run.starts
            waiting = np.searchsorted(waits, rounds, "right") - np.searchsorted(starts, rounds)
            rounds = rounds[waiting > 0]
        times = np.concatenate((self.events[self.events >= 0], changes, rounds))
        return self.run.times_to_check(np.unique(times), wrong, spot_checks)

    def boundary(self, time: Any) -> Any:
        """When the last round until each time began."""
        count = np.floor(time / self.round + 0.5)
        return np.where(count * self.round <= time, count, count - 1) * self.round

    def _is_event(self, now: float, is_idle: bool) -> bool:
        if now in self.events:
            return True
        if not self.round or self.boundary(now) != now:
            return False
        later = self.run.external_events[self.run.external_events > now]
        return not is_idle or not len(later) or bool(self.boundary(later[0]) == now)

    def violation_at(self, now: float) -> Violation | None:
        """Repeat the pass of a time."""
        segments, recorded = self.segments, self.run.starting(now)
        stops_now = (segments.end == now) & self.is_stopped
        runs = (segments.start < now) & ((segments.end > now) | stops_now)
        stopped, jobs = set(segments.job[runs & stops_now].tolist()), _ActiveJobs(self, now, runs)
        violation = None
        for number, groups in enumerate(product(*map(permutations, jobs.groups))):
            self.state.go_to(now, runs)
            try:
                stops, starts = self._pass(jobs, [*chain(*groups)])
            except UndecidedError:
                return None
            wrong = sorted(stops ^ stopped) or deviating(starts, recorded, self.run.rows)
            if not wrong or number == MAX_ORDERS:
                return None
            where = f"job {self.records.job_id[wrong[0]]} at {now:.6g} s"
            rule = "offer" if wrong[0] in starts and wrong[0] in recorded else "queue order"
            amount = float(len(wrong))
            violation = violation or Violation(rule, self.records.policy, where, amount)
        return violation

    def _pass(self, jobs: _ActiveJobs, order: list[int]) -> tuple[set[int], dict[int, Offer]]:
        """The jobs that a pass stops, and those that it starts with their offers."""
        state, gpus, stops = self.state, self.run.gpus, set[int]()
        now, running = jobs.now, jobs.running
        room = state.open_gpus(state.free)
        # while no job runs or fits, only the last boundary until another event is one
        is_idle = not running and all(gpus[i] > room for i in order)
        if len(order) == len(running) or not self._is_event(now, is_idle):
            return set(), {}
        if not self.round or self.boundary(now) == now:
            stops = running.keys() - self._chosen(jobs, order)
            for i in stops:
                state.hold(i, self.run.servers(jobs.running[i]), -1)
        starts: dict[int, Offer] = {}
        open_gpus = state.open_gpus(state.free)
        for i in order:
            continues = i in running and i not in stops
            if continues or gpus[i] > open_gpus or state.is_over_quota(i, state.held):
                continue
            offer, alpha = state.offer(i, state.free, now, *jobs.segments[i], now)
            if alpha < INF:
                starts[i] = offer
                state.hold(i, offer)
                open_gpus -= gpus[i]
        return stops, starts

    def _chosen(self, jobs: _ActiveJobs, order: list[int]) -> set[int]:
        """The jobs that a full pass chooses: the first that fit together within their quotas."""
        state, gpus, sizes = self.state, self.run.gpus, self.records.server_gpus.tolist()
        room, held, chosen = state.open_gpus(sizes), state.none_held(), set[int]()
        has_windows = min(state.until) < INF
        for i in order:
            if gpus[i] > room or state.is_over_quota(i, held):
                continue
            if has_windows and i not in jobs.running:
                _, alpha = state.offer(i, sizes, jobs.now, *jobs.segments[i], jobs.now)
                if alpha == INF:
                    continue
            chosen.add(i)
            room -= gpus[i]
            state.add_held(held, i)
        return chosen


class _ActiveJobs:
    """Submitted and incomplete jobs.

    `running` gives the segment of each running job, `segments` when a segment that starts now would
    begin its iterations, and how many. `groups` are in the order of (priority; key; row); in a
    group rounding decides the order.
    """

    def __init__(self, replay: _Replay, now: float, runs: Bools) -> None:
        records, segments, run = replay.records, replay.segments, replay.run
        indices = np.flatnonzero(runs).tolist()
        self.now, self.running = now, dict(zip(segments.job[runs].tolist(), indices, strict=True))
        active = np.flatnonzero((records.submit <= now) & (records.end > now))
        last_segment = np.full(len(records), -1)
        begun = np.flatnonzero(segments.start < now)
        last_segment[segments.job[begun]] = begun  # the last of each job
        k = last_segment[active]
        ran = np.maximum(0.0, np.minimum(segments.end[k], now) - replay.compute_start[k])
        done, predicted = ran / segments.alpha[k], records.predicted[active]
        remaining = np.maximum(0.0, replay.remaining[k] - done)
        remaining = np.where(k < 0, records.iterations[active], remaining)
        predicted_remaining = np.where(k < 0, predicted, replay.predicted[k] - done)
        worked = np.where(k < 0, 0.0, replay.worked[k] + ran)
        begin = np.where(k < 0, now, now + replay.restore).tolist()
        begins = zip(begin, remaining.tolist(), strict=True)
        self.segments = dict(zip(active.tolist(), begins, strict=True))

        gpus, tolerance = records.gpus[active], np.zeros(len(active))
        if records.policy == "srpt-preemptive":
            estimate = records.estimate[active]
            key = (gpus * np.maximum(0.0, predicted_remaining)) * estimate
            tolerance = np.where(worked > 0, KEY_RTOL * (gpus * predicted * estimate), 0.0)
        elif records.policy == "las":
            key = np.asarray(gpus * worked, dtype=np.float64)
        else:
            round_start = replay.boundary(now)
            sharing = (records.submit <= round_start) & (records.end > round_start)
            level = max_min_level(records.gpus[sharing], records.cluster_gpus)
            due = np.minimum(1.0, level / gpus) * (round_start - records.submit[active])
            key = np.divide(worked, due, out=np.zeros(len(active)), where=due > 0)
        tolerance = np.maximum(tolerance, KEY_RTOL * key)
        # whether a job has outlived its prediction
        is_unsure = (worked > 0) & (np.abs(predicted_remaining) <= KEY_RTOL * predicted)
        order = np.lexsort((run.rows[active], key, -run.priority[active]))
        gap, tolerance, is_unsure = np.diff(key[order]), tolerance[order], is_unsure[order]
        is_near = gap <= np.maximum(tolerance[:-1], tolerance[1:])
        is_near &= (gap > 0) | is_unsure[:-1] | is_unsure[1:]
        is_near &= np.diff(run.priority[active][order]) == 0
        self.groups = np.split(active[order], 1 + np.flatnonzero(~is_near))


def max_min_level(gpus: Ints, total: int) -> float:
    """The level of max-min fair shares min(g, level)."""
    gpus = np.sort(gpus)
    rest, count = total - (np.cumsum(gpus) - gpus), len(gpus) - np.arange(len(gpus))
    is_reached = np.flatnonzero(gpus * count >= rest)
    return float(rest[is_reached[0]] / count[is_reached[0]]) if len(is_reached) else INF
