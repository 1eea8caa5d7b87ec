"""Certificates by branching, where prices alone fall short: `verify` decides what they prove."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from optsched.backends import GrowingLp, LpAnswer
from optsched.deadline import Deadline
from optsched.library.branching import Branch, Document, Tree, rows_of
from optsched.result import Settings
from optsched.selection.bounds.prices import PricedOut, Prices
from optsched.selection.cost import tables_of
from optsched.selection.models.arcs import Ints, Skeleton, skeleton_of
from optsched.selection.options import SelectionOptions

SPREAD = 4.0
"""How often at most a price's rounding is counted for each job, GPU and unit of a row."""
BRINK = 1e-7
"""Of the target: roles that rounding may let in."""
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
"""Keys that rows count roles by; the widest first."""


def selection_tree(
    instance: Any, certificate: Document, target: float, deadline: Deadline
) -> Document | None:
    """Find a tree whose leaves prove a target, from the duals of a certificate, or None."""
    skeleton = skeleton_of(tables_of(instance, SelectionOptions()))
    tables, unit = skeleton.tables, target / len(instance.jobs)
    lp, leaders = _roles_that_matter(skeleton, certificate, target)

    def leaf(answer: LpAnswer, path: Sequence[Branch], paid: list[float]) -> Document:
        """Its prices, with fewer places the further it is above the target."""
        start, spare = skeleton.first_rows, answer.objective * unit - target
        slots = np.maximum(-answer.duals[start["slot"] : start["led"]], 0.0) * unit
        by_kind = slots.reshape(len(tables.kinds), skeleton.widest)
        counts = len(instance.jobs) + sum(node.gpus for node in instance.nodes)
        counts += sum(branch.most + 1 for branch in path)
        places = math.ceil(math.log10(SPREAD * counts / max(spare, 1e-16 * target)))

        def short(prices: Any) -> list[float]:
            return [round(float(price), places) for price in prices]

        kinds = {
            kind.name: short(by_kind[t, : len(kind.configurations)])
            for t, kind in enumerate(tables.kinds)
        }
        jobs = short(answer.duals[: len(instance.jobs)] * unit)
        return {"jobs": jobs, "slots": kinds, "rows": short(unit * price for price in paid)}

    members = rows_of(_labelled(skeleton, leaders), ROLES)
    tree = Tree(lp, members, target / unit, leaf, deadline)
    if not tree.grow():
        return None
    kept = {key: certificate[key] for key in ("jobs", "slots")}
    return {"kind": "branches", **kept, "target": target, "nodes": tree.nodes}


def _roles_that_matter(
    skeleton: Skeleton, certificate: Document, target: float
) -> tuple[GrowingLp, Ints]:
    """The programme over roles that `verify` lets in at the root's prices; and its leaders."""
    tables = skeleton.tables
    slots = np.zeros(tables.late.shape[1:])
    for t, kind in enumerate(tables.kinds):
        slots[t, : len(kind.configurations)] = certificate["slots"][kind.name]
    priced = PricedOut(skeleton, Prices(np.array(certificate["jobs"]), slots, 0.0))
    room = target - priced.bound() + BRINK * target
    found = []
    for v in range(len(skeleton.classes)):
        reduced = priced.reduced_costs(v)
        first, uses = np.nonzero(reduced - min(float(reduced.min()), 0.0) < room)
        pairs = np.array(skeleton.uses(v))[uses]
        found.append(np.column_stack([first, np.full(len(first), v), pairs]))
    leaders = np.concatenate(found)
    programme = skeleton.programme(leaders)
    programme.cost[:] *= skeleton.unit * tables.jobs / target
    jobs, kinds, sizes = skeleton.followers.T
    follow = tables.late[jobs, kinds, sizes] + priced.values.slots[kinds, sizes] - priced.jobs[jobs]
    programme.upper[skeleton.slices["postponed"]][tables.postponed - priced.jobs >= room] = 0.0
    programme.upper[skeleton.slices["followers"]][follow >= room] = 0.0
    return GrowingLp(programme, Settings()), leaders


def _labelled(skeleton: Skeleton, leaders: Ints) -> list[tuple[int, Document]]:
    """What each column of a job's role is, as `verify` says it."""
    kinds, labelled = skeleton.tables.kinds, []
    first = skeleton.slices["followers"].start
    for i, (j, t, c) in enumerate(skeleton.followers.tolist()):
        role = {"role": "follows", "job": j, "type": kinds[t].name, "configuration": c}
        labelled.append((first + i, role))
    first = skeleton.slices["leaders"].start
    for i, (j, v, c, used) in enumerate(leaders.tolist()):
        each = skeleton.classes[v]
        role = {"role": "leads", "job": j, "type": kinds[each.kind].name, "configuration": c}
        labelled.append((first + i, {**role, "used": used, "node": min(each.nodes)}))
    return labelled
