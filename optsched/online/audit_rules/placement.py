"""The audit's own alpha and offers: Heavy-Edge in plain Python, the cost of the placement checker.

Written from models/placement/README.md; nothing compiled and nothing of the methods is used.
O(V (V + E)) an offer for V replicas and E all-reduce edges, once for each different one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from optsched.checking import Violation
from optsched.online.records import Records
from optsched.placement.check import iteration_time
from optsched.placement.instance import Cluster, Job, Stage

Ints = NDArray[np.int64]
NO_EDGE = -1.0


class IterationTimes:
    """Seconds an iteration takes configurations on offers, each worked out once."""

    def __init__(self, jobs: Sequence[Job], hardware: Cluster) -> None:
        self.jobs, self.hardware = jobs, hardware
        self._known: dict[tuple[int, tuple[int, ...]], float] = {}

    def of(self, configuration: int, held: tuple[int, ...]) -> float:
        """alpha on servers that give so many GPUs each, in any order; inf if slices do not fit."""
        key = (configuration, tuple(sorted(held, reverse=True)))
        if key not in self._known:
            job = self.jobs[configuration]
            counts = heavy_edge(job, key[1])
            fits = sum(map(sum, counts)) == job.replicas
            self._known[key] = iteration_time(job, self.hardware, counts) if fits else math.inf
        return self._known[key]

    def has_slices(self, configuration: int) -> bool:
        """Whether free GPUs may be of no use to it where they are."""
        return any(stage.tensor_parallel > 1 for stage in self.jobs[configuration].stages)

    def estimate(self, configuration: int) -> float:
        """alpha~: on the fewest servers."""
        full, rest = divmod(self.jobs[configuration].gpus, self.hardware.gpus_per_server)
        held = (self.hardware.gpus_per_server,) * full
        return self.of(configuration, (*held, rest) if rest else held)

    def worst(self, configuration: int) -> float:
        """alpha^max: each replica alone on a server; one of each stage says it for all."""
        job = self.jobs[configuration]
        stages = range(len(job.stages))
        return iteration_time(job, self.hardware, [[int(s == m) for m in stages] for s in stages])


def heavy_edge(job: Job, held: tuple[int, ...]) -> list[list[int]]:
    """Replicas by stage and server; servers give `held` GPUs, in descending order.

    Those that do not fit are nowhere.
    """
    graph = _Graph(job)
    counts = [[0] * len(held) for _ in job.stages]
    for server, room in enumerate(held):
        for vertex in graph.grown(room):
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

    def grown(self, room: int) -> list[int]:
        """The replicas of a server with so many GPUs: all that are left, if they fit."""
        pull = np.full(len(self.stage), NO_EDGE)
        chosen: list[int] = []
        rest = room
        while (fitting := self._fitting(rest)).any():
            if room == 1:
                vertex = self._lightest()
            elif not chosen:
                vertex = self._heaviest_end(room)
            else:
                vertex = int(np.argmax(np.where(fitting, pull, -np.inf)))
            self.free[vertex] = False
            self.unplaced[self.stage[vertex]] -= 1
            rest -= int(self.sizes[vertex])
            self._attract(vertex, pull)
            chosen.append(vertex)
        return chosen

    def _fitting(self, room: int) -> NDArray[np.bool_]:
        """Which free replicas take no more GPUs than that."""
        return np.asarray(self.free & (self.sizes <= room))

    def _lightest(self) -> int:
        """The replica of one GPU of least total weight; ties to the lowest, as everywhere."""
        return min(np.flatnonzero(self._fitting(1)).tolist(), key=lambda v: (self.total[v], v))

    def _heaviest_end(self, room: int) -> int:
        """The lower end of the heaviest edge whose ends are free and fit; without, the lowest."""
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
            here = max(weights, default=NO_EDGE)
            if here > heaviest:
                best, heaviest = v, here
        return best

    def _attract(self, vertex: int, pull: np.ndarray) -> None:
        s = self.stage[vertex]
        if s > 0:
            pull[self.span[s - 1]] = np.maximum(pull[self.span[s - 1]], self.pair[s - 1])
        if s + 1 < len(self.span):
            pull[self.span[s + 1]] = np.maximum(pull[self.span[s + 1]], self.pair[s])
        if self.experts[s] > 0:
            pull[self.span[s]] = np.maximum(pull[self.span[s]], self.experts[s])
        for other, weight in self.edges[vertex]:
            pull[other] = max(pull[other], weight + self.experts[s])


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
        for a, b in ((child, parent), (_other(child, k), _other(parent, k))):
            parallel[min(a, b), max(a, b)] += 1
    return {edge: share * count for edge, count in parallel.items()}


def _parent(rank: int, k: int) -> int:
    """In the first of NCCL's two trees: ranks with more trailing zeros stand higher."""
    step = rank & -rank
    above = rank - step if rank & 2 * step else rank + step
    return above if above < k else rank - step


