"""The placement oracle itself, against numbers worked by hand."""

import itertools
import random
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest

from oracles import placement as oracle


def make(
    stages: list[tuple[int, float, float, float, float, float]],
    free: list[int],
    gpus: int = 2,
    inter: float = 4.0,
    intra: float = 16.0,
    kind: str = "ring",
) -> dict[str, Any]:
    """An instance; a stage is (replicas, forward, backward, input, output, parameters)."""
    keys = (
        "replicas",
        "forward_time",
        "backward_time",
        "input_bytes",
        "output_bytes",
        "parameter_bytes",
    )
    return {
        "schema": "optsched/placement",
        "version": 1,
        "name": "hand",
        "cluster": {"gpus_per_server": gpus, "inter_bandwidth": inter, "intra_bandwidth": intra},
        "free_gpus": free,
        "job": {
            "model": "hand",
            "all_reduce": kind,
            "stages": [
                {"name": f"s{s}", **dict(zip(keys, stage, strict=True))}
                for s, stage in enumerate(stages)
            ],
        },
    }


def two_stages() -> dict[str, Any]:
    """Stages of 2 and 1 replicas on servers of 2 and 1 GPUs; g/B_inter = 1/2, 1/B_intra = 1/16."""
    return make([(2, 0.5, 1.5, 0, 4, 6), (1, 1, 1, 8, 0, 5)], [2, 1])


def test_alpha_of_two_stages() -> None:
    # Stage 0 whole on server 0, stage 1 on server 1.
    #   stage 0: comp 2; comm 2*4*(1-0)/1 * 1/2 = 4; all-reduce 2*(1/2)*6/16 = 0.375   -> 6.375
    #   stage 1: comp 2; comm 2*8*(2-0)/2 * 1/2 = 8; k = 1: no all-reduce             -> 10
    assert oracle.alpha(two_stages(), [[2, 0], [0, 1]]) == pytest.approx(10)
    # One replica of stage 0 on each server, stage 1 on server 0.
    #   stage 0, server 0: 2 + 8*(1/1)/16 = 0.5 + 2*(1/2)*6*2/(1*4) = 3                -> 5.5
    #   stage 1, server 0: 2 + 16*(1/2)*1/2 = 4 + 16*(1/2)/16 = 0.5                    -> 6.5
    #   stage 0, server 1: 2 + 8*(1/1)*1/2 = 4 + 3                                     -> 9
    assert oracle.alpha(two_stages(), [[1, 1], [1, 0]]) == pytest.approx(9)


@pytest.mark.parametrize(
    ("option", "coefficient", "seconds"),
    [
        ("backward_overlap", 0.5, 8.25),  # 0.5 + 0.5*1.5 + 4 + 3 (the others: 4.75 and 6)
        ("all_reduce_overlap", 0.5, 7.5),  # 2 + 4 + 0.5*3 (the others: 4 and 6.5)
        ("all_reduce_overlap", 0, 6.5),  # stage 1; stage 0 takes 2 + 4 + 0
    ],
)
def test_overlap_coefficients(option: str, coefficient: float, seconds: float) -> None:
    found = oracle.alpha(two_stages(), [[1, 1], [1, 0]], {option: coefficient})
    assert found == pytest.approx(seconds)


def test_middle_stage_has_both_neighbours() -> None:
    # Stages of 1, 2, 2 replicas, no times or parameters, on servers of 3 and 2 GPUs, g = 4:
    # g/B_inter = 1, 1/B_intra = 1/16. Flows 8 (0 to 1) and 12 (1 to 2):
    # out_0 = 8, in_1 = 4, out_1 = in_2 = 6. Server 0 holds (1, 1, 1), server 1 (0, 1, 1).
    instance = make([(1, 0, 0, 0, 8, 0), (2, 0, 0, 4, 6, 0), (2, 0, 0, 6, 0, 0)], [3, 2], gpus=4)
    counts = [[1, 0], [1, 1], [1, 1]]
    # stage 0, server 0: 16*(1/2)*1 = 8; inside 16*(1/2)/16 = 0.5                       -> 8.5
    # stage 1, server 0: in 8*0 ; out 12*(1/2) = 6; inside (8*1 + 12*1/2)/16 = 0.875    -> 6.875
    # stage 1, server 1: in 8*1 = 8; out 6; inside (0 + 6)/16 = 0.375                   -> 14.375
    # stage 2, both: 12*(1/2) = 6 + 6/16 = 0.375                                        -> 6.375
    times = [
        sum(oracle.stage_times(instance, s, np.array([counts]), oracle.DEFAULTS))[0].tolist()
        for s in range(3)
    ]
    assert times == [[8.5, 0], [6.875, 14.375], [6.375, 6.375]]
    assert oracle.alpha(instance, counts) == pytest.approx(14.375)


