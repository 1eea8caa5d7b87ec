"""Certificates by branching for placements, where prices of replicas alone fall short.

Every pattern that a server may hold within the threshold is written down; the programme is to be
short of as few replicas as can be, or over, and is branched on until every leaf is so of some. With
micro-batches, first on how much work a stage has on its slowest server.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, hstack, vstack

from optsched.backends import GrowingLp, LpAnswer, MilpArrays
from optsched.deadline import Deadline
from optsched.library.branching import Branch, Document, Tree, rows_of
from optsched.library.verify.certificate import Path
from optsched.library.verify.placement import patterns_within, stage_times
from optsched.result import Settings

SHORT = 1e-3
"""Replicas short or over at which a leaf is closed."""
LARGEST_PRICE = 10**6
MOST_PATTERNS = 20_000
WHOLE = 1e-6
ABOVE = 1e-9
"""Relative differences of times that are none."""
COUNTS: tuple[tuple[str, ...], ...] = (("stage", "least"), ("free", "stage", "least"))
"""What counts of servers are told apart by; the widest first."""


def placement_tree(instance: Document, theta: float, deadline: Deadline) -> Document | None:
    """A tree that proves that no placement is within a threshold; None if none is found."""
    search = _Search(instance, theta, deadline, [])
    if not search.grow([]):
        return None
    return {"kind": "branches", "threshold": theta, "nodes": search.nodes}


@dataclass
class _Search:
    instance: Document
    theta: float
    deadline: Deadline
    nodes: list[Document]

    @property
    def stages(self) -> list[Document]:
        """Of the job."""
        stages: list[Document] = self.instance["job"]["stages"]
        return stages

    def grow(self, worked: Path, path: tuple[Branch, ...] = ()) -> bool:
        """Add the nodes below rows of work and of counts; False where they cannot be closed."""
        offers = Counter(free for free in self.instance["free_gpus"] if free)
        within, least = patterns_within(self.instance, self.theta, max(offers), worked)
        held = {size: list(self._patterns(within, size)) for size in sorted(offers)}
        if self.deadline.is_over or sum(map(len, held.values())) > MOST_PATTERNS:
            return False
        if not all(held.values()):
            self.nodes.append({"prices": [0] * len(self.stages), "rows": [0] * len(path)})
            return True
        columns = [(size, pattern) for size in held for pattern in held[size]]

        def split(answer: LpAnswer, below: tuple[Branch, ...]) -> bool | None:
            used = answer.values[2 * len(self.stages) :][: len(columns)] > WHOLE
            inside = zip(columns, used, strict=True)
            row = self._slow([pattern for (_, pattern), is_used in inside if is_used], least)
            if row is None:
                return None
            at = len(self.nodes)
            self.nodes.append({"count": row, "most": 0, "children": [at + 1, 0]})
            if not self.grow([*worked, (1, row, 0)], below):
                return False
            self.nodes[at]["children"][1] = len(self.nodes)
            return self.grow([*worked, (-1, row, -1)], below)

        tree = self._tree(columns, offers)
        if self.instance["job"].get("micro_batches") is not None:
            tree.split = split
        return tree.grow(path)

    def _patterns(self, within: list[np.ndarray], size: int) -> Iterator[tuple[int, ...]]:
        """Replicas by stage of whatever a server of a size may hold."""
        takes = [stage.get("tensor_parallel", 1) for stage in self.stages]
        needed = sum(stage["replicas"] * q for stage, q in zip(self.stages, takes, strict=True))
        full = sum(self.instance["free_gpus"]) <= needed

        def held(begun: tuple[int, ...], left: int) -> Iterator[tuple[int, ...]]:
            s = len(begun)
            u, v = (0, *begun)[-2:] if begun else (0, 0)
            if s == len(takes):
                if within[s - 1][u, v, 0] and not (full and left):
                    yield begun
                return
            for n in range(min(within[s].shape[1], left // takes[s] + 1)):
                if s == 0 or within[s - 1][u, v, n]:
                    yield from held((*begun, n), left - n * takes[s])

        return held((), size)

    def _tree(self, columns: list[tuple[int, tuple[int, ...]]], offers: Counter[int]) -> Tree:
        """The programme over patterns, to be branched on."""
        count, sizes = len(self.stages), sorted(offers)
        counts = csr_array(np.array([pattern for _, pattern in columns], dtype=float).T)
        servers = csr_array(
            np.array([[float(size == each) for size, _ in columns] for each in sizes])
        )
        short = vstack([eye_array(count), csr_array((len(sizes), count))])
        matrix = csr_array(hstack([short, -short, vstack([counts, servers])], format="csr"))
        wanted = [float(stage["replicas"]) for stage in self.stages]
        total = matrix.shape[1]
        programme = MilpArrays(
            np.concatenate((np.ones(2 * count), np.zeros(len(columns)))),
            matrix,
            np.array([*wanted, *[-np.inf] * len(sizes)]),
            np.array([*wanted, *(float(offers[size]) for size in sizes)]),
            np.zeros(total),
            np.full(total, np.inf),
            np.zeros(total, dtype=bool),
        )
        said = [
            (2 * count + i, {"free": size, "stage": s, "least": least})
            for i, (size, pattern) in enumerate(columns)
            for s, v in enumerate(pattern)
            for least in range(1, v + 1)
        ]
        lp = GrowingLp(programme, Settings())
        return Tree(lp, rows_of(said, COUNTS), SHORT, self._leaf, self.deadline, self.nodes)

    def _leaf(self, answer: LpAnswer, path: Sequence[Branch], paid: list[float]) -> Document:
        """Its prices as whole numbers."""
        prices = answer.duals[: len(self.stages)]
        scale = LARGEST_PRICE / max(float(np.abs(prices).max()), *paid, 1e-9)
        whole = np.rint(prices * scale).astype(int).tolist()
        return {"prices": whole, "rows": [round(price * scale) for price in paid]}

    def _slow(
        self, patterns: Sequence[tuple[int, ...]], least: NDArray[np.float64]
    ) -> Document | None:
        """A stage whose slowest server in use is slower than it must be, and by what to tell."""
        best: tuple[float, Document] | None = None
        for s in range(len(self.stages)):
            each = np.array([self._times(pattern, s) for pattern in patterns])
            for what, times, low in zip(("work", "reduce"), each.T, least[:, s], strict=True):
                slower = np.unique(times[times > low * (1 + ABOVE)])
                if slower.size and (best is None or slower[-1] - low > best[0]):
                    middle = float(slower[slower.size // 2]) * (1 - ABOVE / 10)
                    best = float(slower[-1] - low), {"stage": s, what: middle}
        return None if best is None else best[1]

    def _times(self, pattern: tuple[int, ...], s: int) -> tuple[float, float]:
        """Seconds of a stage's work and all-reduce in a pattern; 0 where it is not there."""
        u, v, w = (0, *pattern, 0)[s : s + 3]
        if v == 0:
            return 0.0, 0.0
        shape = u + 1, w + 1
        times = stage_times(self.instance["job"], self.instance["cluster"], s, v, shape)
        return float(times[0][u, w]), times[1]
