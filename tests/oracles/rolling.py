"""Runs over time audited from their segments alone, and schedules by a clairvoyant to compare with.

Reads an instance's JSON and a run's segments; knows no policy. Costs, progress, capacity and
completions are worked out again from the statement of the problem.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from oracles.harness import pick
from oracles.selection import (
    Configuration,
    Oracle,
    RefusedError,
    configurations,
)
from oracles.selection_cases import draw_selection, draw_wide


class Stretch(NamedTuple):
    """A job on GPUs of a node for a while."""

    job: int
    start: float
    end: float
    node: int
    gpus: tuple[int, ...]
    fraction: float
    setup: float
    epochs: float


def seconds_per_epoch(instance: Mapping[str, Any], piece: Stretch, sharing: bool) -> float | None:
    """Of the job as it is seated; None if it may not be seated so."""
    job, node = instance["jobs"][piece.job], instance["nodes"][piece.node]
    indices = set(piece.gpus)
    if len(indices) != len(piece.gpus) or not indices <= set(range(node["gpus"])):
        return None
    found = configurations(instance, job, node, sharing)
    if piece.fraction == 1.0:
        return found.get(len(piece.gpus))
    shares = [c for c in found if not isinstance(c, int) and float(c) == piece.fraction]
    return found[shares[0]] if shares and len(piece.gpus) == 1 else None


def violations_of(
    instance: Mapping[str, Any],
    pieces: Sequence[Stretch],
    epochs: Sequence[float],
    completions: Sequence[float],
    sharing: bool,
) -> Iterator[str]:
    """Every rule that a run breaks."""
    yield from _overlaps(instance, pieces)
    slack = 1e-9 * max([1e-300, *(abs(piece.end) for piece in pieces)])
    for number, job in enumerate(instance["jobs"]):
        mine = sorted(piece for piece in pieces if piece.job == number)
        if not mine:
            yield f"{job['name']} never ran"
            continue
        if mine[0].start < max(job["submit_time"], instance["now"]) - slack:
            yield f"{job['name']} ran before it was submitted"
        for one, other in itertools.pairwise(mine):
            if other.start < one.end - slack:
                yield f"{job['name']} is in two places"
        before: Stretch | None = None
        for piece in mine:
            yield from _progress(instance, piece, before, sharing, slack)
            before = piece
        made = math.fsum(piece.epochs for piece in mine)
        wanted = epochs[number] - job.get("completed_epochs", 0)
        if not math.isclose(made, wanted, rel_tol=1e-7):
            yield f"{job['name']} made {made} of {wanted} epochs"
        if not math.isclose(completions[number], mine[-1].end, rel_tol=1e-12):
            yield f"{job['name']} completed at {completions[number]}, ran until {mine[-1].end}"


def _progress(
    instance: Mapping[str, Any], piece: Stretch, before: Stretch | None, sharing: bool, slack: float
) -> Iterator[str]:
    time = seconds_per_epoch(instance, piece, sharing)
    if time is None:
        yield f"not admissible: {piece}"
        return
    length = piece.end - piece.start
    setup = instance.get("reconfiguration_delay", 0.0)
    if before is None:
        setup = 0.0
    elif abs(before.end - piece.start) <= slack and _alike(before, piece):
        setup = 0.0 if before.epochs else piece.setup  # setting up may go on
    if abs(piece.setup - min(setup, length)) > slack:
        yield f"set up in {piece.setup}, not {setup}: {piece}"
    made = max(0.0, length - piece.setup) / time
    if not math.isclose(made, piece.epochs, rel_tol=1e-7, abs_tol=slack / time):
        yield f"{made} epochs, not {piece.epochs}: {piece}"


def _alike(one: Stretch, other: Stretch) -> bool:
    return (one.node, len(one.gpus), one.fraction) == (other.node, len(other.gpus), other.fraction)


def _overlaps(instance: Mapping[str, Any], pieces: Sequence[Stretch]) -> Iterator[str]:
    moments = sorted({piece.start for piece in pieces})
    for moment in moments:
        load: dict[tuple[int, int], Fraction] = {}
        for piece in pieces:
            if piece.start <= moment < piece.end:
                share = _share(instance, piece)
                for gpu in piece.gpus:
                    key = piece.node, gpu
                    load[key] = load.get(key, Fraction(0)) + share
        for (node, gpu), share in load.items():
            if share > 1:
                yield f"GPU {gpu} of node {node} holds {share} at {moment}"


def _share(instance: Mapping[str, Any], piece: Stretch) -> Fraction:
    kind = instance["gpu_types"][instance["nodes"][piece.node]["gpu_type"]]
    exact = {float(Fraction(key)): Fraction(key) for key in kind["slowdown"]}
    return exact.get(piece.fraction, Fraction(piece.fraction))


def energy_cost(instance: Mapping[str, Any], pieces: Sequence[Stretch]) -> float:
    """The integral of c_nk, k the GPUs of node n that anybody uses."""
    parts = []
    for number, node in enumerate(instance["nodes"]):
        mine = [piece for piece in pieces if piece.node == number]
        moments = sorted({moment for piece in mine for moment in (piece.start, piece.end)})
        for start, end in itertools.pairwise(moments):
            used = {g for p in mine if p.start <= start and p.end >= end for g in p.gpus}
            if used:
                parts.append((end - start) * node["cost_rate"][len(used) - 1])
    return math.fsum(parts)


def tardiness_cost(instance: Mapping[str, Any], completions: Sequence[float]) -> float:
    """Sum of eta_j (C_j - d_j)^+."""
    return math.fsum(
        job["tardiness_weight"] * max(0.0, end - job["due_date"])
        for job, end in zip(instance["jobs"], completions, strict=True)
    )


def seats(instance: Mapping[str, Any], job: Mapping[str, Any], sharing: bool) -> list[Any]:
    """(node, configuration, seconds per epoch) wherever a job may sit."""
    return [
        (number, configuration, time)
        for number, node in enumerate(instance["nodes"])
        for configuration, time in configurations(instance, job, node, sharing).items()
    ]


def cost_alone(instance: Mapping[str, Any], epochs: float, sharing: bool) -> float:
    """The least cost of a single job that knows its epochs, at no delay.

    Time spent per seat is a linear programme with two rows once the completion is given, so at most
    two seats are used; the completion is the due date's or that of one seat alone.
    """
    job = instance["jobs"][0]
    work = epochs - job.get("completed_epochs", 0)
    room = job["due_date"] - max(job["submit_time"], instance["now"])
    options = []
    for node, configuration, time in seats(instance, job, sharing):
        used = configuration if isinstance(configuration, int) else 1
        options.append((time, instance["nodes"][node]["cost_rate"][used - 1]))
    weight = job["tardiness_weight"]
    best = min(work * t * rate + weight * max(0.0, work * t - room) for t, rate in options)
    for (fast, dear), (slow, cheap) in itertools.permutations(options, 2):
        if fast * work < room < slow * work:
            part = (slow * work - room) / (slow - fast)  # epochs made on the faster seat
            best = min(best, part * fast * dear + (work - part) * slow * cheap)
    return best


def best_list_schedule(
    instance: Mapping[str, Any], epochs: Sequence[float], sharing: bool
) -> float:
    """The least cost of schedules without preemption in which jobs start in some order."""
    best = math.inf
    choices = [seats(instance, job, sharing) for job in instance["jobs"]]
    for order in itertools.permutations(range(len(choices))):
        for chosen in itertools.product(*choices):
            pieces: list[Stretch] = []
            for number in order:
                node, configuration, time = chosen[number]
                left = epochs[number] - instance["jobs"][number].get("completed_epochs", 0)
                pieces.append(_earliest(instance, pieces, number, node, configuration, left * time))
            ends = [0.0] * len(choices)
            for piece in pieces:
                ends[piece.job] = piece.end
            best = min(best, energy_cost(instance, pieces) + tardiness_cost(instance, ends))
    return best


def _earliest(
    instance: Mapping[str, Any],
    pieces: Sequence[Stretch],
    number: int,
    node: int,
    configuration: Configuration,
    length: float,
) -> Stretch:
    count, fraction = (
        (configuration, 1.0) if isinstance(configuration, int) else (1, float(configuration))
    )
    share = Fraction(1) if isinstance(configuration, int) else configuration
    submitted = max(instance["jobs"][number]["submit_time"], instance["now"])
    for start in sorted({submitted, *(p.end for p in pieces if p.end > submitted)}):
        load = [Fraction(0)] * instance["nodes"][node]["gpus"]
        for piece in pieces:
            if piece.node == node and piece.end > start:  # later ones count as there already
                for gpu in piece.gpus:
                    load[gpu] += _share(instance, piece)
        room = sorted((g for g, u in enumerate(load) if u + share <= 1), key=lambda g: -load[g])
        if len(room) >= count:
            gpus = tuple(room[:count])
            return Stretch(number, start, start + length, node, gpus, fraction, 0.0, 0.0)
    raise AssertionError("a node never empties")


def random_run(
    instance: Mapping[str, Any], epochs: Sequence[float], sharing: bool, rng: np.random.Generator
) -> float:
    """The cost of a run that stops, moves and changes jobs at random; nothing delays it.

    At each arrival, end and moment drawn between them the jobs that are there are seated anew, in a
    drawn order: where they were, where they would most like to be, or wherever there is room.
    """
    jobs = instance["jobs"]
    ready = [max(job["submit_time"], instance["now"]) for job in jobs]
    left = [made - job.get("completed_epochs", 0) for made, job in zip(epochs, jobs, strict=True)]
    choices = [seats(instance, job, sharing) for job in jobs]
    wanted = [found[int(rng.integers(len(found)))] for found in choices]
    restless = float(rng.choice([0.0, 0.0, 0.2, 1.0]))
    ends, cost, now = [0.0] * len(jobs), 0.0, min(ready)
    while any(work > 0 for work in left):
        here = [j for j in range(len(jobs)) if left[j] > 0 and ready[j] <= now]
        load: list[list[Fraction]] = [[Fraction(0)] * node["gpus"] for node in instance["nodes"]]
        running: dict[int, float] = {}
        for j in (here[i] for i in rng.permutation(len(here))):
            if rng.random() < restless:
                wanted[j] = choices[j][int(rng.integers(len(choices[j])))]
            others = [choices[j][i] for i in rng.permutation(len(choices[j]))]
            for node, configuration, time in (wanted[j], *(others if rng.random() < 0.5 else ())):
                if _sit(load[node], configuration):
                    running[j] = time
                    break
        moments = [now + left[j] * time for j, time in running.items()]
        moments += [time for time in ready if time > now]
        if not moments:
            continue
        then = min(moments)
        if rng.random() < restless / 2:
            then = now + (then - now) * float(rng.random())
        rates = [
            node["cost_rate"][sum(share > 0 for share in used) - 1] if any(used) else 0.0
            for node, used in zip(instance["nodes"], load, strict=True)
        ]
        cost += (then - now) * math.fsum(rates)
        for j, time in running.items():
            done = now + left[j] * time <= then
            left[j] = 0.0 if done else left[j] - (then - now) / time
            ends[j] = then
        now = then
    return cost + tardiness_cost(instance, ends)


def _sit(load: list[Fraction], configuration: Configuration) -> bool:
    """Take GPUs of a node where they are free; a fraction goes beside others if it can."""
    if isinstance(configuration, int):
        free = [gpu for gpu, used in enumerate(load) if used == 0][:configuration]
        if len(free) < configuration:
            return False
        for gpu in free:
            load[gpu] = Fraction(1)
        return True
    room = [gpu for gpu, used in enumerate(load) if used + configuration <= 1]
    if room:
        load[max(room, key=lambda gpu: load[gpu])] += configuration
    return bool(room)


def draw_rolling(rng: np.random.Generator, wide: bool = False) -> dict[str, Any]:
    """An instance that the contract admits; its unit of time is in provenance."""
    while True:
        base = draw_wide(rng) if wide else draw_selection(rng)
        try:
            Oracle(base)
        except RefusedError:
            continue
        break
    times = [t for job in base["jobs"] for row in job["epoch_time"].values() for t in row]
    second = float(np.median(times))
    interval = pick(rng, (3.0, 20.0, 1e4)) * second
    together = rng.random() < 0.35
    gaps = [0.0, 0.0, second, times[0], float(rng.uniform(0, 20)) * second]
    at = base["now"]
    jobs = []
    for job in base["jobs"]:
        at += 0.0 if together else pick(rng, gaps)
        most, least = job["epochs"]["values"][-1], job["completed_epochs"]
        truths = [value for value in job["epochs"]["values"] if value > least]
        true = pick(rng, (None, pick(rng, truths), most, (most + least) / 2))
        due = job["due_date"] + pick(rng, (0.0, at - base["now"]))
        if wide:  # one that need not begin for thousands of decisions is left waiting
            due = min(due, at + 100 * interval)
        timed = {"due_date": due}
        jobs.append({**job, **timed, "submit_time": at, "true_epochs": true})
    return {
        **base,
        "schema": "optsched/rolling",
        "interval": interval,
        "reconfiguration_delay": pick(rng, (0.0, 0.0, 0.25, 2.0)) * second,
        "provenance": {"second": second},
        "jobs": jobs,
    }
