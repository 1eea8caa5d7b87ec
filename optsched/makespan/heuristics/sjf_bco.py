"""SJF-BCO and the paper's baselines: jobs start in a given order on GPUs chosen one by one.

The paper's algorithms share one forward simulation (Algorithms 1-3 and section 7 of sjf-bco). Jobs
start in order, without overtaking, on idle GPUs whose load plus the job's estimated duration is at
most theta; otherwise time advances to the next completion. Methods differ in the order and in how a
job selects among these GPUs:

- `sjf-bco`: smallest jobs first; up to kappa GPUs the least used GPUs (FA-FFP), beyond that GPUs of
  the least busy servers (LBSGF). With packing = "occupied" the small jobs prefer servers in use, as
  section 5's text says; its Algorithm 2 as printed does not ("least-used").
- `first-fit`: the first GPUs. `list-scheduling`: the least used. Both in the file's order.
- `random`: drawn, with theta at the horizon.

Theta is bisected over [1, horizon]. Interpretation: an infeasible (theta, kappa) counts as the
horizon; the makespan is not monotone in theta, so the best schedule seen is kept; only kappa in {1}
and the job sizes matters; estimates count as they are (the paper's u = 1); ties go by name.
Guarantee: none. Theorem 5 of the paper is false (erratum in models/makespan/README.md). Complexity:
O(K log T) simulations for K distinct sizes and horizon T (random: one), each O(n (GPUs + S log S) +
completions). `details` of sjf-bco state both sides of Lemma 3, makespan <= n_g theta: n_g is the
most GPUs of a job, theta the bisection's limit on a GPU's load that gave the schedule.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from optsched.deadline import Deadline, OutOfTimeError
from optsched.kernels import kernel
from optsched.makespan.bounds.durations import durations_of
from optsched.makespan.contention import (
    Bools,
    Floats,
    Ints,
    Jobs,
    Running,
    Schedule,
    ScheduleArrays,
    empty_schedule,
    evaluate,
    job_arrays,
    next_end,
    none_running,
    refresh,
    remove_ended,
    schedule_from_arrays,
    start,
)
from optsched.makespan.heuristics.random_numbers import RandomState, draw, random_state
from optsched.makespan.incumbent import Incumbent, SearchResult
from optsched.makespan.instance import MakespanInstance
from optsched.makespan.options import MakespanOptions, Order
from optsched.result import Outcome, Settings

FIRST, LEAST_USED, LEAST_BUSY_SERVERS, RANDOM, OCCUPIED = 0, 1, 2, 3, 4
PACKING = {"least-used": LEAST_USED, "occupied": OCCUPIED}


class GpuSelection(NamedTuple):
    """How each job selects among the idle GPUs within theta; times in slots."""

    rule: Ints  # by job: one of the five constants above
    estimate: Floats  # by job: rho_hat_j, estimated duration
    theta: float
    lambda_: float  # the least busy servers are offered until they hold lambda G_j GPUs
    random: RandomState


class Gpus(NamedTuple):
    """The cluster's GPUs, server by server; loads are sums of estimates in slots."""

    server: Ints  # by GPU, like load and idle
    load: Floats
    idle: Bools
    server_load: Floats
    offered: Bools  # by server: whether it is offered to the current job
    chosen: Ints  # starts with the current job's GPUs
    taken: Ints  # GPUs of each started job, from its `Jobs.offset` on


@register_jitable
def _all_idle(jobs: Jobs) -> Gpus:
    servers = len(jobs.capacity)
    server = np.repeat(np.arange(servers), jobs.capacity)
    return Gpus(
        server,
        np.zeros(len(server)),
        np.ones(len(server), np.bool_),
        np.zeros(servers),
        np.ones(servers, np.bool_),
        np.empty(len(server), np.int64),
        np.empty(jobs.offset[len(jobs.gpus)], np.int64),
    )


