"""Policies ``price`` and ``price-patterns``: GPU time has a price, jobs take what it is worth.

Beyond the paper; guarantee: none, but `bounds` certifies each run. At each event, at each planned
change of speed and every `wake` seconds: every job gets a soft due-date multiplier M from its
conditional survival, a value nu per epoch follows, prices lam_t clear the demand for each type, and
jobs are seated where they gain most, then given more GPUs while that pays. ``price-patterns``
replaces the seating by a MILP that maximises the sum of nu s - c k. The mathematics, step by step,
is models/rolling; the constants are `PriceConstants`. Complexity of a decision:
O(J (T K + S log S) x bisections + J N).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optsched.result import Settings
from optsched.rolling.options import PriceConstants
from optsched.rolling.policies._price_kernel import Types, clear_prices, due_date_multipliers
from optsched.rolling.policies.same_gpus import keep_same_gpus
from optsched.rolling.policies.seating import seat_by_gain
from optsched.rolling.policies.seating_model import seat_by_patterns
from optsched.rolling.simulator.engine import Plan
from optsched.rolling.simulator.world import View, World
from optsched.selection.cost import Tables
from optsched.speed_profile.exact._hull_kernel import Speeds

Floats = NDArray[np.float64]


NOW_RATHER_THAN_LATER = 1e-6
"""Added to a job's value where it runs: with ample time (M = 0) its cheapest GPUs gain exactly 0,
and it should take them while they are idle."""
LEAST_WORTH = 1e-200
"""Dollars: an epoch that costs nothing to make and nothing to put off is made all the same."""


@dataclass(frozen=True, eq=False)
class Values:
    """By job: nu, dollars per epoch; M; epochs until the planned change of speed; by type: lam."""

    epoch: Floats
    multiplier: Floats
    change: Floats
    prices: Floats


def price(name: str, world: World, settings: Settings) -> Price:
    """``price`` and ``price-patterns``, with the options' constants."""
    by_patterns = name == "price-patterns"
    return Price(
        world,
        name,
        constants=world.options.constants,
        by_patterns=by_patterns,
        time_limit=settings.time_limit,
    )


class Price:
    """The price policy. Remembers mean prices by type."""

    def __init__(
        self,
        world: World,
        name: str = "price",
        *,
        constants: PriceConstants | None = None,
        by_patterns: bool = False,
        time_limit: float | None = None,
    ) -> None:
        self.world, self.name = world, name
        self.constants = constants or PriceConstants()
        self.wake = self.constants.wake
        self.by_patterns, self.time_limit = by_patterns, time_limit
        self.rates, self.gpus = _type_rates(world)
        self.mean_prices = np.zeros(len(self.rates))

    def decide(self, view: View) -> Plan:
        """Value, price, seat."""
        tables = view.tables
        speeds, sizes = _speeds(tables), _sizes(tables)
        values = self._values(view, speeds, sizes)
        self.mean_prices = (
            self.constants.memory * self.mean_prices + (1 - self.constants.memory) * values.prices
        )
        gain = values.epoch[:, None, None] * speeds - (self.rates[:, None] * sizes)[None]
        worth = np.maximum(values.epoch, LEAST_WORTH)
        gain += NOW_RATHER_THAN_LATER * worth[:, None, None] * speeds
        gain = np.where(speeds > 0, gain, -np.inf)
        if self.by_patterns:
            seats = seat_by_patterns(tables, gain, self.time_limit)
        else:
            priced = gain - (values.prices[:, None] * sizes)[None]
            urgency = values.epoch * speeds.reshape(tables.jobs, -1).max(axis=1)
            seats = seat_by_gain(tables, gain, priced, urgency)
        seats = keep_same_gpus(tables, seats, view.running)
        changes = {
            j: float(values.change[j] * tables.seconds[j, tables.kind_of[s.node], s.configuration])
            for j, s in seats.items()
            if values.change[j] < np.inf
        }
        return Plan(seats, changes)

    def _values(self, view: View, speeds: Floats, sizes: Floats) -> Values:
        tables, k = view.tables, self.constants
        planned = self.rates + k.price_share * self.mean_prices
        cost = (planned[:, None] * sizes)[None]
        per_epoch = np.where(speeds > 0, cost / np.where(speeds > 0, speeds, 1.0), np.inf)
        weights = tables.weights
        mean, most = view.means, view.works.most
        flat = speeds.reshape(tables.jobs, -1)
        alone = np.where(speeds[:, :, 0] > 0, speeds[:, :, 0], 0.0)
        backlog_each = mean / (alone * self.gpus).sum(axis=1)
        longest = (most / flat.max(axis=1)).mean()
        congestion = min(k.most_congestion, backlog_each.sum() / longest)
        multiplier, change = np.empty(tables.jobs), np.empty(tables.jobs)
        inverse = np.where(flat > 0, 1 / np.where(flat > 0, flat, 1.0), np.inf)
        pooled = Speeds(inverse, per_epoch.reshape(tables.jobs, -1))
        due_date_multipliers(view.works.curves, pooled, tables.due, weights, multiplier, change)
        worth = weights * multiplier
        delay = worth[:, None] / np.where(flat > 0, flat, 1.0)
        total = np.where(flat > 0, per_epoch.reshape(tables.jobs, -1) + delay, np.inf)
        best = total.argmin(axis=1)
        fastest_wish = flat[np.arange(tables.jobs), best]
        premium = 1 + k.congestion_weight * max(0.0, congestion - k.congestion_start)
        backlog = backlog_each.sum()
        waiting = np.maximum(backlog / mean - 1 / fastest_wish, 0.0)
        epoch = premium * total[np.arange(tables.jobs), best] + worth * waiting
        prices = np.zeros(len(self.rates))
        types = Types(sizes, self.rates, self.gpus)
        clear_prices(epoch, speeds, types, k.rounds, k.bisections, prices)
        return Values(epoch, multiplier, change, prices)


def _type_rates(world: World) -> tuple[Floats, Floats]:
    """c_t, dollars per GPU second at the type's cheapest full node, and GPUs by type."""
    rate, gpus = np.full(len(world.all.kinds), np.inf), np.zeros(len(world.all.kinds))
    for n, node in enumerate(world.instance.nodes):
        t = int(world.all.kind_of[n])
        rate[t] = min(rate[t], node.cost_rate[-1] / node.gpus)
        gpus[t] += node.gpus
    return rate, gpus


def _speeds(tables: Tables) -> Floats:
    """Epochs per second by job, type and configuration; 0 where the job cannot run."""
    usable = np.isfinite(tables.seconds)
    speeds: Floats = np.where(usable, 1 / np.where(usable, tables.seconds, 1.0), 0.0)
    return speeds


def _sizes(tables: Tables) -> Floats:
    """GPUs, or part of one, by type and configuration."""
    sizes = np.zeros(tables.seconds.shape[1:])
    for t, kind in enumerate(tables.kinds):
        for c, each in enumerate(kind.configurations):
            sizes[t, c] = each.gpus * float(each.fraction)
    return sizes
