"""Policy ``price``: GPU time has a market price; jobs maximise value minus price.

At each event, each planned change of speed and every `wake` seconds:

1. The expected remaining epochs give the backlog and the congestion g.
2. Each job gets a soft due-date multiplier M from its conditional survival function.
3. Its value nu per epoch follows from the cost of its cheapest epoch at M, g and the backlog.
4. Prices lam_t clear the demand for each GPU type, one type after another.
5. Jobs are assigned where they gain most, then get more GPUs while that pays.

models/rolling states each step; the constants are `PriceConstants`. Guarantee: none, but
`optsched.rolling.bounds` certifies each run. Complexity of a decision, with S pieces of a survival
function: O(J S) for the multipliers, O(J T K) for a step of the price search, O(J N) for the
assignment. Not in the paper.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.arrays import Floats, Ints
from optsched.errors import NotApplicableError
from optsched.kernels import kernel
from optsched.result import Settings
from optsched.rolling.policies.fewest_migrations import Placed, placed_of, with_fewest_migrations
from optsched.rolling.simulator.engine import Plan
from optsched.rolling.simulator.world import View, World
from optsched.selection.assignment import Placement
from optsched.selection.cost import Tables
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
from optsched.selection.models.packings import maximal_fills, partitions
from optsched.speed_profile.exact._hull_kernel import Speeds, hull_in_order
from optsched.uncertainty.survival import Curve, Curves

MULTIPLIER_GRID = 2.0**40
"""M is a multiple of 2^-40, so that bisection takes 40 steps and is exact in float64."""
RUN_BONUS = 1e-6
"""Relative bonus for running: with M = 0 the cheapest configuration has gain 0; the bonus makes it
positive."""
MIN_EPOCH_VALUE = 1e-200
"""Dollars per epoch, so that jobs with zero cost still run."""
MAX_PATTERN_GPUS = 16
MAX_FILLS = 2_000
MILP_GAP = 1e-4
MAX_BRANCH_NODES = 10_000
"""Limits of the MILP; that on nodes of branch and bound does not depend on the machine's speed."""

Terms = list[tuple[int, float]]


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
    order: Ints


class Values(NamedTuple):
    """By job: M, epochs until the planned change of speed, and the minimum cost per epoch at M,
    including delay, with its speed; (J,) each."""

    multiplier: Floats
    change: Floats
    cost: Floats
    speed: Floats


class Price:
    """Policy state: mean price per GPU type."""

    def __init__(self, world: World, name: str = "price", settings: Settings | None = None) -> None:
        self.name, self.constants = name, world.options.constants
        self.wake = self.constants.wake
        self.mean_prices = np.zeros(len(world.gpus))
        self._tabulate(world)

    def _tabulate(self, world: World) -> None:
        """Compute speeds and rates, again whenever the estimates have changed."""
        self.world, tables = world, world.tables
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
        self.fastest = flat.max(axis=1)
        self.cluster_speed = (speeds[:, :, 0] * self.types.gpus).sum(axis=1)
        self.kinds, self.nodes = kinds_of(tables), nodes_of(tables.instance, tables.kind_of)

    def decide(self, view: View) -> Plan:
        if view.world is not self.world:
            self._tabulate(view.world)
        tables, constants = self.world.tables, self.constants
        epoch, change = self._values(view)
        gain = gains(view.index, self.configurations.speed, self.types, epoch)
        clear = clear_prices.for_size(gain.size * constants.rounds * constants.bisections)
        prices = clear(gain, self.types, constants.rounds, constants.bisections)
        self.mean_prices = constants.memory * self.mean_prices + (1 - constants.memory) * prices
        bonus = RUN_BONUS * np.maximum(epoch, MIN_EPOCH_VALUE)
        gain += bonus[:, None, None] * self.configurations.speed[view.index].reshape(gain.shape)
        placed = self.assign(view, gain, prices, epoch * self.fastest[view.index])
        kinds = tables.kind_of[placed.node]
        epoch_seconds = tables.seconds[view.index[placed.job], kinds, placed.configuration]
        seconds_to_change = change[placed.job] * epoch_seconds
        has_change = seconds_to_change < np.inf
        jobs, delays = placed.job[has_change], seconds_to_change[has_change]
        changes = dict(zip(jobs.tolist(), delays.tolist(), strict=True))
        return Plan(with_fewest_migrations(tables, placed, view.running), changes)

    def assign(self, view: View, gain: Floats, prices: Floats, urgency: Floats) -> Placed:
        return assign_greedily(gain, prices, urgency, self.types.sizes, self.kinds, self.nodes)

    def _values(self, view: View) -> tuple[Floats, Floats]:
        """nu of each job, dollars per epoch, and its epochs until the planned change of speed."""
        constants, index, mean = self.constants, view.index, view.means
        weights, due = self.world.weights[index], self.world.due_dates[index] - view.time
        backlog = (mean / self.cluster_speed[index]).sum()
        congestion = min(
            constants.most_congestion,
            backlog / (view.works.max_epochs / self.fastest[index]).mean(),
        )
        planned = self.types.rates + constants.price_share * self.mean_prices
        cost = (planned[:, None] * self.types.sizes).ravel()
        values = value_jobs(index, self.configurations, cost, view.works.curves, due, weights)
        excess = max(0.0, congestion - constants.congestion_start)
        congestion_factor = 1 + constants.congestion_weight * excess
        expected_wait = np.maximum(backlog / mean - 1 / values.speed, 0.0)
        tardiness = weights * values.multiplier * expected_wait
        return congestion_factor * values.cost + tardiness, values.change


