"""Online scheduling under limits by a naive loop, written from models/online/README.md alone.

Maintenance windows, quotas, priorities and fair share, as the section on limits has them. The
virtual machine, Heavy-Edge, iteration times and the rules of offers are those of `oracles.online`.
Every pass goes through the whole queue, and every offer looks at every window.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from oracles.online import ORDERS, Simulation

POLICIES = (*ORDERS, "fair-share")


class LimitedSimulation(Simulation):
    """One policy on one workload, on a cluster with or without limits."""

    def __init__(self, workload: Sequence[Mapping[str, Any]], *world: Any, **settings: Any) -> None:
        super().__init__(workload, *world, **settings)
        ordered = sorted(workload, key=lambda row: row["submit_time"])
        columns = (("users", "user"), ("groups", "group"))
        self.names = {kind: [row.get(name) or "" for row in ordered] for kind, name in columns}
        self.quotas = self.cluster.get("quotas", {})
        self.priorities = self.cluster.get("priorities", {})
        self.windows: list[list[tuple[float, float]]] = [[] for _ in self.free]
        origin = ordered[0]["submit_time"]
        for window in self.cluster.get("maintenance", ()):
            for server in self._servers(window.get("servers")):
                self.windows[server].append((window["start"] - origin, window["end"] - origin))
        self.head: int | None = None
        self.usage = dict.fromkeys(self.names["users"], 0.0)

    def _servers(self, named: Any) -> Sequence[int]:
        if isinstance(named, Mapping):
            return range(named["first"], named["last"] + 1)
        return range(len(self.free)) if named is None else list(named)

    # Events

    def _pass_time(self, now: float) -> None:
        for user in self.usage:
            if held := self._held("users", user):
                self.usage[user] += held * (now - self.now)

    def _events(self, arrivals: Sequence[int]) -> Iterator[float]:
        yield from (self.rows[at].end for at in self.running)
        if arrivals:
            yield self.rows[arrivals[0]].submit
        if self.machine:
            yield self._next_completion()[0]
        if self.head in self.delayed and self.delayed[self.head][1] > self.now:
            yield self.delayed[self.head][1]
        yield from self._window_ends(max(self.now, 0.0))

    def _window_ends(self, now: float) -> list[float]:
        return [end for windows in self.windows for _, end in windows if end > now]

    # Quotas and priorities

    def _held(self, kind: str, name: str, holding: Sequence[int] | None = None) -> int:
        """GPUs of the running jobs, or of the given ones, of a user or a group."""
        jobs = self.running if holding is None else holding
        return sum(self.rows[at].gpus for at in jobs if self.names[kind][at] == name)

    def _over_quota(self, at: int, holding: Sequence[int] | None = None) -> bool:
        for kind, names in self.names.items():
            quota = self.quotas.get(kind, {}).get(names[at], math.inf)
            room = quota - self.rows[at].gpus
            if room < math.inf and self._held(kind, names[at], holding) > room:
                return True
        return False

    def _priority(self, at: int) -> int:
        for kind, names in self.names.items():
            if names[at] in self.priorities.get(kind, {}):
                return int(self.priorities[kind][names[at]])
        return 0

    def _enqueue(self, at: int) -> None:
        """Join the queue by the policy's key or last; a stable sort puts the priority before it."""
        if self.policy == "fair-share":
            self.queue.append(at)
        else:
            super()._enqueue(at)
        self.queue.sort(key=lambda i: -self._priority(i))

    # Offers

    def _fitting_offer(self, at: int, now: float) -> dict[int, int] | None:
        """The offer of a job: its GPUs by server; None if the job does not fit."""
        row, free = self.rows[at], self.free
        if sum(free) < row.gpus:
            return None
        open_servers = self._open_servers(now)
        while sum(free[m] for m in open_servers) >= row.gpus:
            self.free = [gpus if m in open_servers else 0 for m, gpus in enumerate(free)]
            offer = self._offer(at)
            self.free = free
            alpha = self._alpha(row, offer)
            if alpha == math.inf:
                return None
            end = self._planned_end(at, now, alpha)
            starts = {m: [start for start, _ in self.windows[m]] for m in open_servers}
            closing = {m for m in open_servers if any(now < start < end for start in starts[m])}
            if not closing:
                return offer
            open_servers -= closing
        return None

    def _open_servers(self, now: float) -> set[int]:
        return {
            m
            for m, windows in enumerate(self.windows)
            if not any(start <= now < end for start, end in windows)
        }

    def _planned_end(self, at: int, now: float, alpha: float) -> float:
        """The moment until which an offer must be free of windows."""
        row = self.rows[at]
        return now + max(row.walltime or 0.0, row.iterations * alpha)

    def _good_enough(self, at: int, offer: Mapping[int, int]) -> bool:
        row = self.rows[at]
        return self._good(row, self._alpha(row, offer)) or not self.running

    # One pass

    def _pass(self, now: float) -> None:
        self.head = None
        if self.policy == "fair-share":
            self._pass_of_users(now)
            return
        for at in list(self.queue):
            if self._over_quota(at):
                continue
            offer = self._fitting_offer(at, now)
            if offer is not None and self._accepted(at, offer, now):
                self._start(at, now, offer)
            elif not self.policy.startswith(("wcs", "spwf-consolidated")):
                self.head = at
                self._pass_behind(at, now)
                return

    def _accepted(self, at: int, offer: Mapping[int, int], now: float) -> bool:
        """Whether the policy takes an offer that fits; a heavy job may open its delay window."""
        row = self.rows[at]
        if self.policy == "spwf-consolidated":
            return self._good_enough(at, offer)
        if not self.virtual or not self._heavy(row):
            return True
        alpha, good = self._alpha(row, offer), self._good_enough(at, offer)
        if at not in self.delayed:
            if not good:
                window = math.inf if self.hold == "inf" else self.tau * row.work
                self.delayed[at] = alpha, now + window
        elif self.hold == "none":
            good = alpha < self.delayed[at][0] * (1 - 1e-9) or not self.running
        return good or now >= self.delayed[at][1]

    def _pass_behind(self, head: int, now: float) -> None:
        later = self.queue[self.queue.index(head) + 1 :]
        if self.policy == "easy":
            self._reserve_usable(head, later, now)
        elif self.policy == "a-srpt-backfill" and now < self.delayed.get(head, (0.0, 0.0))[1]:
            for at, offer in self._offers(later, now):
                if not self._heavy(self.rows[at]) or self._good_enough(at, offer):
                    self._start(at, now, offer)

    def _offers(self, later: Sequence[int], now: float) -> Iterator[tuple[int, dict[int, int]]]:
        """Jobs that fit and are not over quota at their turn, with their offers."""
        for at in later:
            if not self._over_quota(at):
                offer = self._fitting_offer(at, now)
                if offer is not None:
                    yield at, offer

    def _reserve_usable(self, head: int, later: Sequence[int], now: float) -> None:
        """EASY: the head's promise counts servers that no window takes from it."""
        row = self.rows[head]
        length = max(row.walltime or 0.0, row.iterations * row.estimate)
        ends = {at: max(now, self._promised(at)) for at in self.running}
        if self._usable_gpus(now, length, {}) >= row.gpus:
            return
        promise = min(
            time
            for time in (*ends.values(), *self._window_ends(now))
            if self._usable_gpus(time, length, ends) >= row.gpus
        )
        over = self._usable_gpus(promise, length, ends) - row.gpus
        for at, offer in self._offers(later, now):
            row = self.rows[at]
            known = row.predicted * self._alpha(row, offer)
            if now + (known if row.walltime is None else row.walltime) <= promise:
                self._start(at, now, offer)
            elif row.gpus <= over:
                over -= row.gpus
                self._start(at, now, offer)

    def _usable_gpus(self, time: float, length: float, ends: Mapping[int, float]) -> int:
        """Free GPUs at a time, of servers without a window in the seconds after it."""
        free = list(self.free)
        for at in (at for at, end in ends.items() if end <= time):
            for server, gpus in self.rows[at].held.items():
                free[server] += gpus
        return sum(
            gpus
            for gpus, windows in zip(free, self.windows, strict=True)
            if not any(start < time + length and end > time for start, end in windows)
        )

    def _pass_of_users(self, now: float) -> None:
        """Fair share: one job of the user with the least usage after another."""
        users, passed_over = self.names["users"], set[str]()

        def key(at: int) -> tuple[float, ...]:
            user = users[at]
            return -self._priority(at), self.usage[user], self._held("users", user), at

        # The queue is sorted by (priority, row): reversed, the first job of a user is set last.
        while firsts := {users[i]: i for i in reversed(self.queue) if users[i] not in passed_over}:
            at = min(firsts.values(), key=key)
            offer = None if self._over_quota(at) else self._fitting_offer(at, now)
            if offer is None:
                passed_over.add(users[at])
            else:
                self._start(at, now, offer)
