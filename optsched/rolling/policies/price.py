"""Policy ``price``: GPU time has a price, and jobs take what it is worth to them.

At each event, each planned change of speed and every `wake` seconds: each job gets a soft due-date
multiplier M from its conditional survival function, a value nu per epoch follows, prices lam_t
clear the demand for each GPU type, and jobs are assigned where they gain most, then given more GPUs
while that pays. models/rolling states each step; the constants are `PriceConstants`.

Guarantee: none, but `optsched.rolling.bounds` certifies each run. Complexity of a decision, with S
pieces of a survival function: O(J S) for the multipliers, O(J T K) for a step of the price search,
O(J N) for the assignment. Beyond the paper.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from optsched.kernels import kernel
from optsched.result import Settings
from optsched.rolling.policies.fewest_migrations import Placed, with_fewest_migrations
from optsched.rolling.simulator.engine import Plan
from optsched.rolling.simulator.world import View, World
from optsched.selection.heuristics.cluster_state import Nodes, nodes_of
from optsched.selection.heuristics.sts import (
    FINAL,
    FIRST_GPU,
    NODE,
    Free,
    Kinds,
    has_room,
    kinds_of,
    take_gpus,
)
from optsched.speed_profile.exact._hull_kernel import Speeds, hull_in_order
from optsched.uncertainty.survival import Curve, Curves

Floats = NDArray[np.float64]
GRID = 2.0**40
"""M is a multiple of 1 / GRID."""
RUN_BONUS = 1e-6
"""Share of nu added where a job runs: with ample time (M = 0) its cheapest GPUs gain exactly 0,
and it should take them while they are idle."""
LEAST_VALUE = 1e-200
"""Dollars an epoch, for the bonus: an epoch that costs nothing is run all the same."""


class GpuTypes(NamedTuple):
    """GPUs of each configuration (T, C), dollars per GPU second at the type's cheapest full node
    (T,), GPUs (T,)."""

    sizes: Floats
    rates: Floats
    gpus: Floats


class Configurations(NamedTuple):
    """Configurations of each job of an instance, pooled over GPU types: (J, T C) each.

    ``speed`` in epochs per second, 0 where the job cannot run; ``inverse`` in seconds per epoch,
    infinite there; ``order`` from the slowest to the fastest.
    """

    speed: Floats
    inverse: Floats
    order: NDArray[np.int64]


class Values(NamedTuple):
    """By job: M, epochs until the planned change of speed, and the least dollars per epoch at M,
    delay included, with the speed that attains them; (J,) each."""

    multiplier: Floats
    change: Floats
    cost: Floats
    speed: Floats


def price(name: str, world: World, settings: Settings) -> Price:
    """Make the policy with the options' constants."""
    return Price(world, name)


