"""Heavy-Edge: greedy growth of each server's replicas along the heaviest edges.

Guarantee: none; the gap to the optimum is what this package measures. Complexity: O(V (V + E_a))
for V replicas and E_a all-reduce edges. Source: a-srpt, IV-B, with these details where the paper
is silent: servers in descending order of free GPUs (ties by index); a server that can hold all
remaining replicas takes them; a server with one GPU takes the replica of least total weight in the
whole graph; any other server starts with the heaviest edge whose ends are both free and grows by
the heaviest edge to the outside, edges of weight zero included; ties go to the lowest (stage,
replica).

A replica of q GPUs is one vertex of size q; an all-to-all between experts is an edge between every
two replicas of the stage. A vertex that does not fit on a server's remaining GPUs is skipped, and
an edge may start a server only if both its ends fit. A server is closed when no vertex fits;
replicas may then remain unplaced although a placement exists (status "no-solution").
"""

from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from optsched.deadline import clock
from optsched.kernels import kernel
from optsched.placement.cost import Ints, cost_tables, placement_time
from optsched.placement.instance import Cluster, Job, PlacementInstance, Stage
from optsched.placement.options import STANDARD, PlacementOptions
from optsched.placement.solution import PlacementSolution
from optsched.result import Outcome, Settings, Termination

NO_EDGE = -1.0


class JobGraph(NamedTuple):
    """A job graph in compressed form; vertices are replicas, ordered by (stage, replica).

    `stage_of` (V,) and `first_vertex` (S + 1,) relate them to stages, `gpus` (S,) is a vertex's
    size. Bytes: `activation_weight` (S,) of each edge to the next stage, `indptr`, `indices` and
    `weight` of all-reduce edges in both directions, `experts` (S,) of every all-to-all edge; 0 for
    no such edge.
    """

    stage_of: Any
    first_vertex: Any
    activation_weight: Any
    indptr: Any
    indices: Any
    weight: Any
    gpus: Any
    experts: Any


def heavy_edge(
    instance: PlacementInstance, options: PlacementOptions, settings: Settings
) -> Outcome:
    """Place a job by Heavy-Edge; the options change its cost, never its placement."""
    began = clock()
    graph = graph_arrays(instance.job)
    build_end = clock()
    counts = heavy_edge_counts(graph, instance.free_gpus)
    solve_time = clock() - build_end
    return greedy_outcome(instance, counts, "Heavy-Edge", build_end - began, solve_time)


def greedy_outcome(
    instance: PlacementInstance,
    counts: Ints,
    heuristic: str,
    build_time: float,
    solve_time: float,
) -> Outcome:
    message = unplaced(instance, counts, heuristic)
    return Outcome(
        None if message else PlacementSolution.of(instance.name, counts.tolist()),
        Termination.NO_SOLUTION if message else Termination.FEASIBLE,
        build_time=build_time,
        solve_time=solve_time,
        details={"message": message} if message else {},
    )


def unplaced(instance: PlacementInstance, counts: Ints, heuristic: str = "Heavy-Edge") -> str:
    """Message on the first stage with unplaced replicas; empty if all are placed."""
    for s, (stage, placed) in enumerate(zip(instance.job.stages, counts.tolist(), strict=True)):
        missing = stage.replicas - sum(placed)
        if missing:
            sizes = np.array([other.tensor_parallel for other in instance.job.stages])
            room = np.array(instance.free_gpus) - sizes @ counts
            m = int(room.argmax())
            return (
                f"{heuristic} could not place {missing} of {stage.replicas} replicas of stage {s} "
                f"({stage.name}): each needs {stage.tensor_parallel} GPUs on one server, and at "
                f"most {room[m]} are free (server {m}); try repartition or exact"
            )
    return ""


def heavy_edge_counts(graph: JobGraph, free_gpus: tuple[int, ...] | NDArray[np.int64]) -> Ints:
    """Run Heavy-Edge on a prepared graph; some replicas may remain unplaced.

    Parameters
    ----------
    graph : JobGraph
        The job's graph, from `graph_arrays`.
    free_gpus : array of int, shape (servers,)
        Free GPUs by server.

    Returns
    -------
    array of int, shape (stages, servers)
        Replicas of each stage on each server.

    Examples
    --------
    >>> import optsched
    >>> fig2 = optsched.load("placement/fig2")
    >>> heavy_edge_counts(graph_arrays(fig2.job), fig2.free_gpus)
    array([[2, 0, 0],
           [2, 0, 0],
           [0, 1, 1]])
    """
    free = np.asarray(free_gpus, dtype=np.int64)
    order = np.argsort(-free, kind="stable")
    steps = len(graph.stage_of) * (len(graph.stage_of) + len(graph.indices))
    counts: Ints = _fill_servers.for_size(steps)(graph, free, order)
    return counts


