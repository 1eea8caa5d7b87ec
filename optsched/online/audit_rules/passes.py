"""Passes of policies that stop no job, repeated from the records.

The records are followed event by event: arrivals, virtual completions, ends, window ends and the
end of the head's delay window. A pass in plain Python must start exactly the recorded jobs, on the
recorded servers; between events no job starts. Policies with delays are followed over stretches of
the run, others are checked at times spread evenly over it. At the start of a stretch the delays of
jobs that may have been the head are unknown: the records decide whether such a job starts. A pass
that depends on rounding is skipped, and the delays are then unknown again.
Source: models/online/README.md, "Beyond the paper" and "Limits".
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from optsched.arrays import Bools, Floats, Ints
from optsched.checking import Violation, slack
from optsched.online.audit_rules.cluster_state import (
    INF,
    ClusterState,
    Offer,
    UndecidedError,
    exceeds,
)
from optsched.online.audit_rules.placement import MAX_LISTED, checked_times, evenly_spaced
from optsched.online.records import Record, Records

if TYPE_CHECKING:
    from optsched.online.data.jobs import Jobs

VIRTUAL_ORDER = ("a-srpt", "a-srpt-perfect", "a-srpt-backfill")
DELAYING = (*VIRTUAL_ORDER, "srpt-workload-hold")
WORK_CONSERVING = ("wcs-duration", "wcs-workload", "wcs-subtime")
WITHOUT_HEAD = (*WORK_CONSERVING, "spwf-consolidated", "fair-share")
MAX_WORK = 10_000
"""Passes and offers of policies with delays (about 1 s), half of them from the first event on."""
STRETCHES = 20
USAGE_RTOL = 1e-9
"""Usages that differ less may be in either order."""
EXACT_SECONDS = 2.0**-10
"""Sums of multiples are exact."""
IMPROVEMENT_RTOL = 1e-9
ESTIMATE_RTOL = 1e-9
"""An offer with alpha up to (1 + 1e-9) alpha~ is as good as alpha~."""
ALPHA_RTOL = 1e-10
"""Relative rounding of a recomputed alpha."""


def pass_violations(
    jobs: Jobs, state: ClusterState, rows: Ints, queued: Floats, rank: Ints, spot_checks: int
) -> list[Violation]:
    """Check passes of a run whose jobs queue at a time and in an order."""
    ends = [window.end - jobs.first_submission for window in jobs.cluster.maintenance]
    start, replay = state.records.start, _Replay(jobs, state, rows, queued, rank)
    events = np.concatenate((jobs.submit, queued, state.records.end, ends))
    times = np.unique(np.concatenate((events[events >= 0], start)))
    if replay.is_delaying:
        return replay.follow(times, np.isin(times, events))
    times = checked_times(times, np.setdiff1d(start, events), spot_checks, len(start))
    violations: list[Violation] = []
    for time, is_event in zip(times.tolist(), np.isin(times, events).tolist(), strict=True):
        replay.go_to(time)
        violations += replay.violations_at(time, is_event)
    return violations[:MAX_LISTED]


class _Jobs(dict[int, Record]):
    """Records by index, as they are needed."""

    def __init__(self, records: Records) -> None:
        self.records = records

    def __missing__(self, i: int) -> Record:
        self[i] = self.records[i]
        return self[i]


class _Replay:
    """Waiting and running jobs and delays before a pass; jobs are indices of records."""

    def __init__(
        self, jobs: Jobs, state: ClusterState, rows: Ints, queued: Floats, rank: Ints
    ) -> None:
        self.state, self.records, self.queued, self.rank = state, state.records, queued, rank
        self.jobs, self.policy = _Jobs(self.records), self.records.policy
        self.is_delaying = self.policy in DELAYING
        reorders = {"quotas", "priorities"}.intersection(jobs.cluster.limits)
        self.is_first_in_first_out = self.policy in VIRTUAL_ORDER and not reorders
        given = jobs.workload.walltime
        self.walltime = np.full(len(rows), np.nan) if given is None else given[rows]
        self.by_rank, self.by_queued = np.argsort(rank).tolist(), np.argsort(queued)
        self.by_start = np.argsort(self.records.start)
        self.starts, self.joins = self.records.start[self.by_start], queued[self.by_queued]
        self.joined = 0  # jobs that have joined the queue
        self.waiting: list[int] = []  # ranks, ascending
        self.running: list[tuple[float, int]] = []  # a heap of (end, job)
        self.usage: list[float] = []  # of fair-share, by user
        run_times = np.concatenate((self.records.start, self.records.end))
        self.usage_is_exact = not (run_times % EXACT_SECONDS).any()
        self.delays: dict[int, tuple[float, float]] = {}  # kappa, end of the delay window
        self.unknown: set[int] = set()  # waiting jobs whose delays are unknown
        self.window_end = INF  # of the head's delay

    def follow(self, times: Floats, is_event: Bools) -> list[Violation]:
        """Follow the beginning of a run, and stretches spread evenly over the rest."""
        violations: list[Violation] = []
        position = 0
        for number, first in enumerate(evenly_spaced(np.arange(len(times)), STRETCHES).tolist()):
            if first > position:
                position = first
                self.go_to(float(times[first]))
            limit = MAX_WORK * (STRETCHES + number) // (2 * STRETCHES)
            while position < len(times) and self.state.work <= limit:
                time = float(times[position])
                while self.window_end < time:
                    violations += self.violations_at(self.window_end, True)
                at_window_end = self.window_end == time
                violations += self.violations_at(time, at_window_end or bool(is_event[position]))
                position += 1
                if len(violations) >= MAX_LISTED:
                    return violations[:MAX_LISTED]
        return violations

    def go_to(self, now: float) -> None:
        """Set the state before the passes of a time."""
        records = self.records
        running = (records.start < now) & (records.end > now)
        self.state.go_to(running)
        indices = np.flatnonzero(running)
        self.running = list(zip(records.end[indices].tolist(), indices.tolist(), strict=True))
        heapq.heapify(self.running)
        self.joined = int(np.searchsorted(self.joins, now, "right"))
        self.waiting = np.sort(self.rank[(self.queued <= now) & (records.start >= now)]).tolist()
        if self.policy == "fair-share":
            seconds = np.maximum(0.0, np.minimum(records.end, now) - records.start)
            self.usage = np.bincount(self.state.codes[0], records.gpus * seconds).tolist()
        self._forget_delays()

    def _forget_delays(self) -> None:
        """Mark the delays of jobs that may have been the head as unknown."""
        self.delays, self.unknown, self.window_end = {}, set(), INF
        if self.is_delaying and self.records.options.hold != "inf":
            # nothing overtakes the head of a queue that is first in, first out
            waiting = self.waiting[:1] if self.is_first_in_first_out else self.waiting
            self.unknown = {
                i for i in map(self.by_rank.__getitem__, waiting) if self.state.heavy[i]
            }

    def violations_at(self, now: float, is_event: bool) -> list[Violation]:
        """Repeat the passes of an instant: several if jobs without length start."""
        first, last = np.searchsorted(self.starts, now), np.searchsorted(self.starts, now, "right")
        starting = {i: dict(self.jobs[i].servers) for i in self.by_start[first:last].tolist()}
        self.window_end, self.state.work = INF, self.state.work + 1
        violations: list[Violation] = []
        again = True
        while again:
            self._release_and_queue(now)
            attempt = _Pass(self, now, starting)
            try:
                # the end of an unknown delay window may be an event
                expected = attempt.starts() if is_event or self.unknown else {}
                is_decided = True
            except UndecidedError:
                expected, is_decided = starting, False
            missing = [i for i in expected if i not in starting]
            others = [i for i in starting if i not in expected]
            moved = [i for i in expected if i in starting and expected[i] != starting[i]]
            again = is_decided and not missing and any(self.jobs[i].end <= now for i in expected)
            wrong = moved if again else others or missing or moved
            if wrong:
                wrong.sort(key=self.rank.__getitem__)
                rule = "offer" if wrong is moved else attempt.rule(wrong[0], wrong is missing)
                where = f"job {self.jobs[wrong[0]].job_id} at {now:.6g} s"
                violations.append(Violation(rule, "pass", where, float(len(wrong))))
                again, expected = False, starting
            for i in expected:
                self._start(i, starting[i])
            starting = {i: offer for i, offer in starting.items() if i not in expected}
            if wrong or not is_decided:
                self._forget_delays()
            elif attempt.head in self.delays:
                end = self.delays[attempt.head][1]
                self.window_end = end if end > now else INF
        return violations

    def _release_and_queue(self, now: float) -> None:
        while self.running and self.running[0][0] <= now:
            _, i = heapq.heappop(self.running)
            self.state.hold(i, dict(self.jobs[i].servers), -1)
        while self.joined < len(self.joins) and self.joins[self.joined] <= now:
            insort(self.waiting, int(self.rank[self.by_queued[self.joined]]))
            self.joined += 1

    def _start(self, i: int, offer: Offer) -> None:
        self.state.hold(i, offer)
        self.waiting.remove(int(self.rank[i]))
        self.unknown.discard(i)
        heapq.heappush(self.running, (self.jobs[i].end, i))


class _Pass:
    """A pass of a policy, which starts waiting jobs until none fits or the head waits."""

    def __init__(self, replay: _Replay, now: float, recorded: dict[int, Offer]) -> None:
        self.replay, self.now, self.recorded = replay, now, recorded
        self.state, self.policy = replay.state, replay.policy
        self.options, self.jobs = replay.records.options, replay.jobs
        self.started: dict[int, Offer] = {}
        self.head: int | None = None
        self.reserved_start, self.spare_gpus = INF, 0  # of the head, with EASY

    def starts(self) -> dict[int, Offer]:
        """The jobs that a pass starts, with their offers."""
        state = self.state
        state.see_windows(self.now)
        open_gpus = state.open_gpus(state.free)
        try:
            for i in self._turns():
                if open_gpus == 0:
                    break
                is_too_large = state.gpus[i] > open_gpus
                may_be_head = self.head is None and self.policy not in WITHOUT_HEAD
                if (is_too_large and not may_be_head) or state.is_over_quota(i, state.held):
                    continue
                offer, alpha = ({}, INF) if is_too_large else self._offer(i)
                if alpha < INF and self._is_accepted(i, alpha):
                    self.started[i] = offer
                    state.hold(i, offer)
                    open_gpus -= state.gpus[i]
                elif may_be_head:
                    self.head = i
                    if not self._may_be_overtaken(i):
                        break
        finally:
            for i, offer in self.started.items():
                state.hold(i, offer, -1)
        return self.started

    def rule(self, i: int, is_missing: bool) -> str:
        """The rule that a pass violates by starting a job, or by not starting it."""
        if self.policy == "spwf-consolidated":
            return "consolidation"
        if self.replay.is_delaying and self.state.heavy[i]:
            return "delay"
        if self.policy in WORK_CONSERVING or (is_missing and self.policy in ("easy", "fair-share")):
            return "work conservation"
        if self.policy == "easy" and self.head is not None:
            return "reservation"
        return "fair share" if self.policy == "fair-share" else "queue order"

    # The order of turns

    def _turns(self) -> Iterator[int]:
        by_rank, user = self.replay.by_rank, self.state.codes[0]
        if self.policy != "fair-share":
            yield from (by_rank[rank] for rank in self.replay.waiting)
            return
        of_user: dict[int, list[int]] = defaultdict(list)
        for rank in reversed(self.replay.waiting):
            of_user[user[by_rank[rank]]].append(rank)
        firsts = [self._fair_key(ranks.pop()) for ranks in of_user.values()]
        heapq.heapify(firsts)
        while firsts:
            priority, usage, _, rank = heapq.heappop(firsts)
            if firsts and firsts[0][0] == priority and usage > 0:
                exceeds(firsts[0][1], usage, USAGE_RTOL * usage, self.replay.usage_is_exact)
            i = by_rank[rank]
            yield i
            ranks = of_user[user[i]]
            if i in self.started and ranks:
                heapq.heappush(firsts, self._fair_key(ranks.pop()))

    def _fair_key(self, rank: int) -> tuple[int, float, int, int]:
        i = self.replay.by_rank[rank]
        user = self.state.codes[0][i]
        return -self.state.priority[i], self.replay.usage[user], self.state.held[0][user], rank

    # Offers

    def _offer(self, i: int) -> tuple[Offer, float]:
        iterations, walltime = self.jobs[i].iterations, float(self.replay.walltime[i])

        def planned_end(alpha: float) -> float:
            return self.now + float(np.fmax(walltime, iterations * alpha))

        return self.state.offer(i, self.now, planned_end, self.state.free)

    def _is_good(self, i: int, alpha: float) -> bool:
        if not (self.replay.running or self.started):
            return True
        limit = max(self.options.comm_heavy, 1 + ESTIMATE_RTOL) * self.state.estimate[i]
        is_exact = self.state.is_recorded(i, alpha)
        return not exceeds(alpha, limit, ALPHA_RTOL * limit, is_exact)

    def _is_accepted(self, i: int, alpha: float) -> bool:
        """Whether a job that fits starts on its offer; the first rejection opens a delay window."""
        if self.policy == "easy" and self.head is not None:
            return self._keeps_reservation(i, alpha)
        if self.policy == "spwf-consolidated":
            return self._is_good(i, alpha)
        nothing_runs = not (self.replay.running or self.started)
        if not self.replay.is_delaying or not self.state.heavy[i] or nothing_runs:
            return True
        if self.head is not None:
            return self._is_good(i, alpha)
        if i in self.replay.unknown:
            return i in self.recorded
        delays, options = self.replay.delays, self.options
        if i in delays and options.hold == "none":
            is_accepted = alpha < delays[i][0] * (1 - IMPROVEMENT_RTOL)
        else:
            is_accepted = self._is_good(i, alpha)
        if is_accepted:
            return True
        if i not in delays:
            job = self.jobs[i]
            work = job.gpus / self.replay.records.cluster_gpus * job.predicted * job.estimate
            window = INF if options.hold == "inf" else options.tau * work
            delays[i] = alpha, self.now + window
        return self.now >= delays[i][1]

    # Jobs behind the head

    def _may_be_overtaken(self, head: int) -> bool:
        if self.policy == "a-srpt-backfill":
            if head in self.replay.unknown:
                raise UndecidedError
            return head in self.replay.delays and self.now < self.replay.delays[head][1]
        return self.policy == "easy" and self._reserve(head)

    def _reserve(self, head: int) -> bool:
        """Find the head's reservation; jobs may start behind a head whose GPUs are not free."""
        job, state, now = self.jobs[head], self.state, self.now
        free = np.array(state.free)
        length = float(np.fmax(self.replay.walltime[head], job.iterations * job.estimate))
        if state.usable_gpus(free, now, length) >= job.gpus:
            return False
        released: dict[float, list[Offer]] = {end: [] for end in state.windows[2] if end > now}
        running = [(i, dict(self.jobs[i].servers)) for _, i in self.replay.running]
        for i, offer in (*running, *self.started.items()):
            start = now if i in self.started else self.jobs[i].start
            end = max(start + self._expected_length(i, state.alpha(i, offer)), now)
            released.setdefault(end, []).append(offer)
        for time in sorted(released):
            for offer in released[time]:
                free[list(offer)] += list(offer.values())
            self.reserved_start = time
            self.spare_gpus = state.usable_gpus(free, time, length) - job.gpus
            if self.spare_gpus >= 0:
                break
        return True

    def _keeps_reservation(self, i: int, alpha: float) -> bool:
        """Whether a job ends before the head's reservation or leaves the head its GPUs."""
        end = self.now + self._expected_length(i, alpha)
        is_exact = self.state.is_recorded(i, alpha) or not np.isnan(self.replay.walltime[i])
        tolerance = slack(end - self.now, end)
        is_late = exceeds(end, self.reserved_start, tolerance, is_exact)
        if is_late and self.state.gpus[i] > self.spare_gpus:
            return False
        self.spare_gpus -= self.state.gpus[i] if is_late else 0
        return True

    def _expected_length(self, i: int, alpha: float) -> float:
        walltime = float(self.replay.walltime[i])
        return self.jobs[i].predicted * alpha if np.isnan(walltime) else walltime
