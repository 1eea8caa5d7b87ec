"""The contention bound: links and GPUs have prices, and no schedule can pay for all jobs in time.

At any time a server holds jobs that sit inside it and pieces of jobs that span; with n pieces, each
of their jobs runs at a level q >= n (sjf-bco (6)). Let U_n(y) >= 0 be the price of y GPUs for a
slot as a piece on a server of at most n pieces, V(g) >= 0 that of a job of g GPUs inside one. With
mu_s the most that what server s can hold at once pays, the cluster takes in at most sum_s mu_s a
slot. A job at level q pays at least M_q, the cheapest way of putting G_j together from pieces at
min_{n <= q} U_n(y); so for all its iterations at least D_j, the least of M_q F_j / phi_j(q), on the
fewest servers, and V(G_j) d_j, inside one. It may pay sigma_j >= 0 for each slot as well, of which
there are at most T. For every schedule, then,

    T (sum_s mu_s + sum_j sigma_j) >= sum_j D_j.

Guarantee: holds for any prices; they are rounded to integers, so that the checker verifies the
bound with no solver. The best ones are the duals of a linear programme over the states of a server,
by column generation, which stops where contention does not bind. Levels from `LEVELS` on count as
one, at the speed of the first and with no limit on pieces. Complexity: O(c^2 + G c) a round for
the largest server c and job G, and a programme of O(n) rows. Beyond the paper;
models/makespan/README.md, section "Bounds".
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from optsched.deadline import Deadline
from optsched.makespan.bounds.certificate import (
    GRAINS,
    MOST_PRICE,
    MOST_SLOTS,
    PARTS,
    ContentionCertificate,
)
from optsched.makespan.bounds.durations import Durations
from optsched.makespan.bounds.server_states import Inside, State, best_states, in_pieces
from optsched.makespan.contention import Floats
from optsched.makespan.instance import iterations_per_slot

LEVELS = 4
MOST_CAPACITY, MOST_WIDTH = 64, 512
"""GPUs of a server and of a job beyond which no prices are looked for."""
SECONDS_A_JOB = 1e-4
"""About what stating the programme takes: with less time left it is not begun."""
ROUNDING = 1 - 3e-12
"""Off a bound under continuous progress: what checkers take off, and their sums' own rounding."""


@dataclass(frozen=True)
class Prices:
    """U (levels x GPUs + 1), V (GPUs + 1) and sigma (jobs); see `server_states`."""

    pieces: Any
    inside: Any
    running: Any

    def map(self, change: Any) -> Prices:
        """Other prices."""
        return Prices(change(self.pieces), change(self.inside), change(self.running))


def contention_bound(
    durations: Durations, low: float, *, deadline: Deadline | None = None
) -> ContentionCertificate | None:
    """The best certificate found that proves more than `low`, a bound known; None without one."""
    clock = deadline or Deadline()
    cluster = Cluster(durations)
    if not cluster.applies or not clock.has(SECONDS_A_JOB * len(cluster.gpus)):
        return None
    from optsched.makespan.bounds.contention_prices import best_prices

    prices = best_prices(cluster, low, clock)
    return None if prices is None else cluster.certificate(prices, low)


