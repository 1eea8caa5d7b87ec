"""Oracle for the GPU placement of one job: plain, literal and slow.

Works on the JSON dictionary of an instance (format "optsched/placement"). A placement is a list of
lists ``counts[stage][server]``. Nothing here comes from the package under test.

Numbers in the comments "(4)" to "(7)" are the equations of the paper on A-SRPT, with two readings:
the communication time (5) is the sum of an inter-server and an intra-server fraction, and the
all-reduce time (6) uses the server's own count of replicas ("own"), or the smallest positive count
of the stage on any server ("bottleneck"). A replica may be sliced over several GPUs of one server,
its stage may route bytes between experts, and the job may be cut into micro-batches, each passing
the stages as a job passes machines in series.
"""

import itertools
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import networkx as nx

Instance = dict[str, Any]
Counts = list[list[int]]
Vertex = tuple[int, int]
"""(stage, replica), both from 0."""
TreeEdge = tuple[int, int]
"""(parent, child)."""

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
HAND_TREES: dict[int, tuple[list[TreeEdge], list[TreeEdge]]] = {
    2: ([(0, 1)], [(1, 0)]),
    3: ([(0, 2), (2, 1)], [(1, 0), (0, 2)]),
    4: ([(0, 2), (2, 1), (2, 3)], [(3, 1), (1, 2), (1, 0)]),
    5: (
        [(0, 4), (4, 2), (2, 1), (2, 3)],
        [(1, 0), (0, 3), (3, 2), (3, 4)],
    ),
    6: (
        [(0, 4), (4, 2), (4, 5), (2, 1), (2, 3)],
        [(5, 1), (1, 3), (1, 0), (3, 4), (3, 2)],
    ),
    7: (
        [(0, 4), (4, 2), (4, 6), (2, 1), (2, 3), (6, 5)],
        [(1, 5), (5, 3), (5, 0), (3, 2), (3, 4), (0, 6)],
    ),
    8: (
        [(0, 4), (4, 2), (4, 6), (2, 1), (2, 3), (6, 5), (6, 7)],
        [(7, 3), (3, 5), (3, 1), (5, 6), (5, 4), (1, 2), (1, 0)],
    ),
    9: (
        [(0, 8), (8, 4), (4, 2), (4, 6), (2, 1), (2, 3), (6, 5), (6, 7)],
        [(1, 0), (0, 5), (5, 3), (5, 7), (3, 2), (3, 4), (7, 6), (7, 8)],
    ),
}


def replicas(instance: Instance) -> list[int]:
    """Replicas k_s of every stage."""
    return [stage["replicas"] for stage in instance["job"]["stages"]]


def slices(instance: Instance) -> list[int]:
    """GPUs of a replica of every stage."""
    return [stage.get("tensor_parallel", 1) for stage in instance["job"]["stages"]]


def is_placement(instance: Instance, counts: Sequence[Sequence[int]]) -> bool:
    """Whether the counts are non-negative, with row sums k_s and on at most g_m GPUs."""
    sizes, free = replicas(instance), instance["free_gpus"]
    if len(counts) != len(sizes) or any(len(row) != len(free) for row in counts):
        return False
    if any(count < 0 for row in counts for count in row):
        return False
    rows_fit = [sum(row) for row in counts] == sizes
    used = [
        sum(x * q for x, q in zip(column, slices(instance), strict=True))
        for column in zip(*counts, strict=True)
    ]
    return rows_fit and all(u <= f for u, f in zip(used, free, strict=True))


# --- the cost, equations (4) to (7) ---------------------------------------------------------------


def stage_time(
    instance: Instance,
    column: Sequence[int],
    s: int,
    reducing: int,
    backward_overlap: float = 1.0,
    all_reduce_overlap: float = 1.0,
) -> float:
    """Time of stage s on a server holding column[j] > 0 replicas of each stage j: beta of (7).

    ``reducing`` is the count that stands for x in (6): the server's own, or the stage's smallest.
    """
    work = stage_work(instance, column, s, backward_overlap)
    return work + all_reduce_overlap * all_reduce_time(instance, column[s], s, reducing)


