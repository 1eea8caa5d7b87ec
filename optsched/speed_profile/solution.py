"""A speed profile: which speed from which epoch to which."""

from typing import Annotated, Any, Literal

from pydantic import Field

from optsched.display import number
from optsched.schema import FORMAT, OPTIONS, About, Between, FileModel, Items, Number, SolutionFile
from optsched.speed_profile.instance import MAX_SPEEDS

Status = Literal["slack", "binding", "infeasible"]


class Piece(FileModel):
    """Epochs ``from``..``to`` at one speed, given by its 0-based index."""

    from_: Annotated[Number, About("Where the piece starts.", "epochs", 0)] = Field(alias="from")
    to: Annotated[Number, About("Where it ends.", "epochs", 60)]
    speed: Annotated[
        int, Between(-1, MAX_SPEEDS), About("The 0-based index of its speed.", "index", 1)
    ]


class SpeedProfileSolution(SolutionFile):
    """Pieces that cover completed..w^max, and the status of the deadline."""

    schema_: Annotated[Literal["optsched/speed-profile-solution"], FORMAT] = Field(alias="schema")
    pieces: Annotated[
        tuple[Piece, ...],
        Items(10**6),
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
        return {
            "instance": self.instance,
            "status": self.status,
            "pieces": str(len(self.pieces)),
            "objective": number(self.objective, "J"),
        }