def test_bottleneck_bandwidth() -> None:
    # Stages of 3 and 1 replicas, servers of 2 and 2 GPUs, counts [[2, 1], [0, 1]].
    #   stage 0, server 0: 3 + 8*1/2 = 4 + 2*(2/3)*6*2/(x*4) = 4/x: own x = 2 -> 2: 9
    #                                                 bottleneck x = min(2, 1) -> 4: 11
    #   stage 0, server 1: 3 + 8/16 = 0.5 + 4 = 7.5 under both
    #   stage 1, server 1: 24*(2/3)*1/2 = 8 + 24*(1/3)/16 = 0.5: 8.5
    instance = make([(3, 1, 2, 0, 4, 6), (1, 0, 0, 12, 0, 0)], [2, 2])
    counts = [[2, 1], [0, 1]]
    assert oracle.alpha(instance, counts) == pytest.approx(9)
    assert oracle.alpha(instance, counts, {"all_reduce_bandwidth": "bottleneck"}) == pytest.approx(
        11
    )


def test_one_stage_on_one_server_has_no_communication() -> None:
    # 1 + 2 + 2*(3/4)*8/16 = 0.75
    assert oracle.alpha(make([(4, 1, 2, 0, 0, 8)], [4], gpus=4), [[4]]) == pytest.approx(3.75)
    # one replica: no all-reduce
    assert oracle.alpha(make([(1, 1, 2, 0, 0, 8)], [1]), [[1]]) == pytest.approx(3)


@pytest.mark.parametrize("k", range(2, 10))
def test_trees_equal_the_hand_table(k: int) -> None:
    for computed, by_hand in zip(oracle.double_tree(k), oracle.HAND_TREES[k], strict=True):
        assert sorted(computed) == sorted(by_hand)


# --- job graph ------------------------------------------------------------------------------------


def weights(graph: nx.Graph) -> dict[tuple[oracle.Vertex, oracle.Vertex], Fraction]:
    """Edge weights keyed by the ordered pair of ends."""
    return {(min(u, v), max(u, v)): w for u, v, w in graph.edges(data="weight")}


def test_ring_graph_weights() -> None:
    # Stages of 3 and 2 replicas. Ring of 3: 2*(2/3)*9 = 12 on each of 3 edges; ring of 2: one edge
    # of 2*(1/2)*5 = 5. Pairs: 2*out_0/k_1 = 2*4/2 = 4 = 2*in_1/k_0 = 2*6/3, six of them.
    graph = oracle.job_graph(make([(3, 0, 0, 0, 4, 9), (2, 0, 0, 6, 0, 5)], [3, 2], 3))
    expected = {((0, 0), (0, 1)): 12, ((0, 1), (0, 2)): 12, ((0, 0), (0, 2)): 12}
    expected |= {((1, 0), (1, 1)): 5}
    expected |= {((0, a), (1, b)): 4 for a in range(3) for b in range(2)}
    assert weights(graph) == expected


def test_double_tree_graph_weights() -> None:
    # k = 4: trees 0-2 2-1 2-3 and 3-1 1-2 1-0, (3/4)*4 = 3 an edge; 1-2 is in both: 6.
    graph = oracle.job_graph(make([(4, 0, 0, 0, 0, 4)], [4], 4, kind="double-tree"))
    assert weights(graph) == {
        ((0, 0), (0, 2)): 3,
        ((0, 1), (0, 2)): 6,
        ((0, 2), (0, 3)): 3,
        ((0, 1), (0, 3)): 3,
        ((0, 0), (0, 1)): 3,
    }
    # k = 2: the same edge twice, 2*(1/2)*5 = 5. k = 3: trees 0-2 2-1 and 1-0 0-2, (2/3)*9 = 6.
    pair = oracle.job_graph(make([(2, 0, 0, 0, 0, 5)], [2], kind="double-tree"))
    assert weights(pair) == {((0, 0), (0, 1)): 5}
    three = oracle.job_graph(make([(3, 0, 0, 0, 0, 9)], [3], 3, kind="double-tree"))
    assert weights(three) == {((0, 0), (0, 2)): 12, ((0, 1), (0, 2)): 6, ((0, 0), (0, 1)): 6}