@kernel
def _fill_servers(graph: JobGraph, free: Any, order: Any) -> Any:
    return grow_servers(graph, free, order)


# The job graph (a-srpt, IV-B): edges between replicas, and the bytes exchanged in an iteration.


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
def all_reduce_edges(replicas: int, kind: str) -> dict[tuple[int, int], int]:
    """Edges (a, b), a < b, between a stage's replicas, with their multiplicity."""
    if replicas == 1:
        return {}
    if kind == "ring":
        ring = [(r, r + 1) for r in range(replicas - 1)] + [(0, replicas - 1)]
        return dict.fromkeys(ring, 1)
    edges: dict[tuple[int, int], int] = {}
    for tree in double_binary_trees(replicas):
        for child, parent in tree.items():
            edge = (min(child, parent), max(child, parent))
            edges[edge] = edges.get(edge, 0) + 1
    return edges


def double_binary_trees(replicas: int) -> tuple[dict[int, int], dict[int, int]]:
    """NCCL's two complementary binary trees over ranks 0..k-1, each as {child: parent}.

    Source: Sanders, Speck and Traeff (2009).

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


def graph_arrays(job: Job) -> JobGraph:
    """A job's graph as arrays, in O(V + E_a); its structure is cached."""
    stages, kind = job.stages, job.all_reduce
    structure = _graph_structure(tuple(stage.replicas for stage in stages), kind)
    stage_of, first_vertex, indptr, indices, edge_stage, multiplicity = structure
    edge_weight = np.array([all_reduce_weight(stage, kind) for stage in stages])
    return JobGraph(
        stage_of=stage_of,
        first_vertex=first_vertex,
        activation_weight=np.array([activation_weight(a, b) for a, b in pairwise(stages)] + [0.0]),
        indptr=indptr,
        indices=indices,
        weight=edge_weight[edge_stage] * multiplicity,
        gpus=np.array([stage.tensor_parallel for stage in stages], dtype=np.int64),
        experts=np.array([expert_weight(stage) for stage in stages]),
    )


@lru_cache(maxsize=1024)
def _graph_structure(replicas: tuple[int, ...], kind: str) -> tuple[Ints, ...]:
    """The first four arrays of integers of `JobGraph`; stage and multiplicity of each edge."""
    first = np.concatenate(([0], np.cumsum(replicas)))
    arcs = sorted(
        (int(first[s]) + tail, int(first[s]) + head, s, multiplicity)
        for s, k in enumerate(replicas)
        for (a, b), multiplicity in all_reduce_edges(k, kind).items()
        for tail, head in ((a, b), (b, a))
    )
    tails, heads, edge_stage, multiplicity = np.array(arcs, dtype=np.int64).reshape(-1, 4).T.copy()
    indptr = np.searchsorted(tails, np.arange(first[-1] + 1))
    stage_of = np.repeat(np.arange(len(replicas)), replicas)
    return stage_of, first, indptr, heads, edge_stage, multiplicity


def estimated_minimum(job: Job, cluster: Cluster) -> float:
    """alpha~^min: time of Heavy-Edge on the fewest servers that hold all replicas.

    An estimate: a balanced offer can be faster. Infinite where a replica exceeds a server.
    """
    per_server, graph = cluster.gpus_per_server, graph_arrays(job)
    if max(stage.tensor_parallel for stage in job.stages) > per_server:
        return float("inf")
    full_servers, remainder = divmod(job.gpus, per_server)
    free_gpus = (per_server,) * full_servers + ((remainder,) if remainder else ())
    counts = heavy_edge_counts(graph, free_gpus)
    while counts.sum() < job.replicas:
        free_gpus = (per_server,) * (len(free_gpus) + (free_gpus[-1] == per_server))
        counts = heavy_edge_counts(graph, free_gpus)
    return placement_time(cost_tables(job, cluster, max(free_gpus)), counts, STANDARD)