@register_jitable
def _select(jobs: Jobs, selection: GpuSelection, gpus: Gpus, j: int) -> bool:
    """Put job j's GPUs at the front of `chosen`; False when too few qualify."""
    rule, size, chosen = selection.rule[j], jobs.gpus[j], gpus.chosen
    max_load = selection.theta - selection.estimate[j]
    # Offer the servers with the smallest load per GPU until they hold lambda G_j GPUs.
    if rule == LEAST_BUSY_SERVERS:
        offered = 0.0
        for s in np.argsort(gpus.server_load / jobs.capacity, kind="mergesort"):
            gpus.offered[s] = offered < selection.lambda_ * size
            offered += jobs.capacity[s]
    # Collect the GPUs that are idle, offered and within theta.
    count = 0
    for g in range(len(gpus.idle)):
        if not gpus.idle[g] or gpus.load[g] > max_load:
            continue
        if rule == LEAST_BUSY_SERVERS and not gpus.offered[gpus.server[g]]:
            continue
        chosen[count] = g
        count += 1
        if rule == FIRST and count == size:
            return True
    if count < size:
        return False
    # Select among them.
    if rule == RANDOM:
        for i in range(size):
            k = i + int(draw(selection.random) * (count - i))
            chosen[i], chosen[k] = chosen[k], chosen[i]
    elif count > size:  # the least used, ties by index; of servers in use first for OCCUPIED
        candidates = chosen[:count].copy()
        candidates = candidates[np.argsort(gpus.load[candidates], kind="mergesort")]
        if rule == OCCUPIED:
            idle_server = np.ones(len(jobs.capacity), np.bool_)
            idle_server[gpus.server[~gpus.idle]] = False
            is_idle = idle_server[gpus.server[candidates]]
            candidates = candidates[np.argsort(is_idle, kind="mergesort")]
        chosen[:size] = candidates[:size]
    return True


@register_jitable
def _start_on_chosen(
    jobs: Jobs, running: Running, schedule: ScheduleArrays, gpus: Gpus, j: int, now: float
) -> bool:
    """Start job j on the chosen GPUs unless no running job would then make progress."""
    base = jobs.offset[j]
    schedule.num_servers[j] = 0
    for i in range(jobs.gpus[j]):
        g = gpus.chosen[i]
        gpus.taken[base + i] = g
        k, end = base, base + schedule.num_servers[j]
        while k < end and schedule.server[k] != gpus.server[g]:
            k += 1
        if k == end:
            schedule.server[k] = gpus.server[g]
            schedule.gpus_on_server[k] = 0
            schedule.num_servers[j] += 1
        schedule.gpus_on_server[k] += 1
    return start(jobs, running, schedule, j, now)


@kernel
def _schedule_in_order(
    jobs: Jobs, order: Ints, selection: GpuSelection, cutoff: float, schedule: ScheduleArrays
) -> float:
    """Schedule the jobs in order; return the makespan, infinite at `cutoff` or without a place."""
    n = len(order)
    gpus = _all_idle(jobs)
    running = none_running(jobs)
    now, idle_gpus, position = 0.0, len(gpus.idle), 0
    while position < n or running.num_running[0] > 0:
        # Start the next job if enough GPUs qualify.
        if position < n:
            j = order[position]
            if (
                idle_gpus >= jobs.gpus[j]
                and _select(jobs, selection, gpus, j)
                and _start_on_chosen(jobs, running, schedule, gpus, j, now)
            ):
                idle_gpus -= jobs.gpus[j]
                for i in range(jobs.gpus[j]):
                    g = gpus.chosen[i]
                    gpus.idle[g] = False
                    gpus.load[g] += selection.estimate[j]
                    gpus.server_load[gpus.server[g]] += selection.estimate[j]
                position += 1
                continue
            if running.num_running[0] == 0:
                return np.inf
        # Advance to the next completion.
        now = next_end(running, schedule, np.inf)
        if now >= cutoff:
            return np.inf
        ended = remove_ended(jobs, running, schedule, now)
        for r in range(running.num_running[0], running.num_running[0] + ended):
            j = running.jobs[r]
            idle_gpus += jobs.gpus[j]
            for i in range(jobs.offset[j], jobs.offset[j + 1]):
                gpus.idle[gpus.taken[i]] = True
        refresh(jobs, running, schedule, now)
    return now


class Simulator:
    """Arrays of an instance for many simulations."""

    def __init__(self, instance: MakespanInstance) -> None:
        self.instance, self.jobs = instance, job_arrays(instance)
        self.estimate = durations_of(instance).estimate
        work = float(self.estimate @ self.jobs.gpus)
        self.min_theta = max(work / instance.gpus, float(self.estimate.max()))

    def order(self, order: Order) -> Ints:
        """Jobs in the file's order, or by size, ties by name."""
        if order == "arrival":
            return np.arange(len(self.jobs.gpus), dtype=np.int64)
        names = [job.name for job in self.instance.jobs]
        by_size = sorted(range(len(names)), key=lambda j: (self.jobs.gpus[j], names[j]))
        return np.array(by_size, dtype=np.int64)

    def run(
        self,
        order: Ints,
        rule: Ints | int,
        theta: float,
        lambda_: float = 1.0,
        cutoff: float = np.inf,
        seed: int = 0,
    ) -> tuple[float, Schedule | None]:
        """Makespan and schedule, or infinity and None."""
        rules = np.broadcast_to(np.int64(rule), len(order)).copy()
        selection = GpuSelection(
            rules, self.estimate, float(theta), float(lambda_), random_state(seed)
        )
        arrays = empty_schedule(self.jobs)
        simulate = _schedule_in_order.for_size(2 * len(order) * self.instance.gpus)
        makespan = float(simulate(self.jobs, order, selection, float(cutoff), arrays))
        return makespan, None if makespan == np.inf else schedule_from_arrays(self.jobs, arrays)


