"""One row of a result store: what became of a unit, also when nothing good did."""

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
"""Where a row's details keep the parts of an objective that gap tables show."""


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


def done(unit: Unit, result: Result, seconds: float) -> Row:
    """The row of a unit whose method returned; a broken rule makes it an error."""
    check = result.check
    failed = result.termination is Termination.ERROR
    broken = "" if check is None else "; ".join(str(v) for v in check.violations[:3])
    return Row(
        **_unit_part(unit),
        status=Status.ERROR if failed else Status.DONE,
        message=(broken or "the method says error") if failed else None,
        termination=result.termination.value,
        objective=result.objective,
        bound=result.bound,
        bound_source=result.bound_source,
        chosen=result.chosen,
        solver=result.solver,
        solver_version=result.solver_version,
        feasible=None if check is None else check.feasible,
        violations=None if check is None else canonical([v.to_dict() for v in check.violations]),
        details=canonical(plain({**result.details, **_measured(result)})),
        solution=_solution(result),
        build_time=result.build_time,
        solve_time=result.solve_time,
        unit_time=seconds,
        finished=now(),
    )


def _measured(result: Result) -> dict[str, Any]:
    """What gap tables show in an excess's place, such as a selection's waiting jobs."""
    return {MEASURES: dict(result.measures)} if PROBLEMS[result.problem].parts else {}


def _solution(result: Result) -> str | None:
    """The solution as text; a run over time is kept by its figures, it may hold a million jobs."""
    if result.solution is None or PROBLEMS[result.problem].over_time:
        return None
    return canonical(result.solution.to_dict())


def failed(unit: Unit, status: Status, message: str, seconds: float | None = None) -> Row:
    """The row of a unit that brought no result."""
    return Row(
        **_unit_part(unit),
        status=status,
        message=message,
        termination=Termination.ERROR.value,
        unit_time=seconds,
        finished=now(),
    )


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _unit_part(unit: Unit) -> dict[str, Any]:
    fields = {name: value for name, value in vars(unit).items() if name != "family"}
    return {"key": unit.key, **fields}
