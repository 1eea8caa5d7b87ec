"""Policy ``price-patterns``: ``price``, with a MILP over node patterns for the assignment.

It maximises the sum of nu s - c k. Per (type, GPUs) of nodes, integer y counts nodes cut into a
partition of their GPUs; per type, integer g counts shared GPUs by maximal fill; x[j, t, c] >= 0
assigns jobs. Slots may be larger than their job: for every size k, jobs of size >= k are at most
slots of size >= k. With y and g fixed the rows are laminar, so x is integral at a vertex.

Guarantee: optimal for one decision if the solver ends within its limits; otherwise never worse than
the greedy assignment. Not in the paper.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from optsched.arrays import Floats
from optsched.errors import NotApplicableError
from optsched.result import Settings
from optsched.rolling.policies.fewest_migrations import Placed, placed_of
from optsched.rolling.policies.price import Price, assign_greedily
from optsched.rolling.simulator.world import View, World
from optsched.selection.assignment import Placement
from optsched.selection.cost import Tables
from optsched.selection.models.packings import maximal_fills, partitions

MAX_GPUS = 16
MAX_FILLS = 2_000
GAP = 1e-4
MAX_NODES = 10_000
"""Of branch and bound: a limit that does not depend on the machine's speed."""

Terms = list[tuple[int, float]]


class PricePatterns(Price):
    """Policy ``price`` with assignment by the MILP, until the deadline of the settings."""

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
    options = {"mip_rel_gap": GAP, "node_limit": MAX_NODES} | (
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
        if gpus > MAX_GPUS:
            raise NotApplicableError(
                "price-patterns", f"nodes of {gpus} GPUs", f"at most {MAX_GPUS}"
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
