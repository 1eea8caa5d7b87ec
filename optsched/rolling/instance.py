"""The rolling problem's data: a selection instance whose jobs arrive over time.

Units: seconds, bytes, dollars per second; all times on one absolute clock that starts at ``now``.
Source: sts, sections III, VI and VII.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import FailFast, Field, model_validator

from optsched.schema import FORMAT, About, NonNegative, Number, Positive, fault
from optsched.selection.instance import MOST_JOBS, SelectionInstance, SelectionJob

SCHEMA = "optsched/rolling"


class RollingJob(SelectionJob):
    """A job with the moment it arrives and, optionally, the epochs it will really take."""

    submit_time: Annotated[
        Number, About("When it arrives, at or after the instance's `now`.", "seconds", 120.0)
    ]
    true_epochs: Annotated[
        Positive | None,
        About(
            "Epochs it will really take, more than `completed_epochs`; drawn from the distribution "
            "by the run's seed when left out. No policy sees it.",
            "epochs",
            60,
        ),
    ] = None

    @model_validator(mode="after")
    def _takes_possible_epochs(self) -> Self:
        most = max(self.epochs.values)
        if self.true_epochs is not None and not self.completed_epochs < self.true_epochs <= most:
            found = f"{self.true_epochs:g} at job {self.name}"
            expected = f"more than {self.completed_epochs:g} and at most {most:g}"
            raise fault("true_epochs", found, expected)
        return self


class RollingInstance(SelectionInstance):
    """Nodes, and jobs in the course of time; read with `optsched.load`."""

    schema_: Annotated[Literal["optsched/rolling"], FORMAT] = Field(alias="schema")  # type: ignore[assignment]
    interval: Annotated[
        Positive,
        About(
            "H: a decision is due this long after the last one, at the latest.", "seconds", 3600.0
        ),
    ]
    jobs: Annotated[
        tuple[RollingJob, ...],
        FailFast(),
        Field(strict=False, max_length=MOST_JOBS),
        About("The jobs, in any order."),
    ]
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
