"""A whole problem outside the package, in one file: 1 || sum w_j C_j.

Jobs run one after another on one machine; the sum of their weighted completion times is to be
small. Smith's rule, longest weight per second first, is optimal.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import Field

from optsched.checking import CheckReport, Violation, claim_violation
from optsched.errors import InputError
from optsched.problem import Method, Problem
from optsched.result import Outcome, Termination
from optsched.schema import FileModel, InstanceFile, Name, Positive, Version, parse

NAME = "single-machine"


class MachineJob(FileModel):
    """Seconds it takes, and what a second of its completion time weighs."""

    seconds: Positive
    weight: Positive


class MachineInstance(InstanceFile):
    """The jobs."""

    schema_: Literal["optsched/single-machine"] = Field(alias="schema")  # type: ignore[assignment]
    jobs: Annotated[tuple[MachineJob, ...], Field(strict=False, min_length=1, max_length=10_000)]


class MachineSolution(FileModel):
    """The order in which the jobs run."""

    schema_: Literal["optsched/single-machine-solution"] = Field(alias="schema")
    version: Version
    instance: Name
    order: Annotated[tuple[int, ...], Field(strict=False)]
    objective: float | None = None
    options: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def from_dict(cls, document: Any, source: str = "solution") -> Self:
        return parse(cls, document, source)

    def to_dict(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True)


class MachineOptions:
    """There are none."""

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        for name in values:
            raise InputError("options", name, "an unknown option", "none")
        return cls()

    def to_dict(self) -> dict[str, Any]:
        return {}


def check(
    instance: MachineInstance, solution: MachineSolution, options: dict[str, Any] | None = None
) -> CheckReport:
    """Every job once; the objective from the order alone."""
    if sorted(solution.order) != list(range(len(instance.jobs))):
        return CheckReport(None, (Violation("every job once", "", "order", 1),))
    time = total = 0.0
    for index in solution.order:
        time += instance.jobs[index].seconds
        total += instance.jobs[index].weight * time
    claim = None if solution.objective is None else claim_violation(solution.objective, total)
    return CheckReport(total, () if claim is None else (claim,))


def as_filed(instance: MachineInstance, options: Any, settings: Any) -> Any:
    """The order of the file."""
    return _solution(instance, list(range(len(instance.jobs))))


def smith(instance: MachineInstance, options: Any, settings: Any) -> Outcome:
    """Smith's rule; the bound is its own value, since no order is better."""
    jobs = instance.jobs
    order = sorted(range(len(jobs)), key=lambda j: jobs[j].seconds / jobs[j].weight)
    found = _solution(instance, order)
    value = check(instance, found).objective
    return Outcome(found, Termination.OPTIMAL, bound=value, bound_source="smith")


def jobs_alone(instance: MachineInstance, options: Any, deadline: Any) -> tuple[float, str]:
    """A quick bound: no job completes before its own seconds."""
    return sum(job.weight * job.seconds for job in instance.jobs), "each job alone"


def _solution(instance: MachineInstance, order: list[int]) -> MachineSolution:
    return MachineSolution(instance=instance.name, order=order)


SINGLE_MACHINE = Problem(
    name=NAME,
    instance="single_machine:MachineInstance",
    solution="single_machine:MachineSolution",
    options="single_machine:MachineOptions",
    check="single_machine:check",
    bound="single_machine:jobs_alone",
    objective="weighted completion time",
    unit="s",
    standard="smith",
    defaults=("as-filed", "smith"),
    methods=(
        Method("as-filed", "heuristic", "the order of the file", "single_machine:as_filed"),
        Method("smith", "exact", "weight per second, largest first", "single_machine:smith"),
    ),
)
