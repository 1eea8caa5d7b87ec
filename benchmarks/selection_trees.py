"""Tree certificates for selections, for values that one set of prices does not prove.

Usage: ``python benchmarks/selection_trees.py STORE [--time-limit 60]``. For each selection of the
library whose best bound has no certificate, it solves the instance, searches a tree and adds what
`verify` proves of it to a store, which ``optsched verify --store`` reads. The trees that ship were
found with strong branching on top of this search.

An inner node counts the jobs that have a role of some kind: at most k in one child, more in the
other. A leaf has duals that prove the target. The search is depth first and branches on the most
fractional count, the widest kinds of role first.
"""

import argparse
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from optsched.backends.arrays import GrowingLp, LpSolution
from optsched.deadline import Deadline
from optsched.library.best_records import EQUAL_RTOL, best_records
from optsched.library.records import Record, add, locked, packed, today
from optsched.library.sets import all_entries, load_entry
from optsched.library.verify import verify
from optsched.methods import solve
from optsched.result import Settings
from optsched.selection.bounds.prices import DualBound
from optsched.selection.cost import tables_of
from optsched.selection.models.arcs import ArcFlow, Ints, arc_flow_of
from optsched.selection.options import SelectionOptions

Document = dict[str, Any]
Row = tuple[tuple[str, Any], ...]
"""The columns that a count sums: keys of roles, such as "type", and their values."""
MAX_NODES = 6000
VIOLATION_PENALTY = 3.0
"""Cost of violating a row by one, in targets: it keeps every child feasible."""
INTEGRALITY_TOL = 1e-6
ROUNDING_SHARE = 4.0
"""A dual's rounding counts at most this often for each job, GPU and unit of a row."""
ROLE_RTOL = 1e-7
"""Roles whose reduced cost exceeds the gap by less than this share of the target stay."""
ROLES: tuple[tuple[str, ...], ...] = (
    ("role", "type"),
    ("role", "node"),
    ("role", "node", "used"),
    ("role", "type", "configuration"),
    ("type", "configuration"),
    ("role", "node", "configuration", "used"),
    ("type",),
    ("job", "type"),
    ("job", "role"),
    ("job", "type", "configuration"),
    ("job", "role", "type", "configuration"),
    ("job", "role", "node", "configuration", "used"),
)
"""Keys by which counts select roles; the widest first."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Search a tree for every selection that needs one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store")
    parser.add_argument("--time-limit", type=float, default=60.0)
    given = parser.parse_args(arguments)
    selections = [entry for entry in all_entries() if entry.problem == "selection"]
    for known in best_records(selections, given.store):
        if known.has_certified_bound:
            continue
        entry, instance = known.entry, load_entry(known.entry)
        result: Any = solve(instance, "columns", time_limit=given.time_limit)
        duals = result.solution.certificate.model_dump(mode="json")
        target = result.objective * (1 - EQUAL_RTOL)
        tree = selection_tree(instance, duals, target, Deadline(given.time_limit))
        print(f"{entry.name}: {'no tree' if tree is None else len(tree['nodes'])}", flush=True)
        if tree is not None:
            fields = {"instance": entry.name, "sha256": entry.sha256, "by": "selection_trees.py"}
            fields |= {"kind": "bound", "value": verify(instance.to_dict(), tree), "date": today()}
            record = Record(**fields, proof="certificate", certificate=packed(tree))
            with locked(Path(given.store) / f"{entry.set_name}.jsonl") as stream:
                add(stream, [record.line()])


class Branch(NamedTuple):
    """A branch on the path to a node: the count is at most `limit`, or more."""

    row: Row
    limit: int
    at_most: bool


def selection_tree(
    instance: Any, certificate: Document, target: float, deadline: Deadline
) -> Document | None:
    """Find a tree whose leaves prove a target, from the duals of a certificate, or None."""
    skeleton = arc_flow_of(tables_of(instance, SelectionOptions()))
    lp, leaders = _programme(skeleton, certificate, target)
    gpus = sum(node.gpus for node in instance.nodes)
    unit = target / len(instance.jobs)
    tree = _Tree(skeleton, lp, _members(skeleton, leaders), target / unit, unit, gpus, deadline)
    if not tree.grow(()):
        return None
    duals = {key: certificate[key] for key in ("jobs", "slots")}
    return {"kind": "branches", **duals, "target": target, "nodes": tree.nodes}


class _ElasticLp(GrowingLp):
    """A linear programme whose rows, added later, may be violated at a penalty."""

    def add_elastic_row(self, columns: Ints, penalty: float) -> int:
        """Add a row, the sum of some columns, to be bounded later; return its number."""
        row = int(self._highs.getNumRow())
        ones = np.ones(len(columns))
        free = np.inf
        self._highs.addRow(-free, free, len(columns), columns.astype(np.int32), ones)
        for sign in (1.0, -1.0):
            self._highs.addCol(
                penalty, 0.0, free, 1, np.array([row], dtype=np.int32), sign * ones[:1]
            )
        return row

    def bound_row(self, row: int, lower: float, upper: float) -> None:
        """Change a row's bounds; the basis stays dual feasible."""
        self._highs.setOptionValue("simplex_strategy", 1)
        self._highs.changeRowBounds(row, lower, upper)