def test_zero_weights_are_edges_and_single_replicas_have_none() -> None:
    graph = oracle.job_graph(make([(3, 0, 0, 0, 0, 0), (1, 0, 0, 0, 0, 7)], [3, 1], 3))
    assert graph.number_of_edges() == 3 + 3
    assert set(weights(graph).values()) == {0}


@pytest.mark.parametrize("k", range(2, 10))
def test_total_all_reduce_weight(k: int) -> None:
    # ring: k edges of 2(k-1)/k h (k = 2: one edge); trees: 2(k-1) edges of (k-1)/k h
    for kind, edges in (("ring", 2 * (1 if k == 2 else k)), ("double-tree", 2 * (k - 1))):
        graph = oracle.job_graph(make([(k, 0, 0, 0, 0, 1)], [k], k, kind=kind))
        assert graph.size(weight="weight") == edges * Fraction(k - 1, k)


# --- Heavy-Edge -----------------------------------------------------------------------------------


def test_heavy_edge_on_the_papers_example() -> None:
    # Three stages of two replicas, servers of 4, 1, 1. Ring edges 20, 2, 2; pairs 2*1/2 = 1.
    # Server 0: the edge of 20 takes S1; then 1 each to S2-R1 and S2-R2: S2-R1; then the ring edge
    # of 2 to S2-R2. Server 1: S3-R1 and S3-R2 weigh 2 + 2*1 = 4 each: S3-R1. Server 2: the rest.
    instance = make(
        [(2, 0, 0, 0, 1, 20), (2, 0, 0, 1, 1, 2), (2, 0, 0, 1, 0, 2)], [4, 1, 1], gpus=4
    )
    assert oracle.heavy_edge(instance) == [[2, 0, 0], [2, 0, 0], [0, 1, 1]]
    assert oracle.heavy_edge_vertices(instance)[2, 0] == 1
    # the order of the servers is by GPUs, not by index
    instance["free_gpus"] = [1, 4, 1]
    assert oracle.heavy_edge(instance) == [[0, 2, 0], [0, 2, 0], [1, 0, 1]]


def test_heavy_edge_on_a_double_tree() -> None:
    # Weights as above: 1-2 is 6, the others 3. Server 0 takes 1 and 2; degrees of 0 and 3 are 6
    # each: the tie goes to 0.
    instance = make([(4, 0, 0, 0, 0, 4)], [2, 1, 1], kind="double-tree")
    assert oracle.heavy_edge_vertices(instance) == {(0, 1): 0, (0, 2): 0, (0, 0): 1, (0, 3): 2}


def test_single_gpu_servers_take_the_least_weight_in_the_original_graph() -> None:
    # A chain of 4, flows 1, 5, 3 (weights 2, 10, 6): degrees 2, 12, 16, 6. All servers single:
    # stage 0 (2), then stage 3 (6), then stage 1 (12), the last takes the rest.
    chain = make(
        [(1, 0, 0, 0, 1, 0), (1, 0, 0, 1, 5, 0), (1, 0, 0, 5, 3, 0), (1, 0, 0, 3, 0, 0)], [1] * 4, 1
    )
    assert oracle.heavy_edge(chain) == [[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 1, 0, 0]]
    # Original, not remaining: a chain with weights 4, 10, 2 + a server of 2 that takes stages 1, 2.
    # Degrees of stages 0 and 3: 4 and 2, remaining degrees 0 and 0: stage 3 goes first.
    chain = make(
        [(1, 0, 0, 0, 2, 0), (1, 0, 0, 2, 5, 0), (1, 0, 0, 5, 1, 0), (1, 0, 0, 1, 0, 0)], [2, 1, 1]
    )
    assert oracle.heavy_edge(chain) == [[0, 0, 1], [1, 0, 0], [1, 0, 0], [0, 1, 0]]