class Price:
    """The policy. It remembers mean prices by GPU type."""

    def __init__(self, world: World, name: str = "price") -> None:
        self.world, self.name = world, name
        self.constants = world.options.constants
        self.wake = self.constants.wake
        tables = world.all
        usable = np.isfinite(tables.seconds)
        speeds = np.where(usable, 1 / np.where(usable, tables.seconds, 1.0), 0.0)
        flat = speeds.reshape(len(speeds), -1)
        inverse = np.where(flat > 0, 1 / np.where(flat > 0, flat, 1.0), np.inf)
        order = np.argsort(-inverse, axis=1, kind="stable")
        self.configurations = Configurations(flat, inverse, order)
        rates = np.full(len(world.gpus), np.inf)
        for node, t in zip(world.instance.nodes, tables.kind_of, strict=True):
            rates[t] = min(rates[t], node.cost_rate[-1] / node.gpus)
        self.types = GpuTypes(world.sizes, rates, world.gpus)
        self.mean_prices = np.zeros(len(self.types.rates))
        self.fastest = flat.max(axis=1)
        self.alone = (speeds[:, :, 0] * self.types.gpus).sum(axis=1)
        self.kinds, self.nodes = kinds_of(tables), nodes_of(tables.instance, tables.kind_of)

    def decide(self, view: View) -> Plan:
        """Value the jobs, clear the prices, assign GPUs."""
        tables, k = self.world.all, self.constants
        epoch, change = self._values(view)
        gain = gains(view.index, self.configurations.speed, self.types, epoch)
        clear = clear_prices.for_size(gain.size * k.rounds * k.bisections)
        prices = clear(gain, self.types, k.rounds, k.bisections)
        self.mean_prices = k.memory * self.mean_prices + (1 - k.memory) * prices
        bonus = RUN_BONUS * np.maximum(epoch, LEAST_VALUE)
        gain += bonus[:, None, None] * self.configurations.speed[view.index].reshape(gain.shape)
        placed = self.assign(view, gain, prices, epoch * self.fastest[view.index])
        kinds = tables.kind_of[placed.node]
        after = (
            change[placed.job] * tables.seconds[view.index[placed.job], kinds, placed.configuration]
        )
        ends = after < np.inf
        changes = dict(zip(placed.job[ends].tolist(), after[ends].tolist(), strict=True))
        return Plan(with_fewest_migrations(tables, placed, view.running), changes)

    def assign(self, view: View, gain: Floats, prices: Floats, urgency: Floats) -> Placed:
        """Assign the jobs present greedily."""
        return assign_greedily(gain, prices, urgency, self.types.sizes, self.kinds, self.nodes)

    def _values(self, view: View) -> tuple[Floats, Floats]:
        """nu of each job, dollars per epoch, and its epochs until the planned change of speed."""
        k, index, mean = self.constants, view.index, view.means
        weights, due = self.world.weights[index], self.world.due_dates[index] - view.time
        backlog = (mean / self.alone[index]).sum()
        congestion = min(
            k.most_congestion, backlog / (view.works.max_epochs / self.fastest[index]).mean()
        )
        planned = self.types.rates + k.price_share * self.mean_prices
        cost = (planned[:, None] * self.types.sizes).ravel()
        values = value_jobs(index, self.configurations, cost, view.works.curves, due, weights)
        premium = 1 + k.congestion_weight * max(0.0, congestion - k.congestion_start)
        waiting = np.maximum(backlog / mean - 1 / values.speed, 0.0)
        return premium * values.cost + weights * values.multiplier * waiting, values.change


def assign_greedily(
    gain: Floats, prices: Floats, urgency: Floats, sizes: Floats, kinds: Kinds, nodes: Nodes
) -> Placed:
    """Assign jobs in order of their gain, then in order of urgency, then raise GPU counts.

    Jobs take their best configuration after prices, the largest gain first; the others the best
    that fits of positive gain; then jobs get more GPUs of their node while that gains most.
    """
    priced = (gain - (prices[:, None] * sizes)[None]).reshape(len(gain), -1)
    wish = priced.argmax(axis=1)
    value = priced[np.arange(len(gain)), wish]
    by_value, by_urgency = (np.argsort(-each, kind="stable") for each in (value, urgency))
    seats, order = _assign(gain, wish, value, by_value, by_urgency, kinds, nodes)
    node, first, given = np.ascontiguousarray(seats[[NODE, FIRST_GPU, FINAL]][:, order])
    whole = kinds.gpus[nodes.kind[node]]
    return Placed(order, node, first, np.where(given < whole, given + 1, 1), given)


