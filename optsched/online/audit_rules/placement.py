"""Independent recomputation of alpha for the audit.

Heavy-Edge in plain Python and the cost of the placement checker, written from
models/placement/README.md; nothing compiled and nothing of the methods is used.
O(V (V + E)) per distinct offer, for V replicas and E all-reduce edges.
"""

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from optsched.arrays import Bools
from optsched.online.records import Replicas
from optsched.placement.check import iteration_time
from optsched.placement.instance import Cluster, Job, Stage

NO_EDGE = -1.0


class IterationTimes:
    """Cache of iteration times by configuration and offer."""

    def __init__(self, jobs: Sequence[Job], hardware: Cluster) -> None:
        self.jobs, self.hardware = jobs, hardware
        self._cache: dict[tuple[int, tuple[int, ...]], float] = {}

    def of(self, configuration: int, held: tuple[int, ...]) -> float:
        """alpha on servers that give `held` GPUs, in any order; inf if slices do not fit."""
        key = (configuration, tuple(sorted(held, reverse=True)))
        if key not in self._cache:
            job = self.jobs[configuration]
            counts = heavy_edge(job, key[1])
            fits = sum(map(sum, counts)) == job.replicas
            self._cache[key] = iteration_time(job, self.hardware, counts) if fits else math.inf
        return self._cache[key]

    def is_placement(self, configuration: int, held: tuple[int, ...], replicas: Replicas) -> bool:
        """Whether replicas by server and stage are the job's, and take exactly the GPUs held."""
        stages = self.jobs[configuration].stages
        if any(len(counts) != len(stages) or min(counts) < 0 for counts in replicas):
            return False
        totals = tuple(map(sum, zip(*replicas, strict=True)))
        gpus = tuple(
            sum(count * stage.tensor_parallel for count, stage in zip(counts, stages, strict=True))
            for counts in replicas
        )
        return gpus == held and totals == tuple(stage.replicas for stage in stages)

    def of_placement(self, configuration: int, replicas: Replicas) -> float:
        """alpha of replicas by server and stage."""
        counts = list(zip(*replicas, strict=True))
        return iteration_time(self.jobs[configuration], self.hardware, counts)

    def has_slices(self, configuration: int) -> bool:
        return any(stage.tensor_parallel > 1 for stage in self.jobs[configuration].stages)

    def estimate(self, configuration: int) -> float:
        """alpha~: on the fewest servers."""
        full, rest = divmod(self.jobs[configuration].gpus, self.hardware.gpus_per_server)
        held = (self.hardware.gpus_per_server,) * full
        return self.of(configuration, (*held, rest) if rest else held)

    def worst(self, configuration: int) -> float:
        """alpha^max: each replica alone on a server; one replica per stage suffices."""
        job = self.jobs[configuration]
        stages = range(len(job.stages))
        return iteration_time(job, self.hardware, [[int(s == m) for m in stages] for s in stages])


def heavy_edge(job: Job, held: tuple[int, ...]) -> list[list[int]]:
    """Replicas by stage and server; servers give `held` GPUs, in descending order.

    Replicas that do not fit are omitted.
    """
    graph = _Graph(job)
    counts = [[0] * len(held) for _ in job.stages]
    for server, room in enumerate(held):
        for vertex in graph.fill_server(room):
            counts[graph.stage[vertex]][server] += 1
    return counts


