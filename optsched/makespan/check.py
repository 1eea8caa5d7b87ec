"""The independent checker of schedules: every rule, every end and the makespan, from the decisions.

Shares no code with the methods. Jobs inside one server need nobody else's; the ends of those that
span servers follow from event to event. The equations are sjf-bco's.
"""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections import Counter
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from optsched.checking import (
    CLAIM_TOLERANCE,
    CheckReport,
    Violation,
    claim_violation,
    instance_violations,
    slack,
)
from optsched.makespan.instance import MakespanInstance, RingJob
from optsched.makespan.options import MakespanOptions
from optsched.makespan.solution import MakespanSolution, ScheduledJob

Runs = dict[str, tuple[RingJob, ScheduledJob]]
_Stay = tuple[float, float, int]
"""Start and end of a run on a server, and its GPUs there."""


def check(
    instance: MakespanInstance,
    solution: MakespanSolution,
    options: dict[str, Any] | None = None,
) -> CheckReport:
    """Check a schedule and recompute its makespan.

    Rules: "instance", "job", "server", "gpu count" (1), "start", "capacity" (2), "completion" (9),
    "horizon", "claimed end" (9) and "claimed objective". Gang (3) and (4) hold by the format.
    """
    MakespanOptions.from_dict(dict(solution.options if options is None else options))
    found = instance_violations(solution.instance, instance.name) + _jobs(instance, solution)
    if found:
        return CheckReport(None, tuple(found))
    jobs = {job.name: job for job in instance.jobs}
    runs = {run.name: (jobs[run.name], run) for run in solution.jobs}
    found = _placements(instance, runs) + _starts(instance, runs)
    if found:
        return CheckReport(None, tuple(found))
    ends = _ends(instance, runs)
    found = _completions(instance, ends)
    if found:
        return CheckReport(None, tuple(found))
    makespan = max(ends.values())
    claim = None if solution.objective is None else claim_violation(solution.objective, makespan)
    found = _capacity(instance, runs, ends) + _horizon(instance, ends) + _claims(runs, ends)
    return CheckReport(makespan, tuple(found) + (() if claim is None else (claim,)))


def _jobs(instance: MakespanInstance, solution: MakespanSolution) -> list[Violation]:
    times = Counter(run.name for run in solution.jobs)
    wanted = {job.name for job in instance.jobs}
    found = [
        Violation("job", "once", f"job {name} scheduled {times[name]} times", abs(times[name] - 1))
        for name in (job.name for job in instance.jobs)
        if times[name] != 1
    ]
    unknown = [name for name in times if name not in wanted]
    return found + [Violation("job", "once", f"unknown job {name}", 1) for name in unknown]


def _placements(instance: MakespanInstance, runs: Runs) -> list[Violation]:
    found = []
    for name, (job, run) in runs.items():
        for server, count in run.gpus.items():
            if int(server) >= len(instance.servers):
                found.append(Violation("server", "s in S", f"job {name}, server {server}", 1))
            elif count > instance.servers[int(server)]:  # where tau may be 0: nobody vouches for it
                off = count - instance.servers[int(server)]
                found.append(Violation("capacity", "(2)", f"job {name}, server {server}", off))
            if count < 0:
                found.append(Violation("gpu count", "(5)", f"job {name}, server {server}", -count))
        if sum(run.gpus.values()) != job.gpus:
            off = abs(sum(run.gpus.values()) - job.gpus)
            found.append(Violation("gpu count", "(1)", f"job {name}", off))
    return found


def _starts(instance: MakespanInstance, runs: Runs) -> list[Violation]:
    found = []
    for name, (_, run) in runs.items():
        between = abs(run.start - round(run.start))
        if run.start < 0:
            found.append(Violation("start", "a >= 0", f"job {name}", -run.start))
        elif instance.progress == "floor" and between > 0:
            found.append(Violation("start", "whole slots", f"job {name}", between))
    return found


def _ends(instance: MakespanInstance, runs: Runs) -> dict[str, float]:
    """T_j of (9) for every job."""
    ends = {}
    spanning: Runs = {}
    for name, (job, run) in runs.items():
        if len(_servers(run)) == 1:
            speed = iterations_per_slot(instance, job, 1)
            ends[name] = run.start + _slots(instance, job.iterations, speed)
        else:
            spanning[name] = (job, run)
    return {**ends, **_spanning_ends(instance, spanning)}


