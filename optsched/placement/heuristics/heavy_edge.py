"""Heavy-Edge: greedy growth of each server's replicas along the heaviest edges.

Guarantee: none; the gap to the optimum is what this package measures. Complexity: O(V (V + E_a))
for V replicas and E_a all-reduce edges. Source: a-srpt, IV-B, with the readings: servers in
descending order of free GPUs (ties by index); a server that can hold all that remains takes it; a
server with one GPU takes the replica of least total weight in the whole graph; any other server
starts with the heaviest edge whose ends are both free and grows by the heaviest edge to the
outside, edges of weight zero included; ties go to the lowest (stage, replica).

A replica of q GPUs is one vertex of size q; an all-to-all between experts is an edge between every
two replicas of the stage. A vertex that does not fit in what a server has left is skipped, an edge
starts a server only if both its ends fit, and a server that holds no more is closed: on an odd
offer replicas may be left over although a placement exists, which ends as "no-solution".
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from optsched.deadline import clock
from optsched.kernels import kernel
from optsched.placement.cost import Ints, cost_tables, placement_time
from optsched.placement.graph import (
    activation_weight,
    all_reduce_edges,
    all_reduce_weight,
    expert_weight,
)
from optsched.placement.instance import Cluster, Job, PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.placement.solution import PlacementSolution
from optsched.result import Outcome, Settings, Termination

NO_EDGE = -1.0


class JobGraph(NamedTuple):
    """A job graph by its structure; vertices are replicas, ordered by (stage, replica).

    Attributes
    ----------
    stage_of : (V,) int
        Stage of each vertex.
    first : (S + 1,) int
        First vertex of each stage.
    pair : (S,) float
        Bytes of each edge between a replica of stage s and one of stage s + 1 (last: unused).
    start, neighbour, weight : (V + 1,) int, (2 E_a,) int, (2 E_a,) float
        All-reduce edges inside stages, in both directions, in bytes.
    gpus : (S,) int
        GPUs of a replica, q_s: a vertex's size.
    experts : (S,) float
        Bytes of the all-to-all edge between every two replicas of a stage; 0 for no such edge.
    """

    stage_of: Any
    first: Any
    pair: Any
    start: Any
    neighbour: Any
    weight: Any
    gpus: Any
    experts: Any


class GraphShape(NamedTuple):
    """The edges of a job graph without their weights; see `JobGraph`.

    `owner` and `parallel` are the stage of each all-reduce edge, and how many run in parallel.
    """

    stage_of: Ints
    first: Ints
    start: Ints
    neighbour: Ints
    owner: Ints
    parallel: Ints


def heavy_edge(
    instance: PlacementInstance, options: PlacementOptions, settings: Settings
) -> Outcome:
    """Place a job by Heavy-Edge; the options change its cost, never its placement."""
    began = clock()
    graph = graph_arrays(instance.job)
    built = clock()
    counts = heavy_edge_counts(graph, instance.free_gpus)
    solved = clock()
    left_over = unplaced(instance, counts)
    return Outcome(
        None if left_over else PlacementSolution.of(instance.name, counts.tolist()),
        Termination.NO_SOLUTION if left_over else Termination.FEASIBLE,
        build_time=built - began,
        solve_time=solved - built,
        details={"message": left_over} if left_over else {},
    )


def unplaced(instance: PlacementInstance, counts: Ints) -> str:
    """Message on the first stage with replicas left over; empty where all are placed."""
    for s, (stage, placed) in enumerate(zip(instance.job.stages, counts.tolist(), strict=True)):
        missing = stage.replicas - sum(placed)
        if missing:
            sizes = np.array([each.tensor_parallel for each in instance.job.stages])
            room = np.array(instance.free_gpus) - sizes @ counts
            m = int(room.argmax())
            return (
                f"{missing} of {stage.replicas} replicas of stage {s} ({stage.name}) left over: "
                f"each takes {stage.tensor_parallel} GPUs of one server, and most are free on "
                f"server {m}, {room[m]} of {instance.free_gpus[m]}"
            )
    return ""


def heavy_edge_counts(graph: JobGraph, free_gpus: tuple[int, ...] | NDArray[np.int64]) -> Ints:
    """Run Heavy-Edge on a prepared graph; some replicas may be left over.

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
    steps = len(graph.stage_of) * (len(graph.stage_of) + len(graph.neighbour))
    counts: Ints = _fill_servers.for_size(steps)(graph, free, order)
    return counts


