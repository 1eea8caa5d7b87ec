"""Minimum counts of stages, which all_reduce_bandwidth="bottleneck" makes common to servers.

A stage's all-reduce takes as long on every server as on the one with the fewest of its replicas.
With these minimum counts chosen, a server's time depends on its own counts alone, as with "own", so
that patterns, dives and repairs apply. A pattern *needs* the smallest minimum count of a stage that
keeps its replicas within theta. A count v on a server is *compatible* with minimum count c if
v = c = k_s, or if c <= v and another server can hold c of the other replicas: c <= k_s - v.

Guarantee: a theta is refuted only if every choice of minimum counts is. Complexity: a linear
programme a node of the tree of choices; O(P S g) for the needs of P patterns. Not in the paper;
models/placement/README.md, section "Bounds".
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from optsched.backends.arrays import MilpArrays
from optsched.placement.bounds.patterns import LpSolution, PatternMaster
from optsched.placement.bounds.pricing import THETA_RTOL, PatternCertificate, Pricing
from optsched.placement.cost import CostTables, Floats, Ints, work_matrix

CountMask = NDArray[np.bool_]
"""(S, V + 1): the minimum counts that a stage may have."""
INTEGRALITY_TOL = 1e-6
"""Share of a stage's replicas that rounding may leave in incompatible patterns."""
DIVE_THRESHOLD = 0.95
"""Share of compatible replicas above which the counts of several stages are chosen at once."""
MAX_NODES = 300
"""Linear programmes of one choice, at most."""


def all_counts(tables: CostTables) -> CountMask:
    return np.broadcast_to(np.arange(tables.all_reduce.shape[1]) > 0, tables.all_reduce.shape)


def compatible_counts(tables: CostTables) -> NDArray[np.bool_]:
    """(S, V + 1, V + 1): whether v replicas on a server are compatible with minimum count c."""
    c = np.arange(tables.all_reduce.shape[1])
    v, k = c[:, None], tables.replicas[:, None, None]
    return np.asarray(((c <= v) & (v + c <= k)) | ((v == c) & (c == k)))


def optimistic_tables(tables: CostTables, allowed: CountMask) -> CostTables:
    """Tables with each all-reduce at the fastest minimum count allowed and compatible."""
    usable = compatible_counts(tables) & allowed[:, None, :]
    seconds = np.where(usable, tables.all_reduce[:, None, :], np.inf).min(axis=2)
    seconds[:, 0] = 0.0
    return replace(tables, all_reduce=seconds)


def needed_counts(tables: CostTables, pricing: Pricing, patterns: Ints) -> Ints:
    """Minimum count that each of the patterns (P, S) needs of each stage; 0 if any will do."""
    left = pricing.theta * (1 + THETA_RTOL) - work_matrix(tables, patterns.T).T
    needed = np.ones_like(patterns)
    for count in range(1, int(patterns.max(initial=0)) + 1):
        needed += (tables.all_reduce[:, count] > left) & (count <= patterns)
    any_will_do = (patterns == 0) | (patterns == tables.replicas) | pricing.free
    return np.where(any_will_do, 0, needed)


def possible_patterns(
    tables: CostTables, pricing: Pricing, duals: Floats, max_patterns: int
) -> tuple[Ints, Ints] | None:
    """Classes and patterns of a covering programme with minimum counts; None if too many.

    Replicas of free stages stay where a stage that is not free would need a higher minimum count
    without them.
    """
    possible = pricing.keeping_neighbours().possible_patterns(duals, max_patterns)
    if possible is None:
        return None
    classes, patterns = possible
    for s in np.flatnonzero(pricing.free).tolist():
        rows = np.flatnonzero(patterns[:, s])
        while len(rows):
            fewer = patterns[rows]
            fewer[:, s] -= 1
            needed = needed_counts(tables, pricing, patterns[rows])
            same = (needed_counts(tables, pricing, fewer) == needed).all(axis=1)
            patterns[rows[same], s] -= 1
            rows = rows[same & (fewer[:, s] > 0)]
    distinct = np.unique(np.column_stack((classes, patterns)), axis=0)
    return distinct[:, 0], distinct[:, 1:]


