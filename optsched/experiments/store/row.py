"""One row of a result store: the result or failure of a unit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from optsched.experiments.plans.units import Unit, canonical
from optsched.files import plain
from optsched.problems import PROBLEMS
from optsched.result import Result, Termination

MEASURES = "measures"
"""Key of a row's details with the cost parts that gap tables show instead of the excess."""


class Status(StrEnum):
    """How a unit ended; every one but DONE and REFUSED is tried again by ``--retry errors``."""

    DONE = "done"
    REFUSED = "refused"
    ERROR = "error"
    CRASHED = "crashed"
    TIMED_OUT = "timed-out"
    OUT_OF_MEMORY = "out-of-memory"


FAILURES = (Status.ERROR, Status.CRASHED, Status.TIMED_OUT, Status.OUT_OF_MEMORY)


@dataclass(frozen=True)
class Row:
    """A result as the store keeps it; texts are canonical JSON."""

    key: str
    sha256: str
    problem: str
    instance: str
    method: str
    options: str
    settings: str
    seed: int
    version: str
    status: str
    message: str | None
    termination: str
    objective: float | None = None
    bound: float | None = None
    bound_source: str | None = None
    chosen: str | None = None
    solver: str | None = None
    solver_version: str | None = None
    feasible: bool | None = None
    violations: str | None = None
    details: str | None = None
    solution: str | None = None
    build_time: float | None = None
    solve_time: float | None = None
    unit_time: float | None = None
    finished: str | None = None


SAME_AS_RESULT = (
    *("objective", "bound", "bound_source", "chosen", "solver", "solver_version"),
    *("build_time", "solve_time"),
)


def done(unit: Unit, result: Result, seconds: float) -> Row:
    """The row of a unit whose method returned; a violated rule makes it an error."""
    check, problem = result.check, PROBLEMS[result.problem]
    is_error = result.termination is Termination.ERROR
    violations = "" if check is None else "; ".join(str(v) for v in check.violations[:3])
    details = dict(result.details)
    if problem.parts:
        details[MEASURES] = dict(result.measures)
    solution = None
    if result.solution is not None and not problem.over_time:  # those may have a million jobs
        solution = canonical(result.solution.to_dict())
    return Row(
        **_unit_part(unit),
        **{name: getattr(result, name) for name in SAME_AS_RESULT},
        status=Status.ERROR if is_error else Status.DONE,
        message=(violations or "the method returned status error") if is_error else None,
        termination=result.termination.value,
        feasible=None if check is None else check.feasible,
        violations=None if check is None else canonical([v.to_dict() for v in check.violations]),
        details=canonical(plain(details)),
        solution=solution,
        unit_time=seconds,
        finished=now(),
    )


def failed(unit: Unit, status: Status, message: str, seconds: float | None = None) -> Row:
    """The row of a unit without a result."""
    return Row(
        **_unit_part(unit),
        status=status,
        message=message,
        termination=Termination.ERROR.value,
        unit_time=seconds,
        finished=now(),
    )


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _unit_part(unit: Unit) -> dict[str, Any]:
    fields = {name: value for name, value in vars(unit).items() if name != "family"}
    return {"key": unit.key, **fields}