@dataclass
class _Tree:
    """A search; objective and `target` are in `unit` dollars, `nodes` has parents first."""

    skeleton: ArcFlow
    lp: _ElasticLp
    members: Mapping[Row, Ints]
    target: float
    unit: float
    gpus: int
    deadline: Deadline
    nodes: list[Document] = field(default_factory=list)
    rows: dict[Row, int] = field(default_factory=dict)

    def grow(self, path: tuple[Branch, ...]) -> bool:
        """Add the nodes below a path; False if there are too many or one cannot be closed."""
        answer = self._solve(path)
        if answer is None or self.deadline.is_over or len(self.nodes) > MAX_NODES:
            return False
        if answer.objective >= self.target:
            self.nodes.append(self._leaf(answer, path))
            return True
        row = self._branching_row(answer, path)
        if row is None:
            return False
        limit, node = int(answer.values[self.members[row]].sum()), len(self.nodes)
        self.nodes.append({"count": dict(row), "most": limit, "children": [node + 1, 0]})
        if not self.grow((*path, Branch(row, limit, at_most=True))):
            return False
        self.nodes[node]["children"][1] = len(self.nodes)
        return self.grow((*path, Branch(row, limit, at_most=False)))

    def _solve(self, path: tuple[Branch, ...]) -> LpSolution | None:
        bounds = dict.fromkeys(self.rows, (-np.inf, np.inf))
        for row, limit, at_most in path:
            if row not in self.rows:
                penalty = VIOLATION_PENALTY * self.target
                self.rows[row] = self.lp.add_elastic_row(self.members[row], penalty)
            low, high = bounds.get(row, (-np.inf, np.inf))
            bounds[row] = (low, min(high, limit)) if at_most else (max(low, limit + 1), high)
        for row, (low, high) in bounds.items():
            self.lp.bound_row(self.rows[row], low, high)
        return self.lp.solve()

    def _branching_row(self, answer: LpSolution, path: tuple[Branch, ...]) -> Row | None:
        """The most fractional count of the widest kind that has one."""
        best: dict[tuple[str, ...], tuple[float, Row]] = {}
        for row, columns in self.members.items():
            count = float(answer.values[columns].sum())
            distance = abs(count - round(count))
            kind = tuple(key for key, _ in row)
            is_violated = any(b.row == row and b.limit == int(count) for b in path)
            if distance > max(INTEGRALITY_TOL, best.get(kind, (0.0,))[0]) and not is_violated:
                best[kind] = distance, row
        return next((best[kind][1] for kind in ROLES if kind in best), None)

    def _leaf(self, answer: LpSolution, path: tuple[Branch, ...]) -> Document:
        """The duals of a leaf, rounded the more the further it is above the target."""
        tables, start = self.skeleton.tables, self.skeleton.first_rows
        counts = tables.jobs + self.gpus + sum(branch.limit + 1 for branch in path)
        excess = (answer.objective - self.target) * self.unit
        size = max(excess, 1e-16 * self.target * self.unit)
        places = math.ceil(math.log10(ROUNDING_SHARE * counts / size))

        def rounded(duals: Any) -> list[float]:
            return [round(float(dual) * self.unit, places) for dual in duals]

        slots = np.maximum(-answer.duals[start["slot"] : start["leader_gpu"]], 0.0)
        by_kind = slots.reshape(len(tables.kinds), self.skeleton.max_configurations)
        kinds = {
            kind.name: rounded(by_kind[t, : len(kind.configurations)])
            for t, kind in enumerate(tables.kinds)
        }
        rows: list[float] = []
        seen: set[tuple[Row, bool]] = set()
        for row, _, at_most in reversed(path):  # only the last bound of a row has a dual
            dual = float(answer.duals[self.rows[row]])
            price = max(-dual if at_most else dual, 0.0)
            rows.append(0.0 if (row, at_most) in seen else price)
            seen.add((row, at_most))
        jobs = rounded(answer.duals[: tables.jobs])
        return {"jobs": jobs, "slots": kinds, "rows": rounded(rows[::-1])}


