"""Passes repeated from the records.

The records are followed event by event: arrivals, virtual completions, ends, window ends and the
end of the head's delay window. Before each pass they give the free servers, the GPUs held by users
and groups, and the waiting jobs. A pass in plain Python must start exactly the recorded jobs, on
the recorded servers; between events no job starts. Delays are carried from pass to pass, so
policies with delays are checked at all events up to a work limit, others at events spread evenly
over the run. A pass that depends on rounding is skipped; delays are then unknown until no heavy job
waits.
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
from optsched.online.audit_rules.limits import Limited
from optsched.online.audit_rules.placement import (
    MAX_LISTED,
    IterationTimes,
    evenly_spaced,
    expected_offer,
    free_gpus,
    rule_of,
)
from optsched.online.audit_rules.replays import (
    ALPHA_RTOL,
    ESTIMATE_RTOL,
    IMPROVEMENT_RTOL,
    INF,
)
from optsched.online.records import Record, Records

if TYPE_CHECKING:
    from optsched.online.data.jobs import Jobs

DELAYING = ("a-srpt", "a-srpt-perfect", "a-srpt-backfill", "srpt-workload-hold")
WORK_CONSERVING = ("wcs-duration", "wcs-workload", "wcs-subtime")
WITHOUT_HEAD = (*WORK_CONSERVING, "spwf-consolidated", "fair-share")
MAX_TURNS = 10_000
"""Work limit of an audit: passes and offers (about 1 s)."""
USAGE_RTOL = 1e-9
"""Usages that differ less may be in either order."""
EXACT_SECONDS = 2.0**-10
"""Sums of multiples are exact."""

Offer = dict[int, int]
"""GPUs by server."""


class RoundingDecidesError(Exception):
    """Two sides of a comparison are equal but for rounding."""


def pass_violations(
    jobs: Jobs,
    records: Records,
    rows: Ints,
    heavy: Bools,
    times: IterationTimes,
    queued: Floats,
    key: Floats,
    spot_checks: int,
) -> list[Violation]:
    """Check the passes of a complete run, whose jobs queue at a time, by a key."""
    replay = _Passes(Limited(jobs, records, rows), queued, key, heavy, times)
    window_ends = [window.end - jobs.first_submission for window in jobs.cluster.maintenance]
    events = np.concatenate((jobs.submit, queued, records.end, window_ends))
    return replay.violations(np.unique(events[events >= 0]), spot_checks)


class _Jobs(dict[int, Record]):
    """Records by index, as they are needed."""

    def __init__(self, records: Records) -> None:
        self.records = records

    def __missing__(self, i: int) -> Record:
        self[i] = self.records[i]
        return self[i]


class _Passes:
    """The state before a pass; jobs are indices of records."""

    def __init__(
        self, limited: Limited, queued: Floats, key: Floats, heavy: Bools, times: IterationTimes
    ) -> None:
        jobs, records, rows = limited.jobs, limited.records, limited.rows
        self.limited, self.records, self.jobs = limited, records, _Jobs(records)
        self.rank, self.heavy, self.times = limited.rank(key), heavy, times
        self.by_rank = np.argsort(self.rank).tolist()
        self.options, self.policy = records.options, records.policy
        self.delaying = self.policy in DELAYING
        self.configuration, self.gpus = jobs.configuration[rows].tolist(), records.gpus.tolist()
        given = jobs.workload.walltime
        self.walltime = np.full(len(rows), np.nan) if given is None else given[rows]
        self.user, self.group = (codes.tolist() for codes in limited.codes)
        self.held = [[0] * len(quota) for quota in limited.quotas]
        self.usage: list[float] = []  # by user
        run_times = np.concatenate((records.start, records.end))
        self.usage_rtol = USAGE_RTOL if (run_times % EXACT_SECONDS).any() else 0.0
        windows = [
            (server, window.start - jobs.first_submission, window.end - jobs.first_submission)
            for window in jobs.cluster.maintenance
            for server in window.indices(records.servers)
        ]
        self.windows = np.array(windows, dtype=float).reshape(-1, 3).T
        self.until = [INF] * records.servers  # next window of each server, -inf inside one
        self.free: list[int] = records.server_gpus.tolist()
        self.queued, self.by_start = queued, np.argsort(records.start)
        self.sorted_starts = records.start[self.by_start]
        self.owner = np.repeat(np.arange(len(rows)), np.diff(records.first))
        self.joining: list[int] = []  # policies with delays: the first to join last
        if self.delaying:
            self.joining = np.argsort(-queued).tolist()
        self.waiting: list[int] = []  # ranks, ascending
        # with start, offer and alpha of jobs started since `_go_to`, otherwise as recorded
        self.running: dict[int, tuple[float, Offer, float] | None] = {}
        self.ends: list[tuple[float, int]] = []  # of jobs started since `_go_to`
        self.started: dict[int, Offer] = {}  # in the pass that is repeated
        self.head: int | None = None
        self.delays: dict[int, tuple[float, float]] = {}  # kappa, end of the delay window
        self.delays_known, self.window_end = True, INF
        self.reserved_start, self.spare_gpus = INF, 0
        self.count = 0  # passes and offers

    def violations(self, events: Floats, spot_checks: int) -> list[Violation]:
        self.events, start = set(events.tolist()), self.records.start
        times = np.unique(np.concatenate((events, start)))
        if not self.delaying:
            between_events = np.setdiff1d(start, events)[:MAX_LISTED]
            times = np.union1d(evenly_spaced(times, spot_checks), between_events)
        violations: list[Violation] = []
        for time in times.tolist():
            if not self.delaying:
                self._go_to(time)
            while self.window_end < time:
                violations += self._violations_at(self.window_end)
            violations += self._violations_at(time)
            if len(violations) >= MAX_LISTED or self.count > MAX_TURNS:
                break
        return violations[:MAX_LISTED]

    def _go_to(self, now: float) -> None:
        """Set the state before the passes of a time."""
        records = self.records
        running = (records.start < now) & (records.end > now)
        held, counts = running[self.owner], records.gpus * running
        self.free = free_gpus(records, records.server[held], records.taken[held])
        for index, codes in enumerate(self.limited.codes):
            held_by_code = np.bincount(codes, counts, len(self.limited.quotas[index]))
            self.held[index] = held_by_code.astype(int).tolist()
        seconds = np.maximum(0.0, np.minimum(records.end, now) - records.start)
        self.usage = np.bincount(self.limited.codes[0], records.gpus * seconds).tolist()
        self.ends = []
        self.running = dict.fromkeys(np.flatnonzero(running).tolist())
        self.waiting = np.sort(self.rank[(self.queued <= now) & (records.start >= now)]).tolist()

    def _violations_at(self, now: float) -> list[Violation]:
        """Repeat the passes of an instant: several if jobs without length start."""
        is_event = now in self.events or now == self.window_end
        first = np.searchsorted(self.sorted_starts, now)
        last = np.searchsorted(self.sorted_starts, now, "right")
        starting = {i: dict(self.jobs[i].servers) for i in self.by_start[first:last].tolist()}
        violations, again = [], True
        self.window_end, self.count = INF, self.count + 1
        while again:
            self._release_and_queue(now)
            expected: dict[int, Offer] | None = None
            if self.delays_known:
                expected = self._starts(now) if is_event else {}
            is_known = expected is not None
            if expected is None:
                self.delays_known, expected = not self.delaying, starting
            missing = [i for i in expected if i not in starting]
            others = [i for i in starting if i not in expected]
            moved = [i for i in expected if i in starting and expected[i] != starting[i]]
            has_ended = any(self.jobs[i].end <= now for i in expected)
            again = has_ended and is_known and not missing
            wrong = moved if again else others or missing or moved
            if wrong:
                rule = "offer" if wrong is moved else self._rule(wrong[0], wrong is missing)
                where = f"job {self.jobs[wrong[0]].job_id} at {now:.6g} s"
                violations.append(Violation(rule, "pass", where, float(len(wrong))))
                self.delays_known, again, expected = not self.delaying, False, starting
            for i in expected:
                self._start(i, now, starting[i], self.jobs[i].alpha)
                self.waiting.remove(int(self.rank[i]))
                heapq.heappush(self.ends, (self.jobs[i].end, i))
            starting = {i: offer for i, offer in starting.items() if i not in expected}
        if not self.delays_known:
            self.delays_known = not any(self.heavy[self.by_rank[rank]] for rank in self.waiting)
        return violations

    def _rule(self, i: int, is_missing: bool) -> str:
        """The rule that a pass violates by starting a job, or by not starting it."""
        if self.policy == "spwf-consolidated":
            return "consolidation"
        if self.delaying and self.heavy[i]:
            return "delay"
        if self.policy in WORK_CONSERVING or (is_missing and self.policy in ("easy", "fair-share")):
            return "work conservation"
        if self.policy == "easy" and self.head is not None:
            return "reservation"
        return "fair share" if self.policy == "fair-share" else "queue order"

    # The state

    def _release_and_queue(self, now: float) -> None:
        while self.ends and self.ends[0][0] <= now:
            i = heapq.heappop(self.ends)[1]
            self._stop(i, dict(self.jobs[i].servers))
        while self.joining and self.queued[self.joining[-1]] <= now:
            insort(self.waiting, int(self.rank[self.joining.pop()]))

    def _start(self, i: int, now: float, offer: Offer, alpha: float) -> None:
        self.running[i] = now, offer, alpha
        self._hold(i, offer, 1)

    def _stop(self, i: int, offer: Offer) -> None:
        del self.running[i]
        self._hold(i, offer, -1)

    def _hold(self, i: int, offer: Offer, sign: int) -> None:
        self.held[0][self.user[i]] += sign * self.gpus[i]
        self.held[1][self.group[i]] += sign * self.gpus[i]
        for server, taken in offer.items():
            self.free[server] -= sign * taken

    # A pass

    def _starts(self, now: float) -> dict[int, Offer] | None:
        """The jobs that a pass starts, with their offers; None if rounding decides."""
        server, start, _ = self.windows[:, self.windows[2] > now]
        until = np.full(len(self.free), INF)
        np.minimum.at(until, server.astype(int), np.where(start > now, start, -INF))
        self.until = until.tolist()
        self.started, self.head = {}, None
        open_gpus = sum(n for n, end in zip(self.free, self.until, strict=True) if end > now)
        try:
            for i in self._turns():
                if open_gpus == 0:
                    break
                is_too_large = self.gpus[i] > open_gpus
                may_be_head = self.head is None and self.policy not in WITHOUT_HEAD
                if (is_too_large and not may_be_head) or self._is_over_quota(i):
                    continue
                offer, alpha = ({}, INF) if is_too_large else self._offer(i, now)
                if alpha < INF and self._is_accepted(i, alpha, now):
                    self.started[i] = offer
                    self._start(i, now, offer, alpha)
                    open_gpus -= self.gpus[i]
                elif may_be_head:
                    self.head = i
                    if not self._may_be_overtaken(i, now):
                        break
        except RoundingDecidesError:
            return None
        finally:
            for i, offer in self.started.items():
                self._stop(i, offer)
        if self.head in self.delays and self.delays[self.head][1] > now:
            self.window_end = self.delays[self.head][1]
        return self.started

    def _turns(self) -> Iterator[int]:
        if self.policy != "fair-share":
            yield from (self.by_rank[rank] for rank in self.waiting)
            return
        of_user: dict[int, list[int]] = defaultdict(list)
        for rank in reversed(self.waiting):
            of_user[self.user[self.by_rank[rank]]].append(rank)
        firsts = [self._fair_key(ranks.pop()) for ranks in of_user.values()]
        heapq.heapify(firsts)
        while firsts:
            priority, usage, _, rank = heapq.heappop(firsts)
            if firsts and firsts[0][0] == priority:
                tolerance = self.usage_rtol * firsts[0][1]
                if tolerance > 0 and firsts[0][1] - usage <= tolerance:
                    raise RoundingDecidesError
            i = self.by_rank[rank]
            yield i
            ranks = of_user[self.user[i]]
            if i in self.started and ranks:
                heapq.heappush(firsts, self._fair_key(ranks.pop()))

    def _fair_key(self, rank: int) -> tuple[int, float, int, int]:
        user, priority = self.user[self.by_rank[rank]], self.limited.priority[self.by_rank[rank]]
        return -int(priority), self.usage[user], self.held[0][user], rank

    def _is_over_quota(self, i: int) -> bool:
        codes = self.user[i], self.group[i]
        return any(
            held[code] + self.gpus[i] > quota[code]
            for held, code, quota in zip(self.held, codes, self.limited.quotas, strict=True)
        )

    def _offer(self, i: int, now: float) -> tuple[Offer, float]:
        """A job's offer and its alpha, infinite if the job does not fit."""
        job, horizon = self.jobs[i], now
        rule = rule_of(self.options.offer or "most", bool(self.heavy[i]))
        while True:
            pairs = zip(self.free, self.until, strict=True)
            left = [free if until >= horizon else 0 for free, until in pairs]
            if sum(left) < job.gpus:
                return {}, INF
            self.count += 1
            offer = expected_offer(left, rule, job.gpus)
            alpha = self._alpha_of(i, offer)
            if alpha == INF:
                return {}, INF
            length = float(np.fmax(self.walltime[i], job.iterations * alpha))
            ahead = [until for until in self.until if horizon <= until < INF]
            if not any(self._ends_after(until, now, length, i, alpha) for until in ahead):
                return offer, alpha
            horizon = now + length

    def _alpha_of(self, i: int, offer: Offer) -> float:
        """Alpha, as recorded if the record has it."""
        job, counts = self.jobs[i], sorted(offer.values())
        if len(counts) == 1:
            return job.estimate
        if counts == sorted(taken for _, taken in job.servers):
            return job.alpha
        return self.times.of(self.configuration[i], tuple(counts))

    def _exceeds(self, value: float, limit: float, tolerance: float, is_exact: bool) -> bool:
        if not is_exact and abs(value - limit) <= tolerance:
            raise RoundingDecidesError
        return value > limit

    def _is_recorded(self, i: int, alpha: float) -> bool:
        return alpha in (self.jobs[i].alpha, self.jobs[i].estimate)

    def _ends_after(self, limit: float, now: float, length: float, i: int, alpha: float) -> bool:
        is_exact = self._is_recorded(i, alpha) or length == self.walltime[i]
        return self._exceeds(now + length, limit, slack(length, now + length), is_exact)

    def _is_good(self, i: int, alpha: float) -> bool:
        if not self.running:
            return True
        limit = max(self.options.comm_heavy, 1 + ESTIMATE_RTOL) * self.jobs[i].estimate
        return not self._exceeds(alpha, limit, ALPHA_RTOL * limit, self._is_recorded(i, alpha))

    def _is_accepted(self, i: int, alpha: float, now: float) -> bool:
        """Whether a job that fits starts on its offer; the first rejection opens a delay window."""
        job, options = self.jobs[i], self.options
        if self.policy == "easy" and self.head is not None:
            length = self._expected_length(i, alpha)
            is_late = self._ends_after(self.reserved_start, now, length, i, alpha)
            if is_late and job.gpus > self.spare_gpus:
                return False
            self.spare_gpus -= job.gpus if is_late else 0
            return True
        if self.policy == "spwf-consolidated":
            return self._is_good(i, alpha)
        if not self.delaying or not self.heavy[i] or not self.running:
            return True
        if i in self.delays and self.head is None and options.hold == "none":
            is_accepted = alpha < self.delays[i][0] * (1 - IMPROVEMENT_RTOL)
        else:
            is_accepted = self._is_good(i, alpha)
        if is_accepted or self.head is not None:
            return is_accepted
        if i not in self.delays:
            work = job.gpus / self.records.cluster_gpus * job.predicted * job.estimate
            self.delays[i] = alpha, now + (INF if options.hold == "inf" else options.tau * work)
        return now >= self.delays[i][1]

    def _may_be_overtaken(self, head: int, now: float) -> bool:
        """Whether jobs may start behind the head; with EASY, find the head's reservation."""
        if self.policy == "a-srpt-backfill":
            return head in self.delays and now < self.delays[head][1]
        if self.policy != "easy":
            return False
        job, free = self.jobs[head], np.array(self.free)
        length = float(np.fmax(self.walltime[head], job.iterations * job.estimate))
        if self._usable_gpus(free, now, length) >= job.gpus:
            return False
        released: dict[float, list[Offer]] = {end: [] for end in self.windows[2] if end > now}
        for i, state in self.running.items():
            as_recorded = self.jobs[i].start, dict(self.jobs[i].servers), self.jobs[i].alpha
            start, offer, alpha = state or as_recorded
            released.setdefault(max(start + self._expected_length(i, alpha), now), []).append(offer)
        for time in sorted(released):
            for offer in released[time]:
                free[list(offer)] += list(offer.values())
            self.reserved_start = time
            self.spare_gpus = self._usable_gpus(free, time, length) - job.gpus
            if self.spare_gpus >= 0:
                break
        return True

    def _usable_gpus(self, free: Ints, time: float, length: float) -> int:
        """Free GPUs of servers without a window in the seconds after a time."""
        server, start, end = self.windows
        closed = server[(start < time + length) & (end > time)].astype(int)
        return int(free.sum() - free[np.unique(closed)].sum())

    def _expected_length(self, i: int, alpha: float) -> float:
        walltime = float(self.walltime[i])
        return self.jobs[i].predicted * alpha if np.isnan(walltime) else walltime
