"""Policies ``price`` and ``price-patterns``: GPU time has a price, jobs take what it is worth.

Beyond the paper; guarantee: none, but `bounds` certifies each run. At each event, at each planned
change of speed and every `wake` seconds: every job gets a soft due-date multiplier M from its
conditional survival, a value nu per epoch follows, prices lam_t clear the demand for each type, and
jobs are seated where they gain most, then given more GPUs while that pays. ``price-patterns``
replaces the seating by a MILP that maximises the sum of nu s - c k. The mathematics, step by step,
is models/rolling; the constants are `PriceConstants`. Complexity of a decision, for S pieces of a
job's survival: O(J S) a probe for M, of which few are needed, O(J T K) a bisection of a price, and
O(J N) for the seats.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optsched.deadline import Deadline
from optsched.result import Settings
from optsched.rolling.options import PriceConstants
from optsched.rolling.policies._price_kernel import (
    Types,
    Ways,
    Worths,
    clear_prices,
    gains,
    value_jobs,
)
from optsched.rolling.policies.same_gpus import same_gpus
from optsched.rolling.policies.seating import Seating, sizes_of
from optsched.rolling.policies.seating_model import seat_by_patterns
from optsched.rolling.simulator.engine import Plan
from optsched.rolling.simulator.world import View, World
from optsched.selection.cost import Tables

Floats = NDArray[np.float64]
NOW_RATHER_THAN_LATER = 1e-6
"""Added to a job's value where it runs: with ample time (M = 0) its cheapest GPUs gain exactly 0,
and it should take them while they are idle."""
LEAST_WORTH = 1e-200
"""Dollars: an epoch that costs nothing to make and nothing to put off is made all the same."""


@dataclass(frozen=True, eq=False)
class Values:
    """By job: nu, dollars per epoch; nu s - c k of each way to run; epochs until the planned change
    of speed; by type: lam."""

    epoch: Floats
    gain: Floats
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
        deadline=settings.deadline,
    )


class Price:
    """The price policy. Remembers mean prices by type, and where the search for each M ended."""

    def __init__(
        self,
        world: World,
        name: str = "price",
        *,
        constants: PriceConstants | None = None,
        by_patterns: bool = False,
        deadline: Deadline | None = None,
    ) -> None:
        self.world, self.name = world, name
        self.constants = constants or PriceConstants()
        self.wake = self.constants.wake
        self.by_patterns, self.deadline = by_patterns, deadline or Deadline()
        self.rates, gpus = _type_rates(world)
        self.mean_prices = np.zeros(len(self.rates))
        self.multiplier = np.zeros(len(world.instance.jobs))
        speeds = _speeds(world.all)
        flat = speeds.reshape(len(speeds), -1)
        inverse = np.where(flat > 0, 1 / np.where(flat > 0, flat, 1.0), np.inf)
        self.ways = Ways(flat, inverse, np.argsort(-inverse, axis=1, kind="stable"))
        self.types = Types(sizes_of(world.all), self.rates, gpus)
        self.fastest, self.alone = flat.max(axis=1), (speeds[:, :, 0] * gpus).sum(axis=1)
        self.seating = Seating(world.all)

    def decide(self, view: View) -> Plan:
        """Value, price, seat."""
        tables = self.world.all
        values = self._values(view)
        self.mean_prices = (
            self.constants.memory * self.mean_prices + (1 - self.constants.memory) * values.prices
        )
        worth = NOW_RATHER_THAN_LATER * np.maximum(values.epoch, LEAST_WORTH)
        speeds = self.ways.speed[view.index].reshape(values.gain.shape)
        gain = values.gain + worth[:, None, None] * speeds
        if self.by_patterns:
            placed = seat_by_patterns(view.tables, gain, self.deadline.left)
        else:
            urgency = values.epoch * self.fastest[view.index]
            placed = self.seating.by_gain(gain, values.prices, urgency)
        seconds = tables.seconds[
            view.index[placed.job], tables.kind_of[placed.node], placed.configuration
        ]
        waits = values.change[placed.job] * seconds
        ends = waits < np.inf
        changes = dict(zip(placed.job[ends].tolist(), waits[ends].tolist(), strict=True))
        return Plan(same_gpus(tables, placed, view.running), changes)

    def _values(self, view: View) -> Values:
        k, jobs, weights = self.constants, len(view.jobs), self.world.weights[view.index]
        planned = self.rates + k.price_share * self.mean_prices
        mean, most = view.means, view.works.most
        backlog_each = mean / self.alone[view.index]
        longest = (most / self.fastest[view.index]).mean()
        backlog = backlog_each.sum()
        congestion = min(k.most_congestion, backlog / longest)
        due = self.world.due_dates[view.index] - view.time
        found = Worths(self.multiplier[view.index], *np.empty((3, jobs)))
        cost = (planned[:, None] * self.types.sizes).ravel()
        value_jobs(view.index, self.ways, cost, view.works.curves, due, weights, found)
        self.multiplier[view.index] = found.multiplier
        premium = 1 + k.congestion_weight * max(0.0, congestion - k.congestion_start)
        waiting = np.maximum(backlog / mean - 1 / found.wish, 0.0)
        epoch = premium * found.dollars + weights * found.multiplier * waiting
        prices, gain = np.zeros(len(self.rates)), np.empty((jobs, *self.types.sizes.shape))
        gains(view.index, self.ways, self.types, epoch, gain)
        clear_prices(gain, self.types, k.rounds, k.bisections, prices)
        return Values(epoch, gain, found.change, prices)


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