def _programme(skeleton: ArcFlow, certificate: Document, target: float) -> tuple[_ElasticLp, Ints]:
    """The LP over the roles that the root's duals cannot exclude; and its columns of leaders."""
    tables = skeleton.tables
    slots = np.zeros(tables.tardiness_cost.shape[1:])
    for t, kind in enumerate(tables.kinds):
        slots[t, : len(kind.configurations)] = certificate["slots"][kind.name]
    priced = DualBound(skeleton, np.array(certificate["jobs"]), slots, 0.0)
    gap = target - priced.bound() + ROLE_RTOL * target
    leaders = []
    for v in range(len(skeleton.classes)):
        reduced = priced.reduced_costs(v)
        first, uses = np.nonzero(reduced - min(float(reduced.min()), 0.0) < gap)
        pairs = np.array(skeleton.leader_uses(v))[uses]
        leaders.append(np.column_stack([first, np.full(len(first), v), pairs]))
    programme = skeleton.relaxation(np.concatenate(leaders))
    programme.cost[:] *= tables.money_unit * tables.jobs / target
    jobs, kinds, sizes = skeleton.followers.T
    follow = (
        tables.tardiness_cost[jobs, kinds, sizes]
        + priced.values.slots[kinds, sizes]
        - priced.jobs[jobs]
    )
    programme.upper[skeleton.slices["postponed"]][tables.postponement_cost - priced.jobs >= gap] = (
        0.0
    )
    programme.upper[skeleton.slices["followers"]][follow >= gap] = 0.0
    return _ElasticLp(programme, Settings()), np.concatenate(leaders)


def _members(skeleton: ArcFlow, leaders: Ints) -> dict[Row, Ints]:
    """The columns that each count sums; roles have the names that `verify` reads."""
    kinds, columns = skeleton.tables.kinds, defaultdict(list)
    roles: dict[int, Document] = {}
    for column, (j, t, c) in enumerate(
        skeleton.followers.tolist(), skeleton.slices["followers"].start
    ):
        roles[column] = {"role": "follows", "job": j, "type": kinds[t].name, "configuration": c}
    for column, (j, v, c, used) in enumerate(leaders.tolist(), skeleton.slices["leaders"].start):
        node_class = skeleton.classes[v]
        role = {"role": "leads", "job": j, "type": kinds[node_class.kind].name, "configuration": c}
        roles[column] = {**role, "used": used, "node": min(node_class.nodes)}
    for keys in ROLES:
        for column, role in roles.items():
            if set(keys) <= set(role):
                columns[tuple((key, role[key]) for key in keys)].append(column)
    return {row: np.array(numbers) for row, numbers in columns.items()}


if __name__ == "__main__":
    main()
