"""Independent audit of a run: recompute every rule and cost from the segments.

It imports the instance, the records and `checking`, and shares no code with the simulator or a
policy. GPUs in use by node come from a sweep over segments, not from the recorded node intervals,
which are checked against it.
"""

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
    """Check a run; if `epochs` is None, accept any value of each job's distribution."""
    violations = [*_jobs(instance, run), *_placements(instance, run.segments, shares)]
    if violations:
        return CheckReport(None, tuple(violations))
    violations += [
        *_gpu_shares(run.segments),
        *_one_node_a_job(run.segments),
        *_epochs(instance, run, epochs),
        *_setups(instance, run),
        *_job_records(instance, run),
        *_node_intervals(run),
    ]
    energy, energy_rounding = _energy(instance, run.segments)
    tardiness, tardiness_rounding = _tardiness(instance, run)
    total, rounding = energy + tardiness, energy_rounding + tardiness_rounding
    costs = {
        "energy_cost": (energy, energy_rounding),
        "tardiness_cost": (tardiness, tardiness_rounding),
        "total_cost": (total, rounding),
    }
    for name, value in (claimed or {}).items():
        violation = claim_violation(value, *costs[name])
        violations += [] if violation is None else [violation]
    return CheckReport(total, tuple(violations), rounding)


def _jobs(instance: RollingInstance, run: Records) -> Iterator[Violation]:
    """(4): each job has exactly one record and at least one segment; unknown jobs have none."""
    recorded = Counter(record.job for record in run.jobs)
    ran = {segment.job for segment in run.segments}
    for job in range(len(instance.jobs)):
        if recorded[job] != 1:
            amount = float(abs(recorded[job] - 1))
            yield Violation("job", "(4)", f"job {job} recorded {recorded[job]} times", amount)
        elif job not in ran:
            yield Violation("job", "(4)", f"job {job} has no segment", 1.0)
    for job in sorted({*recorded, *ran} - set(range(len(instance.jobs)))):
        yield Violation("job", "(4)", f"unknown job {job}", 1.0)


def _is_on_the_cluster(instance: RollingInstance, segment: Segment) -> bool:
    node = instance.nodes[segment.node] if 0 <= segment.node < len(instance.nodes) else None
    inside = node is not None and all(0 <= g < node.gpus for g in segment.gpus)
    return inside and bool(segment.gpus)


