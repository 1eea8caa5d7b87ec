"""Bound ``columns``: the linear relaxation over classes of equal nodes, by column generation.

Guarantee: no packing leaves fewer GPUs idle, not even one that chooses its tasks. The nodes of a
class pool their CPU, memory and GPUs. A GPU is filled by a pattern: shares of at most 1,000 milli,
or one whole GPU. The most valuable patterns at the duals are found by a knapsack and added as
columns until none improves. What the relaxation forgets is which CPU is beside which GPU.
Complexity: a round is one linear programme and O(1000 K F) steps for K classes and F sizes.
Source: models/packing/README.md, (7)-(11); Gilmore and Gomory (1961).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, vstack

from optsched.backends.arrays import GrowingLp, LpSolution, MilpArrays
from optsched.deadline import Deadline
from optsched.packing.instance import MILLI, PackingInstance
from optsched.packing.options import PackingOptions
from optsched.packing.tables import Ints, Tables
from optsched.result import Outcome, Settings, Termination

Floats = NDArray[np.float64]
Pattern = tuple[int, Ints]
"""A class of nodes, and how many shares of each size are on one GPU."""

SOURCE = "column bound"
PRICING_RTOL = 1e-7
"""A pattern is added if its value exceeds the GPU's dual by more than this share of a GPU."""
ROUNDING_RTOL = 1e-9
ROUNDING_MILLI = 1e-3


@dataclass(frozen=True)
class Prices:
    """Non-negative duals, in GPUs, and the bound on the idle GPUs that they prove.

    `cpu` and `memory` (K,) are for a core-milli and a byte of each class, `shares` (K, F) for a
    share of each size, smallest first and whole GPUs last. `allocated` bounds the allocated GPUs.
    """

    cpu: Floats
    memory: Floats
    shares: Floats
    allocated: float
    bound: float

    def to_dict(self) -> dict[str, Any]:
        """The certificate as a JSON object."""
        lists = {key: getattr(self, key).tolist() for key in ("cpu", "memory", "shares")}
        return {"kind": "prices", **lists, "bound": self.bound}


@dataclass(frozen=True)
class Relaxation:
    """The last programme's tasks by type and class (T, K), and the best prices."""

    tasks: Floats
    prices: Prices


def columns(instance: PackingInstance, options: PackingOptions, settings: Settings) -> Outcome:
    """Bound the idle GPUs by column generation."""
    prices = solve_relaxation(Tables(instance), settings.deadline).prices
    return Outcome(
        None,
        Termination.TIME_LIMIT if settings.deadline.is_over else Termination.FEASIBLE,
        bound=prices.bound,
        bound_source=SOURCE,
        solve_time=settings.deadline.spent,
        certificate=prices,
    )


def quick_bound(
    instance: PackingInstance, options: PackingOptions, deadline: Deadline | None = None
) -> tuple[float, str, Prices]:
    """The bound that certifies every heuristic's row, its source and its certificate."""
    prices = solve_relaxation(Tables(instance), deadline or Deadline()).prices
    return prices.bound, SOURCE, prices


