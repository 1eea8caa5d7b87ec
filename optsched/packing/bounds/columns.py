"""Bound ``columns``: the linear relaxation over classes of equal nodes, by column generation.

Guarantee: no packing leaves fewer GPUs idle, not even one that chooses its tasks. The nodes of a
class pool their CPU, memory and GPUs. A GPU is filled by a pattern: shares of at most 1,000 milli,
or one whole GPU. The most valuable patterns at the duals are found by a knapsack and added as
columns until none improves. The relaxation ignores which CPU and GPU share a node.
Complexity: a round is one linear programme and O(1000 K F) steps for K classes and F sizes.
Source: models/packing/README.md, (8)-(12); Gilmore and Gomory (1961).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, vstack

from optsched.backends.arrays import GrowingLp, MilpArrays
from optsched.deadline import Deadline
from optsched.packing.instance import MILLI, PackingInstance
from optsched.packing.options import PackingOptions
from optsched.packing.tables import Ints, Tables
from optsched.result import Outcome, Settings, Termination

Floats = NDArray[np.float64]
SOURCE = "column bound"
PRICING_TOL = 1e-7
"""GPUs by which a pattern's value must exceed the dual of a GPU to be added."""
ROUNDING_RTOL = 1e-9


@dataclass(frozen=True)
class Prices:
    """Non-negative duals, in GPUs, and the bounds that they prove.

    `cpu` and `memory` (K,) are per thousandth of a core and per byte of each class, `shares` (K, F)
    per share of each size, smallest first and whole GPUs last. `value` is the dual value of all
    capacity, `gain` (T,) the GPUs of a task less its cost at the duals in the cheapest class, at
    least 0. `allocated` and `bound` are the GPUs allocated at most and idle at least.
    """

    cpu: Floats
    memory: Floats
    shares: Floats
    value: float
    gain: Floats
    allocated: float
    bound: float

    def to_dict(self) -> dict[str, Any]:
        lists = {key: getattr(self, key).tolist() for key in ("cpu", "memory", "shares")}
        return {"kind": "prices", **lists, "bound": self.bound}


def columns(instance: PackingInstance, options: PackingOptions, settings: Settings) -> Outcome:
    bound, source, prices = quick_bound(instance, options, settings.deadline)
    return Outcome(
        None,
        Termination.TIME_LIMIT if settings.deadline.is_over else Termination.FEASIBLE,
        bound=bound,
        bound_source=source,
        solve_time=settings.deadline.spent,
        certificate=prices,
    )


def quick_bound(
    instance: PackingInstance, options: PackingOptions, deadline: Deadline | None = None
) -> tuple[float, str, Prices]:
    """The bound that certifies every heuristic's row, its source and its certificate."""
    prices = solve_relaxation(Tables(instance), deadline or Deadline())
    return prices.bound, SOURCE, prices


