"""Whether min(|J|, |N|) nodes can be open at once, as (16) is printed to ask for."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from optsched.selection.cost import Tables


def can_open(tables: Tables) -> bool:
    """Whether so many jobs find a node each: a maximum flow from jobs over types to nodes.

    A job can open a node of a type whose single GPU it can use, so whole GPUs decide. Complexity:
    O(J T) edges.
    """
    jobs, kinds = tables.jobs, len(tables.kinds)
    usable = np.isfinite(tables.late[:, :, 0])
    source, sink = jobs + kinds, jobs + kinds + 1
    j, t = np.nonzero(usable)
    nodes = np.bincount(tables.kind_of, minlength=kinds)
    rows = np.concatenate((np.full(jobs, source), j, jobs + np.arange(kinds)))
    columns = np.concatenate((np.arange(jobs), jobs + t, np.full(kinds, sink)))
    values = np.concatenate((np.ones(jobs), np.ones(len(j)), nodes)).astype(np.int32)
    graph = csr_array((values, (rows, columns)), shape=(sink + 1, sink + 1))
    return int(maximum_flow(graph, source, sink).flow_value) >= tables.most_open
