"""A selection that opens min(|J|, |N|) nodes at once, as (16) is printed to ask for."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from optsched.selection.assignment import Assignment, Seat
from optsched.selection.cost import Tables


def opening(tables: Tables) -> Assignment | None:
    """One job alone on each of so many nodes, all others postponed; None where none is possible.

    A maximum flow from jobs over types to nodes: a job can open a node of a type whose single GPU
    it can use, so whole GPUs decide. Among a type's nodes the cheapest are opened, and a job gets
    the whole GPUs there that cost least. Complexity: O(J T) edges.
    """
    jobs, kinds = tables.jobs, len(tables.kinds)
    source, sink = jobs + kinds, jobs + kinds + 1
    j, t = np.nonzero(np.isfinite(tables.late[:, :, 0]))
    nodes = np.bincount(tables.kind_of, minlength=kinds)
    rows = np.concatenate((np.full(jobs, source), j, jobs + np.arange(kinds)))
    columns = np.concatenate((np.arange(jobs), jobs + t, np.full(kinds, sink)))
    values = np.concatenate((np.ones(jobs), np.ones(len(j)), nodes)).astype(np.int32)
    graph = csr_array((values, (rows, columns)), shape=(sink + 1, sink + 1))
    found = maximum_flow(graph, source, sink)
    if int(found.flow_value) < tables.most_open:
        return None
    rates = [node.cost_rate[0] for node in tables.instance.nodes]
    free = [
        sorted(np.flatnonzero(tables.kind_of == t), key=lambda n: -rates[n]) for t in range(kinds)
    ]
    seats = {}
    sent = found.flow[:jobs, jobs:source].tocoo()
    for job, kind, used in zip(*sent.coords, sent.data, strict=True):
        if used > 0:
            seats[int(job)] = _alone(tables, int(job), int(free[kind].pop()))
    return seats


def _alone(tables: Tables, job: int, node: int) -> Seat:
    """The whole GPUs of a node that cost least for one job alone."""
    kind, rates = int(tables.kind_of[node]), tables.instance.nodes[node].cost_rate
    late, expected = tables.late[job, kind], tables.expected[job, kind]
    gpus = min(
        (k for k in range(1, len(rates) + 1) if np.isfinite(late[k - 1])),
        key=lambda k: float(late[k - 1] + expected[k - 1] * rates[k - 1]),
    )
    return Seat(node, tuple(range(gpus)), gpus - 1)
