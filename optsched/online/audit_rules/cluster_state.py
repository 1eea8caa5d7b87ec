"""A run as recorded, and the state of its cluster at an instant.

The records give the free GPUs of each server and the GPUs held by users and groups; jobs are
indices of records. Offers and their alpha are recomputed in plain Python.
Source: models/online/README.md, "Offers" and "Limits".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optsched.arrays import Bools, Floats, Ints
from optsched.checking import slack
from optsched.online.audit_rules.limits import MAX_LISTED, priorities
from optsched.online.audit_rules.placement import IterationTimes
from optsched.online.records import Records

if TYPE_CHECKING:
    from optsched.online.data.jobs import Jobs

INF = float("inf")
CHECKED_RECORDS = 500_000
"""At least so many records are looked at, each at several times."""

Offer = dict[int, int]
"""GPUs by server."""


class UndecidedError(Exception):
    """Two sides of a comparison are equal but for rounding, or a delay is unknown."""


class Run:
    """Records with what the workload and the cluster state about their jobs."""

    def __init__(
        self, jobs: Jobs, records: Records, rows: Ints, heavy: Bools, times: IterationTimes
    ) -> None:
        self.jobs, self.records, self.rows = jobs, records, rows
        self.heavy, self.times = heavy, times
        self.segments, self.gpus = records.segments, records.gpus.tolist()
        self.priority = priorities(jobs, rows)
        given = jobs.workload.walltime
        self.walltime = np.full(len(rows), np.nan) if given is None else given[rows]
        windows = [
            (server, window.start - jobs.first_submission, window.end - jobs.first_submission)
            for window in jobs.cluster.maintenance
            for server in window.indices(records.servers)
        ]
        self.windows = np.array(windows, dtype=float).reshape(-1, 3).T  # server, start, end
        # submissions and ends of windows, whatever the policy does
        self.external_events = np.unique(np.append(jobs.submit, self.windows[2]))
        self.by_start = np.argsort(self.segments.start)
        self.starts = self.segments.start[self.by_start]
        self.alphas: dict[int, dict[tuple[int, ...], float]] = {}  # recorded ones

    @property
    def has_reordering_limits(self) -> bool:
        """Whether a job may overtake another one of a queue that is first in, first out."""
        return not {"quotas", "priorities"}.isdisjoint(self.jobs.cluster.limits)

    def starting(self, now: float) -> dict[int, Offer]:
        """Jobs of which a segment starts at a time, with their servers."""
        first, last = np.searchsorted(self.starts, now), np.searchsorted(self.starts, now, "right")
        segments = self.by_start[first:last].tolist()
        return {int(self.segments.job[k]): self.servers(k) for k in segments}

    def servers(self, segment: int) -> Offer:
        return dict(self.segments[segment].servers)

    def times_to_check(self, times: Floats, wrong: Floats, spot_checks: int) -> list[float]:
        """Times spread evenly over a run, all of a short run, and some of those known as wrong."""
        count = max(spot_checks, CHECKED_RECORDS // len(self.segments))
        spread = np.linspace(0, len(times) - 1, count).astype(np.int64)
        times = np.union1d(times[spread], wrong[:MAX_LISTED])
        without_length = self.segments.start[self.segments.start == self.segments.end]
        return list(np.setdiff1d(times, without_length).tolist())

    def alpha(self, i: int, offer: Offer) -> float:
        """Alpha of an offer, as recorded if a segment has it."""
        counts = tuple(sorted(offer.values()))
        if len(counts) == 1:
            return float(self.records.estimate[i])
        if i not in self.alphas:
            indices = range(*np.searchsorted(self.segments.job, (i, i + 1)))
            segments = [self.segments[k] for k in indices]
            self.alphas[i] = {tuple(sorted(n for _, n in s.servers)): s.alpha for s in segments}
        if counts in self.alphas[i]:
            return self.alphas[i][counts]
        return self.times.of(int(self.jobs.configuration[self.rows[i]]), counts)

    def is_recorded(self, i: int, alpha: float) -> bool:
        return alpha == self.records.estimate[i] or alpha in self.alphas.get(i, {}).values()


class ClusterState:
    """Free GPUs, GPUs held by users and groups, and the next window of each server."""

    def __init__(self, run: Run) -> None:
        workload, quotas = run.jobs.workload, run.jobs.cluster.quotas
        limited = (workload.user, quotas.users), (workload.group, quotas.groups)
        self.run, self.codes = run, [labels.codes[run.rows] for labels, _ in limited]
        self.quotas = [[given.get(n, INF) for n in labels.values] for labels, given in limited]
        segments = run.segments
        self.segment_of = np.repeat(np.arange(len(segments)), np.diff(segments.first))
        self.free: list[int] = run.records.server_gpus.tolist()
        self.held = self.none_held()
        self.until = [INF] * len(self.free)  # next window of each server, -inf inside one
        self.offers = 0

    def none_held(self) -> list[list[int]]:
        return [[0] * len(quotas) for quotas in self.quotas]

    def go_to(self, now: float, holding: Bools) -> None:
        """Set the GPUs that segments hold, and the next windows."""
        segments, records = self.run.segments, self.run.records
        allocated = holding[self.segment_of]
        used = np.bincount(segments.server[allocated], segments.taken[allocated], records.servers)
        self.free = (records.server_gpus - used).astype(int).tolist()
        jobs = segments.job[holding]
        for by_code, codes in zip(self.held, self.codes, strict=True):
            held = np.bincount(codes[jobs], records.gpus[jobs], len(by_code))
            by_code[:] = held.astype(int).tolist()
        self.see_windows(now)

    def see_windows(self, now: float) -> None:
        server, start, _ = self.run.windows[:, self.run.windows[2] > now]
        until = np.full(len(self.free), INF)
        np.minimum.at(until, server.astype(int), np.where(start > now, start, -INF))
        self.until = until.tolist()

    def open_gpus(self, free: list[int]) -> int:
        """Free GPUs of servers in no window."""
        return sum(gpus for gpus, until in zip(free, self.until, strict=True) if until > -INF)

    def usable_gpus(self, free: Ints, time: float, length: float) -> int:
        """Free GPUs of servers without a window in the seconds after a time."""
        server, start, end = self.run.windows
        closed = server[(start < time + length) & (end > time)].astype(int)
        return int(free.sum() - free[np.unique(closed)].sum())

    def hold(self, i: int, offer: Offer, sign: int = 1) -> None:
        """Take the GPUs of an offer; release them if `sign` is -1."""
        self.add_held(self.held, i, sign)
        for server, taken in offer.items():
            self.free[server] -= sign * taken

    def add_held(self, held: list[list[int]], i: int, sign: int = 1) -> None:
        for by_code, codes in zip(held, self.codes, strict=True):
            by_code[codes[i]] += sign * self.run.gpus[i]

    def is_over_quota(self, i: int, held: list[list[int]]) -> bool:
        return any(
            by_code[codes[i]] + self.run.gpus[i] > quotas[codes[i]]
            for by_code, codes, quotas in zip(held, self.codes, self.quotas, strict=True)
        )

    def offer(
        self, i: int, free: list[int], now: float, begin: float, iterations: float, until: float
    ) -> tuple[Offer, float]:
        """A job's offer and its alpha, infinite if the job does not fit.

        The job holds its GPUs for some iterations after it begins, and until a time.
        """
        run, horizon = self.run, now
        rule = run.records.options.offer or "most"
        if rule == "adaptive":
            rule = "most" if run.heavy[i] else "least"
        while True:
            pairs = zip(free, self.until, strict=True)
            left = [gpus if window >= horizon else 0 for gpus, window in pairs]
            if sum(left) < run.gpus[i]:
                return {}, INF
            self.offers += 1
            offer = expected_offer(left, rule, run.gpus[i])
            alpha = run.alpha(i, offer)
            if alpha == INF:
                return {}, INF
            end = max(begin + iterations * alpha, until)
            is_exact = end == until or run.is_recorded(i, alpha)
            ahead = {window for window in self.until if horizon <= window < INF}
            if not [w for w in ahead if exceeds(end, w, slack(end - now, end), is_exact)]:
                return offer, alpha
            horizon = end


def expected_offer(free: list[int], rule: str, gpus: int) -> Offer:
    """GPUs by server that a rule other than adaptive offers a job."""
    order = [m for m in range(len(free)) if free[m] > 0]
    if rule in ("most", "best-fit-last"):
        order.sort(key=lambda m: -free[m])
    elif rule == "least":
        order.sort(key=lambda m: free[m])
    offer: Offer = {}
    for server in order:
        remaining = gpus - sum(offer.values())
        if remaining == 0:
            break
        if rule == "best-fit-last" and free[server] >= remaining:
            enough = (m for m in order if m not in offer and free[m] >= remaining)
            server = min(enough, key=lambda m: free[m])
        offer[server] = min(remaining, free[server])
    return offer


def exceeds(value: float, limit: float, tolerance: float, is_exact: bool) -> bool:
    """Whether a value is above a limit; UndecidedError if they are equal but for rounding."""
    if not is_exact and abs(value - limit) <= tolerance:
        raise UndecidedError
    return value > limit


def deviating(expected: dict[int, Offer], recorded: dict[int, Offer], rank: Ints) -> list[int]:
    """Jobs that start out of turn; else those that do not start; else those on other servers."""
    moved = {i for i in expected if i in recorded and expected[i] != recorded[i]}
    jobs = recorded.keys() - expected.keys() or expected.keys() - recorded.keys() or moved
    return sorted(jobs, key=rank.__getitem__)
