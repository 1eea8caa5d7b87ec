"""The rolling problem's data: a selection instance whose jobs arrive over time.

Units: seconds, bytes, dollars per second; all times on one absolute clock that starts at ``now``.
Source: sts, sections III, VI and VII.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import FailFast, Field, model_validator

from optsched.schema import FORMAT, About, NonNegative, Number, Positive, fault
from optsched.selection.instance import MAX_JOBS, SelectionInstance, SelectionJob
from optsched.uncertainty.distribution import Distribution

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
    jobs: Annotated[
        tuple[RollingJob, ...],
        FailFast(),
        Field(strict=False, max_length=MAX_JOBS),
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


def draw_epochs(instance: RollingInstance, seed: int) -> tuple[float, ...]:
    """True epochs of every job: from the file, or drawn given W > completed epochs.

    A draw depends only on job index and seed.
    """
    return tuple(_draw(job, index, seed) for index, job in enumerate(instance.jobs))


def _draw(job: RollingJob, index: int, seed: int) -> float:
    if job.true_epochs is not None:
        return float(job.true_epochs)
    work = Distribution.of(job.epochs.values, job.epochs.probabilities)
    remaining = work.remaining(job.completed_epochs)
    assert remaining is not None  # ruled out by instance validation
    uniform = np.random.default_rng([seed, index]).random()
    drawn = int(np.searchsorted(remaining.probabilities.cumsum(), uniform, side="right"))
    drawn = min(drawn, len(remaining.values) - 1)
    return float(work.values[len(work.values) - len(remaining.values) + drawn])
