"""Policy ``price-patterns``: ``price``, with a MILP over node patterns for the assignment.

It maximises the sum of nu s - c k. Per (type, GPUs) of nodes, integer y counts nodes cut into a
partition of their GPUs; per type, integer g counts shared GPUs by maximal fill; x[j, t, c] >= 0
assigns jobs. A slot may hold a smaller job, so for each size the jobs of at least that size fit the
slots of at least that size. With y and g fixed the rows are laminar, so x is integral at a vertex.

Guarantee: optimal for one decision when the solver ends within its limits; otherwise the best
assignment found, at least the greedy one. Beyond the paper.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optsched.deadline import Deadline
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

Floats = NDArray[np.float64]
Terms = list[tuple[int, float]]


def price_patterns(name: str, world: World, settings: Settings) -> PricePatterns:
    """Make the policy; the deadline of the settings cuts its MILPs."""
    return PricePatterns(world, name, settings.deadline)


class PricePatterns(Price):
    """The policy."""

    def __init__(self, world: World, name: str, deadline: Deadline) -> None:
        super().__init__(world, name)
        self.deadline = deadline

    def assign(self, view: View, gain: Floats, prices: Floats, urgency: Floats) -> Placed:
        """Assign the jobs present by the MILP."""
        free = np.zeros(len(prices))
        most = np.where(np.isfinite(gain), gain, 0.0).reshape(len(gain), -1).max(axis=1)
        greedy = assign_greedily(gain, free, most, self.types.sizes, self.kinds, self.nodes)
        return assign_by_patterns(view.tables, gain, greedy, self.deadline.left)


@dataclass(frozen=True)
class _Columns:
    """Columns: x (job, type, configuration), y (type, GPUs, partition), g (type, fill)."""

    choices: list[tuple[int, int, int]]
    cuts: list[tuple[int, int, tuple[int, ...]]]
    fills: list[tuple[int, tuple[int, ...]]]

    def of_cut(self, index: int) -> int:
        return len(self.choices) + index

    def of_fill(self, index: int) -> int:
        return len(self.choices) + len(self.cuts) + index

    @property
    def count(self) -> int:
        return len(self.choices) + len(self.cuts) + len(self.fills)


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
    attained = gain[greedy.job, tables.kind_of[greedy.node], greedy.configuration].sum()
    if answer.x is None or attained >= -answer.fun * unit:
        return greedy
    return placed_of(_seats(tables, columns, answer.x))


def _columns(tables: Tables, gain: Floats) -> _Columns:
    choices = [(int(j), int(t), int(c)) for j, t, c in np.argwhere(gain > 0)]
    cuts, fills = [], []
    for t, gpus in sorted({(each.kind, each.gpus) for each in tables.classes}):
        if gpus > MAX_GPUS:
            raise NotApplicableError(
                "price-patterns", f"nodes of {gpus} GPUs", f"at most {MAX_GPUS}"
            )
        cuts += [(t, gpus, tuple(sizes)) for sizes in partitions(gpus)]
    for t, kind in enumerate(tables.kinds):
        shares = tuple(kind.configurations[c].fraction for c in kind.fractions)
        kind_fills = maximal_fills(shares, MAX_FILLS) if shares else ()
        if kind_fills is None:
            found = f"too many fills of a GPU of {kind.name}"
            raise NotApplicableError("price-patterns", found, f"at most {MAX_FILLS}")
        fills += [(t, tuple(fill)) for fill in kind_fills]
    return _Columns(choices, cuts, fills)


def _rows(tables: Tables, columns: _Columns) -> list[tuple[Terms, float]]:
    """Sparse rows a x <= b, as terms (column, a) and b."""
    by_job: dict[int, Terms] = defaultdict(list)
    at: dict[tuple[int, int], Terms] = defaultdict(list)
    for index, (j, t, c) in enumerate(columns.choices):
        by_job[j].append((index, 1.0))
        at[t, c].append((index, 1.0))
    # sum_tc x[j, t, c] <= 1
    rows = [(terms, 1.0) for terms in by_job.values()]
    # sum of y over the partitions of a node size <= number of such nodes
    nodes: dict[tuple[int, int], int] = defaultdict(int)
    for each in tables.classes:
        nodes[each.kind, each.gpus] += len(each.nodes)
    for node_size, count in nodes.items():
        cuts = [i for i, cut in enumerate(columns.cuts) if cut[:2] == node_size]
        rows.append(([(columns.of_cut(i), 1.0) for i in cuts], float(count)))
    for t, kind in enumerate(tables.kinds):
        fills = [(columns.of_fill(i), fill) for i, (u, fill) in enumerate(columns.fills) if u == t]
        # jobs of k GPUs or more, and shared GPUs, <= slots of k GPUs or more
        for size in range(1, kind.gpus + 1):
            terms = [term for c in range(size - 1, kind.gpus) for term in at[t, c]]
            terms += [(column, 1.0) for column, _ in fills] if size == 1 else []
            for i, (u, _, partition) in enumerate(columns.cuts):
                slots = sum(part >= size for part in partition)
                if u == t and slots:
                    terms.append((columns.of_cut(i), -float(slots)))
            rows.append((terms, 0.0))
        # jobs of a fraction <= room for it on the shared GPUs
        for position, c in enumerate(kind.fractions):
            room = [(column, -float(fill[position])) for column, fill in fills if fill[position]]
            rows.append((at[t, c] + room, 0.0))
    return rows


def _seats(tables: Tables, columns: _Columns, x: Floats) -> dict[int, Placement]:
    """GPUs for what the model counts: the largest jobs take the smallest slots that hold them."""
    slots = _slots(tables, columns, x)
    chosen = [key for key, value in zip(columns.choices, x, strict=False) if value > 0.5]
    dedicated = [(j, t, c) for j, t, c in chosen if not tables.kinds[t].configurations[c].shares]
    seats: dict[int, Placement] = {}
    for j, t, c in sorted(dedicated, key=lambda key: -key[2]):
        fitting = [slot for slot in slots[t] if len(slot[1]) >= c + 1]
        if fitting:
            slot = min(fitting, key=lambda s: (len(s[1]), s))
            slots[t].remove(slot)
            seats[j] = Placement(slot[0], slot[1][: c + 1], c)
    shared: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for i, (t, fill) in enumerate(columns.fills):
        for _ in range(round(x[columns.of_fill(i)])):
            if slots[t]:
                node, gpus = slots[t].pop()
                for c, count in zip(tables.kinds[t].fractions, fill, strict=True):
                    shared[t, c] += [(node, gpus[0])] * count
    for j, t, c in chosen:
        if j not in seats and shared[t, c]:
            node, gpu = shared[t, c].pop(0)
            seats[j] = Placement(node, (gpu,), c)
    return seats


def _slots(
    tables: Tables, columns: _Columns, x: Floats
) -> dict[int, list[tuple[int, tuple[int, ...]]]]:
    """By type, the (node, GPUs) of the parts into which nodes are cut."""
    free: dict[tuple[int, int], list[int]] = defaultdict(list)
    for each in tables.classes:
        free[each.kind, each.gpus] += each.nodes
    slots: dict[int, list[tuple[int, tuple[int, ...]]]] = defaultdict(list)
    for i, (t, gpus, partition) in enumerate(columns.cuts):
        for _ in range(round(x[columns.of_cut(i)])):
            node, gpu = free[t, gpus].pop(0), 0
            for size in partition:
                slots[t].append((node, tuple(range(gpu, gpu + size))))
                gpu += size
    return slots