def assign_greedily(
    gain: Floats, prices: Floats, urgency: Floats, sizes: Floats, kinds: Kinds, nodes: Nodes
) -> Placed:
    """Assign jobs greedily in three passes.

    Pass 1: best configuration net of prices, largest net gain first. Pass 2: remaining jobs by
    urgency, best fitting configuration of positive gain. Pass 3: add free GPUs of the node to the
    job with the largest marginal gain.
    """
    priced = (gain - (prices[:, None] * sizes)[None]).reshape(len(gain), -1)
    preferred = priced.argmax(axis=1)
    value = priced[np.arange(len(gain)), preferred]
    by_value, by_urgency = (np.argsort(-each, kind="stable") for each in (value, urgency))
    placements, order = _assign(gain, preferred, value, by_value, by_urgency, kinds, nodes)
    node, first, given = np.ascontiguousarray(placements[[NODE, FIRST_GPU, FINAL]][:, order])
    max_gpus = kinds.gpus[nodes.kind[node]]
    return Placed(order, node, first, np.where(given < max_gpus, given + 1, 1), given)


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
            multiplier = _multiplier(curve, hull, slopes[:edges], weights[i], due[i])
            values.multiplier[i] = multiplier
            values.change[i] = _change(curve, slopes[:edges], weights[i], multiplier)
        late = weights[i] * values.multiplier[i]
        values.speed[i] = speed[0]
        for c in range(count):
            if speed[c] > 0 and energy[c] + late / speed[c] < values.cost[i]:
                values.cost[i], values.speed[i] = energy[c] + late / speed[c], speed[c]
    return values


@register_jitable
def _multiplier(curve: Curve, inverse: Any, slopes: Any, weight: float, due: float) -> float:
    """Smallest M <= 1 (on the grid) at which the due date is met."""
    if _meets(curve, inverse, slopes, 0.0, weight, due):
        return 0.0
    low, high = 0.0, MULTIPLIER_GRID
    while high - low > 1:
        middle = np.floor(0.5 * (low + high))
        if _meets(curve, inverse, slopes, middle / MULTIPLIER_GRID, weight, due):
            high = middle
        else:
            low = middle
    return high / MULTIPLIER_GRID