class Cluster:
    """An instance as the prices see it.

    Attributes
    ----------
    levels : int
        Levels told apart; 0 where no job can span.
    limited : bool
        Whether there are no more; otherwise the last has no limit on pieces.
    """

    def __init__(self, durations: Durations) -> None:
        instance = durations.instance
        self.durations, self.gpus, self.slotted = durations, durations.gpus, instance.slotted
        self.servers = Counter(instance.servers)
        self.capacity = max(instance.servers)
        self.sizes = Counter(self.gpus.tolist())
        spanners = int((self.gpus > 1).sum())
        most = min(spanners, self.capacity) if len(instance.servers) > 1 else 0
        self.levels, self.limited = min(most, LEVELS), most <= LEVELS

    @property
    def applies(self) -> bool:
        """Whether jobs can span, and sizes are small enough."""
        wide = int(self.gpus.max())
        return self.levels > 0 and self.capacity <= MOST_CAPACITY and wide <= MOST_WIDTH

    @cached_property
    def speeds(self) -> Floats:
        """Jobs x levels: phi over the fewest servers."""
        instance, fewest = self.durations.instance, self.durations.fewest.tolist()

        def speed(j: int, level: int) -> float:
            job = instance.jobs[j]
            if job.gpus == 1:
                return 0.0
            return iterations_per_slot(instance, job, max(2, fewest[j]), level)

        levels = range(1, self.levels + 1)
        return np.array([[speed(j, q) for q in levels] for j in range(len(self.gpus))])

    @cached_property
    def slots(self) -> Floats:
        """Jobs x levels, and inside one server: slots it takes there, infinity where it cannot."""
        iterations = np.array([job.iterations for job in self.durations.instance.jobs])
        with np.errstate(divide="ignore"):
            spanning = iterations[:, None] / self.speeds
        inside = np.where(self.gpus <= self.capacity, self.durations.inside, np.inf)
        return np.column_stack((spanning, inside))

    def states(self, prices: Prices) -> dict[int, list[State]]:
        """The dearest states of a server of each capacity, by how many pieces are allowed."""
        inside = Inside(prices.inside, self.sizes)
        by_pieces = []
        for n in range(1, self.levels + 1):
            most = n if n < self.levels or self.limited else self.capacity
            by_pieces.append(best_states(prices.pieces[n - 1], most, n, inside, self.servers))
        return dict(zip(self.servers, map(list, zip(*by_pieces, strict=True)), strict=True))

    def taken(self, prices: Prices, states: dict[int, list[State]] | None = None) -> Any:
        """sum mu + sum sigma."""
        states = states or self.states(prices)
        dearest = {c: max(state.worth for state in each) for c, each in states.items()}
        return sum(self.servers[c] * dearest[c] for c in dearest) + prices.running.sum()

    def a_slot(self, prices: Prices) -> Any:
        """Jobs x levels, and inside one server: what a slot costs."""
        _, several = in_pieces(prices.pieces, int(self.gpus.max()))
        inside = prices.inside[np.minimum(self.gpus, self.capacity)]
        return np.column_stack((several[:, self.gpus].T, inside)) + prices.running[:, None]

    def paid(self, prices: Prices) -> Floats:
        """D_j."""
        a_slot = self.a_slot(prices)
        possible = np.isfinite(self.slots)
        return np.where(possible, a_slot * np.where(possible, self.slots, 1), np.inf).min(axis=1)

    def certificate(self, prices: Prices, low: float) -> ContentionCertificate | None:
        """What the prices prove, rounded to integers; None if it is no more than `low`."""
        top = max(prices.pieces.max(), prices.inside.max(), prices.running.max())
        whole = prices.map(lambda values: np.floor(values * (MOST_PRICE / top)).astype(np.int64))
        deadline = self._proved(whole)
        certificate = ContentionCertificate(
            deadline,
            tuple(tuple(row[1:]) for row in whole.pieces.tolist()),
            tuple(whole.inside[1:].tolist()),
            {j: price for j, price in enumerate(whole.running.tolist()) if price},
        )
        return certificate if certificate.bound(self.slotted) > low else None

    def _proved(self, whole: Prices) -> float:
        """The longest deadline that the prices prove too short."""
        taken, a_slot = int(self.taken(whole)), self.a_slot(whole)
        if not self.slotted:
            return math.fsum(self.paid(whole).tolist()) / taken * ROUNDING
        jobs = zip(
            self.durations.instance.jobs, a_slot.tolist(), self.speeds.tolist(),
            self.slots[:, -1].tolist(), strict=True,
        )  # fmt: skip
        paid = 0
        for job, (*across, inside), speeds, slots in jobs:
            runs = [
                (price, int(speed)) for price, speed in zip(across, speeds, strict=True) if speed
            ]
            found = [_whole_slots(job.iterations, runs)] if runs else []
            if slots < math.inf:
                found.append(inside * int(slots) * PARTS)
            paid += min(found)
        return float((paid - 1) // (taken * PARTS))


def _whole_slots(iterations: int, runs: list[tuple[int, int]]) -> int:
    """The least that whole slots at these prices and speeds cost, in parts of a price.

    With t_q slots at speed phi_q, sum ceil(phi_q / g) t_q >= ceil(F / g) for any grain g.
    """
    grains = {1}
    if iterations <= MOST_SLOTS * runs[0][1]:
        grains |= {-(-speed // m) for _, speed in runs for m in range(1, GRAINS + 1)}
    return max(
        min(price * (-(-iterations // g) * PARTS // -(-speed // g)) for price, speed in runs)
        for g in grains
    )
