"""The double binary trees of the job graph; its weights are held to the oracle by cuts."""

import networkx as nx
import pytest
from oracles import placement as oracle

from optsched.placement.heuristics.heavy_edge import double_binary_trees


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