@register_jitable
def _meets(
    curve: Curve, inverse: Any, slopes: Any, multiplier: float, weight: float, due: float
) -> bool:
    """Return whether the epochs with survival above M complete by the due date.

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
            is_costly_now = slopes[e] * max(curve.high[0], multiplier) > weight * multiplier
            is_costly_later = slopes[e] * max(curve.high[i], multiplier) > weight * multiplier
            if is_costly_now != is_costly_later:
                return curve.knots[i] - curve.knots[0]
    return np.inf


def gains(jobs: Ints, speed: Floats, types: GpuTypes, value: Floats) -> Floats:
    """Dollars per second of each configuration (J, T, C); minus infinity where a job cannot run."""
    speeds = speed[jobs].reshape(len(jobs), *types.sizes.shape)
    net = value[:, None, None] * speeds - types.rates[:, None] * types.sizes
    return np.where(speeds > 0, net, -np.inf)


@kernel
def clear_prices(gain: Any, types: GpuTypes, rounds: int, bisections: int) -> Any:
    """Step 4: prices at which each job's best configuration fits, one GPU type after another."""
    sizes = types.sizes
    jobs, kinds, count = gain.shape
    prices, best_other_gain = np.zeros(kinds), np.empty(jobs)
    for _ in range(rounds):
        for t in range(kinds):
            low, high = 0.0, 0.0
            for j in range(jobs):
                best_other_gain[j] = 0.0
                for u in range(kinds):
                    for c in range(count):
                        if u != t:
                            priced = gain[j, u, c] - prices[u] * sizes[u, c]
                            best_other_gain[j] = max(best_other_gain[j], priced)
                        elif sizes[t, c] > 0:
                            high = max(high, gain[j, t, c] / sizes[t, c])
            if _demand(gain[:, t], sizes[t], 0.0, best_other_gain) <= types.gpus[t]:
                prices[t] = 0.0
                continue
            for _ in range(bisections):
                middle = 0.5 * (low + high)
                if _demand(gain[:, t], sizes[t], middle, best_other_gain) <= types.gpus[t]:
                    high = middle
                else:
                    low = middle
            prices[t] = high
    return prices


@register_jitable
def _demand(gain: Any, sizes: Any, price: float, best_other_gain: Any) -> float:
    """GPUs of a type that jobs want at a price, given their best gain elsewhere."""
    total = 0.0
    for j in range(len(gain)):
        best, size = best_other_gain[j], 0.0
        for c in range(len(sizes)):
            if gain[j, c] - price * sizes[c] > best:
                best, size = gain[j, c] - price * sizes[c], sizes[c]
        total += size
    return total


