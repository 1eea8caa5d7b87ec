"""The speed-profile problem's data: speeds, power, a deadline and the distribution of the work.

Units: epochs, epochs per second, watts (or dollars per second: the objective's unit follows),
seconds. Source: sts, section V, (P2)-(P3).
"""

import itertools
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticKnownError

from optsched.display import number
from optsched.schema import (
    FORMAT,
    About,
    FileModel,
    InstanceFile,
    Items,
    NonNegative,
    Positive,
    fault,
)
from optsched.uncertainty.epochs import Epochs as Epochs

SCHEMA = "optsched/speed-profile"
MAX_SPEEDS = 1024
MAX_POINTS = 100_000
DEADLINE_ROUNDING = 1e-12
"""Relative tolerance on the deadline, for rounding of a quotient."""

_Numbers = Annotated[tuple[NonNegative, ...], Items(MAX_POINTS)]


class SurvivalCurve(FileModel):
    """F^c, piecewise linear: P(W > w) at increasing points, starting with P(W > 0) = 1."""

    points: Annotated[
        _Numbers, About("Amounts of work, strictly increasing from 0 on.", "epochs", [0, 50, 100])
    ]
    survival: Annotated[
        _Numbers,
        About(
            "F^c, the probability that more is needed; from 1 on, never growing.",
            "probability",
            [1, 0.6, 0],
        ),
    ]

    @model_validator(mode="after")
    def _is_a_survival_curve(self) -> Self:
        points, survival = self.points, self.survival
        if len(points) < 2 or len(points) != len(survival):
            found = f"{len(points)} points and {len(survival)} values"
            raise fault("points", found, "as many of each, two at least")
        if points[0] != 0 or survival[0] != 1:
            raise fault("points", f"{survival[0]:g} at {points[0]:g}", "survival 1 at point 0")
        if any(b <= a for a, b in itertools.pairwise(points)):
            raise fault("points", "points that do not increase", "strictly increasing points")
        if any(b > a for a, b in itertools.pairwise(survival)):
            raise fault("survival", "a survival that grows", "non-increasing values")
        return self


def _parse_work(work: Any) -> Any:
    """Choose the model class by its keys, so that error messages match it."""
    if isinstance(work, Epochs | SurvivalCurve):
        return work
    if not isinstance(work, dict):
        raise PydanticKnownError("dict_type")
    kind = SurvivalCurve if work.keys() & SurvivalCurve.model_fields.keys() else Epochs
    return kind.model_validate(work)


class SpeedProfileInstance(InstanceFile):
    """One job on GPUs of one type; read with `optsched.load`."""

    schema_: Annotated[Literal["optsched/speed-profile"], FORMAT] = Field(alias="schema")
    speeds: Annotated[
        tuple[Positive, ...],
        Items(MAX_SPEEDS),
        About("s_1 < s_2 < ... < s_K, with 1..K GPUs.", "epochs/s", [0.01, 0.018]),
    ]
    power: Annotated[
        tuple[NonNegative, ...],
        Items(MAX_SPEEDS),
        About(
            "P(s_k), any non-negative curve; in dollars/s the objective is in dollars.",
            "watts",
            [300.0, 580.0],
        ),
    ]
    deadline: Annotated[NonNegative, About("d, from now.", "seconds", 100.0)]
    completed: Annotated[
        NonNegative,
        About("w_c, epochs done; the distribution is conditioned on needing more.", "epochs", 0),
    ] = 0
    work: Annotated[
        Epochs | SurvivalCurve,
        BeforeValidator(_parse_work),
        About("The distribution of W, discrete or a piecewise linear F^c."),
    ]

    def facts(self) -> dict[str, str]:
        return {
            "speed profile": self.name,
            "speeds": f"{len(self.speeds)}, {number(self.speeds[0])} to "
            f"{number(self.speeds[-1], 'epochs/s')}",
            "deadline": number(self.deadline, "s"),
            "completed": number(self.completed, "epochs"),
            "at most": number(self.max_work, "epochs"),
        }

    @property
    def max_work(self) -> float:
        """w^max."""
        return max(self.work.values if isinstance(self.work, Epochs) else self.work.points)

    @property
    def is_feasible(self) -> bool:
        """Whether the greatest speed does w^max within the deadline, but for rounding."""
        fastest = (self.max_work - self.completed) / self.speeds[-1]
        return fastest - self.deadline <= DEADLINE_ROUNDING * max(fastest, self.deadline)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not self.speeds:
            raise fault("speeds", "no speed", "at least one")
        if any(b <= a for a, b in zip(self.speeds, self.speeds[1:], strict=False)):
            raise fault("speeds", "speeds that do not increase", "strictly increasing speeds")
        if len(self.power) != len(self.speeds):
            raise fault("power", f"{len(self.power)} values", f"{len(self.speeds)}, as speeds")
        if self.completed >= self.max_work or not self._survives():
            found = f"{self.completed:g}, no work left"
            raise fault("completed", found, f"less than {self.max_work:g}, with work left")
        return self

    def _survives(self) -> bool:
        """P(W > completed) > 0."""
        if isinstance(self.work, Epochs):
            return True
        points, survival = self.work.points, self.work.survival
        last_zero = next((w for w, f in zip(points, survival, strict=True) if f == 0), None)
        return last_zero is None or self.completed < last_zero
