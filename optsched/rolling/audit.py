"""The independent audit of a finished run: every rule and cost again, from raw segments.

It imports the instance, the records and `checking`, and shares no code with the simulator or a
policy. Costs claimed are compared with those recomputed here from the segments: GPUs in use by
node come from a sweep over segments, not from the node intervals, which are checked against it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from optsched.checking import CheckReport, Violation, claim_violation
from optsched.rolling.instance import RollingInstance
from optsched.rolling.records import JobRecord, RollingRun, Segment

SECONDS = 1e-6
EPOCHS = 1e-7
"""Relative to the job's epochs."""


def audit(
    instance: RollingInstance, run: RollingRun, claimed: Mapping[str, float] | None = None
) -> CheckReport:
    """Check a run.

    Parameters
    ----------
    instance : RollingInstance
    run : RollingRun
    claimed : mapping, optional
        ``energy_cost`` and ``tardiness_cost`` as reported elsewhere.

    Returns
    -------
    CheckReport
        Total cost as recomputed here, and the rules found broken. Complexity: O(S log S) for S
        segments, times the GPUs of one.
    """
    known = [s for s in run.segments if _is_on_the_cluster(instance, s)]
    violations = [*_places(instance, run.segments)]
    if len(known) == len(run.segments):
        violations += [
            *_gpu_shares(instance, known),
            *_one_node_a_job(known),
            *_epochs(instance, run),
            *_setups(instance, run),
            *_lives(instance, run),
            *_node_intervals(known, run),
        ]
    energy, tardiness = _energy(instance, known), _tardiness(instance, run.jobs)
    for name, value in (("energy_cost", energy), ("tardiness_cost", tardiness)):
        if claimed is not None and name in claimed:
            wrong = claim_violation(claimed[name], value)
            violations += [] if wrong is None else [wrong]
    return CheckReport(energy + tardiness, tuple(violations))


@dataclass(frozen=True)
class _Use:
    """GPUs of a node in use from one moment to another."""

    node: int
    start: float
    end: float
    used: int


def _is_on_the_cluster(instance: RollingInstance, segment: Segment) -> bool:
    node = instance.nodes[segment.node] if 0 <= segment.node < len(instance.nodes) else None
    inside = node is not None and all(0 <= g < node.gpus for g in segment.gpus)
    return inside and bool(segment.gpus) and 0 <= segment.job < len(instance.jobs)


def _places(instance: RollingInstance, segments: tuple[Segment, ...]) -> Iterator[Violation]:
    """(5)-(9): known GPUs, a type the job can use, enough memory, a fraction the type offers."""
    for segment in segments:
        where = f"job {segment.job} at {segment.start:g}"
        if not _is_on_the_cluster(instance, segment):
            yield Violation("place", "(5)", where, 1.0)
            continue
        job, node = instance.jobs[segment.job], instance.nodes[segment.node]
        gpu = instance.gpu_types[node.gpu_type]
        if len(set(segment.gpus)) < len(segment.gpus):
            yield Violation("place", "(5)", where, 1.0)
        if node.gpu_type not in job.epoch_time:
            yield Violation("gpu type", "(3)", where, 1.0)
        share = _share(segment)
        offered = {Fraction(1), *(Fraction(key) for key in gpu.slowdown)}
        if share not in offered or (share != 1 and len(segment.gpus) != 1):
            yield Violation("fraction", "(8)", where, float(share))
        lacking = Fraction(job.memory_bytes) - share * Fraction(gpu.memory_bytes)
        if lacking > 0:
            yield Violation("memory", "(9)", where, float(lacking))


def _share(segment: Segment) -> Fraction:
    return Fraction(str(segment.fraction))


def _gpu_shares(instance: RollingInstance, segments: list[Segment]) -> Iterator[Violation]:
    """(9): at every moment the shares of a GPU sum to at most 1."""
    held: dict[tuple[int, int], list[tuple[float, int, Fraction]]] = defaultdict(list)
    for segment in segments:
        for gpu in segment.gpus:
            held[segment.node, gpu].append((segment.start, 1, _share(segment)))
            held[segment.node, gpu].append((segment.end, 0, -_share(segment)))
    for (node, gpu), moments in held.items():
        total, most = Fraction(0), Fraction(0)
        for _, _, change in sorted(moments):  # at one moment what ends comes first
            total += change
            most = max(most, total)
        if most > 1:
            where = f"GPU {gpu} of node {node}"
            yield Violation("GPU share", "(9)", where, float(most - 1))


def _by_job(segments: list[Segment]) -> dict[int, list[Segment]]:
    found: dict[int, list[Segment]] = defaultdict(list)
    for segment in sorted(segments, key=lambda s: (s.job, s.start, s.end)):
        found[segment.job].append(segment)
    return found


def _one_node_a_job(segments: list[Segment]) -> Iterator[Violation]:
    """(2): a job is in one place at a time."""
    for job, own in _by_job(segments).items():
        for before, after in pairwise(own):
            if after.start < before.end:
                amount = before.end - after.start
                yield Violation("one node", "(2)", f"job {job} at {after.start:g}", amount)


def _seconds_per_epoch(instance: RollingInstance, segment: Segment) -> float:
    node = instance.nodes[segment.node]
    times = instance.jobs[segment.job].epoch_time.get(node.gpu_type)
    if times is None:
        return float("inf")
    share = _share(segment)
    if share == 1:
        return float(times[len(segment.gpus) - 1])
    slowdowns = instance.gpu_types[node.gpu_type].slowdown
    slowdown = next((b for key, b in slowdowns.items() if Fraction(key) == share), float("inf"))
    return float(times[0]) * slowdown


