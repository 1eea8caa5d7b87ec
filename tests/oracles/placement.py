"""Oracle for the GPU placement of one job: every table of counts, the job graph, Heavy-Edge, cuts.

Plain, literal and slow, on the JSON dictionary of an instance; nothing comes from the package.

Stage s has k replicas of q GPUs each. On a server with x of them, an iteration takes

    work = p + 2 (q-1)/q c / B_intra                                    computation, tensor slices
         + sum over neighbours n of 2 d (g/(q B_inter) far + near / B_intra)
         + e (g/(q B_inter) (k-x)/k + (x-1)/k / B_intra)                all-to-all, where k > 1
    ar   = 2 (k-1)/k h / q times g/(x B_inter) if x < k, 1/B_intra if x = k

with near = x[n]/k[n], far = 1 - near. An asynchronous job takes max over s, m of work + ar: a-srpt
(4)-(7) where q = 1 and c = e = 0. One of M micro-batches is M equal jobs through S machines in
series, t[s] = max over m of work / M each; stage s may reduce once its own last backward pass is
over, which the stages before it do after it:

    (M-1) max t + sum t + max over s of (max over m of ar[s] - sum of p_backward / M before s)
"""

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from scipy.optimize import linprog

Instance = dict[str, Any]
Counts = list[list[int]]
Vertex = tuple[int, int]
"""(stage, replica), both from 0."""
TreeEdge = tuple[int, int]
"""(parent, child)."""
NONE: Mapping[str, Any] = {}

DEFAULTS = {"all_reduce_bandwidth": "own", "backward_overlap": 1.0, "all_reduce_overlap": 1.0}


def optimum(instance: dict, options: Mapping[str, Any] = NONE) -> float | None:
    """The least alpha over all tables of counts; None if there is no table."""
    every = tables(instance)
    return float(alphas(instance, every, options).min()) if len(every) else None


def alpha(
    instance: dict, counts: Sequence[Sequence[int]], options: Mapping[str, Any] = NONE
) -> float:
    """The time of one iteration under one table of counts."""
    return float(alphas(instance, np.array([counts], dtype=np.int64), options)[0])


def violated_rule(instance: dict, counts: list[list[int]]) -> str | None:
    """What is wrong with a table of counts, or None."""
    stages, free = instance["job"]["stages"], instance["free_gpus"]
    if len(counts) != len(stages) or any(len(row) != len(free) for row in counts):
        return "shape"
    if any(count < 0 for row in counts for count in row):
        return "negative"
    if any(sum(row) != stage["replicas"] for row, stage in zip(counts, stages, strict=True)):
        return "replicas"
    used = [
        sum(count * gpus for count, gpus in zip(column, gpus_each(instance), strict=True))
        for column in zip(*counts, strict=True)
    ]
    return "capacity" if any(u > gpus for u, gpus in zip(used, free, strict=True)) else None


def gpus_each(instance: dict) -> list[int]:
    return [stage.get("tensor_parallel", 1) for stage in instance["job"]["stages"]]


def saves_inside(instance: dict) -> bool | None:
    """Whether g / (q B_inter) > 1 / B_intra, without which some models refuse the instance.

    None where the two are equal up to rounding.
    """
    cluster = instance["cluster"]
    inside = cluster["gpus_per_server"] * cluster["intra_bandwidth"]
    outside = max(gpus_each(instance)) * cluster["inter_bandwidth"]
    return None if abs(inside - outside) <= 1e-12 * inside else inside > outside


def tables(instance: dict) -> np.ndarray:
    """Every stages x servers table of the stages' replicas whose columns fit the free GPUs."""
    replicas = tuple(stage["replicas"] for stage in instance["job"]["stages"])
    return _tables(replicas, tuple(gpus_each(instance)), tuple(instance["free_gpus"]))


def alphas(instance: dict, x: np.ndarray, options: Mapping[str, Any]) -> np.ndarray:
    options = {**DEFAULTS, **options}
    job = instance["job"]
    times = [stage_times(instance, s, x, options) for s in range(len(job["stages"]))]
    parts = job.get("micro_batches")
    if parts is None:
        return np.max([(work + reduce).max(axis=1) for work, reduce in times], axis=0)
    each = np.array([work.max(axis=1) / parts for work, _ in times])
    backward = [options["backward_overlap"] * s["backward_time"] / parts for s in job["stages"]]
    exposed = [reduce.max(axis=1) - sum(backward[:s]) for s, (_, reduce) in enumerate(times)]
    return (parts - 1) * each.max(axis=0) + each.sum(axis=0) + np.max(exposed, axis=0)


