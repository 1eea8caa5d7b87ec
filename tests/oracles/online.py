"""Online scheduling by a naive event loop, written from the statement of a-srpt and nothing else.

Lists and sorts instead of heaps and tables: every pass looks at everything. Works on the rows of a
workload file, the catalogue's jobs and the cluster, all as plain dictionaries.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from oracles import placement as placement_oracle

EXTENDED = {"tensor_parallel", "tensor_bytes", "expert_bytes"}
"""Keys of a stage beyond those of a-srpt III."""
ORDERS = {
    "a-srpt": "release",
    "a-srpt-perfect": "release",
    "a-srpt-backfill": "release",
    "srpt-workload-hold": "workload",
    "spwf-consolidated": "workload",
    "spjf": "duration",
    "spwf": "workload",
    "wcs-duration": "duration",
    "wcs-workload": "workload",
    "wcs-subtime": "submission",
    "fifo": "submission",
    "easy": "submission",
}
OFFERS = {"a-srpt": "adaptive", "a-srpt-perfect": "adaptive", "a-srpt-backfill": "adaptive"}
OFFERS |= dict.fromkeys(("srpt-workload-hold", "spwf-consolidated"), "best-fit-last")
OFFERS |= dict.fromkeys(("las", "srpt-preemptive", "max-min"), "best-fit-last")


def iteration_time(
    stages: Sequence[Mapping[str, Any]],
    counts: Sequence[Sequence[int]],
    cluster: Mapping[str, Any],
) -> float:
    """(4)-(7): the slowest stage on any server; counts[s][m] replicas of stage s on server m."""
    size, outside = cluster["gpus_per_server"], cluster["inter_bandwidth"]
    inside = cluster["intra_bandwidth"]
    worst = 0.0
    for s, stage in enumerate(stages):
        replicas, own = stage["replicas"], counts[s]
        for m, x in enumerate(own):
            if x == 0:
                continue
            away = near = 0.0
            if s > 0:
                before, there = stages[s - 1]["replicas"], counts[s - 1][m]
                away += 2 * stage["input_bytes"] * (before - there) / before
                near += 2 * stage["input_bytes"] * there / before
            if s + 1 < len(stages):
                after, there = stages[s + 1]["replicas"], counts[s + 1][m]
                away += 2 * stage["output_bytes"] * (after - there) / after
                near += 2 * stage["output_bytes"] * there / after
            reduce = 0.0
            if replicas > 1:
                data = 2 * (replicas - 1) / replicas * stage["parameter_bytes"]
                reduce = data / inside if x == replicas else data * size / (x * outside)
            compute = stage["forward_time"] + stage["backward_time"]
            worst = max(worst, compute + size / outside * away + near / inside + reduce)
    return worst


def worst_iteration_time(job: Mapping[str, Any], cluster: Mapping[str, Any]) -> float:
    """alpha^max: every replica on a server of its own."""
    stages = job["stages"]
    total = sum(stage["replicas"] for stage in stages)
    counts, at = [], 0
    for stage in stages:
        counts.append([int(at <= m < at + stage["replicas"]) for m in range(total)])
        at += stage["replicas"]
    return job_time(job, counts, cluster)


def job_time(
    job: Mapping[str, Any], counts: Sequence[Sequence[int]] | None, cluster: Mapping[str, Any]
) -> float:
    """The iteration time of any job, with slices, experts or micro-batches; infinite for None."""
    if counts is None:
        return math.inf
    plain = "micro_batches" not in job and not any(
        EXTENDED & stage.keys() for stage in job["stages"]
    )
    if plain:
        return iteration_time(job["stages"], counts, cluster)
    return placement_oracle.alpha({"job": job, "cluster": cluster}, [list(r) for r in counts], {})


def parent_in_tree(rank: int, ranks: int) -> int | None:
    """The parent of a rank in NCCL's binary tree, whose root is 0."""
    if rank == 0:
        return None
    bit = rank & -rank
    parent = (rank ^ bit) | (bit << 1)
    return rank ^ bit if parent >= ranks else parent


