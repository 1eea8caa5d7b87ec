"""Heavy-Edge: greedy growth of each server's replicas along the heaviest edges.

Guarantee: none; the gap to the optimum is what this package measures. Complexity: O(V (V + E_a))
for V replicas and E_a all-reduce edges. Source: a-srpt, IV-B, with the readings: servers in
descending order of free GPUs (ties by index); a server that can hold all that remains takes it; a
server with one GPU takes the replica of least total weight in the whole graph; any other server
starts with the heaviest edge whose ends are both free and grows by the heaviest edge to the
outside, edges of weight zero included; ties go to the lowest (stage, replica).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optsched.placement.cost import Floats, Ints, cost_tables, time_matrix
from optsched.placement.graph import activation_weight, all_reduce_edges, all_reduce_weight
from optsched.placement.instance import Cluster, Job, PlacementInstance
from optsched.placement.options import PlacementOptions
from optsched.placement.solution import PlacementSolution
from optsched.result import Outcome, Settings, Termination


@dataclass(frozen=True)
class GraphArrays:
    """A job graph as arrays for the compiled loop; see `heavy_edge_kernel.grow_servers`."""

    stage_of: Ints
    first: Ints
    pair: Floats
    start: Ints
    neighbour: Ints
    weight: Floats


def heavy_edge(
    instance: PlacementInstance, options: PlacementOptions, settings: Settings
) -> Outcome:
    """Place a job by Heavy-Edge; the options change its cost, never its placement."""
    graph = graph_arrays(instance.job)
    began = time.perf_counter()
    counts = heavy_edge_counts(graph, instance.free_gpus)
    seconds = time.perf_counter() - began
    solution = PlacementSolution.of(instance.name, counts.tolist())
    return Outcome(solution, Termination.FEASIBLE, solve_time=seconds)


def heavy_edge_counts(graph: GraphArrays, free_gpus: tuple[int, ...] | NDArray[np.int64]) -> Ints:
    """Run the algorithm on a prepared graph: counts, stages x servers."""
    from optsched.placement.heavy_edge_kernel import grow_servers

    free = np.asarray(free_gpus, dtype=np.int64)
    order = np.argsort(-free, kind="stable")
    counts: Ints = grow_servers(
        graph.stage_of,
        graph.first,
        graph.pair,
        graph.start,
        graph.neighbour,
        graph.weight,
        free,
        order,
    )
    return counts


def graph_arrays(job: Job) -> GraphArrays:
    """Lay a job's graph out as arrays. Complexity: O(V + E_a)."""
    replicas = [stage.replicas for stage in job.stages]
    first = np.concatenate(([0], np.cumsum(replicas)))
    ends: list[tuple[int, int, float]] = []
    for s, stage in enumerate(job.stages):
        one = all_reduce_weight(stage, job.all_reduce)
        base = int(first[s])
        for (a, b), parallel in all_reduce_edges(stage.replicas, job.all_reduce).items():
            ends.append((base + a, base + b, parallel * one))
            ends.append((base + b, base + a, parallel * one))
    ends.sort()
    tails = np.array([edge[0] for edge in ends], dtype=np.int64)
    pairs = zip(job.stages, job.stages[1:], strict=False)
    return GraphArrays(
        stage_of=np.repeat(np.arange(len(replicas)), replicas),
        first=first,
        pair=np.array([activation_weight(a, b) for a, b in pairs] + [0.0]),
        start=np.searchsorted(tails, np.arange(first[-1] + 1)).astype(np.int64),
        neighbour=np.array([edge[1] for edge in ends], dtype=np.int64),
        weight=np.array([edge[2] for edge in ends], dtype=float),
    )


def estimated_minimum(job: Job, cluster: Cluster, options: PlacementOptions | None = None) -> float:
    """alpha~^min: Heavy-Edge on the fewest servers. An estimate; a balanced offer can beat it."""
    options = options or PlacementOptions()
    full, rest = divmod(job.gpus, cluster.gpus_per_server)
    offer = (cluster.gpus_per_server,) * full + ((rest,) if rest else ())
    counts = heavy_edge_counts(graph_arrays(job), offer)
    tables = cost_tables(job, cluster, max(offer), options)
    return float(time_matrix(tables, counts, options).max())