def _placements(
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
        valid_fractions = {Fraction(1), *(Fraction(key) for key in gpu.slowdown)}
        if share not in valid_fractions or (share != 1 and len(segment.gpus) != 1):
            yield Violation("fraction", "(8)", where, float(share))
        if share != 1 and not shares:
            yield Violation("sharing", "option sharing", where, 1.0)
        missing_bytes = Fraction(job.memory_bytes) - share * Fraction(gpu.memory_bytes)
        if missing_bytes > 0:
            yield Violation("memory", "(9)", where, float(missing_bytes))


def _share(segment: Segment) -> Fraction:
    return Fraction(str(segment.fraction))


def _gpu_shares(segments: tuple[Segment, ...]) -> Iterator[Violation]:
    """(9): the fractions on a GPU sum to at most 1 at all times."""
    changes_by_gpu: dict[tuple[int, int], list[tuple[float, Fraction]]] = defaultdict(list)
    for segment in segments:
        for gpu in segment.gpus:
            changes_by_gpu[segment.node, gpu].append((segment.start, _share(segment)))
            changes_by_gpu[segment.node, gpu].append((segment.end, -_share(segment)))
    for (node, gpu), changes in changes_by_gpu.items():
        # at equal times, ends sort before starts (negative change)
        max_share = max(accumulate(change for _, change in sorted(changes)))
        if max_share > 1:
            where = f"GPU {gpu} of node {node}"
            yield Violation("GPU share", "(9)", where, float(max_share - 1))


def _by_job(segments: tuple[Segment, ...]) -> dict[int, list[Segment]]:
    segments_by_job: dict[int, list[Segment]] = defaultdict(list)
    for segment in sorted(segments, key=lambda s: (s.job, s.start, s.end)):
        segments_by_job[segment.job].append(segment)
    return segments_by_job


def _one_node_a_job(segments: tuple[Segment, ...]) -> Iterator[Violation]:
    """(2): a job is on one node at a time."""
    for job, job_segments in _by_job(segments).items():
        for before, after in pairwise(job_segments):
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
    instance: RollingInstance, run: Records, true_epochs: Sequence[float] | None
) -> Iterator[Violation]:
    """(19): epochs = productive seconds / seconds per epoch, and sum to the job's true epochs."""
    epochs_done: dict[int, float] = defaultdict(float)
    tolerances: dict[int, float] = defaultdict(float)
    for segment in run.segments:
        seconds = _seconds_per_epoch(instance, segment)
        length = segment.end - segment.start
        epochs = (length - segment.setup) / seconds
        max_epochs = max(instance.jobs[segment.job].epochs.values)
        tolerance = slack(length, segment.start, segment.end) / seconds + slack(epochs, max_epochs)
        epochs_done[segment.job] += epochs
        tolerances[segment.job] += tolerance
        if abs(epochs - segment.epochs) > tolerance:
            where = f"job {segment.job} at {segment.start:g}"
            yield Violation("epochs", "(19)", where, abs(epochs - segment.epochs), tolerance)
    for record in run.jobs:
        job, tolerance = instance.jobs[record.job], tolerances[record.job]
        difference = abs(epochs_done[record.job] + job.completed_epochs - record.epochs)
        if difference > tolerance:
            yield Violation("epochs add up", "(19)", f"job {record.job}", difference, tolerance)
        accepted_epochs = set(job.epochs.values)
        if true_epochs is not None:
            accepted_epochs = {true_epochs[record.job]}
        elif job.true_epochs is not None:
            accepted_epochs = {float(job.true_epochs)}
        if record.epochs not in accepted_epochs or record.epochs <= job.completed_epochs:
            yield Violation("true epochs", "W", f"job {record.job}", record.epochs)


def _setups(instance: RollingInstance, run: Records) -> Iterator[Violation]:
    """A resumed, moved or reconfigured job has the reconfiguration delay, others no set-up time."""
    delay = float(instance.reconfiguration_delay)
    for job, job_segments in _by_job(run.segments).items():
        remaining_delay = 0.0
        for index, segment in enumerate(job_segments):
            previous = job_segments[index - 1] if index else None
            if previous is not None and any(_interruptions([previous, segment])):
                remaining_delay = delay
            expected = min(remaining_delay, segment.end - segment.start)
            remaining_delay -= expected
            amount, allowed = abs(segment.setup - expected), slack(delay, segment.end)
            if amount > allowed:
                where = f"job {job} at {segment.start:g}"
                yield Violation("reconfiguration", "delay", where, amount, allowed)


def _job_records(instance: RollingInstance, run: Records) -> Iterator[Violation]:
    """Each job starts after its arrival and completes at the end of its last segment."""
    segments_by_job = _by_job(run.segments)
    for record in run.jobs:
        where, job = f"job {record.job}", instance.jobs[record.job]
        job_segments = segments_by_job[record.job]
        begin, end = job_segments[0].start, job_segments[-1].end
        tolerance = slack(end - begin, job.submit_time, end)
        early, difference = job.submit_time - begin, abs(end - record.completion)
        if early > tolerance:
            yield Violation("arrival", "submit time", where, early, tolerance)
        if difference > tolerance:
            yield Violation("completion", "(4)", where, difference, tolerance)
        recorded = (record.preemptions, record.migrations, record.changes)
        counted = _interruptions(job_segments)
        difference = float(sum(abs(a - b) for a, b in zip(recorded, counted, strict=True)))
        if difference or record.first_start != begin:
            difference = max(difference, abs(record.first_start - begin))
            yield Violation("record", "segments", where, difference)