def allocated_at_most(tables: Tables, requested: Sequence[float], points: int = 12) -> Floats:
    """Bound the GPUs that any packing of the first arrivals allocates, by requested GPUs.

    Duals of one relaxation bound every prefix. Solve `points` relaxations, spread over the second
    half of `requested`, and take the lowest bound of each prefix.
    """
    milli = tables.demand[tables.arrivals, 2]
    wanted = np.rint(MILLI * np.array(requested))
    ends = np.searchsorted(np.cumsum(milli), wanted, side="right")
    types = len(tables.count)
    counts = np.array([np.bincount(tables.arrivals[:end], minlength=types) for end in ends])
    bounds = counts @ tables.demand[:, 2] / MILLI
    for at in np.unique(np.linspace(len(ends) // 2, len(ends) - 1, points).astype(int)):
        prices = solve_relaxation(tables, Deadline(), counts[at])
        bounds = np.minimum(bounds, (prices.value + counts @ prices.gain) * (1 + ROUNDING_RTOL))
    return bounds


def solve_relaxation(tables: Tables, deadline: Deadline, count: Ints | None = None) -> Prices:
    """Solve the relaxation of `count` tasks by type, by default all; at the deadline the best."""
    programme = _Programme(tables, tables.count if count is None else count)
    lp = GrowingLp(programme.arrays(), Settings().within(deadline))
    best = programme.priced(np.zeros(programme.rows))[0]
    while not deadline.is_over and (solution := lp.solve(deadline)) is not None:
        prices, of_class, numbers = programme.priced(np.maximum(-solution.duals, 0.0))
        best = min(best, prices, key=lambda prices: prices.allocated)
        if not len(of_class):
            break
        lp.add_columns(np.zeros(len(of_class)), programme.pattern_columns(of_class, numbers))
    return best


class _Programme:
    """Rows: tasks of each type; CPU, memory and GPUs of each class; shares by class and size.

    Columns: tasks by type and class, then patterns. CPU and memory are relative to the largest
    node's, so that coefficients lie near 1.
    """

    def __init__(self, tables: Tables, count: Ints) -> None:
        self.demand, self.count = tables.demand, count
        milli = tables.demand[:, 2]
        self.gpus, size = -(-milli // MILLI), np.minimum(milli, MILLI)
        self.sizes = np.unique(np.append(size[size > 0], MILLI))
        self.size = np.searchsorted(self.sizes, size)
        self.fits = tables.fits & (milli > 0)[:, None]
        self.capacity = np.bincount(tables.class_of)[:, None] * tables.capacity[tables.firsts]
        self.scale = np.append(np.maximum(tables.capacity[:, :2].max(axis=0), 1), 1)
        types, self.classes = self.fits.shape
        self.first_capacity = types
        self.first_share = types + 3 * self.classes
        self.rows = self.first_share + self.classes * len(self.sizes)

    def arrays(self) -> MilpArrays:
        """The programme with one pattern for each class and size: as many of it as fit a GPU."""
        t, k = np.nonzero(self.fits)
        rows = [t, *(self.first_capacity + i * self.classes + k for i in range(2))]
        rows.append(self.first_share + k * len(self.sizes) + self.size[t])
        values = np.column_stack(
            [np.ones(len(t)), self.demand[t, :2] / self.scale[:2], self.gpus[t]]
        )
        at = np.repeat(np.arange(len(t)), 4), np.column_stack(rows).ravel()
        tasks = coo_array((values.ravel(), at), shape=(len(t), self.rows))
        fills = np.tile(np.diag(MILLI // self.sizes), (self.classes, 1))
        of_class = np.repeat(np.arange(self.classes), len(self.sizes))
        matrix = csr_array(vstack([tasks, self.pattern_columns(of_class, fills)]).T)
        upper = np.zeros(self.rows)
        upper[: self.first_share] = np.append(self.count, (self.capacity / self.scale).T)
        width = matrix.shape[1]
        cost = np.append(-self.demand[t, 2] / MILLI, np.zeros(len(fills)))
        lower, limit = np.full(self.rows, -np.inf), np.full(width, np.inf)
        integer = np.zeros(width, dtype=bool)
        return MilpArrays(cost, matrix, lower, upper, np.zeros(width), limit, integer)

    def pattern_columns(self, of_class: Ints, numbers: Ints) -> csr_array:
        """Coefficients of patterns, one in a row: a GPU of the class, and its shares, negative."""
        p, f = np.nonzero(numbers)
        gpu_rows = self.first_capacity + 2 * self.classes + of_class
        rows = np.append(gpu_rows, self.first_share + of_class[p] * len(self.sizes) + f)
        values = np.append(np.ones(len(of_class)), -numbers[p, f])
        at = np.append(np.arange(len(of_class)), p), rows
        return csr_array((values, at), shape=(len(of_class), self.rows))

    def priced(self, duals: Floats) -> tuple[Prices, Ints, Ints]:
        """The prices at non-negative duals; classes whose best pattern exceeds the GPU's dual, and
        how many shares of each size it has."""
        pooled = duals[self.first_capacity : self.first_share].reshape(3, self.classes)
        cpu, memory, gpus = pooled / self.scale[:, None]
        shares = duals[self.first_share :].reshape(self.classes, len(self.sizes))
        values, choices = pattern_values(shares, self.sizes)
        dual_cost = np.outer(self.demand[:, 0], cpu) + np.outer(self.demand[:, 1], memory)
        dual_cost += self.gpus[:, None] * shares.T[self.size]
        gain = np.where(self.fits, self.demand[:, 2:] / MILLI - dual_cost, 0.0).max(axis=1)
        gain = np.maximum(gain, 0.0)
        value = float((self.capacity * np.column_stack([cpu, memory, values[:, -1]])).sum())
        allocated = (value + float(self.count @ gain)) * (1 + ROUNDING_RTOL)
        idle = max(float(self.capacity[:, 2].sum()) - allocated, 0.0)
        prices = Prices(cpu, memory, shares, value, gain, allocated, idle)
        improving = np.flatnonzero(values[:, -1] > gpus + PRICING_TOL)
        return prices, improving, np.array([self._pattern(choices[k]) for k in improving])

    def _pattern(self, choices: Ints) -> Ints:
        numbers, room = np.zeros(len(self.sizes), dtype=np.int64), len(choices) - 1
        while room > 0:
            f = choices[room]
            numbers[f] += f >= 0
            room -= 1 if f < 0 else self.sizes[f] * (len(choices) - 1) // MILLI
        return numbers


def pattern_values(shares: Floats, sizes: Ints) -> tuple[Floats, Ints]:
    """Value of the best pattern by class and room, and its next share; -1 leaves a unit empty.

    A unit is the greatest common divisor of the sizes.
    """
    steps = sizes // np.gcd.reduce(sizes)
    values = np.zeros((len(shares), steps[-1] + 1))
    choices = np.full(values.shape, -1)
    for room in range(int(steps[0]), values.shape[1]):
        fitting = np.searchsorted(steps, room, side="right")
        filled = values[:, room - steps[:fitting]] + shares[:, :fitting]
        value, best = filled.max(axis=1), filled.argmax(axis=1)
        improves = value > values[:, room - 1]
        values[:, room] = np.maximum(value, values[:, room - 1])
        choices[:, room] = np.where(improves, best, -1)
    return values, choices
