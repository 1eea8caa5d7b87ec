"""The most valuable patterns within theta, and which stages have to be told in them.

A stage is *free* at theta where it takes at most theta even alone, whatever its count on a server:
its replicas fill what others leave, and anyone's do as well as another's. So a pattern tells the
stages that are not free, and of the free ones only what those need beside them; the rest of a
server is filled. That leaves few patterns, and few rows, of many stages. It needs replicas of one
size and no room for more of them than the job has; else no stage is taken as free.

Complexity: O(S g^3) a pricing, by a chain programme over the stages.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optsched.placement.bounds.certificate import PatternCertificate
from optsched.placement.cost import CostTables, Floats, Ints

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
    """Replicas to place, by stage, and servers to place them on, by class.

    Attributes
    ----------
    replicas, limits : (S,) int, (C,) int
        What is left of both.
    filled : int
        Replicas of free stages that fill servers already given a pattern, whichever they are.
    """

    replicas: Ints
    limits: Ints
    filled: int = 0


class Pricing:
    """Patterns within theta that take no more replicas than are demanded.

    Attributes
    ----------
    free : (S,) bool
        Stages that take at most theta anywhere.
    fills : bool
        Whether replicas are of one size and fill the servers: else no stage is free.
    """

    def __init__(
        self, tables: CostTables, sizes: Ints, theta: float, demand: Demand, full: bool
    ) -> None:
        """Ask which counts theta allows."""
        from optsched.placement.bounds._pattern_kernel import fewest_before

        self.theta, self.demand, self.sizes = theta, demand, sizes
        self._gpus, self._full = tables.gpus, full
        self._fewest = fewest_before(tables.costs, int(sizes.max()), theta * (1 + ROUNDING))
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
        """The same where free stages next to one that is not are told, with all their counts."""
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

    def told(self, patterns: Ints) -> Ints:
        """Patterns, shape (P, S), less what fills them and nobody needs."""
        from optsched.placement.bounds._pattern_kernel import without_fillers

        if not self.free.any() or not len(patterns):
            return patterns
        return np.asarray(without_fillers(self._fewest, self.free, patterns))

    def worth(self, prices: Floats) -> tuple[Floats, Ints]:
        """By class the worth of its best pattern, and the pattern."""
        from optsched.placement.bounds._pattern_kernel import best_patterns

        stages = self.demand.replicas, self._gpus
        prices = np.asarray(prices, dtype=float)
        worth, patterns = best_patterns(self._fewest, stages, self.sizes, prices, self._full)
        return worth, patterns

    def valuable(self, prices: Floats, kind: int, least: float, most: int) -> Ints | None:
        """All patterns of a class worth at least so much, (P, S); None for more than `most`."""
        from optsched.placement.bounds._pattern_kernel import patterns_worth, worth_to_go

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
        to_go = worth_to_go(self._fewest, stages, size, prices, full)
        found = patterns_worth(to_go, (self._fewest, self.free), stages, prices, least, most)
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
