"""The independent audit of a finished run: every rule and cost again, from raw segments.

It imports the instance, the records and `checking`, and shares no code with the simulator or a
policy. Costs claimed are compared with those recomputed here from the segments: GPUs in use by
node come from a sweep over segments, not from the node intervals, which are checked against it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise

from optsched.checking import CANCELLATION, CheckReport, Violation, claim_violation, slack
from optsched.rolling.instance import RollingInstance
from optsched.rolling.records import NodeInterval, Records, Segment


def audit(
    instance: RollingInstance,
    run: Records,
    claimed: Mapping[str, float] | None = None,
    epochs: Sequence[float] | None = None,
    *,
    shares: bool = True,
) -> CheckReport:
    """Check a run; without `epochs` each job may take any value of its distribution."""
    violations = [*_jobs(instance, run), *_places(instance, run.segments, shares)]
    if violations:
        return CheckReport(None, tuple(violations))
    violations += [
        *_gpu_shares(run.segments),
        *_one_node_a_job(run.segments),
        *_epochs(instance, run, epochs),
        *_setups(instance, run),
        *_lives(instance, run),
        *_node_intervals(run),
    ]
    energy, off = _energy(instance, run.segments)
    tardiness, out = _tardiness(instance, run)
    costs = {
        "energy_cost": (energy, off),
        "tardiness_cost": (tardiness, out),
        "total_cost": (energy + tardiness, off + out),
    }
    for name, value in (claimed or {}).items():
        wrong = claim_violation(value, *costs[name])
        violations += [] if wrong is None else [wrong]
    return CheckReport(energy + tardiness, tuple(violations), off + out)


def _jobs(instance: RollingInstance, run: Records) -> Iterator[Violation]:
    """(4): each job has one record and at least one segment, and no other job has any."""
    recorded = Counter(record.job for record in run.jobs)
    ran = {segment.job for segment in run.segments}
    for job in range(len(instance.jobs)):
        if recorded[job] != 1:
            amount = float(abs(recorded[job] - 1))
            yield Violation("job", "(4)", f"job {job} recorded {recorded[job]} times", amount)
        elif job not in ran:
            yield Violation("job", "(4)", f"job {job}, which never runs", 1.0)
    for job in sorted({*recorded, *ran} - set(range(len(instance.jobs)))):
        yield Violation("job", "(4)", f"unknown job {job}", 1.0)


def _is_on_the_cluster(instance: RollingInstance, segment: Segment) -> bool:
    node = instance.nodes[segment.node] if 0 <= segment.node < len(instance.nodes) else None
    inside = node is not None and all(0 <= g < node.gpus for g in segment.gpus)
    return inside and bool(segment.gpus)


def _places(
    instance: RollingInstance, segments: tuple[Segment, ...], shares: bool
) -> Iterator[Violation]:
    """(5)-(9): known GPUs, a type the job can use, enough memory, a fraction the type offers."""
    for segment in segments:
        where = f"job {segment.job} at {segment.start:g}"
        if segment.end <= segment.start:
            yield Violation("segment", "start < end", where, segment.start - segment.end)
        if not 0 <= segment.job < len(instance.jobs):
            continue
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
        if share != 1 and not shares:
            yield Violation("sharing", "option sharing", where, 1.0)
        lacking = Fraction(job.memory_bytes) - share * Fraction(gpu.memory_bytes)
        if lacking > 0:
            yield Violation("memory", "(9)", where, float(lacking))


def _share(segment: Segment) -> Fraction:
    return Fraction(str(segment.fraction))


def _gpu_shares(segments: tuple[Segment, ...]) -> Iterator[Violation]:
    """(9): at every moment the shares of a GPU sum to at most 1."""
    held: dict[tuple[int, int], list[tuple[float, Fraction]]] = defaultdict(list)
    for segment in segments:
        for gpu in segment.gpus:
            held[segment.node, gpu].append((segment.start, _share(segment)))
            held[segment.node, gpu].append((segment.end, -_share(segment)))
    for (node, gpu), moments in held.items():
        # at one moment what ends comes first
        most = max(accumulate(change for _, change in sorted(moments)))
        if most > 1:
            where = f"GPU {gpu} of node {node}"
            yield Violation("GPU share", "(9)", where, float(most - 1))


def _by_job(segments: tuple[Segment, ...]) -> dict[int, list[Segment]]:
    found: dict[int, list[Segment]] = defaultdict(list)
    for segment in sorted(segments, key=lambda s: (s.job, s.start, s.end)):
        found[segment.job].append(segment)
    return found


def _one_node_a_job(segments: tuple[Segment, ...]) -> Iterator[Violation]:
    """(2): a job is in one place at a time."""
    for job, own in _by_job(segments).items():
        for before, after in pairwise(own):
            if after.start < before.end:
                amount = before.end - after.start
                yield Violation("one node", "(2)", f"job {job} at {after.start:g}", amount)


def _seconds_per_epoch(instance: RollingInstance, segment: Segment) -> float:
    node = instance.nodes[segment.node]
    times = instance.jobs[segment.job].epoch_time[node.gpu_type]
    share = _share(segment)
    if share == 1:
        return float(times[len(segment.gpus) - 1])
    slowdowns = instance.gpu_types[node.gpu_type].slowdown
    return float(times[0]) * next(b for key, b in slowdowns.items() if Fraction(key) == share)


def _epochs(
    instance: RollingInstance, run: Records, true: Sequence[float] | None
) -> Iterator[Violation]:
    """(19): epochs are productive seconds over seconds per epoch, and add up to those needed."""
    made: dict[int, float] = defaultdict(float)
    allowed: dict[int, float] = defaultdict(float)
    for segment in run.segments:
        seconds = _seconds_per_epoch(instance, segment)
        length = segment.end - segment.start
        epochs = (length - segment.setup) / seconds
        most = max(instance.jobs[segment.job].epochs.values)
        spare = slack(length, segment.start, segment.end) / seconds + slack(epochs, most)
        made[segment.job] += epochs
        allowed[segment.job] += spare
        if abs(epochs - segment.epochs) > spare:
            where = f"job {segment.job} at {segment.start:g}"
            yield Violation("epochs", "(19)", where, abs(epochs - segment.epochs), spare)
    for record in run.jobs:
        job, spare = instance.jobs[record.job], allowed[record.job]
        missing = abs(made[record.job] + job.completed_epochs - record.epochs)
        if missing > spare:
            yield Violation("epochs add up", "(19)", f"job {record.job}", missing, spare)
        known = {float(job.true_epochs)} if job.true_epochs is not None else set(job.epochs.values)
        if true is not None:
            known = {true[record.job]}
        if record.epochs not in known or record.epochs <= job.completed_epochs:
            yield Violation("true epochs", "W", f"job {record.job}", record.epochs)


def _setups(instance: RollingInstance, run: Records) -> Iterator[Violation]:
    """A resumed, moved or changed job loses the reconfiguration delay; no other loses anything."""
    delay = float(instance.reconfiguration_delay)
    for job, own in _by_job(run.segments).items():
        left = 0.0
        for index, segment in enumerate(own):
            before = own[index - 1] if index else None
            if before is not None and _reconfigured(instance, before, segment):
                left = delay
            expected = min(left, segment.end - segment.start)
            left -= expected
            amount, allowed = abs(segment.setup - expected), slack(delay, segment.end)
            if amount > allowed:
                where = f"job {job} at {segment.start:g}"
                yield Violation("reconfiguration", "delay", where, amount, allowed)


def _reconfigured(instance: RollingInstance, before: Segment, after: Segment) -> bool:
    if before.end < after.start or before.node != after.node:
        return True
    return (len(before.gpus), before.fraction) != (len(after.gpus), after.fraction)


def _lives(instance: RollingInstance, run: Records) -> Iterator[Violation]:
    """Every job runs after it arrives, and is over when its last segment is."""
    own = _by_job(run.segments)
    for record in run.jobs:
        where, job = f"job {record.job}", instance.jobs[record.job]
        begin, end = own[record.job][0].start, own[record.job][-1].end
        allowed = slack(end - begin, job.submit_time, end)
        if job.submit_time - begin > allowed:
            early = job.submit_time - begin
            yield Violation("arrival", "submit time", where, early, allowed)
        if abs(end - record.completion) > allowed:
            wrong = abs(end - record.completion)
            yield Violation("completion", "(4)", where, wrong, allowed)
        said = (record.preemptions, record.migrations, record.changes)
        counted = _interruptions(own[record.job])
        off = float(sum(abs(a - b) for a, b in zip(said, counted, strict=True)))
        if off or record.first_start != begin:
            off = max(off, abs(record.first_start - begin))
            yield Violation("record", "segments", where, off)


def _interruptions(own: list[Segment]) -> tuple[int, int, int]:
    """How often a job was stopped, moved without a stop, and given another configuration."""
    stops = moves = changes = 0
    for before, after in pairwise(own):
        if before.end < after.start:
            stops += 1
        elif before.node != after.node:
            moves += 1
        elif (len(before.gpus), before.fraction) != (len(after.gpus), after.fraction):
            changes += 1
    return stops, moves, changes


def _use_of_nodes(segments: tuple[Segment, ...]) -> Iterator[NodeInterval]:
    """Distinct GPUs in use by node, from a sweep over the segments."""
    moments: dict[int, list[tuple[float, bool, Segment]]] = defaultdict(list)
    for segment in segments:
        moments[segment.node] += [(segment.start, True, segment), (segment.end, False, segment)]
    for node, changes in moments.items():
        holders: dict[int, int] = defaultdict(int)
        used, since = 0, 0.0
        for at, begins, segment in sorted(changes, key=lambda c: c[:2]):
            if at > since and used:
                yield NodeInterval(node, since, at, used)
            for gpu in segment.gpus:
                before = holders[gpu] > 0
                holders[gpu] += 1 if begins else -1
                used += (holders[gpu] > 0) - before
            since = at


def _energy(instance: RollingInstance, segments: tuple[Segment, ...]) -> tuple[float, float]:
    """(21) in the course of time: c_nk for the k GPUs in use, integrated; and its rounding."""
    total = terms = 0.0
    for use in _use_of_nodes(segments):
        rate = instance.nodes[use.node].cost_rate[use.used - 1]
        total += rate * (use.end - use.start)
        terms += rate * max(-use.start, use.end)
    return total, CANCELLATION * terms


def _tardiness(instance: RollingInstance, run: Records) -> tuple[float, float]:
    """eta_j (C_j - d_j)^+, C_j being the end of the last segment; and its rounding."""
    total = terms = 0.0
    for index, own in _by_job(run.segments).items():
        job, end = instance.jobs[index], own[-1].end
        total += job.tardiness_weight * max(end - job.due_date, 0.0)
        terms += job.tardiness_weight * (abs(end) + abs(job.due_date))
    return total, CANCELLATION * terms


def _node_intervals(run: Records) -> Iterator[Violation]:
    """The recorded stretches of each node and number of GPUs in use are those of the segments."""
    swept, said = _stretches(_use_of_nodes(run.segments)), _stretches(run.nodes)
    for node in sorted({*swept, *said}):
        here, there = swept.get(node, []), said.get(node, [])
        off = float(abs(len(here) - len(there)))
        allowed = 0.0
        for (used, *times), (claimed, *others) in zip(here, there, strict=False):
            off += used != claimed
            spare = slack(times[1] - times[0], *times)
            for time, other in zip(times, others, strict=True):
                off, allowed = max(off, abs(time - other)), max(allowed, spare)
        if off > allowed:
            yield Violation("node intervals", "(13)", f"node {node}", off, allowed)


def _stretches(
    uses: Iterable[NodeInterval],
) -> dict[int, list[tuple[int, float, float]]]:
    """By node (GPUs in use, start, end) in order of time, touching ones of equal use as one."""
    found: dict[int, list[tuple[int, float, float]]] = defaultdict(list)
    for use in sorted(uses, key=lambda u: (u.node, u.start, u.end)):
        own = found[use.node]
        if own and own[-1][0] == use.used and own[-1][2] == use.start:
            own[-1] = (use.used, own[-1][1], use.end)
        else:
            own.append((use.used, use.start, use.end))
    return found
