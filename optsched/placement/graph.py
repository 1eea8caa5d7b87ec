"""The job graph: replicas as vertices, bytes exchanged in an iteration as edge weights.

Source: a-srpt, IV-B; the double tree is that of NCCL (Sanders, Speck and Traeff 2009).
"""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import TYPE_CHECKING

from optsched.errors import InputError
from optsched.placement.instance import Job, Stage

if TYPE_CHECKING:
    import networkx as nx

MOST_EDGES = 2_000_000

Edge = tuple[int, int]


def job_graph(job: Job) -> nx.Graph:
    """Build the weighted graph of a job's communication."""
    import networkx as nx

    stages = job.stages
    edges = sum(a.replicas * b.replicas for a, b in itertools.pairwise(stages))
    edges += sum(stage.replicas**2 // 2 for stage in stages if stage.expert_bytes)
    if edges > MOST_EDGES:
        raise InputError("job graph", "", f"{edges} edges", f"at most {MOST_EDGES}")
    graph = nx.Graph(model=job.model)
    for s, stage in enumerate(stages):
        graph.add_nodes_from(((s, r) for r in range(stage.replicas)), stage=stage.name)
        between = expert_weight(stage)
        if between:
            for a, b in itertools.combinations(range(stage.replicas), 2):
                graph.add_edge((s, a), (s, b), weight=between, kind="all-to-all")
        weight = all_reduce_weight(stage, job.all_reduce)
        for (a, b), parallel in all_reduce_edges(stage.replicas, job.all_reduce).items():
            both = parallel * weight + between
            graph.add_edge((s, a), (s, b), weight=both, kind="all-reduce")
    for s in range(len(stages) - 1):
        weight = activation_weight(stages[s], stages[s + 1])
        for a in range(stages[s].replicas):
            for b in range(stages[s + 1].replicas):
                graph.add_edge((s, a), (s + 1, b), weight=weight, kind="activation")
    return graph


def activation_weight(stage: Stage, following: Stage) -> float:
    """Bytes each pair of replicas of two neighbouring stages exchange: 2 d^out_s / k_{s+1}."""
    return 2.0 * stage.output_bytes / following.replicas


def all_reduce_weight(stage: Stage, kind: str) -> float:
    """Bytes on one all-reduce edge: 2 (k-1)/k h on a ring, half of it on each tree's edge."""
    share = (stage.replicas - 1) / stage.replicas * stage.parameter_bytes
    return 2.0 * share if kind == "ring" else share


def expert_weight(stage: Stage) -> float:
    """Bytes that every two replicas exchange in the all-to-all between experts: 2 e / k."""
    return 2.0 * stage.expert_bytes / stage.replicas


@lru_cache(maxsize=4096)
def all_reduce_edges(replicas: int, kind: str) -> dict[Edge, int]:
    """Edges (a, b), a < b, between a stage's replicas, with how many of them run in parallel.

    A ring of two replicas is a single edge; the two trees may share edges.
    """
    if replicas == 1:
        return {}
    if kind == "ring":
        ring = [(r, r + 1) for r in range(replicas - 1)] + [(0, replicas - 1)]
        return dict.fromkeys(ring, 1)
    edges: dict[Edge, int] = {}
    for tree in double_binary_trees(replicas):
        for child, parent in tree.items():
            edge = (min(child, parent), max(child, parent))
            edges[edge] = edges.get(edge, 0) + 1
    return edges


def double_binary_trees(replicas: int) -> tuple[dict[int, int], dict[int, int]]:
    """NCCL's two complementary binary trees over ranks 0..k-1, each as {child: parent}.

    The first is the in-order binary tree (odd ranks are leaves), hung below rank 0. The second is
    its mirror for even k and its shift by one for odd k, so that no rank is inner in both (except
    that one rank of an odd k may be).
    """
    first = {rank: _tree_parent(rank, replicas) for rank in range(1, replicas)}
    if replicas % 2 == 0:
        second = {replicas - 1 - c: replicas - 1 - p for c, p in first.items()}
    else:
        second = {(c + 1) % replicas: (p + 1) % replicas for c, p in first.items()}
    return first, second


def _tree_parent(rank: int, replicas: int) -> int:
    bit = rank & -rank
    parent = (rank ^ bit) | (bit << 1)
    return parent if parent < replicas else rank ^ bit
