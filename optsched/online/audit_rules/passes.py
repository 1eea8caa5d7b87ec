"""Passes of policies that stop no job, repeated from the records.

The records are followed event by event: arrivals, virtual completions, ends, window ends and the
end of the head's delay window. A pass in plain Python must start exactly the recorded jobs, on the
recorded servers; between events no job starts. Policies with delays are followed over stretches of
the run, others are checked at times spread evenly over it. At the start of a stretch the delays of
jobs that may have been the head are unknown: the records decide whether such a job starts. A pass
is skipped if it depends on rounding, or if a job without length makes it one of several at its
time; delays are then unknown again.
Source: models/online/README.md, "Beyond the paper" and "Limits".
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from optsched.arrays import Bools, Floats, Ints
from optsched.checking import Violation, slack
from optsched.online.audit_rules.cluster_state import (
    INF,
    ClusterState,
    Offer,
    Run,
    UndecidedError,
    deviating,
    exceeds,
)
from optsched.online.audit_rules.limits import MAX_LISTED

VIRTUAL_ORDER = ("a-srpt", "a-srpt-perfect", "a-srpt-backfill")
DELAYING = (*VIRTUAL_ORDER, "srpt-workload-hold")
WORK_CONSERVING = ("wcs-duration", "wcs-workload", "wcs-subtime")
WITHOUT_HEAD = (*WORK_CONSERVING, "spwf-consolidated", "fair-share")
MAX_WORK = 10_000
"""Passes and offers that are followed from the first event on, and as many in stretches (1 s)."""
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


def pass_violations(run: Run, queued: Floats, rank: Ints, spot_checks: int) -> list[Violation]:
    """Check passes of a run whose jobs queue at a time and in an order."""
    start, replay = run.records.start, _Replay(run, queued, rank)
    events = np.concatenate((run.external_events, queued, run.records.end))
    times = np.unique(np.append(events[events >= 0], start))
    if replay.is_delaying:
        return replay.follow(times, np.isin(times, events))
    violations: list[Violation] = []
    for time in run.times_to_check(times, np.setdiff1d(start, events), spot_checks):
        replay.go_to(time)
        violations += replay.violations_at(time, time in events)
    return violations[:MAX_LISTED]


class _Replay:
    """Waiting and running jobs and delays before a pass; jobs are indices of records."""

    def __init__(self, run: Run, queued: Floats, rank: Ints) -> None:
        self.run, self.state, self.records = run, ClusterState(run), run.records
        self.queued, self.rank, self.by_rank = queued, rank, np.argsort(rank).tolist()
        self.by_queued = np.argsort(queued)
        self.joins, self.joined = queued[self.by_queued], 0
        self.is_delaying = self.records.policy in DELAYING
        self.is_fair = self.records.policy == "fair-share"
        run_times = np.append(self.records.start, self.records.end)
        self.usage_is_exact = not (run_times % EXACT_SECONDS).any()
        self.usage: list[float] = []  # by user
        self.waiting: list[int] = []  # ranks, ascending
        self.running: list[tuple[float, int]] = []  # a heap of (end, job)
        self.delays: dict[int, tuple[float, float]] = {}  # kappa, end of the delay window
        self.unknown: set[int] = set()  # waiting jobs whose delays are unknown
        self.window_end = INF  # of the head's delay

    def follow(self, times: Floats, is_event: Bools) -> list[Violation]:
        """Follow the beginning of a run, and stretches spread evenly over the rest."""
        violations: list[Violation] = []
        position = 0
        firsts = np.linspace(0, len(times), STRETCHES, endpoint=False).astype(int).tolist()
        for number, first in enumerate(firsts):
            if first > position:
                position = first
                self.go_to(float(times[first]))
            limit = MAX_WORK * (STRETCHES + number) // STRETCHES
            while position < len(times) and self.state.offers <= limit:
                now = min(float(times[position]), self.window_end)
                at_event = now == self.window_end or bool(is_event[position])
                position += now == times[position]
                violations += self.violations_at(now, at_event)
                self.state.offers += 1
        return violations[:MAX_LISTED]

    def go_to(self, now: float) -> None:
        """Set the state before the pass of a time."""
        records = self.records
        running = (records.start < now) & (records.end > now)
        self.state.go_to(now, running)
        indices = np.flatnonzero(running)
        self.running = list(zip(records.end[indices].tolist(), indices.tolist(), strict=True))
        heapq.heapify(self.running)
        self.joined = int(np.searchsorted(self.joins, now, "right"))
        self.waiting = np.sort(self.rank[(self.queued <= now) & (records.start >= now)]).tolist()
        if self.is_fair:
            seconds = np.maximum(0.0, np.minimum(records.end, now) - records.start)
            self.usage = np.bincount(self.state.codes[0], records.gpus * seconds).tolist()
        self._forget_delays()

    def _forget_delays(self) -> None:
        """Mark the delays of jobs that may have been the head as unknown."""
        self.delays, self.unknown, self.window_end = {}, set(), INF
        if self.is_delaying and self.records.options.hold != "inf":
            is_fifo = self.records.policy in VIRTUAL_ORDER and not self.run.has_reordering_limits
            waiting = [self.by_rank[rank] for rank in self.waiting[: 1 if is_fifo else None]]
            self.unknown = {i for i in waiting if self.run.heavy[i]}

    def violations_at(self, now: float, is_event: bool) -> list[Violation]:
        """Repeat the pass of a time."""
        self._release_and_queue(now)
        self.window_end = INF
        recorded, attempt, violations = self.run.starting(now), _Pass(self, now), []
        try:
            if any(self.records.end[i] == now for i in recorded):
                raise UndecidedError
            # the end of an unknown delay window may be an event
            expected = attempt.starts(recorded) if is_event or self.unknown else {}
            wrong = deviating(expected, recorded, self.rank)
            if wrong:
                rule = attempt.violated_rule(wrong[0], recorded)
                where = f"job {self.records.job_id[wrong[0]]} at {now:.6g} s"
                violations.append(Violation(rule, "pass", where, float(len(wrong))))
            is_followed = not wrong
        except UndecidedError:
            is_followed = False
        for i, offer in recorded.items():
            self.state.hold(i, offer)
            self.waiting.remove(int(self.rank[i]))
            self.unknown.discard(i)
            heapq.heappush(self.running, (float(self.records.end[i]), i))
        if not is_followed:
            self._forget_delays()
        elif attempt.head in self.delays and self.delays[attempt.head][1] > now:
            self.window_end = self.delays[attempt.head][1]
        return violations

    def _release_and_queue(self, now: float) -> None:
        while self.running and self.running[0][0] <= now:
            i = heapq.heappop(self.running)[1]
            self.state.hold(i, self.run.servers(i), -1)
        while self.joined < len(self.joins) and self.joins[self.joined] <= now:
            insort(self.waiting, int(self.rank[self.by_queued[self.joined]]))
            self.joined += 1
        self.state.see_windows(now)


class _Pass:
    """A pass of a policy, which starts waiting jobs until none fits or the head waits."""

    def __init__(self, replay: _Replay, now: float) -> None:
        self.replay, self.run, self.state, self.now = replay, replay.run, replay.state, now
        self.policy, self.options = self.run.records.policy, self.run.records.options
        self.recorded: dict[int, Offer] = {}
        self.started: dict[int, Offer] = {}
        self.head: int | None = None
        self.reserved_start, self.spare_gpus = INF, 0  # of the head, with EASY

    def starts(self, recorded: dict[int, Offer]) -> dict[int, Offer]:
        """The jobs that a pass starts, with their offers; recorded starts stand in for delays."""
        state, gpus, self.recorded = self.state, self.run.gpus, recorded
        open_gpus = state.open_gpus(state.free)
        try:
            for i in self._turns():
                if open_gpus == 0:
                    break
                may_be_head = self.head is None and self.policy not in WITHOUT_HEAD
                if (gpus[i] > open_gpus and not may_be_head) or state.is_over_quota(i, state.held):
                    continue
                offer, alpha = self._offer(i) if gpus[i] <= open_gpus else ({}, INF)
                if alpha < INF and self._is_accepted(i, alpha):
                    self.started[i] = offer
                    state.hold(i, offer)
                    open_gpus -= gpus[i]
                elif may_be_head:
                    self.head = i
                    if not self._may_be_overtaken(i):
                        break
        finally:
            for i, offer in self.started.items():
                state.hold(i, offer, -1)
        return self.started

    def violated_rule(self, i: int, recorded: dict[int, Offer]) -> str:
        """The rule that is violated by a job that starts elsewhere, starts, or does not start."""
        if i in recorded and i in self.started:
            return "offer"
        if self.replay.is_delaying:
            return "delay" if self.run.heavy[i] else "queue order"
        if self.policy == "spwf-consolidated":
            return "consolidation"
        is_left = i in self.started and self.policy in ("easy", "fair-share")
        if is_left or self.policy in WORK_CONSERVING:
            return "work conservation"
        if self.policy == "easy" and self.head is not None:
            return "reservation"
        return "fair share" if self.replay.is_fair else "queue order"

    def _turns(self) -> Iterator[int]:
        replay = self.replay
        waiting = [replay.by_rank[rank] for rank in replay.waiting]
        if not replay.is_fair:
            yield from waiting
            return
        of_user: dict[int, list[int]] = defaultdict(list)
        for i in reversed(waiting):
            of_user[self.state.codes[0][i]].append(i)
        while of_user:
            keys = sorted(self._fair_key(user, jobs[-1]) for user, jobs in of_user.items())
            (priority, usage, *_, user), following = keys[0], keys[1:2]
            if usage > 0 and following and following[0][0] == priority:
                exceeds(following[0][1], usage, USAGE_RTOL * usage, replay.usage_is_exact)
            i = of_user[user].pop()
            yield i
            if i not in self.started or not of_user[user]:
                del of_user[user]

    def _fair_key(self, user: int, i: int) -> tuple[float, float, int, int, int]:
        held, rank = self.state.held[0][user], int(self.replay.rank[i])
        return -float(self.run.priority[i]), self.replay.usage[user], held, rank, user

    def _offer(self, i: int) -> tuple[Offer, float]:
        iterations, free, now = float(self.run.records.iterations[i]), self.state.free, self.now
        planned_end = float(np.fmax(now + self.run.walltime[i], now))
        return self.state.offer(i, free, now, now, iterations, planned_end)

    def _nothing_runs(self) -> bool:
        return not (self.replay.running or self.started)

    def _is_good(self, i: int, alpha: float) -> bool:
        limit = max(self.options.comm_heavy, 1 + ESTIMATE_RTOL) * self.run.records.estimate[i]
        is_exact = self.run.is_recorded(i, alpha)
        return self._nothing_runs() or not exceeds(alpha, limit, ALPHA_RTOL * limit, is_exact)

    def _is_accepted(self, i: int, alpha: float) -> bool:
        """Whether a job that fits starts on its offer; the first rejection opens a delay window."""
        delays, options, records = self.replay.delays, self.options, self.run.records
        if self.policy == "easy" and self.head is not None:
            return self._keeps_reservation(i, alpha)
        if self.policy == "spwf-consolidated":
            return self._is_good(i, alpha)
        if not self.replay.is_delaying or not self.run.heavy[i] or self._nothing_runs():
            return True
        if i in self.replay.unknown and self.head is None:
            return i in self.recorded
        if i in delays and self.head is None and options.hold == "none":
            is_accepted = alpha < delays[i][0] * (1 - IMPROVEMENT_RTOL)
        else:
            is_accepted = self._is_good(i, alpha)
        if is_accepted or self.head is not None:
            return is_accepted
        if i not in delays:
            share = records.gpus[i] / records.cluster_gpus
            work = float(share * records.predicted[i] * records.estimate[i])
            delays[i] = alpha, self.now + (INF if options.hold == "inf" else options.tau * work)
        return self.now >= delays[i][1]

    def _may_be_overtaken(self, head: int) -> bool:
        if self.policy == "a-srpt-backfill":
            if head in self.replay.unknown:
                raise UndecidedError
            return head in self.replay.delays and self.now < self.replay.delays[head][1]
        return self.policy == "easy" and self._reserve(head)

    # Reservations of EASY

    def _reserve(self, head: int) -> bool:
        """Find the head's reservation; jobs may start behind a head whose GPUs are not free."""
        run, state, records, now = self.run, self.state, self.run.records, self.now
        free, gpus = np.array(state.free), run.gpus[head]
        length = float(records.iterations[head] * records.estimate[head])
        length = float(np.fmax(run.walltime[head], length))
        if state.usable_gpus(free, now, length) >= gpus:
            return False
        released: dict[float, list[Offer]] = {end: [] for end in run.windows[2] if end > now}
        running = {i: run.servers(i) for _, i in self.replay.running}
        for i, offer in (running | self.started).items():
            start = now if i in self.started else float(records.start[i])
            end = max(start + self._expected_length(i, run.alpha(i, offer)), now)
            released.setdefault(end, []).append(offer)
        for time in sorted(released):
            for offer in released[time]:
                free[list(offer)] += list(offer.values())
            self.reserved_start = time
            self.spare_gpus = state.usable_gpus(free, time, length) - gpus
            if self.spare_gpus >= 0:
                break
        return True

    def _keeps_reservation(self, i: int, alpha: float) -> bool:
        """Whether a job ends before the head's reservation or leaves the head its GPUs."""
        end = self.now + self._expected_length(i, alpha)
        is_exact = self.run.is_recorded(i, alpha) or not np.isnan(self.run.walltime[i])
        is_late = exceeds(end, self.reserved_start, slack(end - self.now, end), is_exact)
        if is_late and self.run.gpus[i] > self.spare_gpus:
            return False
        self.spare_gpus -= self.run.gpus[i] if is_late else 0
        return True

    def _expected_length(self, i: int, alpha: float) -> float:
        walltime = float(self.run.walltime[i])
        return float(self.run.records.predicted[i] * alpha) if np.isnan(walltime) else walltime
