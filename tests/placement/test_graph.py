"""The job graph and its double binary trees."""

from __future__ import annotations

import random

import networkx as nx
import pytest
from oracles import placement as oracle

from optsched.errors import InputError
from optsched.placement.graph import all_reduce_edges, double_binary_trees, job_graph
from optsched.placement.instance import Job, PlacementInstance


@pytest.mark.parametrize("k", range(2, 10))
def test_double_trees_are_the_ones_worked_by_hand(k: int) -> None:
    made = [{(parent, child) for child, parent in tree.items()} for tree in double_binary_trees(k)]
    assert made == [set(tree) for tree in oracle.HAND_TREES[k]]


@pytest.mark.parametrize("k", [2, 3, 10, 16, 31, 64, 100, 129])
def test_each_tree_spans_and_inner_ranks_differ(k: int) -> None:
    inner = []
    for tree in double_binary_trees(k):
        graph = nx.Graph(tree.items())
        assert nx.is_tree(graph)
        assert graph.number_of_nodes() == k
        inner.append(set(tree.values()))
        children = [list(tree.values()).count(parent) for parent in inner[-1]]
        assert max(children) <= 2
    # Odd k: the shift moves rank k - 1 onto rank 0, the root of the first tree.
    assert inner[0] & inner[1] == (set() if k % 2 == 0 else {0})


def test_ring_edges() -> None:
    assert all_reduce_edges(1, "ring") == {}
    assert all_reduce_edges(2, "ring") == {(0, 1): 1}
    assert all_reduce_edges(3, "ring") == {(0, 1): 1, (1, 2): 1, (0, 2): 1}
    assert all_reduce_edges(2, "double-tree") == {(0, 1): 2}


def test_weights_of_a_small_job_by_hand() -> None:
    # Stage a: k = 2, h = 6, sends 9 a replica; stage b: k = 3, h = 12, receives 6 a replica.
    # Pair edges: 2 * 9 / 3 = 2 * 6 / 2 = 6. Rings: 2 * 1/2 * 6 = 6 (one edge), 2 * 2/3 * 12 = 16.
    stage = {"forward_time": 0, "backward_time": 0}
    job = Job.model_validate(
        {
            "model": "two",
            "all_reduce": "ring",
            "stages": [
                {"name": "a", "replicas": 2, "input_bytes": 0, "output_bytes": 9,
                 "parameter_bytes": 6, **stage},
                {"name": "b", "replicas": 3, "input_bytes": 6, "output_bytes": 0,
                 "parameter_bytes": 12, **stage},
            ],
        }
    )  # fmt: skip
    graph = job_graph(job)
    weights = {frozenset(edge): w for *edge, w in graph.edges.data("weight")}
    assert len(weights) == 6 + 1 + 3
    assert weights[frozenset({(0, 0), (1, 2)})] == 6
    assert weights[frozenset({(0, 0), (0, 1)})] == 6
    assert weights[frozenset({(1, 0), (1, 2)})] == 16
    assert graph.nodes[1, 2]["stage"] == "b"
    assert graph.edges[(0, 0), (1, 2)]["kind"] == "activation"
    assert graph.edges[(1, 0), (1, 2)]["kind"] == "all-reduce"


@pytest.mark.parametrize("seed", range(80))
def test_graph_equals_the_oracle(seed: int) -> None:
    document = oracle.random_instance(random.Random(seed))
    ours = job_graph(PlacementInstance.from_dict(document).job)
    theirs = oracle.job_graph(document)
    assert set(ours.nodes) == set(theirs.nodes)
    assert {frozenset(e) for e in ours.edges} == {frozenset(e) for e in theirs.edges}
    for u, v, weight in ours.edges.data("weight"):
        assert weight == pytest.approx(float(theirs.edges[u, v]["weight"]), rel=1e-12)


def test_refuses_a_graph_of_millions_of_edges() -> None:
    stages = [
        {"name": name, "replicas": 2000, "forward_time": 0, "backward_time": 0,
         "input_bytes": 0, "output_bytes": 0, "parameter_bytes": 0}
        for name in "ab"
    ]  # fmt: skip
    job = Job.model_validate({"model": "wide", "all_reduce": "ring", "stages": stages})
    with pytest.raises(InputError, match="4000000 edges"):
        job_graph(job)
