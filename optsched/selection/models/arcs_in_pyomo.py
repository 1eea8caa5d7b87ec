"""The arc-flow model with a name for each column and row: what is solved, as Pyomo shows it."""

from __future__ import annotations

import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from optsched.backends import MilpArrays
from optsched.errors import NotApplicableError
from optsched.selection.cost import tables_of
from optsched.selection.instance import SelectionInstance
from optsched.selection.models.arcs import Floats, Ints, Skeleton, skeleton_of
from optsched.selection.models.patterns import require_whole_roles
from optsched.selection.options import SelectionOptions

MAX_LEADERS = 2_000_000


def model(
    instance: SelectionInstance, options: SelectionOptions, *, pruned: bool = False
) -> pyo.ConcreteModel:
    """Build the whole model, as `optsched.build_model` and `optsched export` show it."""
    skeleton = skeleton_of(tables_of(instance, options), every_follower=not pruned)
    leaders = skeleton.all_leaders()
    if len(leaders) > MAX_LEADERS:
        found = f"{len(leaders)} leader columns"
        raise NotApplicableError("columns", found, f"at most {MAX_LEADERS} in one model")
    arrays, model = skeleton.with_integers(leaders), pyo.ConcreteModel(name="selection-arc-flow")
    columns = _name_columns(model, skeleton, leaders)
    doc = f"(P1.1), in {skeleton.unit!r} dollars"
    model.cost = pyo.Objective(expr=_linear(arrays.cost, columns), doc=doc)
    _name_rows(model, skeleton, arrays, columns)
    if not pruned:
        require_whole_roles(model)
    return model


def _name_columns(model: pyo.ConcreteModel, skeleton: Skeleton, leaders: Ints) -> list[pyo.Var]:
    """Every column, in the order of `Skeleton.with_integers`."""
    whole, real, arcs = pyo.NonNegativeIntegers, pyo.NonNegativeReals, skeleton.arcs
    model.JOBS = pyo.RangeSet(0, skeleton.tables.jobs - 1, doc="j")
    model.CLASSES = pyo.RangeSet(0, len(skeleton.classes) - 1, doc="v")
    followers = [tuple(key) for key in skeleton.followers.tolist()]
    led = [tuple(key) for key in leaders.tolist()]
    uses = sorted({key[1:] for key in led})
    model.postponed = pyo.Var(model.JOBS, domain=real, doc="z_j")
    model.follower = pyo.Var(followers, domain=real, doc="b[j,t,c]")
    model.leader = pyo.Var(led, domain=real, doc="l[j,v,L,u]")
    model.taken = pyo.Var(uses, domain=whole, doc="y[v,L,u]: nodes of class v led so")
    model.cut = pyo.Var([arc for arc in arcs if arc[2]], domain=whole, doc="x[t,r,k]")
    model.shared = pyo.Var([arc[:2] for arc in arcs if not arc[2]], domain=whole, doc="x[t,r,S]")
    model.filled = pyo.Var(skeleton.fills, domain=whole, doc="g[t,fill,lf]")
    return [
        *(model.postponed[j] for j in model.JOBS),
        *(model.follower[key] for key in followers),
        *(model.cut[arc] if arc[2] else model.shared[arc[:2]] for arc in arcs),
        *(model.filled[key] for key in skeleton.fills),
        *(model.leader[key] for key in led),
        *(model.taken[key] for key in uses),
    ]


def _name_rows(
    model: pyo.ConcreteModel, skeleton: Skeleton, arrays: MilpArrays, columns: list[pyo.Var]
) -> None:
    """Every row but those in which nothing uses what there is room for."""
    start, matrix, upper = skeleton.first_rows, arrays.matrix, arrays.row_upper
    exact = arrays.row_lower == upper

    def row(i: int) -> object:
        here = slice(*matrix.indptr[i : i + 2])
        left = _linear(matrix.data[here], [columns[k] for k in matrix.indices[here]])
        return left == float(upper[i]) if exact[i] else left <= float(upper[i])

    def state(name: str, rows: dict[tuple, int], doc: str) -> None:
        rule = pyo.Constraint(list(rows), rule=lambda _, *key: row(rows[key]), doc=doc)
        setattr(model, name, rule)

    state("job_once", {(j,): j for j in model.JOBS}, "(4')")
    led = sorted({v for v, *_ in model.taken})
    state("class_size", {(v,): start["class"] + v for v in led}, "(5'): sum l <= N_v")
    uses = {use: start["end"] + i for i, use in enumerate(model.taken)}
    state("whole_nodes", uses, "(17): one leader a node")
    if skeleton.tables.options.opens_exactly:
        model.nodes_opened = pyo.Constraint(expr=row(start["opening"]), doc="(16)")
    residues = {(t, r): skeleton.row("residue", t, r) for t, r, _ in skeleton.arcs}
    state("residue", residues, "(13''): residue in >= out")
    gpus = {
        (t, lf): skeleton.row("plain", t) if lf < 0 else skeleton.row("led", t, lf)
        for t, _, lf in skeleton.fills
    }
    state("filled_gpus", gpus, "(9'): fills of shared GPUs")
    slots = {(t, c): skeleton.row("slot", t, c) for _, t, c in skeleton.followers.tolist()}
    state("slots", slots, "(11'): slots >= followers")


def _linear(coefficients: Floats, variables: list[pyo.Var]) -> LinearExpression:
    return LinearExpression(linear_coefs=coefficients.tolist(), linear_vars=variables)
