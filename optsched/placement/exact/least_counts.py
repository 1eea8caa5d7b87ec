"""The least count of each stage, which the "bottleneck" reading makes common to its servers.

A stage's all-reduce takes as long on every server as where it has the fewest replicas. Once these
least counts are chosen, a server's time depends on its own counts alone, as under "own": patterns,
dives and repairs do. A pattern *needs* the least count that keeps its replicas of a stage within
theta, and it *stands for* its own count or, where there are replicas enough for another server,
fewer.

Guarantee: none of its own; the counts are chosen by the linear programme, and released by repairs.
Complexity: a linear programme a choice, and O(P S g) for P patterns. Beyond the paper.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from optsched.backends import MilpArrays
from optsched.placement.bounds.certificate import PatternCertificate
from optsched.placement.bounds.patterns import PatternProgramme, Relaxed
from optsched.placement.bounds.pricing import ROUNDING, Pricing
from optsched.placement.cost import CostTables, Floats, Ints

Open = NDArray[np.bool_]
"""(S, V + 1): the least counts that a stage may still have."""
MET = 1e-6
"""Share of a stage's replicas that rounding may leave in other patterns."""
MOSTLY = 0.95
"""Share above which the counts of several stages are chosen at once."""
MOST_NODES = 300
"""Most linear programmes of one choice."""


def at_most(tables: CostTables, still: Open) -> CostTables:
    """Tables with each stage's all-reduce at the largest count open to it: none is faster."""
    seconds = np.where(still, tables.all_reduce, np.inf)[:, None, :]
    seconds = np.where(stands_for(tables), seconds, np.inf).min(axis=2)
    seconds[:, 0] = 0.0
    return replace(tables, all_reduce=seconds)


def every_count(tables: CostTables) -> Open:
    """All counts, of all stages."""
    still = np.ones(tables.all_reduce.shape, dtype=bool)
    still[:, 0] = False
    return still


def stands_for(tables: CostTables) -> NDArray[np.bool_]:
    """(S, V + 1, V + 1): whether v replicas on a server can have c as the least anywhere.

    All of a stage have themselves; else there is room for c elsewhere.
    """
    c = np.arange(tables.all_reduce.shape[1])
    v = c[:, None]
    replicas: Ints = tables.replicas[:, None, None]
    return ((c <= v) & (v + c <= replicas)) | ((v == c) & (c == replicas))


def needed_counts(tables: CostTables, pricing: Pricing) -> Ints:
    """Least count that keeps a stage within theta: by stage, v, u and w of `stage_time`.

    Above v if no count does, 0 without a replica, 1 for free stages.
    """
    size = tables.all_reduce.shape[1]
    v, u, w = np.ix_(*[np.arange(size)] * 3)

    def by_stage(values: Floats | Ints) -> Floats | Ints:
        return values[:, None, None, None]

    replicas = by_stage(tables.replicas)
    left = pricing.theta * (1 + ROUNDING) - tables.near_work[:, :, None, None]
    left = left - by_stage(tables.before) * (np.roll(replicas, 1, axis=0) - u)
    left = left - by_stage(tables.after) * (np.roll(replicas, -1, axis=0) - w)
    least = np.ones(left.shape, dtype=np.int64)
    for each in range(1, size):
        late = by_stage(tables.all_reduce[:, each]) > left
        least += late & (v >= each) & (v < replicas)
    most = tables.replicas.clip(max=size - 1)
    whole = tables.all_reduce[np.arange(len(most)), most]
    least += np.where((by_stage(whole) > left) & (v == replicas), v, 0)
    least[pricing.free] = 1
    least[:, 0] = 0
    return least


def needs_of(needed: Ints, patterns: Ints) -> Ints:
    """Least count that each of the patterns (P, S) needs of each stage."""
    beside = np.pad(patterns, ((0, 0), (1, 1)))
    return np.asarray(needed[np.arange(patterns.shape[1]), patterns, beside[:, :-2], beside[:, 2:]])