def stage_times(
    instance: dict, s: int, x: np.ndarray, options: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Work and all-reduce of stage ``s`` (tables x servers), 0 where it has no replica."""
    stages = instance["job"]["stages"]
    here, stage = x[:, s, :], stages[s]
    k, q = stage["replicas"], stage.get("tensor_parallel", 1)
    inside = 1 / instance["cluster"]["intra_bandwidth"]
    share = instance["cluster"]["gpus_per_server"] / instance["cluster"]["inter_bandwidth"] / q
    time = stage["forward_time"] + options["backward_overlap"] * stage["backward_time"]
    work = np.full(here.shape, time + 2 * (q - 1) / q * stage.get("tensor_bytes", 0) * inside)
    for other, volume in ((s - 1, stage["input_bytes"]), (s + 1, stage["output_bytes"])):
        if 0 <= other < len(stages):
            neighbours = stages[other]["replicas"]
            near = x[:, other, :] / neighbours
            far = (neighbours - x[:, other, :]) / neighbours
            work += 2 * volume * (far * share + near * inside)
    reduce = np.zeros(here.shape)
    if k > 1:
        routed = stage.get("expert_bytes", 0) / k
        work += routed * ((k - here) * share + (here - 1) * inside)
        volume = 2 * (k - 1) / k * stage["parameter_bytes"]
        least = here
        if options["all_reduce_bandwidth"] == "bottleneck":
            least = np.where(here > 0, here, k).min(axis=1, keepdims=True)
        across = volume * share / np.maximum(least, 1)
        reduce = options["all_reduce_overlap"] * np.where(here == k, volume * inside / q, across)
    return np.where(here > 0, work, 0.0), np.where(here > 0, reduce, 0.0)


@lru_cache(maxsize=2048)
def _tables(replicas: tuple[int, ...], size: tuple[int, ...], free: tuple[int, ...]) -> np.ndarray:
    def rows(stage: int, left: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
        if stage == len(replicas):
            yield ()
            return
        for row in _splits(replicas[stage], tuple(gpus // size[stage] for gpus in left)):
            rest = tuple(g - size[stage] * count for g, count in zip(left, row, strict=True))
            for below in rows(stage + 1, rest):
                yield (row, *below)

    shape = (-1, len(replicas), len(free))
    return np.array(list(rows(0, free)), dtype=np.int64).reshape(shape)


def _splits(count: int, left: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Ways to put ``count`` replicas on servers with room for ``left``."""
    *others, last = left
    for row in product(*(range(min(count, room) + 1) for room in others)):
        rest = count - sum(row)
        if 0 <= rest <= last:
            yield (*row, rest)


# NCCL's two trees on ranks 0..k-1 as (parent, child), derived by hand.
#
# First tree. With b the lowest set bit of r > 0, the parent of r is (r with b cleared) + 2b when
# that sum's bit pattern, (r ^ b) | 2b, is below k, else r with b cleared:
#
#     r (binary)   (r ^ b) | 2b     r ^ b      so the parent of r is
#     1 (0001)     0|2 =  2         0          2 when k > 2,  else 0
#     2 (0010)     0|4 =  4         0          4 when k > 4,  else 0
#     3 (0011)     2|2 =  2         2          2
#     4 (0100)     0|8 =  8         0          8 when k > 8,  else 0
#     5 (0101)     4|2 =  6         4          6 when k > 6,  else 4
#     6 (0110)     4|4 =  4         4          4
#     7 (0111)     6|2 =  6         6          6
#     8 (1000)     0|16 = 16        0          16 when k > 16, else 0
#
# Second tree. Even k: replace every rank r by k - 1 - r. Odd k: by (r + 1) mod k.
HAND_TREES = {
    2: ("-0", "1-"),
    3: ("-20", "1-0"),
    4: ("-202", "131-"),
    5: ("-2420", "1-303"),
    6: ("-24204", "15313-"),
    7: ("-242064", "5-35310"),
    8: ("-2420646", "1317535-"),
    9: ("-24286460", "1-3530757"),
}
"""Both trees by k: the parent of each rank, - at the root."""


def hand_trees(k: int) -> list[set[TreeEdge]]:
    return [
        {(int(parent), child) for child, parent in enumerate(parents) if parent != "-"}
        for parents in HAND_TREES[k]
    ]


def document(
    name: str,
    cluster: tuple[int, float, float],
    free: list[int],
    stages: list[dict],
    all_reduce: str = "ring",
) -> Instance:
    """An instance; the cluster is its GPUs a server, inter_bandwidth and intra_bandwidth."""
    keys = ("gpus_per_server", "inter_bandwidth", "intra_bandwidth")
    return {
        "schema": "optsched/placement",
        "version": 1,
        "name": name,
        "cluster": dict(zip(keys, cluster, strict=True)),
        "free_gpus": free,
        "job": {"model": "drawn", "all_reduce": all_reduce, "stages": stages},
    }


def replicas(instance: Instance) -> list[int]:
    """Replicas k_s of every stage."""
    return [stage["replicas"] for stage in instance["job"]["stages"]]


# --- the job graph --------------------------------------------------------------------------------


def binary_tree(k: int) -> list[TreeEdge]:
    """NCCL's in-order binary tree on ranks 0..k-1, root 0, as (parent, child) by child."""
    edges = []
    for r in range(1, k):
        bit = 1
        while not r & bit:
            bit *= 2
        parent = (r ^ bit) | (bit << 1)
        if parent >= k:
            parent = r ^ bit
        edges.append((parent, r))
    return edges


def double_tree(k: int) -> tuple[list[TreeEdge], list[TreeEdge]]:
    """NCCL's two trees: the second is the first mirrored (k even) or shifted by one (k odd)."""
    first = binary_tree(k)
    if k % 2 == 0:
        second = [(k - 1 - parent, k - 1 - child) for parent, child in first]
    else:
        second = [((parent + 1) % k, (child + 1) % k) for parent, child in first]
    return first, second


def all_reduce_edges(kind: str, k: int) -> list[tuple[int, int]]:
    """Pairs of replicas that exchange parameters, a parallel pair once for each time it occurs."""
    if k == 1:
        return []
    if kind == "ring":
        return [(0, 1)] if k == 2 else [(r, (r + 1) % k) for r in range(k)]
    if kind == "double-tree":
        first, second = double_tree(k)
        return first + second
    raise ValueError(f"all_reduce: {kind!r}")


def job_graph(instance: Instance) -> nx.Graph:
    """The job graph: vertices (stage, replica), edge attribute ``weight`` in bytes.

    The weights are exact (``Fraction``), so that ties are ties. Edges of weight zero are kept.
    """
    stages, kind = instance["job"]["stages"], instance["job"]["all_reduce"]
    graph = nx.Graph()
    for s, stage in enumerate(stages):
        for r in range(stage["replicas"]):
            graph.add_node((s, r))
    for s in range(1, len(stages)):
        k_before, k = stages[s - 1]["replicas"], stages[s]["replicas"]
        weight = 2 * Fraction(stages[s - 1]["output_bytes"]) / k  # = 2 input_bytes / k_before
        for a, b in itertools.product(range(k_before), range(k)):
            graph.add_edge((s - 1, a), (s, b), weight=weight)
    for s, stage in enumerate(stages):
        k = stage["replicas"]
        share = Fraction(k - 1, k) * Fraction(stage["parameter_bytes"])
        weight = 2 * share if kind == "ring" else share
        if stage.get("expert_bytes", 0) > 0:
            for a, b in itertools.combinations(range(k), 2):
                graph.add_edge((s, a), (s, b), weight=2 * Fraction(stage["expert_bytes"]) / k)
        for a, b in all_reduce_edges(kind, k):
            u, v = (s, a), (s, b)
            if graph.has_edge(u, v):
                graph[u][v]["weight"] += weight
            else:
                graph.add_edge(u, v, weight=weight)
    return graph


# --- Heavy-Edge -----------------------------------------------------------------------------------


def heavy_edge_vertices(instance: Instance) -> dict[Vertex, int]:
    """Heavy-Edge on the job graph: the server of every replica, but for those left over."""
    graph, free = job_graph(instance), instance["free_gpus"]
    size = {(s, r): gpus_each(instance)[s] for s, r in graph.nodes}
    unassigned = set(graph.nodes)
    server_of: dict[Vertex, int] = {}

    for m in sorted(range(len(free)), key=lambda m: (-free[m], m)):
        chosen: set[Vertex] = set()
        room = free[m]
        if sum(size[v] for v in unassigned) <= room:
            chosen = set(unassigned)
        elif free[m] == 1:
            # degree in the original graph, edges to replicas placed before included
            fitting = [v for v in unassigned if size[v] == 1]
            if fitting:
                chosen = {min(fitting, key=lambda v: (graph.degree(v, weight="weight"), v))}
        else:
            while any(size[v] <= room for v in unassigned - chosen):
                chosen |= heaviest_addition(graph, chosen, unassigned - chosen, size, room)
                room = free[m] - sum(size[v] for v in chosen)
        for vertex in chosen:
            server_of[vertex] = m
        unassigned -= chosen
    return server_of


def heaviest_addition(
    graph: nx.Graph, chosen: set[Vertex], outside: set[Vertex], size: dict[Vertex, int], room: int
) -> set[Vertex]:
    """The vertices that one step of growing adds to ``chosen``, out of ``outside``."""
    if not chosen:
        # both ends outside; ties by the pair (lower end, higher end)
        edges = [
            (-weight, min(u, v), max(u, v))
            for u, v, weight in graph.edges(data="weight")
            if u in outside and v in outside and size[u] + size[v] <= room
        ]
        if edges:
            _, u, v = min(edges)
            return {u, v}
    else:
        # one end chosen; ties by the vertex that would be added
        ends = [
            (-graph[u][v]["weight"], v)
            for u in chosen
            for v in graph.neighbors(u)
            if v in outside and size[v] <= room
        ]
        if ends:
            _, v = min(ends)
            return {v}
    return {min(v for v in outside if size[v] <= room)}


def heavy_edge(instance: Instance) -> Counts:
    """Heavy-Edge's placement as counts; without those it leaves over."""
    counts = [[0] * len(instance["free_gpus"]) for _ in replicas(instance)]
    for (s, _), m in heavy_edge_vertices(instance).items():
        counts[s][m] += 1
    return counts


def first_fit(instance: Instance) -> Counts:
    """First Fit's placement, replica by replica; without those it leaves over."""
    room = list(instance["free_gpus"])
    fullest_first = sorted(range(len(room)), key=lambda m: -room[m])
    counts = [[0] * len(room) for _ in replicas(instance)]
    for s, (k, size) in enumerate(zip(replicas(instance), gpus_each(instance), strict=True)):
        for _ in range(k):
            m = next((m for m in fullest_first if room[m] >= size), None)
            if m is not None:
                room[m] -= size
                counts[s][m] += 1
    return counts


# --- the cut --------------------------------------------------------------------------------------


def cut_bytes(instance: Instance, counts: Sequence[Sequence[int]]) -> float:
    """Least weight of the cut edges over all assignments of replicas that have these counts."""
    edges = list(job_graph(instance).edges(data="weight"))
    # per stage: the servers of its replicas in order, every distinct order once
    orders = [
        sorted(set(itertools.permutations([m for m, x in enumerate(row) for _ in range(x)])))
        for row in counts
    ]
    return float(
        min(
            sum(w for (s, a), (t, b), w in edges if servers[s][a] != servers[t][b])
            for servers in itertools.product(*orders)
        )
    )


# --- patterns: server by server, for jobs whose tables are too many to list -----------------------


class Size(NamedTuple):
    """Servers of one size: how many, the patterns (x stages) that fit one, and their seconds."""

    servers: int
    patterns: np.ndarray
    seconds: np.ndarray


def sizes(instance: Instance, options: Mapping[str, Any] = NONE) -> list[Size]:
    """The servers by size; patterns leave GPUs free only where the offer has some to spare."""
    counts, gpus = tuple(replicas(instance)), tuple(gpus_each(instance))
    full = int(np.dot(counts, gpus)) == sum(instance["free_gpus"])
    found = []
    for size, servers in sorted(Counter(instance["free_gpus"]).items()):
        patterns = _patterns(counts, gpus, size, full)
        found.append(Size(servers, patterns, pattern_seconds(instance, patterns, options)))
    return found


def pattern_seconds(
    instance: Instance, patterns: np.ndarray, options: Mapping[str, Any]
) -> np.ndarray:
    """Seconds of the slowest replica of each pattern, all other replicas on one other server.

    Under "bottleneck" that is the least it can take; under "own" the others do not matter.
    """
    x = np.stack([patterns, np.array(replicas(instance)) - patterns], axis=2)
    stages = range(patterns.shape[1])
    times = [stage_times(instance, s, x, {**DEFAULTS, **options}) for s in stages]
    return np.max([(work + reduce)[:, 0] for work, reduce in times], axis=0)


def optimum_by_server(instance: Instance, options: Mapping[str, Any] = NONE) -> float | None:
    """The least alpha of an asynchronous job under "own"; None if the servers cannot hold it.

    After each server only the replicas left and the slowest pattern so far matter.
    """
    counts = replicas(instance)
    least = np.full([k + 1 for k in counts], np.inf)  # by replicas not yet placed
    least[tuple(counts)] = 0.0
    for size in sizes(instance, options):
        for _ in range(size.servers):
            after = np.full_like(least, np.inf)
            for x, time in zip(size.patterns.tolist(), size.seconds, strict=True):
                before = least[tuple(slice(count, None) for count in x)]
                left = after[
                    tuple(slice(n - count) for n, count in zip(least.shape, x, strict=True))
                ]
                np.minimum(left, np.maximum(before, time), out=left)
            least = after
    best = float(least.flat[0])
    return best if best < np.inf else None


def steps(instance: Instance) -> int:
    """How many steps `optimum_by_server` takes."""
    handed = sum(size.servers * len(size.patterns) for size in sizes(instance))
    return handed * int(np.prod([k + 1 for k in replicas(instance)]))


def is_fractionally_covered(instance: Instance, theta: float, options: Mapping[str, Any]) -> bool:
    """Whether fractions of patterns within theta cover the job: then no LP refutes theta."""
    every = sizes(instance, options)
    chosen = np.eye(len(every))
    rows = np.hstack(
        [
            np.vstack([np.repeat(chosen[:, [at]], len(within), axis=1), within.T])
            for at, size in enumerate(every)
            for within in [size.patterns[size.seconds <= theta]]
        ]
    )
    wanted = [*(size.servers for size in every), *replicas(instance)]
    if not rows.shape[1]:
        return False
    return bool(linprog(np.zeros(rows.shape[1]), A_eq=rows, b_eq=wanted).status == 0)


def margin(
    instance: Instance, theta: float, prices: Sequence[int], options: Mapping[str, Any]
) -> float:
    """Worth of the replicas less what the servers hold within theta; above 0 it refutes theta."""
    held = 0
    for size in sizes(instance, options):
        within = size.patterns[size.seconds <= theta].tolist()
        if not within:
            return np.inf
        held += size.servers * max(
            sum(p * x for p, x in zip(prices, row, strict=True)) for row in within
        )
    return sum(p * k for p, k in zip(prices, replicas(instance), strict=True)) - held


def pattern_times(instance: Instance, options: Mapping[str, Any]) -> np.ndarray:
    """Every time that a pattern takes, in ascending order, or 1 s where there is no pattern."""
    every = np.unique(np.concatenate([size.seconds for size in sizes(instance, options)]))
    return every if len(every) else np.ones(1)


def just_below(instance: Instance, theta: float, options: Mapping[str, Any]) -> float:
    """Between theta and the next shorter time that some pattern takes."""
    every = pattern_times(instance, options)
    shorter = every[every < theta * (1 - 1e-9)]
    return float((shorter[-1] + theta) / 2) if len(shorter) else theta / 2


@lru_cache(maxsize=4096)
def _patterns(counts: tuple[int, ...], gpus: tuple[int, ...], size: int, full: bool) -> np.ndarray:
    ranges = (range(min(k, size // q) + 1) for k, q in zip(counts, gpus, strict=True))
    every = np.array(list(product(*ranges)), dtype=np.int64)
    used = every @ np.array(gpus)
    return every[used == size] if full else every[used <= size]


# --- random instances -----------------------------------------------------------------------------


def random_instance(rng: random.Random) -> Instance:
    """A small instance, drawn from ``rng`` alone: at most 10 replicas on at most 4 servers.

    Sizes are whole multiples of 144 (activations crossing a boundary) and of 12 (parameters), so
    every edge weight is a whole number of bytes, exact in floating point whatever the order of
    operations: a tie is a tie for every implementation. Half the instances draw sizes from a
    short list, so that ties abound.
    """
    # stages
    n_stages = rng.randint(1, 4)
    if rng.random() < 0.15:
        sizes = [1] * n_stages  # a chain
    else:
        sizes = [rng.randint(1, 4) for _ in range(n_stages)]
        while sum(sizes) > 10:
            sizes[sizes.index(max(sizes))] -= 1
    total = sum(sizes)

    # servers: at most 8 GPUs each
    n_servers = rng.randint(1 if total <= 8 else 2, min(4, total))
    shape = rng.choice(["any", "any", "singles", "equal"])
    free = [1] * n_servers
    if shape == "equal":
        fitting = [n for n in range(1, 5) if total % n == 0 and total // n <= 8]
        n_servers = rng.choice(fitting)
        free = [total // n_servers] * n_servers
    else:
        # "singles": only the first server grows while it can
        for _ in range(total - n_servers):
            growing = [m for m in range(n_servers) if free[m] < 8]
            free[growing[0] if shape == "singles" else rng.choice(growing)] += 1
        rng.shuffle(free)
    gpus_per_server = rng.choice([max(free), 8, rng.randint(max(free), 8)])

    # bytes
    few_sizes = rng.random() < 0.5
    activations, parameters = rng.random() < 0.85, rng.random() < 0.85

    def boundary() -> int:
        """Bytes over one boundary in one direction, all replicas together."""
        if not activations or rng.random() < 0.1:
            return 0
        if few_sizes:
            return 144 * 500_000 * rng.choice([1, 2, 4, 8])
        return 144 * int(10 ** rng.uniform(2, 6.5))

    def parameter_bytes() -> int:
        if not parameters or rng.random() < 0.1:
            return 0
        if few_sizes:
            return 12 * 500_000 * rng.choice([1, 2, 4, 8, 16])
        return 12 * int(10 ** rng.uniform(3, 7.5))

    crossing = [0, *(boundary() for _ in range(len(sizes) - 1)), 0]

    # seconds
    timeless = rng.random() < 0.1

    def seconds() -> float:
        return 0.0 if timeless or rng.random() < 0.1 else round(10 ** rng.uniform(-4, 0), 6)

    stages = [
        {
            "name": f"s{s}",
            "replicas": k,
            "forward_time": seconds(),
            "backward_time": seconds(),
            "input_bytes": float(crossing[s] // k),
            "output_bytes": float(crossing[s + 1] // k),
            "parameter_bytes": float(parameter_bytes()),
        }
        for s, k in enumerate(sizes)
    ]
    inter = rng.choice([1e9, 1.25e9, 3.125e9])
    ratio = rng.choice([1.0, 1.5, 2.0, 10.0, 24.0, 100.0, 240.0, 300.0])
    name = f"random-{rng.getrandbits(32):08x}"
    all_reduce = rng.choice(["ring", "double-tree"])
    return document(name, (gpus_per_server, inter, inter * ratio), free, stages, all_reduce)


def random_parallel_instance(rng: random.Random) -> Instance:
    """`random_instance` with slices, experts and micro-batches, alone and together.

    At most 7 replicas. Bytes between experts are multiples of 12, so that ties stay ties. With
    slices the offer may leave GPUs free, or not hold the replicas at all.
    """
    instance = random_instance(rng)
    while sum(replicas(instance)) > 7:
        instance = random_instance(rng)
    job, cluster = instance["job"], instance["cluster"]
    sliced, tensor, experts, synchronous = (rng.random() < 0.6 for _ in range(4))
    for stage in job["stages"]:
        if sliced:
            stage["tensor_parallel"] = rng.choice([1, 2, 2, 3, 3, 4])
        if tensor:
            stage["tensor_bytes"] = float(rng.choice([0, 5e6, 2e7, 3e8]))
        if experts:
            stage["expert_bytes"] = float(rng.choice([0, 12 * 500_000, 12 * 4_000_000]))
    if synchronous:
        job["micro_batches"] = rng.choice([1, 2, 3, 4, 8, 64])
    needed = sum(k * q for k, q in zip(replicas(instance), gpus_each(instance), strict=True))
    if max(gpus_each(instance)) > 1:
        needed += rng.choice([0, 0, 1, 1, 2])
        fewest = -(-needed // 8)
        servers = rng.randint(fewest, max(fewest, 5))
        free = [needed // servers + (m < needed % servers) for m in range(servers)]
        for _ in range(5):
            a, b = rng.randrange(servers), rng.randrange(servers)
            if free[a] > 0 and free[b] < 8:
                free[a] -= 1
                free[b] += 1
        instance["free_gpus"] = free
        cluster["gpus_per_server"] = rng.choice([8, max(*free, 1)])
    return instance
