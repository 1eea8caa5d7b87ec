"""Maximise the Lagrangian bound by Dantzig-Wolfe column generation over groups of jobs.

Given duals of slots, of nodes by class and of opening a node, every job takes its cheapest role:
postponed, follower in a slot, or leader of a node. The sum of the jobs' minimum reduced costs plus
the (non-positive) node terms is a lower bound. The restricted master problem over arcs, fills and
convex combinations of each group's earlier columns gives the next duals. It has a row for each kind
of slot, class and group, not for each job, so it stays small. Duals are stabilised towards the best
duals so far (Wentges smoothing). The jobs of a group form one column; with at most MAX_SINGLE_JOBS
jobs, each job is its own group. Complexity of a round: O(J C log V) and one LP of a few hundred
rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array, hstack

from optsched.backends.arrays import GrowingLp, MilpArrays
from optsched.deadline import Deadline
from optsched.errors import NotApplicableError
from optsched.result import Settings
from optsched.selection.bounds.prices import DualBound, SlotValues, low_lines
from optsched.selection.cost import TARDINESS, tables_of
from optsched.selection.exact.grouping import grouped_classes
from optsched.selection.exact.incumbents import opening_leaders
from optsched.selection.instance import SelectionInstance
from optsched.selection.models.arcs import ArcFlow, Floats, Ints, arc_flow_of, sparse
from optsched.selection.options import SelectionOptions

MAX_ROUNDS = 1_000
"""A safeguard: instances of 40,000 jobs need some dozens."""
MAX_SINGLE_JOBS = 400
"""Instances with at most this many jobs have a column per job and round; larger ones group jobs."""
MIN_GROUPS = 40
"""Fewer groups make the master LP small but the rounds many."""
SMOOTHING = 0.7
"""Weight of the best duals so far in the next ones (Wentges, 1997)."""
CONVERGENCE_RTOL = 1e-9
WEIGHT_TOL = 1e-9
QUICK_GAP = 5e-6
"""Relative gap at which `quick_bound` stops: below the tolerance of a proof."""


@dataclass(frozen=True, eq=False)
class DualSearchResult:
    """The best duals, and the roles in use in the last master LP."""

    dual_bound: DualBound
    bound: float
    """For the cluster's own node classes."""
    leaders: Ints
    """(j, v, L, u) in each row."""
    followers: Ints
    """(j, t, c) in each row."""
    rounds: int
    """Master LPs solved."""


class Duals(NamedTuple):
    """Duals of slots (T, C), of node classes (<= 0) and of opening a node, in dollars."""

    slots: Floats
    nodes: Floats
    opening: float = 0.0

    def combined(self, other: Duals, weight: float) -> Duals:
        return Duals(
            weight * self.slots + (1 - weight) * other.slots,
            weight * self.nodes + (1 - weight) * other.nodes,
            weight * self.opening + (1 - weight) * other.opening,
        )


def maximise_bound(
    flow: ArcFlow, settings: Settings, gap: float, start: DualBound | None = None
) -> DualSearchResult:
    """Improve the duals until the bound is within `gap` (relative) of the master LP's value."""
    pricing = PricingProblem(flow)
    search = _Search(pricing, _initial_duals(flow, start), settings)
    search.run(gap, settings.deadline)
    reduced_costs, _, _ = pricing.best_roles(search.best_duals)
    duals = search.best_duals
    dual_bound = DualBound(flow, reduced_costs, duals.slots, duals.opening)
    dual_bound = _reduce_opening_price(dual_bound)
    jobs, roles = search.in_use()
    is_leader, is_follower = roles >= pricing.first, (roles > 0) & (roles < pricing.first)
    leaders = np.column_stack([jobs[is_leader], pricing.leaders[roles[is_leader] - pricing.first]])
    followers = np.column_stack(
        [jobs[is_follower], *np.divmod(roles[is_follower] - 1, flow.max_configurations)]
    )
    return DualSearchResult(dual_bound, dual_bound.bound(), leaders, followers, search.rounds)


