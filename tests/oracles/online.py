"""A second simulator of the online problem: lists, loops and sorting, nothing compiled.

Written from the statement alone (models/online/README.md). It takes alpha and Heavy-Edge from the
placement slice and shares no engine, queue or policy code. Everything is looked at afresh at every
event.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import numpy as np

from optsched.placement.cost import cost_tables, placement_time, worst_iteration_time
from optsched.placement.heuristics.heavy_edge import (
    estimated_minimum,
    graph_arrays,
    heavy_edge_counts,
)
from optsched.placement.instance import Cluster, Job
from optsched.placement.options import PlacementOptions

INF = float("inf")


@dataclass
class Task:
    """One job, and what becomes of it."""

    name: str
    submit: float
    job: Job
    iterations: float
    predicted: float
    start: float | None = None
    end: float | None = None
    alpha: float | None = None
    pieces: dict[int, int] = field(default_factory=dict)
    kappa: float | None = None
    window: float = INF
    row: int = -1

    @cached_property
    def gpus(self) -> int:
        return self.job.gpus


@dataclass(frozen=True)
class Rule:
    """A policy, spelled out."""

    kind: str  # a policy's name, but "a-srpt" for its perfect one and "workload-hold"
    offer: str
    tau: float = 100.0
    comm_heavy: float = 1.5
    hold: str = "none"
    slot: float = 0.0


@cache
def iteration_time(job: Job, cluster: Cluster, offered: tuple[int, ...]) -> float:
    """alpha of Heavy-Edge on the counts offered, in descending order."""
    counts = heavy_edge_counts(graph_arrays(job), offered)
    if counts.sum() < job.replicas:
        return INF
    return placement_time(cost_tables(job, cluster, max(offered)), counts, PlacementOptions())


@cache
def alpha_estimate(job: Job, cluster: Cluster) -> float:
    return estimated_minimum(job, cluster)


@cache
def alpha_worst(job: Job, cluster: Cluster) -> float:
    return worst_iteration_time(job, cluster)


class Simulator:
    """One run; call `run` once."""

    def __init__(self, tasks: list[Task], servers: int, cluster: Cluster, rule: Rule) -> None:
        first = min((task.submit for task in tasks), default=0.0)
        self.tasks = [tasks[i] for i in sorted(range(len(tasks)), key=lambda i: tasks[i].submit)]
        for row, task in enumerate(self.tasks):
            task.row, task.submit = row, task.submit - first
        self.cluster, self.rule = cluster, rule
        self.free = [cluster.gpus_per_server] * servers
        self.total = servers * cluster.gpus_per_server
        self.running: list[Task] = []
        self.to_come = list(self.tasks)
        self.queue: list[Task] = []
        self.seconds: dict[tuple[Any, ...], float] = {}
        self.machine: dict[int, float] = {}  # row -> remaining work
        self.machine_time = 0.0
        self.now = -INF

    def run(self) -> list[Task]:
        while (time := self.next_event()) < INF:
            self.now = self.acting_time(time)
            for task in [task for task in self.running if task.end <= self.now]:
                self.running.remove(task)
                for server, gpus in task.pieces.items():
                    self.free[server] += gpus
            while self.virtual_completion() <= self.now:
                self.complete_virtually()
            while self.to_come and self.to_come[0].submit <= self.now:
                self.arrive(self.to_come.pop(0))
            self.scheduling_pass()
        return self.tasks

    def of_job(self, time: Callable[..., float], task: Task, *more: Any) -> float:
        """One of the times above: kept by the job's identity, jobs being long to compare."""
        key = (time, id(task.job), *more)
        if key not in self.seconds:
            self.seconds[key] = time(task.job, self.cluster, *more)
        return self.seconds[key]

    # events ------------------------------------------------------------------------------------

    def next_event(self) -> float:
        times = [task.end for task in self.running] + [task.submit for task in self.to_come[:1]]
        times.append(self.virtual_completion())
        if self.queue and self.queue[0].window > self.now:
            times.append(self.queue[0].window)
        return min(times)

    def acting_time(self, time: float) -> float:
        slot = self.rule.slot
        if slot == 0:
            return time
        multiple = int(np.ceil(time / slot)) - 1
        while multiple * slot < time:
            multiple += 1
        return multiple * slot

    @property
    def is_virtual(self) -> bool:
        return self.rule.kind in ("a-srpt", "a-srpt-backfill", "workload-hold")

    def work(self, task: Task) -> float:
        return task.gpus / self.total * task.predicted * self.of_job(alpha_estimate, task)

    def arrive(self, task: Task) -> None:
        if not self.is_virtual or self.work(task) == 0:
            self.enqueue(task)
            return
        if self.machine:
            row = self.virtual_current()
            gone = self.now - self.machine_time
            self.machine[row] = max(0.0, self.machine[row] - gone)
        self.machine_time = self.now
        self.machine[task.row] = self.work(task)

    def virtual_current(self) -> int:
        return min(self.machine, key=lambda row: (self.machine[row], row))

    def virtual_completion(self) -> float:
        if not self.machine:
            return INF
        return self.machine_time + self.machine[self.virtual_current()]

    def complete_virtually(self) -> None:
        self.machine_time, row = self.virtual_completion(), self.virtual_current()
        del self.machine[row]
        self.enqueue(self.tasks[row])

    # the queue ---------------------------------------------------------------------------------

    def enqueue(self, task: Task) -> None:
        self.queue.append(task)
        if self.rule.kind not in ("a-srpt", "a-srpt-backfill"):
            self.queue.sort(key=lambda each: (self.key(each), each.row))

    def key(self, task: Task) -> float:
        seconds = self.of_job(alpha_estimate, task)
        if self.rule.kind in ("spjf", "wcs-duration"):
            return task.predicted * seconds
        if self.rule.kind in ("wcs-subtime", "fifo", "easy"):
            return task.submit
        return task.gpus * task.predicted * seconds

    def scheduling_pass(self) -> None:
        if self.rule.kind == "spwf-consolidated":
            for task in list(self.queue):
                if self.fits(task) and self.is_near(task):
                    self.start(task)
            return
        if self.rule.kind.startswith("wcs"):
            for task in list(self.queue):
                if self.fits(task):
                    self.start(task)
            return
        while self.queue and self.fits(self.queue[0]):
            head = self.queue[0]
            if self.is_virtual and self.is_heavy(head) and not self.accepts(head):
                break
            self.start(head)
        if self.rule.kind == "a-srpt-backfill" and self.queue:
            head = self.queue[0]
            if head.kappa is not None and self.now < head.window:
                self.backfill()
        if self.rule.kind == "easy" and self.queue and self.queue[0].gpus > sum(self.free):
            self.fill_around(self.queue[0])

    def fill_around(self, head: Task) -> None:
        """Later jobs that fit now and by their predictions leave the head its earliest start."""
        due = {task.row: self.due(task) for task in self.running}
        moments = sorted(due.values())
        promised = next(t for t in moments if self.free_at(t, due) >= head.gpus)
        for task in list(self.queue[1:]):
            if not self.fits(task):
                continue
            spare = self.free_at(promised, due) - head.gpus
            due_now = self.now + task.predicted * self.offered_time(task)
            if due_now <= promised or task.gpus <= spare:
                self.start(task)
                due[task.row] = due_now

    def due(self, task: Task) -> float:
        """When a running job is expected to end: now, past its prediction."""
        return max(self.now, task.start + task.predicted * task.alpha)

    def free_at(self, time: float, due: dict[int, float]) -> int:
        ended = [task.gpus for task in self.running if due[task.row] <= time]
        return sum(self.free) + sum(ended)

    def backfill(self) -> None:
        """Later jobs in queue order that fit now; heavy ones on a good offer only."""
        for task in list(self.queue[1:]):
            if self.fits(task) and (
                not self.is_heavy(task) or self.is_good(task, self.offered_time(task))
            ):
                self.start(task)

    def fits(self, task: Task) -> bool:
        """Whether its GPUs are free, and its slices fit where the offer has them."""
        return task.gpus <= sum(self.free) and self.offered_time(task) < INF

    def is_heavy(self, task: Task) -> bool:
        ratio = self.of_job(alpha_worst, task) / self.of_job(alpha_estimate, task)
        return ratio >= self.rule.comm_heavy

    def is_good(self, task: Task, alpha: float) -> bool:
        return alpha <= self.rule.comm_heavy * self.of_job(alpha_estimate, task)

    def is_near(self, task: Task) -> bool:
        """Whether the GPUs offered are close enough to one another, heavy or not."""
        most = max(self.rule.comm_heavy, 1 + 1e-9)
        return self.offered_time(task) <= most * self.of_job(alpha_estimate, task)

    def accepts(self, head: Task) -> bool:
        alpha = self.offered_time(head)
        if head.kappa is None:
            if self.is_good(head, alpha):
                return True
            head.kappa = alpha
            if self.rule.hold != "inf":
                head.window = self.now + self.rule.tau * self.work(head)
        elif self.rule.hold == "none":
            if alpha < head.kappa * (1 - 1e-9):
                return True
        elif self.is_good(head, alpha):
            return True
        return self.now >= head.window

    # offers ------------------------------------------------------------------------------------

    def offer(self, task: Task) -> dict[int, int]:
        rule = self.rule.offer
        if rule == "adaptive":
            rule = "most" if self.is_heavy(task) else "least"
        servers = [m for m in range(len(self.free)) if self.free[m] > 0]
        if rule in ("most", "best-fit-last"):
            servers.sort(key=lambda m: (-self.free[m], m))
        elif rule == "least":
            servers.sort(key=lambda m: (self.free[m], m))
        pieces: dict[int, int] = {}
        left = task.gpus
        while left > 0:
            server = servers[0]
            if rule == "best-fit-last":
                enough = [m for m in servers if self.free[m] >= left]
                if enough:
                    server = min(enough, key=lambda m: (self.free[m], m))
            pieces[server] = min(left, self.free[server])
            left -= pieces[server]
            servers.remove(server)
        return pieces

    def offered_time(self, task: Task) -> float:
        counts = tuple(sorted(self.offer(task).values(), reverse=True))
        return self.of_job(iteration_time, task, counts)

    def start(self, task: Task) -> None:
        task.alpha = self.offered_time(task)
        task.pieces = self.offer(task)
        task.start = self.now
        task.end = self.now + task.iterations * task.alpha
        for server, gpus in task.pieces.items():
            self.free[server] -= gpus
        self.queue.remove(task)
        self.running.append(task)