@kernel
def value_jobs(
    jobs: Any, configurations: Configurations, cost: Any, curves: Curves, due: Any, weights: Any
) -> Values:
    """Step 2: M, the planned change of speed, and the cheapest epoch at M, of each job."""
    count = configurations.speed.shape[1]
    values = Values(
        np.zeros(len(jobs)),
        np.full(len(jobs), np.inf),
        np.full(len(jobs), np.inf),
        np.zeros(len(jobs)),
    )
    vertices, slopes, energy = np.empty(count, np.int64), np.empty(count), np.empty(count)
    for i in range(len(jobs)):
        speed, inverse = configurations.speed[jobs[i]], configurations.inverse[jobs[i]]
        for c in range(count):
            energy[c] = cost[c] / speed[c] if speed[c] > 0 else np.inf
        if due[i] <= 0:
            values.multiplier[i] = 1.0
        elif weights[i] > 0:
            # the lower hull of (1/s, Q), from the slowest speed, and the slopes of its edges
            edges = hull_in_order(Speeds(inverse, energy), configurations.order[jobs[i]], vertices)
            edges -= 1
            for e in range(edges):
                u, v = vertices[e], vertices[e + 1]
                slopes[e] = (energy[v] - energy[u]) / (inverse[u] - inverse[v])
            a, b = curves.start[i], curves.start[i + 1]
            curve = Curve(curves.knots[a + i : b + i + 1], curves.high[a:b], curves.low[a:b])
            hull = inverse[vertices[: edges + 1]]
            found = _multiplier(curve, hull, slopes[:edges], weights[i], due[i])
            values.multiplier[i] = found
            values.change[i] = _change(curve, slopes[:edges], weights[i], found)
        late = weights[i] * values.multiplier[i]
        values.speed[i] = speed[0]
        for c in range(count):
            if speed[c] > 0 and energy[c] + late / speed[c] < values.cost[i]:
                values.cost[i], values.speed[i] = energy[c] + late / speed[c], speed[c]
    return values


@register_jitable
def _multiplier(curve: Curve, inverse: Any, slopes: Any, weight: float, due: float) -> float:
    """The least M, in multiples of 1 / `GRID`, that meets the due date; at most 1."""
    if _meets(curve, inverse, slopes, 0.0, weight, due):
        return 0.0
    low, high = 0.0, GRID
    while high - low > 1:
        middle = np.floor(0.5 * (low + high))
        if _meets(curve, inverse, slopes, middle / GRID, weight, due):
            high = middle
        else:
            low = middle
    return high / GRID


@register_jitable
def _meets(
    curve: Curve, inverse: Any, slopes: Any, multiplier: float, weight: float, due: float
) -> bool:
    """Whether the epochs whose survival exceeds M end by the due date.

    Survival falls and slopes are positive, so that no epoch is slower than the one before.
    """
    seconds, vertex = 0.0, 0
    for i in range(len(curve.high)):
        if curve.high[i] <= multiplier:
            break
        while vertex < len(slopes) and slopes[vertex] * curve.high[i] <= weight * multiplier:
            vertex += 1
        seconds += (curve.knots[i + 1] - curve.knots[i]) * inverse[vertex]
        if seconds > due:
            return False
    return True


@register_jitable
def _change(curve: Curve, slopes: Any, weight: float, multiplier: float) -> float:
    """Epochs until the speed at M changes; infinite if it does not."""
    for i in range(1, len(curve.high)):
        if curve.high[i] <= multiplier:
            break
        for e in range(len(slopes)):
            dear_now = slopes[e] * max(curve.high[0], multiplier) > weight * multiplier
            dear_then = slopes[e] * max(curve.high[i], multiplier) > weight * multiplier
            if dear_now != dear_then:
                return curve.knots[i] - curve.knots[0]
    return np.inf


def gains(jobs: NDArray[np.int64], speed: Floats, types: GpuTypes, value: Floats) -> Floats:
    """Dollars per second of each configuration (J, T, C); minus infinity where a job cannot run."""
    speeds = speed[jobs].reshape(len(jobs), *types.sizes.shape)
    net = value[:, None, None] * speeds - types.rates[:, None] * types.sizes
    return np.where(speeds > 0, net, -np.inf)