def job_graph(job: Mapping[str, Any]) -> tuple[list[tuple[int, int]], dict[tuple[int, int], float]]:
    """Vertices (stage, replica) and the bytes on each edge between them."""
    stages = job["stages"]
    vertices = [(s, r) for s, stage in enumerate(stages) for r in range(stage["replicas"])]
    number = {vertex: at for at, vertex in enumerate(vertices)}
    edges: dict[tuple[int, int], float] = {}

    def add(one: tuple[int, int], other: tuple[int, int], weight: float) -> None:
        ends = tuple(sorted((number[one], number[other])))
        edges[ends] = edges.get(ends, 0.0) + weight  # type: ignore[index,arg-type]

    for s, stage in enumerate(stages):
        k = stage["replicas"]
        if s > 0:
            weight = 2 * stages[s - 1]["output_bytes"] / k
            for i, j in itertools.product(range(stages[s - 1]["replicas"]), range(k)):
                add((s - 1, i), (s, j), weight)
        if k == 1:
            continue
        if stage.get("expert_bytes", 0) > 0:
            for i, j in itertools.combinations(range(k), 2):
                add((s, i), (s, j), 2 * stage["expert_bytes"] / k)
        if job["all_reduce"] == "ring":
            weight = 2 * (k - 1) / k * stage["parameter_bytes"]
            for i in range(1 if k == 2 else k):
                add((s, i), (s, (i + 1) % k), weight)
            continue
        weight = (k - 1) / k * stage["parameter_bytes"]
        for rank in range(1, k):
            parent = parent_in_tree(rank, k)
            assert parent is not None
            add((s, rank), (s, parent), weight)
            if k % 2:
                add((s, (rank + 1) % k), (s, (parent + 1) % k), weight)
            else:
                add((s, k - 1 - rank), (s, k - 1 - parent), weight)
    return vertices, edges


def heavy_edge(job: Mapping[str, Any], offer: Sequence[int]) -> list[list[int]] | None:
    """Counts by stage and server of the offer, in descending order; None if a replica is left."""
    vertices, edges = job_graph(job)
    size = [job["stages"][s].get("tensor_parallel", 1) for s, _ in vertices]
    weight: dict[int, float] = dict.fromkeys(range(len(vertices)), 0.0)
    for (one, other), bytes_ in edges.items():
        weight[one] += bytes_
        weight[other] += bytes_
    left = set(weight)
    counts = [[0] * len(offer) for _ in job["stages"]]
    for server, room in enumerate(offer):
        chosen: set[int] = set()
        if sum(size[v] for v in left) == room:
            chosen = set(left)
        elif room == 1:
            single = [v for v in left if size[v] == 1]
            chosen = {min(single, key=lambda v: (weight[v], v))} if single else set()
        else:
            while True:
                spare = room - sum(size[v] for v in chosen)
                more = _grown(chosen, left - chosen, edges, size, spare)
                if not more:
                    break
                chosen |= more
        left -= chosen
        for v in chosen:
            counts[vertices[v][0]][server] += 1
    return None if left else counts


def _grown(
    chosen: set[int],
    left: set[int],
    edges: Mapping[tuple[int, int], float],
    size: Sequence[int],
    room: int,
) -> set[int]:
    """What a server takes next: two ends at first, then one vertex; nothing when nothing fits.

    Parameters
    ----------
    chosen, left : set of int
        Vertices on the server, and those on none.
    edges : mapping
        Bytes between two vertices.
    size : sequence of int
        GPUs of each vertex.
    room : int
        GPUs that the server has left.
    """
    fit = {v for v in left if size[v] <= room}
    if not chosen:
        inner = [
            (-w, e)
            for e, w in edges.items()
            if fit.issuperset(e) and size[e[0]] + size[e[1]] <= room
        ]
        if inner:
            return set(min(inner)[1])
    outer = []
    for (one, other), w in edges.items():
        for here, there in ((one, other), (other, one)):
            if here in chosen and there in fit:
                outer.append((-w, there))
    if outer:
        return {min(outer)[1]}
    return {min(fit)} if fit else set()


@dataclass
class Row:
    """A job as the simulation sees it."""

    name: str
    submit: float
    gpus: int
    iterations: float
    predicted: float
    job: Mapping[str, Any]
    estimate: float
    worst: float
    work: float = 0.0
    start: float | None = None
    end: float = math.inf
    alpha: float = 0.0
    held: dict[int, int] = field(default_factory=dict)
    walltime: float | None = None


