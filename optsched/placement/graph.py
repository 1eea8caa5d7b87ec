"""Edges of the job graph: vertices are replicas, weights the bytes exchanged in an iteration.

Source: a-srpt, IV-B; the double tree is that of NCCL (Sanders, Speck and Traeff 2009).
"""

from __future__ import annotations

from functools import lru_cache

from optsched.placement.instance import Stage

Edge = tuple[int, int]


def activation_weight(stage: Stage, following: Stage) -> float:
    """Bytes each pair of replicas of two neighbouring stages exchange: 2 d^out_s / k_{s+1}."""
    return 2.0 * stage.output_bytes / following.replicas


def all_reduce_weight(stage: Stage, kind: str) -> float:
    """Bytes on one all-reduce edge: 2 (k-1)/k h on a ring, half of that in a double tree."""
    share = (stage.replicas - 1) / stage.replicas * stage.parameter_bytes
    return 2.0 * share if kind == "ring" else share


def expert_weight(stage: Stage) -> float:
    """Bytes exchanged by each pair of replicas in the expert all-to-all: 2 e / k."""
    return 2.0 * stage.expert_bytes / stage.replicas


@lru_cache(maxsize=4096)
def all_reduce_edges(replicas: int, kind: str) -> dict[Edge, int]:
    """Edges (a, b), a < b, between a stage's replicas, with their multiplicity.

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

    The first is the in-order binary tree (odd ranks are leaves), rooted at rank 0. The second is
    its mirror for even k and its shift by one for odd k, so that a rank is an inner node of at most
    one tree (for odd k, one rank may be inner in both).
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
