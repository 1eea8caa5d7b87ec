"""The arc-flow model as a Pyomo model with named variables and constraints."""

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from optsched.backends.arrays import MilpArrays
from optsched.errors import NotApplicableError
from optsched.selection.assignment import solution_of
from optsched.selection.cost import tables_of
from optsched.selection.instance import SelectionInstance
from optsched.selection.models.arc_decode import assignment_of
from optsched.selection.models.arcs import ArcFlow, Ints, arc_flow_of
from optsched.selection.models.patterns import linear, require_whole_roles
from optsched.selection.options import SelectionOptions

MAX_LEADERS = 2_000_000


def model(
    instance: SelectionInstance, options: SelectionOptions, *, pruned: bool = False
) -> pyo.ConcreteModel:
    flow = arc_flow_of(tables_of(instance, options), every_follower=not pruned)
    leaders = flow.all_leaders()
    if len(leaders) > MAX_LEADERS:
        found = f"{len(leaders)} leader columns"
        raise NotApplicableError("columns", found, f"at most {MAX_LEADERS} in one model")
    arrays, model = flow.with_integers(leaders), pyo.ConcreteModel(name="selection-arc-flow")
    _declare_columns(model, flow, leaders)
    columns = _columns(model, flow)
    model.reader = lambda solved: solution_of(
        flow.tables,
        assignment_of(flow, leaders, np.array([x.value for x in _columns(solved, flow)])),
    )
    doc = f"(P1.1) expected cost, in {flow.tables.money_unit!r} dollars"
    model.cost = pyo.Objective(expr=linear(arrays.cost.tolist(), columns), doc=doc)
    _name_rows(model, flow, arrays, columns)
    if not pruned:
        require_whole_roles(model)
    return model


def _declare_columns(model: pyo.ConcreteModel, flow: ArcFlow, leaders: Ints) -> None:
    whole, real, arcs = pyo.NonNegativeIntegers, pyo.NonNegativeReals, flow.arcs
    model.JOBS = pyo.RangeSet(0, flow.tables.jobs - 1, doc="j: jobs")
    model.CLASSES = pyo.RangeSet(0, len(flow.classes) - 1, doc="v: classes of equal nodes")
    followers = [tuple(key) for key in flow.followers.tolist()]
    leader_keys = [tuple(key) for key in leaders.tolist()]
    uses = sorted({key[1:] for key in leader_keys})
    model.postponed = pyo.Var(model.JOBS, domain=real, doc="z_j: job j waits")
    model.follower = pyo.Var(followers, domain=real, doc="b[j,t,c]: j follows on type t")
    model.leader = pyo.Var(leader_keys, domain=real, doc="l[j,v,L,u]: j leads on class v")
    model.nodes_used = pyo.Var(
        uses,
        domain=whole,
        doc="y[v,L,u]: nodes of class v with leader configuration L and u GPUs in use",
    )
    cut, shared = [arc for arc in arcs if arc[2]], [arc[:2] for arc in arcs if not arc[2]]
    model.cut = pyo.Var(cut, domain=whole, doc="x[t,r,k]: k GPUs cut off a residue of r")
    model.shared = pyo.Var(shared, domain=whole, doc="x[t,r]: one shared GPU off a residue of r")
    model.filled = pyo.Var(flow.fills, domain=whole, doc="g[t,fill,lf]: shared GPUs by fill")


def _columns(model: pyo.ConcreteModel, flow: ArcFlow) -> list[pyo.Var]:
    """Every column, in the order of `ArcFlow.with_integers`."""
    return [
        *model.postponed.values(),
        *model.follower.values(),
        *(model.cut[arc] if arc[2] else model.shared[arc[:2]] for arc in flow.arcs),
        *model.filled.values(),
        *model.leader.values(),
        *model.nodes_used.values(),
    ]


def _values(model: pyo.ConcreteModel, flow: ArcFlow) -> NDArray[np.float64]:
    return np.array([column.value for column in _columns(model, flow)])


def _name_rows(
    model: pyo.ConcreteModel, flow: ArcFlow, arrays: MilpArrays, columns: list[pyo.Var]
) -> None:
    """All constraints except capacity rows without users."""
    start, matrix, upper = flow.first_rows, arrays.matrix, arrays.row_upper
    exact = arrays.row_lower == upper

    def row(i: int) -> object:
        entries = slice(*matrix.indptr[i : i + 2])
        expression = linear(
            matrix.data[entries].tolist(), [columns[k] for k in matrix.indices[entries]]
        )
        return expression == float(upper[i]) if exact[i] else expression <= float(upper[i])

    def add_constraint(name: str, rows: dict[tuple, int], doc: str) -> None:
        rule = pyo.Constraint(list(rows), rule=lambda _, *key: row(rows[key]), doc=doc)
        setattr(model, name, rule)

    add_constraint("job_once", {(j,): j for j in model.JOBS}, "(4') every job runs or waits")
    used = sorted({v for v, *_ in model.nodes_used})
    add_constraint("class_size", {(v,): start["class"] + v for v in used}, "(5') sum l <= N_v")
    uses = {use: start["end"] + i for i, use in enumerate(model.nodes_used)}
    add_constraint("one_leader_per_node", uses, "(17) one leader a node")
    if flow.tables.options.opens_exactly:
        model.nodes_opened = pyo.Constraint(expr=row(start["opening"]), doc="(16) nodes open")
    residues = {(t, r): flow.row("residue", t, r) for t, r, _ in flow.arcs}
    add_constraint("residue", residues, "(13'') residue in >= out")
    gpus = {
        (t, lf): flow.row("shared_gpu", t) if lf < 0 else flow.row("leader_gpu", t, lf)
        for t, _, lf in flow.fills
    }
    add_constraint("filled_gpus", gpus, "(9') fills of shared GPUs")
    slots = {(t, c): flow.row("slot", t, c) for _, t, c in flow.followers.tolist()}
    add_constraint("slots", slots, "(11') slots >= followers")
