"""The independent checker of schedules: every rule, every end and the makespan, from the decisions.

Shares no code with the methods. Completion times of single-server jobs are independent; those of
spanning jobs are computed by event simulation. The equations are sjf-bco's.
"""

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
from optsched.makespan.instance import MakespanInstance, Network, RingJob
from optsched.makespan.options import MakespanOptions
from optsched.makespan.solution import MakespanSolution, ScheduledJob

Runs = dict[str, tuple[RingJob, ScheduledJob]]
_Usage = tuple[float, float, int]
"""(start, end, GPUs) of a run on a server."""


def check(
    instance: MakespanInstance,
    solution: MakespanSolution,
    options: dict[str, Any] | None = None,
) -> CheckReport:
    """Check a schedule and recompute its makespan.

    Rules: "instance", "job", "server", "gpu count" (1), "start", "capacity" (2), "completion" (9),
    "horizon", "claimed end" (9) and "claimed objective". Gang scheduling (3) and (4) is guaranteed
    by the file format.
    """
    MakespanOptions.from_dict(dict(solution.options if options is None else options))
    violations = instance_violations(solution.instance, instance.name) + _jobs(instance, solution)
    if violations:
        return CheckReport(None, tuple(violations))
    jobs = {job.name: job for job in instance.jobs}
    runs = {run.name: (jobs[run.name], run) for run in solution.jobs}
    violations = _placements(instance, runs) + _starts(instance, runs)
    if violations:
        return CheckReport(None, tuple(violations))
    ends = _ends(instance, runs)
    violations = _completions(instance, ends)
    if violations:
        return CheckReport(None, tuple(violations))
    makespan = max(ends.values())
    violations = _capacity(instance, runs, ends) + _horizon(instance, ends) + _claims(runs, ends)
    claim = None if solution.objective is None else claim_violation(solution.objective, makespan)
    return CheckReport(makespan, tuple(violations) + (() if claim is None else (claim,)))


def _jobs(instance: MakespanInstance, solution: MakespanSolution) -> list[Violation]:
    occurrences = Counter(run.name for run in solution.jobs)
    names = [job.name for job in instance.jobs]
    violations = [
        Violation("job", "once", f"job {name} scheduled {count} times", abs(count - 1))
        for name in names
        if (count := occurrences[name]) != 1
    ]
    unknown = [name for name in occurrences if name not in set(names)]
    return violations + [Violation("job", "once", f"unknown job {name}", 1) for name in unknown]


def _placements(instance: MakespanInstance, runs: Runs) -> list[Violation]:
    violations = []
    for name, (job, run) in runs.items():
        for server, count in run.gpus.items():
            where = f"job {name}, server {server}"
            if int(server) >= len(instance.servers):
                violations.append(Violation("server", "s in S", where, 1))
            elif count > instance.servers[int(server)]:
                # Before simulating: an oversized placement may give tau = 0.
                excess = count - instance.servers[int(server)]
                violations.append(Violation("capacity", "(2)", where, excess))
            if count < 0:
                violations.append(Violation("gpu count", "(5)", where, -count))
        difference = abs(sum(run.gpus.values()) - job.gpus)
        if difference:
            violations.append(Violation("gpu count", "(1)", f"job {name}", difference))
    return violations


def _starts(instance: MakespanInstance, runs: Runs) -> list[Violation]:
    violations = []
    for name, (_, run) in runs.items():
        distance_to_integer = abs(run.start - round(run.start))
        if run.start < 0:
            violations.append(Violation("start", "a >= 0", f"job {name}", -run.start))
        elif instance.progress == "floor" and distance_to_integer > 0:
            where = f"job {name}"
            violations.append(Violation("start", "whole slots", where, distance_to_integer))
    return violations


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
    running: dict[str, _Progress] = {}
    ends: dict[str, float] = {}
    while waiting or running:
        # The next event.
        now = min((progress.end for progress in running.values()), default=math.inf)
        if waiting:
            now = min(now, runs[waiting[-1]][1].start)
        if now == math.inf:  # deadlock: no running job makes progress
            return {**ends, **dict.fromkeys(running, math.inf)}
        # Completions and starts.
        changed = set()
        for name in [name for name, progress in running.items() if progress.end <= now]:
            ends[name] = now
            del running[name]
            for server in servers[name]:
                sharing[server].remove(name)
            changed.update(servers[name])
        while waiting and runs[waiting[-1]][1].start <= now:
            name = waiting.pop()
            running[name] = _Progress(runs[name][0].iterations, now)
            for server in servers[name]:
                sharing[server].add(name)
            changed.update(servers[name])
        # Rates of the jobs on their links.
        for name in {name for server in changed for name in sharing[server]}:
            job, progress = runs[name][0], running[name]
            contention = max(len(sharing[server]) for server in servers[name])  # p_j of (6)
            if contention != progress.contention:
                progress.remaining -= progress.speed * (now - progress.since)
                progress.since, progress.contention = now, contention
                progress.speed = iterations_per_slot(instance, job, len(servers[name]), contention)
                progress.end = now + _slots(instance, progress.remaining, progress.speed)
    return ends


