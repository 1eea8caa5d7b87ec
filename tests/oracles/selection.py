"""Brute force for resource selection, written from the formulation alone.

It shares no code with optsched: it reads the instance's JSON object and tries every way to give
each job nothing, or a node with a number of GPUs or a fraction. GPUs of a node are filled by
trying every grouping of its fractions; sums are exact rationals. Tiny instances only.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache

Choice = tuple[int, int, Fraction, float]
"""Node, GPUs on it, fraction of each, seconds per epoch."""
Allowed = Callable[[Sequence[Choice | None]], bool]
"""A side constraint on the jobs' choices; None is a postponed job."""


def optimum(
    instance: dict,
    node_opening: str = "free",
    sharing: bool = True,
    allowed: Allowed = lambda _: True,
) -> float | None:
    """Least (P1.1) among allowed selections; None when there is none."""
    found = selections(instance, node_opening, sharing, allowed)
    return min((cost for _, cost in found), default=None)


def fewest_waiting(
    instance: dict, node_opening: str = "free", sharing: bool = True
) -> tuple[int, float] | None:
    """The least number of jobs that wait, and the least (P1.1) with so many."""
    found = selections(instance, node_opening, sharing)
    return min(((len(instance["jobs"]) - len(ran), cost) for ran, cost in found), default=None)


def selections(
    instance: dict,
    node_opening: str,
    sharing: bool,
    allowed: Allowed = lambda _: True,
) -> Iterator[tuple[set[str], float]]:
    """Every allowed selection, by the names of the jobs that run, with its (P1.1)."""
    nodes, jobs = instance["nodes"], instance["jobs"]
    choices = [[None, *_choices(instance, job, sharing)] for job in jobs]
    want = min(len(jobs), len(nodes))
    for selection in itertools.product(*choices):
        opened = {choice[0] for choice in selection if choice}
        if node_opening == "printed" and len(opened) != want:
            continue
        if node_opening == "at-most" and len(opened) > want:
            continue
        if not allowed(selection):
            continue
        cost = _cost(instance, selection, sharing)
        if cost is not None:
            yield {job["name"] for job, c in zip(jobs, selection, strict=True) if c}, cost


def _choices(instance: dict, job: dict, sharing: bool) -> list[Choice]:
    """(node, GPUs, fraction, seconds per epoch) that the job's type and memory allow."""
    found = []
    for n, node in enumerate(instance["nodes"]):
        times = job["epoch_time"].get(node["gpu_type"])
        kind = instance["gpu_types"][node["gpu_type"]]
        if times is None:
            continue
        if job["memory_bytes"] <= kind["memory_bytes"]:
            found += [(n, k, Fraction(1), times[k - 1]) for k in range(1, node["gpus"] + 1)]
        for key, slowdown in kind["slowdown"].items() if sharing else ():
            if Fraction(job["memory_bytes"]) <= Fraction(key) * Fraction(kind["memory_bytes"]):
                found.append((n, 1, Fraction(key), times[0] * slowdown))
    return found


def _left(job: dict) -> list[tuple[float, float]]:
    values, weights = job["epochs"]["values"], job["epochs"]["probabilities"]
    done = job.get("completed_epochs", 0)
    kept = [(w - done, p) for w, p in zip(values, weights, strict=True) if w > done]
    total = sum(p for _, p in kept)
    return [(w, p / total) for w, p in kept]


def _cost(instance: dict, selection: tuple, sharing: bool) -> float | None:
    total = 0.0
    on_node: dict[int, list] = {}
    for job, choice in zip(instance["jobs"], selection, strict=True):
        due, left = job["due_date"] - instance["now"], _left(job)
        if choice is None:
            slowest = max(c[3] for c in _choices(instance, job, sharing)) * max(w for w, _ in left)
            worst = max(instance["interval"] + slowest - due, 0.0)
            postponed = instance["postponement_penalty"] * worst + max(-due, 0.0)
            total += job["tardiness_weight"] * postponed
            continue
        seconds = choice[3]
        late = sum(p * max(w * seconds - due, 0.0) for w, p in left)
        total += job["tardiness_weight"] * late
        mean = sum(p * w for w, p in left)
        on_node.setdefault(choice[0], []).append((choice[1], choice[2], seconds * mean))
    for n, here in on_node.items():
        node = instance["nodes"][n]
        whole = sum(k for k, f, _ in here if f == 1)
        used = whole + _fewest_gpus(tuple(sorted(f for _, f, _ in here if f < 1)))
        if used > node["gpus"]:
            return None
        total += min(seconds for _, _, seconds in here) * node["cost_rate"][used - 1]
    return total


@cache
def _fewest_gpus(fractions: tuple[Fraction, ...]) -> int:
    """Fewest GPUs that hold the fractions: every set of companions of the first is tried."""
    if not fractions:
        return 0
    first, rest = fractions[0], fractions[1:]
    best = len(fractions)
    for size in range(len(rest) + 1):
        for chosen in itertools.combinations(range(len(rest)), size):
            if first + sum(rest[i] for i in chosen) <= 1:
                others = tuple(f for i, f in enumerate(rest) if i not in chosen)
                best = min(best, 1 + _fewest_gpus(others))
    return best
