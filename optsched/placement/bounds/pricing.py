"""The most valuable patterns within theta, and the stages whose counts they must state.

A stage is *free* at theta if it takes at most theta even alone, whatever its count on a server:
its replicas fill what others leave, and any free stage's do. So a pattern states the counts of the
stages that are not free, and of the free ones only what those need beside them; the rest of a
server is filled. That leaves few patterns and few rows, even with many stages. It requires replicas
of one size and no room for more of them than the job has; else no stage counts as free.

Complexity: O(S g^3) a pricing, by a dynamic programme along the chain of stages.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from optsched.kernels import kernel
from optsched.placement.bounds.certificate import PatternCertificate
from optsched.placement.cost import CostTables, Floats, Ints
from optsched.placement.stage_time import stage_time

ROUNDING = 4e-12
"""Patterns longer than theta by so much (relative) count as within it: rounding proves nothing."""
PRICE_SCALE = 10**7
"""The largest price of a certificate."""
MOST_ENUMERATED = 32
"""GPUs of a server, up to which patterns are enumerated by their worth."""
SPARE = 1e-9
"""Relative rounding of sums of prices: no pattern is left out for it."""


@dataclass(frozen=True)
class Demand:
    """Replicas left to place, by stage (S,), and servers left, by class (C,).

    `filled` counts replicas of free stages that fill servers already given a pattern.
    """

    replicas: Ints
    limits: Ints
    filled: int = 0


class Pricing:
    """Patterns within theta that take no more replicas than are demanded.

    `free` (S,) are the stages that take at most theta anywhere; `fills` says whether replicas are
    of one size and fill the servers, without which no stage is free.
    """

    def __init__(
        self, tables: CostTables, sizes: Ints, theta: float, demand: Demand, full: bool
    ) -> None:
        """Work out which counts keep a stage within theta."""
        self.theta, self.demand, self.sizes = theta, demand, sizes
        self._gpus, self._full = tables.gpus, full
        size = int(sizes.max())
        self._steps = len(tables.gpus) * (size + 1.0) ** 3
        # Divisors here and below: measured on the 15 shipped placements, so that 400,000 steps
        # take Python at most 0.4 s; undivided, 0.4 s of Python had 4 kernels compiled in 9 s.
        run = _fewest_before.for_size(self._steps / 40)
        self._fewest = run(tables.costs, size, theta * (1 + ROUNDING))
        self.free: NDArray[np.bool_] = np.zeros(len(tables.gpus), dtype=bool)
        room = int(demand.limits @ self.slots)
        self.fills = (tables.gpus == tables.gpus[0]).all() and room == demand.replicas.sum()
        if self.fills:
            most = np.minimum(tables.replicas, sizes.max() // tables.gpus)
            alone = [self._fewest[s, 1 : most[s] + 1, 0] == 0 for s in range(len(most))]
            self.free = np.array([bool(each.all()) for each in alone])
        self.every_size_has_one = self._has_every_size()

    def left(self, demand: Demand) -> Pricing:
        """The same of another demand."""
        other = copy(self)
        other.demand = demand
        other.every_size_has_one = other._has_every_size()
        return other

    def window(self, first: int, last: int) -> Pricing:
        """The same where only the stages from first to last, below it, have to be in time.

        All others count as free, so that patterns are few; what cannot be placed so cannot be
        placed. Only where all of a job's replicas fill the servers.
        """
        other = copy(self)
        other.free = self.free.copy()
        other.free[:first] = other.free[last:] = True
        other._fewest = np.where(other.free[:, None, None], 0, self._fewest)
        return other

    def unstripped(self) -> Pricing:
        """Variant in which free stages beside a stage that is not free keep all their counts."""
        other = copy(self)
        other.free = self.free & ~self._beside
        return other

    @property
    def slots(self) -> Ints:
        """Replicas that a server holds, by class, where all are of one size."""
        return np.asarray(self.sizes // self._gpus[0])

    @property
    def filling(self) -> int:
        """Replicas of free stages that are to be placed."""
        return int(self.demand.replicas[self.free].sum()) - self.demand.filled

    def after(self, kinds: Ints, patterns: Ints) -> Demand:
        """What is left once servers of so many classes have patterns, shape (P, S)."""
        demand = self.demand
        replicas = demand.replicas - patterns.sum(axis=0)
        limits = demand.limits - np.bincount(kinds, minlength=len(demand.limits))
        filled = int(self.slots[kinds].sum() - patterns.sum()) if self.free.any() else 0
        return Demand(replicas, limits, demand.filled + filled)

    def stripped(self, patterns: Ints) -> Ints:
        """Patterns, shape (P, S), without replicas of free stages that no other stage needs."""
        if not self.free.any() or not len(patterns):
            return patterns
        return np.asarray(
            _without_fillers.for_size(0.2 * patterns.size)(self._fewest, self.free, patterns)
        )

    def worth(self, prices: Floats) -> tuple[Floats, Ints]:
        """By class the worth of its best pattern, and the pattern."""
        stages = self.demand.replicas, self._gpus
        prices = np.asarray(prices, dtype=float)
        run = _best_patterns.for_size(self._steps / 6)
        worth, patterns = run(self._fewest, stages, self.sizes, prices, self._full)
        return worth, patterns

    def valuable(self, prices: Floats, kind: int, least: float, most: int) -> Ints | None:
        """All patterns of a class worth at least so much, (P, S); None for more than `most`."""
        size = int(self.sizes[kind])
        if size > MOST_ENUMERATED:
            return None
        replicas, full = self.demand.replicas, self._full
        if self.free.any():  # priced against the best that could fill the place
            filler = self._filler(prices)
            prices = prices - filler
            least -= filler * float(self.slots[kind])
            replicas, full = np.where(self.free & ~self._beside, 0, replicas), False
        stages = replicas, self._gpus
        run = _worth_to_go.for_size(self._steps * (size + 1))
        to_go = run(self._fewest, stages, size, prices, full)
        list_patterns = _patterns_worth.for_size(self._steps)
        found = list_patterns(to_go, (self._fewest, self.free), stages, prices, least, most)
        return None if len(found) > most else found.astype(np.int64)

    def needed(self, prices: Floats, most: int, part: float = 1.0) -> tuple[Ints, Ints] | None:
        """All patterns that a placement within theta may use; None for more than `most`.

        Together a placement's patterns are worth sum k pi exactly. No pattern is worth more than
        its class's z, so none may be worth less than z - (sum N z - sum k pi).
        """
        worth, _ = self.worth(prices)
        spare = -part * self._surplus(prices, worth)
        total = float(np.abs(prices) @ self.demand.replicas)
        rounding = SPARE * abs(spare) + 4 * len(prices) * float(np.spacing(total))
        classes: list[Ints] = []
        found: list[Ints] = []
        for kind in np.flatnonzero(self.demand.limits > 0).tolist():
            best = float(worth[kind])
            least = best - spare - SPARE * abs(best) - rounding
            each = self.valuable(prices, kind, least, most)
            if each is None:
                return None
            most -= len(each)
            classes.append(np.full(len(each), kind))
            found.append(each)
        return np.concatenate(classes), np.concatenate(found)

    def best(self, prices: Floats) -> tuple[float, Ints]:
        """sum k pi - sum N z, above 0 where the prices certify; and the best patterns."""
        worth, patterns = self.worth(prices)
        return self._surplus(prices, worth), patterns

    def certificate(self, prices: Floats) -> PatternCertificate | None:
        """The prices as integers, if they certify that every placement exceeds theta."""
        if self.free.any():  # what a server holds is worth the more by as much, whatever it is
            prices = prices - min(float(prices.min()), 0.0)
        top = float(prices.max())
        if top <= 0:
            return None
        whole = np.floor(np.maximum(prices, 0.0) * (PRICE_SCALE / top))
        surplus, _ = self.best(whole)
        if surplus <= 0:
            return None
        return PatternCertificate(self.theta, tuple(int(price) for price in whole))

    @property
    def _beside(self) -> NDArray[np.bool_]:
        """Stages next to one that is not free."""
        needy = ~self.free
        beside = np.zeros_like(needy)
        beside[1:] |= needy[:-1]
        beside[:-1] |= needy[1:]
        return beside

    def _filler(self, prices: Floats) -> float:
        return float(prices[self.free].max()) if self.free.any() else 0.0

    def _surplus(self, prices: Floats, worth: Floats) -> float:
        there, demand = self.demand.limits > 0, self.demand
        whole = float(demand.replicas @ prices) - self._filler(prices) * demand.filled
        return whole - float(demand.limits[there] @ worth[there])

    def _has_every_size(self) -> bool:
        worth, _ = self.worth(np.zeros(len(self._gpus)))
        return bool(np.isfinite(worth[self.demand.limits > 0]).all())


@kernel
def _fewest_before(costs: Any, size: int, limit: float) -> Any:
    """Fewest replicas of the previous stage that keep a stage within a limit of seconds."""
    replicas, gpus = costs.replicas, costs.gpus
    stages = len(replicas)
    most = min(size, replicas.max())
    fewest = np.full((stages, most + 1, most + 1), most + 1, dtype=np.int32)
    for s in range(stages):
        q_before = gpus[s - 1] if s > 0 else 1
        q_after = gpus[s + 1] if s + 1 < stages else 1
        most_before = min(size // q_before, replicas[s - 1]) if s > 0 else 0
        most_after = min(size // q_after, replicas[s + 1]) if s + 1 < stages else 0
        for w in range(most_after + 1):
            fewest[s, 0, w] = 0
        for v in range(1, min(size // gpus[s], replicas[s]) + 1):
            u, room = 0, size - gpus[s] * v
            for w in range(min(most_after, room // q_after), -1, -1):
                while u <= most_before and stage_time(costs, s, v, u, w) > limit:
                    u += 1
                if u > most_before:
                    break
                if q_before * u + q_after * w <= room:
                    fewest[s, v, w] = u
    return fewest


@kernel
def _best_patterns(fewest: Any, of_stages: Any, sizes: Any, prices: Any, full: bool) -> Any:
    """For each size the most valuable pattern of exactly so many GPUs, or at most so many."""
    replicas, gpus = of_stages
    stages, most, size = len(replicas), fewest.shape[1] - 1, sizes.max()
    # worth[u, v, used]: of the best counts so far that end in u and v, every earlier stage in time
    worth = np.full((most + 1, most + 1, size + 1), -np.inf)
    chosen = np.zeros((stages, most + 1, most + 1, size + 1), dtype=np.int16)
    for v in range(min(replicas[0], size // gpus[0]) + 1):
        worth[0, v, gpus[0] * v] = prices[0] * v
    reach = np.empty(most + 2)
    before = np.empty(most + 2, dtype=np.int16)
    for s in range(stages - 1):
        following = np.full((most + 1, most + 1, size + 1), -np.inf)
        q_after = gpus[s + 1]
        most_after = min(replicas[s + 1], size // q_after)
        for v in range(min(replicas[s], size // gpus[s]) + 1):
            for used in range(gpus[s] * v, size + 1):
                _best_from(worth, v, used, most, reach, before)
                if reach[0] == -np.inf:
                    continue
                for w in range(min(most_after, (size - used) // q_after) + 1):
                    u, then = int(fewest[s, v, w]), used + q_after * w
                    if u <= most and reach[u] > -np.inf:
                        following[v, w, then] = reach[u] + prices[s + 1] * w
                        chosen[s + 1, v, w, then] = before[u]
        worth = following
    best = np.full(len(sizes), -np.inf)
    patterns = np.zeros((len(sizes), stages), dtype=np.int64)
    for c in range(len(sizes)):
        used, last, previous = 0, -1, 0
        for filled in range(sizes[c] if full else 0, sizes[c] + 1):
            for v in range(most + 1):
                for u in range(fewest[stages - 1, v, 0], most + 1):
                    if worth[u, v, filled] > best[c]:
                        best[c], used = worth[u, v, filled], filled
                        last, previous = v, u
        if last >= 0:
            for s in range(stages - 1, -1, -1):
                patterns[c, s] = last
                if s > 0:
                    earlier = int(chosen[s, previous, last, used])
                    used -= gpus[s] * last
                    last, previous = previous, earlier
    return best, patterns


@register_jitable
def _best_from(worth: Any, v: int, used: int, most: int, reach: Any, before: Any) -> None:
    """reach[u] = max of worth[u', v, used] over u' >= u, and before[u] the u' it is at."""
    reach[most + 1] = -np.inf
    before[most + 1] = 0
    for u in range(most, -1, -1):
        reach[u], before[u] = reach[u + 1], before[u + 1]
        if worth[u, v, used] > reach[u]:
            reach[u], before[u] = worth[u, v, used], u


@kernel
def _worth_to_go(fewest: Any, of_stages: Any, size: int, prices: Any, full: bool) -> Any:
    """Most that the stages after s can add, by s, x_{s-1}, x_s and the GPUs left: O(S g^4)."""
    replicas, gpus = of_stages
    stages, most = len(replicas), fewest.shape[1] - 1
    value = np.full((stages, most + 1, most + 1, size + 1), -np.inf)
    for v in range(most + 1):
        for u in range(fewest[stages - 1, v, 0], most + 1):
            value[stages - 1, u, v, 0] = 0.0
            if not full:
                for left in range(1, size + 1):
                    value[stages - 1, u, v, left] = 0.0
    for s in range(stages - 2, -1, -1):
        q_after = gpus[s + 1]
        most_after = min(replicas[s + 1], size // q_after)
        for v in range(min(replicas[s], size // gpus[s]) + 1):
            for left in range(size - gpus[s] * v + 1):
                for w in range(min(most_after, left // q_after) + 1):
                    more = value[s + 1, v, w, left - q_after * w] + prices[s + 1] * w
                    for u in range(fewest[s, v, w], most + 1):
                        if more > value[s, u, v, left]:
                            value[s, u, v, left] = more
    return value


@kernel
def _patterns_worth(
    to_go: Any, of_theta: Any, of_stages: Any, prices: Any, least: float, most: int
) -> Any:
    """Enumerate the patterns of `size` GPUs worth at least so much; at most `most` + 1 of them.

    Their `size` is that of the last axis of `to_go`, less 1. A free stage has no more replicas
    than its neighbours need.
    """
    replicas, gpus = of_stages
    fewest, free = of_theta
    stages, size = len(replicas), to_go.shape[3] - 1
    found = np.empty((most + 1, stages), dtype=np.int16)
    count = 0
    x = np.full(stages, -1, dtype=np.int64)
    used = np.zeros(stages + 1, dtype=np.int64)
    worth = np.zeros(stages + 1)
    s = 0
    while s >= 0:
        x[s] += 1
        v = x[s]
        taken = used[s] + gpus[s] * v
        if v > replicas[s] or taken > size:
            x[s] = -1
            s -= 1
            continue
        u = x[s - 1] if s > 0 else 0
        if s > 0 and fewest[s - 1, u, v] > (x[s - 2] if s > 1 else 0):
            continue
        here = worth[s] + prices[s] * v
        if here + to_go[s, u, v, size - taken] < least:
            continue
        if s > 1 and free[s - 2] and x[s - 2] > _least_needed(fewest, x, s - 2):
            continue
        if s == stages - 1:
            if free[s] and x[s] > _least_needed(fewest, x, s):
                continue
            if s > 0 and free[s - 1] and x[s - 1] > _least_needed(fewest, x, s - 1):
                continue
            for i in range(stages):
                found[count, i] = x[i]
            count += 1
            if count > most:
                break
            continue
        used[s + 1], worth[s + 1] = taken, here
        s += 1
    return found[:count]


@kernel
def _without_fillers(fewest: Any, free: Any, patterns: Any) -> Any:
    """Patterns, shape (P, S), whose free stages have no more replicas than others need."""
    stripped = patterns.copy()
    for p in range(len(stripped)):
        for s in range(len(free)):
            if free[s] and stripped[p, s] > 0:
                stripped[p, s] = _least_needed(fewest, stripped[p], s)
    return stripped


@register_jitable
def _least_needed(fewest: Any, x: Any, s: int) -> int:
    """Fewest replicas of a stage, up to x_s, that its neighbours need, all others as they are."""
    stages, least = len(x), 0
    if s + 1 < stages and x[s + 1] > 0:
        least = int(fewest[s + 1, x[s + 1], x[s + 2] if s + 2 < stages else 0])
    if s > 0 and x[s - 1] > 0:
        before = x[s - 2] if s > 1 else 0
        while least < x[s] and fewest[s - 1, x[s - 1], least] > before:
            least += 1
    return least
