"""A packing: the node and the GPUs of each task that is placed."""

from typing import Annotated, Any, Literal

from pydantic import Field

from optsched.display import number
from optsched.packing.instance import MAX_ARRIVALS, MAX_GPUS_PER_NODE
from optsched.schema import FORMAT, OPTIONS, About, Between, FileModel, Items, Number, SolutionFile

_Index = Annotated[int, Between(-1, 2**20)]  # wide on purpose: the checker reports bad indices


class TaskPlacement(FileModel):
    """Where a task runs."""

    task: Annotated[_Index, About("The task: its 0-based place in the arrivals.", "index", 0)]
    node: Annotated[_Index, About("The 0-based index of its node.", "index", 4)]
    gpus: Annotated[
        tuple[_Index, ...],
        Items(MAX_GPUS_PER_NODE),
        About("0-based indices of its GPUs on the node; none without GPUs.", "index", [0]),
    ] = ()


class PackingSolution(SolutionFile):
    """The tasks that are placed; tasks that are not listed are rejected."""

    schema_: Annotated[Literal["optsched/packing-solution"], FORMAT] = Field(alias="schema")
    placements: Annotated[
        tuple[TaskPlacement, ...], Items(MAX_ARRIVALS), About("The tasks that are placed.")
    ]
    objective: Annotated[Number | None, About("The idle GPUs claimed.", "GPUs", 285.5)] = None
    options: Annotated[dict[str, Any], OPTIONS] = Field(default_factory=dict)

    @property
    def tuples(self) -> list[tuple[int, int, tuple[int, ...]]]:
        return [(placed.task, placed.node, placed.gpus) for placed in self.placements]

    def facts(self) -> dict[str, str]:
        return {
            "instance": self.instance,
            "placed": f"{len(self.placements)} tasks",
            "objective": number(self.objective, "GPUs idle"),
        }
