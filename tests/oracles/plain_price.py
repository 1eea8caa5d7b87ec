"""The price policy plainly, as it stood before it was compiled.

Every multiplier by forty halvings, every job asked at every price, seats one after another on
`PlainCluster`. The policy of `optsched.rolling` compares equal, seat by seat.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from optsched.rolling.policies.fewest_migrations import placed_of, with_fewest_migrations
from optsched.rolling.policies.price import MIN_EPOCH_VALUE, RUN_BONUS
from optsched.rolling.simulator.engine import Plan
from optsched.rolling.simulator.world import View, World
from optsched.selection.assignment import Placement
from optsched.selection.cost import Tables
from optsched.speed_profile.exact._hull_kernel import Speeds, lower_hull
from oracles.plain_cluster import PlainCluster

HALVINGS = 40


class PlainPrice:
    """The policy."""

    def __init__(self, world: World) -> None:
        self.name, self.constants = "plain", world.options.constants
        self.wake = self.constants.wake
        kinds = world.tables.kinds
        self.sizes = np.zeros(world.tables.seconds.shape[1:])
        self.rates, self.gpus = np.full(len(kinds), np.inf), np.zeros(len(kinds))
        for t, kind in enumerate(kinds):
            for c, each in enumerate(kind.configurations):
                self.sizes[t, c] = each.gpus * float(each.fraction)
        for node, t in zip(world.instance.nodes, world.tables.kind_of, strict=True):
            self.rates[t] = min(self.rates[t], node.cost_rate[-1] / node.gpus)
            self.gpus[t] += node.gpus
        self.mean_prices = np.zeros(len(kinds))

    def decide(self, view: View) -> Plan:
        """Value, price, seat."""
        k, tables, sizes = self.constants, view.tables, self.sizes
        can = np.isfinite(tables.seconds)
        speeds = np.where(can, 1 / np.where(can, tables.seconds, 1.0), 0.0)
        epoch, change = self._worth(view, speeds)
        gain = epoch[:, None, None] * speeds - (self.rates[:, None] * sizes)[None]
        prices = self._prices(np.where(can, gain, -np.inf))
        self.mean_prices = k.memory * self.mean_prices + (1 - k.memory) * prices
        worth = np.maximum(epoch, MIN_EPOCH_VALUE)
        gain += RUN_BONUS * worth[:, None, None] * speeds
        gain = np.where(can, gain, -np.inf)
        urgency = epoch * speeds.reshape(tables.jobs, -1).max(axis=1)
        seats = seated(tables, gain, gain - (prices[:, None] * sizes)[None], urgency)
        seats = with_fewest_migrations(tables, placed_of(seats), view.running)
        changes = {
            j: float(change[j] * tables.seconds[j, tables.kind_of[s.node], s.configuration])
            for j, s in seats.items()
            if change[j] < np.inf
        }
        return Plan(seats, changes)

    def _worth(self, view: View, speeds: Any) -> tuple[Any, Any]:
        """nu of each job, and epochs until its planned change of speed."""
        tables, k = view.tables, self.constants
        planned = self.rates + k.price_share * self.mean_prices
        flat = speeds.reshape(tables.jobs, -1)
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = np.where(flat > 0, 1 / flat, np.inf)
            cost = (planned[:, None] * self.sizes).ravel() / flat
        energy = np.where(flat > 0, cost, np.inf)
        found = [
            multiplier(curve, Speeds(inverse[j], energy[j]), tables.weights[j], tables.due[j])
            for j, curve in enumerate(curves_of(view))
        ]
        worth = tables.weights * np.array([each for each, _ in found])
        backlog = view.means / (speeds[:, :, 0] * self.gpus).sum(axis=1)
        congestion = min(
            k.most_congestion, backlog.sum() / (view.works.max_epochs / flat.max(axis=1)).mean()
        )
        total = np.where(flat > 0, energy + worth[:, None] / np.where(flat > 0, flat, 1.0), np.inf)
        rows, best = np.arange(tables.jobs), total.argmin(axis=1)
        premium = 1 + k.congestion_weight * max(0.0, congestion - k.congestion_start)
        waiting = np.maximum(backlog.sum() / view.means - 1 / flat[rows, best], 0.0)
        epoch = premium * total[rows, best] + worth * waiting
        return epoch, np.array([each for _, each in found])

    def _prices(self, gain: Any) -> Any:
        """Those at which each job's best configuration fits, type after type."""
        prices, kinds = np.zeros(len(self.gpus)), range(len(self.gpus))
        for _ in range(self.constants.rounds):
            for t in kinds:
                priced = gain - (prices[:, None] * self.sizes)[None]
                others = np.delete(priced, t, axis=1).reshape(len(gain), -1)
                elsewhere = np.maximum(others.max(axis=1, initial=0.0), 0.0)
                sized = self.sizes[t] > 0
                low, high = 0.0, max((gain[:, t, sized] / self.sizes[t, sized]).max(), 0.0)
                if self._demand(gain[:, t], t, 0.0, elsewhere) <= self.gpus[t]:
                    high = 0.0
                for _ in range(self.constants.bisections if high else 0):
                    middle = 0.5 * (low + high)
                    if self._demand(gain[:, t], t, middle, elsewhere) <= self.gpus[t]:
                        high = middle
                    else:
                        low = middle
                prices[t] = high
        return prices

    def _demand(self, gain: Any, t: int, price: float, elsewhere: Any) -> float:
        value = gain - (price * self.sizes[t])[None]
        wants = np.where(value.max(axis=1) > elsewhere, self.sizes[t][value.argmax(axis=1)], 0.0)
        return float(sum(wants.tolist()))


