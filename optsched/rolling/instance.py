"""The rolling problem's data: a selection instance whose jobs arrive over time.

Units: seconds, bytes, dollars per second; all times on one absolute clock that starts at ``now``.
Source: sts, sections III, VI and VII.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from optsched.schema import FORMAT, About, Items, NonNegative, Number, Positive, fault
from optsched.selection.instance import MAX_JOBS, SelectionInstance, SelectionJob

SCHEMA = "optsched/rolling"


class RollingJob(SelectionJob):
    """A job with its submit time and, optionally, its true number of epochs."""

    submit_time: Annotated[
        Number, About("Submit time, at or after the instance's `now`.", "seconds", 120.0)
    ]
    true_epochs: Annotated[
        Positive | None,
        About(
            "True number of epochs, more than `completed_epochs`; drawn from the distribution by "
            "the run's seed when left out. Hidden from policies.",
            "epochs",
            60,
        ),
    ] = None

    @model_validator(mode="after")
    def _takes_possible_epochs(self) -> Self:
        low, high, true_epochs = self.completed_epochs, max(self.epochs.values), self.true_epochs
        if true_epochs is not None and not low < true_epochs <= high:
            found = f"{true_epochs:g} at job {self.name}"
            raise fault("true_epochs", found, f"more than {low:g} and at most {high:g}")
        return self


class RollingInstance(SelectionInstance):
    """Nodes, and jobs that arrive over time; read with `optsched.load`."""

    schema_: Annotated[Literal["optsched/rolling"], FORMAT] = Field(alias="schema")  # type: ignore[assignment]
    interval: Annotated[
        Positive,
        About("H, maximum time between decisions.", "seconds", 3600.0),
    ]
    jobs: Annotated[tuple[RollingJob, ...], Items(MAX_JOBS), About("The jobs, in any order.")]
    reconfiguration_delay: Annotated[
        NonNegative,
        About(
            "Time without progress after a job is resumed, moved or given another configuration; "
            "its GPUs are in use meanwhile, and a first start is free.",
            "seconds",
            0.0,
        ),
    ] = 0.0

    @model_validator(mode="after")
    def _arrive_after_the_start(self) -> Self:
        for index, job in enumerate(self.jobs):
            if job.submit_time < self.now:
                found = f"{job.submit_time:g} at job {job.name}"
                raise fault(f"jobs[{index}].submit_time", found, f"now = {self.now:g} or later")
        return self
