"""Explanation of infeasibility, common to all problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from optsched.display import Explanation

Proof = Literal["smallest", "irreducible", "sufficient"]
PROOFS: Mapping[Proof, str] = {
    "smallest": "no smaller set conflicts",
    "irreducible": "without any one of them the others do not conflict",
    "sufficient": "they conflict, but some of them may not be needed",
}


@dataclass(frozen=True)
class Member:
    """An object of the instance, or a row of a model: its kind, its name and its requirement."""

    kind: str
    name: str
    asks: str


@dataclass(frozen=True, repr=False)
class Conflict(Explanation):
    """Requirements that cannot be satisfied together, by how much, and a change that would do.

    Attributes
    ----------
    reason : str
        Why the members conflict, on one line.
    excess : float or None
        Amount by which the requirements exceed what is available, in `unit`.
    remedy : str
        A change that removes the conflict, on one line; empty where none is known.
    members : tuple of Member
        The objects in conflict.
    proof : str
        A key of `PROOFS`: whether fewer conflict.
    rows : tuple of Member
        Constraints of a model that cannot hold together, or whole families of constraints (of kind
        "equation") where the time limit ended the search for single ones.
    rows_proof : str
        Proof status of `rows`: "irreducible", or "sufficient" where the time ran out.
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
        return replace(self, rows=tuple(rows), rows_proof=proof)

    def to_dict(self) -> dict[str, Any]:
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
        rows = [[m.kind, m.name, m.asks] for m in (*self.members, *self.rows)]
        closing = [line for line in (self.reason, self.remedy) if line]
        for members, proof in ((self.members, self.proof), (self.rows, self.rows_proof)):
            if members:
                closing.append(f"{proof} set of {members[0].kind}s: {PROOFS[proof]}")
        headings = ["kind", "name", "requirement"]
        return f"{self.instance}: infeasible", headings, rows, "\n".join(closing)