def curves_of(view: View) -> list[tuple[list[float], list[float]]]:
    """Knots and F^c of each job present."""
    knots, high, _, start = view.works.curves
    return [
        (knots[a + j : b + j + 1].tolist(), high[a:b].tolist())
        for j, (a, b) in enumerate(pairwise(start))
    ]


def multiplier(
    curve: tuple[list[float], list[float]], speeds: Speeds, weight: float, due: float
) -> tuple[float, float]:
    """M, and epochs until the planned change of speed.

    Parameters
    ----------
    curve : pair of lists
        Knots and F^c, by epochs.
    speeds : Speeds
        Of all types.
    weight : float
        Dollars per second late.
    due : float
        Seconds.
    """
    if due <= 0 or weight <= 0:
        return (1.0 if due <= 0 else 0.0), np.inf
    knots, high = curve
    vertices = np.empty(len(speeds.inverse), np.int64)
    hull = vertices[: lower_hull(speeds, vertices)]
    inverse, energy = speeds.inverse[hull].tolist(), speeds.energy[hull].tolist()
    slopes = [
        (energy[e + 1] - energy[e]) / (inverse[e] - inverse[e + 1]) for e in range(len(hull) - 1)
    ]

    def meets(m: float) -> bool:
        total, at = 0.0, 0
        for i, survival in enumerate(high):
            if survival <= m or total > due:
                break
            while at < len(slopes) and slopes[at] * survival <= weight * m:
                at += 1
            total += (knots[i + 1] - knots[i]) * inverse[at]
        return total <= due

    found = 0.0 if meets(0.0) else _halved(meets)

    def speed(survival: float) -> int:
        dear = (e for e, s in enumerate(slopes) if s * max(survival, found) > weight * found)
        return next(dear, len(slopes))

    for i, survival in enumerate(high):
        if survival <= found:
            break
        if speed(survival) != speed(high[0]):
            return found, knots[i] - knots[0]
    return found, np.inf


def _halved(meets: Callable[[float], bool]) -> float:
    low, top = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + top)
        low, top = (low, middle) if meets(middle) else (middle, top)
    return top


def seated(tables: Tables, gain: Any, priced: Any, urgency: Any) -> dict[int, Placement]:
    """Seats by job: the best of each if it fits, else what fits, then GPUs of the node that pay.

    Parameters
    ----------
    tables : Tables
    gain, priced : (J, T, C) float
        Dollars per second, without and with the price of the GPUs.
    urgency : (J,) float
        Turn of those whose wish does not fit.
    """
    state, seats = PlainCluster(tables), {}
    width = tables.seconds.shape[2]
    flat, own = priced.reshape(tables.jobs, -1), gain.reshape(tables.jobs, -1)
    value = flat.max(axis=1)
    for j in np.argsort(-value, kind="stable").tolist():
        seat = state.allocate(*divmod(int(flat[j].argmax()), width)) if value[j] > 0 else None
        seats |= {} if seat is None else {j: seat}
    for j in np.argsort(-urgency, kind="stable").tolist():
        for wish in np.argsort(-own[j], kind="stable").tolist() if j not in seats else ():
            seat = state.allocate(*divmod(wish, width)) if own[j, wish] > 0 else None
            if seat is not None:
                seats[j] = seat
                break
    for n, node in enumerate(state.nodes):
        kind = tables.kinds[node.kind].configurations
        while node.free:
            steps = [
                (gain[j, node.kind, s.configuration + 1] - gain[j, node.kind, s.configuration], -j)
                for j, s in seats.items()
                if s.node == n and not kind[s.configuration].shares and len(s.gpus) < node.gpus
            ]
            step, j = max(steps, default=(0.0, 0))
            if step <= 0:
                break
            seats[-j] = Placement(n, (*seats[-j].gpus, node.free.pop(0)), len(seats[-j].gpus))
    return seats