class _Graph:
    """A job's replicas, ordered by (stage, replica), and what they exchange."""

    def __init__(self, job: Job) -> None:
        sizes = [stage.replicas for stage in job.stages]
        self.stage = [s for s, size in enumerate(sizes) for _ in range(size)]
        self.span = [slice(sum(sizes[:s]), sum(sizes[: s + 1])) for s in range(len(sizes))]
        self.pair = [
            2.0 * before.output_bytes / after.replicas
            for before, after in zip(job.stages, job.stages[1:], strict=False)
        ]
        self.edges: list[list[tuple[int, float]]] = [[] for _ in self.stage]
        for s, stage in enumerate(job.stages):
            first = self.span[s].start
            for (a, b), weight in sorted(_all_reduce(stage, job.all_reduce).items()):
                self.edges[first + a].append((first + b, weight))
                self.edges[first + b].append((first + a, weight))
        self.size = [stage.tensor_parallel for stage in job.stages]
        self.experts = [2.0 * stage.expert_bytes / stage.replicas for stage in job.stages]
        self.sizes = np.array([self.size[s] for s in self.stage])
        self.total = [self._total(vertex, sizes) for vertex in range(len(self.stage))]
        self.free = np.ones(len(self.stage), dtype=bool)
        self.unplaced = sizes

    def _total(self, vertex: int, sizes: list[int]) -> float:
        s, total = self.stage[vertex], 0.0
        if s > 0:
            total += self.pair[s - 1] * sizes[s - 1]
        if s + 1 < len(sizes):
            total += self.pair[s] * sizes[s + 1]
        for _, weight in sorted(self.edges[vertex]):
            total += weight
        return total + self.experts[s] * (sizes[s] - 1)

    def fill_server(self, room: int) -> list[int]:
        """Replicas placed on the next server with `room` GPUs."""
        edge_to_server = np.full(len(self.stage), NO_EDGE)
        chosen: list[int] = []
        rest = room
        while (fitting := self._fitting(rest)).any():
            if room == 1:
                vertex = self._lightest()
            elif not chosen:
                vertex = self._heaviest_end(room)
            else:
                vertex = int(np.argmax(np.where(fitting, edge_to_server, -np.inf)))
            self.free[vertex] = False
            self.unplaced[self.stage[vertex]] -= 1
            rest -= int(self.sizes[vertex])
            self._add_edges(vertex, edge_to_server)
            chosen.append(vertex)
        return chosen

    def _fitting(self, room: int) -> Bools:
        """Free replicas that need at most `room` GPUs."""
        return np.asarray(self.free & (self.sizes <= room))

    def _lightest(self) -> int:
        """The one-GPU replica of minimum total weight; ties to the lowest, as everywhere."""
        return min(np.flatnonzero(self._fitting(1)).tolist(), key=lambda v: (self.total[v], v))

    def _heaviest_end(self, room: int) -> int:
        """Lower end of the heaviest edge whose ends are free and fit; else the lowest replica."""
        fitting = self._fitting(room)
        best, heaviest = int(np.argmax(fitting)), NO_EDGE
        for v in np.flatnonzero(fitting).tolist():
            s, weights = self.stage[v], []
            if 2 * self.size[s] <= room:
                weights = [w + self.experts[s] for u, w in self.edges[v] if u > v and self.free[u]]
                if self.unplaced[s] > 1 and self.experts[s] > 0:
                    weights.append(self.experts[s])
            following = s + 1 < len(self.unplaced) and self.unplaced[s + 1] > 0
            if following and self.size[s] + self.size[s + 1] <= room:
                weights.append(self.pair[s])
            weight = max(weights, default=NO_EDGE)
            if weight > heaviest:
                best, heaviest = v, weight
        return best

    def _add_edges(self, vertex: int, edge_to_server: np.ndarray) -> None:
        """Update the heaviest edge of each replica to the server that `vertex` is now on."""
        s = self.stage[vertex]
        weights = [(s - 1, self.pair[s - 1])] if s > 0 else []
        weights += [(s + 1, self.pair[s])] if s + 1 < len(self.span) else []
        weights += [(s, self.experts[s])] if self.experts[s] > 0 else []
        for stage, weight in weights:
            replicas = self.span[stage]
            edge_to_server[replicas] = np.maximum(edge_to_server[replicas], weight)
        for other, weight in self.edges[vertex]:
            edge_to_server[other] = max(edge_to_server[other], weight + self.experts[s])


def _all_reduce(stage: Stage, kind: str) -> dict[tuple[int, int], float]:
    """Bytes on the edges (a, b), a < b, between a stage's replicas; parallel edges add."""
    k = stage.replicas
    share = (k - 1) / k * stage.parameter_bytes
    if kind == "ring":
        around = {(min(r, (r + 1) % k), max(r, (r + 1) % k)) for r in range(k) if k > 1}
        return dict.fromkeys(around, 2.0 * share)
    parallel: dict[tuple[int, int], int] = defaultdict(int)
    for child in range(1, k):
        parent = _parent(child, k)
        for a, b in ((child, parent), (_mirror(child, k), _mirror(parent, k))):
            parallel[min(a, b), max(a, b)] += 1
    return {edge: share * count for edge, count in parallel.items()}


def _parent(rank: int, k: int) -> int:
    """In the first of NCCL's two trees: ranks with more trailing zeros are closer to the root."""
    step = rank & -rank
    above = rank - step if rank & 2 * step else rank + step
    return above if above < k else rank - step


def _mirror(rank: int, k: int) -> int:
    return k - 1 - rank if k % 2 == 0 else (rank + 1) % k
