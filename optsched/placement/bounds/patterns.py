"""The pattern bound by column generation, with a certificate in integers.

A pattern is the vector of stage counts of one server with g free GPUs. It uses exactly g GPUs if
the job needs all free GPUs, else at most g. theta is a target iteration time: alpha <= theta
requires patterns of time at most theta that together hold k_s replicas of each stage. For duals pi
let z_g be the largest value pi x of such a pattern x, and N_g the number of servers with g free
GPUs. If sum_s k_s pi_s > sum_g N_g z_g, no placement takes at most theta (Farkas).

Guarantee: exact. Duals are integers, and z_g comes from a dynamic programme along the stages, so
that the library's verifier needs no solver. They are the duals of a column generation (min sum u_s,
replicas covered + u_s >= k_s, patterns of g GPUs <= N_g) with dual smoothing, until they give a
certificate or the linear programme is feasible. The bound holds for both options of the all-reduce
bandwidth, since the bottleneck NIC share is at most a server's own share. Complexity: O(S g^3) a
pricing round. Not in the paper; models/placement/README.md, section "Bounds".
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from optsched.backends.arrays import GrowingLp, MilpArrays
from optsched.deadline import Deadline
from optsched.errors import NotApplicableError
from optsched.placement.bounds.pricing import THETA_RTOL, PatternCertificate, Pricing
from optsched.placement.cost import CostTables, Floats, Ints, time_matrix
from optsched.placement.instance import PlacementInstance
from optsched.placement.options import STANDARD
from optsched.result import Settings

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MAX_ROUNDS = 2_000
"""Pricing rounds at one theta."""
SMOOTHING = 0.6
"""Dual smoothing factor (Wentges): weight of the best duals so far, since the LP's oscillate."""
FEASIBILITY_RTOL = 1e-9
"""Shortage, relative to all replicas, at which the linear programme counts as feasible."""
MAX_TABLE_CELLS = 200_000_000
"""Of the dynamic programme's table: 400 MB."""


LpSolution = tuple[Ints, Floats]
"""Indices of the pool's patterns, and how often a solution of the linear programme has each."""


