"""Rolling policies in plain Python: one job and one node after another, on the world's tables.

Best fit, STS, the price policy, the greedy passes of edf and rg, and what keeps jobs in place. The
policies of `optsched.rolling` take the same decisions, seat by seat.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from optsched.rolling.policies.fewest_migrations import placed_of, with_fewest_migrations
from optsched.rolling.policies.price import MIN_EPOCH_VALUE, RUN_BONUS
from optsched.rolling.policies.sts import MIN_PIECE_SHARE
from optsched.rolling.simulator.engine import MIN_CHANGE_SHARE, Plan
from optsched.rolling.simulator.world import View, World
from optsched.selection.assignment import Placement
from optsched.selection.cost import Tables, type_rates
from optsched.speed_profile.exact._hull_kernel import (
    Speeds,
    curve_of,
    empty_hull,
    first_piece,
    lower_hull,
)


@dataclass
class PlainNode:
    """One node: its unused GPUs, and the room left on each shared one."""

    index: int
    kind: int
    gpus: int
    free: list[int]
    shared: dict[int, Fraction] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """True when some GPU is in use."""
        return len(self.free) < self.gpus


class PlainCluster:
    """Free GPUs by node. Best fit saturates what is in use first (sts, VI-B).

    A fraction goes to the shared GPU of least sufficient room, else to a new GPU; whole GPUs go to
    the open node with the fewest free GPUs that suffice, else to the smallest unused node; ties by
    the cost of the GPUs in use afterwards, then by index. Each call is O(nodes of the type).
    """

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.nodes = [
            PlainNode(n, int(tables.kind_of[n]), node.gpus, list(range(node.gpus)))
            for n, node in enumerate(tables.instance.nodes)
        ]
        self.of_kind = [
            [node for node in self.nodes if node.kind == t] for t in range(len(tables.kinds))
        ]

    def max_free_gpus(self, kind: int) -> int:
        return max(len(node.free) for node in self.of_kind[kind])

    def allocate(self, kind: int, configuration: int) -> Placement | None:
        """Take GPUs for a configuration of a type by best fit; None when it fits nowhere."""
        wanted = self.tables.kinds[kind].configurations[configuration]
        if wanted.shares:
            found = self._room(kind, wanted.fraction)
            if found is not None:
                sharing, gpu = found
                sharing.shared[gpu] -= wanted.fraction
                return Placement(sharing.index, (gpu,), configuration)
        node = self._best_fit(kind, wanted.gpus)
        if node is None:
            return None
        taken, node.free = tuple(node.free[: wanted.gpus]), node.free[wanted.gpus :]
        if wanted.shares:
            node.shared[taken[0]] = 1 - wanted.fraction
        return Placement(node.index, taken, configuration)

    def _room(self, kind: int, fraction: Fraction) -> tuple[PlainNode, int] | None:
        rooms = [
            (room, node.index, gpu)
            for node in self.of_kind[kind]
            for gpu, room in node.shared.items()
            if room >= fraction
        ]
        if not rooms:
            return None
        _, index, gpu = min(rooms)
        return self.nodes[index], gpu

    def _best_fit(self, kind: int, gpus: int) -> PlainNode | None:
        fitting = [node for node in self.of_kind[kind] if len(node.free) >= gpus]
        if not fitting:
            return None
        nodes = self.tables.instance.nodes

        def key(node: PlainNode) -> tuple[bool, int, float, int]:
            rate = nodes[node.index].cost_rate[node.gpus - len(node.free) + gpus - 1]
            return (not node.is_open, len(node.free) - gpus, rate, node.index)

        return min(fitting, key=key)


# --- STS ------------------------------------------------------------------------------------------

Wish = tuple[bool, float, int, int]
"""Late, energy or latest end, GPU type, configuration."""


class PlainSts:
    """STS over time, with the idle GPUs of open nodes handed out or not."""

    wake = np.inf

    def __init__(self, world: World, *, postprocessing: bool = False) -> None:
        self.world, self.name, self.postprocessing = world, "plain", postprocessing
        self.selected: dict[int, tuple[int, int]] = {}

    def decide(self, view: View) -> Plan:
        tables = view.tables
        shortest = (
            MIN_PIECE_SHARE if self.postprocessing else MIN_CHANGE_SHARE
        ) * tables.instance.interval
        least = np.zeros((len(tables.kinds), tables.jobs), dtype=np.int64)
        for j, job in enumerate(view.jobs):
            if job in self.selected:
                kind, gpus = self.selected[job]
                more = gpus + (j in view.due_for_change)
                least[kind, j] = min(more, tables.kinds[kind].gpus) - 1
        seats, asked, lengths = algorithm_2(tables, least, shortest, speeds_up=True)
        changes = {}
        for j, seat in seats.items():
            kind = int(tables.kind_of[seat.node])
            self.selected[view.jobs[j]] = kind, tables.kinds[kind].configurations[asked[j]].gpus
            if seat.configuration == asked[j] and lengths[j] < np.inf:
                changes[j] = float(lengths[j] * tables.seconds[j, kind, asked[j]])
        final = hand_out(tables, seats) if self.postprocessing else seats
        return Plan(keep(tables, final, view.running), changes)


def algorithm_2(
    tables: Tables, least: Any, shortest: float, *, speeds_up: bool
) -> tuple[dict[int, Placement], dict[int, int], dict[int, float]]:
    """Seats in order of pressure, the configurations wanted, and epochs until the next speed."""
    state = PlainCluster(tables)
    seats, asked, lengths = {}, {}, {}
    for j in map(int, order_of(tables)):
        wishes, pieces = [], {}
        for t, kind in enumerate(tables.kinds):
            if not np.isfinite(tables.seconds[j, t, 0]):
                continue
            speed, length, energy = pieces[t] = first_piece_of(tables, j, t, least[t, j], shortest)
            worst = tables.worst_case_seconds[j, t, : kind.gpus]
            if speed < 0:
                wishes.append((True, float(worst.min()), t, int(worst.argmin())))
                continue
            if speed == 0:
                speed = fraction(tables, j, t, length if speeds_up else np.inf)
            wishes.append((False, energy, t, speed))
        seat = assign(tables, state, sorted(wishes))
        if seat is not None:
            t = int(tables.kind_of[seat.node])
            seats[j], lengths[j] = seat, pieces[t][1]
            asked[j] = next(c for _, _, u, c in wishes if u == t)
    return seats, asked, lengths


def first_piece_of(
    tables: Tables, j: int, t: int, least: int, shortest: float
) -> tuple[int, float, float]:
    """Speed, length and energy of a profile's first piece, due when the job is."""
    most = tables.kinds[t].gpus
    seconds = tables.seconds[j, t, :most]
    worst = float(tables.worst_case_seconds[j, t, :most].min())
    rounded = float(tables.due[j]) < worst <= tables.latest_on_time[j]
    energy = np.where(np.isfinite(seconds), seconds, 0.0) * type_rates(tables, t)
    speeds = Speeds(np.where(np.arange(most) < least, np.inf, seconds), energy)
    due = worst if rounded else float(tables.due[j])
    return first_piece(curve_of(tables.works.curves, j), speeds, due, shortest, empty_hull(most))


