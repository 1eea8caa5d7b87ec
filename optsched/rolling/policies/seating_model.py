"""Seating by a MILP over node patterns: maximise the sum of nu s - c k.

Per (type, GPUs) of nodes, integer y counts nodes cut into a partition of their GPUs, integer g
shared GPUs by maximal fill; x[j, t, c] >= 0 seats jobs. A slot may hold a smaller job, so for each
size the jobs of at least that size fit the slots of at least that size. With y and g fixed the rows
are laminar, so x comes out integral at a vertex. Guarantee: optimal for this one decision when the
solver ends within its limits; else the best seating it has found.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from optsched.errors import NotApplicableError
from optsched.rolling.policies._same_gpus_kernel import Placed
from optsched.rolling.policies.same_gpus import placed_of
from optsched.rolling.policies.seating import Seating
from optsched.selection.assignment import Seat
from optsched.selection.cost import Configuration, Tables
from optsched.selection.models.packings import maximal_fills, partitions

MOST_GPUS = 16
MOST_FILLS = 2_000
GAP = 1e-4
MOST_NODES = 10_000
"""Of branch and bound: a limit that does not depend on the machine's speed."""

Floats = NDArray[np.float64]


@dataclass
class _Rows:
    """Sparse rows a x <= b while they are written."""

    row: list[int] = field(default_factory=list)
    column: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    limit: list[float] = field(default_factory=list)

    def add(self, terms: list[tuple[int, float]], limit: float) -> None:
        """One row."""
        for column, value in terms:
            self.row.append(len(self.limit))
            self.column.append(column)
            self.value.append(value)
        self.limit.append(limit)


@dataclass(frozen=True)
class _Columns:
    seats: list[tuple[int, int, int]]
    cuts: list[tuple[int, int, tuple[int, ...]]]
    fills: list[tuple[int, tuple[int, ...]]]

    def of_cut(self, index: int) -> int:
        return len(self.seats) + index

    def of_fill(self, index: int) -> int:
        return len(self.seats) + len(self.cuts) + index

    @property
    def count(self) -> int:
        return len(self.seats) + len(self.cuts) + len(self.fills)


