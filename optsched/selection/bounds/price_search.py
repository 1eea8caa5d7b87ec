"""The best prices: column generation over bundles of jobs (Dantzig-Wolfe).

Given prices of slots, of nodes by class and of opening a node, every job takes its cheapest role:
postponed, follower in a slot, or leader of a node. The sum of the jobs' costs, less what the nodes
earn, is a lower bound. The master programme over arcs, fills and mixtures of each bundle's earlier
answers gives the next prices. It has a row for each kind of slot, class and bundle, not for each
job, so it stays small. Prices are smoothed towards the best so far (Wentges) and start from those
of a sample of jobs on groups of nodes. Jobs of one bundle answer together; where jobs are few, each
is a bundle. Complexity of a round: O(J C log V) and a programme of some hundred rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array, csr_array, hstack

from optsched.backends import GrowingLp, MilpArrays
from optsched.deadline import Deadline
from optsched.errors import NotApplicableError
from optsched.result import Settings
from optsched.selection.bounds.prices import Floats, PricedOut, Prices, SlotValues, low_lines
from optsched.selection.cost import tables_of
from optsched.selection.exact.grouping import grouped_classes, quantile_classes
from optsched.selection.instance import SelectionInstance
from optsched.selection.models.arcs import Ints, Skeleton, skeleton_of, sparse
from optsched.selection.models.node_opening import opening
from optsched.selection.models.outcomes import TARDINESS, tardiness_bound
from optsched.selection.options import SelectionOptions

MAX_ROUNDS = 1_000
MAX_SINGLE_JOBS = 400
"""Up to so many jobs are priced one by one; more are priced in fewer and larger bundles."""
MIN_BUNDLES = 40
SAMPLE_SIZE = 200
SAMPLE_GAP = 1e-3
SMOOTHING = 0.7
"""Share of the best prices so far in the next ones (Wentges, 1997)."""
CONVERGENCE_RTOL = 1e-9
WEIGHT_TOL = 1e-9
QUICK_GAP = 5e-6
"""Relative gap at which the search for a quick bound stops."""


@dataclass(frozen=True, eq=False)
class PriceResult:
    """The best prices, the bound they prove, and the roles in the master solution.

    Attributes
    ----------
    priced : PricedOut
        What follows from the prices.
    bound, value : float, float or None
        Of the true classes; of the linear programme over the skeleton's, None before the first.
    leaders, followers : int arrays, (j, v, L, u) and (j, t, c) a row
        Roles with weight in the programme's solution.
    rounds : int
        Programmes solved.
    """

    priced: PricedOut
    bound: float
    value: float | None
    leaders: Ints
    followers: Ints
    rounds: int


@dataclass(frozen=True, eq=False)
class Point:
    """Prices of slots (T, C), of nodes by class (not above 0), and of opening one; dollars."""

    slots: Floats
    nodes: Floats
    opening: float = 0.0

    def mixed(self, other: Point, share: float) -> Point:
        """The convex combination with other prices."""
        rest = 1 - share
        return Point(
            share * self.slots + rest * other.slots,
            share * self.nodes + rest * other.nodes,
            share * self.opening + rest * other.opening,
        )


def best_prices(
    skeleton: Skeleton, settings: Settings, gap: float, start: PricedOut | None = None
) -> PriceResult:
    """Search for the prices of the best bound, until it is within a relative gap of the value."""
    tables, clock = skeleton.tables, settings.deadline
    sizes = np.array([float(len(each.nodes)) for each in skeleton.classes])
    if start is None and tables.jobs > SAMPLE_SIZE and not tables.options.opens_exactly:
        start = _of_a_sample(skeleton, sizes, settings)
    market = Market(skeleton, np.arange(tables.jobs), sizes)
    search = _Search(market, _point_of(skeleton, start), settings)
    search.run(gap, clock)
    least, _, _ = market.answers(search.best)
    prices = Prices(least, search.best.slots, search.best.opening)
    priced = PricedOut(skeleton, prices)
    jobs, roles = search.in_use()
    led, followed = roles >= market.first, (roles > 0) & (roles < market.first)
    leaders = np.column_stack([jobs[led], market.leaders[roles[led] - market.first]])
    followers = np.column_stack([jobs[followed], *np.divmod(roles[followed] - 1, skeleton.widest)])
    return PriceResult(priced, priced.bound(), search.value, leaders, followers, search.rounds)


def quick_bound(
    instance: SelectionInstance, options: SelectionOptions, deadline: Deadline | None = None
) -> tuple[float, str]:
    """A bound in dollars after a few rounds, and its source: least tardiness where time is over."""
    tables, deadline = tables_of(instance, options), deadline or Deadline()
    if deadline.is_over:
        return tardiness_bound(tables), TARDINESS
    try:
        skeleton = skeleton_of(tables, grouped_classes(tables))
    except NotApplicableError:
        return tardiness_bound(tables), TARDINESS
    found = best_prices(skeleton, Settings().within(deadline), QUICK_GAP)
    if found.rounds == 0:
        return tardiness_bound(tables), TARDINESS
    return max(found.bound, 0.0), f"price certificate after {found.rounds} rounds"


class Market:
    """The pricing problem. Roles of a job: 0 postponed, 1 + t C + c follower, then leaders."""

    def __init__(self, skeleton: Skeleton, jobs: Ints, sizes: Floats) -> None:
        tables = skeleton.tables
        self.skeleton, self.jobs, self.sizes = skeleton, jobs, sizes
        self.late, self.expected = tables.late[jobs], tables.expected[jobs]
        self.postponed = tables.postponed[jobs]
        self.first = 1 + len(tables.kinds) * skeleton.widest
        self.bundles = min(len(jobs), max(MIN_BUNDLES, MAX_SINGLE_JOBS**2 // len(jobs)))
        self.bundle = np.arange(len(jobs)) % self.bundles

    @cached_property
    def leaders(self) -> Ints:
        """(v, L, u) of each leader's role."""
        each = [np.array(self.skeleton.uses(v)) for v in range(len(self.skeleton.classes))]
        return np.concatenate([np.insert(uses, 0, v, axis=1) for v, uses in enumerate(each)])

    @cached_property
    def needs(self) -> csr_array:
        """Coefficients of each role, one a row, in the rows of classes, residues and slots."""
        start, slots = self.skeleton.first_rows, np.arange(self.first - 1)
        entries = [(1 + slots, start["slot"] + slots, 1.0)]
        for index, row, value in self.skeleton.node_entries(self.leaders):
            entries.append((self.first + index, row, value))
        shape = (self.first + len(self.leaders), start["end"])
        return sparse(entries, shape)[:, start["class"] :]

    @cached_property
    def _led(self) -> list[tuple[int, int, Ints, Floats]]:
        """By type and leader's configuration: the roles, and the cost rates of their nodes."""
        v, c, used = self.leaders.T
        kinds = self.skeleton.kinds[v]
        rates = self.skeleton.rates[v, used - 1]
        found = []
        for t, kind in enumerate(self.skeleton.tables.kinds):
            for configuration in range(len(kind.configurations)):
                roles = np.flatnonzero((kinds == t) & (c == configuration))
                runs = np.isfinite(self.late[:, t, configuration]).any()
                if len(roles) and runs:
                    found.append((t, configuration, roles, rates[roles]))
        return found

    def answers(self, point: Point) -> tuple[Floats, Ints, Floats]:
        """Each job's reduced cost at the prices, its role, and the cost of the role."""
        values = SlotValues(self.skeleton, point.slots)
        index = np.arange(len(self.jobs))
        follower = (self.late + values.slots).reshape(len(index), -1)
        slot = follower.argmin(axis=1)
        seated = follower[index, slot]
        follows = seated < self.postponed
        least = np.where(follows, seated, self.postponed)
        role = np.where(follows, 1 + slot, 0)
        late = self.late.reshape(len(index), -1)[index, slot]
        cost = np.where(follows, late, self.postponed)
        v, _, used = self.leaders.T
        for t, c, roles, rates in self._led:
            credit = values.credits[t][c, used[roles]] + point.nodes[v[roles]] + point.opening
            late, seconds = self.late[:, t, c], self.expected[:, t, c]
            runs = np.isfinite(seconds)
            kept = low_lines(rates, -credit, seconds[runs])
            seconds = np.where(runs, seconds, 0.0)
            lines = rates[kept, None] * seconds - credit[kept, None]
            which = lines.argmin(axis=0)
            here = lines[which, index] + late
            leads = here < least
            which = kept[which[leads]]
            least[leads], role[leads] = here[leads], self.first + roles[which]
            cost[leads] = late[leads] + rates[which] * seconds[leads]
        return least, role, cost


