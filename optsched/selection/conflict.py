"""Why no selection opens as many nodes as (16) is printed to ask for.

Each open node needs a job of its own that can use one of its GPUs, so nodes and jobs are matched.
Where every job must open a node, the conflict is a set of jobs with fewer nodes that hold them;
where every node must be open, a set of nodes with fewer jobs (P. Hall, 1935).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from optsched.backends.irreducible import Naming
from optsched.conflict import Conflict, Member
from optsched.display import counted, listed
from optsched.selection.cost import tables_of
from optsched.selection.instance import Node, SelectionInstance, SelectionJob
from optsched.selection.options import SelectionOptions

Types = frozenset[str]
Groups = Mapping[Types, list[int]]
"""Indices of jobs by the GPU types that hold them, or of nodes by their type."""


def find_conflict(
    instance: SelectionInstance, options: SelectionOptions, thorough: bool
) -> Conflict | None:
    """Return jobs, or nodes, that cannot be matched; None if all can, or need not be.

    From an unmatched object, alternating paths reach a set of objects that is irreducible: all but
    one of them are matched to the same partners, and without any one the others can be.
    """
    nodes: dict[Types, list[int]] = {}
    for n, node in enumerate(instance.nodes):
        nodes.setdefault(frozenset([node.gpu_type]), []).append(n)
    jobs: dict[Types, list[int]] = {}
    for j, job in enumerate(instance.jobs):
        jobs.setdefault(_types_of(instance, job), []).append(j)
    asked = min(len(instance.jobs), len(instance.nodes))
    each_job = len(instance.jobs) <= len(instance.nodes)
    groups, others = (jobs, nodes) if each_job else (nodes, jobs)

    if not options.opens_exactly:
        return None
    flow = _matching(groups, others)
    short = asked - int(flow.sum())
    if not short:
        return None
    counts = min(_violators(groups, others, flow), key=sum)
    chosen = [i for each, count in zip(groups.values(), counts, strict=True) for i in each[:count]]
    types = frozenset().union(*(t for t, count in zip(groups, counts, strict=True) if count))
    partners = sorted(i for t, each in others.items() if t & types for i in each)
    tell = _jobs_conflict if each_job else _nodes_conflict
    reason, members = tell(instance, sorted(chosen), partners)
    return Conflict(
        instance.name,
        f"(16) as printed opens min(|J|, |N|) = {counted(asked, 'node')}, {reason}",
        float(short),
        "nodes",
        f"{counted(asked - short, 'node')} can be open at once; node_opening=free asks for none",
        members,
        "irreducible",
        measures={"asked": asked, "most_open": asked - short},
    )


def naming(instance: SelectionInstance) -> Naming:
    """What the indices of (P1)'s models are called."""

    def job(j: Any) -> str:
        return f"job {instance.jobs[j].name}"

    def node(n: Any) -> str:
        return f"node {instance.nodes[n].name}"

    tables = tables_of(instance, SelectionOptions())

    def alike(v: Any) -> str:
        return f"nodes like {instance.nodes[tables.classes[v].nodes[0]].name}"

    def leader(at: Any) -> str:
        size = tables.kinds[tables.classes[at[0]].kind].configurations[at[1]]
        return f"{alike(at[0])}, {size} GPU of the first to end, {at[2]} in use"

    names: Mapping[str, Callable[[Any], str]] = {
        "JOBS": job,
        "NODES": node,
        "TYPES": lambda t: f"type {tables.kinds[t].name}",
        "CLASSES": alike,
        "one_leader_index": leader,
        "GPUS": lambda at: f"{node(at[0])} GPU {at[1]}",
        "USAGES": lambda at: f"{node(at[0])} with {counted(at[1], 'GPU')} in use",
    }
    return lambda index_set, index: names.get(index_set, str)(index)


def _types_of(instance: SelectionInstance, job: SelectionJob) -> Types:
    """The types of the cluster's nodes that hold a job."""
    return frozenset(
        name
        for name in job.epoch_time
        if name in instance.largest
        and instance.gpu_types[name].holds(job.memory_bytes, Fraction(1))
    )


def _matching(groups: Groups, others: Groups) -> NDArray[np.int32]:
    """Return how many objects of each group a largest matching gives to each of the others."""
    pairs = [(a, b) for a, t in enumerate(groups) for b, u in enumerate(others) if t & u]
    first = 1 + len(groups)
    sink = first + len(others)
    sizes = [len(group) for group in groups.values()]
    rows = [0] * len(groups) + [1 + a for a, _ in pairs] + list(range(first, sink))
    columns = [*range(1, first), *(first + b for _, b in pairs), *[sink] * len(others)]
    values = [*sizes, *(sizes[a] for a, _ in pairs), *(len(each) for each in others.values())]
    shape = (sink + 1, sink + 1)
    graph = csr_array((np.array(values, dtype=np.int32), (rows, columns)), shape=shape)
    flow: NDArray[np.int32] = maximum_flow(graph, 0, sink).flow.toarray()[1:first, first:sink]
    return flow


def _violators(groups: Groups, others: Groups, flow: NDArray[np.int32]) -> Iterator[list[int]]:
    """Yield, for each group with an unmatched object, how many of each group conflict with it."""
    usable = np.array([[bool(t & u) for u in others] for t in groups])
    matched = flow.sum(axis=1)
    for start, group in enumerate(groups.values()):
        if matched[start] == len(group):
            continue
        reached = np.arange(len(groups)) == start
        grown = True
        while grown:
            partners = usable[reached].any(axis=0)
            larger = reached | flow[:, partners].any(axis=1)
            reached, grown = larger, bool((larger != reached).any())
        counts = np.where(reached, matched, 0)
        counts[start] += 1
        yield counts.tolist()


def _jobs_conflict(
    instance: SelectionInstance, chosen: Sequence[int], partners: Sequence[int]
) -> tuple[str, tuple[Member, ...]]:
    jobs = [instance.jobs[j] for j in chosen]
    nodes = [instance.nodes[n] for n in partners]
    reason = (
        f"one for each job, but jobs {listed(job.name for job in jobs)} can run on "
        f"{_nodes_named(nodes)} alone"
    )
    return reason, tuple(Member("job", job.name, _asks(instance, job)) for job in jobs)


def _nodes_conflict(
    instance: SelectionInstance, chosen: Sequence[int], partners: Sequence[int]
) -> tuple[str, tuple[Member, ...]]:
    nodes = [instance.nodes[n] for n in chosen]
    jobs = [instance.jobs[j] for j in partners]
    if not jobs:
        who = "no job"
    else:
        who = f"only {'job' if len(jobs) == 1 else 'jobs'} {listed(job.name for job in jobs)}"
    reason = f"all there are, but on {_nodes_named(nodes)} {who} can run"
    members = tuple(
        Member("node", node.name, f"a job that runs on {node.gpu_type}") for node in nodes
    )
    return reason, members


def _nodes_named(nodes: Sequence[Node]) -> str:
    which = ", ".join(sorted({node.gpu_type for node in nodes}))
    return f"{'node' if len(nodes) == 1 else 'nodes'} {listed(n.name for n in nodes)} ({which})"


def _asks(instance: SelectionInstance, job: SelectionJob) -> str:
    """What a job needs, and why it cannot go elsewhere."""
    needed = f"a node of type {' or '.join(sorted(_types_of(instance, job)))}"
    refused = listed(instance.refusals(job))
    return f"{needed}: {refused}" if refused else needed