def add_min_counts(
    problem: MilpArrays, tables: CostTables, pricing: Pricing, patterns: Ints
) -> MilpArrays:
    """Add binaries y[s, c] to a programme over patterns: 1 if the minimum count of s is at least c.

    Patterns that need c of stage s are at most floor(k_s / c) y[s, c]; those that hold fewer are at
    most k_s (1 - y[s, c]). The patterns are the last columns.
    """
    from scipy.sparse import csr_array, hstack, vstack

    needed, first = needed_counts(tables, pricing, patterns), len(problem.cost) - len(patterns)
    rows, coefficients = [], []
    for s, replicas in enumerate(pricing.replicas.tolist()):
        for count in range(2, int(needed[:, s].max(initial=0)) + 1):
            holds_fewer = (patterns[:, s] > 0) & (patterns[:, s] < count)
            if holds_fewer.any():
                rows += [needed[:, s] >= count, holds_fewer * patterns[:, s]]
                coefficients += [-float(replicas // count), float(replicas)]
    if not rows:
        return problem
    at, binaries = np.arange(len(rows)), len(rows) // 2
    switch = csr_array((coefficients, (at, at // 2)), shape=(len(rows), binaries))
    added = [csr_array((len(rows), first)), csr_array(np.array(rows, dtype=float)), switch]
    above = [problem.matrix, csr_array((problem.matrix.shape[0], binaries))]
    return MilpArrays(
        np.concatenate((problem.cost, np.zeros(binaries))),
        csr_array(vstack([hstack(above), hstack(added)], format="csr")),
        np.concatenate((problem.row_lower, np.full(len(rows), -np.inf))),
        np.concatenate((problem.row_upper, np.maximum(coefficients, 0.0))),
        np.concatenate((problem.lower, np.zeros(binaries))),
        np.concatenate((problem.upper, np.ones(binaries))),
        np.concatenate((problem.integer, np.ones(binaries, dtype=bool))),
    )


@dataclass
class MinCounts:
    """Choices of minimum counts for placements within theta.

    `tables` have the all-reduce by minimum count; those of `master` change with the choices.
    `refuted` says that no choice leaves the linear programme a solution, so that no placement is
    within theta.
    """

    master: PatternMaster
    tables: CostTables
    theta: float
    refuted: bool = False

    def choose(self) -> Pricing | None:
        """Depth-first branching on the minimum counts, guided by the LP solution.

        Return None if no choice with a solution was found; `refuted` if there is none.
        """
        open_nodes, nodes = [all_counts(self.tables)], 0
        while open_nodes and nodes < MAX_NODES:
            allowed, nodes = open_nodes.pop().copy(), nodes + 1
            pricing = self._price(allowed)
            solution = self.master.relax(pricing)
            if solution is None:
                return None
            if isinstance(solution, PatternCertificate):
                continue
            shares = np.where(allowed, self._shares(solution, pricing), -1.0)
            best_count, best_share = shares.argmax(axis=1), shares.max(axis=1)
            undecided = np.flatnonzero(
                ~pricing.free & (allowed.sum(axis=1) > 1) & (best_share < 1 - INTEGRALITY_TOL)
            )
            if not len(undecided):
                chosen = allowed & (np.arange(allowed.shape[1]) == best_count[:, None])
                return self._price(np.where(pricing.free[:, None], allowed, chosen))
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

    def pricing_given(self, pricing: Pricing, fixed: list[int]) -> Pricing:
        """Pricing of the whole job with the minimum counts that fixed patterns allow."""
        patterns, count = self.master.counts[fixed], np.arange(self.tables.all_reduce.shape[1])
        needed = needed_counts(self.tables, pricing, patterns).max(axis=0, initial=0)
        fewest = np.where(patterns > 0, patterns, len(count)).min(axis=0, initial=len(count))
        possible = (count >= needed[:, None]) & (count <= fewest[:, None])
        return self._price(all_counts(self.tables) & (possible | pricing.free[:, None]))

    def _price(self, allowed: CountMask) -> Pricing:
        self.master.set_tables(optimistic_tables(self.tables, allowed))
        return self.master.price(self.theta)

    def _shares(self, solution: LpSolution, pricing: Pricing) -> Floats:
        """By stage and minimum count, the share of its replicas in compatible patterns."""
        indices, values = solution
        patterns = self.master.counts[indices[values > 0]]
        needed = needed_counts(self.tables, pricing, patterns)
        compatible = compatible_counts(self.tables)[np.arange(patterns.shape[1]), patterns]
        fits = compatible & (needed[:, :, None] <= np.arange(compatible.shape[2]))
        held = values[values > 0, None] * patterns / self.tables.replicas
        return np.asarray(np.einsum("ps,psc->sc", held, fits))