def stage_work(
    instance: Instance, column: Sequence[int], s: int, backward_overlap: float = 1.0
) -> float:
    """The same without the all-reduce (6)."""
    cluster, stages = instance["cluster"], instance["job"]["stages"]
    g = cluster["gpus_per_server"]
    inter, intra = cluster["inter_bandwidth"], cluster["intra_bandwidth"]
    stage = stages[s]
    k, q = stage["replicas"], slices(instance)[s]

    # (4)
    comp = stage["forward_time"] + backward_overlap * stage["backward_time"]

    # a ring over the slices of a replica, inside its server
    tensor = 2 * (q - 1) / q * stage.get("tensor_bytes", 0) / intra

    # (5): an absent neighbour drops its term; a replica has q GPUs' shares of the NIC
    outside = inside = 0.0
    if s > 0:
        k_before, x_before = stages[s - 1]["replicas"], column[s - 1]
        outside += 2 * stage["input_bytes"] * (k_before - x_before) / k_before
        inside += 2 * stage["input_bytes"] * x_before / k_before
    if s < len(stages) - 1:
        k_after, x_after = stages[s + 1]["replicas"], column[s + 1]
        outside += 2 * stage["output_bytes"] * (k_after - x_after) / k_after
        inside += 2 * stage["output_bytes"] * x_after / k_after
    comm = outside * g / (inter * q) + inside / intra

    # all-to-all: a k-th part for each replica, its own stays with it
    experts = 0.0
    for other in range(1, k):
        near = other < column[s]
        experts += stage.get("expert_bytes", 0) / k * (1 / intra if near else g / (inter * q))
    return comp + tensor + comm + experts


def all_reduce_time(instance: Instance, count: int, s: int, reducing: int) -> float:
    """(6) of stage s on a server with so many of its replicas."""
    cluster, stage = instance["cluster"], instance["job"]["stages"][s]
    inter, intra = cluster["inter_bandwidth"], cluster["intra_bandwidth"]
    k, q = stage["replicas"], slices(instance)[s]
    if k == 1:
        return 0.0
    if count < k:
        width = reducing * q * inter / cluster["gpus_per_server"]
        return 2 * (k - 1) / k * stage["parameter_bytes"] / width
    return 2 * (k - 1) / k * stage["parameter_bytes"] / (q * intra)


def passed(times: Sequence[float], jobs: int) -> float:
    """When the last of so many equal jobs leaves the last of machines in series."""
    left = [0.0] * len(times)
    for _ in range(jobs):
        at = 0.0
        for machine, time in enumerate(times):
            at = left[machine] = max(at, left[machine]) + time
    return left[-1]


def synchronous(
    instance: Instance,
    counts: Sequence[Sequence[int]],
    backward_overlap: float = 1.0,
    all_reduce_overlap: float = 1.0,
) -> float:
    """The time of an iteration of micro-batches, the gradients of all of which are summed."""
    job, columns = instance["job"], list(zip(*counts, strict=True))
    batches = job["micro_batches"]
    pace, reduce = [], []
    for s in range(len(counts)):
        there = [column for column in columns if column[s] > 0]
        work = [stage_work(instance, column, s, backward_overlap) for column in there]
        pace.append(max(work) / batches)
        reduce.append(max(all_reduce_time(instance, column[s], s, column[s]) for column in there))
    last = passed(pace, batches)
    backward = [backward_overlap * stage["backward_time"] / batches for stage in job["stages"]]
    return max(
        last - sum(backward[:s]) + all_reduce_overlap * time for s, time in enumerate(reduce)
    )


