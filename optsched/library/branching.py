"""Trees of linear programmes, until every leaf is above a target: what certificates branch on.

Rows count columns; a whole number of them is k at most or more. Depth first; of a few rows whose
count is none, the one is branched on whose two children gain most.
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
"""What is counted, as `verify` reads it: its keys and what they are, such as a type's name."""
PROBED = 12
"""Rows whose children are looked at before one is chosen."""
MOST_LEAVES = 3000
BROKEN = 3.0
"""Times the target: the price of breaking a row by one, so that no child is infeasible."""
WHOLE = 1e-6


@dataclass(frozen=True)
class Branch:
    """A row on the way to a node: `most` at most (`few`), or more."""

    row: Row
    most: int
    few: bool


class Split(Protocol):
    """Another way to branch: whether the nodes below could be added; None where it does not."""

    def __call__(self, answer: LpAnswer, path: tuple[Branch, ...], /) -> bool | None: ...


class Leaf(Protocol):
    """What a leaf keeps of its prices."""

    def __call__(
        self, answer: LpAnswer, path: Sequence[Branch], paid: list[float], /
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
    split : Split, optional
        Asked first how to branch.
    """

    lp: GrowingLp
    members: dict[Row, NDArray[np.int64]]
    target: float
    leaf: Leaf
    deadline: Deadline
    nodes: list[Document] = field(default_factory=list)
    split: Split | None = None
    rows: dict[Row, int] = field(default_factory=dict)

    def grow(self, path: tuple[Branch, ...] = ()) -> bool:
        """Add the nodes below a path; False where there are too many or one cannot be closed."""
        answer = self._solve(path)
        if answer is None or self.deadline.is_over or len(self.nodes) > 2 * MOST_LEAVES:
            return False
        if answer.objective >= self.target:
            self.nodes.append(self.leaf(answer, path, self._paid(answer, path)))
            return True
        below = None if self.split is None else self.split(answer, path)
        if below is not None:
            return below
        chosen = self._chosen(answer, path)
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
                columns, price = self.members[branch.row], BROKEN * self.target
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

    def _paid(self, answer: LpAnswer, path: Sequence[Branch]) -> list[float]:
        """The prices of a path's rows: of bounds of one row the last is the tightest."""
        paid: list[float] = []
        seen: set[tuple[Row, bool]] = set()
        for branch in reversed(path):
            dual = float(answer.duals[self.rows[branch.row]])
            price = max(-dual if branch.few else dual, 0.0)
            paid.append(0.0 if (branch.row, branch.few) in seen else price)
            seen.add((branch.row, branch.few))
        return paid[::-1]

    def _chosen(self, answer: LpAnswer, path: tuple[Branch, ...]) -> tuple[Row, int] | None:
        """Of the rows most between whole numbers the one whose children gain most."""
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
        """Rows whose count is not whole, with its floor: of each kind in turn the farthest off."""
        found: dict[tuple[str, ...], list[tuple[float, Row, int]]] = {}
        for row, columns in self.members.items():
            keys = tuple(key for key, _ in row)
            kind = found.setdefault(keys, [])
            count = float(values[columns].sum())
            off = abs(count - round(count))
            if off > WHOLE:
                kind.append((off, row, int(count)))
        ranked = [sorted(each, key=lambda f: -f[0]) for each in found.values()]
        turns = [each[i] for i in range(PROBED) for each in ranked if i < len(each)]
        yield from ((row, most) for _, row, most in turns[:PROBED])


def rows_of(
    columns: Sequence[tuple[int, Document]], keys: Sequence[tuple[str, ...]]
) -> dict[Row, NDArray[np.int64]]:
    """By row the columns that it counts."""
    found: dict[Row, list[int]] = defaultdict(list)
    for each in keys:
        for number, said in columns:
            if set(each) <= set(said):
                found[tuple((key, said[key]) for key in each)].append(number)
    return {row: np.array(numbers) for row, numbers in found.items()}