def best_theta(
    simulator: Simulator,
    order: Ints,
    rules: Sequence[Ints | int],
    lambda_: float,
    deadline: Deadline,
) -> SearchResult:
    """Bisect theta over [1, horizon] as Algorithm 1 does; the best schedule seen and its theta.

    Each theta tries every one of `rules`, as long as it can beat the best schedule. At the deadline
    without a schedule, theta = horizon is tried once. Theta is scaled by the horizon's tolerance.
    """
    horizon, latest = simulator.instance.horizon, simulator.instance.latest_end
    tolerance = latest / horizon
    best: Schedule | None = None
    best_value, best_at = np.nextafter(latest, np.inf), None
    timed_out = False
    left, right = 1, horizon
    try:
        while left <= right and not timed_out:
            theta = (left + right) // 2
            improved = False
            for rule in rules if theta * tolerance >= simulator.min_theta else ():
                if deadline.is_over:
                    timed_out = True
                    break
                value, schedule = simulator.run(order, rule, theta * tolerance, lambda_, best_value)
                if schedule is not None and value < best_value:
                    best, best_value, best_at, improved = schedule, value, theta, True
            if improved:
                right = theta - 1
            else:
                left = theta + 1
        for rule in reversed(rules) if timed_out else ():
            if best is None:
                best_at = horizon
                _, best = simulator.run(order, rule, latest, lambda_, best_value)
    except OutOfTimeError:
        timed_out = True
    return SearchResult(best, timed_out, {"theta": best_at})


def distinct_kappas(instance: MakespanInstance) -> list[int]:
    """Values of kappa that give different rules: 1 and every job size."""
    return sorted({1, *(job.gpus for job in instance.jobs)})


def search_by_name(
    method: str,
    instance: MakespanInstance,
    options: MakespanOptions,
    deadline: Deadline,
    seed: int = 0,
) -> SearchResult:
    """Best schedule of SJF-BCO, over all kappa unless one is given, or of a baseline."""
    simulator = Simulator(instance)
    if method == "random":  # theta = horizon: estimates never exceed durations
        order = simulator.order(options.order)
        _, schedule = simulator.run(order, RANDOM, instance.latest_end, seed=seed)
        return SearchResult(schedule)
    if method == "sjf-bco":
        gpus = simulator.jobs.gpus
        kappas = distinct_kappas(instance) if options.kappa is None else [options.kappa]
        small = PACKING[options.packing]
        rules = [np.where(gpus <= kappa, small, LEAST_BUSY_SERVERS) for kappa in kappas]
        order = simulator.order("smallest-first")
        found = best_theta(simulator, order, rules, options.lambda_, deadline)
        details = {**found.details, **lemma_3(instance, found)}
        return replace(found, details=details)
    rule = {"first-fit": FIRST, "list-scheduling": LEAST_USED}[method]
    return best_theta(simulator, simulator.order(options.order), [rule], 1.0, deadline)


def lemma_3(instance: MakespanInstance, found: SearchResult) -> dict[str, Any]:
    """Both sides of sjf-bco's Lemma 3, makespan <= n_g theta, in slots."""
    theta = found.details["theta"]
    if found.schedule is None or theta is None:
        return {}
    makespan = evaluate(instance, found.schedule).makespan
    limit = max(job.gpus for job in instance.jobs) * theta
    return {"lemma_3": {"makespan": makespan, "limit": limit, "holds": makespan <= limit}}


def schedule_by_name(
    method: str, instance: MakespanInstance, options: MakespanOptions, settings: Settings
) -> Outcome:
    """Schedule by SJF-BCO or one of the paper's baselines."""
    incumbent = Incumbent(instance, settings)
    return incumbent.heuristic(
        lambda stop: search_by_name(method, instance, options, stop, settings.seed)
    )
