"""Parallel tempering for nested annealing: copies of the jobs at several temperatures.

Each copy keeps its temperature and makes moves; then neighbours swap what they hold, as the
Metropolis rule allows: a place found hot becomes cold without a schedule of cooling, and what is
stuck cold is shaken hot. Swendsen and Wang (Physical Review Letters 57, 1986); Geyer (1991).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from optsched.makespan.contention import Ints
from optsched.makespan.heuristics._blocks_kernel import Blocks, Positions, loads_of
from optsched.makespan.heuristics._nested_kernel import anneal
from optsched.makespan.heuristics._random_kernel import random_state

COPIES = 12
COLDEST, HOTTEST = 4e-3, 2e-2
"""Square roots of the temperatures at the two ends, as shares of the scale; geometric between."""
MOVES = 20_000
"""Of a copy in a turn."""


class Tempering:
    """Positions of the same jobs, one for each temperature."""

    def __init__(self, blocks: Blocks, start: Ints, scale: float, seed: int) -> None:
        self.blocks = blocks
        self.temperatures = (np.geomspace(COLDEST, HOTTEST, COPIES) * scale) ** 2
        self.random = np.random.default_rng((seed, COPIES))
        self.held = []
        for one in self.random.integers(2**63, size=COPIES).tolist():
            load = np.zeros(len(blocks.base))
            loads_of(blocks, start, load)
            self.held.append(Positions(start.copy(), load, random_state(one)))
        self.odd = False

    def turns(self, target: float, left: int) -> Iterator[tuple[Positions, int]]:
        """Each copy's positions after its turn towards a target in slots, and its moves.

        `left` moves are the most that all of them make (but one each is made).
        """
        moves = min(MOVES, max(1, left // COPIES))
        for now, temperature in zip(self.held, self.temperatures.tolist(), strict=True):
            yield now, max(1, anneal(self.blocks, now, target, temperature, moves))

    def exchange(self, target: float) -> None:
        """Swap neighbours, by turns the even and the odd pairs.

        A swap that lowers the sum of cost / temperature by d is made always, one that raises it
        with probability exp(-d): in balance each temperature keeps its distribution.
        """
        cost = [float(np.square(np.maximum(now.load - target, 0.0)).sum()) for now in self.held]
        for k in range(int(self.odd), COPIES - 1, 2):
            colder, hotter = self.temperatures[k : k + 2].tolist()
            gain = (cost[k] - cost[k + 1]) * (1.0 / colder - 1.0 / hotter)
            if gain >= 0.0 or self.random.random() < math.exp(gain):
                self.held[k], self.held[k + 1] = self.held[k + 1], self.held[k]
        self.odd = not self.odd