@kernel
def _fill_servers(graph: JobGraph, free: Any, order: Any) -> Any:
    return grow_servers(graph, free, order)


def graph_arrays(job: Job) -> JobGraph:
    """A job's graph as arrays, in O(V + E_a); its shape is cached by replicas and all-reduce."""
    stages, kind = job.stages, job.all_reduce
    shape = graph_shape(tuple(stage.replicas for stage in stages), kind)
    one = np.array([all_reduce_weight(stage, kind) for stage in stages])
    pair = np.array([activation_weight(a, b) for a, b in pairwise(stages)] + [0.0])
    weight = one[shape.owner] * shape.parallel
    gpus = np.array([stage.tensor_parallel for stage in stages], dtype=np.int64)
    experts = np.array([expert_weight(stage) for stage in stages])
    return JobGraph(
        *(shape.stage_of, shape.first, pair, shape.start, shape.neighbour, weight, gpus, experts)
    )


@lru_cache(maxsize=1024)
def graph_shape(replicas: tuple[int, ...], kind: str) -> GraphShape:
    """The shape of the graph of stages with so many replicas."""
    first = np.concatenate(([0], np.cumsum(replicas)))
    ends = sorted(
        (int(first[s]) + tail, int(first[s]) + head, s, parallel)
        for s, k in enumerate(replicas)
        for (a, b), parallel in all_reduce_edges(k, kind).items()
        for tail, head in ((a, b), (b, a))
    )
    tails, heads, owner, parallel = np.array(ends, dtype=np.int64).reshape(-1, 4).T.copy()
    return GraphShape(
        stage_of=np.repeat(np.arange(len(replicas)), replicas),
        first=first,
        start=np.searchsorted(tails, np.arange(first[-1] + 1)),
        neighbour=heads,
        owner=owner,
        parallel=parallel,
    )


def estimated_minimum(job: Job, cluster: Cluster) -> float:
    """alpha~^min: time of Heavy-Edge on the fewest servers that hold all replicas.

    An estimate: a balanced offer can be faster. Infinite where a replica exceeds a server.
    """
    options = PlacementOptions()
    has, graph = cluster.gpus_per_server, graph_arrays(job)
    if max(stage.tensor_parallel for stage in job.stages) > has:
        return float("inf")
    full, rest = divmod(job.gpus, has)
    offer = (has,) * full + ((rest,) if rest else ())
    counts = heavy_edge_counts(graph, offer)
    while counts.sum() < job.replicas:
        offer = (has,) * (len(offer) + (offer[-1] == has))
        counts = heavy_edge_counts(graph, offer)
    tables = cost_tables(job, cluster, max(offer), options)
    return placement_time(tables, counts, options)


