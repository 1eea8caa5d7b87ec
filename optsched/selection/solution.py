"""A selection: for each job its node, GPUs and fraction, or nothing when it is postponed."""

from typing import Annotated, Any, Literal

from pydantic import Field

from optsched.display import number
from optsched.schema import (
    FORMAT,
    OPTIONS,
    About,
    Between,
    FileModel,
    Items,
    Name,
    Number,
    SolutionFile,
)
from optsched.selection.instance import MAX_GPUS_PER_NODE, MAX_JOBS, MAX_TYPES

# wide range on purpose: the checker reports bad indices
_Gpu = Annotated[int, Between(-MAX_GPUS_PER_NODE, 2**20)]
_Prices = dict[Name, Annotated[tuple[Number, ...], Field(strict=False, max_length=1024)]]


class Certificate(FileModel):
    """Prices that prove a lower bound; the checker recomputes it without a solver."""

    jobs: Annotated[
        tuple[Number, ...],
        Items(MAX_JOBS),
        About("lam_j, in the order of the instance's jobs.", "dollars", [1.5, 0.2]),
    ]
    slots: Annotated[
        _Prices,
        Field(max_length=MAX_TYPES),
        About(
            "mu_tc by GPU type: sizes 1..K, then fractions, largest first.",
            "dollars",
            {"K80": [0.1, 0.3]},
        ),
    ]
    opening: Annotated[
        Number, About("theta, for each node; 0 unless `node_opening` is printed.", "dollars", 0.0)
    ] = 0.0
    bound: Annotated[Number, About("The bound claimed.", "dollars", 12.5)]


class JobPlacement(FileModel):
    """Where a job runs: a node's name (None: postponed), GPU indices on it, and the fraction."""

    name: Annotated[Name, About("The job's name.", "", "j0")]
    node: Annotated[Name | None, About("The name of its node; none: postponed.", "", "n0")]
    gpus: Annotated[
        tuple[_Gpu, ...],
        Items(4 * MAX_GPUS_PER_NODE),
        About("0-based indices of its GPUs on the node.", "index", [0, 1]),
    ] = ()
    fraction: Annotated[Number, About("Fraction of each GPU that the job uses.", "share", 1.0)] = (
        1.0
    )


class SelectionSolution(SolutionFile):
    """The decisions: node, GPUs and fraction by job."""

    schema_: Annotated[Literal["optsched/selection-solution"], FORMAT] = Field(alias="schema")
    jobs: Annotated[
        tuple[JobPlacement, ...], Items(2 * MAX_JOBS), About("Every job of the instance, once.")
    ]
    objective: Annotated[Number | None, About("The value claimed, (P1.1).", "dollars", 12.75)] = (
        None
    )
    options: Annotated[dict[str, Any], OPTIONS] = Field(default_factory=dict)
    certificate: Annotated[
        Certificate | None, About("Prices behind a bound, from method `columns`.")
    ] = None

    def facts(self) -> dict[str, str]:
        placed = sum(job.node is not None for job in self.jobs)
        return {
            "instance": self.instance,
            "jobs": str(len(self.jobs)),
            "placed": str(placed),
            "objective": number(self.objective, "$"),
        }

    def to_dict(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)
