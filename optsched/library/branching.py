"""Trees of linear programmes that prove a target: branching for certificates of selections.

Each row sums some columns; one child bounds the sum by k above, the other by k + 1 below. Depth
first; strong branching chooses among a few fractional rows the one whose children gain most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from optsched.backends import GrowingLp, LpAnswer
from optsched.deadline import Deadline

Document = dict[str, Any]
Row = tuple[tuple[str, Any], ...]
"""The columns that a row sums, as `verify` reads it: keys and values, such as a type's name."""
MAX_PROBED = 12
"""Candidate rows of strong branching."""
MAX_LEAVES = 3000
VIOLATION_PENALTY = 3.0
"""Cost of violating a row by one, in targets: it keeps every child feasible."""
INTEGRALITY_TOL = 1e-6


@dataclass(frozen=True)
class Branch:
    """A branch on the path to a node: the row's sum is at most `most` (`few`), or more."""

    row: Row
    most: int
    few: bool


class Leaf(Protocol):
    """Makes the certificate of a leaf from its duals."""

    def __call__(
        self, answer: LpAnswer, path: Sequence[Branch], duals: list[float], /
    ) -> Document: ...


@dataclass
class Tree:
    """A search for a tree whose leaves are all above a target.

    Attributes
    ----------
    lp : GrowingLp
        The programme, to be minimised.
    members : dict
        By row the columns that it counts; rows of the same keys are of a kind, widest kinds first.
    target : float
        In the programme's own unit, above 0.
    leaf : Leaf
        Called with the answer, the path and the prices of its rows.
    deadline : Deadline
    nodes : list of dict
        The tree, a node before its children.
    """

    lp: GrowingLp
    members: dict[Row, NDArray[np.int64]]
    target: float
    leaf: Leaf
    deadline: Deadline
    nodes: list[Document] = field(default_factory=list)
    rows: dict[Row, int] = field(default_factory=dict)

    def grow(self, path: tuple[Branch, ...] = ()) -> bool:
        """Add the nodes below a path; False where there are too many or one cannot be closed."""
        answer = self._solve(path)
        if answer is None or self.deadline.is_over or len(self.nodes) > 2 * MAX_LEAVES:
            return False
        if answer.objective >= self.target:
            self.nodes.append(self.leaf(answer, path, self._row_duals(answer, path)))
            return True
        chosen = self._branching_row(answer, path)
        if chosen is None:
            return False
        (row, most), node = chosen, len(self.nodes)
        self.nodes.append({"count": dict(row), "most": most, "children": [node + 1, 0]})
        if not self.grow((*path, Branch(row, most, True))):
            return False
        self.nodes[node]["children"][1] = len(self.nodes)
        return self.grow((*path, Branch(row, most, False)))

    def _solve(self, path: Sequence[Branch]) -> LpAnswer | None:
        """The relaxation in a node."""
        for branch in path:
            if branch.row not in self.rows:
                columns, price = self.members[branch.row], VIOLATION_PENALTY * self.target
                self.rows[branch.row] = self.lp.add_elastic_row(columns, price)
        bounds: dict[Row, tuple[float, float]] = dict.fromkeys(self.rows, (-np.inf, np.inf))
        for branch in path:
            low, high = bounds[branch.row]
            if branch.few:
                bounds[branch.row] = low, min(high, branch.most)
            else:
                bounds[branch.row] = max(low, branch.most + 1), high
        for row, limits in bounds.items():
            self.lp.bound_row(self.rows[row], *limits)
        return self.lp.solve()

    def _row_duals(self, answer: LpAnswer, path: Sequence[Branch]) -> list[float]:
        """Duals of the branches on the path; of bounds of one row only the last has a dual."""
        duals: list[float] = []
        seen: set[tuple[Row, bool]] = set()
        for branch in reversed(path):
            dual = float(answer.duals[self.rows[branch.row]])
            price = max(-dual if branch.few else dual, 0.0)
            duals.append(0.0 if (branch.row, branch.few) in seen else price)
            seen.add((branch.row, branch.few))
        return duals[::-1]

    def _branching_row(self, answer: LpAnswer, path: tuple[Branch, ...]) -> tuple[Row, int] | None:
        """The fractional row whose children gain most, and its floor."""
        best: tuple[float, tuple[Row, int]] | None = None
        room = max(self.target - answer.objective, 1e-12 * self.target)
        for row, most in self._candidates(answer.values):
            if any(branch.row == row and branch.most == most for branch in path):
                continue  # a row that is broken
            gains = []
            for few in (True, False):
                child = self._solve((*path, Branch(row, most, few)))
                gain = room if child is None else min(child.objective - answer.objective, room)
                gains.append(max(gain, 1e-3 * room))
            merit = gains[0] * gains[1]
            if best is None or merit > best[0] * (1 + 1e-9):
                best = merit, (row, most)
            if min(gains) >= room:
                break
        return None if best is None else best[1]

    def _candidates(self, values: NDArray[np.float64]) -> Iterator[tuple[Row, int]]:
        """Rows with a fractional sum, and its floor: of each kind in turn the most fractional."""
        found: dict[tuple[str, ...], list[tuple[float, Row, int]]] = {}
        for row, columns in self.members.items():
            keys = tuple(key for key, _ in row)
            kind = found.setdefault(keys, [])
            count = float(values[columns].sum())
            off = abs(count - round(count))
            if off > INTEGRALITY_TOL:
                kind.append((off, row, int(count)))
        ranked = [sorted(each, key=lambda f: -f[0]) for each in found.values()]
        turns = [each[i] for i in range(MAX_PROBED) for each in ranked if i < len(each)]
        yield from ((row, most) for _, row, most in turns[:MAX_PROBED])


def rows_of(
    columns: Sequence[tuple[int, Document]], keys: Sequence[tuple[str, ...]]
) -> dict[Row, NDArray[np.int64]]:
    """By row the columns that it counts."""
    found: dict[Row, list[int]] = defaultdict(list)
    for each in keys:
        for number, role in columns:
            if set(each) <= set(role):
                found[tuple((key, role[key]) for key in each)].append(number)
    return {row: np.array(numbers) for row, numbers in found.items()}