def test_growing_without_edges_takes_the_lowest_index() -> None:
    # A chain of 5 with weights 2, 10, 10, 2 on servers of 3 and 2... the first takes 1, 2, 3 and
    # the rest equal the second server's GPUs. With single servers left, both ends weigh 2: stage 0.
    stages = [(1, 0, 0, 0, 1, 0), (1, 0, 0, 1, 5, 0), (1, 0, 0, 5, 5, 0), (1, 0, 0, 5, 1, 0)]
    chain = make([*stages, (1, 0, 0, 1, 0, 0)], [3, 1, 1], 3)
    assert oracle.heavy_edge(chain) == [[0, 1, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0], [0, 0, 1]]

    # A chain of 7 stages with weights 2, 10, 2, 2, 10, 2 on servers of 2, 2, 2, 1. Server 0 takes
    # stages 1 and 2, server 1 stages 4 and 5. Left: 0, 3, 6, with no edge among them. Server 2
    # starts from the lowest, 0; nothing is next to it; the lowest again, 3. Server 3: stage 6.
    flow = [0, 1, 5, 1, 1, 5, 1, 0]
    chain = make([(1, 0, 0, flow[s], flow[s + 1], 0) for s in range(7)], [2, 2, 2, 1])
    counts = oracle.heavy_edge(chain)
    assert [row.index(1) for row in counts] == [2, 0, 0, 2, 1, 1, 3]


def test_growing_ties_go_to_the_lowest_vertex_added() -> None:
    # Stages of 2 and 3 replicas, pairs of 2*12/3 = 8 above the rings of 2*(1/2)*1 = 1 and 0,
    # servers of 4 and 1. First (0,0)-(1,0). Then (0,0)-(1,1), (0,0)-(1,2) and (1,0)-(0,1) tie at 8:
    # the lowest vertex outside is (0,1), though its edge leaves from the higher end (1,0). Then
    # (1,1) ahead of (1,2).
    instance = make([(2, 0, 0, 0, 12, 1), (3, 0, 0, 8, 0, 0)], [4, 1], 4)
    assert oracle.heavy_edge(instance) == [[2, 0], [2, 1]]


def test_zero_weight_edges_are_followed() -> None:
    # Stages of 2 and 3 replicas, rings of weight 0, pairs of weight 0, servers of 3 and 2. All
    # edges tie at 0: (0,0)-(0,1) first, then the lowest vertex next to them, (1,0).
    instance = make([(2, 0, 0, 0, 0, 0), (3, 0, 0, 0, 0, 0)], [3, 2], 3)
    assert oracle.heavy_edge(instance) == [[2, 0], [1, 2]]
    # Chain of 4, weights 0, 0, 10 on 3 and 1: stages 2, 3, then along the zero edge: 1, not the
    # lowest index 0.
    chain = make(
        [(1, 0, 0, 0, 0, 0), (1, 0, 0, 0, 0, 0), (1, 0, 0, 0, 5, 0), (1, 0, 0, 5, 0, 0)], [3, 1], 3
    )
    assert oracle.heavy_edge(chain) == [[0, 1], [1, 0], [1, 0], [1, 0]]


# --- cut ------------------------------------------------------------------------------------------


def test_cut_of_one_stage() -> None:
    # Ring of 4, edges of 2*(3/4)*4 = 6. On 2, 1, 1: neighbours together keep one edge: 3*6 = 18.
    # On 2, 2: two arcs keep two edges: 2*6 = 12. On 4: nothing is cut.
    ring = make([(4, 0, 0, 0, 0, 4)], [2, 1, 1])
    assert oracle.cut_bytes(ring, [[2, 1, 1]]) == 18
    assert oracle.cut_bytes(ring, [[2, 2]]) == 12
    assert oracle.cut_bytes(ring, [[4]]) == 0
    # Double tree: 0-2 0-1 1-3 2-3 of 3 and 1-2 of 6, total 18. On 2, 1, 1: keep 1-2: 12.
    # On 3, 1: cut off 0 or 3, degree 6. On 1, 1, 1, 1: 18.
    tree = make([(4, 0, 0, 0, 0, 4)], [2, 1, 1], kind="double-tree")
    assert oracle.cut_bytes(tree, [[2, 1, 1]]) == 12
    assert oracle.cut_bytes(tree, [[3, 1]]) == 6
    assert oracle.cut_bytes(tree, [[1, 1, 1, 1]]) == 18


