"""The state of a cluster at an instant of a run, and the offers that it makes.

Segments of the records give the free GPUs of each server and the GPUs held by users and groups.
Jobs are indices of records. An offer and its alpha are recomputed in plain Python.
Source: models/online/README.md, "Offers" and "Limits".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from optsched.arrays import Bools, Ints
from optsched.checking import slack
from optsched.online.audit_rules.limits import priorities
from optsched.online.audit_rules.placement import (
    IterationTimes,
    expected_offer,
    free_gpus,
    rule_of,
)
from optsched.online.records import Records

if TYPE_CHECKING:
    from optsched.online.data.jobs import Jobs

INF = float("inf")

Offer = dict[int, int]
"""GPUs by server."""


class UndecidedError(Exception):
    """Two sides of a comparison are equal but for rounding, or a delay is unknown."""


class ClusterState:
    """Free GPUs, GPUs held by users and groups, and the next window of each server."""

    def __init__(
        self, jobs: Jobs, records: Records, rows: Ints, heavy: Bools, times: IterationTimes
    ) -> None:
        labels = jobs.workload.user, jobs.workload.group
        limits = jobs.cluster.quotas.users, jobs.cluster.quotas.groups
        self.priority = priorities(jobs, rows)
        self.records, self.segments, self.heavy, self.times = (
            records,
            records.segments,
            heavy,
            times,
        )
        self.configuration, self.gpus = jobs.configuration[rows].tolist(), records.gpus.tolist()
        self.estimate: list[float] = records.estimate.tolist()
        self.codes = [label.codes[rows].astype(np.int64) for label in labels]
        self.quotas = [
            [quota.get(name, INF) for name in label.values]
            for label, quota in zip(labels, limits, strict=True)
        ]
        windows = [
            (server, window.start - jobs.first_submission, window.end - jobs.first_submission)
            for window in jobs.cluster.maintenance
            for server in window.indices(records.servers)
        ]
        self.windows = np.array(windows, dtype=float).reshape(-1, 3).T  # server, start, end
        self.first_segment = np.searchsorted(self.segments.job, np.arange(len(rows) + 1)).tolist()
        self.segment_of = np.repeat(np.arange(len(self.segments)), np.diff(self.segments.first))
        self.recorded: dict[int, dict[tuple[int, ...], float]] = {}  # alpha by the offer's GPUs
        self.free: list[int] = records.server_gpus.tolist()
        self.held = self.none_held()
        self.until = [INF] * records.servers  # next window of each server, -inf inside one
        self.work = 0  # offers and passes so far

    def none_held(self) -> list[list[int]]:
        return [[0] * len(quotas) for quotas in self.quotas]

    def go_to(self, held: Bools) -> None:
        """Set the GPUs held to those of some segments."""
        segments, allocated = self.segments, held[self.segment_of]
        server, taken = segments.server[allocated], segments.taken[allocated]
        self.free = free_gpus(self.records, server, taken)
        jobs = segments.job[held]
        self.held = [
            np.bincount(codes[jobs], self.records.gpus[jobs], len(quotas)).astype(int).tolist()
            for codes, quotas in zip(self.codes, self.quotas, strict=True)
        ]

    def see_windows(self, now: float) -> None:
        """Set the next window of each server."""
        server, start, _ = self.windows[:, self.windows[2] > now]
        until = np.full(len(self.free), INF)
        np.minimum.at(until, server.astype(int), np.where(start > now, start, -INF))
        self.until = until.tolist()

    def open_gpus(self, free: list[int]) -> int:
        """Free GPUs of servers in no window."""
        return sum(gpus for gpus, until in zip(free, self.until, strict=True) if until > -INF)

    def usable_gpus(self, free: Ints, time: float, length: float) -> int:
        """Free GPUs of servers without a window in the seconds after a time."""
        server, start, end = self.windows
        closed = server[(start < time + length) & (end > time)].astype(int)
        return int(free.sum() - free[np.unique(closed)].sum())

    def hold(self, i: int, offer: Offer, sign: int = 1) -> None:
        """Take the GPUs of an offer; release them if `sign` is -1."""
        self.add_held(self.held, i, sign)
        for server, taken in offer.items():
            self.free[server] -= sign * taken

    def add_held(self, held: list[list[int]], i: int, sign: int = 1) -> None:
        for by_code, codes in zip(held, self.codes, strict=True):
            by_code[codes[i]] += sign * self.gpus[i]

    def is_over_quota(self, i: int, held: list[list[int]]) -> bool:
        return any(
            by_code[codes[i]] + self.gpus[i] > quotas[codes[i]]
            for by_code, codes, quotas in zip(held, self.codes, self.quotas, strict=True)
        )

    def offer(
        self, i: int, now: float, planned_end: Callable[[float], float], free: list[int]
    ) -> tuple[Offer, float]:
        """A job's offer and its alpha, infinite if the job does not fit.

        `planned_end` is the end by alpha.
        """
        horizon, rule = now, rule_of(self.records.options.offer or "most", bool(self.heavy[i]))
        while True:
            pairs = zip(free, self.until, strict=True)
            left = [gpus if until >= horizon else 0 for gpus, until in pairs]
            if sum(left) < self.gpus[i]:
                return {}, INF
            self.work += 1
            offer = expected_offer(left, rule, self.gpus[i])
            alpha = self.alpha(i, offer)
            if alpha == INF:
                return {}, INF
            end = planned_end(alpha)
            is_exact = self.is_recorded(i, alpha) or end == planned_end(0.0)
            ahead = {until for until in self.until if horizon <= until < INF}
            tolerance = slack(end - now, end)
            if not [until for until in ahead if exceeds(end, until, tolerance, is_exact)]:
                return offer, alpha
            horizon = end

    def alpha(self, i: int, offer: Offer) -> float:
        """Alpha of an offer, as recorded if a record has it."""
        counts = tuple(sorted(offer.values()))
        if len(counts) == 1:
            return self.estimate[i]
        if i not in self.recorded:
            segments = (self.segments[k] for k in range(*self.first_segment[i : i + 2]))
            self.recorded[i] = {
                tuple(sorted(taken for _, taken in segment.servers)): segment.alpha
                for segment in segments
            }
        known = self.recorded[i].get(counts)
        return self.times.of(self.configuration[i], counts) if known is None else known

    def is_recorded(self, i: int, alpha: float) -> bool:
        return alpha == self.estimate[i] or alpha in self.recorded.get(i, {}).values()


def exceeds(value: float, limit: float, tolerance: float, is_exact: bool = False) -> bool:
    if not is_exact and abs(value - limit) <= tolerance:
        raise UndecidedError
    return value > limit
