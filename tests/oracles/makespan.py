"""Oracle of makespans: every state a schedule can pass through, and exact ends from event to event.

Works on an instance's JSON document; nothing here comes from the package under test.

sjf-bco (1)-(9) in the readings of models/makespan: a job holds its GPUs from start to end, a slot
completes floor(slot / tau) iterations (or slot / tau under continuous progress), and tau grows with
the number of jobs that share the most crowded link the job uses.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from math import ceil, floor
from typing import NamedTuple

Placement = tuple[int, ...]
"""GPUs on each server."""
Allowed = Callable[[int, int, Placement], bool]


class State(NamedTuple):
    """Per job: iterations left, and where it runs (None: not started, or done)."""

    left: tuple[int, ...]
    where: tuple[Placement | None, ...]


def slowdown(network: dict, contending: int) -> float:
    """f of a link that p jobs share: linear, or listed for p = 1, 2, ... with the last beyond."""
    factor = network["degradation"]
    if isinstance(factor, list):
        return dict(enumerate(factor, start=1)).get(contending, factor[-1])
    share = network["contention_share"] * contending
    return max(1.0, share + factor * (share - 1))


def iteration_seconds(instance: dict, job: dict, servers: int, contending: int) -> float:
    """tau of a job on so many servers with p contending jobs (0 inside one server)."""
    network, gpus = instance["network"], job["gpus"]
    bandwidth = network["intra_bandwidth"]
    if servers > 1:
        bandwidth = network["inter_bandwidth"] / slowdown(network, contending)
    bytes_sent = job["gradient_bytes"] * (gpus - 1) / gpus
    overhead = network["overhead_per_server"] * servers
    if servers == 1 and not network["overhead_on_one_server"]:
        overhead = 0.0
    return (
        2 * bytes_sent / bandwidth
        + bytes_sent / instance["compute_rate"]
        + overhead
        + job["forward_time_per_sample"] * job["batch_size"]
        + job["backward_time"]
    )


def iterations_a_slot(instance: dict, job: dict, servers: int, contending: int) -> int:
    """phi under floor progress."""
    tau = iteration_seconds(instance, job, servers, contending)
    return floor(instance["slot"] / tau + 1e-9)


def contention(where: list[Placement]) -> list[int]:
    """p of each running job: on its most crowded server, the jobs that are only partly there."""
    spanning = [sum(count > 0 for count in place) > 1 for place in where]
    crowd = [
        sum(spans and place[s] > 0 for spans, place in zip(spanning, where, strict=True))
        for s in range(len(where[0]) if where else 0)
    ]
    return [
        max((crowd[s] for s, count in enumerate(place) if count > 0), default=0) if spans else 0
        for spans, place in zip(spanning, where, strict=True)
    ]


def placements(gpus: int, free: tuple[int, ...]) -> Iterator[Placement]:
    """Every way to take so many GPUs of the free ones."""
    *others, last = free
    for counts in product(*(range(min(gpus, room) + 1) for room in others)):
        if 0 <= gpus - sum(counts) <= last:
            yield (*counts, gpus - sum(counts))


def optimal_makespan(
    instance: dict,
    horizon: int,
    most_states: int = 60_000,
    *,
    contended: bool = True,
    allowed: Allowed | None = None,
) -> int | None:
    """The optimum of an instance with floor progress, None when it is above the horizon.

    Without contention every spanning job runs as if alone. `allowed` is a side constraint on a
    job's number, start and placement. Raises OverflowError when there are more states than that.
    """
    jobs, capacity = instance["jobs"], tuple(instance["servers"])
    speed = cache(lambda j, used, level: iterations_a_slot(instance, jobs[j], used, level))
    start = State(tuple(job["iterations"] for job in jobs), (None,) * len(jobs))
    now, seen = {start}, {start}
    for slot in range(1, horizon + 1):
        following: set[State] = set()

        def may_start(j: int, place: Placement, at: int = slot - 1) -> bool:
            return allowed is None or allowed(j, at, place)

        for state in now:
            for begun in _starts(jobs, capacity, state, 0, may_start):
                running = [j for j, place in enumerate(begun) if place is not None]
                if not running and allowed is None:
                    continue  # everything is there at slot 0: an idle slot gains nothing
                levels = contention([begun[j] for j in running])
                left, where = list(state.left), list(begun)
                for j, level in zip(running, levels, strict=True):
                    used = sum(count > 0 for count in begun[j])
                    left[j] = max(
                        0, left[j] - speed(j, used, level if contended else min(level, 1))
                    )
                    if left[j] == 0:
                        where[j] = None
                if not any(left):
                    return slot
                reached = State(tuple(left), tuple(where))
                following.add(reached if allowed else _canonical(capacity, reached))
        now = following if allowed else following - seen
        seen |= now
        if len(seen) > most_states:
            raise OverflowError(f"more than {most_states} states")
    return None


def ends_of(instance: dict, starts: list[float], where: list[Placement]) -> list[Fraction | None]:
    """When each job ends, from one start or end to the next; None for a job that never does.

    Exact in the starts and rates as given: a slot counts whole under floor progress.
    """
    jobs, slotted = instance["jobs"], instance["progress"] == "floor"
    left = [Fraction(job["iterations"]) for job in jobs]
    begin = [Fraction(start) for start in starts]
    ends: list[Fraction | None] = [None] * len(jobs)
    time = Fraction(0)
    while None in ends:
        running = [j for j in range(len(jobs)) if ends[j] is None and begin[j] <= time]
        events = [t for t in begin if t > time]
        levels = contention([where[j] for j in running])
        speeds = {}
        for j, level in zip(running, levels, strict=True):
            used = sum(count > 0 for count in where[j])
            if slotted:
                speeds[j] = Fraction(iterations_a_slot(instance, jobs[j], used, level))
            else:
                tau = iteration_seconds(instance, jobs[j], used, level)
                speeds[j] = Fraction(instance["slot"]) / Fraction(tau)
            if speeds[j] > 0:
                span = left[j] / speeds[j]
                events.append(time + (Fraction(ceil(span)) if slotted else span))
        if not events:
            return ends
        following = min(events)
        for j, speed in speeds.items():
            left[j] -= speed * (following - time)
            if left[j] <= 0:
                ends[j] = following
        time = following
    return ends


def violated_rule(instance: dict, solution: dict) -> tuple[str, float] | None:
    """The rule a schedule breaks and by how much, relative to what the rule compares."""
    jobs, servers = instance["jobs"], instance["servers"]
    runs = {run["name"]: run for run in solution["jobs"]}
    if sorted(run["name"] for run in solution["jobs"]) != sorted(job["name"] for job in jobs):
        return "jobs", 1.0
    starts, where = [], []
    for job in jobs:
        run = runs[job["name"]]
        if any(int(server) >= len(servers) for server in run["gpus"]):
            return "server", 1.0
        place = tuple(run["gpus"].get(str(s), 0) for s in range(len(servers)))
        if min(place) < 0 or sum(place) != job["gpus"]:
            return "gpus", 1.0
        if any(count > room for count, room in zip(place, servers, strict=True)):
            return "capacity", 1.0
        if run["start"] < 0:
            return "start", abs(run["start"])
        if instance["progress"] == "floor" and run["start"] != int(run["start"]):
            return "slot", 1.0
        starts.append(run["start"])
        where.append(place)
    ends = ends_of(instance, starts, where)
    if None in ends:
        return "end", 1.0
    finished = [end for end in ends if end is not None]
    worst = _over_capacity(servers, [Fraction(start) for start in starts], finished, where)
    if worst > 0:
        return "capacity", worst
    for job, end in zip(jobs, finished, strict=True):
        claimed = runs[job["name"]].get("end")
        if claimed is not None and claimed != end:
            return "claimed end", abs(float(Fraction(claimed) / end) - 1)
    late = max(finished) - instance["horizon"]
    return ("horizon", float(late / instance["horizon"])) if late > 0 else None


def makespan(instance: dict, solution: dict) -> float:
    """The last end of a schedule that breaks no rule."""
    runs = {run["name"]: run for run in solution["jobs"]}
    servers = range(len(instance["servers"]))
    ordered = [runs[job["name"]] for job in instance["jobs"]]
    where = [tuple(run["gpus"].get(str(s), 0) for s in servers) for run in ordered]
    ends = ends_of(instance, [run["start"] for run in ordered], where)
    return float(max(end for end in ends if end is not None))


def min_slots(instance: dict, job: dict) -> int | None:
    """Slots the job takes where it is fastest, alone; None when it can never run."""
    best: list[int] = []
    capacity = sorted(instance["servers"], reverse=True)
    for servers in range(1, min(job["gpus"], len(capacity)) + 1):
        level = int(servers > 1)
        if sum(capacity[:servers]) < job["gpus"]:
            continue
        tau = iteration_seconds(instance, job, servers, level)
        if tau <= 0:
            return None
        if instance["progress"] == "continuous":
            best.append(ceil(job["iterations"] * tau / instance["slot"]))
        elif iterations_a_slot(instance, job, servers, level) > 0:
            best.append(-(-job["iterations"] // iterations_a_slot(instance, job, servers, level)))
    return min(best, default=None)


def best_of_event_schedules(instance: dict) -> float:
    """The best schedule in which jobs start at 0 or at an end: an upper bound on the optimum."""
    jobs, capacity = instance["jobs"], tuple(instance["servers"])
    best = [float("inf")]

    def extend(starts: list[float | None], where: list[Placement | None], time: float) -> None:
        begun = [j for j, start in enumerate(starts) if start is not None]
        ends = _ends_of_some(instance, begun, starts, where)
        if len(begun) == len(jobs):
            best[0] = min(best[0], max(ends.values()))
            return
        if ends and max(ends.values()) >= best[0]:
            return
        active = [j for j in begun if ends[j] > time * (1 + 1e-12)]
        free = tuple(room - sum(where[j][s] for j in active) for s, room in enumerate(capacity))
        waiting = [j for j in range(len(jobs)) if starts[j] is None]
        for j in waiting:
            for place in placements(jobs[j]["gpus"], free):
                extend(
                    [time if i == j else start for i, start in enumerate(starts)],
                    [place if i == j else other for i, other in enumerate(where)],
                    time,
                )
        later = [end for end in ends.values() if end > time * (1 + 1e-12)]
        if later:
            extend(starts, where, min(later))

    extend([None] * len(jobs), [None] * len(jobs), 0.0)
    return best[0]


def _ends_of_some(
    instance: dict,
    begun: list[int],
    starts: list[float | None],
    where: list[Placement | None],
) -> dict[int, float]:
    part = {**instance, "jobs": [instance["jobs"][j] for j in begun]}
    ends = ends_of(part, [starts[j] or 0.0 for j in begun], [where[j] or () for j in begun])
    return {j: float(end) if end else float("inf") for j, end in zip(begun, ends, strict=True)}


def _starts(
    jobs: list[dict],
    capacity: tuple[int, ...],
    state: State,
    first: int,
    may_start: Callable[[int, Placement], bool],
) -> Iterator[tuple[Placement | None, ...]]:
    """Placements after some of the jobs from ``first`` on that wait have started, or none."""
    if first == len(jobs):
        yield state.where
        return
    yield from _starts(jobs, capacity, state, first + 1, may_start)
    if state.left[first] > 0 and state.where[first] is None:
        free = tuple(
            room - sum(place[s] for place in state.where if place is not None)
            for s, room in enumerate(capacity)
        )
        for place in placements(jobs[first]["gpus"], free):
            if may_start(first, place):
                where = (*state.where[:first], place, *state.where[first + 1 :])
                yield from _starts(jobs, capacity, State(state.left, where), first + 1, may_start)


def _canonical(capacity: tuple[int, ...], state: State) -> State:
    """The same state with equal servers in a fixed order."""
    running = [j for j, place in enumerate(state.where) if place is not None]
    if not running:
        return state
    columns = sorted(
        (capacity[s], tuple(state.where[j][s] for j in running)) for s in range(len(capacity))
    )
    order = sorted(range(len(capacity)), key=lambda s: capacity[s])
    where = list(state.where)
    for i, j in enumerate(running):
        place = [0] * len(capacity)
        for s, (_, column) in zip(order, columns, strict=True):
            place[s] = column[i]
        where[j] = tuple(place)
    return State(state.left, tuple(where))


def _over_capacity(
    servers: list[int], starts: list[Fraction], ends: list[Fraction], where: list[Placement]
) -> float:
    """The longest time for which a server holds too many GPUs, over its shortest run."""
    worst = 0.0
    edges = sorted({*starts, *ends})
    shortest = min(end - start for start, end in zip(starts, ends, strict=True))
    for begin, end in pairwise(edges):
        active = [j for j in range(len(starts)) if starts[j] <= begin and ends[j] >= end]
        if any(sum(where[j][s] for j in active) > room for s, room in enumerate(servers)):
            worst = max(worst, float((end - begin) / shortest))
    return worst
