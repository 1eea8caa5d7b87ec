"""Edges and weights of the job graph, and its double binary trees."""

import itertools
import random

import networkx as nx
import pytest
from oracles import placement as oracle

from optsched.placement.heuristics.heavy_edge import (
    activation_weight,
    all_reduce_edges,
    all_reduce_weight,
    double_binary_trees,
    expert_weight,
)
from optsched.placement.instance import PlacementInstance, Stage


@pytest.mark.parametrize("k", range(2, 10))
def test_double_trees_are_the_ones_worked_by_hand(k: int) -> None:
    made = [{(parent, child) for child, parent in tree.items()} for tree in double_binary_trees(k)]
    assert made == oracle.hand_trees(k)


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
    times = {"forward_time": 0, "backward_time": 0}
    a = Stage(name="a", replicas=2, input_bytes=0, output_bytes=9, parameter_bytes=6, **times)
    b = Stage(name="b", replicas=3, input_bytes=6, output_bytes=0, parameter_bytes=12, **times)
    assert activation_weight(a, b) == 6
    assert [all_reduce_weight(stage, "ring") for stage in (a, b)] == [6, 16]
    assert [all_reduce_weight(stage, "double-tree") for stage in (a, b)] == [3, 8]


@pytest.mark.parametrize("seed", range(80))
def test_edges_and_weights_equal_the_oracles(seed: int) -> None:
    document = oracle.random_instance(random.Random(seed))
    job, graph = PlacementInstance.from_dict(document).job, oracle.job_graph(document)
    for s, stage in enumerate(job.stages):
        edges = all_reduce_edges(stage.replicas, job.all_reduce)
        for a, b in itertools.combinations(range(stage.replicas), 2):
            weight = edges.get((a, b), 0) * all_reduce_weight(stage, job.all_reduce)
            weight += expert_weight(stage)
            given = graph.get_edge_data((s, a), (s, b), {"weight": 0})["weight"]
            assert weight == pytest.approx(float(given), rel=1e-12)
        if s > 0:
            given = graph.edges[(s - 1, 0), (s, 0)]["weight"]
            weight = activation_weight(job.stages[s - 1], stage)
            assert weight == pytest.approx(float(given), rel=1e-12)
