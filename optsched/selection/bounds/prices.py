"""Duals of jobs and slots, the Lagrangian bound they give, and reduced costs of leader columns.

The bound holds for any prices (models/selection/README.md, "Certificate"): LB = sum_j lam'_j +
sum_v N_v kappa_v, plus theta * min(|J|, |N|) when exactly that many nodes must be open.
"""

import numpy as np

from optsched.selection.cost import NodeClass
from optsched.selection.models.arcs import ArcFlow, Floats, Ints
from optsched.selection.solution import Certificate

MAX_ENTRIES = 4_000_000
"""Largest (lines x points) array built at once: 32 MB."""


class SlotValues:
    """Value at the slot duals of the GPUs that a leader leaves free.

    `slots` (T, C) are the slot duals, made non-decreasing in the number of GPUs. `credits` has by
    type an array (C, K + 1) of R(u - |L|) + h(L) at [L, u], packings and fills; minus infinity
    where a node with u GPUs in use has no leader L.
    """

    def __init__(self, flow: ArcFlow, slots: Floats) -> None:
        self.slots = slots.copy()
        self.credits: list[Floats] = []
        for t, kind in enumerate(flow.tables.kinds):
            self.slots[t, : kind.gpus] = np.maximum.accumulate(self.slots[t, : kind.gpus])
            fills = self._fill_values(flow, t)
            packing = self._packing_values(self.slots[t, : kind.gpus], fills[-1])
            credits = np.full((len(kind.configurations), kind.gpus + 1), -np.inf)
            for c, configuration in enumerate(kind.configurations):
                rest_of_gpu = fills[c] if configuration.shares else 0.0
                free_gpus = packing[: kind.gpus + 1 - configuration.gpus]
                credits[c, configuration.gpus :] = free_gpus + rest_of_gpu
            self.credits.append(credits)

    def _fill_values(self, flow: ArcFlow, t: int) -> dict[int, float]:
        """Largest value of a GPU's free share, by the leader's fraction on it; -1: no leader."""
        leaders, slots = flow.slots_by_fill[t]
        values = slots @ self.slots[t]
        keys = (-1, *flow.tables.kinds[t].fractions)
        return {c: float(values[leaders == c].max(initial=0.0)) for c in keys}

    @staticmethod
    def _packing_values(slot_values: Floats, shared_gpu_value: float) -> Floats:
        """R(r): the packing of largest value of r GPUs, by dynamic programming."""
        items = slot_values.copy()
        items[0] = max(items[0], shared_gpu_value)
        best = np.zeros(len(items) + 1)
        for r in range(1, len(items) + 1):
            best[r] = (best[r - 1 :: -1][:r] + items[:r]).max()
        return best


class DualBound:
    """Lagrangian bound at duals lam (J,), mu (T, C; 0 beyond a type's own) and theta, in dollars.

    `jobs` has lam'_j; `values`, what the slot duals make of GPUs.
    """

    def __init__(self, flow: ArcFlow, jobs: Floats, slots: Floats, opening: float) -> None:
        self.flow, self.opening = flow, opening
        self.values = SlotValues(flow, slots)
        tables = flow.tables
        follower = (tables.tardiness_cost + self.values.slots).reshape(tables.jobs, -1).min(axis=1)
        self.jobs = np.minimum(np.minimum(jobs, tables.postponement_cost), follower)

    def certificate(self, bound: float) -> Certificate:
        """Convert the duals to the certificate stored in a solution file."""
        slots = {
            kind.name: tuple(self.values.slots[t, : len(kind.configurations)].tolist())
            for t, kind in enumerate(self.flow.tables.kinds)
        }
        jobs = tuple(self.jobs.tolist())
        return Certificate(jobs=jobs, slots=slots, opening=float(self.opening), bound=bound)

    def reduced_costs(self, v: int) -> Floats:
        """rc of class v's leaders, jobs x `ArcFlow.leader_uses`."""
        c, used = np.array(self.flow.leader_uses(v)).T
        credits = self.values.credits[self.flow.classes[v].kind][c, used]
        return self.flow.leader_costs(v) - self.jobs[:, None] - credits - self.opening

    def min_reduced_costs(self, node_classes: tuple[NodeClass, ...]) -> Floats:
        """Minimum reduced cost (a line in the node's rate) of a leader in each given class."""
        tables, minima = self.flow.tables, np.empty(len(node_classes))
        for t, credits in enumerate(self.values.credits):
            of_type = [v for v, node_class in enumerate(node_classes) if node_class.kind == t]
            rates = np.full((len(of_type), credits.shape[1]), np.nan)
            for row, v in zip(rates, of_type, strict=True):
                row[1 : node_classes[v].gpus + 1] = node_classes[v].cost_rate
            minimum = np.full(len(of_type), np.inf)
            for c, credit in enumerate(credits):
                is_usable = np.isfinite(rates) & np.isfinite(credit)
                fixed = tables.tardiness_cost[:, t, c] - self.jobs
                runnable = np.isfinite(fixed)
                if is_usable.any() and runnable.any():
                    lines = tables.expected[runnable, t, c], fixed[runnable]
                    reduced = np.full(rates.shape, np.inf)
                    reduced[is_usable] = min_of_lines(*lines, rates[is_usable])
                    reduced -= np.where(is_usable, credit, 0.0)
                    minimum = np.minimum(minimum, reduced.min(axis=1))
            minima[of_type] = minimum
        return minima - self.opening

    def bound(self) -> float:
        """Lower bound in dollars for the cluster's own node classes."""
        tables = self.flow.tables
        sizes = np.array([len(node_class.nodes) for node_class in tables.classes])
        class_duals = np.minimum(self.min_reduced_costs(tables.classes), 0.0)
        opened = self.opening * tables.max_open_nodes
        return float(self.jobs.sum() + sizes @ class_duals + opened)


def low_lines(slopes: Floats, fixed: Floats, points: Floats) -> Ints:
    """Indices of the lines that no other line is below at both ends of the range of the points."""
    at_first, at_last = (slopes * x + fixed for x in (points.min(), points.max()))
    order = np.lexsort((at_last, at_first))
    low = np.minimum.accumulate(at_last[order])
    return order[np.append(True, at_last[order][1:] < low[:-1])]


def min_of_lines(slopes: Floats, fixed: Floats, points: Floats) -> Floats:
    """Minimum over the lines slope * x + intercept at each point."""
    candidates = low_lines(slopes, fixed, points)
    minimum = np.full(len(points), np.inf)
    for chunk in np.array_split(candidates, 1 + len(candidates) * len(points) // MAX_ENTRIES):
        if len(chunk):
            values = slopes[chunk, None] * points + fixed[chunk, None]
            minimum = np.minimum(minimum, values.min(axis=0))
    return minimum


def cheapest_leaders(
    flow: ArcFlow, dual_bound: DualBound, v: int, count: int
) -> tuple[Ints, Floats]:
    """Class v's `count` leaders (j, v, L, u) of least reduced cost, and those costs."""
    reduced = dual_bound.reduced_costs(v).ravel()
    count = min(count, int(np.isfinite(reduced).sum()))
    if count == 0:
        return np.empty((0, 4), dtype=np.int64), np.empty(0)
    chosen = np.argpartition(reduced, count - 1)[:count]
    uses = np.array(flow.leader_uses(v))
    jobs, pairs = np.divmod(chosen, len(uses))
    leaders = np.column_stack([jobs, np.full(count, v), uses[pairs]])
    return leaders, reduced[chosen]
