"""The arc-flow model behind method ``columns``, in Pyomo with every leader column.

A leader takes a node and leaves its other GPUs as a residue; arcs cut the residue into dedicated
slots and shared GPUs, by GPU type alone, since a follower's cost does not depend on the node. The
mathematics, with the symbol table, is models/selection/README.md. Money is in units of
`Skeleton.unit` dollars.
"""

from __future__ import annotations

from collections import defaultdict

import pyomo.environ as pyo

from optsched.errors import NotApplicableError
from optsched.selection.cost import tables_of
from optsched.selection.exact.arc_arrays import Skeleton, skeleton_of
from optsched.selection.instance import SelectionInstance
from optsched.selection.options import SelectionOptions

MOST_LEADERS = 2_000_000


def model(instance: SelectionInstance, options: SelectionOptions) -> pyo.ConcreteModel:
    """Build the whole model, as `optsched.build_model` and `optsched export` show it.

    Raises
    ------
    NotApplicableError
        If its leader columns are too many to write down.
    """
    skeleton = skeleton_of(tables_of(instance, options))
    leaders = skeleton.all_leaders()
    if len(leaders) > MOST_LEADERS:
        found = f"{len(leaders)} leader columns"
        raise NotApplicableError("columns", found, f"at most {MOST_LEADERS} in one model")
    return build(skeleton, [(j, v, c, used) for j, v, c, used in leaders.tolist()])


def build(skeleton: Skeleton, leaders: list[tuple[int, int, int, int]]) -> pyo.ConcreteModel:
    """State the model over given leader columns (j, v, L, u)."""
    model = pyo.ConcreteModel(name="selection-arc-flow")
    _declare(model, skeleton, leaders)
    _minimise_cost(model, skeleton)
    _every_job_once(model)
    _leaders_take_nodes(model, skeleton)
    _residues_flow(model, skeleton)
    _shared_gpus_are_filled(model, skeleton)
    _followers_take_slots(model, skeleton)
    return model


def _declare(
    model: pyo.ConcreteModel, skeleton: Skeleton, leaders: list[tuple[int, int, int, int]]
) -> None:
    tables = skeleton.tables
    model.JOBS = pyo.RangeSet(0, tables.jobs - 1, doc="j")
    model.CLASSES = pyo.RangeSet(0, len(skeleton.classes) - 1, doc="v")
    whole, real = pyo.NonNegativeIntegers, pyo.NonNegativeReals
    followers = [tuple(key) for key in skeleton.followers.tolist()]
    model.postponed = pyo.Var(model.JOBS, domain=real, doc="z_j")
    model.follower = pyo.Var(followers, domain=real, doc="b[j,t,c]")
    model.leader = pyo.Var(leaders, domain=real, doc="l[j,v,L,u]")
    taken = sorted({key[1:] for key in leaders})
    model.taken = pyo.Var(taken, domain=whole, doc="y[v,L,u]: nodes of class v led so")
    model.cut = pyo.Var(
        [(t, r, k) for t, r, k in skeleton.arcs if k > 0], domain=whole, doc="x[t,r,k]"
    )
    model.shared = pyo.Var(
        [(t, r) for t, r, k in skeleton.arcs if k == 0], domain=whole, doc="x[t,r,S]"
    )
    model.filled = pyo.Var(skeleton.fills, domain=whole, doc="g[t,fill,lf]")


def _minimise_cost(model: pyo.ConcreteModel, skeleton: Skeleton) -> None:
    tables, unit = skeleton.tables, skeleton.unit
    model.cost = pyo.Objective(
        expr=pyo.quicksum(float(tables.postponed[j]) / unit * x for j, x in model.postponed.items())
        + pyo.quicksum(float(tables.late[key]) / unit * x for key, x in model.follower.items())
        + pyo.quicksum(skeleton.leader_cost(*key) / unit * x for key, x in model.leader.items()),
        doc="(P1.1)",
    )


