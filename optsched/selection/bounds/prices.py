"""Prices of jobs and slots, the bound they prove, and the reduced costs of leader columns.

The bound holds for any prices (models/selection/README.md, "Certificate"): LB = sum_j lam'_j +
sum_v N_v kappa_v, plus theta min(|J|, |N|) when so many nodes must open.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optsched.selection.cost import NodeClass, Tables
from optsched.selection.exact.arc_arrays import Ints, Skeleton
from optsched.selection.solution import Certificate

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Prices:
    """lam by job, mu by type and configuration (0 beyond a type's own), theta; dollars."""

    jobs: Floats
    slots: Floats
    opening: float

    def mixed(self, other: Prices, share: float) -> Prices:
        """The convex combination with other prices."""
        return Prices(
            share * self.jobs + (1 - share) * other.jobs,
            share * self.slots + (1 - share) * other.slots,
            share * self.opening + (1 - share) * other.opening,
        )

    def certificate(self, tables: Tables, bound: float) -> Certificate:
        """The prices as they are stored beside a solution."""
        slots = {
            kind.name: tuple(float(p) for p in self.slots[t, : len(kind.configurations)])
            for t, kind in enumerate(tables.kinds)
        }
        jobs = tuple(float(p) for p in self.jobs)
        return Certificate(jobs=jobs, slots=slots, opening=float(self.opening), bound=bound)


def prices_of(skeleton: Skeleton, duals: Floats) -> Prices:
    """Prices from the duals of a linear programme over leader columns."""
    start, tables, unit = skeleton.first_rows, skeleton.tables, skeleton.unit
    slots = -duals[start["slot"] : start["led"]].reshape(len(tables.kinds), skeleton.widest)
    opening = float(duals[start["opening"]]) if tables.options.opens_exactly else 0.0
    return Prices(duals[: tables.jobs] * unit, np.maximum(slots, 0.0) * unit, opening * unit)


class PricedOut:
    """Everything that follows from prices: lam', packings R, fills h, and the bound."""

    def __init__(self, skeleton: Skeleton, prices: Prices) -> None:
        self.skeleton, self.prices = skeleton, prices
        tables = skeleton.tables
        self.slots = prices.slots.copy()
        for t, kind in enumerate(tables.kinds):
            self.slots[t, : kind.gpus] = np.maximum.accumulate(self.slots[t, : kind.gpus])
        follower = (tables.late + self.slots).reshape(tables.jobs, -1).min(axis=1)
        self.jobs = np.minimum(np.minimum(prices.jobs, tables.postponed), follower)
        self.beside = [self._fill_values(t) for t in range(len(tables.kinds))]
        self.packing = [self._packing_values(t) for t in range(len(tables.kinds))]

    def reduced_costs(self, v: int) -> Floats:
        """rc of class v's leaders, jobs x `Skeleton.uses`."""
        return self.skeleton.leader_costs(v) - self.jobs[:, None] - self._credits(v)

    def least(self, classes: tuple[NodeClass, ...]) -> Floats:
        """The least rc of each of the classes given: the true ones, whatever the skeleton's."""
        skeleton = Skeleton(self.skeleton.tables, classes, [], [], [])
        found = np.empty(len(classes))
        for v in range(len(classes)):
            costs = skeleton.leader_costs(v) - self.jobs[:, None]
            found[v] = (costs.min(axis=0) - self._credits_of(skeleton, v)).min()
        return found

    def bound(self) -> float:
        """LB over the cluster's true classes, dollars."""
        tables = self.skeleton.tables
        sizes = np.array([len(each.nodes) for each in tables.classes])
        kappa = np.minimum(self.least(tables.classes), 0.0)
        return float(self.jobs.sum() + sizes @ kappa + self.prices.opening * tables.most_open)

    def _credits(self, v: int) -> Floats:
        return self._credits_of(self.skeleton, v)

    def _credits_of(self, skeleton: Skeleton, v: int) -> Floats:
        """What the GPUs beside a leader are worth, by (L, u), and the price of opening."""
        t = skeleton.classes[v].kind
        kind = skeleton.tables.kinds[t]
        return (
            np.array(
                [
                    self.packing[t][used - kind.configurations[c].gpus] + self.beside[t].get(c, 0.0)
                    for c, used in skeleton.uses(v)
                ]
            )
            + self.prices.opening
        )

    def _fill_values(self, t: int) -> dict[int, float]:
        """By leading fraction's configuration the dearest rest of its GPU; -1: a whole GPU."""
        best = {-1: 0.0, **dict.fromkeys(self.skeleton.tables.kinds[t].fractions, 0.0)}
        for kind, fill, leader in self.skeleton.fills:
            if kind == t:
                rooms = self.skeleton.rooms(t, fill, leader)
                value = sum(n * float(self.slots[t, c]) for c, n in rooms)
                best[leader] = max(best[leader], value)
        return best

    def _packing_values(self, t: int) -> Floats:
        """R_t(r): the dearest packing of r GPUs, by dynamic programming."""
        kind = self.skeleton.tables.kinds[t]
        items = self.slots[t, : kind.gpus].copy()
        items[0] = max(items[0], self.beside[t][-1])
        best = np.zeros(kind.gpus + 1)
        for r in range(1, kind.gpus + 1):
            best[r] = (best[r - 1 :: -1][:r] + items[:r]).max()
        return best


def least_columns(skeleton: Skeleton, priced: PricedOut, v: int, count: int) -> tuple[Ints, Floats]:
    """Class v's `count` leaders (j, v, L, u) of least reduced cost, and those costs.

    Parameters
    ----------
    skeleton : Skeleton
        The instance, by classes of equal nodes.
    priced : PricedOut
        Costs of jobs and slots at the prices.
    v : int
        The class.
    count : int
        How many.

    Returns
    -------
    (count, 3) int, (count,) float
        Leaders, and dollars.
    """
    reduced = priced.reduced_costs(v).ravel()
    count = min(count, int(np.isfinite(reduced).sum()))
    if count == 0:
        return np.empty((0, 4), dtype=np.int64), np.empty(0)
    chosen = np.argpartition(reduced, count - 1)[:count]
    uses = np.array(skeleton.uses(v))
    jobs, pairs = np.divmod(chosen, len(uses))
    leaders = np.column_stack([jobs, np.full(count, v), uses[pairs]])
    return leaders, reduced[chosen]
