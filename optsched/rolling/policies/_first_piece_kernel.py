"""The compiled loop of rolling STS: the first piece of every job's speed profile, with k >= k_0."""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.compiled_loops import njit
from optsched.speed_profile.exact._hull_kernel import INFEASIBLE, _area, solve_profile

SHORTEST = 1e-3
"""Seconds: a shorter first piece is left out, the next speed starts at once. Where two GPU types
take turns in having a sliver of slack left, time would otherwise come to a standstill."""


@njit(cache=True)
def first_pieces(
    knots: Any,
    high: Any,
    low: Any,
    start: Any,
    inverse: Any,
    energy: Any,
    deadlines: Any,
    least: Any,
    speeds: Any,
    lengths: Any,
    costs: Any,
) -> Any:
    """For each job: its first speed (-1 infeasible), epochs until the next one, expected energy.

    As `first_speeds`, with the speeds below ``least[j]`` left out and first pieces of less than
    `SHORTEST` seconds; ``lengths`` is infinite when the first piece is the last. ``inverse`` and
    ``energy`` are overwritten below ``least``.
    """
    kinds = inverse.shape[1]
    vertices, changes = np.empty(kinds, np.int64), np.empty(kinds)
    spare = np.empty(kinds)
    for j in range(len(deadlines)):
        a, b = start[j], start[j + 1]
        k, h, f = knots[a + j : b + j + 1], high[a:b], low[a:b]
        for c in range(least[j]):
            inverse[j, c] = np.inf
        status, edges, _ = solve_profile(
            k, h, f, inverse[j], energy[j], deadlines[j], vertices, changes, spare
        )
        lengths[j] = np.inf
        if status == INFEASIBLE:
            speeds[j], costs[j] = -1, np.inf
            continue
        speeds[j] = vertices[edges]
        before, total, found = k[0], 0.0, False
        for e in range(edges + 1):
            after = changes[e] if e < edges else k[-1]
            length = (after - before) * inverse[j, vertices[e]]
            if not found and after > before and (length >= SHORTEST or after >= k[-1]):
                found = True
                speeds[j] = vertices[e]
                lengths[j] = after - k[0] if after < k[-1] else np.inf
            total += energy[j, vertices[e]] * _area(k, h, f, before, after)
            before = max(before, after)
        costs[j] = total
