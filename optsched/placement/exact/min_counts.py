"""The minimum count of each stage, which all_reduce_bandwidth="bottleneck" makes common to servers.

A stage's all-reduce takes as long on every server as on the one with the fewest of its replicas.
Once these minimum counts are chosen, a server's time depends on its own counts alone, as with
"own", so patterns, dives and repairs apply. A pattern *needs* the smallest minimum count that keeps
its replicas of a stage within theta. It is *compatible* with minimum count c if its count equals
c = k_s, or is at least c and at least c replicas remain for another server.

Guarantee: none of its own; the counts are chosen by the linear programme, and released by repairs.
Complexity: a linear programme a choice, and O(P S g) for P patterns. Not in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from optsched.backends import MilpArrays
from optsched.placement.bounds.certificate import PatternCertificate
from optsched.placement.bounds.patterns import LpSolution, PatternMaster
from optsched.placement.bounds.pricing import THETA_RTOL, Pricing
from optsched.placement.cost import CostTables, Floats, Ints

CountMask = NDArray[np.bool_]
"""(S, V + 1): the minimum counts that a stage may have."""
INTEGRALITY_TOL = 1e-6
"""Share of a stage's replicas that rounding may leave in other patterns."""
DIVE_THRESHOLD = 0.95
"""Share above which the counts of several stages are chosen at once."""
MAX_NODES = 300
"""Most linear programmes of one choice."""


def optimistic_tables(tables: CostTables, allowed: CountMask) -> CostTables:
    """Tables with each all-reduce at the largest allowed minimum count, which is the fastest."""
    seconds = np.where(allowed, tables.all_reduce, np.inf)[:, None, :]
    seconds = np.where(compatible_counts(tables), seconds, np.inf).min(axis=2)
    seconds[:, 0] = 0.0
    return replace(tables, all_reduce=seconds)


def all_counts(tables: CostTables) -> CountMask:
    """All minimum counts, of all stages."""
    allowed = np.ones(tables.all_reduce.shape, dtype=bool)
    allowed[:, 0] = False
    return allowed


def compatible_counts(tables: CostTables) -> NDArray[np.bool_]:
    """(S, V + 1, V + 1): whether v replicas on a server are compatible with minimum count c."""
    c = np.arange(tables.all_reduce.shape[1])
    v = c[:, None]
    replicas: Ints = tables.replicas[:, None, None]
    return ((c <= v) & (v + c <= replicas)) | ((v == c) & (c == replicas))


def needed_counts(tables: CostTables, pricing: Pricing) -> Ints:
    """Smallest minimum count that keeps a stage within theta, by stage, v, u and w of `stage_time`.

    Above v if no count does, 0 without a replica, 1 for free stages.
    """
    size = tables.all_reduce.shape[1]
    v, u, w = np.ix_(*[np.arange(size)] * 3)

    def by_stage(values: Floats | Ints) -> Floats | Ints:
        return values[:, None, None, None]

    replicas = by_stage(tables.replicas)
    left = pricing.theta * (1 + THETA_RTOL) - tables.colocated_work[:, :, None, None]
    left = left - by_stage(tables.saving_previous) * (np.roll(replicas, 1, axis=0) - u)
    left = left - by_stage(tables.saving_next) * (np.roll(replicas, -1, axis=0) - w)
    needed = np.ones(left.shape, dtype=np.int64)
    for count in range(1, size):
        exceeds = by_stage(tables.all_reduce[:, count]) > left
        needed += exceeds & (v >= count) & (v < replicas)
    max_counts = tables.replicas.clip(max=size - 1)
    if_all_here = tables.all_reduce[np.arange(len(max_counts)), max_counts]
    needed += np.where((by_stage(if_all_here) > left) & (v == replicas), v, 0)
    needed[pricing.free] = 1
    needed[:, 0] = 0
    return needed


def needs_of(needed: Ints, patterns: Ints) -> Ints:
    """Minimum count that each of the patterns (P, S) needs of each stage."""
    padded = np.pad(patterns, ((0, 0), (1, 1)))
    stages = np.arange(patterns.shape[1])
    return np.asarray(needed[stages, patterns, padded[:, :-2], padded[:, 2:]])