def _interruptions(job_segments: list[Segment]) -> tuple[int, int, int]:
    """Count preemptions, migrations without a pause, and configuration changes."""
    preemptions = migrations = changes = 0
    for before, after in pairwise(job_segments):
        if before.end < after.start:
            preemptions += 1
        elif before.node != after.node:
            migrations += 1
        elif (len(before.gpus), before.fraction) != (len(after.gpus), after.fraction):
            changes += 1
    return preemptions, migrations, changes


def _node_usage(segments: tuple[Segment, ...]) -> Iterator[NodeInterval]:
    """Distinct GPUs in use by node, from a sweep over the segments."""
    changes_by_node: dict[int, list[tuple[float, bool, Segment]]] = defaultdict(list)
    for segment in segments:
        changes = [(segment.start, True, segment), (segment.end, False, segment)]
        changes_by_node[segment.node] += changes
    for node, changes in changes_by_node.items():
        holders: dict[int, int] = defaultdict(int)
        used, interval_start = 0, 0.0
        for time, is_start, segment in sorted(changes, key=lambda c: c[:2]):
            if time > interval_start and used:
                yield NodeInterval(node, interval_start, time, used)
            for gpu in segment.gpus:
                was_in_use = holders[gpu] > 0
                holders[gpu] += 1 if is_start else -1
                used += (holders[gpu] > 0) - was_in_use
            interval_start = time


def _energy(instance: RollingInstance, segments: tuple[Segment, ...]) -> tuple[float, float]:
    """(21) over time: integral of c_nk for the k GPUs in use, and its rounding error."""
    total = magnitude = 0.0
    for interval in _node_usage(segments):
        rate = instance.nodes[interval.node].cost_rate[interval.used - 1]
        total += rate * (interval.end - interval.start)
        magnitude += rate * max(-interval.start, interval.end)
    return total, CANCELLATION * magnitude


def _tardiness(instance: RollingInstance, run: Records) -> tuple[float, float]:
    """eta_j (C_j - d_j)^+ with C_j the end of the last segment, and its rounding error."""
    total = magnitude = 0.0
    for index, job_segments in _by_job(run.segments).items():
        job, end = instance.jobs[index], job_segments[-1].end
        total += job.tardiness_weight * max(end - job.due_date, 0.0)
        magnitude += job.tardiness_weight * (abs(end) + abs(job.due_date))
    return total, CANCELLATION * magnitude


def _node_intervals(run: Records) -> Iterator[Violation]:
    """Compare the recorded node intervals with those derived from the segments."""
    derived, recorded = _merged_intervals(_node_usage(run.segments)), _merged_intervals(run.nodes)
    for node in sorted({*derived, *recorded}):
        derived_intervals, recorded_intervals = derived.get(node, []), recorded.get(node, [])
        difference = float(abs(len(derived_intervals) - len(recorded_intervals)))
        tolerance = 0.0
        for (used, *times), (recorded_used, *recorded_times) in zip(
            derived_intervals, recorded_intervals, strict=False
        ):
            difference += used != recorded_used
            tolerance = max(tolerance, slack(times[1] - times[0], *times))
            for time, recorded_time in zip(times, recorded_times, strict=True):
                difference = max(difference, abs(time - recorded_time))
        if difference > tolerance:
            yield Violation("node intervals", "(13)", f"node {node}", difference, tolerance)


def _merged_intervals(
    intervals: Iterable[NodeInterval],
) -> dict[int, list[tuple[int, float, float]]]:
    """(GPUs in use, start, end) by node; adjacent intervals with equal usage are merged."""
    merged: dict[int, list[tuple[int, float, float]]] = defaultdict(list)
    for interval in sorted(intervals, key=lambda u: (u.node, u.start, u.end)):
        before = merged[interval.node]
        if before and before[-1][0] == interval.used and before[-1][2] == interval.start:
            before[-1] = (interval.used, before[-1][1], interval.end)
        else:
            before.append((interval.used, interval.start, interval.end))
    return merged