@dataclass
class PatternMaster:
    """Restricted master problems over one pool of patterns, one for each theta.

    A server class is a number of free GPUs: `sizes` (C,) are the distinct ones above 0, ascending,
    and `servers` (C,) how many servers have each. `classes`, `patterns` and `times` are the pool.
    """

    instance: PlacementInstance
    tables: CostTables
    deadline: Deadline
    sizes: Ints = field(init=False)
    servers: Ints = field(init=False)
    classes: list[int] = field(default_factory=list)
    patterns: list[Ints] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        offers = Counter(free for free in self.instance.free_gpus if free > 0)
        self.sizes = np.array(sorted(offers), dtype=np.int64)
        self.servers = np.array([offers[size] for size in self.sizes.tolist()], dtype=np.int64)
        self._index: dict[tuple[int, bytes], int] = {}
        self._counts = np.empty((0, len(self.tables.replicas)), dtype=np.int64)
        self._best_duals: Floats | None = None
        self._check_applicable()
        classes = np.arange(len(self.sizes))  # a server may keep all its GPUs, or be filled
        self.add(classes, np.zeros((len(classes), len(self.tables.replicas)), dtype=np.int64))

    def add_placement(self, counts: Ints) -> None:
        """Add the patterns of a placement, shape (S, M), to the pool."""
        sizes = np.array(self.instance.free_gpus)
        used = sizes > 0
        self.add(np.searchsorted(self.sizes, sizes[used]), np.asarray(counts)[:, used].T)

    def add(self, classes: Ints, patterns: Ints) -> int:
        """Add patterns (P, S) to the pool; return how many were new."""
        new: list[int] = []
        for i, (server_class, pattern) in enumerate(zip(classes.tolist(), patterns, strict=True)):
            key = (server_class, pattern.tobytes())
            if key not in self._index:
                self._index[key] = len(self.times) + len(new)
                new.append(i)
        if new:
            self.classes += [int(classes[i]) for i in new]
            self.patterns += [np.array(patterns[i], dtype=np.int64) for i in new]
            self.times += self._times_of(patterns[new])
        return len(new)

    def set_tables(self, tables: CostTables) -> None:
        """Take other times of the same job's counts, also for the pool's patterns."""
        self.tables = tables
        self.times = self._times_of(self.counts)

    def indices(self, classes: Ints, patterns: Ints) -> Ints:
        """Indices of patterns (P, S) in the pool; new ones are added."""
        self.add(classes, patterns)
        keys = zip(classes.tolist(), patterns, strict=True)
        return np.array([self._index[c, pattern.tobytes()] for c, pattern in keys], dtype=np.int64)

    def _times_of(self, patterns: Ints) -> list[float]:
        times = time_matrix(self.tables, np.ascontiguousarray(patterns.T), STANDARD)
        return list(times.max(axis=0).tolist())

    def usable_patterns(self, pricing: Pricing) -> Ints:
        """Indices of the pool's patterns that take at most theta and fit what is left."""
        usable = np.array(self.times) <= pricing.theta * (1 + THETA_RTOL)
        usable &= (self.counts <= pricing.replicas).all(axis=1)
        usable &= pricing.servers[np.array(self.classes)] > 0
        return np.flatnonzero(usable)

    @property
    def counts(self) -> Ints:
        """The pool's patterns, shape (P, S)."""
        new = self.patterns[len(self._counts) :]
        if new:
            self._counts = np.concatenate((self._counts, np.array(new, dtype=np.int64)))
        return self._counts

    def price(self, theta: float) -> Pricing:
        """Pricing at theta; adds the pool's usable patterns without filler replicas."""
        full = self.instance.uses_all_gpus
        pricing = Pricing(self.tables, self.sizes, self.servers, theta, full)
        if pricing.free.any():
            usable = self.usable_patterns(pricing)
            classes = np.array(self.classes)[usable]
            self.add(classes, pricing.without_fillers(self.counts[usable]))
        return pricing

    def relax(self, pricing: Pricing) -> LpSolution | PatternCertificate | None:
        """Solve the linear programme at theta, or refute it; None if cut off before either."""
        stages = len(pricing.replicas)
        values, _ = pricing.best_patterns(np.zeros(stages))
        if not np.isfinite(values[pricing.servers > 0]).all():  # a class without any pattern
            return PatternCertificate(pricing.theta, (0,) * stages)
        if self._best_duals is not None:
            certificate = pricing.certificate(self._best_duals)
            if certificate is not None:
                return certificate
        used = self.usable_patterns(pricing)
        lp = GrowingLp(self.shortage(used, pricing), Settings().within(self.deadline))
        best_surplus = -np.inf
        for _ in range(MAX_ROUNDS):
            answer = None if self.deadline.is_over else lp.solve()
            if answer is None:
                return None
            if answer.objective <= FEASIBILITY_RTOL * float(pricing.replicas.sum()):
                return used, answer.values[stages + 1 :]
            filler = max(float(answer.duals[stages]), 0.0)
            duals = np.where(pricing.free, filler, 0.0) + answer.duals[:stages]
            added, trials = 0, [duals]
            if self._best_duals is not None:
                trials = [SMOOTHING * self._best_duals + (1 - SMOOTHING) * duals, duals]
            for trial in trials:
                surplus, patterns = pricing.surplus(trial)
                if surplus > best_surplus:
                    best_surplus, self._best_duals = surplus, trial
                if surplus > 0:
                    certificate = pricing.certificate(trial)
                    if certificate is not None:
                        return certificate
                before = len(self.times)
                available = np.flatnonzero(pricing.servers > 0)
                added = self.add(available, pricing.without_fillers(patterns[available]))
                if added:
                    new = np.arange(before, len(self.times))
                    used = np.concatenate((used, new))
                    lp.add_columns(np.zeros(added), self._pool_columns(new, pricing))
                    break
            if not added:
                return None
        return None

    def shortage(self, used: Ints, pricing: Pricing) -> MilpArrays:
        """Minimise the shortages u of stages and fillers; columns are u, then the patterns."""
        from scipy.sparse import csr_array, eye_array, hstack, vstack

        free = pricing.free
        shortages, classes = len(free) + 1, len(self.sizes)
        rows, columns = shortages + classes, shortages + len(used)
        identity = vstack([eye_array(shortages), csr_array((classes, shortages))])
        matrix = csr_array(hstack([identity, self._pool_columns(used, pricing).T], format="csr"))
        lower = np.full(rows, -np.inf)
        upper = np.full(rows, np.inf)
        lower[: shortages - 1] = np.where(free, -np.inf, pricing.replicas)
        upper[: shortages - 1] = np.where(free, pricing.replicas, np.inf)
        lower[shortages - 1] = pricing.fillers_left if free.any() else 0
        upper[shortages:] = pricing.servers
        return MilpArrays(
            np.concatenate((np.ones(shortages), np.zeros(len(used)))),
            matrix,
            lower,
            upper,
            np.zeros(columns),
            np.full(columns, np.inf),
            np.zeros(columns, dtype=bool),
        )

    def columns_of(self, classes: Ints, patterns: Ints, pricing: Pricing) -> csr_array:
        """A row per pattern: stage counts, slots for fillers, unit vector of its server class."""
        from scipy.sparse import csr_array, hstack

        filled = np.zeros((len(classes), 1))
        if pricing.free.any():
            filled[:, 0] = pricing.slots[classes] - patterns[:, ~pricing.free].sum(axis=1)
        ones = csr_array(
            (np.ones(len(classes)), (np.arange(len(classes)), classes)),
            shape=(len(classes), len(self.sizes)),
        )
        counts = csr_array(patterns.astype(float))
        return csr_array(hstack([counts, csr_array(filled), ones], format="csr"))

    def _pool_columns(self, used: Ints, pricing: Pricing) -> csr_array:
        return self.columns_of(np.array(self.classes)[used], self.counts[used], pricing)

    def _check_applicable(self) -> None:
        if not self.tables.savings_are_positive:
            raise NotApplicableError(
                "columns",
                "g/B_inter below 1/B_intra",
                "inter_bandwidth / gpus_per_server at most intra_bandwidth",
            )
        max_count = int(min(self.sizes.max(), self.tables.replicas.max())) + 1
        cells = float(max_count) ** 2 * (float(self.sizes.max()) + 1) * len(self.tables.replicas)
        if cells > MAX_TABLE_CELLS:
            raise NotApplicableError(
                "columns", f"{cells:.3g} cells of a table", f"at most {MAX_TABLE_CELLS}: use ilp"
            )