def add_min_counts(
    problem: MilpArrays, needs: Ints, counts: Ints, replicas: Ints, first: int = 0
) -> MilpArrays:
    """Add binaries y[s, c] to a programme over patterns: 1 if the minimum count of s is at least c.

    Patterns that require c of stage s are at most floor(k_s / c) y[s, c]; those that hold fewer are
    at most k_s (1 - y[s, c]). The patterns are the columns from `first` on.
    """
    from scipy.sparse import csr_array, hstack, vstack

    rows, switches = [], []
    for s in range(counts.shape[1]):
        for count in range(2, int(needs[:, s].max(initial=0)) + 1):
            requires = needs[:, s] >= count
            holds_fewer = (counts[:, s] > 0) & (counts[:, s] < count)
            if holds_fewer.any():
                rows += [requires, holds_fewer]
                switches += [-float(replicas[s] // count), float(replicas[s])]
    if not rows:
        return problem
    binaries = len(rows) // 2
    at = np.arange(len(rows))
    switch = csr_array((switches, (at, at // 2)), shape=(len(rows), binaries))
    above = hstack([problem.matrix, csr_array((problem.matrix.shape[0], binaries))])
    before = csr_array((len(rows), first))
    below = hstack([before, csr_array(np.array(rows, dtype=float)), switch])
    return MilpArrays(
        np.concatenate((problem.cost, np.zeros(binaries))),
        csr_array(vstack([above, below], format="csr")),
        np.concatenate((problem.row_lower, np.full(len(rows), -np.inf))),
        np.concatenate((problem.row_upper, np.maximum(switches, 0.0))),
        np.concatenate((problem.lower, np.zeros(binaries))),
        np.concatenate((problem.upper, np.ones(binaries))),
        np.concatenate((problem.integer, np.ones(binaries, dtype=bool))),
    )


@dataclass
class MinCounts:
    """The minimum counts that stages may have in placements within theta.

    `tables` hold the all-reduce of a server's own count, those of `master` that of the allowed
    minimum counts. `refuted` says that no choice leaves the linear programme a solution, so that no
    placement is within theta.
    """

    master: PatternMaster
    tables: CostTables
    theta: float
    refuted: bool = False
    free: NDArray[np.bool_] = field(init=False)
    needed: Ints = field(init=False)

    def __post_init__(self) -> None:
        pricing = self._price(all_counts(self.tables))
        self.free = pricing.free
        self.needed = needed_counts(self.tables, pricing)

    def choose(self) -> Pricing | None:
        """Depth-first branching on the minimum counts, guided by the LP solution.

        Return None if no choice with a solution was found; `refuted` if there is none.
        """
        open_nodes, nodes = [all_counts(self.tables)], 0
        while open_nodes and nodes < MAX_NODES:
            allowed, nodes = open_nodes.pop(), nodes + 1
            solution = self.master.relax(self._price(allowed))
            if solution is None:
                return None
            if isinstance(solution, PatternCertificate):
                continue
            shares = np.where(allowed, self._shares(solution), -1.0)
            best_count, best_share = shares.argmax(axis=1), shares.max(axis=1)
            undecided = np.flatnonzero(
                ~self.free & (allowed.sum(axis=1) > 1) & (best_share < 1 - INTEGRALITY_TOL)
            )
            if not len(undecided):
                chosen = allowed & (np.arange(allowed.shape[1]) == best_count[:, None])
                return self._price(np.where(self.free[:, None], allowed, chosen))
            likely = undecided[np.argsort(-best_share[undecided])]
            together = max(1, int((best_share[undecided] >= DIVE_THRESHOLD).sum()))
            # Children: exclude the choice of one of the likely stages, or fix all of them.
            for s in likely[:together].tolist():
                other = allowed.copy()
                other[s, best_count[s]] = False
                open_nodes.append(other)
                allowed[s] = False
                allowed[s, best_count[s]] = True
            open_nodes.append(allowed)
        self.refuted = not open_nodes
        return None

    def pricing_given(self, fixed: list[int]) -> Pricing:
        """Pricing of patterns beside fixed ones: with the minimum counts that those allow."""
        counts = self.master.counts[fixed]
        needs = needs_of(self.needed, counts).max(axis=0, initial=0)
        size = self.tables.all_reduce.shape[1]
        fewest = np.where(counts > 0, counts, size).min(axis=0, initial=size)
        count = np.arange(size)
        possible = (count >= needs[:, None]) & (count <= fewest[:, None])
        return self._price(all_counts(self.tables) & (possible | self.free[:, None]))

    def add_to_repair(self, problem: MilpArrays, columns: Ints) -> MilpArrays:
        """Add minimum counts to a repair, whose last columns are these patterns of the pool."""
        counts = self.master.counts[columns]
        needs = needs_of(self.needed, counts)
        first = len(problem.cost) - len(columns)
        return add_min_counts(problem, needs, counts, self.tables.replicas, first)

    def _price(self, allowed: CountMask) -> Pricing:
        """Pricing with each stage's all-reduce at its largest allowed minimum count."""
        self.master.set_tables(optimistic_tables(self.tables, allowed))
        return self.master.price(self.theta)

    def _shares(self, solution: LpSolution) -> Floats:
        """By stage and minimum count, the share of its replicas in compatible patterns."""
        used = solution.multiplicities > 0
        values = solution.multiplicities[used]
        patterns = self.master.counts[solution.pattern_indices[used]]
        needs, stage = needs_of(self.needed, patterns), np.arange(patterns.shape[1])
        compatible = compatible_counts(self.tables)
        shares = np.zeros_like(self.tables.all_reduce)
        for count in range(1, self.tables.all_reduce.shape[1]):
            fits = (needs <= count) & compatible[stage, patterns, count]
            shares[:, count] = values @ np.where(fits, patterns, 0)
        return shares / self.tables.replicas[:, None]