@dataclass
class _Progress:
    """Remaining iterations at the last rate change, and the current rate."""

    remaining: float
    since: float
    contention: int = 0
    speed: float = 0.0
    end: float = math.inf


def _servers(run: ScheduledJob) -> list[str]:
    return [server for server, count in run.gpus.items() if count > 0]


def iterations_per_slot(
    instance: MakespanInstance, job: RingJob, servers: int, contention: int = 0
) -> float:
    """phi_j at contention level p_j (ignored for one server); equations (6)-(8)."""
    net, size, workers = instance.network, job.gradient_bytes, job.gpus
    bandwidth = net.intra_bandwidth
    if servers > 1:
        bandwidth = net.inter_bandwidth / _degraded(net, contention)
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


def _degraded(net: Network, contention: int) -> float:
    """f of p_j: the table's value, its last one beyond; else linear in xi_1 p_j, over 1."""
    if isinstance(net.degradation, tuple):
        return float(net.degradation[:contention][-1])
    shared = net.contention_share * contention
    return max(1.0, shared + net.degradation * (shared - 1))


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
    """Compare peak GPU usage of each server with O_s."""
    usages: dict[int, list[_Usage]] = {}
    for name, (_, run) in runs.items():
        for server, count in run.gpus.items():
            usages.setdefault(int(server), []).append((run.start, ends[name], count))
    violations = []
    for index in sorted(usages):
        peak, time = _peak_usage(usages[index], tolerant=instance.progress == "continuous")
        if peak > instance.servers[index]:
            where = f"server {index} at slot {time:g}"
            violations.append(Violation("capacity", "(2)", where, peak - instance.servers[index]))
    return violations


def _peak_usage(usages: list[_Usage], *, tolerant: bool) -> tuple[int, float]:
    """Peak of the GPUs in use, and its time: use rises only where a run starts.

    With continuous times, an overlap within rounding is ignored: at most slack(shorter run), and
    less than half of the shorter run, so that short runs cannot be hidden.
    """
    active: list[tuple[float, float, int]] = []  # end, length, GPUs; by end
    used = peak = 0
    peak_time = 0.0
    for start, end, count in sorted(usages):
        end = max(end, math.nextafter(start, math.inf))  # at least one ulp long
        length = end - start
        ended = bisect_right(active, start, key=itemgetter(0))
        used += count - sum(gpus for _, _, gpus in active[:ended])
        del active[:ended]
        rounding = 0
        for end_other, length_other, gpus in active if tolerant else ():
            overlap = end_other - start
            if overlap > slack(length, start):
                break
            shorter = min(length, length_other)
            if overlap <= min(slack(shorter, start), shorter / 2):
                rounding += gpus
        insort(active, (end, length, count))
        if used - rounding > peak:
            peak, peak_time = used - rounding, start
    return peak, peak_time


def _claims(runs: Runs, ends: dict[str, float]) -> list[Violation]:
    violations = []
    for name, (_, run) in runs.items():
        if run.end is None:
            continue
        difference = abs(run.end - ends[name])
        if difference > CLAIM_TOLERANCE * ends[name]:
            amount = difference / (ends[name] or 1.0)
            where = f"job {name}"
            violations.append(Violation("claimed end", "(9)", where, amount, CLAIM_TOLERANCE))
    return violations