def _spanning_ends(instance: MakespanInstance, runs: Runs) -> dict[str, float]:
    """T_j of the jobs that span servers, from event to event."""
    waiting = sorted(runs, key=lambda name: runs[name][1].start, reverse=True)
    servers = {name: _servers(run) for name, (_, run) in runs.items()}
    sharing: dict[str, set[str]] = {server: set() for own in servers.values() for server in own}
    state: dict[str, _Progress] = {}
    ends: dict[str, float] = {}
    while waiting or state:
        now = min((progress.end for progress in state.values()), default=math.inf)
        if waiting:
            now = min(now, runs[waiting[-1]][1].start)
        if now == math.inf:  # all running jobs make no progress, for ever
            return {**ends, **dict.fromkeys(state, math.inf)}
        changed = set()
        for name in [name for name, progress in state.items() if progress.end <= now]:
            ends[name] = now
            del state[name]
            for server in servers[name]:
                sharing[server].remove(name)
            changed.update(servers[name])
        while waiting and runs[waiting[-1]][1].start <= now:
            name = waiting.pop()
            state[name] = _Progress(runs[name][0].iterations, now)
            for server in servers[name]:
                sharing[server].add(name)
            changed.update(servers[name])
        for name in {name for server in changed for name in sharing[server]}:
            job, progress = runs[name][0], state[name]
            contention = max(len(sharing[server]) for server in servers[name])  # p_j of (6)
            if contention != progress.contention:
                progress.left -= progress.speed * (now - progress.since)
                progress.since, progress.contention = now, contention
                progress.speed = iterations_per_slot(instance, job, len(servers[name]), contention)
                progress.end = now + _slots(instance, progress.left, progress.speed)
    return ends


@dataclass
class _Progress:
    """Iterations left when a run last changed its speed, and how it goes on since."""

    left: float
    since: float
    contention: int = 0
    speed: float = 0.0
    end: float = math.inf


def _servers(run: ScheduledJob) -> list[str]:
    return [server for server, count in run.gpus.items() if count > 0]


def iterations_per_slot(
    instance: MakespanInstance, job: RingJob, servers: int, contention: int = 0
) -> float:
    """phi_j for p_j = `contention`, which matters across servers only; equations (6)-(8)."""
    net, size, workers = instance.network, job.gradient_bytes, job.gpus
    shared = net.contention_share * contention
    degraded = max(1.0, shared + net.degradation * (shared - 1))
    bandwidth = net.inter_bandwidth / degraded if servers > 1 else net.intra_bandwidth
    gamma = net.overhead_per_server * servers
    if servers == 1 and not net.overhead_on_one_server:
        gamma = 0.0
    exchange = 2 * size * (workers - 1) / (workers * bandwidth)
    reduce = size * (workers - 1) / (workers * instance.compute_rate)
    forward = job.forward_time_per_sample * job.batch_size
    tau = exchange + reduce + gamma + forward + job.backward_time
    if instance.progress == "continuous":
        return instance.slot / tau
    return float(math.floor(min(instance.slot / tau + 1e-9, job.iterations)))


def _slots(instance: MakespanInstance, iterations: float, speed: float) -> float:
    if speed == 0:
        return math.inf
    if instance.progress == "continuous":
        return iterations / speed
    return float(math.ceil(iterations / speed))


def _completions(instance: MakespanInstance, ends: dict[str, float]) -> list[Violation]:
    return [
        Violation("completion", "(9)", f"job {name}, which never ends", instance.horizon)
        for name, end in ends.items()
        if end == math.inf
    ]


def _horizon(instance: MakespanInstance, ends: dict[str, float]) -> list[Violation]:
    allowed = instance.horizon_tolerance
    return [
        Violation("horizon", "T_j <= horizon", f"job {name}", end - instance.horizon, allowed)
        for name, end in ends.items()
        if end > instance.latest_end
    ]


def _capacity(instance: MakespanInstance, runs: Runs, ends: dict[str, float]) -> list[Violation]:
    """Most GPUs ever used of each server, against O_s."""
    stays: dict[int, list[_Stay]] = {}
    for name, (_, run) in runs.items():
        for server, count in run.gpus.items():
            stays.setdefault(int(server), []).append((run.start, ends[name], count))
    found = []
    for index in sorted(stays):
        worst, at = _most_used(stays[index], rounds=instance.progress == "continuous")
        if worst > instance.servers[index]:
            where = f"server {index} at slot {at:g}"
            found.append(Violation("capacity", "(2)", where, worst - instance.servers[index]))
    return found


def _most_used(stays: list[_Stay], *, rounds: bool) -> tuple[int, float]:
    """Most GPUs in use at once, and when: use rises only where a run starts.

    Where ends are rounded, a run that outlasts that start by rounding alone is over. What rounding
    may be goes by the shorter of the two runs and is never half of it, so that neither a long run
    nor a late clock hides a short run.
    """
    active: list[tuple[float, float, int]] = []  # end, length, GPUs; by end
    used = worst = 0
    at = 0.0
    for start, end, count in sorted(stays):
        end = max(end, math.nextafter(start, math.inf))  # shorter than the clock can show
        length = end - start
        over = bisect_right(active, start, key=itemgetter(0))
        used += count - sum(ended for _, _, ended in active[:over])
        del active[:over]
        rounding = 0
        for until, other, gpus in active if rounds else ():
            if until - start > slack(length, start):
                break
            shorter = min(length, other)
            if until - start <= min(slack(shorter, start), shorter / 2):
                rounding += gpus
        insort(active, (end, length, count))
        if used - rounding > worst:
            worst, at = used - rounding, start
    return worst, at


def _claims(runs: Runs, ends: dict[str, float]) -> list[Violation]:
    found = []
    for name, (_, run) in runs.items():
        if run.end is None:
            continue
        off = abs(run.end - ends[name])
        if off > CLAIM_TOLERANCE * ends[name]:
            amount = off / (ends[name] or 1.0)
            found.append(Violation("claimed end", "(9)", f"job {name}", amount, CLAIM_TOLERANCE))
    return found
