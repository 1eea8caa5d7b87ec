"""Explain why no selection opens exactly min(|J|, |N|) nodes, as constraint (16) is printed.

Every open node needs a distinct job that fits on it: a bipartite matching of nodes and jobs. A
conflict is a Hall violator (P. Hall, 1935): jobs with fewer nodes that hold them where every job
must open a node, or nodes with fewer jobs where every node must be open.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optsched.backends.irreducible import Naming
from optsched.conflict import Conflict, Member
from optsched.display import counted, listed
from optsched.selection.cost import tables_of
from optsched.selection.exact.incumbents import largest_flow
from optsched.selection.instance import Node, SelectionInstance, SelectionJob
from optsched.selection.options import SelectionOptions

Types = frozenset[str]
Groups = Mapping[Types, list[int]]
"""Job indices by the set of GPU types with enough memory, or node indices by type."""


def find_conflict(
    instance: SelectionInstance, options: SelectionOptions, thorough: bool
) -> Conflict | None:
    """Return jobs, or nodes, that cannot be matched; None if all can, or need not be.

    The vertices reached by alternating paths from an unmatched vertex form an irreducible Hall
    violator, so `thorough`, which `Problem.conflict` passes, makes no difference.
    """
    if not options.opens_exactly:
        return None
    nodes: dict[Types, list[int]] = {}
    for n, node in enumerate(instance.nodes):
        nodes.setdefault(frozenset([node.gpu_type]), []).append(n)
    jobs: dict[Types, list[int]] = {}
    for j, job in enumerate(instance.jobs):
        jobs.setdefault(_types_of(instance, job), []).append(j)
    required_nodes = min(len(instance.jobs), len(instance.nodes))
    is_job_side = len(instance.jobs) <= len(instance.nodes)
    groups, others = (jobs, nodes) if is_job_side else (nodes, jobs)
    usable = np.array([[bool(t & u) for u in others] for t in groups])
    sizes = [np.array([len(group) for group in side.values()]) for side in (groups, others)]
    flow = largest_flow(sizes[0], usable, sizes[1])
    possible = int(flow.sum())
    if possible == required_nodes:
        return None
    counts = min(_violators(groups, usable, flow), key=sum)
    members_of = zip(groups.items(), counts, strict=True)
    chosen = [(t, i) for (t, group), count in members_of for i in group[:count]]
    types = frozenset().union(*(t for t, _ in chosen))
    partners = sorted(i for t, group in others.items() if t & types for i in group)
    describe = _jobs_conflict if is_job_side else _nodes_conflict
    reason, members = describe(instance, sorted(i for _, i in chosen), partners)
    return Conflict(
        instance.name,
        f"node_opening=printed requires {counted(required_nodes, 'open node')}, {reason}",
        float(required_nodes - possible),
        "nodes",
        f"at most {counted(possible, 'node')} can be open at once; node_opening=free requires none",
        members,
        "irreducible",
        measures={"asked": required_nodes, "most_open": possible},
    )


def naming(instance: SelectionInstance) -> Naming:
    """Readable labels for the indices of the Pyomo models."""

    tables = tables_of(instance, SelectionOptions())
    nodes = [f"node {node.name}" for node in instance.nodes]
    classes = [f"nodes like {instance.nodes[one.nodes[0]].name}" for one in tables.classes]

    def leader(at: Any) -> str:
        size = tables.kinds[tables.classes[at[0]].kind].configurations[at[1]]
        return f"{classes[at[0]]}, leader on {size} GPU, {at[2]} GPUs in use"

    names: Mapping[str, Callable[[Any], str]] = {
        "JOBS": lambda j: f"job {instance.jobs[j].name}",
        "NODES": lambda n: nodes[n],
        "TYPES": lambda t: f"type {tables.kinds[t].name}",
        "CLASSES": lambda v: classes[v],
        "one_leader_index": leader,
        "GPUS": lambda at: f"{nodes[at[0]]} GPU {at[1]}",
        "USAGES": lambda at: f"{nodes[at[0]]} with {counted(at[1], 'GPU')} in use",
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


def _violators(
    groups: Groups, usable: NDArray[np.bool_], flow: NDArray[np.int32]
) -> Iterator[list[int]]:
    matched = flow.sum(axis=1)
    for start, group in enumerate(groups.values()):
        if matched[start] == len(group):
            continue
        reached = np.arange(len(groups)) == start
        changed = True
        while changed:
            partners = usable[reached].any(axis=0)
            larger = reached | flow[:, partners].any(axis=1)
            reached, changed = larger, bool((larger != reached).any())
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
    members = []
    for job in jobs:
        needed = f"a node of type {' or '.join(sorted(_types_of(instance, job)))}"
        exclusions = listed(instance.exclusions(job))
        requirement = f"{needed}: {exclusions}" if exclusions else needed
        members.append(Member("job", job.name, requirement))
    return reason, tuple(members)


def _nodes_conflict(
    instance: SelectionInstance, chosen: Sequence[int], partners: Sequence[int]
) -> tuple[str, tuple[Member, ...]]:
    nodes = [instance.nodes[n] for n in chosen]
    jobs = [instance.jobs[j] for j in partners]
    names = listed(job.name for job in jobs)
    usable_by = f"only {'job' if len(jobs) == 1 else 'jobs'} {names}" if jobs else "no job"
    reason = f"all there are, but on {_nodes_named(nodes)} {usable_by} can run"
    needed = [(node.name, f"a job that runs on {node.gpu_type}") for node in nodes]
    return reason, tuple(Member("node", *member) for member in needed)


def _nodes_named(nodes: Sequence[Node]) -> str:
    type_names = ", ".join(sorted({node.gpu_type for node in nodes}))
    label = "node" if len(nodes) == 1 else "nodes"
    return f"{label} {listed(node.name for node in nodes)} ({type_names})"
