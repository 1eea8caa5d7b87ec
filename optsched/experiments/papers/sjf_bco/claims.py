"""The claims of figures 4 to 7 of sjf-bco, each a test and a number on the runs of one draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from optsched.experiments.papers.sjf_bco.runs import Point

PAPER = ("SJF-BCO", "FF", "LS")
"""The policies whose fall the paper states in words: RAND finds no schedule on 10 servers."""


@dataclass(frozen=True)
class Claim:
    """What the paper says of a figure.

    Attributes
    ----------
    words : str
        The claim.
    holds : callable
        Whether it holds on the runs of one draw.
    measure : str
        What the number says.
    value : callable
        The number of one draw.
    why : str
        For a claim that fails: what was found when the runs were taken apart.
    """

    words: str
    holds: Callable[[list[Point]], bool]
    measure: str
    value: Callable[[list[Point]], float]
    why: str = ""


def makespans(points: list[Point], policy: str = "SJF-BCO") -> list[float]:
    """By x; infinity where the policy finds no schedule within the horizon."""
    chosen = sorted((p for p in points if p.policy == policy), key=lambda p: p.x)
    return [float("inf") if p.makespan is None else p.makespan for p in chosen]


def to_best_makespan(points: list[Point]) -> float:
    """SJF-BCO's makespan over the least of the others'."""
    others = {p.policy for p in points} - {"SJF-BCO"}
    return makespans(points)[0] / min(makespans(points, other)[0] for other in others)


def to_best_mean(points: list[Point]) -> float:
    """SJF-BCO's mean completion time over the least of the others'."""
    found = {p.policy: p.mean_completion for p in points}
    means = {policy: float("inf") if mean is None else mean for policy, mean in found.items()}
    return means.pop("SJF-BCO") / min(means.values())


def turns_twice(points: list[Point]) -> bool:
    """Drops, then rises, then drops again, as x grows."""
    steps = [b - a for a, b in pairwise(makespans(points))]
    signs = [step < 0 for step in steps if step]
    turns = [s for i, s in enumerate(signs) if i == 0 or s != signs[i - 1]]
    return turns[:3] == [True, False, True]


def last_to_first(points: list[Point]) -> float:
    """The makespan at the largest x over that at the least."""
    values = makespans(points)
    return values[-1] / values[0]


def all_fall(points: list[Point]) -> bool:
    """Whether FF, LS and SJF-BCO end lower than they begin."""
    return all(makespans(points, p)[-1] < makespans(points, p)[0] for p in PAPER)


def least_fall(points: list[Point]) -> float:
    """The least of their drops, in slots."""
    return min(_drop(points, policy) for policy in PAPER)


def first_fit_lead(points: list[Point]) -> float:
    """FF's drop less the largest of LS's and SJF-BCO's, in slots."""
    return _drop(points, "FF") - max(_drop(points, p) for p in PAPER if p != "FF")


def never_rises(points: list[Point]) -> bool:
    """Whether the makespan never rises as x grows."""
    return all(b <= a for a, b in pairwise(makespans(points)))


def _drop(points: list[Point], policy: str) -> float:
    values = makespans(points, policy)
    return values[0] - values[-1]
