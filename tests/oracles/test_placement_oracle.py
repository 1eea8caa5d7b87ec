"""The placement oracle itself: against numbers worked by hand, and against a simulation."""

import itertools
import random
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from oracles import placement as oracle
from oracles import placement_cases as cases
from oracles.harness import batches, case_named_on_failure, close, seed_of_the_day
from oracles.placement_worked import MIDDLE, WORKED, Worked, job, plain, stage

MAX_SEATINGS = 20_000
"""Ways to seat replicas, one by one, that a test goes through."""


@pytest.mark.parametrize("worked", WORKED, ids=lambda worked: worked.name)
def test_values_worked_by_hand(worked: Worked) -> None:
    assert oracle.alpha(worked.instance, worked.counts, worked.options) == worked.alpha
    assert oracle.optimum(worked.instance, worked.options) == worked.optimum


def test_every_stage_of_both_neighbours() -> None:
    counts = np.array([[[1, 0], [1, 1], [1, 1]]])
    times = [
        sum(oracle.stage_times(MIDDLE, s, counts, oracle.DEFAULTS))[0].tolist() for s in range(3)
    ]
    assert times == [[8.5, 0], [6.875, 14.375], [6.375, 6.375]]


@pytest.mark.parametrize("k", range(2, 10))
def test_trees_equal_the_hand_table(k: int) -> None:
    assert [set(tree) for tree in oracle.double_tree(k)] == oracle.hand_trees(k)


def test_five_gpus_hold_two_pairs() -> None:
    instance = job([3, 2], stage(2, 1, 2, tensor_parallel=2))
    assert oracle.tables(instance).tolist() == [[[1, 1]]]
    assert oracle.violated_rule(instance, [[1, 1]]) is None
    assert oracle.violated_rule(instance, [[2, 0]]) == "capacity"


# --- job graph ------------------------------------------------------------------------------------


def weights(
    stages: list[tuple[float, ...]], all_reduce: str = "ring"
) -> dict[tuple[oracle.Vertex, oracle.Vertex], Fraction]:
    """Edge weights of the job graph keyed by the ordered pair of ends."""
    graph = oracle.job_graph(plain(stages, [1], all_reduce=all_reduce))
    return {(min(u, v), max(u, v)): w for u, v, w in graph.edges(data="weight")}


def test_ring_graph_weights() -> None:
    # Stages of 3 and 2 replicas. Ring of 3: 2*(2/3)*9 = 12 on each of 3 edges; ring of 2: one edge
    # of 2*(1/2)*5 = 5. Pairs: 2*out_0/k_1 = 2*4/2 = 4 = 2*in_1/k_0 = 2*6/3, six of them.
    expected = {((0, 0), (0, 1)): 12, ((0, 1), (0, 2)): 12, ((0, 0), (0, 2)): 12}
    expected |= {((1, 0), (1, 1)): 5}
    expected |= {((0, a), (1, b)): 4 for a in range(3) for b in range(2)}
    assert weights([(3, 0, 0, 0, 4, 9), (2, 0, 0, 6, 0, 5)]) == expected


@pytest.mark.parametrize(
    ("k", "parameters", "expected"),
    [
        # the same edge twice, 2*(1/2)*5 = 5
        (2, 5, {(0, 1): 5}),
        # trees 0-2 2-1 and 1-0 0-2, (2/3)*9 = 6
        (3, 9, {(0, 2): 12, (1, 2): 6, (0, 1): 6}),
        # trees 0-2 2-1 2-3 and 3-1 1-2 1-0, (3/4)*4 = 3 an edge; 1-2 is in both
        (4, 4, {(0, 2): 3, (1, 2): 6, (2, 3): 3, (1, 3): 3, (0, 1): 3}),
    ],
)
def test_double_tree_graph_weights(
    k: int, parameters: float, expected: dict[tuple[int, int], float]
) -> None:
    found = weights([(k, 0, 0, 0, 0, parameters)], "double-tree")
    assert found == {((0, a), (0, b)): weight for (a, b), weight in expected.items()}