class _Search:
    """The master programme, and the best prices so far."""

    def __init__(self, market: Market, start: Point, settings: Settings) -> None:
        skeleton = market.skeleton
        self.market, self.best, self.bound = market, start, -np.inf
        self.value: float | None = None
        self.rounds, self.point, self._settings = 0, start, settings
        self._roles: list[Ints] = []
        self._weights = np.empty(0)
        _, fixed = skeleton.fixed
        where, first = skeleton.slices, skeleton.first_rows["class"]
        fixed = fixed[where["arcs"].start :, first:]
        self._fixed, self._start = fixed.shape[0], first
        lower, upper = (each[first:].copy() for each in skeleton.row_bounds)
        upper[: len(market.sizes)] = market.sizes
        ones, nothing = np.ones(market.bundles), np.zeros(self._fixed)
        matrix = hstack([fixed, csr_array((self._fixed, market.bundles))])
        self._lp = GrowingLp(
            MilpArrays(
                nothing,
                csr_array(csr_array(matrix).T),
                np.append(lower, ones),
                np.append(upper, ones),
                nothing,
                np.full(self._fixed, np.inf),
                np.zeros(self._fixed, dtype=bool),
            ),
            replace(settings, time_limit=None),
        )
        self._add(np.zeros(len(market.jobs), dtype=np.int64), market.postponed)
        if skeleton.tables.options.opens_exactly:
            self._add(*self._opening_roles())

    def run(self, gap: float, clock: Deadline) -> None:
        """Price and solve by turns until value and bound meet, or rounds or time run out."""
        given = self._settings.iterations
        most, unit = MAX_ROUNDS if given is None else max(given, 1), self.market.skeleton.unit
        while True:
            least, roles, cost = self.market.answers(self.point)
            here = float(least.sum() + self.point.nodes @ self.market.sizes)
            here += self.point.opening * self.market.skeleton.tables.most_open
            if here > self.bound:
                self.bound, self.best = here, self.point
            if self._is_close(gap) or self.rounds >= most or clock.is_over:
                return
            self._add(roles, cost)
            answer = self._lp.solve(clock.left)
            if answer is None:
                return
            self.rounds += 1
            self.value = answer.objective * unit
            self._weights = answer.values[self._fixed :]
            if self._is_close(gap):
                return
            self.point = self.best.mixed(self._own(answer.duals * unit), SMOOTHING)

    def in_use(self) -> tuple[Ints, Ints]:
        """Jobs and roles with positive weight in the last master solution."""
        bundles = self.market.bundles
        weights = self._weights.reshape(-1, bundles)
        found = []
        for roles, weight in zip(self._roles, weights, strict=False):
            jobs = np.flatnonzero(weight[self.market.bundle] > WEIGHT_TOL)
            found.append(np.column_stack([jobs, roles[jobs]]))
        pairs = np.unique(np.concatenate(found), axis=0) if found else np.empty((0, 2), dtype=int)
        return pairs[:, 0], pairs[:, 1]

    def _is_close(self, gap: float) -> bool:
        if self.value is None:
            return False
        return self.value - self.bound <= max(CONVERGENCE_RTOL, gap) * max(abs(self.value), 1e-12)

    def _own(self, duals: Floats) -> Point:
        """The programme's own prices, slots' not falling in their size: as good, and a convex set.

        On that set what jobs and nodes pay is concave, so that between two points it is no less
        than between their values.
        """
        start, first, skeleton = self.market.skeleton.first_rows, self._start, self.market.skeleton
        slots = -duals[start["slot"] - first : start["led"] - first].reshape(-1, skeleton.widest)
        slots = SlotValues(skeleton, np.maximum(slots, 0.0)).slots
        nodes = duals[: start["residue"] - first]
        opens = skeleton.tables.options.opens_exactly
        theta = float(duals[start["opening"] - first]) if opens else 0.0
        return Point(slots, np.minimum(nodes, 0.0), theta)

    def _add(self, roles: Ints, cost: Floats) -> None:
        """Add each bundle's answer as a column."""
        market, bundles = self.market, self.market.bundles
        ones = np.ones(len(roles))
        shape = (bundles, market.needs.shape[0])
        counts = csr_array(coo_array((ones, (market.bundle, roles)), shape=shape))
        own = coo_array((np.ones(bundles), (np.arange(bundles), np.arange(bundles))))
        matrix = csr_array(hstack([counts @ market.needs, own]))
        costs = np.bincount(market.bundle, cost, bundles) / market.skeleton.unit
        self._lp.add_columns(costs, matrix)
        self._roles.append(roles)

    def _opening_roles(self) -> tuple[Ints, Floats]:
        """Roles and costs of a selection that opens as many nodes as must."""
        market, tables = self.market, self.market.skeleton.tables
        roles, cost = np.zeros(tables.jobs, dtype=np.int64), tables.postponed.copy()
        index = {tuple(key): i for i, key in enumerate(market.leaders.tolist())}
        of_node = {n: v for v, each in enumerate(market.skeleton.classes) for n in each.nodes}
        for j, seat in (opening(tables) or {}).items():
            v, used = of_node[seat.node], len(seat.gpus)
            roles[j] = market.first + index[v, seat.configuration, used]
            leader = np.array([[j, v, seat.configuration, used]])
            cost[j] = market.skeleton.dollars(leader)[0]
        return roles, cost