def order_of(tables: Tables) -> Any:
    """Jobs by pressure (27)."""
    delta = tables.worst_case_seconds.reshape(tables.jobs, -1).min(axis=1) - tables.due
    weights = np.array([job.tardiness_weight for job in tables.instance.jobs])
    return np.argsort(-np.where(delta > 0, delta * weights, delta), kind="stable")


def fraction(tables: Tables, j: int, t: int, length: float) -> int:
    """For one GPU the smallest fraction that meets the due date, sped up as planned."""
    most, kind = tables.works[j].max_epochs, tables.kinds[t]
    first = min(length, most)
    rest = (most - first) * float(tables.seconds[j, t, : kind.gpus].min())
    for shared in reversed(kind.fractions):
        if first * tables.seconds[j, t, shared] + rest <= tables.latest_on_time[j]:
            return shared
    return 0


def assign(tables: Tables, state: PlainCluster, wishes: list[Wish]) -> Placement | None:
    """The first wish that fits, else fewer GPUs of its type."""
    for _, _, t, c in wishes:
        seat = state.allocate(t, c)
        if seat is not None:
            return seat
    for _, _, t, _ in wishes if tables.options.strict == "off" else ():
        if state.max_free_gpus(t):
            return state.allocate(t, state.max_free_gpus(t) - 1)
    return None