def quick_bound(
    instance: SelectionInstance, options: SelectionOptions, deadline: Deadline | None = None
) -> tuple[float, str]:
    """Lower bound in dollars after a few rounds, or from tardiness alone, and its name."""
    tables, deadline = tables_of(instance, options), deadline or Deadline()
    if deadline.is_over:
        return tables.unavoidable_cost, TARDINESS
    try:
        flow = arc_flow_of(tables, grouped_classes(tables))
    except NotApplicableError:
        return tables.unavoidable_cost, TARDINESS
    result = maximise_bound(flow, Settings().within(deadline), QUICK_GAP)
    if result.rounds == 0:
        return tables.unavoidable_cost, TARDINESS
    return max(result.bound, 0.0), f"price certificate after {result.rounds} rounds"


class PricingProblem:
    """Each job's cheapest role. Roles are 0 (postponed), 1 + t C + c (follower), then leaders."""

    def __init__(self, flow: ArcFlow) -> None:
        self.flow, self.tables, jobs = flow, flow.tables, flow.tables.jobs
        self.sizes = np.array([float(len(node_class.nodes)) for node_class in flow.classes])
        self.first = 1 + len(flow.tables.kinds) * flow.max_configurations
        self.groups = min(jobs, max(MIN_GROUPS, MAX_SINGLE_JOBS**2 // jobs))
        self.group = np.arange(jobs) % self.groups

    @cached_property
    def leaders(self) -> Ints:
        """(v, L, u) of each leader's role."""
        by_class = [np.array(self.flow.leader_uses(v)) for v in range(len(self.flow.classes))]
        return np.concatenate([np.insert(uses, 0, v, axis=1) for v, uses in enumerate(by_class)])

    @cached_property
    def role_coefficients(self) -> csr_array:
        """Coefficients of each role (row) in the class, residue and slot constraints (columns)."""
        start, slots = self.flow.first_rows, np.arange(self.first - 1)
        entries = [(1 + slots, start["slot"] + slots, 1.0)]
        for index, row, value in self.flow.node_entries(self.leaders):
            entries.append((self.first + index, row, value))
        shape = (self.first + len(self.leaders), start["end"])
        return sparse(entries, shape)[:, start["class"] :]

    @cached_property
    def _leader_roles(self) -> list[tuple[int, int, Ints, Floats]]:
        """By type and leader's configuration: the roles, and the cost rates of their nodes."""
        v, c, used = self.leaders.T
        kinds = self.flow.kinds[v]
        rates = self.flow.rates[v, used - 1]
        roles_by_configuration = []
        for t, kind in enumerate(self.tables.kinds):
            for configuration in range(len(kind.configurations)):
                roles = np.flatnonzero((kinds == t) & (c == configuration))
                is_usable = np.isfinite(self.tables.tardiness_cost[:, t, configuration]).any()
                if len(roles) and is_usable:
                    roles_by_configuration.append((t, configuration, roles, rates[roles]))
        return roles_by_configuration

    def best_roles(self, duals: Duals) -> tuple[Floats, Ints, Floats]:
        """For each job: its minimum reduced cost, the role that attains it, and the role's cost."""
        values = SlotValues(self.flow, duals.slots)
        index = np.arange(self.tables.jobs)
        follower = (self.tables.tardiness_cost + values.slots).reshape(len(index), -1)
        slot = follower.argmin(axis=1)
        follower_cost = follower[index, slot]
        follows = follower_cost < self.tables.postponement_cost
        reduced_cost = np.where(follows, follower_cost, self.tables.postponement_cost)
        role = np.where(follows, 1 + slot, 0)
        tardiness_cost = self.tables.tardiness_cost.reshape(len(index), -1)[index, slot]
        cost = np.where(follows, tardiness_cost, self.tables.postponement_cost)
        v, _, used = self.leaders.T
        for t, c, roles, rates in self._leader_roles:
            credit = values.credits[t][c, used[roles]] + duals.nodes[v[roles]] + duals.opening
            seconds = self.tables.expected[:, t, c]
            is_usable = np.isfinite(seconds)
            candidates = low_lines(rates, -credit, seconds[is_usable])
            seconds = np.where(is_usable, seconds, 0.0)
            lines = rates[candidates, None] * seconds - credit[candidates, None]
            best_line = lines.argmin(axis=0)
            tardiness_cost = self.tables.tardiness_cost[:, t, c]
            leader_cost = lines[best_line, index] + tardiness_cost
            leads = leader_cost < reduced_cost
            best_line = candidates[best_line[leads]]
            reduced_cost[leads], role[leads] = leader_cost[leads], self.first + roles[best_line]
            cost[leads] = tardiness_cost[leads] + rates[best_line] * seconds[leads]
        return reduced_cost, role, cost


class _Search:
    """The restricted master LP, and the best duals so far."""

    def __init__(self, pricing: PricingProblem, start: Duals, settings: Settings) -> None:
        flow = pricing.flow
        self.pricing, self.best_duals, self.bound = pricing, start, -np.inf
        self.value: float | None = None
        self.rounds, self.duals, self._settings = 0, start, settings
        self._roles: list[Ints] = []
        self._weights = np.empty(0)
        _, base_columns = flow.base_columns
        slices, first_class_row = flow.slices, flow.first_rows["class"]
        base_columns = base_columns[slices["arcs"].start :, first_class_row:]
        self._base_columns, self._first_class_row = base_columns.shape[0], first_class_row
        lower, upper = (bounds[first_class_row:].copy() for bounds in flow.row_bounds)
        upper[: len(pricing.sizes)] = pricing.sizes
        ones, zero_cost = np.ones(pricing.groups), np.zeros(self._base_columns)
        matrix = hstack([base_columns, csr_array((self._base_columns, pricing.groups))])
        self._lp = GrowingLp(
            MilpArrays(
                zero_cost,
                csr_array(csr_array(matrix).T),
                np.append(lower, ones),
                np.append(upper, ones),
                zero_cost,
                np.full(self._base_columns, np.inf),
                np.zeros(self._base_columns, dtype=bool),
            ),
            replace(settings, time_limit=None),
        )
        self._add(np.zeros(pricing.tables.jobs, dtype=np.int64), pricing.tables.postponement_cost)
        if flow.tables.options.opens_exactly:
            self._add(*self._opening_roles())

    def run(self, gap: float, clock: Deadline) -> None:
        """Price and solve by turns until value and bound meet, or rounds or time run out."""
        given = self._settings.iterations
        max_rounds, unit = (
            MAX_ROUNDS if given is None else max(given, 1),
            self.pricing.tables.money_unit,
        )
        while True:
            reduced_costs, roles, cost = self.pricing.best_roles(self.duals)
            bound = float(reduced_costs.sum() + self.duals.nodes @ self.pricing.sizes)
            bound += self.duals.opening * self.pricing.flow.tables.max_open_nodes
            if bound > self.bound:
                self.bound, self.best_duals = bound, self.duals
            if self._is_close(gap) or self.rounds >= max_rounds or clock.is_over:
                return
            self._add(roles, cost)
            answer = self._lp.solve(clock)
            if answer is None:
                return
            self.rounds += 1
            self.value = answer.objective * unit
            self._weights = answer.values[self._base_columns :]
            if self._is_close(gap):
                return
            master_duals = self._duals_of_master(answer.duals * unit)
            self.duals = self.best_duals.combined(master_duals, SMOOTHING)

    def in_use(self) -> tuple[Ints, Ints]:
        """Jobs and roles with positive weight in the last master solution."""
        groups = self.pricing.groups
        weights = self._weights.reshape(-1, groups)
        pairs_by_round = [np.empty((0, 2), dtype=np.int64)]
        for roles, weight in zip(self._roles, weights, strict=False):
            jobs = np.flatnonzero(weight[self.pricing.group] > WEIGHT_TOL)
            pairs_by_round.append(np.column_stack([jobs, roles[jobs]]))
        pairs = np.unique(np.concatenate(pairs_by_round), axis=0)
        return pairs[:, 0], pairs[:, 1]

    def _is_close(self, gap: float) -> bool:
        if self.value is None:
            return False
        return self.value - self.bound <= max(CONVERGENCE_RTOL, gap) * max(abs(self.value), 1e-12)

    def _duals_of_master(self, duals: Floats) -> Duals:
        """Duals of the master LP, with slot duals made non-decreasing in the slot's size.

        This keeps the bound and makes the set convex. On this set the bound is concave, so
        smoothing never gives less than the interpolated bound.
        """
        flow = self.pricing.flow
        first = {family: row - self._first_class_row for family, row in flow.first_rows.items()}
        slots = -duals[first["slot"] : first["leader_gpu"]].reshape(-1, flow.max_configurations)
        slots = SlotValues(flow, np.maximum(slots, 0.0)).slots
        nodes = duals[: first["residue"]]
        opens = flow.tables.options.opens_exactly
        opening_dual = float(duals[first["opening"]]) if opens else 0.0
        return Duals(slots, np.minimum(nodes, 0.0), opening_dual)

    def _add(self, roles: Ints, cost: Floats) -> None:
        pricing, groups = self.pricing, self.pricing.groups
        ones = np.ones(len(roles))
        shape = (groups, pricing.role_coefficients.shape[0])
        counts = csr_array(coo_array((ones, (pricing.group, roles)), shape=shape))
        convexity_rows = coo_array((np.ones(groups), (np.arange(groups), np.arange(groups))))
        matrix = csr_array(hstack([counts @ pricing.role_coefficients, convexity_rows]))
        costs = np.bincount(pricing.group, cost, groups) / pricing.tables.money_unit
        self._lp.add_columns(costs, matrix)
        self._roles.append(roles)

    def _opening_roles(self) -> tuple[Ints, Floats]:
        """Roles and costs of a feasible assignment that opens the required number of nodes."""
        pricing, flow = self.pricing, self.pricing.flow
        roles = np.zeros(flow.tables.jobs, dtype=np.int64)
        costs = flow.tables.postponement_cost.copy()
        leaders = opening_leaders(flow)
        role_of = {tuple(use): i for i, use in enumerate(pricing.leaders.tolist())}
        jobs, uses = leaders[:, 0], leaders[:, 1:].tolist()
        roles[jobs] = [pricing.first + role_of[tuple(use)] for use in uses]
        costs[jobs] = flow.dollars(leaders)
        return roles, costs


def _reduce_opening_price(dual_bound: DualBound) -> DualBound:
    """Move the price of opening to the jobs that lead, by halves, while the bound stays.

    Prices of energy that cancel in a bound of far less cost it its digits.
    """
    least = dual_bound.bound() * (1 - CONVERGENCE_RTOL)
    while dual_bound.opening:
        half = dual_bound.opening / 2
        moved = DualBound(dual_bound.flow, dual_bound.jobs + half, dual_bound.values.slots, half)
        if not moved.bound() >= least > 0:
            break
        dual_bound = moved
    return dual_bound


def _initial_duals(flow: ArcFlow, start: DualBound | None) -> Duals:
    """Initial duals: zero, or the node duals implied by earlier slot duals."""
    if start is None:
        shape = flow.tables.tardiness_cost.shape[1:]
        return Duals(np.zeros(shape), np.zeros(len(flow.classes)))
    nodes = np.minimum(start.min_reduced_costs(flow.classes), 0.0)
    return Duals(start.values.slots, nodes, start.opening)