def alpha(
    instance: Instance,
    counts: Sequence[Sequence[int]],
    all_reduce_bandwidth: str = "own",
    backward_overlap: float = 1.0,
    all_reduce_overlap: float = 1.0,
) -> float:
    """Per-iteration time (7) of a placement, in seconds.

    The overlap coefficients multiply the backward compute time and the all-reduce time. The row
    sums must be k_s; the columns are free, so that other clusters can be asked about (one server
    per replica, say).
    """
    if [sum(row) for row in counts] != replicas(instance):
        raise ValueError("row sums differ from the replicas")
    if all_reduce_bandwidth not in ("own", "bottleneck"):
        raise ValueError(f"all_reduce_bandwidth: {all_reduce_bandwidth!r}")
    if "micro_batches" in instance["job"]:
        return synchronous(instance, counts, backward_overlap, all_reduce_overlap)
    times = []
    for s, row in enumerate(counts):
        fewest = min(count for count in row if count > 0)
        for m, count in enumerate(row):
            if count > 0:
                times.append(
                    stage_time(
                        instance,
                        [other[m] for other in counts],
                        s,
                        count if all_reduce_bandwidth == "own" else fewest,
                        backward_overlap,
                        all_reduce_overlap,
                    )
                )
    return max(times)


# --- all placements -------------------------------------------------------------------------------


def rows_within(total: int, room: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All ways to write ``total`` as one count per server, each count at most its room."""
    if not room:
        if total == 0:
            yield ()
        return
    for first in range(min(total, room[0]) + 1):
        for rest in rows_within(total - first, room[1:]):
            yield (first, *rest)


def placements(instance: Instance) -> Iterator[Counts]:
    """All placements: row sums k_s, on at most g_m GPUs, in lexicographic order."""
    sizes, gpus = replicas(instance), slices(instance)

    def fill(s: int, room: Sequence[int]) -> Iterator[Counts]:
        if s == len(sizes):
            yield []
            return
        for row in rows_within(sizes[s], [r // gpus[s] for r in room]):
            left = [r - x * gpus[s] for r, x in zip(room, row, strict=True)]
            for below in fill(s + 1, left):
                yield [list(row), *below]

    yield from fill(0, instance["free_gpus"])


def brute_force(
    instance: Instance,
    all_reduce_bandwidth: str = "own",
    backward_overlap: float = 1.0,
    all_reduce_overlap: float = 1.0,
) -> tuple[float, Counts]:
    """Least alpha over all placements, and the first placement that attains it.

    Under "own" a server's largest stage time depends on its own column alone: columns seen before
    are looked up.
    """
    seen: dict[tuple[int, ...], float] = {}

    def column_time(column: tuple[int, ...]) -> float:
        if column not in seen:
            seen[column] = max(
                (
                    stage_time(instance, column, s, x, backward_overlap, all_reduce_overlap)
                    for s, x in enumerate(column)
                    if x > 0
                ),
                default=0.0,  # an empty server
            )
        return seen[column]

    best: tuple[float, Counts] | None = None
    for counts in placements(instance):
        if all_reduce_bandwidth == "own" and "micro_batches" not in instance["job"]:
            value = max(column_time(column) for column in zip(*counts, strict=True))
        else:
            value = alpha(
                instance, counts, all_reduce_bandwidth, backward_overlap, all_reduce_overlap
            )
        if best is None or value < best[0]:
            best = (value, counts)
    if best is None:
        raise ValueError("no placement: the servers do not hold the replicas")
    return best


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
    size = {(s, r): slices(instance)[s] for s, r in graph.nodes}
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
    return {
        "schema": "optsched/placement",
        "version": 1,
        "name": f"random-{rng.getrandbits(32):08x}",
        "provenance": {},
        "cluster": {
            "gpus_per_server": gpus_per_server,
            "inter_bandwidth": inter,
            "intra_bandwidth": inter * ratio,
        },
        "free_gpus": free,
        "job": {
            "model": "random",
            "all_reduce": rng.choice(["ring", "double-tree"]),
            "stages": stages,
        },
    }


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
    needed = sum(k * q for k, q in zip(replicas(instance), slices(instance), strict=True))
    if max(slices(instance)) > 1:
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