def _of_a_sample(skeleton: Skeleton, sizes: Floats, settings: Settings) -> PricedOut:
    """Prices of a sample of the jobs, on groups of nodes scaled down likewise."""
    tables = skeleton.tables
    order = np.argsort(tables.postponed, kind="stable")
    every = -(-tables.jobs // SAMPLE_SIZE)
    jobs = np.sort(order[every // 2 :: every])
    share = len(jobs) / tables.jobs
    coarse = replace(skeleton, classes=quantile_classes(tables))
    sizes = share * np.array([float(len(each.nodes)) for each in coarse.classes])
    market = Market(coarse, jobs, sizes)
    search = _Search(market, _point_of(coarse, None), replace(settings, iterations=None))
    search.run(SAMPLE_GAP, settings.deadline)
    whole = Market(coarse, np.arange(tables.jobs), sizes)
    least, _, _ = whole.answers(search.best)
    return PricedOut(coarse, Prices(least, search.best.slots, 0.0))


def _point_of(skeleton: Skeleton, start: PricedOut | None) -> Point:
    """The starting point: zero prices, or the node prices that follow from earlier ones."""
    if start is None:
        shape = skeleton.tables.late.shape[1:]
        return Point(np.zeros(shape), np.zeros(len(skeleton.classes)))
    nodes = np.minimum(start.least(skeleton.classes), 0.0)
    return Point(start.prices.slots, nodes, start.prices.opening)
