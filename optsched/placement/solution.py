"""A placement: how many replicas of each stage are on each server."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from optsched.display import listed, number
from optsched.placement.instance import MAX_REPLICAS, MAX_SERVERS, MAX_STAGES
from optsched.placement.options import PlacementOptions
from optsched.schema import FORMAT, OPTIONS, About, Between, Items, SolutionFile

MAX_OBJECTIVE = 1e300
_Count = Annotated[
    int, Between(-MAX_REPLICAS, MAX_REPLICAS)
]  # negative counts are allowed here; the checker reports them
_Row = Annotated[tuple[_Count, ...], Items(MAX_SERVERS)]


class PlacementSolution(SolutionFile):
    """Counts of replicas, stages x servers: x[s, m] of a-srpt (2)-(3)."""

    options_type = PlacementOptions

    schema_: Annotated[Literal["optsched/placement-solution"], FORMAT] = Field(alias="schema")
    counts: Annotated[
        tuple[_Row, ...],
        Items(MAX_STAGES),
        About(
            "x[s, m], replicas by stage (rows) and server (columns).",
            "replicas",
            [[5, 0, 3], [0, 8, 0]],
        ),
    ]
    objective: Annotated[
        Annotated[float, Between(-MAX_OBJECTIVE, MAX_OBJECTIVE)] | None,
        About("Claimed objective alpha, the iteration time.", "seconds", 0.196),
    ] = None
    options: Annotated[dict[str, Any], OPTIONS] = Field(default_factory=dict)

    def facts(self) -> dict[str, str]:
        servers = [sum(column) for column in zip(*self.counts, strict=False)]
        return {
            "instance": self.instance,
            "stages": str(len(self.counts)),
            "GPUs by server": listed(servers),
            "objective": number(self.objective, "s"),
        }

    @classmethod
    def of(cls, instance_name: str, counts: Sequence[Sequence[int]]) -> Self:
        """Create a solution from replicas by stage and server.

        >>> PlacementSolution.of("mine", [[2, 0], [1, 1]]).counts
        ((2, 0), (1, 1))
        """
        return cls(
            schema="optsched/placement-solution",
            version=1,
            instance=instance_name,
            counts=tuple(tuple(map(int, row)) for row in counts),
        )