class Simulation:
    """One policy on one workload.

    `heavy` says of jobs whose alpha^max/alpha~ is COMM_HEAVY to all digits but the last, which
    other arithmetic has otherwise, whether they are heavy.
    """

    def __init__(
        self,
        workload: Sequence[Mapping[str, Any]],
        catalogue: Mapping[str, Any],
        cluster: Mapping[str, Any],
        policy: str,
        predicted: Mapping[str, float] | None = None,
        *,
        tau: float = 100.0,
        comm_heavy: float = 1.5,
        offer: str | None = None,
        hold: str | None = None,
        slot: float = 0.0,
        heavy: Mapping[str, bool] | None = None,
    ) -> None:
        self.heavy = heavy or {}
        self.cluster, self.policy, self.tau, self.comm_heavy = cluster, policy, tau, comm_heavy
        self.offer = offer or OFFERS.get(policy, "most")
        self.hold = hold or ("inf" if policy == "srpt-workload-hold" else "none")
        self.slot = slot
        self.virtual = policy.startswith("a-srpt") or policy == "srpt-workload-hold"
        self.size = cluster["gpus_per_server"]
        self.total = self.size * cluster["servers"]
        self.free = [self.size] * cluster["servers"]
        self.times: dict[tuple[str, tuple[int, ...]], float] = {}
        origin = min(row["submit_time"] for row in workload)
        ordered = sorted(workload, key=lambda row: row["submit_time"])
        self.rows = [self._row(row, origin, catalogue["models"], predicted) for row in ordered]
        self.queue: list[int] = []
        self.delayed: dict[int, tuple[float, float]] = {}
        self.running: list[int] = []
        self.clock = 0.0
        self.now = -math.inf
        self.machine: dict[int, float] = {}

    def _row(
        self,
        row: Mapping[str, Any],
        origin: float,
        models: Mapping[str, Any],
        predicted: Mapping[str, float] | None,
    ) -> Row:
        job, gpus = models[row["model"]], row["gpus"]
        guess = row["iterations"]
        if predicted is not None and self.policy != "a-srpt-perfect":
            guess = predicted[row["job_id"]]
        fewest = [self.size] * (gpus // self.size) + (
            [gpus % self.size] if gpus % self.size else []
        )
        estimate = job_time(job, heavy_edge(job, fewest), self.cluster)
        worst = worst_iteration_time(job, self.cluster)
        made = Row(
            row["job_id"],
            row["submit_time"] - origin,
            gpus,
            row["iterations"],
            guess,
            job,
            estimate,
            worst,
        )
        made.walltime = row.get("walltime")
        made.work = gpus / self.total * guess * estimate
        return made

    # The event loop

    def run(self) -> list[Row]:
        """Rows with their starts, ends and GPUs."""
        arrivals = list(range(len(self.rows)))
        while any(row.start is None for row in self.rows):
            now = self.now = self._acts(min(self._events(arrivals)))
            for at in [at for at in self.running if self.rows[at].end <= now]:
                self.running.remove(at)
                for server, gpus in self.rows[at].held.items():
                    self.free[server] += gpus
            self._arrive(arrivals, now)
            self._pass(now)
        return self.rows

    def _acts(self, time: float) -> float:
        if not self.slot:
            return time
        multiples = (k * self.slot for k in itertools.count(math.ceil(time / self.slot) - 1))
        return next(multiple for multiple in multiples if multiple >= time)

    def _events(self, arrivals: Sequence[int]) -> Iterator[float]:
        yield from (self.rows[at].end for at in self.running)
        if arrivals:
            yield self.rows[arrivals[0]].submit
        if self.machine:
            yield self._next_completion()[0]
        yield from (end for _, end in self.delayed.values() if end > self.now)

    def _arrive(self, arrivals: list[int], now: float) -> None:
        """What the slot's moment brings: virtual completions first, then arrivals."""
        self._complete(now)
        while arrivals and self.rows[arrivals[0]].submit <= now:
            at = arrivals.pop(0)
            if not self.virtual or self.rows[at].work == 0.0:
                self._enqueue(at)
                continue
            if self.machine:
                first = self._next_completion()[1]
                self.machine[first] -= now - self.clock
            self.clock = now
            self.machine[at] = self.rows[at].work

    def _complete(self, now: float) -> None:
        while self.machine:
            done, at = self._next_completion()
            if done > now:
                return
            self.clock = done
            del self.machine[at]
            self._enqueue(at)

    def _next_completion(self) -> tuple[float, int]:
        first = min(self.machine, key=lambda i: (self.machine[i], i))
        return self.clock + self.machine[first], first

    def _enqueue(self, at: int) -> None:
        self.queue.append(at)
        order = ORDERS[self.policy]
        if order == "duration":
            self.queue.sort(key=lambda i: (self.rows[i].predicted * self.rows[i].estimate, i))
        elif order == "workload":
            self.queue.sort(
                key=lambda i: (
                    self.rows[i].gpus * self.rows[i].predicted * self.rows[i].estimate,
                    i,
                )
            )

    # One scheduling pass

    def _pass(self, now: float) -> None:
        if self.virtual:
            while self.queue and self._try_head(now):
                pass
            if self.policy == "a-srpt-backfill" and self.queue[:1]:
                _, end = self.delayed.get(self.queue[0], (0.0, -math.inf))
                if now < end:  # nothing overtakes a head that its window no longer holds back
                    self._backfill(now)
            return
        for at in list(self.queue):
            if self.policy == "spwf-consolidated":
                if self._fits(at) and self._close(at):
                    self._start(at, now, self._offer(at))
            elif self._fits(at):
                self._start(at, now, self._offer(at))
            elif self.policy == "easy":
                if self.rows[at].gpus > sum(self.free):
                    self._reserve(at, now)
                return
            elif not self.policy.startswith("wcs"):
                return

    def _reserve(self, head: int, now: float) -> None:
        """EASY: what starts ends by the head's promise, or takes what is over at that moment."""
        ends = {at: max(now, self._promised(at)) for at in self.running}
        free_at = {
            end: sum(self.free) + sum(self.rows[i].gpus for i, e in ends.items() if e <= end)
            for end in ends.values()
        }
        promise = min(end for end, free in free_at.items() if free >= self.rows[head].gpus)
        over = free_at[promise] - self.rows[head].gpus
        for at in [at for at in self.queue if at != head]:
            row = self.rows[at]
            if not self._fits(at):
                continue
            offer = self._offer(at)
            length = row.predicted * self._alpha(row, offer)
            if now + (length if row.walltime is None else row.walltime) <= promise:
                self._start(at, now, offer)
            elif row.gpus <= over:
                over -= row.gpus
                self._start(at, now, offer)

    def _promised(self, at: int) -> float:
        """When a running job ends by its user's estimate, or without one by its prediction."""
        row = self.rows[at]
        assert row.start is not None
        length = row.predicted * row.alpha if row.walltime is None else row.walltime
        return row.start + length

    def _try_head(self, now: float) -> bool:
        at = self.queue[0]
        row = self.rows[at]
        if not self._fits(at):
            return False
        offer = self._offer(at)
        if not self._heavy(row):
            return self._start(at, now, offer)
        alpha = self._alpha(row, offer)
        good = alpha <= self.comm_heavy * row.estimate
        if at not in self.delayed:
            window = math.inf if self.hold == "inf" else self.tau * row.work
            if good or window == 0.0:
                return self._start(at, now, offer)
            self.delayed[at] = alpha, now + window
            return False
        kappa, end = self.delayed[at]
        if self.hold == "none":
            good = alpha < kappa * (1 - 1e-9)
        return (good or now >= end) and self._start(at, now, offer)

    def _backfill(self, now: float) -> None:
        """Behind a delayed head: what fits now; a heavy job only on an offer it need not refuse."""
        for at in self.queue[1:]:
            row = self.rows[at]
            if not self._fits(at):
                continue
            offer = self._offer(at)
            if not self._heavy(row) or self._alpha(row, offer) <= self.comm_heavy * row.estimate:
                self._start(at, now, offer)

    def _fits(self, at: int) -> bool:
        """Whether the GPUs are free, and Heavy-Edge seats every slice on those it is offered."""
        row = self.rows[at]
        return row.gpus <= sum(self.free) and self._alpha(row, self._offer(at)) < math.inf

    def _close(self, at: int) -> bool:
        """Whether an iteration on the GPUs offered takes no more than COMM_HEAVY allows."""
        row = self.rows[at]
        return self._alpha(row, self._offer(at)) / row.estimate <= max(self.comm_heavy, 1 + 1e-9)

    def _heavy(self, row: Row) -> bool:
        ratio = row.worst / row.estimate
        if math.isclose(ratio, self.comm_heavy, rel_tol=1e-12):
            return self.heavy.get(row.name, ratio >= self.comm_heavy)
        return ratio >= self.comm_heavy

    def _start(self, at: int, now: float, offer: dict[int, int]) -> bool:
        row = self.rows[at]
        row.start, row.held, row.alpha = now, offer, self._alpha(row, offer)
        row.end = now + row.iterations * row.alpha
        for server, gpus in offer.items():
            self.free[server] -= gpus
        self.queue.remove(at)
        self.delayed.pop(at, None)
        self.running.append(at)
        return True

    def _alpha(self, row: Row, offer: Mapping[int, int]) -> float:
        counts = tuple(sorted(offer.values(), reverse=True))
        key = (str(id(row.job)), counts)
        if key not in self.times:
            self.times[key] = job_time(row.job, heavy_edge(row.job, counts), self.cluster)
        return self.times[key]

    def _offer(self, at: int) -> dict[int, int]:
        row, rule = self.rows[at], self.offer
        if rule == "adaptive":
            rule = "most" if self._heavy(row) else "least"
        servers = [m for m, free in enumerate(self.free) if free]
        if rule in ("most", "best-fit-last"):
            servers.sort(key=lambda m: (-self.free[m], m))
        elif rule == "least":
            servers.sort(key=lambda m: (self.free[m], m))
        taken: dict[int, int] = {}
        need = row.gpus
        for m in servers:
            if rule == "best-fit-last" and need <= self.free[m]:
                enough = [i for i in servers if i not in taken and self.free[i] >= need]
                taken[min(enough, key=lambda i: (self.free[i], i))] = need
                return taken
            taken[m] = min(need, self.free[m])
            need -= taken[m]
            if need == 0:
                break
        return taken