def test_cut_counts_pairs_and_rings() -> None:
    # Stages of 3 and 2, pairs of 4, rings 12 (three edges) and 5 (one edge); servers hold (2, 1)
    # and (1, 1). Pairs: 6 - 2*1 - 1*1 = 3 cut: 12. Ring of 3 on 2 + 1: two cut: 24. Ring of 2 on
    # 1 + 1: 5. Sum 41.
    instance = make([(3, 0, 0, 0, 4, 9), (2, 0, 0, 6, 0, 5)], [3, 2], 3)
    assert oracle.cut_bytes(instance, [[2, 1], [1, 1]]) == 41


# --- random instances -----------------------------------------------------------------------------


def test_random_instances_are_valid_and_exact() -> None:
    seen: set[str] = set()
    for seed in range(600):
        instance = oracle.random_instance(random.Random(seed))
        assert instance == oracle.random_instance(random.Random(seed))
        stages, free = instance["job"]["stages"], instance["free_gpus"]
        sizes, cluster = oracle.replicas(instance), instance["cluster"]
        assert 1 <= len(stages) <= 4
        assert 1 <= len(free) <= 4
        assert all(1 <= k <= 4 for k in sizes)
        assert sum(free) == sum(sizes) <= 10
        assert all(1 <= g <= cluster["gpus_per_server"] <= 8 for g in free)
        assert stages[0]["input_bytes"] == 0 == stages[-1]["output_bytes"]
        for before, after in itertools.pairwise(stages):
            sent = before["output_bytes"] * before["replicas"]
            assert sent == after["input_bytes"] * after["replicas"]
            pair_weight = 2 * after["input_bytes"] / before["replicas"]
            assert pair_weight == 2 * before["output_bytes"] / after["replicas"]
        graph = oracle.job_graph(instance)
        assert all(w.denominator == 1 for _, _, w in graph.edges(data="weight"))
        assert graph.size(weight="weight") < 2**53
        ratio = cluster["intra_bandwidth"] / cluster["inter_bandwidth"]
        features = {
            instance["job"]["all_reduce"]: True,
            f"{len(stages)} stages": True,
            f"{len(free)} servers": True,
            f"g = {cluster['gpus_per_server']}": True,
            f"ratio {ratio:g}": True,
            "single-GPU server beside another": 1 in free and max(free) > 1,
            "only single-GPU servers": len(free) > 1 and max(free) == 1,
            "equal servers": len(free) > 1 and min(free) == max(free) > 1,
            "full server": max(free) == cluster["gpus_per_server"],
            "chain": len(stages) > 1 and max(sizes) == 1,
            "no activations": len(stages) > 1 and all(s["output_bytes"] == 0 for s in stages),
            "no parameters": all(s["parameter_bytes"] == 0 for s in stages),
            "no time": all(s["forward_time"] + s["backward_time"] == 0 for s in stages),
            "some time zero": any(s["forward_time"] * s["backward_time"] == 0 for s in stages),
        }
        seen |= {name for name, holds in features.items() if holds}
    expected = {"ring", "double-tree"}
    expected |= {f"{n} stages" for n in range(1, 5)} | {f"{n} servers" for n in range(1, 5)}
    expected |= {f"g = {g}" for g in range(1, 9)}
    expected |= {f"ratio {r:g}" for r in (1, 1.5, 2, 10, 24, 100, 240, 300)}
    expected |= {
        "single-GPU server beside another",
        "only single-GPU servers",
        "equal servers",
        "full server",
        "chain",
        "no activations",
        "no parameters",
        "no time",
        "some time zero",
    }
    assert seen == expected


@pytest.mark.parametrize("seed", range(60))
def test_heavy_edge_places_everything_and_never_beats_brute_force(seed: int) -> None:
    instance = oracle.random_instance(random.Random(1000 + seed))
    counts = oracle.heavy_edge(instance)
    assert oracle.broken_rule(instance, counts) is None
    for bandwidth in ("own", "bottleneck"):
        options = {"all_reduce_bandwidth": bandwidth}
        best = oracle.optimum(instance, options)
        assert best <= oracle.alpha(instance, counts, options) * (1 + 1e-12)
    # its own assignment is one of those the cut minimises over
    server_of = oracle.heavy_edge_vertices(instance)
    own_cut = sum(
        w
        for u, v, w in oracle.job_graph(instance).edges(data="weight")
        if server_of[u] != server_of[v]
    )
    assert oracle.cut_bytes(instance, counts) <= own_cut