@kernel
def _assign(
    gain: Any,
    preferred: Any,
    value: Any,
    by_value: Any,
    by_urgency: Any,
    kinds: Kinds,
    nodes: Nodes,
) -> Any:
    """Step 5: placements (6, J), as in the kernel of STS, and the jobs in the order of assignment.

    A configuration that did not fit once never fits later, since capacity only shrinks.
    """
    jobs, types, width = gain.shape
    left = Free(nodes.gpus.copy(), np.full(nodes.rates.shape, -1))
    is_open, is_full = np.ones(types, np.bool_), np.zeros(types * width, np.bool_)
    placements, order, count = np.full((6, jobs), -1), np.empty(jobs, np.int64), 0
    # pass 1: each job's best configuration, the largest gain first; pass 2: what else fits
    for phase in range(2):
        for j in by_value if phase == 0 else by_urgency:
            if not is_open.any() or (phase == 0 and not value[j] > 0):
                break
            if placements[NODE, j] >= 0:
                continue
            wanted = preferred[j] if phase == 0 else _best(gain[j], is_full)
            while wanted >= 0 and not is_full[wanted]:
                take_gpus(kinds, nodes, left, wanted // width, wanted % width, placements[:, j])
                if placements[NODE, j] >= 0:
                    is_open[wanted // width] = has_room(wanted // width, kinds, nodes, left)
                    order[count] = j
                    count += 1
                    break
                is_full[wanted] = True
                wanted = -1 if phase == 0 else _best(gain[j], is_full)
    # pass 3: one more GPU of its node to the job of largest marginal gain, repeatedly
    for n in range(len(left.gpus)):
        t = nodes.kind[n]
        while left.gpus[n]:
            best, best_gain = -1, 0.0
            for j in order[:count]:
                c = placements[FINAL, j]
                if placements[NODE, j] != n or kinds.parts[t, c] < kinds.parts_per_gpu[t]:
                    continue
                marginal_gain = gain[j, t, c + 1] - gain[j, t, c] if c + 1 < nodes.gpus[n] else -1.0
                if marginal_gain > best_gain or (marginal_gain == best_gain and best > j):
                    best, best_gain = j, marginal_gain
            if best < 0:
                break
            placements[FINAL, best] += 1
            left.gpus[n] -= 1
    return placements, order[:count]


@register_jitable
def _best(gain: Any, is_full: Any) -> int:
    """A job's best configuration of positive gain that may still fit; -1 if there is none."""
    types, width = gain.shape
    best, best_gain = -1, 0.0
    for t in range(types):
        for c in range(width):
            if gain[t, c] > best_gain and not is_full[t * width + c]:
                best, best_gain = t * width + c, gain[t, c]
    return best


class PricePatterns(Price):
    """Policy ``price-patterns``: ``price``, with a MILP over node patterns for the assignment.

    It maximises the sum of nu s - c k. Per (type, GPUs) of nodes, integer y counts nodes cut into a
    partition of their GPUs; per type, integer g counts shared GPUs by maximal fill; x[j, t, c] >= 0
    assigns jobs. Slots may be larger than their job: for every size k, jobs of size >= k are at
    most slots of size >= k. With y and g fixed the rows are laminar, so x is integral at a vertex.
    Guarantee: optimal for one decision if the solver ends within its limits, such as the deadline
    of the settings; otherwise never worse than the greedy assignment.
    """

    def __init__(self, world: World, name: str, settings: Settings) -> None:
        super().__init__(world, name)
        self.deadline = settings.deadline

    def assign(self, view: View, gain: Floats, prices: Floats, urgency: Floats) -> Placed:
        zero_prices = np.zeros(len(prices))
        max_gain = np.where(np.isfinite(gain), gain, 0.0).reshape(len(gain), -1).max(axis=1)
        greedy = assign_greedily(
            gain, zero_prices, max_gain, self.types.sizes, self.kinds, self.nodes
        )
        return assign_by_patterns(view.tables, gain, greedy, self.deadline.left)


@dataclass(frozen=True)
class _Columns:
    """Columns: x (job, type, configuration), y (type, GPUs, partition), g (type, fill)."""

    choices: list[tuple[int, int, int]]
    node_partitions: list[tuple[int, int, tuple[int, ...]]]
    fills: list[tuple[int, tuple[int, ...]]]

    def of_partition(self, index: int) -> int:
        return len(self.choices) + index

    def of_fill(self, index: int) -> int:
        return len(self.choices) + len(self.node_partitions) + index

    @property
    def count(self) -> int:
        return len(self.choices) + len(self.node_partitions) + len(self.fills)


def assign_by_patterns(
    tables: Tables, gain: Floats, greedy: Placed, time_limit: float | None
) -> Placed:
    """The MILP's assignment; the greedy one unless the MILP has a better one in time."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_matrix

    if time_limit == 0.0:
        return greedy
    columns = _columns(tables, gain)
    if not columns.choices:
        return placed_of({})
    value = np.zeros(columns.count)
    value[: len(columns.choices)] = [gain[key] for key in columns.choices]
    rows = _rows(tables, columns)
    entries = [(a, row, column) for row, (terms, _) in enumerate(rows) for column, a in terms]
    entry, row, column = zip(*entries, strict=True)
    matrix = csr_matrix((entry, (row, column)), shape=(len(rows), columns.count))
    integrality = np.zeros(columns.count)
    integrality[len(columns.choices) :] = 1
    unit = float(np.abs(value).max())
    options = {"mip_rel_gap": MILP_GAP, "node_limit": MAX_BRANCH_NODES} | (
        {} if time_limit is None else {"time_limit": time_limit}
    )
    answer = milp(
        -value / unit,
        integrality=integrality,
        bounds=Bounds(0, np.inf),
        constraints=LinearConstraint(matrix, -np.inf, np.array([limit for _, limit in rows])),
        options=options,
    )
    greedy_value = gain[greedy.job, tables.kind_of[greedy.node], greedy.configuration].sum()
    if answer.x is None or greedy_value >= -answer.fun * unit:
        return greedy
    return placed_of(_placements(tables, columns, answer.x))


def _columns(tables: Tables, gain: Floats) -> _Columns:
    choices = [(int(j), int(t), int(c)) for j, t, c in np.argwhere(gain > 0)]
    node_partitions, fills = [], []
    for t, gpus in sorted({(node_class.kind, node_class.gpus) for node_class in tables.classes}):
        if gpus > MAX_PATTERN_GPUS:
            raise NotApplicableError(
                "price-patterns", f"nodes of {gpus} GPUs", f"at most {MAX_PATTERN_GPUS}"
            )
        node_partitions += [(t, gpus, tuple(sizes)) for sizes in partitions(gpus)]
    for t, kind in enumerate(tables.kinds):
        shares = tuple(kind.configurations[c].fraction for c in kind.fractions)
        kind_fills = maximal_fills(shares, MAX_FILLS) if shares else ()
        if kind_fills is None:
            found = f"too many fills of a GPU of {kind.name}"
            raise NotApplicableError("price-patterns", found, f"at most {MAX_FILLS}")
        fills += [(t, tuple(fill)) for fill in kind_fills]
    return _Columns(choices, node_partitions, fills)


def _rows(tables: Tables, columns: _Columns) -> list[tuple[Terms, float]]:
    """Sparse rows a x <= b, as terms (column, a) and b."""
    by_job: dict[int, Terms] = defaultdict(list)
    terms_of: dict[tuple[int, int], Terms] = defaultdict(list)
    for index, (j, t, c) in enumerate(columns.choices):
        by_job[j].append((index, 1.0))
        terms_of[t, c].append((index, 1.0))
    # sum_tc x[j, t, c] <= 1
    rows = [(terms, 1.0) for terms in by_job.values()]
    # sum of y over the partitions of a node size <= number of such nodes
    nodes: dict[tuple[int, int], int] = defaultdict(int)
    for node_class in tables.classes:
        nodes[node_class.kind, node_class.gpus] += len(node_class.nodes)
    for node_size, count in nodes.items():
        node_partitions = [
            i for i, entry in enumerate(columns.node_partitions) if entry[:2] == node_size
        ]
        rows.append(([(columns.of_partition(i), 1.0) for i in node_partitions], float(count)))
    for t, kind in enumerate(tables.kinds):
        fills = [(columns.of_fill(i), fill) for i, (u, fill) in enumerate(columns.fills) if u == t]
        # jobs of k GPUs or more, and shared GPUs, <= slots of k GPUs or more
        for size in range(1, kind.gpus + 1):
            terms = [term for c in range(size - 1, kind.gpus) for term in terms_of[t, c]]
            terms += [(column, 1.0) for column, _ in fills] if size == 1 else []
            for i, (u, _, partition) in enumerate(columns.node_partitions):
                slots = sum(part >= size for part in partition)
                if u == t and slots:
                    terms.append((columns.of_partition(i), -float(slots)))
            rows.append((terms, 0.0))
        # jobs of a fraction <= room for it on the shared GPUs
        for position, c in enumerate(kind.fractions):
            capacity = [
                (column, -float(fill[position])) for column, fill in fills if fill[position]
            ]
            rows.append((terms_of[t, c] + capacity, 0.0))
    return rows


def _placements(tables: Tables, columns: _Columns, x: Floats) -> dict[int, Placement]:
    """Decode the MILP solution into placements: largest jobs take the smallest fitting slots."""
    slots = _slots(tables, columns, x)
    chosen = [key for key, value in zip(columns.choices, x, strict=False) if value > 0.5]
    dedicated = [(j, t, c) for j, t, c in chosen if not tables.kinds[t].configurations[c].shares]
    placements: dict[int, Placement] = {}
    for j, t, c in sorted(dedicated, key=lambda key: -key[2]):
        fitting = [slot for slot in slots[t] if len(slot[1]) >= c + 1]
        if fitting:
            slot = min(fitting, key=lambda s: (len(s[1]), s))
            slots[t].remove(slot)
            placements[j] = Placement(slot[0], slot[1][: c + 1], c)
    shared: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for i, (t, fill) in enumerate(columns.fills):
        for _ in range(round(x[columns.of_fill(i)])):
            if slots[t]:
                node, gpus = slots[t].pop()
                for c, count in zip(tables.kinds[t].fractions, fill, strict=True):
                    shared[t, c] += [(node, gpus[0])] * count
    for j, t, c in chosen:
        if j not in placements and shared[t, c]:
            node, gpu = shared[t, c].pop(0)
            placements[j] = Placement(node, (gpu,), c)
    return placements


def _slots(
    tables: Tables, columns: _Columns, x: Floats
) -> dict[int, list[tuple[int, tuple[int, ...]]]]:
    """By type, the (node, GPUs) of the parts into which nodes are partitioned."""
    free: dict[tuple[int, int], list[int]] = defaultdict(list)
    for node_class in tables.classes:
        free[node_class.kind, node_class.gpus] += node_class.nodes
    slots: dict[int, list[tuple[int, tuple[int, ...]]]] = defaultdict(list)
    for i, (t, gpus, partition) in enumerate(columns.node_partitions):
        for _ in range(round(x[columns.of_partition(i)])):
            node, gpu = free[t, gpus].pop(0), 0
            for size in partition:
                slots[t].append((node, tuple(range(gpu, gpu + size))))
                gpu += size
    return slots