def _other(rank: int, k: int) -> int:
    """The rank that stands in the second tree where this one stands in the first."""
    return k - 1 - rank if k % 2 == 0 else (rank + 1) % k


def offer_violations(
    records: Records, heavy: NDArray[np.bool_], spot_checks: int
) -> list[Violation]:
    """Check offers spread evenly over the run; slots and own policies are passed over.

    Only jobs that start alone at their instant are looked at: then what was free is what the
    records leave free.
    """
    rule = records.options.offer
    if rule is None or records.options.slot > 0:
        return []
    parts = records.segments
    _, place, count = np.unique(parts.start, return_inverse=True, return_counts=True)
    alone = np.flatnonzero(count[place] == 1)
    if not len(alone):
        return []
    chosen = alone[np.unique(np.linspace(0, len(alone) - 1, spot_checks).astype(np.int64))]
    owner = np.repeat(np.arange(len(parts)), np.diff(parts.first))
    violations = []
    for at in chosen:
        i = parts.job[at]
        named = rule_of(rule, bool(heavy[i]))
        free = _free_before(records, owner, float(parts.start[at]))
        if expected_offer(free, named, int(records.gpus[i])) != dict(parts[int(at)].servers):
            where = f"job {records.job_id[i]}"
            violations.append(Violation("offer", f"offer {named}", where, float(records.gpus[i])))
    return violations[:20]


def rule_of(rule: str, heavy: bool) -> str:
    """The offer rule of a job, where adaptive says so by whether it communicates much."""
    if rule != "adaptive":
        return rule
    return "most" if heavy else "least"


def expected_offer(free: list[int], rule: str, gpus: int) -> dict[int, int]:
    """GPUs by server that a rule other than adaptive gives a job."""
    order = [m for m in range(len(free)) if free[m] > 0]
    if rule in ("most", "best-fit-last"):
        order.sort(key=lambda m: -free[m])
    elif rule == "least":
        order.sort(key=lambda m: free[m])
    pieces: dict[int, int] = {}
    for server in order:
        left = gpus - sum(pieces.values())
        if left == 0:
            break
        if rule == "best-fit-last" and free[server] >= left:
            server = min(
                (m for m in order if m not in pieces and free[m] >= left), key=lambda m: free[m]
            )
        pieces[server] = min(left, free[server])
    return pieces


def free_beside(records: Records, server: Ints, taken: Ints) -> list[int]:
    """Free GPUs by server while pieces, so many GPUs of a server each, are held."""
    used = np.bincount(server, weights=taken, minlength=records.servers)
    return (records.gpus_per_server - used).astype(int).tolist()


def _free_before(records: Records, owner: Ints, t: float) -> list[int]:
    """Free GPUs by server at an instant's starts: what ends at that instant has ended."""
    parts = records.segments
    holds = ((parts.start < t) & (parts.end > t))[owner]
    return free_beside(records, parts.server[holds], parts.taken[holds])