@kernel
def clear_prices(gain: Any, types: GpuTypes, rounds: int, bisections: int) -> Any:
    """Step 4: prices at which each job's best configuration fits, one GPU type after another."""
    sizes = types.sizes
    jobs, kinds, count = gain.shape
    prices, elsewhere = np.zeros(kinds), np.empty(jobs)
    for _ in range(rounds):
        for t in range(kinds):
            low, high = 0.0, 0.0
            for j in range(jobs):
                elsewhere[j] = 0.0
                for u in range(kinds):
                    for c in range(count):
                        if u != t:
                            priced = gain[j, u, c] - prices[u] * sizes[u, c]
                            elsewhere[j] = max(elsewhere[j], priced)
                        elif sizes[t, c] > 0:
                            high = max(high, gain[j, t, c] / sizes[t, c])
            if _demand(gain[:, t], sizes[t], 0.0, elsewhere) <= types.gpus[t]:
                prices[t] = 0.0
                continue
            for _ in range(bisections):
                middle = 0.5 * (low + high)
                if _demand(gain[:, t], sizes[t], middle, elsewhere) <= types.gpus[t]:
                    high = middle
                else:
                    low = middle
            prices[t] = high
    return prices


@register_jitable
def _demand(gain: Any, sizes: Any, price: float, elsewhere: Any) -> float:
    """GPUs of a type that jobs want at a price, given their best gain elsewhere."""
    total = 0.0
    for j in range(len(gain)):
        best, size = elsewhere[j], 0.0
        for c in range(len(sizes)):
            if gain[j, c] - price * sizes[c] > best:
                best, size = gain[j, c] - price * sizes[c], sizes[c]
        total += size
    return total


@kernel
def _assign(
    gain: Any, wish: Any, value: Any, by_value: Any, by_urgency: Any, kinds: Kinds, nodes: Nodes
) -> Any:
    """Step 5: the seats (6, J), as in the kernel of STS, and the jobs in the order of assignment.

    A configuration that found no room once finds none later: free GPUs only become fewer, and room
    on a shared GPU is made from a free one.
    """
    jobs, types, width = gain.shape
    left = Free(nodes.gpus.copy(), np.full(nodes.rates.shape, -1))
    is_open, is_full = np.ones(types, np.bool_), np.zeros(types * width, np.bool_)
    seats, order, count = np.full((6, jobs), -1), np.empty(jobs, np.int64), 0
    # each job's best configuration, the largest gain first; then what else fits
    for phase in range(2):
        for j in by_value if phase == 0 else by_urgency:
            if not is_open.any() or (phase == 0 and not value[j] > 0):
                break
            if seats[NODE, j] >= 0:
                continue
            wanted = wish[j] if phase == 0 else _best(gain[j], is_full)
            while wanted >= 0 and not is_full[wanted]:
                take_gpus(kinds, nodes, left, wanted // width, wanted % width, seats[:, j])
                if seats[NODE, j] >= 0:
                    is_open[wanted // width] = has_room(wanted // width, kinds, nodes, left)
                    order[count] = j
                    count += 1
                    break
                is_full[wanted] = True
                wanted = -1 if phase == 0 else _best(gain[j], is_full)
    # one more GPU of its node to the job that gains most by it, again and again
    for n in range(len(left.gpus)):
        t = nodes.kind[n]
        while left.gpus[n]:
            best, most = -1, 0.0
            for j in order[:count]:
                c = seats[FINAL, j]
                if seats[NODE, j] != n or kinds.parts[t, c] < kinds.parts_per_gpu[t]:
                    continue
                step = gain[j, t, c + 1] - gain[j, t, c] if c + 1 < nodes.gpus[n] else -1.0
                if step > most or (step == most and best > j):
                    best, most = j, step
            if best < 0:
                break
            seats[FINAL, best] += 1
            left.gpus[n] -= 1
    return seats, order[:count]


@register_jitable
def _best(gain: Any, is_full: Any) -> int:
    """A job's best configuration of positive gain that may still fit; -1 if there is none."""
    types, width = gain.shape
    best, most = -1, 0.0
    for t in range(types):
        for c in range(width):
            if gain[t, c] > most and not is_full[t * width + c]:
                best, most = t * width + c, gain[t, c]
    return best