def test_zero_weights_are_edges_and_single_replicas_have_none() -> None:
    found = weights([(3, 0, 0, 0, 0, 0), (1, 0, 0, 0, 0, 7)])
    assert len(found) == 3 + 3
    assert set(found.values()) == {0}


@pytest.mark.parametrize("k", range(2, 10))
def test_total_all_reduce_weight(k: int) -> None:
    # ring: k edges of 2(k-1)/k h (k = 2: one edge); trees: 2(k-1) edges of (k-1)/k h
    for kind, edges in (("ring", 2 * (1 if k == 2 else k)), ("double-tree", 2 * (k - 1))):
        assert sum(weights([(k, 0, 0, 0, 0, 1)], kind).values()) == edges * Fraction(k - 1, k)


# --- Heavy-Edge -----------------------------------------------------------------------------------


def test_heavy_edge_on_the_papers_example() -> None:
    # Three stages of two replicas, servers of 4, 1, 1. Ring edges 20, 2, 2; pairs 2*1/2 = 1.
    # Server 0: the edge of 20 takes S1; then 1 each to S2-R1 and S2-R2: S2-R1; then the ring edge
    # of 2 to S2-R2. Server 1: S3-R1 and S3-R2 weigh 2 + 2*1 = 4 each: S3-R1. Server 2: the rest.
    instance = plain(
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
    instance = plain([(4, 0, 0, 0, 0, 4)], [2, 1, 1], all_reduce="double-tree")
    assert oracle.heavy_edge_vertices(instance) == {(0, 1): 0, (0, 2): 0, (0, 0): 1, (0, 3): 2}


def test_single_gpu_servers_take_the_least_weight_in_the_original_graph() -> None:
    # A chain of 4, flows 1, 5, 3 (weights 2, 10, 6): degrees 2, 12, 16, 6. All servers single:
    # stage 0 (2), then stage 3 (6), then stage 1 (12), the last takes the rest.
    chain = plain(
        [(1, 0, 0, 0, 1, 0), (1, 0, 0, 1, 5, 0), (1, 0, 0, 5, 3, 0), (1, 0, 0, 3, 0, 0)], [1] * 4, 1
    )
    assert oracle.heavy_edge(chain) == [[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 1, 0, 0]]
    # Original, not remaining: a chain with weights 4, 10, 2 + a server of 2 that takes stages 1, 2.
    # Degrees of stages 0 and 3: 4 and 2, remaining degrees 0 and 0: stage 3 goes first.
    chain = plain(
        [(1, 0, 0, 0, 2, 0), (1, 0, 0, 2, 5, 0), (1, 0, 0, 5, 1, 0), (1, 0, 0, 1, 0, 0)], [2, 1, 1]
    )
    assert oracle.heavy_edge(chain) == [[0, 0, 1], [1, 0, 0], [1, 0, 0], [0, 1, 0]]


def test_growing_without_edges_takes_the_lowest_index() -> None:
    # A chain of 5 with weights 2, 10, 10, 2 on servers of 3 and 2... the first takes 1, 2, 3 and
    # the rest equal the second server's GPUs. With single servers left, both ends weigh 2: stage 0.
    stages = [(1, 0, 0, 0, 1, 0), (1, 0, 0, 1, 5, 0), (1, 0, 0, 5, 5, 0), (1, 0, 0, 5, 1, 0)]
    chain = plain([*stages, (1, 0, 0, 1, 0, 0)], [3, 1, 1], 3)
    assert oracle.heavy_edge(chain) == [[0, 1, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0], [0, 0, 1]]

    # A chain of 7 stages with weights 2, 10, 2, 2, 10, 2 on servers of 2, 2, 2, 1. Server 0 takes
    # stages 1 and 2, server 1 stages 4 and 5. Left: 0, 3, 6, with no edge among them. Server 2
    # starts from the lowest, 0; nothing is next to it; the lowest again, 3. Server 3: stage 6.
    flow = [0, 1, 5, 1, 1, 5, 1, 0]
    chain = plain([(1, 0, 0, flow[s], flow[s + 1], 0) for s in range(7)], [2, 2, 2, 1])
    counts = oracle.heavy_edge(chain)
    assert [row.index(1) for row in counts] == [2, 0, 0, 2, 1, 1, 3]


def test_growing_ties_go_to_the_lowest_vertex_added() -> None:
    # Stages of 2 and 3 replicas, pairs of 2*12/3 = 8 above the rings of 2*(1/2)*1 = 1 and 0,
    # servers of 4 and 1. First (0,0)-(1,0). Then (0,0)-(1,1), (0,0)-(1,2) and (1,0)-(0,1) tie at 8:
    # the lowest vertex outside is (0,1), though its edge leaves from the higher end (1,0). Then
    # (1,1) ahead of (1,2).
    instance = plain([(2, 0, 0, 0, 12, 1), (3, 0, 0, 8, 0, 0)], [4, 1], 4)
    assert oracle.heavy_edge(instance) == [[2, 0], [2, 1]]


def test_zero_weight_edges_are_followed() -> None:
    # Stages of 2 and 3 replicas, rings of weight 0, pairs of weight 0, servers of 3 and 2. All
    # edges tie at 0: (0,0)-(0,1) first, then the lowest vertex next to them, (1,0).
    instance = plain([(2, 0, 0, 0, 0, 0), (3, 0, 0, 0, 0, 0)], [3, 2], 3)
    assert oracle.heavy_edge(instance) == [[2, 0], [1, 2]]
    # Chain of 4, weights 0, 0, 10 on 3 and 1: stages 2, 3, then along the zero edge: 1, not the
    # lowest index 0.
    chain = plain(
        [(1, 0, 0, 0, 0, 0), (1, 0, 0, 0, 0, 0), (1, 0, 0, 0, 5, 0), (1, 0, 0, 5, 0, 0)], [3, 1], 3
    )
    assert oracle.heavy_edge(chain) == [[0, 1], [1, 0], [1, 0], [1, 0]]


# --- cut ------------------------------------------------------------------------------------------

RING = plain([(4, 0, 0, 0, 0, 4)], [2, 1, 1])
TREE = plain([(4, 0, 0, 0, 0, 4)], [2, 1, 1], all_reduce="double-tree")


@pytest.mark.parametrize(
    ("instance", "counts", "cut"),
    [
        # Ring of 4, edges of 2*(3/4)*4 = 6. On 2, 1, 1: neighbours together keep one edge: 3*6.
        (RING, [[2, 1, 1]], 18),
        (RING, [[2, 2]], 12),  # two arcs keep two edges
        (RING, [[4]], 0),
        # Double tree: 0-2 0-1 1-3 2-3 of 3 and 1-2 of 6, total 18. On 2, 1, 1: keep 1-2.
        (TREE, [[2, 1, 1]], 12),
        (TREE, [[3, 1]], 6),  # cut off 0 or 3, degree 6
        (TREE, [[1, 1, 1, 1]], 18),
        # Stages of 3 and 2, pairs of 4, rings 12 (three edges) and 5 (one edge); servers hold
        # (2, 1) and (1, 1). Pairs: 6 - 2*1 - 1*1 = 3 cut: 12. Ring of 3 on 2 + 1: two cut: 24.
        # Ring of 2 on 1 + 1: 5.
        (plain([(3, 0, 0, 0, 4, 9), (2, 0, 0, 6, 0, 5)], [3, 2], 3), [[2, 1], [1, 1]], 41),
    ],
)
def test_cut_by_hand(instance: dict, counts: list[list[int]], cut: float) -> None:
    assert oracle.cut_bytes(instance, counts) == cut


# --- random instances -----------------------------------------------------------------------------


def test_random_instances_have_exact_weights_and_every_feature() -> None:
    seen: set[str] = set()
    for seed in range(600):
        instance = oracle.random_instance(random.Random(seed))
        assert instance == oracle.random_instance(random.Random(seed))
        stages, free = instance["job"]["stages"], instance["free_gpus"]
        sizes, cluster = oracle.replicas(instance), instance["cluster"]
        assert sum(free) == sum(sizes) <= 10
        for before, after in itertools.pairwise(stages):
            pair_weight = 2 * after["input_bytes"] / before["replicas"]
            assert pair_weight == 2 * before["output_bytes"] / after["replicas"]
        graph = oracle.job_graph(instance)
        assert all(w.denominator == 1 for _, _, w in graph.edges(data="weight"))
        assert graph.size(weight="weight") < 2**53
        features = {
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
        seen |= {instance["job"]["all_reduce"], f"{len(stages)} stages", f"{len(free)} servers"}
        seen.add(f"{cluster['gpus_per_server']} GPUs")
    expected = {*features, "ring", "double-tree", *(f"{g} GPUs" for g in range(1, 9))}
    assert seen == expected | {f"{n} {what}" for n in range(1, 5) for what in ("stages", "servers")}


@pytest.mark.parametrize("seed", range(60))
def test_heavy_edge_places_everything_and_never_beats_brute_force(seed: int) -> None:
    instance = oracle.random_instance(random.Random(1000 + seed))
    counts = oracle.heavy_edge(instance)
    assert oracle.violated_rule(instance, counts) is None
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


# --- a simulation, replica by replica ------------------------------------------------------------


@pytest.mark.parametrize("numbers", batches(nightly=1904, default=56, size=112))
def test_the_oracle_against_a_simulation(numbers: range) -> None:
    counts: Counter[str] = Counter()
    for number in numbers:
        case = cases.draw("extended", seed_of_the_day(), number)
        with case_named_on_failure(
            seed_of_the_day(), number, {**case.instance, "options": case.options}
        ):
            _compare(case, counts)
    assert counts["seated"] >= 0.5 * len(numbers)
    assert 0.05 * len(numbers) <= counts["no table"] <= 0.4 * len(numbers)


def _compare(case: cases.Case, counts: Counter[str]) -> None:
    """One case: the tables themselves, and the times of some of them."""
    instance, tables = case.instance, oracle.tables(case.instance)
    counts["no table"] += not len(tables)
    seated = _tables_seat_by_seat(instance)
    if seated is not None:
        assert seated == {tuple(map(tuple, table)) for table in tables.tolist()}
        assert len(seated) == len(tables)
        counts["seated"] += 1
    for at in case.rng.integers(0, max(len(tables), 1), min(len(tables), 3)):
        table = tables[at].tolist()
        assert oracle.violated_rule(instance, table) is None
        found = oracle.alpha(instance, table, case.options)
        expected = float(_simulated(instance, table, case.options))
        assert close(found, expected, 1e-12), f"{table}: {found}, simulated {expected}"


def _tables_seat_by_seat(instance: dict) -> set[tuple[tuple[int, ...], ...]] | None:
    """Tables found by giving every replica a server of its own choice; None if too many ways."""
    stages, free = instance["job"]["stages"], instance["free_gpus"]
    members = [s for s, one in enumerate(stages) for _ in range(one["replicas"])]
    if len(free) ** len(members) > MAX_SEATINGS:
        return None
    found = set()
    for seats in itertools.product(range(len(free)), repeat=len(members)):
        left = list(free)
        table = [[0] * len(free) for _ in stages]
        for s, m in zip(members, seats, strict=True):
            left[m] -= stages[s].get("tensor_parallel", 1)
            table[s][m] += 1
        if min(left) >= 0:
            found.add(tuple(map(tuple, table)))
    return found


def _simulated(instance: dict, table: list[list[int]], options: Mapping[str, Any]) -> Fraction:
    """alpha, replica by replica and micro-batch by micro-batch, without rounding."""
    options = {**oracle.DEFAULTS, **options}
    stages, parts = instance["job"]["stages"], instance["job"].get("micro_batches")
    seats = [[m for m, x in enumerate(row) for _ in range(x)] for row in table]
    works, reduces = [], []
    for s in range(len(stages)):
        works.append([_work(instance, seats, s, i, options) for i in range(len(seats[s]))])
        reduces.append([_reduce(instance, seats, s, i, options) for i in range(len(seats[s]))])
    if parts is None:
        return max(
            work + reduce
            for at_work, reducing in zip(works, reduces, strict=True)
            for work, reduce in zip(at_work, reducing, strict=True)
        )
    done = [Fraction(0)] * (len(stages) + 1)
    for _ in range(parts):
        for s, work in enumerate(works):
            done[s + 1] = max(done[s], done[s + 1]) + max(work) / parts
    last_backward = done[-1]
    ends = []
    for one, reduce in zip(stages, reduces, strict=True):
        ends.append(last_backward + max(reduce))
        last_backward -= (
            Fraction(options["backward_overlap"]) * Fraction(one["backward_time"]) / parts
        )
    return max(ends)


def _work(
    instance: dict, seats: list[list[int]], s: int, i: int, options: Mapping[str, Any]
) -> Fraction:
    """Time of replica ``i`` of stage ``s`` but for its all-reduce: message by message."""
    stages = instance["job"]["stages"]
    one = {key: Fraction(value) for key, value in stages[s].items() if key != "name"}
    inside = Fraction(instance["cluster"]["intra_bandwidth"])
    # a server's NIC is shared by its GPUs, and a replica has the parts of all of its slices
    slices = one.get("tensor_parallel", Fraction(1))
    nic = Fraction(instance["cluster"]["inter_bandwidth"])
    outside = nic / instance["cluster"]["gpus_per_server"] * slices
    time = one["forward_time"] + Fraction(options["backward_overlap"]) * one["backward_time"]
    ring_of_slices = sum(2 * one.get("tensor_bytes", 0) / slices for _ in range(int(slices) - 1))
    time += ring_of_slices / inside
    messages = []
    for other, key in ((s - 1, "input_bytes"), (s + 1, "output_bytes")):
        if 0 <= other < len(stages):
            messages += [(seat, 2 * one[key] / len(seats[other])) for seat in seats[other]]
    peers = seats[s][:i] + seats[s][i + 1 :]
    messages += [(seat, one.get("expert_bytes", Fraction(0)) / len(seats[s])) for seat in peers]
    return time + sum(
        size / (inside if seat == seats[s][i] else outside) for seat, size in messages
    )


def _reduce(
    instance: dict, seats: list[list[int]], s: int, i: int, options: Mapping[str, Any]
) -> Fraction:
    """Time of the all-reduce of replica ``i`` of stage ``s``, its parameters cut into slices."""
    one, k = instance["job"]["stages"][s], len(seats[s])
    cluster = instance["cluster"]
    there = Counter(seats[s])
    slice_bytes = Fraction(one["parameter_bytes"]) / one.get("tensor_parallel", 1)
    if len(there) == 1:
        bandwidth = Fraction(cluster["intra_bandwidth"])
    else:
        own = options["all_reduce_bandwidth"] == "own"
        count = there[seats[s][i]] if own else min(there.values())
        bandwidth = Fraction(cluster["inter_bandwidth"]) * count / cluster["gpus_per_server"]
    sent = slice_bytes * 2 * (k - 1) / k
    return Fraction(options["all_reduce_overlap"]) * sent / bandwidth


@pytest.mark.parametrize("number", range(len(cases.COMBINATIONS)))
def test_every_combination_is_drawn(number: int) -> None:
    job = cases.draw("extended", seed_of_the_day(), number).instance["job"]
    drawn = (
        job.get("micro_batches"),
        any(one.get("tensor_parallel", 1) > 1 for one in job["stages"]),
        any(one.get("tensor_bytes", 0) > 0 for one in job["stages"]),
        any(one.get("expert_bytes", 0) > 0 for one in job["stages"]),
    )
    assert drawn == cases.COMBINATIONS[number]