@register_jitable
def grow_servers(graph: JobGraph, free: Any, servers: Any) -> Any:
    """Fill servers in a given order; return counts (S, M), without replicas that do not fit."""
    stage_of, first = graph.stage_of, graph.first_vertex
    vertices, stages = len(stage_of), len(first) - 1
    total = np.zeros(vertices)
    for v in range(vertices):
        s = stage_of[v]
        if s > 0:
            total[v] += graph.activation_weight[s - 1] * (first[s] - first[s - 1])
        if s + 1 < stages:
            total[v] += graph.activation_weight[s] * (first[s + 2] - first[s + 1])
        for e in range(graph.indptr[v], graph.indptr[v + 1]):
            total[v] += graph.weight[e]
        total[v] += graph.experts[s] * (first[s + 1] - first[s] - 1)
    unassigned = np.ones(vertices, dtype=np.bool_)
    unplaced_by_stage = np.empty(stages, dtype=np.int64)
    remaining = 0
    for s in range(stages):
        unplaced_by_stage[s] = first[s + 1] - first[s]
        remaining += unplaced_by_stage[s] * graph.gpus[s]
    counts = np.zeros((stages, len(free)), dtype=np.int64)
    edge_to_server = np.empty(vertices)
    for m in servers:
        if remaining <= free[m]:
            for v in range(vertices):
                if unassigned[v]:
                    counts[stage_of[v], m] += 1
            break
        room = free[m]
        if room > 1:
            edge_to_server[:] = NO_EDGE
        while room > 0:
            if free[m] == 1:
                v = _largest(graph, -total, unassigned, 1)  # the lightest
            elif room == free[m]:
                v = _heaviest_end(graph, unassigned, unplaced_by_stage, room)
            else:
                v = _largest(graph, edge_to_server, unassigned, room)
            if v < 0:
                break
            s = stage_of[v]
            unassigned[v] = False
            unplaced_by_stage[s] -= 1
            room -= graph.gpus[s]
            remaining -= graph.gpus[s]
            counts[s, m] += 1
            if room > 0:
                _update_edges(graph, v, edge_to_server)
    return counts


@register_jitable
def _largest(graph: JobGraph, values: Any, unassigned: Any, room: int) -> int:
    """Unassigned vertex of the largest value that fits, of equal ones the lowest; -1 for none."""
    best = -1
    for v in range(len(values)):
        fits = unassigned[v] and graph.gpus[graph.stage_of[v]] <= room
        if fits and (best < 0 or values[v] > values[best]):
            best = v
    return best


@register_jitable
def _heaviest_end(graph: JobGraph, unassigned: Any, unplaced_by_stage: Any, room: int) -> int:
    """Lower end of the heaviest edge whose ends are free and fit; else the lowest vertex."""
    indices, weight, gpus = graph.indices, graph.weight, graph.gpus
    best, best_weight = -1, NO_EDGE
    for v in range(len(graph.stage_of)):
        s = graph.stage_of[v]
        if not unassigned[v] or gpus[s] > room:
            continue
        heaviest = NO_EDGE
        if (
            s + 1 < len(unplaced_by_stage)
            and unplaced_by_stage[s + 1] > 0
            and gpus[s] + gpus[s + 1] <= room
        ):
            heaviest = graph.activation_weight[s]
        if 2 * gpus[s] <= room:
            if unplaced_by_stage[s] > 1 and graph.experts[s] > 0.0:
                heaviest = max(heaviest, graph.experts[s])
            for e in range(graph.indptr[v], graph.indptr[v + 1]):
                if indices[e] > v and unassigned[indices[e]]:
                    heaviest = max(heaviest, weight[e] + graph.experts[s])
        if best < 0 or heaviest > best_weight:
            best, best_weight = v, heaviest
    return best


@register_jitable
def _update_edges(graph: JobGraph, v: int, edge_to_server: Any) -> None:
    """Update the heaviest edge to the server of the neighbours of a vertex just taken."""
    s, first, indices = graph.stage_of[v], graph.first_vertex, graph.indices
    if s > 0:
        for u in range(first[s - 1], first[s]):
            edge_to_server[u] = max(edge_to_server[u], graph.activation_weight[s - 1])
    if s + 2 < len(first):
        for u in range(first[s + 1], first[s + 2]):
            edge_to_server[u] = max(edge_to_server[u], graph.activation_weight[s])
    if graph.experts[s] > 0.0:
        for u in range(first[s], first[s + 1]):
            edge_to_server[u] = max(edge_to_server[u], graph.experts[s])
    for e in range(graph.indptr[v], graph.indptr[v + 1]):
        weight = graph.weight[e] + graph.experts[s]
        edge_to_server[indices[e]] = max(edge_to_server[indices[e]], weight)