@register_jitable
def grow_servers(graph: JobGraph, free: Any, servers: Any) -> Any:
    """Fill servers one after another; return counts (S, M).

    ``free`` (M,) are the GPUs each server offers, ``servers`` (M,) the order in which they are
    filled. Replicas that do not fit into what earlier ones left are counted nowhere.
    """
    stage_of, first, pair = graph.stage_of, graph.first, graph.pair
    vertices, stages = len(stage_of), len(first) - 1
    total = np.zeros(vertices)
    for v in range(vertices):
        s = stage_of[v]
        if s > 0:
            total[v] += pair[s - 1] * (first[s] - first[s - 1])
        if s + 1 < stages:
            total[v] += pair[s] * (first[s + 2] - first[s + 1])
        for e in range(graph.start[v], graph.start[v + 1]):
            total[v] += graph.weight[e]
        total[v] += graph.experts[s] * (first[s + 1] - first[s] - 1)
    unassigned = np.ones(vertices, dtype=np.bool_)
    left = np.empty(stages, dtype=np.int64)
    for s in range(stages):
        left[s] = first[s + 1] - first[s]
    remaining = (left * graph.gpus).sum()
    counts = np.zeros((stages, len(free)), dtype=np.int64)
    attraction = np.empty(vertices)
    for m in servers:
        if remaining <= free[m]:
            for v in range(vertices):
                if unassigned[v]:
                    counts[stage_of[v], m] += 1
            break
        room = free[m]
        if room > 1:
            attraction[:] = NO_EDGE
        while room > 0:
            if free[m] == 1:
                v = _lightest(graph, total, unassigned)
            elif room == free[m]:
                v = _heaviest_end(graph, unassigned, left, room)
            else:
                v = _most_attracted(graph, attraction, unassigned, room)
            if v < 0:
                break
            s = stage_of[v]
            unassigned[v] = False
            left[s] -= 1
            room -= graph.gpus[s]
            remaining -= graph.gpus[s]
            counts[s, m] += 1
            if room > 0:
                _attract(graph, v, attraction)
    return counts


@register_jitable
def _lightest(graph: JobGraph, total: Any, unassigned: Any) -> int:
    best = -1
    for v in range(len(total)):
        fits = unassigned[v] and graph.gpus[graph.stage_of[v]] == 1
        if fits and (best < 0 or total[v] < total[best]):
            best = v
    return best


@register_jitable
def _most_attracted(graph: JobGraph, attraction: Any, unassigned: Any, room: int) -> int:
    """The vertex that fits with the heaviest edge from the server; without one, the lowest."""
    best = -1
    for v in range(len(attraction)):
        fits = unassigned[v] and graph.gpus[graph.stage_of[v]] <= room
        if fits and (best < 0 or attraction[v] > attraction[best]):
            best = v
    return best


@register_jitable
def _heaviest_end(graph: JobGraph, unassigned: Any, left: Any, room: int) -> int:
    """Lower end of the heaviest edge whose ends are free and fit; without one, the lowest vertex.

    Growing from it takes the edge's other end next.
    """
    neighbour, weight, gpus = graph.neighbour, graph.weight, graph.gpus
    best, best_weight = -1, NO_EDGE
    for v in range(len(graph.stage_of)):
        s = graph.stage_of[v]
        if not unassigned[v] or gpus[s] > room:
            continue
        heaviest = NO_EDGE
        if s + 1 < len(left) and left[s + 1] > 0 and gpus[s] + gpus[s + 1] <= room:
            heaviest = graph.pair[s]
        if 2 * gpus[s] <= room:
            if left[s] > 1 and graph.experts[s] > 0.0:
                heaviest = max(heaviest, graph.experts[s])
            for e in range(graph.start[v], graph.start[v + 1]):
                if neighbour[e] > v and unassigned[neighbour[e]]:
                    heaviest = max(heaviest, weight[e] + graph.experts[s])
        if best < 0 or heaviest > best_weight:
            best, best_weight = v, heaviest
    return best


@register_jitable
def _attract(graph: JobGraph, v: int, attraction: Any) -> None:
    """Raise the attraction of a taken vertex's neighbours to the weight of their edge to it."""
    s, first, neighbour = graph.stage_of[v], graph.first, graph.neighbour
    if s > 0:
        for u in range(first[s - 1], first[s]):
            attraction[u] = max(attraction[u], graph.pair[s - 1])
    if s + 2 < len(first):
        for u in range(first[s + 1], first[s + 2]):
            attraction[u] = max(attraction[u], graph.pair[s])
    if graph.experts[s] > 0.0:
        for u in range(first[s], first[s + 1]):
            attraction[u] = max(attraction[u], graph.experts[s])
    for e in range(graph.start[v], graph.start[v + 1]):
        weight = graph.weight[e] + graph.experts[s]
        attraction[neighbour[e]] = max(attraction[neighbour[e]], weight)
