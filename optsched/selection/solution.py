"""A selection: for each job its node, GPUs and fraction, or nothing when it is postponed."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import FailFast, Field

from optsched.display import number
from optsched.schema import Between, FileModel, Name, Number, SolutionFile
from optsched.selection.instance import MOST_GPUS_PER_NODE, MOST_JOBS, MOST_TYPES

_Gpu = Annotated[int, Between(-MOST_GPUS_PER_NODE, 2**20)]  # a bad index is the checker's to report
_Prices = dict[Name, Annotated[tuple[Number, ...], Field(strict=False, max_length=1024)]]


class Certificate(FileModel):
    """Prices that prove a lower bound; the checker recomputes it without a solver.

    Attributes
    ----------
    jobs : tuple of float
        lam_j, dollars, in the order of the instance's jobs.
    slots : dict
        mu_tc, dollars, by GPU type: sizes 1..K, then fractions, largest first.
    opening : float
        theta, dollars per node; 0 unless ``node_opening`` is "printed".
    bound : float
        The bound claimed, dollars.
    """

    jobs: Annotated[tuple[Number, ...], FailFast(), Field(strict=False, max_length=MOST_JOBS)]
    slots: Annotated[_Prices, Field(max_length=MOST_TYPES)]
    opening: Number = 0.0
    bound: Number


class JobPlacement(FileModel):
    """Where a job runs: a node's name (None: postponed), GPU indices on it, and the fraction."""

    name: Name
    node: Name | None
    gpus: Annotated[
        tuple[_Gpu, ...], FailFast(), Field(strict=False, max_length=4 * MOST_GPUS_PER_NODE)
    ] = ()
    fraction: Number = 1.0


class SelectionSolution(SolutionFile):
    """The decisions: node, GPUs and fraction by job.

    Attributes
    ----------
    objective : float or None
        The value claimed, (P1.1) in dollars.
    options : dict
        The options that change the value.
    certificate : Certificate or None
        Prices behind a bound, from method ``columns``.
    """

    schema_: Literal["optsched/selection-solution"] = Field(alias="schema")
    jobs: Annotated[
        tuple[JobPlacement, ...], FailFast(), Field(strict=False, max_length=2 * MOST_JOBS)
    ]
    objective: Number | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    certificate: Certificate | None = None

    def facts(self) -> dict[str, str]:
        """What it is, for a prompt or a page."""
        placed = sum(job.node is not None for job in self.jobs)
        return {
            "instance": self.instance,
            "jobs": str(len(self.jobs)),
            "placed": str(placed),
            "objective": number(self.objective, "$"),
        }

    def to_dict(self) -> dict[str, Any]:
        """The solution as the JSON object of its file."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)