def with_least_counts(
    problem: MilpArrays, needs: Ints, counts: Ints, replicas: Ints, first: int = 0
) -> MilpArrays:
    """A programme over patterns with a variable a stage and count, 1 where fewer are nowhere."""
    from scipy.sparse import csr_array, hstack, vstack

    rows, switches = [], []
    for s in range(counts.shape[1]):
        for count in range(2, int(needs[:, s].max(initial=0)) + 1):
            asks, has_less = needs[:, s] >= count, (counts[:, s] > 0) & (counts[:, s] < count)
            if has_less.any():
                rows += [asks, has_less]
                switches += [-float(replicas[s] // count), float(replicas[s])]
    if not rows:
        return problem
    new = len(rows) // 2
    place = np.arange(len(rows))
    switch = csr_array((switches, (place, place // 2)), shape=(len(rows), new))
    beside = csr_array((problem.matrix.shape[0], new))
    before = csr_array((len(rows), first))
    below = hstack([before, csr_array(np.array(rows, dtype=float)), switch])
    return MilpArrays(
        np.concatenate((problem.cost, np.zeros(new))),
        csr_array(vstack([hstack([problem.matrix, beside]), below], format="csr")),
        np.concatenate((problem.row_lower, np.full(len(rows), -np.inf))),
        np.concatenate((problem.row_upper, np.maximum(switches, 0.0))),
        np.concatenate((problem.lower, np.zeros(new))),
        np.concatenate((problem.upper, np.ones(new))),
        np.concatenate((problem.integer, np.ones(new, dtype=bool))),
    )


@dataclass
class LeastCounts:
    """The least counts that stages may have in placements within theta.

    `tables` hold the all-reduce of a server's own count, the pool of `programme` that of the open
    counts. `refuted` says that no choice leaves the linear programme a solution, so that no
    placement is within theta.
    """

    programme: PatternProgramme
    tables: CostTables
    theta: float
    refuted: bool = False
    free: NDArray[np.bool_] = field(init=False)
    needed: Ints = field(init=False)

    def __post_init__(self) -> None:
        pricing = self._price(every_count(self.tables))
        self.free = pricing.free
        self.needed = needed_counts(self.tables, pricing)

    def choose(self) -> Pricing | None:
        """Branch on counts, by the shares of replicas that the linear programme gives them.

        Return None if no choice with a solution was found; `refuted` if there is none.
        """
        open_nodes, nodes = [every_count(self.tables)], 0
        while open_nodes and nodes < MOST_NODES:
            still, nodes = open_nodes.pop(), nodes + 1
            found = self.programme.relax(self._price(still))
            if found is None:
                return None
            if isinstance(found, PatternCertificate):
                continue
            shares = np.where(still, self._shares(found), -1.0)
            best, most = shares.argmax(axis=1), shares.max(axis=1)
            unmet = np.flatnonzero(~self.free & (still.sum(axis=1) > 1) & (most < 1 - MET))
            if not len(unmet):
                return self._price(np.where(self.free[:, None], still, _only(still, best)))
            likely = unmet[np.argsort(-most[unmet])]
            together = max(1, int((most[unmet] >= MOSTLY).sum()))
            for s in likely[:together].tolist():  # all of them, or all but one that has another
                other = still.copy()
                other[s, best[s]] = False
                open_nodes.append(other)
                still[s] = False
                still[s, best[s]] = True
            open_nodes.append(still)
        self.refuted = not open_nodes
        return None

    def beside(self, fixed: list[int]) -> Pricing:
        """Pricing of patterns beside fixed ones: with the least counts that those allow."""
        counts = self.programme.counts[fixed]
        needs = needs_of(self.needed, counts).max(axis=0, initial=0)
        size = self.tables.all_reduce.shape[1]
        fewest = np.where(counts > 0, counts, size).min(axis=0, initial=size)
        count = np.arange(size)
        can = (count >= needs[:, None]) & (count <= fewest[:, None])
        return self._price(every_count(self.tables) & (can | self.free[:, None]))

    def joined(self, problem: MilpArrays, columns: Ints) -> MilpArrays:
        """A repair's programme, whose last columns are patterns of the pool, with least counts."""
        counts = self.programme.counts[columns]
        needs = needs_of(self.needed, counts)
        first = len(problem.cost) - len(columns)
        return with_least_counts(problem, needs, counts, self.tables.replicas, first)

    def _price(self, still: Open) -> Pricing:
        """Pricing with each stage's all-reduce at the largest count open to it."""
        self.programme.read_anew(at_most(self.tables, still))
        return self.programme.price(self.theta)

    def _shares(self, found: Relaxed) -> Floats:
        """By stage and least count, the share of its replicas in patterns that can have it."""
        used = found.values > 0
        values, patterns = found.values[used], self.programme.counts[found.columns[used]]
        needs, stage = needs_of(self.needed, patterns), np.arange(patterns.shape[1])
        stands = stands_for(self.tables)
        shares = np.zeros_like(self.tables.all_reduce)
        for count in range(1, self.tables.all_reduce.shape[1]):
            can = (needs <= count) & stands[stage, patterns, count]
            shares[:, count] = values @ np.where(can, patterns, 0)
        return shares / self.tables.replicas[:, None]


def _only(still: Open, count: Ints) -> Open:
    """One count of each stage, if it is open."""
    return still & (np.arange(still.shape[1]) == count[:, None])
