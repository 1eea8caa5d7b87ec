"""A speed profile: which speed from which epoch to which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import FailFast, Field

from optsched.display import number
from optsched.schema import FORMAT, OPTIONS, About, Between, FileModel, Number, SolutionFile
from optsched.speed_profile.instance import MOST_SPEEDS

Status = Literal["slack", "binding", "infeasible"]


class Piece(FileModel):
    """Epochs ``from``..``to`` at one speed, given by its 0-based index."""

    from_: Annotated[Number, About("Where the piece starts.", "epochs", 0)] = Field(alias="from")
    to: Annotated[Number, About("Where it ends.", "epochs", 60)]
    speed: Annotated[
        int, Between(-1, MOST_SPEEDS), About("The 0-based index of its speed.", "index", 1)
    ]


class SpeedProfileSolution(SolutionFile):
    """Pieces that cover completed..w^max, and what the deadline did to them."""

    schema_: Annotated[Literal["optsched/speed-profile-solution"], FORMAT] = Field(alias="schema")
    pieces: Annotated[
        tuple[Piece, ...],
        FailFast(),
        Field(strict=False, max_length=10**6),
        About("Pieces that cover completed..w^max; none if the deadline cannot be met."),
    ]
    status: Annotated[
        Status,
        About(
            "Whether the deadline is met with time to spare, met exactly, or cannot be met.",
            "",
            "slack",
        ),
    ]
    objective: Annotated[
        Number | None, About("The expected energy claimed.", "joules", 51000.0)
    ] = None
    options: Annotated[dict[str, Any], OPTIONS] = Field(default_factory=dict)

    def facts(self) -> dict[str, str]:
        """What it is, for a prompt or a page."""
        return {
            "instance": self.instance,
            "status": self.status,
            "pieces": str(len(self.pieces)),
            "objective": number(self.objective, "J"),
        }

    @classmethod
    def of(cls, name: str, pieces: Sequence[tuple[float, float, int]], status: str) -> Self:
        """Make a solution of (from, to, speed) triples.

        Parameters
        ----------
        name : str
            Of the instance.
        pieces : sequence of tuple[float, float, int]
            Epochs, epochs and 0-based index of a speed.
        status : str
            "slack", "binding" or "infeasible".
        """
        return cls.from_dict(
            {
                "schema": "optsched/speed-profile-solution",
                "version": 1,
                "instance": name,
                "pieces": [{"from": a, "to": b, "speed": k} for a, b, k in pieces],
                "status": status,
            }
        )