def hand_out(tables: Tables, seats: Mapping[int, Placement]) -> dict[int, Placement]:
    """VI-C on the idle GPUs of open nodes: to sharers first, then to the others."""
    given, free, room = dict(seats), {}, {}
    for n, node in enumerate(tables.instance.nodes):
        held = [s for s in seats.values() if s.node == n]
        free[n] = node.gpus - len({g for s in held for g in s.gpus})
        kind = tables.kinds[tables.kind_of[n]]
        for s in held:
            share = kind.configurations[s.configuration].fraction
            room[n, s.gpus[0]] = room.get((n, s.gpus[0]), 1) - share
    for j, s in given.items():
        t = int(tables.kind_of[s.node])
        kind, at = tables.kinds[t], (s.node, s.gpus[0])
        held = kind.configurations[s.configuration]
        if not held.shares:
            continue
        left = room[at] + held.fraction
        fits = [c for c in kind.fractions if kind.configurations[c].fraction <= left]
        best = min([0, *fits] if left == 1 else fits, key=lambda c: (tables.seconds[j, t, c], c))
        if tables.seconds[j, t, best] < tables.seconds[j, t, s.configuration]:
            given[j] = replace(s, configuration=best)
            room[at] = left - kind.configurations[best].fraction
    for j, s in given.items():
        t, now = int(tables.kind_of[s.node]), s.configuration
        if not tables.kinds[t].configurations[now].shares:
            more = int(tables.seconds[j, t, now : now + free[s.node] + 1].argmin())
            first = tables.instance.nodes[s.node].gpus - free[s.node]
            given[j] = Placement(s.node, (*s.gpus, *range(first, first + more)), now + more)
            free[s.node] -= more
    return given


def keep(
    tables: Tables, seats: Mapping[int, Placement], before: Mapping[int, Placement]
) -> dict[int, Placement]:
    """The same assignment on nodes of the same classes, with the fewest jobs moved."""
    contents, target = defaultdict(list), {}
    for j, seat in seats.items():
        contents[seat.node].append(j)
    for each in tables.classes:
        opened = [n for n in each.nodes if n in contents]
        stays = np.zeros((len(opened), len(each.nodes)))
        for row, n in enumerate(opened):
            stays[row, each.nodes.index(n)] += 1e-3
            for j in contents[n]:
                old = before.get(j)
                if old is not None and old.node in each.nodes:
                    alike = old.configuration == seats[j].configuration
                    stays[row, each.nodes.index(old.node)] += 1.0 if alike else 0.25
        target |= {n: n for n in opened}
        if any(stays[r, each.nodes.index(n)] < stays[r].max() for r, n in enumerate(opened)):
            rows, columns = linear_sum_assignment(stays, maximize=True)
            target |= {opened[r]: each.nodes[c] for r, c in zip(rows, columns, strict=True)}
    result: dict[int, Placement] = {}
    for n, jobs in contents.items():
        groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for j in jobs:
            groups[tuple(sorted(seats[j].gpus))].append(j)
        names: dict[tuple[int, ...], tuple[int, ...]] = {}
        for gpus, members in groups.items():
            for j in members:
                old = before.get(j)
                if old is None or old.node != target[n] or len(old.gpus) != len(gpus):
                    continue
                taken = {g for name in names.values() for g in name}
                if gpus not in names and not taken & set(old.gpus):
                    names[gpus] = tuple(sorted(old.gpus))
        taken = {g for name in names.values() for g in name}
        free = (g for g in range(1000) if g not in taken)
        for gpus, members in groups.items():
            name = names.get(gpus) or tuple(next(free) for _ in gpus)
            result |= {j: Placement(target[n], name, seats[j].configuration) for j in members}
    return result


# --- price ----------------------------------------------------------------------------------------

HALVINGS = 40


