"""The loop of Heavy-Edge over a job graph, called by kernels of this slice and of `online`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

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
