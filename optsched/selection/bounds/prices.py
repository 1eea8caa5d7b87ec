"""Prices of jobs and slots, the bound they prove, and the reduced costs of leader columns.

The bound holds for any prices (models/selection/README.md, "Certificate"): LB = sum_j lam'_j +
sum_v N_v kappa_v, plus theta min(|J|, |N|) when so many nodes must open.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optsched.selection.cost import NodeClass, Tables
from optsched.selection.models.arcs import Ints, Skeleton
from optsched.selection.solution import Certificate

Floats = NDArray[np.float64]

MAX_ENTRIES = 4_000_000
"""Numbers of one table of lines by points."""


@dataclass(frozen=True, eq=False)
class Prices:
    """lam by job, mu by type and configuration (0 beyond a type's own), theta; dollars."""

    jobs: Floats
    slots: Floats
    opening: float

    def certificate(self, tables: Tables, bound: float) -> Certificate:
        """The prices as they are stored beside a solution."""
        slots = {
            kind.name: tuple(float(p) for p in self.slots[t, : len(kind.configurations)])
            for t, kind in enumerate(tables.kinds)
        }
        jobs = tuple(float(p) for p in self.jobs)
        return Certificate(jobs=jobs, slots=slots, opening=float(self.opening), bound=bound)


class SlotValues:
    """What slots' prices make of the GPUs beside a leader: packings R and fills h, by type.

    Attributes
    ----------
    slots : array (T, C)
        The prices, not falling in the dedicated size.
    credits : list of array (C, K + 1)
        By type R(u - |L|) + h(L) at [L, u]; minus infinity where a node with u GPUs used has no L.
    """

    def __init__(self, skeleton: Skeleton, slots: Floats) -> None:
        self.slots = slots.copy()
        self.credits: list[Floats] = []
        for t, kind in enumerate(skeleton.tables.kinds):
            self.slots[t, : kind.gpus] = np.maximum.accumulate(self.slots[t, : kind.gpus])
            fills = self._fill_values(skeleton, t)
            packing = self._packing_values(self.slots[t, : kind.gpus], fills[-1])
            credits = np.full((len(kind.configurations), kind.gpus + 1), -np.inf)
            for c, each in enumerate(kind.configurations):
                rest = packing[: kind.gpus + 1 - each.gpus]
                credits[c, each.gpus :] = rest + (fills[c] if each.shares else 0.0)
            self.credits.append(credits)

    def _fill_values(self, skeleton: Skeleton, t: int) -> dict[int, float]:
        """By leading fraction's configuration the dearest rest of its GPU; -1: a whole GPU."""
        leaders, rooms = skeleton.fill_rooms[t]
        values = rooms @ self.slots[t]
        each = (-1, *skeleton.tables.kinds[t].fractions)
        return {c: float(values[leaders == c].max(initial=0.0)) for c in each}

    @staticmethod
    def _packing_values(sizes: Floats, shared: float) -> Floats:
        """R(r): the dearest packing of r GPUs, by dynamic programming."""
        items = sizes.copy()
        items[0] = max(items[0], shared)
        best = np.zeros(len(items) + 1)
        for r in range(1, len(items) + 1):
            best[r] = (best[r - 1 :: -1][:r] + items[:r]).max()
        return best


class PricedOut:
    """Everything that follows from prices: lam', the slots' values, and the bound."""

    def __init__(self, skeleton: Skeleton, prices: Prices) -> None:
        self.skeleton, self.prices = skeleton, prices
        self.values = SlotValues(skeleton, prices.slots)
        tables = skeleton.tables
        follower = (tables.late + self.values.slots).reshape(tables.jobs, -1).min(axis=1)
        self.jobs = np.minimum(np.minimum(prices.jobs, tables.postponed), follower)

    def reduced_costs(self, v: int) -> Floats:
        """rc of class v's leaders, jobs x `Skeleton.uses`."""
        c, used = np.array(self.skeleton.uses(v)).T
        credits = self.values.credits[self.skeleton.classes[v].kind][c, used]
        return self.skeleton.leader_costs(v) - self.jobs[:, None] - credits - self.prices.opening

    def least(self, classes: tuple[NodeClass, ...]) -> Floats:
        """The least rc of each of the classes given: the true ones, whatever the skeleton's.

        A leader's rc is a line in the node's rate, so only jobs whose line is low at some rate
        are looked at.
        """
        tables, found = self.skeleton.tables, np.empty(len(classes))
        for t, credits in enumerate(self.values.credits):
            here = [v for v, each in enumerate(classes) if each.kind == t]
            rates = np.full((len(here), credits.shape[1]), np.nan)
            for row, v in zip(rates, here, strict=True):
                row[1 : classes[v].gpus + 1] = classes[v].cost_rate
            least = np.full(len(here), np.inf)
            for c, credit in enumerate(credits):
                offered = np.isfinite(rates) & np.isfinite(credit)
                fixed = tables.late[:, t, c] - self.jobs
                runs = np.isfinite(fixed)
                if offered.any() and runs.any():
                    lines = tables.expected[runs, t, c], fixed[runs]
                    cost = np.full(rates.shape, np.inf)
                    cost[offered] = lowest_at(*lines, rates[offered])
                    least = np.minimum(least, (cost - np.where(offered, credit, 0.0)).min(axis=1))
            found[here] = least
        return found - self.prices.opening

    def bound(self) -> float:
        """LB over the cluster's true classes, dollars."""
        tables = self.skeleton.tables
        sizes = np.array([len(each.nodes) for each in tables.classes])
        kappa = np.minimum(self.least(tables.classes), 0.0)
        return float(self.jobs.sum() + sizes @ kappa + self.prices.opening * tables.most_open)


def low_lines(slopes: Floats, fixed: Floats, points: Floats) -> Ints:
    """Indices of lines slope x + fixed, all that are least at one of the points and few others.

    Left out are those that another line is below at both ends of the points' range.
    """
    at_first, at_last = (slopes * x + fixed for x in (points.min(), points.max()))
    order = np.lexsort((at_last, at_first))
    low = np.minimum.accumulate(at_last[order])
    return order[np.append(True, at_last[order][1:] < low[:-1])]


def lowest_at(slopes: Floats, fixed: Floats, points: Floats) -> Floats:
    """The least of the lines slope x + fixed at each point."""
    kept = low_lines(slopes, fixed, points)
    least = np.full(len(points), np.inf)
    for some in np.array_split(kept, 1 + len(kept) * len(points) // MAX_ENTRIES):
        if len(some):
            values = slopes[some, None] * points + fixed[some, None]
            least = np.minimum(least, values.min(axis=0))
    return least


def least_columns(skeleton: Skeleton, priced: PricedOut, v: int, count: int) -> tuple[Ints, Floats]:
    """Class v's `count` leaders (j, v, L, u) of least reduced cost, and those costs."""
    reduced = priced.reduced_costs(v).ravel()
    count = min(count, int(np.isfinite(reduced).sum()))
    if count == 0:
        return np.empty((0, 4), dtype=np.int64), np.empty(0)
    chosen = np.argpartition(reduced, count - 1)[:count]
    uses = np.array(skeleton.uses(v))
    jobs, pairs = np.divmod(chosen, len(uses))
    leaders = np.column_stack([jobs, np.full(count, v), uses[pairs]])
    return leaders, reduced[chosen]
