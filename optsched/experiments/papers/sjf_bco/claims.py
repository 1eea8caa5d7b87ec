"""The claims of figures 4 to 7 of sjf-bco, each a test and a number on the runs of one draw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from optsched.experiments.papers.verdict import Finding
from optsched.experiments.statistics import spread

if TYPE_CHECKING:
    import pandas as pd

STRENGTHS = ("mild", "strong")
WORLDS = {
    "mild": "mild contention",
    "strong": "strong contention",
    "mild, lambda 8": "mild contention and lambda 8",
}
"""Within 15% of the execution time as the paper says, beyond that, and what it leaves open of
SJF-BCO at its other end: lambda is 1 elsewhere."""
PAPER = ("SJF-BCO", "FF", "LS")
"""The policies whose fall the paper states: RAND mostly has no schedule on 10 servers (strong)."""
MOSTLY = 0.75
"""Share of draws from which on a claim counts as holding mostly."""


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
    holds: Callable[[pd.DataFrame], bool]
    measure: str
    value: Callable[[pd.DataFrame], float]
    why: str = ""


@dataclass(frozen=True)
class Tally:
    """In how many draws a claim holds, and its number in each, by world."""

    claim: Claim
    draws: int
    holds: dict[str, int]
    values: dict[str, list[float]]

    @classmethod
    def of(cls, claim: Claim, runs: pd.DataFrame) -> Tally:
        """Test a claim on every draw."""
        draws = {
            str(world): [draw for _, draw in own.groupby("seed")]
            for world, own in runs.groupby("contention", sort=False)
        }
        return cls(
            claim,
            runs["seed"].nunique(),
            {w: sum(bool(claim.holds(draw)) for draw in own) for w, own in draws.items()},
            {w: [claim.value(draw) for draw in own] for w, own in draws.items()},
        )

    @property
    def finding(self) -> Finding:
        """Holds in all draws of all worlds, mostly in one of them, or in none."""
        if min(self.holds.values()) == self.draws:
            return Finding.HOLDS
        return Finding.PARTLY if max(self.holds.values()) >= MOSTLY * self.draws else Finding.FAILS

    def where(self) -> str:
        """Such as "holds where there is strong contention (20 of 20 draws); ...": mostly."""
        said = []
        for word, mostly in (("holds", True), ("fails", False)):
            worlds = [
                f"{WORLDS[w]} ({n} of {self.draws} draws)"
                for w, n in self.holds.items()
                if (n >= MOSTLY * self.draws) is mostly
            ]
            said += [f"{word} where there is {', '.join(worlds)}"] if worlds else []
        return "; ".join(said)

    def spread(self) -> str:
        """Medians and ranges of the claim's number."""
        said = ", ".join(f"{c} {spread(values, to=' to ')}" for c, values in self.values.items())
        return f"{self.claim.measure}: {said}"

    def __str__(self) -> str:
        return f"Claim: {self.claim.words}. {self.where()}: {self.finding}. {self.spread()}."


def makespans(runs: pd.DataFrame, policy: str = "SJF-BCO") -> list[float]:
    """By x; infinity where the policy finds no schedule within the horizon."""
    return _values(runs, policy, "makespan")


def to_best(runs: pd.DataFrame, column: str) -> float:
    """SJF-BCO's makespan or mean completion time over the least of the others'."""
    others = set(runs["policy"]) - {"SJF-BCO"}
    least = min(_values(runs, policy, column)[0] for policy in others)
    return _values(runs, "SJF-BCO", column)[0] / least


def turns_twice(runs: pd.DataFrame) -> bool:
    """Drops, then rises, then drops again, as x grows."""
    signs = [b < a for a, b in pairwise(makespans(runs)) if a != b]
    turns = [s for i, s in enumerate(signs) if i == 0 or s != signs[i - 1]]
    return turns[:3] == [True, False, True]


def last_to_first(runs: pd.DataFrame) -> float:
    """The makespan at the largest x over that at the least."""
    values = makespans(runs)
    return values[-1] / values[0]


def drops(runs: pd.DataFrame, policies: Sequence[str] = PAPER) -> list[float]:
    """By how many slots policies' makespans end lower than they begin."""
    ends = [makespans(runs, policy) for policy in policies]
    return [values[0] - values[-1] for values in ends]


def first_fit_lead(runs: pd.DataFrame) -> float:
    """FF's drop less the largest of LS's and SJF-BCO's, in slots."""
    return drops(runs, ["FF"])[0] - max(drops(runs, ["SJF-BCO", "LS"]))


def never_rises(runs: pd.DataFrame) -> bool:
    """Whether the makespan never rises as x grows."""
    return all(b <= a for a, b in pairwise(makespans(runs)))


def _values(runs: pd.DataFrame, policy: str, column: str) -> list[float]:
    own = runs[runs["policy"] == policy].sort_values("x")
    return [float(value) for value in own[column].fillna(float("inf"))]