def seat_by_patterns(tables: Tables, gain: Floats, time_limit: float | None) -> Placed:
    """Seats; the greedy ones when the limit passes without a better seating."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_matrix

    urgency = np.where(np.isfinite(gain), gain, 0.0).reshape(tables.jobs, -1).max(axis=1)
    greedy = Seating(tables).by_gain(gain, np.zeros(len(tables.kinds)), urgency)
    if time_limit == 0.0:
        return greedy
    columns = _columns(tables, gain)
    worth = np.zeros(columns.count)
    worth[: len(columns.seats)] = [gain[key] for key in columns.seats]
    if not columns.seats:
        return placed_of({})
    rows = _rows(tables, columns)
    shape = (len(rows.limit), columns.count)
    matrix = csr_matrix((rows.value, (rows.row, rows.column)), shape=shape)
    whole = np.zeros(columns.count)
    whole[len(columns.seats) :] = 1
    unit = float(np.abs(worth).max())
    options = {"mip_rel_gap": GAP, "node_limit": MOST_NODES} | (
        {} if time_limit is None else {"time_limit": time_limit}
    )
    answer = milp(
        -worth / unit,
        integrality=whole,
        bounds=Bounds(0, np.inf),
        constraints=LinearConstraint(matrix, -np.inf, np.array(rows.limit)),
        options=options,
    )
    if answer.x is None or _total(tables, gain, greedy) >= -answer.fun * unit:
        return greedy
    return placed_of(_laid_out(tables, columns, answer.x))


def _total(tables: Tables, gain: Floats, placed: Placed) -> float:
    return sum(gain[placed.job, tables.kind_of[placed.node], placed.configuration].tolist())


def _columns(tables: Tables, gain: Floats) -> _Columns:
    seats = [(int(j), int(t), int(c)) for j, t, c in np.argwhere(gain > 0)]
    cuts, fills = [], []
    sizes = {(each.kind, each.gpus) for each in tables.classes}
    for t, gpus in sorted(sizes):
        if gpus > MOST_GPUS:
            found = f"nodes of {gpus} GPUs"
            raise NotApplicableError("price-patterns", found, f"at most {MOST_GPUS}")
        cuts += [(t, gpus, tuple(sizes)) for sizes in partitions(gpus)]
    for t, kind in enumerate(tables.kinds):
        shared = tuple(kind.configurations[c].fraction for c in kind.fractions)
        found_fills = maximal_fills(shared, MOST_FILLS) if shared else ()
        if found_fills is None:
            name = f"too many fills of a GPU of {kind.name}"
            raise NotApplicableError("price-patterns", name, f"at most {MOST_FILLS}")
        fills += [(t, tuple(fill)) for fill in found_fills]
    return _Columns(seats, cuts, fills)


def _rows(tables: Tables, columns: _Columns) -> _Rows:
    rows = _Rows()
    own: dict[int, list[tuple[int, float]]] = defaultdict(list)
    at: dict[tuple[int, int], list[int]] = defaultdict(list)
    for index, (j, t, c) in enumerate(columns.seats):
        own[j].append((index, 1.0))
        at[t, c].append(index)
    for terms in own.values():
        rows.add(terms, 1.0)
    nodes: dict[tuple[int, int], int] = defaultdict(int)
    for each in tables.classes:
        nodes[each.kind, each.gpus] += len(each.nodes)
    for (t, gpus), count in nodes.items():
        cut = [i for i, key in enumerate(columns.cuts) if key[:2] == (t, gpus)]
        rows.add([(columns.of_cut(i), 1.0) for i in cut], float(count))
    for t, kind in enumerate(tables.kinds):
        _rows_of_kind(rows, columns, at, t, kind.gpus, kind.fractions)
    return rows


def _rows_of_kind(
    rows: _Rows,
    columns: _Columns,
    at: dict[tuple[int, int], list[int]],
    t: int,
    gpus: int,
    fractions: list[int],
) -> None:
    fills = [(i, fill) for i, (u, fill) in enumerate(columns.fills) if u == t]
    for size in range(1, gpus + 1):
        terms = [(x, 1.0) for c in range(size - 1, gpus) for x in at[t, c]]
        terms += [(columns.of_fill(i), 1.0) for i, _ in fills] if size == 1 else []
        slots = [
            (i, sum(s >= size for s in p)) for i, (u, _, p) in enumerate(columns.cuts) if u == t
        ]
        terms += [(columns.of_cut(i), -float(n)) for i, n in slots if n]
        rows.add(terms, 0.0)
    for position, c in enumerate(fractions):
        terms = [(x, 1.0) for x in at[t, c]]
        terms += [(columns.of_fill(i), -float(f[position])) for i, f in fills if f[position]]
        rows.add(terms, 0.0)


def _laid_out(tables: Tables, columns: _Columns, x: Floats) -> dict[int, Seat]:
    """Real GPUs for what the model counts: the largest jobs take the smallest slot that holds."""
    slots = _slots(tables, columns, x)
    chosen = [key for key, value in zip(columns.seats, x, strict=False) if value > 0.5]
    shared: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    seats: dict[int, Seat] = {}
    dedicated = [key for key in chosen if not _configuration(tables, key).shares]
    for j, t, c in sorted(dedicated, key=lambda key: -key[2]):
        fitting = [slot for slot in slots[t] if len(slot[1]) >= c + 1]
        if fitting:
            slot = min(fitting, key=lambda s: (len(s[1]), s))
            slots[t].remove(slot)
            seats[j] = Seat(slot[0], slot[1][: c + 1], c)
    for i, (t, fill) in enumerate(columns.fills):
        for _ in range(round(x[columns.of_fill(i)])):
            if slots[t]:
                node, gpus = slots[t].pop()
                for c, count in zip(tables.kinds[t].fractions, fill, strict=True):
                    shared[t, c] += [(node, gpus[0])] * count
    for j, t, c in chosen:
        if j not in seats and shared[t, c]:
            node, gpu = shared[t, c].pop(0)
            seats[j] = Seat(node, (gpu,), c)
    return seats


def _configuration(tables: Tables, key: tuple[int, int, int]) -> Configuration:
    return tables.kinds[key[1]].configurations[key[2]]


def _slots(
    tables: Tables, columns: _Columns, x: Floats
) -> dict[int, list[tuple[int, tuple[int, ...]]]]:
    free: dict[tuple[int, int], list[int]] = defaultdict(list)
    for each in tables.classes:
        free[each.kind, each.gpus] += each.nodes
    slots: dict[int, list[tuple[int, tuple[int, ...]]]] = defaultdict(list)
    for i, (t, gpus, sizes) in enumerate(columns.cuts):
        for _ in range(round(x[columns.of_cut(i)])):
            node, gpu = free[t, gpus].pop(0), 0
            for size in sizes:
                slots[t].append((node, tuple(range(gpu, gpu + size))))
                gpu += size
    return slots
