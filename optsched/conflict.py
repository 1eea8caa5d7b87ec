"""Why an instance has no solution: the smallest part of it that already has none.

One vocabulary for every problem. A *conflict* is a set of the instance's objects (jobs, replicas,
nodes, amounts of work) that nothing can satisfy together; what asks too much is its *members*, what
there is of it the *reason*, what would be enough the *remedy*. A model's conflict is a set of its
*rows*, each by its equation and the objects it speaks of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from heapq import heappop, heappush
from typing import Any, Literal

from optsched.display import Explanation

Proof = Literal["smallest", "irreducible", "sufficient"]
PROOFS: Mapping[Proof, str] = {
    "smallest": "no fewer conflict",
    "irreducible": "without any one of them the others do not conflict",
    "sufficient": "they conflict, but some of them may not be needed",
}
MOST_TRIES = 400
"""Subsets asked about in one search, unless told: each may be a solver's run."""
MOST_NODES = 20_000
"""Partial subsets looked at between two that are asked about."""

Counts = tuple[int, ...]
Fits = Callable[[Counts], bool | None]
"""Whether so many of each object have a solution together; None where that is not known."""


@dataclass(frozen=True)
class Member:
    """An object of the instance, or a row of a model: what kind it is, which, and what it asks."""

    kind: str
    name: str
    asks: str


@dataclass(frozen=True, repr=False)
class Conflict(Explanation):
    """What cannot be satisfied together, by how much, and what would be enough.

    Attributes
    ----------
    reason : str
        Why the members conflict, on one line.
    excess : float or None
        By how much they ask too much, in `unit`.
    remedy : str
        What would be enough, on one line; empty where nothing is known.
    members : tuple of Member
        The objects in conflict.
    proof : str
        A key of `PROOFS`: whether fewer conflict.
    rows : tuple of Member
        Of a model, where one was asked for: constraints that cannot hold together, or whole
        equations of kind "equation" where single rows would take too long to tell apart.
    rows_proof : str
        The same of them: "irreducible", or "sufficient" where the time ran out.
    measures : mapping
        The problem's own numbers, keys of the JSON object.
    """

    instance: str
    reason: str
    excess: float | None
    unit: str
    remedy: str
    members: tuple[Member, ...]
    proof: Proof = "smallest"
    rows: tuple[Member, ...] = ()
    rows_proof: Proof = "irreducible"
    measures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """Reason and remedy on one line."""
        return "; ".join(part for part in (self.reason, self.remedy) if part)

    def with_rows(self, rows: Sequence[Member], proof: Proof) -> Conflict:
        """The same with the rows of a model that conflict."""
        return replace(self, rows=tuple(rows), rows_proof=proof)

    def to_dict(self) -> dict[str, Any]:
        """The conflict as a JSON object."""
        return {
            "instance": self.instance,
            "status": "infeasible",
            "reason": self.reason,
            "excess": self.excess,
            "unit": self.unit,
            "remedy": self.remedy,
            "proof": self.proof,
            "members": [asdict(member) for member in self.members],
            "constraints": [asdict(row) for row in self.rows],
            "constraints_proof": self.rows_proof if self.rows else None,
            **self.measures,
        }

    def table(self) -> tuple[str, list[str], list[list[str]], str]:
        """Title, headings, a row a member and a constraint, and what would be enough."""
        rows = [[m.kind, m.name, m.asks] for m in (*self.members, *self.rows)]
        told = [self.reason, self.remedy]
        if self.members:
            told.append(f"{self.proof} set of {self.members[0].kind}s: {PROOFS[self.proof]}")
        if self.rows:
            told.append(f"{self.rows_proof} set of {self.rows[0].kind}s: {PROOFS[self.rows_proof]}")
        closing = "\n".join(filter(None, told))
        return f"{self.instance}: infeasible", ["what", "which", "asks"], rows, closing


def smallest_conflict(
    most: Sequence[int], fits: Fits, *, tries: int = MOST_TRIES
) -> tuple[Counts, Proof]:
    """The smallest part of a whole that has no solution itself.

    Whatever fits still fits with less of anything. First the whole is cut down until nothing more
    can be left out; then every smaller set is ruled out by sets that fit: a conflict has, of each
    set that fits, an object that is not in it (the hitting sets of Reiter, "A theory of diagnosis
    from first principles", 1987, for objects of which there are several alike).
    """
    search = _Search(tuple(most), fits, tries)
    found = search.cut_down()
    cut = search.out
    candidate = search.candidate(sum(found))
    while candidate is not None:
        if search.fits(candidate):
            search.grow(candidate)
        else:
            found = candidate
        candidate = search.candidate(sum(found))
    if search.unknown or cut:
        return found, "sufficient"
    return found, "irreducible" if search.out else "smallest"


class _Search:
    """Sets known to fit, and what is left of the tries."""

    def __init__(self, most: Counts, fits: Fits, tries: int) -> None:
        self.most, self.ask, self.tries = most, fits, tries
        self.known: list[Counts] = []
        self.unknown = False

    @property
    def out(self) -> bool:
        """Whether no try is left."""
        return self.tries <= 0

    def fits(self, counts: Counts) -> bool:
        """Whether a set fits, or is not known not to."""
        if any(_within(counts, each) for each in self.known):
            return True
        if self.out:
            return True
        self.tries -= 1
        told = self.ask(counts)
        self.unknown = self.unknown or told is None
        if told is not False:
            self.known.append(counts)
        return told is not False

    def cut_down(self) -> Counts:
        """The whole, object by object as few of each as still do not fit."""
        counts = self.most
        for at in range(len(counts)):
            low, high = 0, counts[at]  # the least number that does not fit, the others as they are
            while low < high:
                middle = (low + high) // 2
                if self.fits(_with(counts, at, middle)):
                    low = middle + 1
                else:
                    high = middle
            counts = _with(counts, at, high)
        return counts

    def grow(self, counts: Counts) -> None:
        """Make a set that fits as large as it still fits: it then rules out the more."""
        for at, most in enumerate(self.most):
            low, high = counts[at], most
            while low < high and not self.out:
                middle = (low + high + 1) // 2
                if self.fits(_with(counts, at, middle)):
                    low = middle
                else:
                    high = middle - 1
            counts = _with(counts, at, low)
        self.known.append(counts)

    def candidate(self, below: int) -> Counts | None:
        """The least set of fewer than `below` objects that is within none known to fit."""
        start = (0,) * len(self.most)
        queue, seen = [(0, start)], {start}
        while queue and len(seen) < MOST_NODES and not self.out:
            size, counts = heappop(queue)
            if size >= below:
                return None
            holder = next((each for each in self.known if _within(counts, each)), None)
            if holder is None and size:
                return counts
            for at, most in enumerate(self.most):
                more = 1 + (counts[at] if holder is None else holder[at])
                if more <= most:
                    following = _with(counts, at, more)
                    if following not in seen:
                        seen.add(following)
                        heappush(queue, (sum(following), following))
        if queue:
            self.tries = 0
        return None


def _within(counts: Counts, other: Counts) -> bool:
    return all(a <= b for a, b in zip(counts, other, strict=True))


def _with(counts: Counts, at: int, value: int) -> Counts:
    return (*counts[:at], value, *counts[at + 1 :])