def allocated_at_most(tables: Tables, requested: Sequence[float], points: int = 12) -> Floats:
    """Bound the GPUs that any packing of the first arrivals allocates, by requested GPUs.

    The prices of `points` relaxations, most of them near the full cluster, hold for every prefix of
    the arrivals; the lowest bound counts.
    """
    milli = tables.demand[tables.arrivals, 2]
    wanted = MILLI * np.array(requested) + ROUNDING_MILLI
    ends = np.searchsorted(np.cumsum(milli), wanted, side="right")
    rows = np.arange(len(tables.count)) == tables.arrivals[:, None]
    counts = np.vstack([np.zeros(len(tables.count), int), np.cumsum(rows, axis=0)])[ends]
    bounds = counts @ tables.demand[:, 2] / MILLI
    for at in np.unique(np.linspace(len(ends) // 2, len(ends) - 1, points).astype(int)).tolist():
        programme = _Programme(tables, counts[at])
        prices = solve_relaxation(tables, Deadline(), counts[at]).prices
        income, gain = programme.terms(prices.cpu, prices.memory, prices.shares)
        bounds = np.minimum(bounds, (income + counts @ gain) * (1 + ROUNDING_RTOL))
    return bounds


def solve_relaxation(tables: Tables, deadline: Deadline, count: Ints | None = None) -> Relaxation:
    """Solve the relaxation; at the deadline, the best prices so far.

    `count` replaces the number of tasks of each type.
    """
    programme = _Programme(tables, tables.count if count is None else count)
    lp = GrowingLp(programme.arrays(), Settings().within(deadline))
    best = programme.priced(*programme.no_prices())
    tasks = np.zeros(programme.fits.shape)
    while not deadline.is_over:
        solution = lp.solve(deadline)
        if solution is None:
            break
        tasks[programme.fits] = solution.values[: programme.fits.sum()]
        cpu, memory, gpus, shares = programme.duals(solution)
        prices = programme.priced(cpu, memory, shares)
        best = min(best, prices, key=lambda prices: prices.allocated)
        patterns = programme.improving_patterns(gpus, shares)
        if not patterns:
            break
        lp.add_columns(np.zeros(len(patterns)), programme.pattern_columns(patterns))
    return Relaxation(tasks, best)


class _Programme:
    """Rows: tasks of each type; CPU, memory and GPUs of each class; shares by class and size.

    Columns: tasks by type and class, then patterns. CPU and memory are relative to the largest
    node's, so that coefficients lie near 1.
    """

    def __init__(self, tables: Tables, count: Ints) -> None:
        self.tables, self.count = tables, count
        milli = tables.demand[:, 2]
        self.gpus, size = -(-milli // MILLI), np.minimum(milli, MILLI)
        self.sizes = np.unique(np.append(size[size > 0], MILLI))
        self.size = np.searchsorted(self.sizes, size)
        self.fits = tables.fits & (milli > 0)[:, None]
        self.nodes = np.array([len(members) for members in tables.classes])
        self.capacity = tables.capacity[[members[0] for members in tables.classes]]
        self.scale = np.append(np.maximum(tables.capacity[:, :2].max(axis=0), 1), 1).astype(float)
        types, classes = self.fits.shape
        self.first_row = types, types + 3 * classes
        self.rows = types + classes * (3 + len(self.sizes))

    def arrays(self) -> MilpArrays:
        """The programme with one pattern for each class and size: as many of it as fit a GPU."""
        (t, k), classes = np.nonzero(self.fits), len(self.nodes)
        column, (capacity_row, share_row) = np.arange(len(t)), self.first_row
        cpu, memory = self.tables.demand[:, :2].T / self.scale[:2, None]
        entries = [
            (t, np.ones(len(t))),
            (capacity_row + k, cpu[t]),
            (capacity_row + classes + k, memory[t]),
            (share_row + k * len(self.sizes) + self.size[t], self.gpus[t].astype(float)),
        ]
        matrix = coo_array(
            (
                np.concatenate([values for _, values in entries]),
                (np.tile(column, 4), np.concatenate([rows for rows, _ in entries])),
            ),
            shape=(len(t), self.rows),
        )
        fills = np.diag(MILLI // self.sizes)
        patterns = self.pattern_columns([(c, fill) for c in range(classes) for fill in fills])
        upper = np.zeros(self.rows)
        upper[:capacity_row] = self.count
        pooled = self.nodes[:, None] * self.capacity / self.scale
        upper[capacity_row:share_row] = pooled.T.ravel()
        width = len(t) + patterns.shape[0]
        cost = np.zeros(width)
        cost[: len(t)] = -self.tables.demand[t, 2] / MILLI
        return MilpArrays(
            cost,
            csr_array(vstack([matrix, patterns]).T),
            np.full(self.rows, -np.inf),
            upper,
            np.zeros(width),
            np.full(width, np.inf),
            np.zeros(width, dtype=bool),
        )

    def pattern_columns(self, patterns: list[Pattern]) -> csr_array:
        """Coefficients of patterns, one in a row: one GPU, and less of each share that it has."""
        rows, columns, values = [], [], []
        first_gpu_row = self.first_row[0] + 2 * len(self.nodes)
        for index, (k, numbers) in enumerate(patterns):
            used = np.flatnonzero(numbers)
            rows += [index] * (len(used) + 1)
            columns += [first_gpu_row + k, *(self.first_row[1] + k * len(self.sizes) + used)]
            values += [1.0, *(-numbers[used].astype(float))]
        return csr_array(coo_array((values, (rows, columns)), shape=(len(patterns), self.rows)))

    def duals(self, solution: LpSolution) -> tuple[Floats, Floats, Floats, Floats]:
        """Duals of CPU, memory and GPUs by class, and of shares by class and size."""
        duals, classes = np.maximum(-solution.duals, 0.0), len(self.nodes)
        capacity_row, share_row = self.first_row
        pooled = duals[capacity_row:share_row].reshape(3, classes) / self.scale[:, None]
        return *pooled, duals[share_row:].reshape(classes, -1)

    def no_prices(self) -> tuple[Floats, Floats, Floats]:
        classes = len(self.nodes)
        return np.zeros(classes), np.zeros(classes), np.zeros((classes, len(self.sizes)))

    def terms(self, cpu: Floats, memory: Floats, shares: Floats) -> tuple[float, Floats]:
        """The value of all capacity at the prices, and the gain of a task of each type above it."""
        gpu = pattern_values(shares, self.sizes)[0][:, -1]
        demand = self.tables.demand
        paid = np.outer(demand[:, 0], cpu) + np.outer(demand[:, 1], memory)
        paid += self.gpus[:, None] * shares.T[self.size]
        gain = np.where(self.fits, demand[:, 2:] / MILLI - paid, 0.0).max(axis=1)
        value = (self.capacity * np.column_stack([cpu, memory, gpu])).sum(axis=1)
        return float(self.nodes @ value), np.maximum(gain, 0.0)

    def priced(self, cpu: Floats, memory: Floats, shares: Floats) -> Prices:
        """Prices with the bound that they prove."""
        value, gain = self.terms(cpu, memory, shares)
        allocated = (value + float(self.count @ gain)) * (1 + ROUNDING_RTOL)
        bound = max(self.tables.instance.gpus - allocated, 0.0)
        return Prices(cpu, memory, shares, allocated, bound)

    def improving_patterns(self, gpus: Floats, shares: Floats) -> list[Pattern]:
        """Each class's most valuable pattern, where its value exceeds the dual of a GPU."""
        values, choices, unit = pattern_values(shares, self.sizes)
        patterns = []
        for k in np.flatnonzero(values[:, -1] > gpus + PRICING_RTOL).tolist():
            numbers, room = np.zeros(len(self.sizes), dtype=np.int64), values.shape[1] - 1
            while room > 0:
                f = choices[k, room]
                numbers[f] += f >= 0
                room -= 1 if f < 0 else int(self.sizes[f]) // unit
            patterns.append((k, numbers))
        return patterns


def pattern_values(shares: Floats, sizes: Ints) -> tuple[Floats, Ints, int]:
    """Value of the best pattern by class and room, and its next share; -1 leaves a unit empty.

    Rooms are in the returned unit, the greatest common divisor of the sizes.
    """
    unit = int(np.gcd.reduce(sizes))
    steps = sizes // unit
    values = np.zeros((len(shares), MILLI // unit + 1))
    choices = np.full(values.shape, -1)
    for room in range(1, values.shape[1]):
        fitting = np.searchsorted(steps, room, side="right")
        filled = values[:, room - steps[:fitting]] + shares[:, :fitting]
        best = filled.argmax(axis=1) if fitting else np.zeros(len(shares), dtype=np.int64)
        value = filled.max(axis=1, initial=0.0)
        improves = value > values[:, room - 1]
        values[:, room] = np.maximum(value, values[:, room - 1])
        choices[improves, room] = best[improves]
    return values, choices, unit
