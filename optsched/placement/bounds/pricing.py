"""Pricing problem: patterns of largest dual value with time at most theta.

A stage is *free* at theta if its time is at most theta for every count and without neighbours on
the server. Free replicas can fill any remaining GPUs, so a pattern lists only the stages that are
not free and the free replicas that these need as neighbours; that leaves few patterns and rows,
even with many stages. It requires equal replica sizes and exactly as many slots as replicas;
otherwise no stage is treated as free.

Complexity: O(S g^3) a pricing, by a dynamic programme along the chain of stages.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from optsched.kernels import kernel
from optsched.placement.bounds.combinatorial import stage_time
from optsched.placement.cost import CostTables, Floats, Ints

THETA_RTOL = 4e-12
"""Relative tolerance on theta, so that rounding cannot make a bound invalid."""
DUAL_SCALE = 10**7
"""The largest dual of a certificate."""
MAX_ENUMERATED = 32
"""GPUs of a server up to which its patterns are enumerated by value."""
VALUE_RTOL = 1e-9
"""Relative rounding of sums of duals, so that no possible pattern is missed."""


@dataclass(frozen=True)
class PatternCertificate:
    """Integer duals pi_s of a replica, by stage: every placement takes longer than `threshold`."""

    threshold: float
    prices: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "patterns", "threshold": self.threshold, "prices": list(self.prices)}


class Pricing:
    """Patterns within theta that take no more replicas than are left to place.

    `replicas` (S,) and `servers` (C,) are left, by stage and server class; `filled` counts replicas
    of free stages that fill servers already given a pattern. `free` (S,) are the free stages;
    `fills` says whether replicas are of one size and fill the servers, without which no stage is
    free.
    """

    def __init__(
        self, tables: CostTables, sizes: Ints, servers: Ints, theta: float, full: bool
    ) -> None:
        """Compute which counts keep a stage within theta."""
        self.theta, self.sizes = theta, sizes
        self.replicas, self.servers, self.filled = tables.replicas, servers, 0
        self._gpus, self._full = tables.gpus, full
        size = int(sizes.max())
        self._steps = len(tables.gpus) * (size + 1.0) ** 3
        # Divisors here and below scale step counts to Python's time: 400,000 steps take at most
        # 0.4 s in Python (measured on the 15 shipped placements). Without them 4 kernels were
        # compiled, in 9 s, to save 0.4 s.
        run = _min_previous.for_size(self._steps / 40)
        self._min_previous = run(tables.costs, size, theta * (1 + THETA_RTOL))
        self.free: NDArray[np.bool_] = np.zeros(len(tables.gpus), dtype=bool)
        room = int(servers @ self.slots)
        self.fills = (tables.gpus == tables.gpus[0]).all() and room == self.replicas.sum()
        if self.fills:
            max_counts = np.minimum(tables.replicas, sizes.max() // tables.gpus)
            alone = [self._min_previous[s, 1 : v + 1, 0] for s, v in enumerate(max_counts)]
            self.free = np.array([bool((needed == 0).all()) for needed in alone])

    def after(self, classes: Ints, patterns: Ints) -> Pricing:
        """The same once servers of these classes have these patterns, shape (P, S)."""
        other = copy(self)
        other.replicas = self.replicas - patterns.sum(axis=0)
        other.servers = self.servers - np.bincount(classes, minlength=len(self.servers))
        if self.free.any():
            other.filled = self.filled + int(self.slots[classes].sum() - patterns.sum())
        return other

    def window(self, first: int, last: int) -> Pricing:
        """Relaxation with only stages first..last - 1 not free; requires `fills`."""
        other = copy(self)
        other.free = self.free.copy()
        other.free[:first] = other.free[last:] = True
        other._min_previous = np.where(other.free[:, None, None], 0, self._min_previous)
        return other

    def keeping_neighbours(self) -> Pricing:
        """Variant in which free stages next to a stage that is not free keep all their counts."""
        other = copy(self)
        other.free = self.free & ~self._next_to_nonfree
        return other

    @property
    def slots(self) -> Ints:
        """Replicas that a server holds, by class, if all are of one size."""
        return np.asarray(self.sizes // self._gpus[0])

    @property
    def fillers_left(self) -> int:
        """Replicas of free stages that are still to be placed."""
        return int(self.replicas[self.free].sum()) - self.filled

    def without_fillers(self, patterns: Ints) -> Ints:
        """Patterns, shape (P, S), without replicas of free stages that no other stage needs."""
        if not self.free.any() or not len(patterns):
            return patterns
        remove_fillers = _remove_fillers.for_size(0.2 * patterns.size)
        return np.asarray(remove_fillers(self._min_previous, self.free, patterns))

    def best_patterns(self, duals: Floats) -> tuple[Floats, Ints]:
        """Value of the best pattern of each class (C,), and the patterns (C, S)."""
        stages = self.replicas, self._gpus
        run = _best_patterns.for_size(self._steps / 6)
        duals = np.asarray(duals, dtype=float)
        values, patterns = run(self._min_previous, stages, self.sizes, duals, self._full)
        return values, patterns

    def possible_patterns(self, duals: Floats, max_patterns: int) -> tuple[Ints, Ints] | None:
        """Classes and patterns not excluded by reduced-cost fixing; None if too many.

        The values of a placement's patterns sum to sum k pi, and none exceeds its class's z, so
        none is below z - (sum N z - sum k pi).
        """
        available = np.flatnonzero(self.servers > 0).tolist()
        if int(self.sizes[available].max(initial=0)) > MAX_ENUMERATED:
            return None
        values, _ = self.best_patterns(duals)
        slack = -self._surplus(duals, values)
        total = float(np.abs(duals) @ self.replicas)
        rounding = VALUE_RTOL * abs(slack) + 4 * len(duals) * float(np.spacing(total))
        replicas, full, filler = self.replicas, self._full, self._filler_dual(duals)
        if self.free.any():  # values are reduced by the most valuable filler of the same slots
            duals = duals - filler
            replicas, full = np.where(self.free & ~self._next_to_nonfree, 0, replicas), False
        stages, of_theta = (replicas, self._gpus), (self._min_previous, self.free)
        classes: list[Ints] = []
        patterns: list[Ints] = []
        for server_class in available:
            size, best = int(self.sizes[server_class]), float(values[server_class])
            min_value = best - slack - VALUE_RTOL * abs(best) - rounding
            if self.free.any():
                min_value -= filler * float(self.slots[server_class])
            run = _value_to_go.for_size(self._steps * (size + 1))
            to_go = run(self._min_previous, stages, size, duals, full)
            run = _patterns_above.for_size(self._steps)
            own = run(to_go, of_theta, stages, duals, min_value, max_patterns)
            if len(own) > max_patterns:
                return None
            max_patterns -= len(own)
            classes.append(np.full(len(own), server_class))
            patterns.append(own.astype(np.int64))
        return np.concatenate(classes), np.concatenate(patterns)

    def surplus(self, duals: Floats) -> tuple[float, Ints]:
        """sum k pi - sum N z, above 0 where the duals certify; and the best patterns."""
        values, patterns = self.best_patterns(duals)
        return self._surplus(duals, values), patterns

    def certificate(self, duals: Floats) -> PatternCertificate | None:
        """The duals as integers, if they certify that every placement exceeds theta."""
        if self.free.any():  # all slots are filled, so a constant added to all duals cancels
            duals = duals - min(float(duals.min()), 0.0)
        top = float(duals.max())
        if top <= 0:
            return None
        integer_duals = np.floor(np.maximum(duals, 0.0) * (DUAL_SCALE / top))
        surplus, _ = self.surplus(integer_duals)
        if surplus <= 0:
            return None
        return PatternCertificate(self.theta, tuple(int(dual) for dual in integer_duals))

    @property
    def _next_to_nonfree(self) -> NDArray[np.bool_]:
        nonfree = ~self.free
        neighbours = np.zeros_like(nonfree)
        neighbours[1:] |= nonfree[:-1]
        neighbours[:-1] |= nonfree[1:]
        return neighbours

    def _filler_dual(self, duals: Floats) -> float:
        return float(duals[self.free].max()) if self.free.any() else 0.0

    def _surplus(self, duals: Floats, values: Floats) -> float:
        available = self.servers > 0
        total_value = float(self.replicas @ duals) - self._filler_dual(duals) * self.filled
        return total_value - float(self.servers[available] @ values[available])


@kernel
def _min_previous(costs: Any, size: int, limit: float) -> Any:
    """Minimum replicas of the previous stage that keep stage s within a limit, by s, v and w."""
    replicas, gpus = costs.replicas, costs.gpus
    stages = len(replicas)
    top = min(size, replicas.max())
    min_previous = np.full((stages, top + 1, top + 1), top + 1, dtype=np.int32)
    for s in range(stages):
        q_previous = gpus[s - 1] if s > 0 else 1
        q_next = gpus[s + 1] if s + 1 < stages else 1
        max_previous = min(size // q_previous, replicas[s - 1]) if s > 0 else 0
        max_next = min(size // q_next, replicas[s + 1]) if s + 1 < stages else 0
        for w in range(max_next + 1):
            min_previous[s, 0, w] = 0
        for v in range(1, min(size // gpus[s], replicas[s]) + 1):
            u, room = 0, size - gpus[s] * v
            for w in range(min(max_next, room // q_next), -1, -1):
                while u <= max_previous and stage_time(costs, s, v, u, w) > limit:
                    u += 1
                if u > max_previous:
                    break
                if q_previous * u + q_next * w <= room:
                    min_previous[s, v, w] = u
    return min_previous


@kernel
def _best_patterns(min_previous: Any, stage_data: Any, sizes: Any, duals: Any, full: bool) -> Any:
    """For each size the top valuable pattern of exactly (if `full`) or at top so many GPUs.

    `stage_data` are the replicas and the GPUs of a replica, by stage.
    """
    replicas, gpus = stage_data
    stages, top, size = len(replicas), min_previous.shape[1] - 1, sizes.max()
    # value[u, v, used]: best value of counts whose last two stages have u and v replicas and all
    # earlier stages meet theta.
    value = np.full((top + 1, top + 1, size + 1), -np.inf)
    chosen = np.zeros((stages, top + 1, top + 1, size + 1), dtype=np.int16)
    for v in range(min(replicas[0], size // gpus[0]) + 1):
        value[0, v, gpus[0] * v] = duals[0] * v
    best_value = np.empty(top + 2)
    best_count = np.empty(top + 2, dtype=np.int16)
    for s in range(stages - 1):
        following = np.full((top + 1, top + 1, size + 1), -np.inf)
        q_next = gpus[s + 1]
        max_next = min(replicas[s + 1], size // q_next)
        for v in range(min(replicas[s], size // gpus[s]) + 1):
            for used in range(gpus[s] * v, size + 1):
                _best_from_count(value, v, used, top, best_value, best_count)
                if best_value[0] == -np.inf:
                    continue
                for w in range(min(max_next, (size - used) // q_next) + 1):
                    u, then = int(min_previous[s, v, w]), used + q_next * w
                    if u <= top and best_value[u] > -np.inf:
                        following[v, w, then] = best_value[u] + duals[s + 1] * w
                        chosen[s + 1, v, w, then] = best_count[u]
        value = following
    best = np.full(len(sizes), -np.inf)
    patterns = np.zeros((len(sizes), stages), dtype=np.int64)
    for c in range(len(sizes)):
        used, last, previous = 0, -1, 0
        for filled in range(sizes[c] if full else 0, sizes[c] + 1):
            for v in range(top + 1):
                for u in range(min_previous[stages - 1, v, 0], top + 1):
                    if value[u, v, filled] > best[c]:
                        best[c], used = value[u, v, filled], filled
                        last, previous = v, u
        if last >= 0:
            for s in range(stages - 1, -1, -1):
                patterns[c, s] = last
                if s > 0:
                    earlier = int(chosen[s, previous, last, used])
                    used -= gpus[s] * last
                    last, previous = previous, earlier
    return best, patterns


@register_jitable
def _best_from_count(
    value: Any, v: int, used: int, top: int, best_value: Any, best_count: Any
) -> None:
    """best_value[u] = max of value[u', v, used] over u' >= u, at u' = best_count[u]."""
    best_value[top + 1] = -np.inf
    best_count[top + 1] = 0
    for u in range(top, -1, -1):
        best_value[u], best_count[u] = best_value[u + 1], best_count[u + 1]
        if value[u, v, used] > best_value[u]:
            best_value[u], best_count[u] = value[u, v, used], u


@kernel
def _value_to_go(min_previous: Any, stage_data: Any, size: int, duals: Any, full: bool) -> Any:
    """Upper bound on the value of stages after s, by s, x_{s-1}, x_s and GPUs left; O(S g^4)."""
    replicas, gpus = stage_data
    stages, top = len(replicas), min_previous.shape[1] - 1
    value = np.full((stages, top + 1, top + 1, size + 1), -np.inf)
    for v in range(top + 1):
        for u in range(min_previous[stages - 1, v, 0], top + 1):
            value[stages - 1, u, v, 0] = 0.0
            if not full:
                for left in range(1, size + 1):
                    value[stages - 1, u, v, left] = 0.0
    for s in range(stages - 2, -1, -1):
        q_next = gpus[s + 1]
        max_next = min(replicas[s + 1], size // q_next)
        for v in range(min(replicas[s], size // gpus[s]) + 1):
            for left in range(size - gpus[s] * v + 1):
                for w in range(min(max_next, left // q_next) + 1):
                    more = value[s + 1, v, w, left - q_next * w] + duals[s + 1] * w
                    for u in range(min_previous[s, v, w], top + 1):
                        if more > value[s, u, v, left]:
                            value[s, u, v, left] = more
    return value


@kernel
def _patterns_above(
    to_go: Any, of_theta: Any, stage_data: Any, duals: Any, min_value: float, max_patterns: int
) -> Any:
    """Enumerate patterns of value at least `min_value`; at top `max_patterns` + 1 of them.

    The last axis of `to_go` has the server's GPUs, plus 1. A free stage has no more replicas than
    its neighbours need.
    """
    replicas, gpus = stage_data
    min_previous, free = of_theta
    stages, size = len(replicas), to_go.shape[3] - 1
    patterns = np.empty((max_patterns + 1, stages), dtype=np.int16)
    count = 0
    x = np.full(stages, -1, dtype=np.int64)
    used = np.zeros(stages + 1, dtype=np.int64)
    value = np.zeros(stages + 1)
    s = 0
    while s >= 0:
        x[s] += 1
        v = x[s]
        taken = used[s] + gpus[s] * v
        if v > replicas[s] or taken > size:
            x[s] = -1
            s -= 1
            continue
        u = x[s - 1] if s > 0 else 0
        if s > 0 and min_previous[s - 1, u, v] > (x[s - 2] if s > 1 else 0):
            continue
        new_value = value[s] + duals[s] * v
        if new_value + to_go[s, u, v, size - taken] < min_value:
            continue
        if s > 1 and free[s - 2] and x[s - 2] > _min_needed(min_previous, x, s - 2):
            continue
        if s == stages - 1:
            if free[s] and x[s] > _min_needed(min_previous, x, s):
                continue
            if s > 0 and free[s - 1] and x[s - 1] > _min_needed(min_previous, x, s - 1):
                continue
            for i in range(stages):
                patterns[count, i] = x[i]
            count += 1
            if count > max_patterns:
                break
            continue
        used[s + 1], value[s + 1] = taken, new_value
        s += 1
    return patterns[:count]


@kernel
def _remove_fillers(min_previous: Any, free: Any, patterns: Any) -> Any:
    """Patterns, shape (P, S), whose free stages have no more replicas than others need."""
    stripped = patterns.copy()
    for p in range(len(stripped)):
        for s in range(len(free)):
            if free[s] and stripped[p, s] > 0:
                stripped[p, s] = _min_needed(min_previous, stripped[p], s)
    return stripped


@register_jitable
def _min_needed(min_previous: Any, x: Any, s: int) -> int:
    """Minimum replicas of stage s, up to x_s, that keep its neighbours within theta."""
    stages, needed = len(x), 0
    if s + 1 < stages and x[s + 1] > 0:
        needed = int(min_previous[s + 1, x[s + 1], x[s + 2] if s + 2 < stages else 0])
    if s > 0 and x[s - 1] > 0:
        previous = x[s - 2] if s > 1 else 0
        while needed < x[s] and min_previous[s - 1, x[s - 1], needed] > previous:
            needed += 1
    return needed