def least_flow(simulation: Simulation) -> float:
    """The least total flow of any schedule without preemption, by trying them all.

    Some best schedule starts each job at its submission or at another's end, on some GPUs of the
    servers, its stages spread over them in the best of all ways.
    """
    size = simulation.size
    shapes: list[list[tuple[tuple[int, ...], float]]] = []
    for row in simulation.rows:
        found: dict[tuple[int, ...], float] = {}
        for counts, shape in _spreads(row.job["stages"], len(simulation.free), size):
            time = job_time(row.job, counts, simulation.cluster)
            found[shape] = min(found.get(shape, math.inf), time * row.iterations)
        shapes.append(sorted(found.items(), key=lambda item: item[1]))
    fastest = [choices[0][1] for choices in shapes]
    best = math.inf

    def go(
        now: float, free: tuple[int, ...], busy: tuple[Any, ...], left: frozenset[int], flow: float
    ) -> None:
        nonlocal best
        late = sum(
            max(now, simulation.rows[i].submit) + fastest[i] - simulation.rows[i].submit
            for i in left
        )
        if flow + late >= best:
            return
        if not left:
            best = flow
            return
        for i in left:
            if simulation.rows[i].submit > now:
                continue
            for shape, length in shapes[i]:
                if all(a >= b for a, b in zip(free, shape, strict=True)):
                    rest = tuple(a - b for a, b in zip(free, shape, strict=True))
                    done = now + length
                    cost = flow + done - simulation.rows[i].submit
                    go(now, rest, (*busy, (done, shape)), left - {i}, cost)
        moments = [done for done, _ in busy]
        moments += [simulation.rows[i].submit for i in left if simulation.rows[i].submit > now]
        if moments:
            then = min(moments)
            ended = [shape for done, shape in busy if done <= then]
            back = tuple(f + sum(s[m] for s in ended) for m, f in enumerate(free))
            go(then, back, tuple(b for b in busy if b[0] > then), left, flow)

    go(0.0, tuple(simulation.free), (), frozenset(range(len(simulation.rows))), 0.0)
    return best


def _spreads(
    stages: Sequence[Mapping[str, Any]], servers: int, size: int
) -> Iterator[tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]]:
    """All ways to put the replicas on the servers, and the GPUs that each way takes of them."""
    slices = [stage.get("tensor_parallel", 1) for stage in stages]
    ways = [
        [x for x in itertools.product(range(k + 1), repeat=servers) if sum(x) == k]
        for k in (stage["replicas"] for stage in stages)
    ]
    for counts in itertools.product(*ways):
        shape = tuple(
            sum(q * stage[m] for q, stage in zip(slices, counts, strict=True))
            for m in range(servers)
        )
        if max(shape) <= size:
            yield counts, shape