def _every_job_once(model: pyo.ConcreteModel) -> None:
    roles: dict[int, list] = {j: [model.postponed[j]] for j in model.JOBS}
    for key, x in (*model.follower.items(), *model.leader.items()):
        roles[key[0]].append(x)
    model.job_once = pyo.Constraint(
        model.JOBS, rule=lambda _, j: pyo.quicksum(roles[j]) == 1, doc="(4')"
    )


def _leaders_take_nodes(model: pyo.ConcreteModel, skeleton: Skeleton) -> None:
    by_class: dict[int, list] = defaultdict(list)
    by_use: dict[tuple, list] = defaultdict(list)
    for (_j, *use), x in model.leader.items():
        by_class[use[0]].append(x)
        by_use[tuple(use)].append(x)
    model.class_size = pyo.Constraint(
        [v for v in model.CLASSES if by_class[v]],
        rule=lambda _, v: pyo.quicksum(by_class[v]) <= len(skeleton.classes[v].nodes),
        doc="(5'): sum l <= N_v",
    )
    model.whole_nodes = pyo.Constraint(
        list(model.taken),
        rule=lambda m, *use: pyo.quicksum(by_use[use]) == m.taken[use],
        doc="(17): one leader a node",
    )
    if skeleton.tables.options.opens_exactly:
        model.nodes_opened = pyo.Constraint(
            expr=pyo.quicksum(model.leader.values()) == skeleton.tables.most_open, doc="(16)"
        )


def _residues_flow(model: pyo.ConcreteModel, skeleton: Skeleton) -> None:
    into: dict[tuple[int, int], list] = defaultdict(list)
    out: dict[tuple[int, int], list] = defaultdict(list)
    for (_, v, c, used), x in model.leader.items():
        t = skeleton.classes[v].kind
        into[t, used - skeleton.tables.kinds[t].configurations[c].gpus].append(x)
    for (t, r, k), x in model.cut.items():
        out[t, r].append(x)
        into[t, r - k].append(x)
    for (t, r), x in model.shared.items():
        out[t, r].append(x)
        into[t, r - 1].append(x)
    model.residue = pyo.Constraint(
        list(out),
        rule=lambda _, t, r: pyo.quicksum(into[t, r]) >= pyo.quicksum(out[t, r]),
        doc="(13''): residue in >= out",
    )


def _shared_gpus_are_filled(model: pyo.ConcreteModel, skeleton: Skeleton) -> None:
    shared: dict[int, list] = defaultdict(list)
    for (t, _), x in model.shared.items():
        shared[t].append(x)
    led: dict[tuple[int, int], list] = defaultdict(list)
    for (_, v, c, _), x in model.leader.items():
        led[skeleton.classes[v].kind, c].append(x)
    fills: dict[tuple[int, int], list] = defaultdict(list)
    for (t, _, lf), x in model.filled.items():
        fills[t, lf].append(x)

    def rule(_: pyo.ConcreteModel, t: int, lf: int) -> object:
        gpus = shared[t] if lf < 0 else led[t, lf]
        return pyo.quicksum(fills[t, lf]) <= pyo.quicksum(gpus)

    model.filled_gpus = pyo.Constraint(list(fills), rule=rule, doc="(9'): fills of shared GPUs")


def _followers_take_slots(model: pyo.ConcreteModel, skeleton: Skeleton) -> None:
    slots: dict[tuple[int, int], list] = defaultdict(list)
    for (t, _, k), x in model.cut.items():
        slots[t, k - 1].append(x)
    for key, x in model.filled.items():
        for c, room in skeleton.rooms(*key):
            slots[key[0], c].append(room * x)
    seated: dict[tuple[int, int], list] = defaultdict(list)
    for (_, t, c), x in model.follower.items():
        seated[t, c].append(x)
    model.slots = pyo.Constraint(
        list(seated),
        rule=lambda _, t, c: pyo.quicksum(seated[t, c]) <= pyo.quicksum(slots[t, c]),
        doc="(11'): slots >= followers",
    )
