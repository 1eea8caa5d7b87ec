"""Decode the values of the arc-flow model into nodes and GPUs.

Leaders take free nodes of their class; arcs are processed in descending residue, so a node with
exactly that residue is available (in >= out at every residue); shared GPUs and fraction leaders'
GPUs take their fills; followers take any slot of their type and configuration.
"""

from collections import defaultdict, deque

import numpy as np
from numpy.typing import NDArray

from optsched.errors import SolverError
from optsched.selection.assignment import Placement
from optsched.selection.models.arcs import ArcFlow, Ints
from optsched.selection.models.packings import decode_counts

Slots = dict[tuple[int, int], deque[tuple[int, tuple[int, ...]]]]


def assignment_of(
    flow: ArcFlow, leaders: Ints, values: NDArray[np.float64]
) -> dict[int, Placement]:
    """Assignment of the values; it costs at most the model's objective."""
    columns_of = flow.slices
    first = columns_of["leaders"].start
    chosen = leaders[values[first : first + len(leaders)] > 0.5]
    assignment, residues, leader_gpus = _place_leaders(flow, chosen)
    slots: Slots = defaultdict(deque)
    shared_gpus = _cut_residues(
        flow, np.rint(values[columns_of["arcs"]]).astype(int), residues, slots
    )
    _fill(flow, np.rint(values[columns_of["fills"]]).astype(int), shared_gpus, leader_gpus, slots)
    for j, t, c in flow.followers[values[columns_of["followers"]] > 0.5].tolist():
        if not slots[t, c]:
            where = f"type {t}, configuration {c}"
            raise SolverError(f"inconsistent solver values: more followers than slots for {where}")
        node, gpus = slots[t, c].popleft()
        assignment[j] = Placement(node, gpus, c)
    return assignment


def _place_leaders(flow: ArcFlow, chosen: Ints) -> tuple[dict, dict, dict]:
    """Placements of the leaders, nodes by (type, residue), and fraction leaders' GPUs by (t, L)."""
    free = {v: iter(node_class.nodes) for v, node_class in enumerate(flow.classes)}
    assignment: dict[int, Placement] = {}
    residues: dict[tuple[int, int], list] = defaultdict(list)
    leader_gpus: dict[tuple[int, int], list] = defaultdict(list)
    for j, v, c, used in chosen.tolist():
        node = next(free[v], None)
        if node is None:
            raise SolverError(f"inconsistent solver values: more leaders than nodes in class {v}")
        t = flow.classes[v].kind
        configuration = flow.tables.kinds[t].configurations[c]
        assignment[j] = Placement(node, tuple(range(configuration.gpus)), c)
        if configuration.shares:
            leader_gpus[t, c].append(node)
        residues[t, used - configuration.gpus].append((node, configuration.gpus))
    return assignment, residues, leader_gpus


def _cut_residues(
    flow: ArcFlow, counts: NDArray[np.int64], residues: dict, slots: Slots
) -> dict[int, list]:
    """Cut residues into dedicated slots; returns the shared GPUs by type."""
    shared_gpus: dict[int, list] = defaultdict(list)
    order = sorted(range(len(flow.arcs)), key=lambda i: -flow.arcs[i][1])
    for i in order:
        t, r, k = flow.arcs[i]
        for _ in range(counts[i]):
            if not residues[t, r]:
                raise SolverError(
                    f"inconsistent solver values: more arcs than nodes for type {t}, residue {r}"
                )
            node, gpu = residues[t, r].pop()
            size = max(k, 1)
            if k:
                slots[t, k - 1].append((node, tuple(range(gpu, gpu + k))))
            else:
                shared_gpus[t].append((node, gpu))
            residues[t, r - size].append((node, gpu + size))
    return shared_gpus


def _fill(
    flow: ArcFlow,
    counts: NDArray[np.int64],
    shared_gpus: dict[int, list],
    leader_gpus: dict[tuple[int, int], list],
    slots: Slots,
) -> None:
    for (t, fill, leader), count in zip(flow.fills, counts, strict=True):
        fractions = flow.tables.kinds[t].fractions
        for _ in range(count):
            gpus = shared_gpus[t] if leader < 0 else leader_gpus[t, leader]
            if not gpus:
                raise SolverError(
                    f"inconsistent solver values: more fills than shared GPUs for type {t}"
                )
            node, gpu = gpus.pop() if leader < 0 else (gpus.pop(), 0)
            for c, number in zip(fractions, decode_counts(fill), strict=True):
                slots[t, c] += [(node, (gpu,))] * (number - (c == leader))
