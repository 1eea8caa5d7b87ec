"""Online scheduling by a naive event loop, written from the statement of a-srpt and nothing else.

Lists and sorts instead of heaps and tables: every pass looks at everything. Works on the rows of a
workload file, the catalogue's jobs and the cluster, all as plain dictionaries. Iteration times and
Heavy-Edge are those of the placement oracle.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from oracles import placement

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


def job_time(
    job: Mapping[str, Any], counts: Sequence[Sequence[int]] | None, cluster: Mapping[str, Any]
) -> float:
    """alpha, the seconds of an iteration; infinite where counts is None."""
    return math.inf if counts is None else placement.alpha({"job": job, "cluster": cluster}, counts)


def worst_iteration_time(job: Mapping[str, Any], cluster: Mapping[str, Any]) -> float:
    """alpha^max: every replica on a server of its own."""
    replicas = [stage["replicas"] for stage in job["stages"]]
    stage_of = [s for s, k in enumerate(replicas) for _ in range(k)]
    counts = [[int(s == own) for own in stage_of] for s in range(len(replicas))]
    return job_time(job, counts, cluster)


def heavy_edge(job: Mapping[str, Any], offer: Sequence[int]) -> list[list[int]] | None:
    """Heavy-Edge's counts by stage and server of the offer; None if it leaves a replica over."""
    counts = placement.heavy_edge({"job": job, "free_gpus": offer})
    complete = all(
        sum(row) == stage["replicas"] for row, stage in zip(counts, job["stages"], strict=True)
    )
    return counts if complete else None


def fewest_servers(gpus: int, size: int) -> list[int]:
    """GPUs taken of each server where as few servers as possible hold so many GPUs."""
    return [size] * (gpus // size) + [gpus % size] * (gpus % size > 0)


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
        self.size, self.free = 0, []
        groups = cluster["servers"]
        if isinstance(groups, int):
            groups = [{"gpus": cluster["gpus_per_server"], "count": groups}]
        for group in groups:
            self.size = max(self.size, group["gpus"])
            self.free += [group["gpus"]] * group["count"]
        self.total = sum(self.free)
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
        estimate = job_time(job, heavy_edge(job, fewest_servers(gpus, self.size)), self.cluster)
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
            now = self._acts(min(self._events(arrivals)))
            self._pass_time(now)
            self.now = now
            for at in [at for at in self.running if self.rows[at].end <= now]:
                self.running.remove(at)
                for server, gpus in self.rows[at].held.items():
                    self.free[server] += gpus
            self._arrive(arrivals, now)
            self._pass(now)
        return self.rows

    def _pass_time(self, now: float) -> None:
        """What the time since the last event changes: nothing without fair share."""

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
        good = self._good(row, alpha) or self._empty()
        if at not in self.delayed:
            window = math.inf if self.hold == "inf" else self.tau * row.work
            if good or window == 0.0:
                return self._start(at, now, offer)
            self.delayed[at] = alpha, now + window
            return False
        kappa, end = self.delayed[at]
        if self.hold == "none":
            good = alpha < kappa * (1 - 1e-9) or self._empty()
        return (good or now >= end) and self._start(at, now, offer)

    def _backfill(self, now: float) -> None:
        """Behind a delayed head: what fits now; a heavy job only on an offer it need not refuse."""
        for at in self.queue[1:]:
            row = self.rows[at]
            if not self._fits(at):
                continue
            offer = self._offer(at)
            if not self._heavy(row) or self._good(row, self._alpha(row, offer)):
                self._start(at, now, offer)

    def _fits(self, at: int) -> bool:
        """Whether the GPUs are free, and Heavy-Edge seats every slice on those it is offered."""
        row = self.rows[at]
        return row.gpus <= sum(self.free) and self._alpha(row, self._offer(at)) < math.inf

    def _close(self, at: int) -> bool:
        """Whether an iteration on the GPUs offered takes no more than COMM_HEAVY allows."""
        row = self.rows[at]
        return self._good(row, self._alpha(row, self._offer(at))) or self._empty()

    def _empty(self) -> bool:
        """Whether no GPU is in use: then there is no better offer to wait for."""
        return sum(self.free) == self.total

    def _good(self, row: Row, alpha: float) -> bool:
        """Whether an offer is near enough to alpha~; never so near that the last digit decides."""
        return alpha / row.estimate <= max(self.comm_heavy, 1 + 1e-9)

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


def min_total_flow(simulation: Simulation) -> float:
    """The smallest total flow of any schedule without preemption, by trying them all.

    Some best schedule starts each job at its submission or at another's end, on some GPUs of the
    servers, its stages spread over them in the best of all ways.
    """
    shapes: list[list[tuple[tuple[int, ...], float]]] = []
    for row in simulation.rows:
        instance = {"job": row.job, "cluster": simulation.cluster, "free_gpus": simulation.free}
        tables = placement.tables(instance)
        gpus = np.tensordot(placement.gpus_each(instance), tables, axes=(0, 1))
        shortest: dict[tuple[int, ...], float] = {}
        for shape, alpha in zip(gpus.tolist(), placement.alphas(instance, tables, {}), strict=True):
            length = float(alpha) * row.iterations
            shortest[tuple(shape)] = min(shortest.get(tuple(shape), math.inf), length)
        shapes.append(sorted(shortest.items(), key=lambda item: item[1]))
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