class PlainPrice:
    """The price policy: multipliers by forty halvings, every job asked at every price."""

    def __init__(self, world: World) -> None:
        self.name, self.constants = "plain", world.options.constants
        self.wake = self.constants.wake
        self.sizes, self.gpus = world.sizes, world.gpus
        self.rates = np.full(len(self.gpus), np.inf)
        for node, t in zip(world.instance.nodes, world.tables.kind_of, strict=True):
            self.rates[t] = min(self.rates[t], node.cost_rate[-1] / node.gpus)
        self.mean_prices = np.zeros(len(self.gpus))

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
        knots, high, _, start = view.works.curves
        multipliers, changes = np.zeros((2, tables.jobs))
        for j, (a, b) in enumerate(pairwise(start)):
            curve = knots[a + j : b + j + 1].tolist(), high[a:b].tolist()
            speed = Speeds(inverse[j], energy[j])
            multipliers[j], changes[j] = multiplier(curve, speed, tables.weights[j], tables.due[j])
        worth = tables.weights * multipliers
        backlog = view.means / (speeds[:, :, 0] * self.gpus).sum(axis=1)
        congestion = min(
            k.most_congestion, backlog.sum() / (view.works.max_epochs / flat.max(axis=1)).mean()
        )
        total = np.where(flat > 0, energy + worth[:, None] / np.where(flat > 0, flat, 1.0), np.inf)
        rows, best = np.arange(tables.jobs), total.argmin(axis=1)
        premium = 1 + k.congestion_weight * max(0.0, congestion - k.congestion_start)
        waiting = np.maximum(backlog.sum() / view.means - 1 / flat[rows, best], 0.0)
        return premium * total[rows, best] + worth * waiting, changes

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


def multiplier(
    curve: tuple[list[float], list[float]], speeds: Speeds, weight: float, due: float
) -> tuple[float, float]:
    """M, and epochs until the planned change of speed."""
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

    low, m_min = 0.0, 0.0 if meets(0.0) else 1.0
    for _ in range(HALVINGS if m_min else 0):
        middle = 0.5 * (low + m_min)
        low, m_min = (low, middle) if meets(middle) else (middle, m_min)

    def speed(survival: float) -> int:
        too_dear = (e for e, s in enumerate(slopes) if s * max(survival, m_min) > weight * m_min)
        return next(too_dear, len(slopes))

    for i, survival in enumerate(high):
        if survival <= m_min:
            break
        if speed(survival) != speed(high[0]):
            return m_min, knots[i] - knots[0]
    return m_min, np.inf


def seated(tables: Tables, gain: Any, priced: Any, urgency: Any) -> dict[int, Placement]:
    """Seats by job: the best of each if it fits, else what fits, then more GPUs that gain."""
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


# --- edf and rg ----------------------------------------------------------------------------------

SWAP_PROBABILITY, CANDIDATES = 0.2, 3


class PlainGreedy:
    """One job after another: the cheapest configuration in time, else the fastest."""

    def __init__(self, tables: Tables) -> None:
        self.tables, self.times = tables, tables.expected
        self.rates = [type_rates(tables, t) for t in range(len(tables.kinds))]
        self.ranked = [self.ranking(j) for j in range(tables.jobs)]

    def run(
        self, order: Sequence[int], rng: np.random.Generator | None = None
    ) -> dict[int, Placement]:
        state, assignment = PlainCluster(self.tables), {}
        for j in order:
            fitting = [(t, c) for t, c in self.ranked[j] if c < state.max_free_gpus(t)]
            if fitting:
                draws = rng is not None
                index = int(rng.integers(min(CANDIDATES, len(fitting)))) if draws else 0
                assignment[int(j)] = state.allocate(*fitting[index])
        return assignment

    def ranking(self, j: int) -> list[tuple[int, int]]:
        """(type, configuration), best first: in time by cost, then late by completion time."""
        keys = []
        for t, kind in enumerate(self.tables.kinds):
            for c in range(kind.gpus):
                seconds = float(self.times[j, t, c])
                if seconds < np.inf:
                    late = seconds > self.tables.latest_on_time[j]
                    value = seconds if late else seconds * float(self.rates[t][c])
                    keys.append((late, value, seconds, t, c))
        return [(t, c) for _, _, _, t, c in sorted(keys)]


def shuffled(order: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Swap neighbours with probability `SWAP_PROBABILITY`."""
    order = order.copy()
    for index in range(len(order) - 1):
        if rng.random() < SWAP_PROBABILITY:
            order[index], order[index + 1] = order[index + 1], order[index]
    return order