def _epochs(instance: RollingInstance, run: RollingRun) -> Iterator[Violation]:
    """(19): epochs are productive seconds over seconds per epoch, and add up to those needed."""
    made: dict[int, float] = defaultdict(float)
    for segment in run.segments:
        productive = segment.end - segment.start - segment.setup
        epochs = productive / _seconds_per_epoch(instance, segment)
        made[segment.job] += epochs
        slack = EPOCHS * max(instance.jobs[segment.job].epochs.values)
        if abs(epochs - segment.epochs) > slack:
            where = f"job {segment.job} at {segment.start:g}"
            yield Violation("epochs", "(19)", where, abs(epochs - segment.epochs), slack)
    for record in run.jobs:
        job = instance.jobs[record.job]
        missing = abs(made[record.job] + job.completed_epochs - record.epochs)
        slack = EPOCHS * max(job.epochs.values)
        if missing > slack:
            yield Violation("epochs add up", "(19)", f"job {record.job}", missing, slack)
        known = {float(job.true_epochs)} if job.true_epochs is not None else set(job.epochs.values)
        if record.epochs not in known or record.epochs <= job.completed_epochs:
            yield Violation("true epochs", "W", f"job {record.job}", record.epochs)


def _setups(instance: RollingInstance, run: RollingRun) -> Iterator[Violation]:
    """A resumed, moved or changed job loses the reconfiguration delay; no other loses anything."""
    delay = float(instance.reconfiguration_delay)
    for job, own in _by_job(list(run.segments)).items():
        left = 0.0
        for index, segment in enumerate(own):
            before = own[index - 1] if index else None
            if before is not None and _reconfigured(instance, before, segment):
                left = delay
            expected = min(left, segment.end - segment.start)
            left -= expected
            amount = abs(segment.setup - expected)
            if amount > SECONDS:
                where = f"job {job} at {segment.start:g}"
                yield Violation("reconfiguration", "delay", where, amount, SECONDS)


def _reconfigured(instance: RollingInstance, before: Segment, after: Segment) -> bool:
    if before.end < after.start or before.node != after.node:
        return True
    return (len(before.gpus), before.fraction) != (len(after.gpus), after.fraction)


def _lives(instance: RollingInstance, run: RollingRun) -> Iterator[Violation]:
    """Every job runs after it arrives, and is over when its last segment is."""
    own, records = _by_job(list(run.segments)), {record.job: record for record in run.jobs}
    for index, job in enumerate(instance.jobs):
        record = records.get(index)
        if record is None or index not in own:
            yield Violation("completion", "(4)", f"job {index}", 1.0)
            continue
        early = job.submit_time - own[index][0].start
        if early > SECONDS:
            yield Violation("arrival", "submit time", f"job {index}", early, SECONDS)
        wrong = abs(own[index][-1].end - record.completion)
        if wrong > SECONDS:
            yield Violation("completion", "(4)", f"job {index}", wrong, SECONDS)
    if len(records) < len(run.jobs):
        yield Violation("completion", "(4)", "a job twice", float(len(run.jobs) - len(records)))


def _use_of_nodes(segments: list[Segment]) -> Iterator[_Use]:
    """Distinct GPUs in use by node, from a sweep over the segments."""
    moments: dict[int, list[tuple[float, int, Segment]]] = defaultdict(list)
    for segment in segments:
        moments[segment.node] += [(segment.start, 1, segment), (segment.end, 0, segment)]
    for node, changes in moments.items():
        holders: dict[int, int] = defaultdict(int)
        used, since = 0, 0.0
        for at, begins, segment in sorted(changes, key=lambda c: c[:2]):
            if at > since and used:
                yield _Use(node, since, at, used)
            for gpu in segment.gpus:
                before = holders[gpu] > 0
                holders[gpu] += 1 if begins else -1
                used += (holders[gpu] > 0) - before
            since = at


def _energy(instance: RollingInstance, segments: list[Segment]) -> float:
    """(21) in the course of time: c_nk for the k GPUs in use, integrated."""
    return sum(
        (use.end - use.start) * instance.nodes[use.node].cost_rate[use.used - 1]
        for use in _use_of_nodes(segments)
        if use.used <= instance.nodes[use.node].gpus
    )


def _tardiness(instance: RollingInstance, records: tuple[JobRecord, ...]) -> float:
    known = [record for record in records if 0 <= record.job < len(instance.jobs)]
    return sum(
        instance.jobs[r.job].tardiness_weight
        * max(r.completion - instance.jobs[r.job].due_date, 0.0)
        for r in known
    )


def _node_intervals(segments: list[Segment], run: RollingRun) -> Iterator[Violation]:
    """GPU-seconds and hours of each (node, GPUs in use) agree with the segments."""
    difference: dict[tuple[int, int], float] = defaultdict(float)
    for use in _use_of_nodes(segments):
        difference[use.node, use.used] += use.end - use.start
    for interval in run.nodes:
        difference[interval.node, interval.used] -= interval.end - interval.start
    for (node, used), amount in difference.items():
        if abs(amount) > SECONDS * max(len(segments), 1):
            where = f"node {node} with {used} GPUs"
            yield Violation("node intervals", "(13)", where, abs(amount), SECONDS)
